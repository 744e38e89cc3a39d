//! Room: how much one pass may rewrite, and how much of a file whose size is bounded is left.
//!
//! What is handed out, comes back or lapses is rewritten, which takes room before it gives some
//! back. A file that is filled to its bound by sends could never be emptied, so sends leave a part
//! of it, and lapses a smaller one to the hand-outs that follow them.

use slipring::clock::monotonic_ns;

use crate::fault::{Fault, Outcome};
use crate::position::from_sql;
use crate::statements::Query;
use crate::writer::Writer;

/// Sends leave such a part of a file whose size is bounded.
pub(crate) const SENDS_LEAVE: u64 = 8;
/// So do lapses of messages that leave the log.
pub(crate) const LAPSES_LEAVE: u64 = 16;

/// A pass ends when it has rewritten messages of so many bytes.
const PASS_BYTES_MAX: u64 = 16 << 20;

/// A turn of one queue ends after so long, in nanoseconds: calls of other queues wait behind it.
const TURN_NS: u64 = 5_000_000;
/// But it handles so many messages however long they take, for it costs the same to begin.
const TURN_MESSAGES_MIN: u64 = 64;

/// How much a pass, or a step of a bulk operation, may still rewrite; bounds how long other calls
/// wait behind it, and by how much the log grows at once.
#[derive(Debug)]
pub(crate) struct Room {
    messages: u64,
    bytes: u64,
    taken: u64,
    /// When a turn is over.
    until_ns: u64,
}

impl Room {
    /// Room for so many messages.
    pub(crate) fn new(messages: u64) -> Room {
        Room { messages, bytes: PASS_BYTES_MAX, taken: 0, until_ns: u64::MAX }
    }

    /// Room for so many messages, in a turn that is short.
    pub(crate) fn turn(messages: u64) -> Room {
        Room { until_ns: monotonic_ns().saturating_add(TURN_NS), ..Room::new(messages) }
    }

    /// Makes it room for so many messages more, of no more bytes.
    pub(crate) fn admit(&mut self, messages: u64) {
        self.messages += messages;
    }

    /// Whether one more message may be rewritten, of whatever size.
    pub(crate) fn is_left(&self) -> bool {
        let in_time = self.taken < TURN_MESSAGES_MIN || self.until_ns == u64::MAX;
        self.messages > 0 && self.bytes > 0 && (in_time || monotonic_ns() < self.until_ns)
    }

    /// Counts a message of so many bytes.
    pub(crate) fn take(&mut self, bytes: u64) {
        self.messages = self.messages.saturating_sub(1);
        self.taken += 1;
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

impl Writer<'_> {
    /// How many pages the file may fill until only `part` of it is left; `None` when less is left.
    pub(crate) fn spare_pages(&self, part: u64) -> Outcome<Option<u64>> {
        let Some(pages_max) = self.memory.pages_max else { return Ok(Some(u64::MAX)) };
        let pages = |query| self.db.first(query, (), |row| row.get::<_, i64>(0).map(from_sql));
        let (all, free) = (pages(Query::PageCount)?, pages(Query::FreePages)?);
        let used = all.unwrap_or(0).saturating_sub(free.unwrap_or(0));
        Ok((pages_max - pages_max / part).checked_sub(used))
    }
}

/// The fault of a call for which the file has no room.
pub(crate) fn no_room() -> Fault {
    let full = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_FULL);
    Fault::Storage(rusqlite::Error::SqliteFailure(full, None))
}
