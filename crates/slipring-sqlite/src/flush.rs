//! Flushing the log to disk, which is what makes a transaction survive a loss of power (S1.1).
//!
//! SQLite runs with `synchronous = normal`: it flushes the log before it copies it into the file,
//! and when it begins the log anew, but not at a commit. A transaction that must last is flushed
//! here before its callers are answered. The log is written in order and its checksums chain, so a
//! flush covers all transactions before it; those that need none (hand-outs, S1.4) cost none.
//! SQLite takes no locks on the log itself, so a second handle on it is harmless.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Condvar, Mutex};
use slipring::clock::monotonic_ns;
use slipring::{Error, ErrorKind, Retry, WaitClass};

use crate::ahead::Ahead;
use crate::company::Usual;
use crate::fault::{Fault, poisoned};
use crate::open::beside;
use crate::place::{self, Place};
use crate::writer::WriterTask;

/// The log, and what keeps the store from going on after a failed flush: the operating system
/// forgets what it could not write, so a later flush that succeeds proves nothing.
pub(crate) struct Log {
    /// Held during a flush.
    flushing: Mutex<()>,
    /// Open from the beginning, so that no flush fails for want of a handle or of the name. SQLite
    /// keeps the same file while a connection is open.
    file: File,
    /// Transactions that were written and must last.
    written: AtomicU64,
    /// How many of [`Log::written`] are on disk; raised under `flushing`.
    on_disk: AtomicU64,
    usual: Usual,
    pub(crate) ahead: Ahead,
    poison: Mutex<Option<Error>>,
    pub(crate) place: Arc<Place>,
    class: Arc<WaitClass>,
}

impl Log {
    /// The log of a database that a connection has open at a place; it begins anew when it has
    /// about `bytes_usual`.
    pub(crate) fn open(
        database: &Path,
        place: Arc<Place>,
        class: Arc<WaitClass>,
        bytes_usual: u64,
    ) -> io::Result<Log> {
        let file = OpenOptions::new().read(true).write(true).open(beside(database, "-wal"))?;
        place::mark_open(&file)?;
        Ok(Log {
            flushing: Mutex::default(),
            file,
            written: AtomicU64::new(0),
            on_disk: AtomicU64::new(0),
            usual: Usual::default(),
            ahead: Ahead::new(bytes_usual),
            poison: Mutex::new(None),
            place,
            class,
        })
    }

    /// Removes the mark. To be called before the lock file is let go, so that whoever locks that
    /// next finds no mark.
    pub(crate) fn let_go(&self) {
        // Without a lock there is nothing to give back.
        let _ = self.file.unlock();
    }

    /// Takes note of a committed transaction that must last; answers what [`Log::flush`] needs.
    pub(crate) fn wrote(&self) -> u64 {
        self.written.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// How many of them are on disk.
    pub(crate) fn flushed(&self) -> u64 {
        self.on_disk.load(Ordering::Acquire)
    }

    /// What a flush usually takes, in nanoseconds.
    pub(crate) fn flush_ns(&self) -> u64 {
        self.usual.ns()
    }

    /// Adds to a log of so many pages what is written over later; see [`Ahead::lengthen`].
    ///
    /// # Errors
    /// When it cannot be lengthened.
    pub(crate) fn lengthen(&self, pages: u64) -> io::Result<()> {
        self.ahead.lengthen(&self.file, pages)
    }

    /// Bytes that the log takes on disk, those of an earlier round included.
    pub(crate) fn bytes(&self) -> u64 {
        self.file.metadata().map_or(0, |file| file.len())
    }

    /// Lets no flush begin until what is returned is dropped.
    #[cfg(test)]
    pub(crate) fn hold_flushes(&self) -> impl Drop {
        self.flushing.lock()
    }

    /// Returns when the log is flushed up to a transaction; those that wait together share one
    /// flush.
    ///
    /// # Errors
    /// When this or an earlier flush has failed, or what was flushed has lost its name.
    pub(crate) fn flush(&self, written: u64) -> Result<(), Error> {
        let _flushing = self.flushing.lock();
        // What is to be flushed has been written, and may last or not.
        self.check().map_err(|error| error.with_retry(Retry::Unknown))?;
        if self.flushed() >= written {
            self.class.passed();
            return Ok(());
        }
        let covers = self.written.load(Ordering::Acquire);
        let since_ns = monotonic_ns();
        let synced = self.class.measure(|| self.file.sync_data());
        self.usual.took(monotonic_ns().saturating_sub(since_ns));
        match synced {
            Ok(()) => {
                self.on_disk.store(covers, Ordering::Release);
                self.place.check().map_err(|error| error.with_retry(Retry::Unknown))
            }
            Err(error) => {
                let error = poisoned(&error.to_string());
                self.poison(error.clone());
                Err(error)
            }
        }
    }

    /// Tells of a failure of work that nobody waits for; lets nothing be written any more where
    /// the failure is a flush.
    pub(crate) fn report(&self, fault: Fault, what: &str) {
        let lost_a_flush = fault.lost_a_flush();
        let error = fault.into_error();
        tracing::warn!(%error, "{what}");
        if lost_a_flush {
            self.poison(poisoned(error.message()));
        }
    }

    /// Lets nothing be written any more.
    pub(crate) fn poison(&self, error: Error) {
        tracing::error!(%error, "the store stops writing");
        self.poison.lock().get_or_insert(error);
    }

    /// Whether writing may go on.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.poison.lock().clone().map_or(Ok(()), Err)?;
        self.place.check()
    }
}

