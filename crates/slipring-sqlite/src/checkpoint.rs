//! Copying the log into the file once it has grown: by a thread and a connection of their own
//! while the writer goes on, so that calls wait only for the last pages.
//!
//! SQLite begins the log anew when a transaction starts and all of the log has been copied. While
//! calls come without a pause that never happens by itself, so the writer is held for the last
//! pass, which has only to copy what came during the one before. That one is *calm*: only
//! small calls of queues that are not ahead of the others write meanwhile, so that the hold, which
//! concerns all, is short.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;
use slipring::clock::monotonic_ns;
use slipring::{Error, WaitClass};

use crate::fault::{Fault, Outcome, storage_error};
use crate::flush::Log;
use crate::holders;
use crate::open::PAGE_BYTES;
use crate::options::SqliteOptions;
use crate::reclaim::Reclaim;
use crate::task::Classes;

/// Most passes beside the writer before it is held for the last one; the last of them is calm.
const PASSES_BESIDE_MAX: u32 = 4;
/// The calm pass begins once so small a part of what makes a checkpoint due is left.
const REST_PART: u64 = 8;
/// A log is cut when it takes so many times what makes a checkpoint due.
const CUT_FROM: u64 = 2;
/// How often it is tried again while a reader holds the log back.
const HELD_BACK_EVERY: Duration = Duration::from_secs(1);
/// A checkpoint for want of room is tried so often.
const NO_ROOM_EVERY_NS: u64 = 1_000_000_000;
const NOT_COPIED: &str = "the log could not be copied into the file";

/// When the log is copied, and the connection that does it. Locks are taken in this order:
/// connection, then the writer's core; the bell's lock is a leaf.
pub(crate) struct Checkpoints {
    /// `None` once the store is closed.
    connection: Mutex<Option<Connection>>,
    asked: Mutex<Asked>,
    bell: Condvar,
    size: Arc<LogSize>,
    /// A checkpoint is due when the log has so many pages.
    due_pages: AtomicU64,
    grow_pages: u64,
    long_reader: Duration,
    reclaim_every: Duration,
    beside: Arc<WaitClass>,
    pause: Arc<WaitClass>,
    held_back: Arc<WaitClass>,
    /// When a reader was met that keeps the log from beginning anew; 0 while there is none.
    held_since_ns: AtomicU64,
}

/// The writer, as the thread that copies sees it.
pub(crate) trait Beside {
    /// Until this is dropped only small calls of queues that are not ahead of the others write.
    fn calm(&self) -> impl Drop;
    /// Until what is returned is dropped nothing is written.
    fn hold(&self) -> impl Held;
    /// Takes a step that makes the file smaller, and answers when it wants to be called again.
    fn give_back(&self, reclaim: &mut Reclaim) -> Duration;
}

/// The writer while it writes nothing.
pub(crate) trait Held {
    /// Its connection, which waits for no lock; `None` once the store is closed.
    fn connection(&self) -> Option<&Connection>;
}

/// What the writing connection tells of the log.
#[derive(Debug, Default)]
pub(crate) struct LogSize {
    /// Pages in the log after the last commit.
    pages: AtomicU64,
    commits: AtomicU64,
    /// Whether a call found no room since the last checkpoint.
    no_room: AtomicBool,
}

impl LogSize {
    /// Takes note of a call that found no room: copying the log may make some.
    pub(crate) fn found_no_room(&self) {
        self.no_room.store(true, Ordering::Relaxed);
    }

    /// Transactions of the writing connection that changed something.
    pub(crate) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }
}

#[derive(Default)]
struct Asked {
    now: bool,
    closed: bool,
    no_room_at_ns: u64,
    /// A call has found no room since the last copy: the next checkpoint also cuts the log.
    no_room: bool,
}

/// Pages in the log, and how many of them are in the file.
struct Pages {
    log: u64,
    copied: u64,
    /// Another connection stood in the way of more than copying.
    busy: bool,
}

