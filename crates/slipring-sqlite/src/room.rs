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

/// A step of a pass or of a bulk operation ends when it has taken so long, or has rewritten or
/// removed messages of so many bytes.
const STEP_NS: u64 = 2_000_000;
pub(crate) const STEP_BYTES: u64 = 1 << 20;
/// So many messages are admitted whatever the time, so that a small step is whole also where the
/// machine is busy with something else.
const STEP_MESSAGES_MIN: u64 = 64;
/// So many lanes or queues are looked at whatever the time.
const STEP_LOOKS_MIN: u64 = 64;

/// How much a pass, or a step of a bulk operation, may still rewrite or remove; bounds how long
/// other calls wait behind it, and by how much the log grows at once. One message is always
/// admitted, whatever its size, so that there is progress.
#[derive(Debug)]
pub(crate) struct Room {
    messages: u64,
    bytes: u64,
    since_ns: u64,
    taken: u64,
    looks: u64,
}

impl Room {
    /// Room for so many messages, from now on.
    pub(crate) fn new(messages: u64) -> Room {
        Room::since(messages, monotonic_ns())
    }

    /// Room for so many messages in a step that began at this moment of the process.
    pub(crate) fn since(messages: u64, since_ns: u64) -> Room {
        Room { messages, bytes: STEP_BYTES, since_ns, taken: 0, looks: 0 }
    }

    /// Makes it room for so many messages more, of no more bytes.
    pub(crate) fn admit(&mut self, messages: u64) {
        self.messages += messages;
    }

    /// Whether one more message may be taken, of whatever size.
    pub(crate) fn is_left(&self) -> bool {
        let time_left = || self.taken < STEP_MESSAGES_MIN || self.in_time();
        self.messages > 0 && (self.taken == 0 || self.bytes > 0 && time_left())
    }

    fn in_time(&self) -> bool {
        monotonic_ns().saturating_sub(self.since_ns) < STEP_NS
    }

    /// Whether one more lane or queue may be looked at, which may have nothing to take; counts it.
    pub(crate) fn look(&mut self) -> bool {
        let admitted = self.looks < STEP_LOOKS_MIN || self.in_time();
        self.looks += u64::from(admitted);
        admitted
    }

    /// Makes it room for so many messages fewer.
    pub(crate) fn give_up(&mut self, messages: u64) {
        self.messages = self.messages.saturating_sub(messages);
    }

    /// How many more messages there is room for.
    pub(crate) fn messages(&self) -> u64 {
        self.messages
    }

    /// Counts a message of so many bytes.
    pub(crate) fn take(&mut self, bytes: u64) {
        self.taken += 1;
        self.messages = self.messages.saturating_sub(1);
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
