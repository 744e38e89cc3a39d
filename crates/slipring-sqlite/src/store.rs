//! The store as its users see it: opening, closing, and the queue verbs, each of which is left
//! with a thread and waited for.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use async_trait::async_trait;
use parking_lot::Mutex;
use slipring::store::{
    AppendBatch, Capabilities, ClaimBatch, Claimed, Deadlines, Demand, ExtendBatch, Head, Pass,
    Sent, SettleBatch, Settled, Store,
};
use slipring::{Delivery, Error, MessageId, QueueId, ReceiptKey, Timestamp};

use crate::checkpoint::{Checkpoints, count_log_pages};
use crate::driver::Driver;
use crate::fault::{self, Outcome, closed};
use crate::flush::Log;
use crate::inbox::Inbox;
use crate::open::{self, beside, unreadable};
use crate::options::SqliteOptions;
use crate::reader::{Reader, ReaderTask, start_reading};
use crate::task::{Call, Classes};
use crate::writer::{Core, Writer};

/// What a pass over deadlines counts as. It may touch so many messages, which is too much for a
/// caller's own thread.
pub(crate) const PASS_WEIGHT: usize = 1000;
/// The same of a pass over one queue: two of them do not share a transaction.
const TURN_WEIGHT: usize = 5000;

/// A store in one SQLite file, which several processes may open at once.
///
/// Beside the file stand SQLite's own `-wal` and `-shm` and an empty `-lock`; a copy of the
/// database needs the first two as well while a process has it open.
pub struct SqliteStore {
    path: PathBuf,
    key: ReceiptKey,
    hold: Arc<Hold>,
}

/// What is let go at the end.
struct Hold {
    driver: Arc<Driver>,
    readers: Arc<Inbox<ReaderTask>>,
    reading: Mutex<Vec<JoinHandle<()>>>,
    /// The threads that write, flush and copy the log.
    writing: Mutex<Vec<JoinHandle<()>>>,
    /// Held shared as long as this process has the store open.
    lock: Mutex<Option<File>>,
}