/// Lets nothing be written any more after a call has panicked: its transaction was undone, but what
/// is in memory may be half changed.
pub(crate) struct Unwinding<'a>(pub(crate) &'a Log);

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let text = "a call of the store has panicked; nothing more is written until the store \
                        is opened again";
            self.0.poison(Error::new(ErrorKind::Internal, text));
        }
    }
}

/// While more bytes than this wait for a flush, only small calls of queues that are not ahead of
/// the others write: a flush takes as long as all that was written before it.
const BYTES_MAX: u64 = 1 << 20;

/// Calls of a committed transaction that are answered once it is flushed.
pub(crate) struct Durable {
    pub(crate) tasks: Vec<WriterTask>,
    /// What [`Log::wrote`] said of it.
    pub(crate) written: u64,
    /// Bytes of bodies in it.
    pub(crate) bytes: u64,
}

/// Calls of committed transactions that wait for a flush by a thread of its own, while others are
/// written.
#[derive(Default)]
pub(crate) struct Flusher {
    state: Mutex<State>,
    bell: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<WriterTask>,
    written: u64,
    /// Bytes of those that wait, and of those that are being flushed.
    waiting_bytes: u64,
    flushing_bytes: u64,
    busy: bool,
    closed: bool,
}

impl Flusher {
    /// Whether no flush is going on or waited for here.
    pub(crate) fn is_idle(&self) -> bool {
        let state = self.state.lock();
        !state.busy && state.waiting.is_empty()
    }

    /// Whether so much waits for a flush that more of it would keep others waiting.
    pub(crate) fn is_full(&self) -> bool {
        self.state.lock().is_full()
    }

    /// Leaves calls to be answered after a flush.
    pub(crate) fn push(&self, durable: Durable) {
        let mut state = self.state.lock();
        state.waiting.extend(durable.tasks);
        state.written = state.written.max(durable.written);
        state.waiting_bytes += durable.bytes;
        let wake = !state.busy;
        drop(state);
        if wake {
            self.bell.notify_one();
        }
    }

    /// Flushes until closed and empty; calls `not_full` when it is not full any more.
    pub(crate) fn run(&self, log: &Log, not_full: impl Fn()) {
        loop {
            let mut state = self.state.lock();
            let was_full = state.is_full();
            (state.busy, state.flushing_bytes) = (false, 0);
            if was_full && !state.is_full() {
                drop(state);
                not_full();
                state = self.state.lock();
            }
            while state.waiting.is_empty() && !state.closed {
                self.bell.wait(&mut state);
            }
            if state.waiting.is_empty() {
                return;
            }
            state.busy = true;
            state.flushing_bytes = std::mem::take(&mut state.waiting_bytes);
            let (waiting, written) = (std::mem::take(&mut state.waiting), state.written);
            drop(state);
            flush_and_answer(log, waiting, written);
        }
    }

    /// Lets [`Flusher::run`] end.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.bell.notify_all();
    }
}

impl State {
    fn is_full(&self) -> bool {
        self.waiting_bytes + self.flushing_bytes > BYTES_MAX
    }
}

/// Flushes up to a transaction and answers all.
pub(crate) fn flush_and_answer(
    log: &Log,
    tasks: impl IntoIterator<Item = WriterTask>,
    written: u64,
) {
    let flushed = log.flush(written);
    for task in tasks {
        match &flushed {
            Ok(()) => task.answer(),
            Err(error) => task.fail(error.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_calls_are_flushed_also_when_the_log_has_lost_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("a.db");
        std::fs::write(beside(&database, "-wal"), "frames").unwrap();
        let place = Arc::new(Place::of(&database));
        let log = Log::open(&database, place, slipring::Waits::new().class("flush"), 0).unwrap();
        let written = log.wrote();
        // As SQLite does when the last connection closes.
        log.place.leave();
        std::fs::remove_file(beside(&database, "-wal")).unwrap();
        log.flush(written).unwrap();
        log.check().unwrap();
    }
}
