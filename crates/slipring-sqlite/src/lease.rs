//! A first lease: a range of the log in one holder's hands, and which messages are left of it.

use crate::position::stamp_at;

/// The fence of the hand-out that follows one with `fence`; 0 stands for none.
///
/// Fences grow with each hand-out (S3.2). They follow the clock too, so that none is given twice:
/// after a loss of power or the return to a backup the file knows nothing of the last hand-outs,
/// nor a relaxed queue of the last messages, whose numbers are given again; but holders still have
/// the receipts. A millisecond has a million fences, more than a message has hand-outs in it.
pub(crate) fn next_fence(fence: u64, now_ms: u64) -> u64 {
    stamp_at(now_ms).max(fence.saturating_add(1))
}

/// The fence of a first hand-out.
pub(crate) fn first_fence(leased_ms: u64) -> u64 {
    next_fence(0, leased_ms)
}

/// One row of the table `lease`, with the messages that it still covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lease {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) leased_ms: u64,
    pub(crate) deadline_ms: u64,
    pub(crate) session: bool,
    left: usize,
    /// For each position from `first`: the bytes of its message plus one, or 0 when it is gone.
    sizes: Vec<u32>,
}

/// When and for whom a lease was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terms {
    pub(crate) leased_ms: u64,
    pub(crate) deadline_ms: u64,
    pub(crate) session: bool,
}

impl Lease {
    /// A lease over nothing that begins at a position.
    pub(crate) fn begin(first: u64, terms: Terms) -> Lease {
        let Terms { leased_ms, deadline_ms, session } = terms;
        let (last, left, sizes) = (first, 0, Vec::new());
        Lease { first, last, leased_ms, deadline_ms, session, left, sizes }
    }

    pub(crate) fn terms(&self) -> Terms {
        let Lease { leased_ms, deadline_ms, session, .. } = *self;
        Terms { leased_ms, deadline_ms, session }
    }

    /// The fence of what it covers, which no prolonging changes.
    pub(crate) fn fence(&self) -> u64 {
        first_fence(self.leased_ms)
    }

    /// Adds a message behind those that are in.
    pub(crate) fn add(&mut self, position: u64, bytes: u64) {
        let at = position.saturating_sub(self.first) as usize;
        self.sizes.resize(at, 0);
        self.sizes.push(u32::try_from(bytes + 1).unwrap_or(u32::MAX));
        self.last = position;
        self.left += 1;
    }

    /// How many messages are left.
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// The bytes of the message at a position, if it is left.
    pub(crate) fn bytes_at(&self, position: u64) -> Option<u64> {
        let at = usize::try_from(position.checked_sub(self.first)?).ok()?;
        self.sizes.get(at)?.checked_sub(1).map(u64::from)
    }

    /// Takes a message out; answers its bytes.
    pub(crate) fn take(&mut self, position: u64) -> Option<u64> {
        let bytes = self.bytes_at(position)?;
        if let Some(size) = self.sizes.get_mut(position.saturating_sub(self.first) as usize) {
            *size = 0;
            self.left -= 1;
        }
        Some(bytes)
    }

    /// The messages that are left, with their bytes.
    pub(crate) fn messages(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let sizes = self.sizes.iter().enumerate();
        sizes
            .filter(|(_, size)| **size > 0)
            .map(|(at, size)| (self.first + at as u64, u64::from(*size - 1)))
    }

    /// What is left from `from` on to `until`, as a lease of its own; `None` when nothing is.
    pub(crate) fn part(&self, from: u64, until: u64, terms: Terms) -> Option<Lease> {
        let mut inside = self.messages().filter(|(at, _)| (from..=until).contains(at)).peekable();
        let mut part = Lease::begin(inside.peek()?.0, terms);
        inside.for_each(|(position, bytes)| part.add(position, bytes));
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Terms = Terms { leased_ms: 1, deadline_ms: 2, session: false };

    #[test]
    fn a_lease_knows_which_messages_are_left() {
        let mut lease = Lease::begin(5, TERMS);
        for (position, bytes) in [(5, 0), (6, 10), (9, 3)] {
            lease.add(position, bytes);
        }
        assert_eq!((lease.left(), lease.last), (3, 9));
        assert_eq!(
            (lease.bytes_at(5), lease.bytes_at(7), lease.bytes_at(4)),
            (Some(0), None, None)
        );
        assert_eq!((lease.take(6), lease.take(6)), (Some(10), None));
        assert_eq!(lease.messages().collect::<Vec<_>>(), [(5, 0), (9, 3)]);
    }

    #[test]
    fn fences_grow_with_each_hand_out_and_follow_the_clock() {
        assert_eq!((first_fence(0), next_fence(first_fence(0), 0)), (1, 2));
        assert!(first_fence(6) > (0..1000).fold(first_fence(5), |fence, _| next_fence(fence, 5)));
        assert_eq!(next_fence(first_fence(9), 3), first_fence(9) + 1, "the clock was set back");
    }

    #[test]
    fn a_part_begins_and_ends_at_messages_that_are_left() {
        let mut lease = Lease::begin(1, TERMS);
        (1..=10).for_each(|position| lease.add(position, position));
        lease.take(4);
        let later = Terms { deadline_ms: 9, ..TERMS };
        let part = lease.part(4, 7, later).unwrap();
        assert_eq!((part.first, part.last, part.left(), part.deadline_ms), (5, 7, 3, 9));
        assert_eq!(part.bytes_at(6), Some(6));
        assert_eq!(lease.part(11, 20, later), None);
    }
}