impl SqliteStore {
    /// Opens the store in a file, which is created if it is not there. Blocks while the file is
    /// recovered or migrated.
    ///
    /// Leases that belong to connections of a process (see [`Demand::session`]) end here when no
    /// other process has the file open.
    ///
    /// # Errors
    /// `StorageTooNew` when a newer program has written the file, `StorageCorrupt` when it is
    /// damaged or another program's; nothing in it is changed then. `StorageUnavailable` when it
    /// cannot be opened or is locked for too long.
    pub fn open(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Arc<SqliteStore>, Error> {
        let path = path.as_ref();
        let mut connection = open::writing(path, &options)?;
        let at_path = |error| fault::at(error, path);
        let (lock, only) = lock(path).map_err(|error| at_path(unreadable(error)))?;
        let key = receipt_key(&connection).map_err(at_path)?;
        let log_pages = count_log_pages(&mut connection).map_err(at_path)?;
        let classes = Classes::new(&options.waits);
        // From here on the writer waits for other processes by itself, and counts it.
        let busy = connection.busy_timeout(std::time::Duration::ZERO);
        busy.map_err(|error| at_path(fault::storage_error(error)))?;
        let mut core = Core::new(connection, &options, classes.clone());
        let begun = core.alone(|writer| writer.recall_last_stamp());
        begun.map_err(|fault| at_path(fault.into_error()))?;
        if only {
            end_sessions(&mut core).map_err(|fault| at_path(fault.into_error()))?;
        }
        lock.lock_shared().map_err(|error| at_path(unreadable(error)))?;
        let log = Log::open(path, Arc::clone(&classes.flush));
        let log = log.map_err(|error| at_path(unreadable(error)))?;
        let bytes = options.checkpoint_bytes;
        let checkpoints = Checkpoints::new(open::copying(path)?, log_pages, bytes, &classes);
        let driver = Arc::new(Driver::new(core, log, classes.clone(), checkpoints));
        let readers = Arc::new(Inbox::new());
        let hold = Arc::new(Hold {
            driver: Arc::clone(&driver),
            readers: Arc::clone(&readers),
            reading: Mutex::default(),
            writing: Mutex::default(),
            lock: Mutex::new(Some(lock)),
        });
        let store = Arc::new(SqliteStore { path: path.to_owned(), key, hold });
        let no_thread = |error| at_path(unreadable(error));
        for _ in 0..options.readers.max(1) {
            let reading = open::reading(path, &options)?;
            let started = start_reading(reading, Arc::clone(&readers), classes.clone());
            store.hold.reading.lock().push(started.map_err(no_thread)?);
        }
        store.hold.writing.lock().extend(driver.start().map_err(no_thread)?);
        Ok(store)
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether writing may go on.
    pub(crate) fn check_log(&self) -> Result<(), Error> {
        self.hold.driver.log.check()
    }

    /// The key that was read from the file.
    pub(crate) fn key(&self) -> &ReceiptKey {
        &self.key
    }

    /// Has the writer do some work in a transaction and waits for it. `weight` is how many
    /// messages or entries it is about.
    pub(crate) async fn write<T, F>(
        &self,
        operation: &'static str,
        weight: usize,
        work: F,
    ) -> Result<T, Error>
    where
        F: for<'c> FnMut(&mut Writer<'c>) -> Outcome<T> + Send + 'static,
        T: Send + 'static,
    {
        let (call, answer) = Call::new(weight, work);
        self.send(call, answer).await.map_err(|error| error.during(operation))
    }

    /// Has a reader do some work and waits for it.
    pub(crate) async fn read<T, F>(&self, operation: &'static str, work: F) -> Result<T, Error>
    where
        F: for<'c> FnMut(&mut Reader<'c>) -> Outcome<T> + Send + 'static,
        T: Send + 'static,
    {
        let (call, answer) = Call::new(1, work);
        let left = self.hold.readers.push(Box::new(call), 1).map_err(|_| closed());
        let result = match left {
            Ok(()) => answer.await.unwrap_or_else(|_| Err(closed())),
            Err(error) => Err(error),
        };
        result.map_err(|error| error.during(operation))
    }

    async fn send<T, F>(&self, call: Call<F, T>, answer: crate::task::Answer<T>) -> Result<T, Error>
    where
        F: for<'c> FnMut(&mut Writer<'c>) -> Outcome<T> + Send + 'static,
        T: Send + 'static,
    {
        let _in_flight = self.hold.driver.submit(Box::new(call))?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }

    /// Ends the threads once they have served what waits, and lets the file go.
    pub(crate) async fn shut_down(&self) {
        let hold = Arc::clone(&self.hold);
        let (done, ended) = tokio::sync::oneshot::channel();
        // Joining threads blocks, which a thread that serves other tasks must not.
        std::thread::spawn(move || {
            hold.shut_down();
            // A caller that is gone needs no answer.
            let _ = done.send(());
        });
        // The thread sends or is gone; both mean that it is over.
        let _ = ended.await;
    }
}

impl Hold {
    fn shut_down(&self) {
        // The readers' connections first: SQLite removes the log with the last connection, and of
        // two that close at the same moment neither takes itself for the last.
        self.readers.close();
        join(&self.reading);
        self.driver.close();
        join(&self.writing);
        *self.lock.lock() = None;
    }
}

