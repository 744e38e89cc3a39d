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
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use slipring::{Error, WaitClass};

use crate::fault::poisoned;
use crate::open::beside;
use crate::writer::WriterTask;

/// The log, and what keeps the store from going on after a failed flush: the operating system
/// forgets what it could not write, so a later flush that succeeds proves nothing.
pub(crate) struct Log {
    path: PathBuf,
    /// Opened at the first flush; SQLite keeps the same file while a connection is open.
    file: Mutex<Option<Arc<File>>>,
    poison: Mutex<Option<Error>>,
    class: Arc<WaitClass>,
}

impl Log {
    pub(crate) fn new(database: &Path, class: Arc<WaitClass>) -> Log {
        let (file, poison) = (Mutex::new(None), Mutex::new(None));
        Log { path: beside(database, "-wal"), file, poison, class }
    }

    /// Flushes all that was written to the log.
    ///
    /// # Errors
    /// When this or an earlier flush has failed.
    pub(crate) fn flush(&self) -> Result<(), Error> {
        self.check()?;
        let flushed = self.class.measure(|| self.file()?.sync_data());
        flushed.map_err(|error| {
            let error = poisoned(&error.to_string());
            self.poison(error.clone());
            error
        })
    }

    fn file(&self) -> io::Result<Arc<File>> {
        let mut file = self.file.lock();
        if let Some(file) = &*file {
            return Ok(Arc::clone(file));
        }
        let opened = Arc::new(OpenOptions::new().read(true).write(true).open(&self.path)?);
        *file = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// Lets nothing be written any more.
    pub(crate) fn poison(&self, error: Error) {
        tracing::error!(%error, "the store stops writing");
        self.poison.lock().get_or_insert(error);
    }

    /// Whether writing may go on.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.poison.lock().clone().map_or(Ok(()), Err)
    }
}

/// Calls that wait for a flush while the writer goes on. Those that wait together share one.
pub(crate) struct Flusher {
    state: Mutex<State>,
    bell: Condvar,
    log: Arc<Log>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<WriterTask>,
    busy: bool,
    closed: bool,
}

impl Flusher {
    pub(crate) fn new(log: Arc<Log>) -> Flusher {
        Flusher { state: Mutex::default(), bell: Condvar::new(), log }
    }

    /// Whether no flush is going on or waited for.
    pub(crate) fn is_idle(&self) -> bool {
        let state = self.state.lock();
        !state.busy && state.waiting.is_empty()
    }

    /// Leaves calls of a committed transaction to be answered after a flush.
    pub(crate) fn push(&self, tasks: Vec<WriterTask>) {
        let mut state = self.state.lock();
        state.waiting.extend(tasks);
        let wake = !state.busy;
        drop(state);
        if wake {
            self.bell.notify_one();
        }
    }

    /// Flushes until closed and empty.
    pub(crate) fn run(&self) {
        loop {
            let mut state = self.state.lock();
            state.busy = false;
            while state.waiting.is_empty() && !state.closed {
                self.bell.wait(&mut state);
            }
            if state.waiting.is_empty() {
                return;
            }
            state.busy = true;
            let waiting = std::mem::take(&mut state.waiting);
            drop(state);
            flush_and_answer(&self.log, waiting);
        }
    }

    /// Lets [`Flusher::run`] end.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.bell.notify_all();
    }
}

/// Flushes once and answers all.
pub(crate) fn flush_and_answer(log: &Log, tasks: impl IntoIterator<Item = WriterTask>) {
    let flushed = log.flush();
    for task in tasks {
        match &flushed {
            Ok(()) => task.answer(),
            Err(error) => task.fail(error.clone()),
        }
    }
}
