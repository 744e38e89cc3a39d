//! A row of the table `item`: a message that is not, or no longer, in the log.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::Row;
use slipring::clock::millis_ceil;
use slipring::deal::Standing;
use slipring::lifecycle::Held;
use slipring::message::Headers;
use slipring::{
    FailedAttempt, Fence, Message, MessageId, MessageState, Priority, QueueId, QueueName, Timestamp,
};

use crate::position::{from_sql, stamp_ms, to_sql};

/// The part of a row that decides what happens to its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ItemHead {
    pub(crate) id: u64,
    pub(crate) queue: QueueId,
    pub(crate) state: MessageState,
    /// When the delay ends or the lease lapses; without meaning in other states.
    pub(crate) until_ms: u64,
    pub(crate) priority: Priority,
    pub(crate) attempts: u32,
    /// Deliveries in the queues that the message was dead-lettered from.
    pub(crate) earlier_attempts: u32,
    pub(crate) fence: u64,
    pub(crate) first_received_ms: Option<u64>,
    pub(crate) delay_ms: u64,
    pub(crate) lease_ms: Option<u64>,
    pub(crate) session: bool,
    pub(crate) bytes: u64,
    /// Of FIFO queues, except while parked.
    pub(crate) fifo_group: Option<i64>,
    pub(crate) source: Option<QueueName>,
    /// Whether failures are kept of the message (S6.8).
    pub(crate) failed: bool,
}

/// The number of a state in the file.
pub(crate) fn state_number(state: MessageState) -> i64 {
    match state {
        MessageState::Delayed => 0,
        MessageState::Ready => 1,
        MessageState::Leased => 2,
        MessageState::Parked => 3,
    }
}

fn state_of(number: i64) -> MessageState {
    match number {
        0 => MessageState::Delayed,
        1 => MessageState::Ready,
        2 => MessageState::Leased,
        _ => MessageState::Parked,
    }
}

/// Bits of a turn that are the priority of a row that is ready; those above are its standing.
const PRIORITY_BITS: u32 = 32;

/// The first and the last turn of the ready rows of a standing.
pub(crate) fn standing_turns(standing: Standing) -> (i64, i64) {
    let first = (standing as i64) << PRIORITY_BITS;
    (first, first | i64::from(u32::MAX))
}

/// The priority that the turn of a ready or parked row has.
pub(crate) fn priority_of(turn: u64) -> Priority {
    Priority(u32::try_from(turn & u64::from(u32::MAX)).unwrap_or(u32::MAX))
}

impl ItemHead {
    /// Reads the columns of `queries/item_head.sql`.
    pub(crate) fn read_whole(row: &Row<'_>) -> rusqlite::Result<ItemHead> {
        Ok(ItemHead { failed: row.get(14)?, ..ItemHead::read(row)? })
    }

    /// Reads them but for the last, as they stand in other queries, too.
    fn read(row: &Row<'_>) -> rusqlite::Result<ItemHead> {
        let optional = |at: usize| row.get::<_, Option<i64>>(at).map(|n| n.map(from_sql));
        let state = state_of(row.get(2)?);
        let turn = from_sql(row.get(3)?);
        let source: Option<String> = row.get(13)?;
        let (attempts, earlier_attempts) = attempts_from_sql(row.get(5)?);
        Ok(ItemHead {
            id: from_sql(row.get(0)?),
            queue: QueueId(from_sql(row.get(1)?)),
            state,
            until_ms: if is_timed(state) { turn } else { 0 },
            priority: Priority(row.get(4)?),
            attempts,
            earlier_attempts,
            fence: from_sql(row.get(6)?),
            first_received_ms: optional(7)?,
            delay_ms: from_sql(row.get(8)?),
            lease_ms: optional(9)?,
            session: row.get(10)?,
            bytes: from_sql(row.get(11)?),
            fifo_group: row.get(12)?,
            source: source.and_then(|name| QueueName::new(&name).ok()),
            failed: false,
        })
    }

    /// What orders the row among those of its state; `fifo` says of its queue.
    pub(crate) fn turn(&self, fifo: bool) -> i64 {
        match is_timed(self.state) {
            true => to_sql(self.until_ms),
            false if fifo => 0,
            false if self.state == MessageState::Ready => {
                standing_turns(Standing::of(self.attempts)).0 | i64::from(self.priority.0)
            }
            false => i64::from(self.priority.0),
        }
    }

    /// What the lifecycle asks about a message.
    pub(crate) fn held(&self) -> Held {
        Held {
            state: self.state,
            fence: Fence(self.fence),
            deadline: Timestamp::from_millis(self.until_ms),
            attempts: self.attempts,
        }
    }

    /// The message's own visibility timeout.
    pub(crate) fn lease(&self) -> Option<Duration> {
        self.lease_ms.map(Duration::from_millis)
    }
}

/// Deliveries as the file keeps them: those in earlier queues in the upper half.
pub(crate) fn attempts_to_sql(attempts: u32, earlier: u32) -> i64 {
    (i64::from(earlier.min(i32::MAX as u32)) << 32) | i64::from(attempts)
}

