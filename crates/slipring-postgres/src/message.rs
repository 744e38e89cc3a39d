//! Messages in rows. Claims and looks answer the same columns from `id` on.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use slipring::{
    Delivery, Error, FailedAttempt, Fence, Headers, Message, MessageId, Peeked, Priority, QueueId,
    QueueName, Receipt, Timestamp,
};
use tokio_postgres::Row;

use crate::escape::{from_sql, headers_from_sql};
use crate::fault::garbled;
use crate::inspect::state_named;
use crate::pack;
use crate::rows::{bytes, maybe_moment, maybe_number, moment, number, positive, queue, value};

/// A message that was handed out: a row of `claim` or `claim_message`.
pub(crate) fn delivery(row: &Row, queue: QueueId) -> Result<Delivery, Error> {
    let message = message(row)?;
    let fence = Fence(number(row, 3)?);
    let receipt = Receipt { queue, message: message.id, fence };
    Ok(Delivery { message, receipt, deadline: moment(row, 4)? })
}

/// A message that was handed out, or why it cannot be read.
pub(crate) type Read = Result<Delivery, Option<Error>>;

/// Messages that were handed out together: a row of `claim` that has arrays in its last columns,
/// with one entry for each row of the log. An array of texts is null where no message has one,
/// and so are the arrays of packs. A message that cannot be read has its place all the same, and
/// the first one of a row of the log says why.
pub(crate) fn deliveries(row: &Row, queue: QueueId) -> Result<Vec<Read>, Error> {
    let (fence, deadline) = (Fence(number(row, 3)?), moment(row, 4)?);
    let ids: Vec<i64> = value(row, 16)?;
    let sents: Vec<i64> = value(row, 17)?;
    let bodies: Vec<&[u8]> = value(row, 18)?;
    let (groups, dedup_ids) = (Texts::of(row, 19)?, Texts::of(row, 20)?);
    let headers_each = Texts::of(row, 21)?;
    let packs = Packs::of(row)?;
    if sents.len() != ids.len() || bodies.len() != ids.len() {
        return Err(garbled("arrays of different lengths"));
    }
    let read = |n: usize, id: i64, sent: i64, body: &[u8]| -> Result<Vec<Delivery>, Error> {
        // What all have may be wrong by one of them.
        let like = Message {
            id: MessageId(positive(id)?),
            sent_at: Timestamp::from_millis(positive(sent)?),
            priority: Priority(priority(row)?),
            attempts: attempts(row)?,
            first_received_at: maybe_moment(row, 8)?,
            delay: Duration::ZERO,
            lease: maybe_number(row, 10)?.map(Duration::from_millis),
            group: groups.at(n).map(|text| from_sql(text).into()),
            dedup_id: dedup_ids.at(n).map(|text| from_sql(text).into()),
            headers: headers(headers_each.at(n))?,
            earlier_attempts: 0,
            dead_letter_source: None,
            body: Bytes::new(),
        };
        let messages = packs.messages(n, like.id, Bytes::copy_from_slice(body))?;
        let delivery = |(id, body)| {
            let message = Message { id, body, ..like.clone() };
            Delivery { message, receipt: Receipt { queue, message: id, fence }, deadline }
        };
        Ok(messages.into_iter().map(delivery).collect())
    };
    let mut deliveries = Vec::with_capacity(ids.len());
    for (n, ((id, sent), body)) in ids.into_iter().zip(sents).zip(bodies).enumerate() {
        match read(n, id, sent, body) {
            Ok(list) => deliveries.extend(list.into_iter().map(Ok)),
            Err(error) => {
                deliveries.push(Err(Some(error)));
                deliveries.extend((1..packs.count(n)).map(|_| Err(None)));
            }
        }
    }
    Ok(deliveries)
}

/// Which rows of the log are packs, and what of them is handed out.
struct Packs {
    sizes: Vec<Option<i32>>,
    firsts: Vec<i64>,
    counts: Vec<i32>,
}

impl Packs {
    fn of(row: &Row) -> Result<Packs, Error> {
        Ok(Packs {
            sizes: value::<Option<_>>(row, 22)?.unwrap_or_default(),
            firsts: value::<Option<_>>(row, 23)?.unwrap_or_default(),
            counts: value::<Option<_>>(row, 24)?.unwrap_or_default(),
        })
    }