impl Pages {
    fn rest(&self) -> u64 {
        self.log.saturating_sub(self.copied)
    }
}

impl Checkpoints {
    pub(crate) fn new(
        connection: Connection,
        size: Arc<LogSize>,
        options: &SqliteOptions,
        classes: &Classes,
    ) -> Checkpoints {
        let grow_pages = (options.checkpoint_bytes / PAGE_BYTES).max(1);
        Checkpoints {
            connection: Mutex::new(Some(connection)),
            asked: Mutex::default(),
            bell: Condvar::new(),
            size,
            due_pages: AtomicU64::new(grow_pages),
            grow_pages,
            long_reader: options.long_reader,
            reclaim_every: options.reclaim_every,
            beside: Arc::clone(&classes.checkpoint),
            pause: Arc::clone(&classes.checkpoint_pause),
            held_back: Arc::clone(&classes.log_held_back),
            held_since_ns: AtomicU64::new(0),
        }
    }

    fn is_due(&self) -> bool {
        self.size.pages.load(Ordering::Relaxed) >= self.due_pages.load(Ordering::Relaxed)
    }

    /// For how long a reader has kept the log from beginning anew, if one does.
    pub(crate) fn held_for(&self) -> Option<Duration> {
        let since_ns = self.held_since_ns.load(Ordering::Relaxed);
        let held_ns = monotonic_ns().saturating_sub(since_ns);
        (since_ns > 0).then(|| Duration::from_nanos(held_ns))
    }

    /// Pages in the log after the last commit.
    pub(crate) fn log_pages(&self) -> u64 {
        self.size.pages.load(Ordering::Relaxed)
    }

    /// Asks for a checkpoint when the log has grown enough, or there is no room for more of it.
    pub(crate) fn ask_if_due(&self) {
        let no_room = self.size.no_room.load(Ordering::Relaxed);
        if !no_room && !self.is_due() {
            return;
        }
        let mut asked = self.asked.lock();
        asked.no_room |= no_room;
        if no_room && !self.is_due() {
            let now_ns = monotonic_ns();
            if now_ns < asked.no_room_at_ns {
                return;
            }
            asked.no_room_at_ns = now_ns.saturating_add(NO_ROOM_EVERY_NS);
            self.size.no_room.store(false, Ordering::Relaxed);
        }
        if !asked.now {
            asked.now = true;
            self.bell.notify_one();
        }
    }

    /// Copies whenever asked until closed. While nothing is asked, space is given back.
    pub(crate) fn run(&self, log: &Log, writer: &impl Beside) {
        let mut reclaim = Reclaim::new(Arc::clone(&self.size), self.reclaim_every);
        let (mut told, mut failing, mut found) = (false, false, true);
        let mut pause = reclaim.not_now();
        loop {
            let mut asked = self.asked.lock();
            if !asked.now && !asked.closed {
                self.bell.wait_for(&mut asked, pause);
            }
            if asked.closed {
                return;
            }
            let due = asked.now;
            let no_room = due && std::mem::take(&mut asked.no_room);
            drop(asked);
            // What a load has let the log grow to, the next one finds there; a reader's share, and
            // what was found at the opening, is for the disk.
            let cut = self.held_for().is_some() || reclaim.take_shrunk() || no_room;
            if (due || cut) && log.check().is_ok() {
                match self.checkpoint(log, writer, cut || found) {
                    Ok(whole) => {
                        (failing, found) = (false, found && !whole);
                        self.follow(&mut told, whole, log);
                    }
                    Err(fault) => {
                        self.put_off();
                        // A condition that lasts is told of once.
                        if !std::mem::replace(&mut failing, true) || fault.lost_a_flush() {
                            log.report(fault, NOT_COPIED);
                        }
                    }
                }
            }
            if due {
                self.asked.lock().now = false;
            } else {
                pause = writer.give_back(&mut reclaim);
            }
            if self.held_for().is_some() {
                pause = pause.min(HELD_BACK_EVERY);
            }
        }
    }

