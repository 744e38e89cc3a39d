//! The part of the disk that sends leave. Receives, acks and lapses are written to the log before
//! they give room back, so a disk that sends have filled could never be emptied.

use std::path::Path;

use slipring::clock::monotonic_ns;

use crate::fault::Outcome;
use crate::open::PAGE_BYTES;
use crate::position::from_sql;
use crate::room::SENDS_LEAVE;
use crate::space::{log_bytes, volume};
use crate::statements::Query;
use crate::writer::Writer;

/// Sends leave so much of a disk, or such a part of a small one, besides what the file may grow by
/// when the log is copied into it.
const LEAVE_BYTES_MAX: u64 = 64 << 20;
const LEAVE_PART: u64 = 16;
/// The disk is looked at again after so long, or when so much was sent.
const LOOK_EVERY_NS: u64 = 100_000_000;
const LOOK_AFTER_BYTES: u64 = 1 << 20;

/// What a look at the disk finds, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) free: u64,
    pub(crate) total: u64,
    /// What the log takes.
    pub(crate) log: u64,
}

impl Seen {
    /// Whether so many bytes more in the log leave too little.
    fn is_short(self, free_in_file: u64, bytes: u64) -> bool {
        let leave = LEAVE_BYTES_MAX.min(self.total / LEAVE_PART).saturating_add(self.log);
        self.free.saturating_add(free_in_file) < leave.saturating_add(bytes)
    }
}

/// Looks at the disk; `None` where the system does not tell.
pub(crate) type Look = Box<dyn Fn() -> Option<Seen> + Send>;

/// The disk as it was seen last.
pub(crate) struct Disk {
    look: Look,
    due_ns: u64,
    sent_bytes: u64,
    short: bool,
}

impl Disk {
    /// The disk that a database is on; without a path none is known.
    pub(crate) fn of(database: Option<&str>) -> Disk {
        let database = database.map(|path| Path::new(path).to_owned());
        Disk::seen_by(Box::new(move || {
            let path = database.as_ref()?;
            // A file system that tells nothing answers zeros.
            let (free, total) = volume(path).filter(|(_, total)| *total > 0)?;
            Some(Seen { free, total, log: log_bytes(path) })
        }))
    }

    pub(crate) fn seen_by(look: Look) -> Disk {
        Disk { look, due_ns: 0, sent_bytes: 0, short: false }
    }

    /// Whether it was short a moment ago.
    pub(crate) fn is_known_short(&self) -> bool {
        self.short && monotonic_ns() < self.due_ns
    }

    /// Counts so many bytes that are sent; whether to look again before.
    fn is_due(&mut self, bytes: u64, now_ns: u64) -> bool {
        self.sent_bytes = self.sent_bytes.saturating_add(bytes);
        let due = now_ns >= self.due_ns || self.sent_bytes >= LOOK_AFTER_BYTES;
        if due {
            (self.due_ns, self.sent_bytes) = (now_ns.saturating_add(LOOK_EVERY_NS), 0);
        }
        due
    }
}

impl Writer<'_> {
    /// Whether a send of so many bytes leaves enough of the file and of the disk to those who
    /// empty it.
    pub(crate) fn leaves_room(&mut self, bytes: u64) -> Outcome<bool> {
        if self.spare_pages(SENDS_LEAVE)?.is_none() {
            return Ok(false);
        }
        if self.memory.disk.is_due(bytes, monotonic_ns()) {
            let free = self.db.first(Query::FreePages, (), |row| row.get(0).map(from_sql))?;
            let free_in_file = free.unwrap_or(0) * PAGE_BYTES;
            let seen = (self.memory.disk.look)();
            self.memory.disk.short = seen.is_some_and(|seen| seen.is_short(free_in_file, bytes));
        }
        Ok(!self.memory.disk.short)
    }
}

#[cfg(test)]
mod tests {
    use slipring::{AdminStore, ErrorKind, LoadPart, LoadStore, NewMessage, Retry};
    use slipring_conformance::verbs::{ack_all, at, claim, counts, plain, send, try_send};

    use super::*;
    use crate::{SqliteOptions, SqliteStore};

    const GB: u64 = 1 << 30;

    #[test]
    fn sends_leave_a_part_of_the_disk_and_what_the_file_may_grow_by() {
        let short = |free, total, log, in_file| Seen { free, total, log }.is_short(in_file, 0);
        assert!(short(LEAVE_BYTES_MAX - 1, 100 * GB, 0, 0));
        assert!(!short(LEAVE_BYTES_MAX, 100 * GB, 0, 0));
        assert!(short(LEAVE_BYTES_MAX, 100 * GB, 1, 0));
        // Pages that are free in the file take nothing of the disk.
        assert!(!short(0, 100 * GB, 1, LEAVE_BYTES_MAX + 1));
        assert!(!short(GB / 160, GB / 10, 0, 0), "a small disk is not kept empty");
        let seen = Seen { free: LEAVE_BYTES_MAX, total: 100 * GB, log: 0 };
        assert!(seen.is_short(0, 1), "a send counts as well");
    }

    #[test]
    fn the_disk_is_looked_at_after_a_while_or_when_much_was_sent() {
        let mut disk = Disk::of(None);
        assert!(disk.is_due(1, 5));
        assert!(!disk.is_due(LOOK_AFTER_BYTES - 1, 4 + LOOK_EVERY_NS));
        assert!(disk.is_due(0, 5 + LOOK_EVERY_NS));
        assert!(disk.is_due(LOOK_AFTER_BYTES, 6 + LOOK_EVERY_NS));
    }

    /// Lets the store find so much free on its disk.
    async fn free(store: &SqliteStore, free: u64) {
        let seen = move || Some(Seen { free, total: 100 * GB, log: 0 });
        let set = move |writer: &mut Writer<'_>| {
            writer.memory.disk = Disk::seen_by(Box::new(seen));
            Ok(())
        };
        store.write("free", 1, set).await.unwrap();
    }

    #[tokio::test]
    async fn a_disk_that_is_nearly_full_refuses_sends_and_serves_who_empties_it() {
        // S2.2, failure table
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let store = SqliteStore::open(path, SqliteOptions::default()).unwrap();
        let queue = plain(&store).await;
        send(&store, queue, &["a", "b"]).await;
        let load = store.begin_load(queue, at(0)).await.unwrap().id;
        free(&store, LEAVE_BYTES_MAX - 1).await;
        let message = || vec![NewMessage::new("c")];
        let refused = try_send(&store, queue, message(), at(0)).await.unwrap_err();
        assert_eq!((refused.kind(), refused.retry()), (ErrorKind::StorageFull, Retry::Later));
        let part = LoadPart { load, part: 0, checksum: 1, now: at(0), messages: message() };
        let refused = store.append_load(part).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::StorageFull);
        let refused = store.check().await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::StorageFull);
        let held = claim(&store, queue, 1, at(0)).await;
        ack_all(&store, queue, &held, at(0)).await;
        assert_eq!(counts(&store, queue).await, [1, 0, 0, 0]);
        free(&store, 2 * LEAVE_BYTES_MAX).await;
        try_send(&store, queue, message(), at(0)).await.unwrap();
        assert_eq!(counts(&store, queue).await, [2, 0, 0, 0]);
    }
}