    /// How many messages of a row of the log are handed out.
    fn count(&self, n: usize) -> usize {
        match self.sizes.get(n).copied().flatten() {
            None => 1,
            Some(_) => {
                let count = self.counts.get(n).and_then(|n| usize::try_from(*n).ok());
                count.unwrap_or(1).min(pack::MESSAGES_MAX)
            }
        }
    }

    /// The messages of a row of the log: its number is that of its last message.
    fn messages(
        &self,
        n: usize,
        last: MessageId,
        body: Bytes,
    ) -> Result<Vec<(MessageId, Bytes)>, Error> {
        let Some(size) = self.sizes.get(n).copied().flatten() else {
            return Ok(vec![(last, body)]);
        };
        let wrong = || garbled("a pack without the numbers of its messages");
        let first = positive(*self.firsts.get(n).ok_or_else(wrong)?)?;
        let size = usize::try_from(size).map_err(|_| wrong())?;
        let count = self.counts.get(n).and_then(|count| usize::try_from(*count).ok());
        let before = (first + size as u64).checked_sub(last.0 + 1).ok_or_else(wrong)? as usize;
        let bodies = pack::open(&body, size, before, before + count.ok_or_else(wrong)?)?;
        Ok((first..).map(MessageId).zip(bodies).collect())
    }
}

/// An array of texts of which each, and the array itself, may be null.
struct Texts<'r>(Option<Vec<Option<&'r str>>>);

impl<'r> Texts<'r> {
    fn of(row: &'r Row, at: usize) -> Result<Texts<'r>, Error> {
        value(row, at).map(Texts)
    }

    fn at(&self, n: usize) -> Option<&'r str> {
        self.0.as_ref().and_then(|texts| *texts.get(n)?)
    }
}

/// A message that was looked at: a row of `peek` or `lookup`.
pub(crate) fn peeked(row: &Row) -> Result<Peeked, Error> {
    Ok(Peeked {
        queue: queue(row, 0)?,
        message: message(row)?,
        state: state_named(value(row, 1)?)?,
        until: maybe_moment(row, 3)?,
        failures: failures(row, 16)?,
    })
}

/// The failures that are kept, a JSON array or null.
fn failures(row: &Row, at: usize) -> Result<Vec<FailedAttempt>, Error> {
    let text: Option<&str> = value(row, at)?;
    let garbled = |error| garbled(format!("column {at}: {error}"));
    text.map_or(Ok(Vec::new()), |text| serde_json::from_str(text).map_err(garbled))
}

fn message(row: &Row) -> Result<Message, Error> {
    let (dead_letter_source, earlier_attempts) = source(value(row, 14)?)?;
    Ok(Message {
        id: MessageId(number(row, 2)?),
        sent_at: moment(row, 5)?,
        priority: Priority(priority(row)?),
        attempts: attempts(row)?,
        first_received_at: maybe_moment(row, 8)?,
        delay: Duration::from_millis(maybe_number(row, 9)?.unwrap_or(0)),
        lease: maybe_number(row, 10)?.map(Duration::from_millis),
        group: text(row, 11)?,
        dedup_id: text(row, 12)?,
        headers: headers(value(row, 13)?)?,
        dead_letter_source,
        earlier_attempts,
        body: bytes(row, 15)?,
    })
}

fn priority(row: &Row) -> Result<u32, Error> {
    u32::try_from(number(row, 6)?).map_err(|_| garbled("a priority above 2^32"))
}

fn attempts(row: &Row) -> Result<u32, Error> {
    number(row, 7).map(counted)
}

/// A count beyond what its field holds says no more than that it is large.
fn counted(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn text(row: &Row, at: usize) -> Result<Option<Arc<str>>, Error> {
    Ok(value::<Option<&str>>(row, at)?.map(|text| from_sql(text).into()))
}

fn headers(text: Option<&str>) -> Result<Option<Arc<Headers>>, Error> {
    Ok(text.map(headers_from_sql).transpose()?.map(Arc::new))
}

/// Where a dead letter comes from, and how often it was delivered before: see
/// `functions/log/source_text.sql`.
fn source(text: Option<&str>) -> Result<(Option<QueueName>, u32), Error> {
    let Some(text) = text else { return Ok((None, 0)) };
    let (name, earlier) = text.split_once(':').unwrap_or((text, "0"));
    let wrong = |_| garbled(format!("a source {text:?} without a count"));
    let earlier = earlier.parse::<u64>().map_err(wrong)?;
    Ok((Some(QueueName::new(name).map_err(garbled)?), counted(earlier)))
}