    /// Copies what can be copied, and cuts a log that has become large if that is wanted; answers
    /// whether the log can begin anew.
    fn checkpoint(&self, log: &Log, writer: &impl Beside, cut: bool) -> Outcome<bool> {
        let connection = self.connection.lock();
        let Some(connection) = connection.as_ref() else { return Ok(true) };
        let (mut copied, mut calm) = (None, None);
        for pass in 1..=PASSES_BESIDE_MAX {
            let pages = self.beside.measure(|| copy(connection, "passive"))?;
            if calm.is_some() {
                break;
            }
            // SQLite tells how long the log was when the pass began.
            let log_pages = self.size.pages.load(Ordering::Relaxed).max(pages.log);
            let small = log_pages.saturating_sub(pages.copied) <= self.grow_pages / REST_PART;
            // No pass gets further than the state that a reader still looks at.
            if copied.replace(pages.copied) == Some(pages.copied) && !small {
                self.next_from(pages.log);
                return Ok(false);
            }
            if small || pass + 1 == PASSES_BESIDE_MAX {
                calm = Some(writer.calm());
            }
        }
        let held = writer.hold();
        let pages = self.pause.measure(|| copy(connection, "passive"))?;
        let mut whole = pages.rest() == 0;
        let large = log.bytes() > CUT_FROM * self.grow_pages * PAGE_BYTES;
        // Cut by another connection, the log would look changed by another process to the writer.
        if let (true, Some(writer)) = (whole && cut && large, held.connection()) {
            whole = !self.pause.measure(|| copy(writer, "truncate"))?.busy;
            log.ahead.forget();
        }
        self.next_from(if pages.rest() == 0 { 0 } else { pages.log });
        drop((held, calm));
        Ok(whole)
    }

    /// The next checkpoint is due when a log of so many pages has grown.
    fn next_from(&self, pages: u64) {
        self.due_pages.store(pages + self.grow_pages, Ordering::Relaxed);
        self.size.pages.store(pages, Ordering::Relaxed);
    }

    /// Tells of a reader that holds the log back for long, once, and of its end.
    fn follow(&self, told: &mut bool, whole: bool, log: &Log) {
        let held = self.held_for();
        if whole {
            if let Some(held) = held {
                self.held_back.waited(u64::try_from(held.as_nanos()).unwrap_or(u64::MAX));
            }
            self.held_since_ns.store(0, Ordering::Relaxed);
            if std::mem::take(told) {
                tracing::info!(log_bytes = log.bytes(), "the log is not held back any more");
            }
            return;
        }
        if held.is_none() {
            self.held_since_ns.store(monotonic_ns().max(1), Ordering::Relaxed);
        }
        let held = held.unwrap_or_default();
        if held >= self.long_reader && !std::mem::replace(told, true) {
            let held_by = holders::readers(log.place.index());
            tracing::warn!(
                held_by,
                log_bytes = log.bytes(),
                held_s = held.as_secs(),
                "a reader that does not end its transaction keeps the log of the file from \
                 beginning anew; the log grows with every write until that transaction or \
                 process is ended"
            );
        }
    }

    /// After a failure the next try waits until the log has grown a little more, or a call has
    /// found no room.
    fn put_off(&self) {
        let pages = self.size.pages.load(Ordering::Relaxed);
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
        Ok(Pages { busy: number(0)? > 0, log: number(1)?, copied: number(2)? })
    });
    pages.map_err(Fault::Storage)
}

/// Counts the pages of the log after each commit into the result.
pub(crate) fn count_log_pages(connection: &mut Connection) -> Result<Arc<LogSize>, Error> {
    let size = Arc::<LogSize>::default();
    let counter = Arc::clone(&size);
    let hook = move |_: &mut rusqlite::hooks::Wal, pages: i32| {
        counter.pages.store(u64::try_from(pages).unwrap_or(0), Ordering::Relaxed);
        counter.commits.fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    connection.wal_hook(Some(hook)).map_err(storage_error)?;
    Ok(size)
}

#[cfg(test)]
mod tests;