/// The deliveries in this queue, and those in earlier ones.
fn attempts_from_sql(stored: i64) -> (u32, u32) {
    let half = |bits: i64| u32::try_from(bits).unwrap_or(0);
    (half(stored & i64::from(u32::MAX)), half(stored >> 32))
}

/// Reads the stamp among the columns of [`read_message`].
pub(crate) fn read_sent(row: &Row<'_>) -> rusqlite::Result<u64> {
    row.get(14).map(from_sql)
}

/// Reads the column after those of [`read_message`]: the failures that are kept.
pub(crate) fn read_failures(row: &Row<'_>) -> rusqlite::Result<Vec<FailedAttempt>> {
    failures_from_sql(row, 19)
}

/// Failures as the file keeps them: a JSON array, or null.
pub(crate) fn failures_from_sql(row: &Row<'_>, at: usize) -> rusqlite::Result<Vec<FailedAttempt>> {
    let Some(text) = row.get_ref(at)?.as_str_or_null()? else { return Ok(Vec::new()) };
    serde_json::from_str(text).map_err(|error| no_json(at, error))
}

fn is_timed(state: MessageState) -> bool {
    matches!(state, MessageState::Delayed | MessageState::Leased)
}

/// Reads the columns of `queries/item_message.sql`: those of [`ItemHead::read`], then sent, group,
/// deduplication id, headers and body.
pub(crate) fn read_message(row: &Row<'_>) -> rusqlite::Result<(ItemHead, Message)> {
    let head = ItemHead::read(row)?;
    let message = Message {
        id: MessageId(head.id),
        priority: head.priority,
        sent_at: Timestamp::from_millis(stamp_ms(read_sent(row)?)),
        attempts: head.attempts,
        earlier_attempts: head.earlier_attempts,
        first_received_at: head.first_received_ms.map(Timestamp::from_millis),
        delay: Duration::from_millis(head.delay_ms),
        lease: head.lease(),
        dead_letter_source: head.source.clone(),
        group: text(row, 15)?,
        dedup_id: text(row, 16)?,
        headers: headers(row, 17)?,
        body: body(row, 18)?,
    };
    Ok((head, message))
}

/// Reads the columns of `queries/log_after.sql`: position, sent, bytes_sum, extra_bytes, lease_ms,
/// group, deduplication id, headers and body of a message of the log that was never handed out.
pub(crate) fn read_log_message(row: &Row<'_>, priority: Priority) -> rusqlite::Result<LogMessage> {
    let body = body(row, 8)?;
    let extra: Option<i64> = row.get(3)?;
    let lease: Option<i64> = row.get(4)?;
    let sent = from_sql(row.get(1)?);
    Ok(LogMessage {
        sent,
        bytes_sum: from_sql(row.get(2)?),
        bytes: body.len() as u64 + extra.map_or(0, from_sql),
        message: Message {
            id: MessageId(from_sql(row.get(0)?)),
            priority,
            sent_at: Timestamp::from_millis(stamp_ms(sent)),
            attempts: 0,
            earlier_attempts: 0,
            first_received_at: None,
            delay: Duration::ZERO,
            lease: lease.map(|ms| Duration::from_millis(from_sql(ms))),
            dead_letter_source: None,
            group: text(row, 5)?,
            dedup_id: text(row, 6)?,
            headers: headers(row, 7)?,
            body,
        },
    })
}

/// A message of the log with what counts for its lane.
#[derive(Debug)]
pub(crate) struct LogMessage {
    pub(crate) message: Message,
    pub(crate) sent: u64,
    pub(crate) bytes: u64,
    pub(crate) bytes_sum: u64,
}

/// A duration as the file keeps it: milliseconds, rounded up so that nothing ends early.
pub(crate) fn ms_to_sql(duration: Duration) -> i64 {
    to_sql(millis_ceil(duration))
}

/// Headers as the file keeps them: a JSON object.
pub(crate) fn headers_to_sql(headers: Option<&Arc<Headers>>) -> Option<String> {
    // A map of texts is always valid JSON.
    headers.map(|headers| serde_json::to_string(headers.as_ref()).unwrap_or_default())
}

fn text(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Arc<str>>> {
    Ok(row.get_ref(at)?.as_str_or_null()?.map(Arc::from))
}

fn headers(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Arc<Headers>>> {
    let Some(text) = row.get_ref(at)?.as_str_or_null()? else { return Ok(None) };
    Ok(Some(Arc::new(serde_json::from_str(text).map_err(|error| no_json(at, error))?)))
}

fn no_json(at: usize, error: serde_json::Error) -> rusqlite::Error {
    let kind = rusqlite::types::Type::Text;
    rusqlite::Error::FromSqlConversionFailure(at, kind, Box::new(error))
}

fn body(row: &Row<'_>, at: usize) -> rusqlite::Result<bytes::Bytes> {
    Ok(bytes::Bytes::copy_from_slice(row.get_ref(at)?.as_blob()?))
}
