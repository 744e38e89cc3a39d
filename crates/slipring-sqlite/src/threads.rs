//! The threads of a store: one that writes, one that flushes, some that read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use slipring::Error;

use crate::fault::{closed, storage_error};
use crate::flush::{Flusher, Log, flush_and_answer};
use crate::inbox::Inbox;
use crate::open::PAGE_BYTES;
use crate::options::SqliteOptions;
use crate::reader::{Reader, ReaderTask};
use crate::task::Classes;
use crate::writer::{Writer, WriterTask};

/// Most messages and entries that share a transaction; bounds how long a call waits for those
/// that came before it.
const TRANSACTION_WEIGHT_MAX: usize = 8192;

/// What the writing thread works with.
pub(crate) struct WritingThread {
    pub(crate) inbox: Arc<Inbox<WriterTask>>,
    pub(crate) log: Arc<Log>,
    pub(crate) classes: Classes,
    pub(crate) options: SqliteOptions,
    /// Pages in the write-ahead log after the last commit; set by a hook of the connection.
    pub(crate) log_pages: Arc<AtomicU64>,
}

impl WritingThread {
    /// Starts the thread; it ends when the inbox is closed and empty.
    pub(crate) fn start(self, connection: Connection) -> std::io::Result<JoinHandle<()>> {
        thread::Builder::new().name("slipring-sqlite".to_owned()).spawn(move || {
            let inbox = Arc::clone(&self.inbox);
            // However the thread ends, nobody waits for it for ever.
            let _guard = Abandon(&inbox);
            self.run(&connection);
        })
    }

    fn run(self, connection: &Connection) {
        let flusher = Flusher::new(Arc::clone(&self.log));
        thread::scope(|scope| {
            let flushing = thread::Builder::new().name("slipring-flush".to_owned());
            let flushing = flushing.spawn_scoped(scope, || flusher.run());
            let alone = flushing.is_err();
            self.work(connection, &flusher, alone);
            flusher.close();
        });
        if self.log.check().is_ok() {
            self.checkpoint(connection, true);
        }
    }

    fn work(&self, connection: &Connection, flusher: &Flusher, alone: bool) {
        let options = &self.options;
        let mut writer = Writer::new(
            connection,
            Arc::clone(&options.randomness),
            self.classes.clone(),
            options.busy_timeout,
        );
        if let Err(fault) = writer.alone(Writer::recall_last_stamp) {
            let error = fault.into_error();
            tracing::warn!(%error, "the time of the last send could not be read");
        }
        let mut tasks = Vec::new();
        // What an earlier run has left of deleted queues.
        let mut clearing = true;
        while self.inbox.take(&mut tasks, TRANSACTION_WEIGHT_MAX, |t| t.weight(), !clearing) {
            for task in &mut tasks {
                task.taken(&self.classes.writer_inbox);
            }
            if let Err(error) = self.log.check() {
                tasks.drain(..).for_each(|task| task.fail(error.clone()));
                clearing = false;
                continue;
            }
            if !tasks.is_empty() {
                let served = writer.serve(std::mem::take(&mut tasks));
                if let Some(error) = served.poison {
                    self.log.poison(error);
                }
                if !served.durable.is_empty() {
                    if alone || (flusher.is_idle() && self.inbox.is_empty()) {
                        flush_and_answer(&self.log, served.durable);
                    } else {
                        flusher.push(served.durable);
                    }
                }
                clearing |= std::mem::take(&mut writer.clearing);
            }
            if clearing {
                clearing = writer.alone(Writer::clear_away).unwrap_or_else(|fault| {
                    let error = fault.into_error();
                    tracing::warn!(%error, "what a deleted queue left could not be removed yet");
                    false
                });
            }
            if self.log_pages.load(Ordering::Relaxed) * PAGE_BYTES >= options.checkpoint_bytes {
                self.checkpoint(connection, false);
            }
        }
        if self.log.check().is_ok()
            && let Err(fault) = writer.alone(Writer::leave_last_stamp)
        {
            let error = fault.into_error();
            tracing::warn!(%error, "the time of the last send could not be kept");
        }
    }

    /// Copies the log into the file as far as readers allow; `truncate` also empties it, which is
    /// for the end.
    fn checkpoint(&self, connection: &Connection, truncate: bool) {
        let mode = if truncate { "truncate" } else { "passive" };
        let copied = self.classes.checkpoint.measure(|| {
            connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), (), |_| Ok(()))
        });
        self.log_pages.store(0, Ordering::Relaxed);
        if let Err(error) = copied {
            let fault = crate::fault::Fault::Storage(error);
            let lost_a_flush = fault.lost_a_flush();
            let error = fault.into_error();
            tracing::warn!(%error, "the log could not be copied into the file");
            if lost_a_flush {
                self.log.poison(crate::fault::poisoned(error.message()));
            }
        }
    }
}

/// Refuses the calls that are left when the writing thread ends.
struct Abandon<'a>(&'a Inbox<WriterTask>);

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        self.0.abandon().into_iter().for_each(|task| task.fail(closed()));
    }
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

/// Starts a thread that serves reading calls until the inbox is closed and empty.
pub(crate) fn start_reading(
    connection: Connection,
    inbox: Arc<Inbox<ReaderTask>>,
    classes: Classes,
) -> std::io::Result<JoinHandle<()>> {
    thread::Builder::new().name("slipring-read".to_owned()).spawn(move || {
        let mut reader = Reader::new(&connection);
        let mut tasks = Vec::new();
        while inbox.take(&mut tasks, 1, |t: &ReaderTask| t.weight(), true) {
            for mut task in tasks.drain(..) {
                task.taken(&classes.reader_inbox);
                reader.serve(task);
            }
        }
    })
}
