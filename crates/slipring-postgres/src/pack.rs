//! Packs: several messages in one row, see `message` in the first migration.
//!
//! A pack begins with the end of each body, counted from the first byte of the first body, as
//! numbers of two bytes, the higher byte first; then come the bodies.

use std::borrow::Cow;

use bytes::Bytes;
use slipring::{Error, NewMessage};

use crate::constants;
use crate::fault::garbled;

/// Most messages of a pack; the functions look so far above a range of numbers.
pub(crate) const MESSAGES_MAX: usize = constants::PACK_MESSAGES_MAX as usize;
/// Most bytes of a pack: with the other columns it stays below the 2,032 bytes from which on
/// PostgreSQL would compress it, and four fill a page.
const BYTES_MAX: usize = constants::PACK_BYTES_MAX as usize;
const END_BYTES: usize = 2;

/// The bodies of the rows of messages. The lists of packs are empty where there is none.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Packed<'m> {
    /// What each row has in `body`.
    pub(crate) bodies: Vec<Cow<'m, [u8]>>,
    /// How many messages each pack has; `None` for a row that is one message.
    pub(crate) counts: Vec<Option<i32>>,
    /// The size of each body of a pack whose bodies have all the same.
    pub(crate) each_bytes: Vec<Option<i32>>,
}

impl<'m> Packed<'m> {
    /// Packs neighbours, which are nothing but bodies, as long as they fit.
    pub(crate) fn of(messages: &'m [NewMessage]) -> Packed<'m> {
        let mut packed = Packed::default();
        let mut rest = messages;
        while !rest.is_empty() {
            let (row, others) = rest.split_at(fitting(rest).max(1));
            packed.add(row);
            rest = others;
        }
        if packed.bodies.len() == messages.len() {
            packed.counts.clear();
            packed.each_bytes.clear();
        }
        packed
    }

    /// A row for each message.
    pub(crate) fn single(messages: &'m [NewMessage]) -> Packed<'m> {
        let bodies = messages.iter().map(|message| Cow::Borrowed(&*message.body)).collect();
        Packed { bodies, ..Packed::default() }
    }

    fn add(&mut self, row: &'m [NewMessage]) {
        if let [message] = row {
            self.bodies.push(Cow::Borrowed(&message.body));
            self.counts.push(None);
            self.each_bytes.push(None);
            return;
        }
        let mut pack = Vec::with_capacity(BYTES_MAX);
        let mut end: u16 = 0;
        for message in row {
            // What fits into a pack fits into two bytes.
            end = end.saturating_add(u16::try_from(message.body.len()).unwrap_or(u16::MAX));
            pack.extend_from_slice(&end.to_be_bytes());
        }
        for message in row {
            pack.extend_from_slice(&message.body);
        }
        let size = |message: &NewMessage| message.body.len();
        let first = row.first().map(size);
        let same = row.iter().all(|message| Some(size(message)) == first);
        self.bodies.push(Cow::Owned(pack));
        self.counts.push(i32::try_from(row.len()).ok());
        self.each_bytes.push(first.filter(|_| same).and_then(|bytes| i32::try_from(bytes).ok()));
    }
}

/// How many of the first messages fit into one pack.
fn fitting(messages: &[NewMessage]) -> usize {
    let mut bytes = 0;
    let fits = |message: &&NewMessage| {
        bytes += END_BYTES + message.body.len();
        bytes <= BYTES_MAX
    };
    messages.iter().take(MESSAGES_MAX).take_while(fits).count()
}

/// The bodies from place `from` (from 0) to below `to` of a pack of `count` messages; they share
/// its memory.
///
/// # Errors
/// `Internal` when it is no such pack.
pub(crate) fn open(
    pack: &Bytes,
    count: usize,
    from: usize,
    to: usize,
) -> Result<impl Iterator<Item = Bytes>, Error> {
    let wrong = || garbled(format!("no pack of {count} messages: {} bytes", pack.len()));
    let head = count * END_BYTES;
    let end = |place: usize| -> Option<usize> {
        let Some(before) = place.checked_sub(1) else { return Some(head) };
        let at = before * END_BYTES;
        let bytes = pack.get(at..at + END_BYTES)?.try_into().ok()?;
        Some(head + usize::from(u16::from_be_bytes(bytes)))
    };
    if to > count || from > to || end(count).is_none_or(|end| end > pack.len()) {
        return Err(wrong());
    }
    let ranges = (from..to).map(|place| Some(end(place)?..end(place + 1)?));
    let ranges: Option<Vec<_>> = ranges.collect();
    let ranges = ranges.ok_or_else(wrong)?;
    if ranges.iter().any(|range| range.start > range.end || range.end > pack.len()) {
        return Err(wrong());
    }
    Ok(ranges.into_iter().map(|range| pack.slice(range)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(sizes: &[usize]) -> Vec<NewMessage> {
        let body = |(n, size): (usize, &usize)| vec![u8::try_from(n % 251).unwrap(); *size];
        sizes.iter().enumerate().map(|sized| NewMessage::new(body(sized))).collect()
    }

    fn opened(packed: &Packed<'_>) -> Vec<Bytes> {
        let mut bodies = Vec::new();
        for (n, body) in packed.bodies.iter().enumerate() {
            let body = Bytes::copy_from_slice(body);
            match packed.counts.get(n).copied().flatten() {
                None => bodies.push(body),
                Some(count) => {
                    let count = usize::try_from(count).unwrap();
                    bodies.extend(open(&body, count, 0, count).unwrap());
                }
            }
        }
        bodies
    }

    #[test]
    fn what_is_packed_comes_out_in_order_and_whole() {
        let mixed: Vec<usize> = (0..500).map(|n| n * 37 % 900).collect();
        let cases = [vec![100; 1000], vec![0; 200], mixed, vec![1916, 1, 1917, 3000, 0, 0]];
        for sizes in cases {
            let sent = messages(&sizes);
            let packed = Packed::of(&sent);
            let bodies: Vec<Bytes> = sent.iter().map(|message| message.body.clone()).collect();
            assert_eq!(opened(&packed), bodies);
            assert!(packed.counts.iter().flatten().all(|n| (2..=64).contains(n)));
        }
    }

    #[test]
    fn rows_stay_below_what_postgres_would_compress() {
        let sent = messages(&[100; 1000]);
        let packed = Packed::of(&sent);
        assert_eq!(packed.bodies.len(), 56);
        assert!(packed.bodies.iter().all(|body| body.len() <= BYTES_MAX));
        assert_eq!(packed.counts.first(), Some(&Some(18)));
        assert_eq!(packed.each_bytes.first(), Some(&Some(100)));
    }

    #[test]
    fn sizes_that_differ_are_not_said_to_be_the_same() {
        assert_eq!(Packed::of(&messages(&[3, 4])).each_bytes, [None]);
        assert_eq!(Packed::of(&messages(&[0, 0])).each_bytes, [Some(0)]);
    }

    #[test]
    fn large_messages_are_rows_without_packs() {
        let sent = messages(&[1000, 1000, 70_000]);
        let packed = Packed::of(&sent);
        assert_eq!((packed.bodies.len(), packed.counts.len()), (3, 0));
    }

    #[test]
    fn what_is_no_pack_is_an_error() {
        let pack = Bytes::from_static(&[0, 3, 0, 1, 1, 2, 3]);
        for (count, from, to) in [(2, 0, 2), (9, 0, 1), (2, 1, 3), (3, 0, 3), (2, 2, 1)] {
            assert!(open(&pack, count, from, to).is_err(), "{count} {from} {to}");
        }
    }
}