fn join(threads: &Mutex<Vec<JoinHandle<()>>>) {
    for thread in threads.lock().drain(..) {
        // A thread that panicked has nothing more to give.
        let _ = thread.join();
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.hold.shut_down();
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Opens the lock file; true when no other store has the file open, and then none can get past
/// this point until the lock is made shared.
fn lock(path: &Path) -> std::io::Result<(File, bool)> {
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false);
    let file = file.open(beside(path, "-lock"))?;
    match file.try_lock() {
        Ok(()) => Ok((file, true)),
        Err(TryLockError::WouldBlock) => Ok((file, false)),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Ends the leases of connections of processes that are no more, as lapses (see the failure table
/// of `docs/semantics.md`), in steps.
fn end_sessions(core: &mut Core) -> Outcome<()> {
    while core.alone(|writer| writer.end_sessions())? {}
    loop {
        match core.alone(|writer| writer.lapse_sessions()) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            // A full file opens all the same, so that it can be emptied; later passes go on.
            Err(fault) if fault.is_full() => return Ok(()),
            Err(fault) => return Err(fault),
        }
    }
}

fn receipt_key(connection: &rusqlite::Connection) -> Result<ReceiptKey, Error> {
    let text = include_str!("../queries/receipt_key.sql");
    let key = connection.query_row(text, (), |row| row.get::<_, [u8; 32]>(0));
    key.map(ReceiptKey::from_bytes).map_err(fault::storage_error)
}

#[async_trait]
impl Store for SqliteStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            name: "sqlite",
            durable: true,
            shared: true,
            transactions: false,
            calls_one_by_one: false,
            passes_by_queue: true,
        }
    }

    async fn append(&self, batch: AppendBatch) -> Result<Vec<Result<Sent, Error>>, Error> {
        let weight = batch.messages.len();
        self.write("append", weight, move |writer| writer.append(&batch)).await
    }

    async fn claim(&self, batch: ClaimBatch) -> Result<Claimed, Error> {
        let weight = batch.demands.iter().map(|demand| demand.up_to as usize).sum();
        self.write("claim", weight, move |writer| writer.claim(&batch)).await
    }

    async fn claim_message(
        &self,
        queue: QueueId,
        message: MessageId,
        demand: Demand,
        now: Timestamp,
    ) -> Result<Delivery, Error> {
        let work =
            move |writer: &mut Writer<'_>| writer.claim_message(queue, message, &demand, now);
        self.write("claim_message", 1, work).await
    }

    async fn heads(&self, queues: &[QueueId], now: Timestamp) -> Result<Vec<Option<Head>>, Error> {
        let queues = queues.to_vec();
        self.read("heads", move |reader| reader.heads(&queues, now)).await
    }

    async fn settle(&self, batch: SettleBatch) -> Result<Vec<Result<Settled, Error>>, Error> {
        let weight = batch.entries.len();
        self.write("settle", weight, move |writer| writer.settle(&batch)).await
    }

    async fn extend(&self, batch: ExtendBatch) -> Result<Vec<Result<Timestamp, Error>>, Error> {
        let weight = batch.entries.len();
        self.write("extend", weight, move |writer| writer.extend(&batch)).await
    }

    async fn due(&self, now: Timestamp) -> Result<Pass, Error> {
        self.write("due", PASS_WEIGHT, move |writer| writer.due(now)).await
    }

    async fn expire(&self, now: Timestamp) -> Result<Pass, Error> {
        self.write("expire", PASS_WEIGHT, move |writer| writer.expire(now)).await
    }

    async fn due_in(&self, queue: QueueId, now: Timestamp) -> Result<Pass, Error> {
        self.write("due", TURN_WEIGHT, move |writer| writer.due_in(queue, now)).await
    }

    async fn expire_in(&self, queue: QueueId, now: Timestamp) -> Result<Pass, Error> {
        self.write("expire", TURN_WEIGHT, move |writer| writer.expire_in(queue, now)).await
    }

    async fn deadlines(&self, from: u64) -> Result<Deadlines, Error> {
        self.read("deadlines", move |reader| reader.deadlines(from)).await
    }

    async fn prune(&self, now: Timestamp) -> Result<Pass, Error> {
        self.write("prune", PASS_WEIGHT, move |writer| writer.prune(now)).await
    }

    async fn foreign_changes(&self) -> Result<u64, Error> {
        let (call, answer) = Call::new(1, |writer: &mut Writer<'_>| Ok(writer.foreign_changes()));
        self.send(call.without_transaction(), answer).await
    }

    async fn queue_changes(&self) -> Result<u64, Error> {
        self.read("queue_changes", |reader| reader.queue_changes()).await
    }
}
