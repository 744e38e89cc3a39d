//! Copying the log into the file once it has grown: by a thread and a connection of their own
//! while the writer goes on, so that calls wait only for the last pages.
//!
//! SQLite begins the log anew when a transaction starts and all of the log has been copied. While
//! calls come without a pause that never happens by itself, so the writer is held for the last
//! pass, which has only to copy what came during the one before.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;
use slipring::{Error, WaitClass};

use crate::fault::{Fault, Outcome, storage_error};
use crate::flush::Log;
use crate::open::PAGE_BYTES;
use crate::task::Classes;

/// Most passes beside the writer before it is held for the last one.
const PASSES_BESIDE_MAX: u32 = 3;
/// The writer is held once so small a part of what makes a checkpoint due is left.
const REST_PART: u64 = 8;
const NOT_COPIED: &str = "the log could not be copied into the file";

/// When the log is copied, and the connection that does it. Locks are taken in this order:
/// connection, then the writer's core; the bell's lock is a leaf.
pub(crate) struct Checkpoints {
    /// `None` once the store is closed.
    connection: Mutex<Option<Connection>>,
    asked: Mutex<Asked>,
    bell: Condvar,
    /// Pages in the log after the last commit; set by a hook of the writing connection.
    log_pages: Arc<AtomicU64>,
    /// A checkpoint is due when the log has so many pages.
    due_pages: AtomicU64,
    grow_pages: u64,
    beside: Arc<WaitClass>,
    pause: Arc<WaitClass>,
}

#[derive(Default)]
struct Asked {
    now: bool,
    closed: bool,
}

/// Pages in the log, and how many of them are not in the file yet.
struct Pages {
    log: u64,
    rest: u64,
}

impl Checkpoints {
    pub(crate) fn new(
        connection: Connection,
        log_pages: Arc<AtomicU64>,
        checkpoint_bytes: u64,
        classes: &Classes,
    ) -> Checkpoints {
        let grow_pages = (checkpoint_bytes / PAGE_BYTES).max(1);
        Checkpoints {
            connection: Mutex::new(Some(connection)),
            asked: Mutex::default(),
            bell: Condvar::new(),
            log_pages,
            due_pages: AtomicU64::new(grow_pages),
            grow_pages,
            beside: Arc::clone(&classes.checkpoint),
            pause: Arc::clone(&classes.checkpoint_pause),
        }
    }

    fn is_due(&self) -> bool {
        self.log_pages.load(Ordering::Relaxed) >= self.due_pages.load(Ordering::Relaxed)
    }

    /// Asks for a checkpoint when the log has grown enough.
    pub(crate) fn ask_if_due(&self) {
        if self.is_due() {
            let mut asked = self.asked.lock();
            if !asked.now {
                asked.now = true;
                self.bell.notify_one();
            }
        }
    }

    /// Copies whenever asked until closed; `hold` gives what keeps the writer from writing.
    pub(crate) fn run<G>(&self, log: &Log, hold: impl Fn() -> G) {
        loop {
            let mut asked = self.asked.lock();
            while !asked.now && !asked.closed {
                self.bell.wait(&mut asked);
            }
            if asked.closed {
                return;
            }
            drop(asked);
            if log.check().is_ok()
                && let Err(fault) = self.checkpoint(&hold)
            {
                self.put_off();
                log.report(fault, NOT_COPIED);
            }
            self.asked.lock().now = false;
        }
    }

    fn checkpoint<G>(&self, hold: impl Fn() -> G) -> Outcome<()> {
        let connection = self.connection.lock();
        let Some(connection) = connection.as_ref() else { return Ok(()) };
        for _ in 0..PASSES_BESIDE_MAX {
            let pages = self.beside.measure(|| copy(connection, "passive"))?;
            if pages.rest <= self.grow_pages / REST_PART {
                break;
            }
        }
        let held = hold();
        let pages = self.pause.measure(|| copy(connection, "passive"))?;
        // Somebody who still reads an old state of the file keeps the log from beginning anew.
        let kept = if pages.rest == 0 { 0 } else { pages.log };
        self.due_pages.store(kept + self.grow_pages, Ordering::Relaxed);
        self.log_pages.store(kept, Ordering::Relaxed);
        drop(held);
        Ok(())
    }

    /// After a failure the next try waits until the log has grown a little more, which it cannot
    /// while there is no room: a full disk is told of once, not with each call.
    fn put_off(&self) {
        let pages = self.log_pages.load(Ordering::Relaxed);
        let more = (self.grow_pages / REST_PART).max(1);
        self.due_pages.store(pages + more, Ordering::Relaxed);
    }

    /// Copies all that is left, for the end; the writer writes no more.
    pub(crate) fn finish(&self, writer: &Connection, log: &Log) {
        self.close();
        self.connection.lock().take();
        let copied = self.pause.measure(|| copy(writer, "truncate"));
        copied.map(drop).unwrap_or_else(|fault| log.report(fault, NOT_COPIED));
    }

    /// Lets [`Checkpoints::run`] end.
    pub(crate) fn close(&self) {
        self.asked.lock().closed = true;
        self.bell.notify_all();
    }
}

fn copy(connection: &Connection, mode: &str) -> Outcome<Pages> {
    let text = format!("PRAGMA wal_checkpoint({mode})");
    let pages = connection.query_row(&text, (), |row| {
        let number = |at| row.get(at).map(|n: i64| u64::try_from(n).unwrap_or(0));
        Ok((number(1)?, number(2)?))
    });
    let (log, copied) = pages.map_err(Fault::Storage)?;
    Ok(Pages { log, rest: log.saturating_sub(copied) })
}

/// Counts the pages of the log after each commit into the result.
pub(crate) fn count_log_pages(connection: &mut Connection) -> Result<Arc<AtomicU64>, Error> {
    let pages = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&pages);
    let hook = move |_: &mut rusqlite::hooks::Wal, pages: i32| {
        counter.store(u64::try_from(pages).unwrap_or(0), Ordering::Relaxed);
        Ok(())
    };
    connection.wal_hook(Some(hook)).map_err(storage_error)?;
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use rusqlite::OpenFlags;

    use super::*;

    #[test]
    fn after_a_failure_the_next_try_waits_until_the_log_has_grown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch("PRAGMA journal_mode = wal; CREATE TABLE t (x)").unwrap();
        // A connection that may not write cannot copy.
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let connection = Connection::open_with_flags(&path, flags).unwrap();
        let pages = Arc::new(AtomicU64::new(1000));
        let waits = slipring::Waits::new();
        let classes = Classes::new(&waits);
        let own = Checkpoints::new(connection, Arc::clone(&pages), 800 * PAGE_BYTES, &classes);
        let log = Log::open(&path, waits.class("flush")).unwrap();
        own.ask_if_due();
        std::thread::scope(|scope| {
            scope.spawn(|| own.run(&log, || ()));
            while own.asked.lock().now {
                std::thread::yield_now();
            }
            own.close();
        });
        assert!(!own.is_due(), "nothing has changed since the failure");
        pages.store(1100, Ordering::Relaxed);
        assert!(own.is_due());
        log.check().expect("a copy that failed has lost nothing");
    }
}
