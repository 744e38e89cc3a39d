//! The store as its users see it: opening, closing, and the queue verbs, each of which is left
//! with a thread and waited for.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use slipring::store::{
    AppendBatch, Appended, Capabilities, ClaimAny, ClaimBatch, Claimed, ClaimedAny, Deadlines,
    Demand, ExtendBatch, Head, Pass, Sent, SettleBatch, Settled, Store,
};
use slipring::{Clock, Delivery, Error, MessageId, NewMessage, QueueId, ReceiptKey, Timestamp};

use crate::ceiling;
use crate::checkpoint::{Checkpoints, count_log_pages};
use crate::clock::{self, FileClock};
use crate::driver::Driver;
use crate::fault::{self, Fault, Outcome, closed};
use crate::flush::Log;
use crate::inbox::Inbox;
use crate::old_log;
use crate::open::{self, unreadable};
use crate::options::SqliteOptions;
use crate::place::{self, Place};
use crate::probe::Probes;
use crate::reader::{Reader, ReaderTask, start_reading};
use crate::ring::{Load, Owner};
use crate::sessions::end_sessions;
use crate::task::{Call, Classes};
use crate::warm::Body;
use crate::write_lock::Denied;
use crate::writer::{Core, Writer};

/// What a pass over deadlines counts as. It may touch so many messages, which is too much for a
/// caller's own thread.
pub(crate) const PASS_WEIGHT: usize = 1000;
/// The largest call: about 2 ms of the writer, and 2 ms for the log.
const CALL_MESSAGES_MAX: u32 = 1024;
const CALL_BYTES_MAX: u64 = 1 << 20;

/// A store in one SQLite file, which several processes may open at once.
///
/// Beside the file stand SQLite's own `-wal` and `-shm` and a `-lock` with the clock that these
/// processes share; a copy of the database needs the first two as well while a process has it
/// open.
pub struct SqliteStore {
    path: PathBuf,
    key: ReceiptKey,
    /// The clock of the file (S13.2).
    clock: FileClock,
    probes: Arc<Probes>,
    hold: Arc<Hold>,
    /// The queue in which the last pass of pruning has ended for want of room.
    prune_goes_on_in: Mutex<Option<QueueId>>,
}

/// What is let go at the end.
struct Hold {
    driver: Arc<Driver>,
    readers: Arc<Inbox<ReaderTask>>,
    reading: Mutex<Vec<JoinHandle<()>>>,
    /// The threads that write, flush, copy the log and clear away.
    writing: Mutex<Vec<JoinHandle<()>>>,
    /// Held shared as long as this process has the store open.
    lock: Arc<Mutex<Option<File>>>,
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
        let path = &place::followed(path.as_ref());
        let options = ceiling::within(&options);
        let mut connection = open::writing(path, &options)?;
        // The other files stand beside the one that a link leads to.
        let path = &path.canonicalize().map_err(|error| fault::at(unreadable(error), path))?;
        let at_path = |error| fault::at(error, path);
        let wait = options.busy_timeout.max(place::OPEN_WAIT_MIN);
        let (lock, only) =
            place::lock(path, wait).map_err(|error| at_path(open::taken(error, path)))?;
        open::ready(&mut connection, path, &options, only)?;
        let key = receipt_key(&connection).map_err(at_path)?;
        let size = count_log_pages(&mut connection).map_err(at_path)?;
        let classes = Classes::new(&options.waits);
        // From here on the writer waits for other processes by itself, and counts it.
        let busy = connection.busy_timeout(Duration::ZERO);
        busy.map_err(|error| at_path(fault::storage_error(error)))?;
        let place = Arc::new(Place::of(path));
        let denied = Arc::new(Denied::new(Arc::clone(&place), options.busy_timeout));
        let probes = Arc::new(Probes::new(Arc::clone(&denied)));
        let mut core = Core::new(connection, &options, classes.clone(), denied, Arc::clone(&size));
        let at_path_of = |fault: Fault| at_path(fault.into_error());
        if !only {
            old_log::keep_beside_others(path, &mut core).map_err(at_path_of)?;
        }
        core.alone(|writer| writer.recall_last_stamp()).map_err(at_path_of)?;
        let mut begun = None;
        if only {
            end_sessions(&mut core).map_err(at_path_of)?;
            begun = Some(clock::begin(&mut core, &lock, &options.machine).map_err(at_path_of)?);
        }
        let unreadable = |error| at_path(unreadable(error));
        lock.lock_shared().map_err(unreadable)?;
        // Only now: while the lock is made shared another process may have begun a clock.
        let clock = clock::take_over(&lock, &options.machine, begun, path);
        let flush = Arc::clone(&classes.flush);
        let log = Log::open(path, place, flush, options.checkpoint_bytes).map_err(unreadable)?;
        let checkpoints = Checkpoints::new(open::copying(path)?, size, &options, &classes);
        let driver = Arc::new(Driver::new(core, log, classes.clone(), checkpoints));
        let readers = Arc::new(Inbox::new());
        let hold = Arc::new(Hold {
            driver: Arc::clone(&driver),
            readers: Arc::clone(&readers),
            reading: Mutex::default(),
            writing: Mutex::default(),
            lock: Arc::new(Mutex::new(Some(lock))),
        });
        let store = Arc::new(SqliteStore {
            path: path.to_owned(),
            key,
            clock,
            probes,
            hold,
            prune_goes_on_in: Mutex::default(),
        });
        for _ in 0..options.readers.max(1) {
            let reading = open::reading(path, &options)?;
            let started = start_reading(reading, Arc::clone(&readers), classes.clone());
            store.hold.reading.lock().push(started.map_err(unreadable)?);
        }
        let threads = driver.start(readers).map_err(unreadable)?;
        store.hold.writing.lock().extend(threads);
        Ok(store)
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The threads that write, and the log.
    pub(crate) fn driver(&self) -> &Driver {
        &self.hold.driver
    }

    /// The key that was read from the file.
    pub(crate) fn key(&self) -> &ReceiptKey {
        &self.key
    }

    /// Has the writer do some work in a transaction and waits for it. `load` says whose turn it
    /// takes and how many messages or entries it is about; of no queue if it is only a number.
    pub(crate) async fn write<T, F>(
        &self,
        operation: &'static str,
        load: impl Into<Load>,
        work: F,
    ) -> Result<T, Error>
    where
        F: for<'c> FnMut(&mut Writer<'c>) -> Outcome<T> + Send + 'static,
        T: Send + 'static,
    {
        let (call, answer) = Call::new(load, work);
        self.send(call, answer).await.map_err(|error| error.during(operation))
    }

    /// Has a reader do some work and waits for it.
    pub(crate) async fn read<T, F>(&self, operation: &'static str, work: F) -> Result<T, Error>
    where
        F: for<'c> FnMut(&mut Reader<'c>) -> Outcome<T> + Send + 'static,
        T: Send + 'static,
    {
        let (call, answer) = Call::new(1, work);
        let result = match self.hold.readers.push(Box::new(call)) {
            Ok(()) => answer.await.unwrap_or_else(|_| Err(closed())),
            Err(_) => Err(closed()),
        };
        result.map_err(|error| error.during(operation))
    }

    /// Has readers fetch what a step that removes messages of a queue takes first, so that the
    /// writer does not wait for the disk. A look that fails costs only time later.
    pub(crate) async fn fetch(&self, queue: QueueId) {
        let bodies = self.read("fetch", move |reader| reader.first_to_go(queue)).await;
        for part in bodies.into_iter().flatten().flat_map(Body::parts) {
            if self.read("fetch", move |reader| reader.fetch(part)).await.is_err() {
                return;
            }
        }
    }

    async fn send<T, F>(&self, call: Call<F, T>, answer: crate::task::Answer<T>) -> Result<T, Error>
    where
        F: for<'c> FnMut(&mut Writer<'c>) -> Outcome<T> + Send + 'static,
        T: Send + 'static,
    {
        let _in_flight = self.hold.driver.submit(Box::new(call))?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }

    /// Whether a write comes through.
    pub(crate) async fn probe(&self) -> Result<(), Error> {
        let checked = self.probes.check(|probe| self.hold.driver.leave(probe)).await;
        checked.map_err(|error| error.during("check"))
    }

    /// Ends the threads once they have served what waits, and lets the file go.
    pub(crate) async fn shut_down(&self) {
        self.probes.close();
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
        self.driver.log.let_go();
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
            appends_and_claims: true,
            passes_by_queue: true,
            deletes_if_empty: true,
            call_messages_max: CALL_MESSAGES_MAX,
            call_bytes_max: CALL_BYTES_MAX,
        }
    }

    fn clock(&self) -> Option<Arc<dyn Clock>> {
        Some(Arc::new(self.clock.clock.clone()))
    }

    async fn append(&self, batch: AppendBatch) -> Result<Vec<Result<Sent, Error>>, Error> {
        let bytes = batch.messages.iter().map(NewMessage::size_bytes).sum();
        let load = Load::of(Owner::Queue(batch.queue), batch.messages.len()).writing(bytes);
        self.write("append", load, move |writer| writer.append(&batch)).await
    }

    async fn append_and_claim(
        &self,
        batch: AppendBatch,
        demands: Vec<Demand>,
    ) -> Result<Appended, Error> {
        let bytes = batch.messages.iter().map(NewMessage::size_bytes).sum();
        let handed_out = demands.iter().map(|demand| demand.up_to as usize).sum::<usize>();
        let messages = batch.messages.len() + handed_out.min(batch.messages.len());
        let load = Load::of(Owner::Queue(batch.queue), messages).writing(bytes);
        let claim = ClaimBatch { queue: batch.queue, now: batch.now, demands };
        self.write("append", load, move |writer| writer.append_and_claim(&batch, &claim)).await
    }

    async fn claim(&self, batch: ClaimBatch) -> Result<Claimed, Error> {
        let messages = batch.demands.iter().map(|demand| demand.up_to as usize).sum();
        self.write("claim", (batch.queue, messages), move |writer| writer.claim(&batch)).await
    }

    async fn claim_any(&self, claim: ClaimAny) -> Result<ClaimedAny, Error> {
        // The turn is that of one of its queues, so that a storm of these holds up no others.
        let owner = claim.queues.first().copied().map_or(Owner::Administration, Owner::Queue);
        let load = Load::of(owner, claim.demand.up_to as usize);
        self.write("claim_any", load, move |writer| writer.claim_any(&claim)).await
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
        self.write("claim_message", (queue, 1), work).await
    }

    async fn heads(&self, queues: &[QueueId], now: Timestamp) -> Result<Vec<Option<Head>>, Error> {
        let queues = queues.to_vec();
        self.read("heads", move |reader| reader.heads(&queues, now)).await
    }

    async fn settle(&self, batch: SettleBatch) -> Result<Vec<Result<Settled, Error>>, Error> {
        let load = (batch.queue, batch.entries.len());
        self.write("settle", load, move |writer| writer.settle(&batch)).await
    }

    async fn extend(&self, batch: ExtendBatch) -> Result<Vec<Result<Timestamp, Error>>, Error> {
        let load = (batch.queue, batch.entries.len());
        self.write("extend", load, move |writer| writer.extend(&batch)).await
    }

    async fn due(&self, now: Timestamp) -> Result<Pass, Error> {
        self.write("due", PASS_WEIGHT, move |writer| writer.due(now)).await
    }

    async fn expire(&self, now: Timestamp) -> Result<Pass, Error> {
        self.write("expire", PASS_WEIGHT, move |writer| writer.expire(now)).await
    }

    async fn due_in(&self, queue: QueueId, now: Timestamp) -> Result<Pass, Error> {
        self.write("due", (queue, PASS_WEIGHT), move |writer| writer.due_in(queue, now)).await
    }

    async fn expire_in(&self, queue: QueueId, now: Timestamp) -> Result<Pass, Error> {
        self.write("expire", (queue, PASS_WEIGHT), move |writer| writer.expire_in(queue, now)).await
    }

    async fn deadlines(&self, from: u64) -> Result<Deadlines, Error> {
        self.read("deadlines", move |reader| reader.deadlines(from)).await
    }

    async fn prune(&self, now: Timestamp) -> Result<Pass, Error> {
        let queue = self.prune_goes_on_in.lock().take();
        if let Some(queue) = queue {
            self.fetch(queue).await;
        }
        let (lock, clock) = (Arc::clone(&self.hold.lock), self.clock.clone());
        let load = Load::of(Owner::Background, PASS_WEIGHT);
        let work = move |writer: &mut Writer<'_>| {
            clock::note(&lock, &clock);
            writer.prune(now, slipring::clock::monotonic_ns())
        };
        let pruned = self.write("prune", load, work).await?;
        *self.prune_goes_on_in.lock() = pruned.more_in;
        Ok(pruned.pass)
    }

    async fn foreign_changes(&self) -> Result<u64, Error> {
        let (call, answer) = Call::new(1, |writer: &mut Writer<'_>| Ok(writer.foreign_changes()));
        // It comes again and again, and says nothing of how many callers there are.
        self.hold.driver.leave(Box::new(call.polling()))?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }

    async fn queue_changes(&self) -> Result<u64, Error> {
        self.read("queue_changes", |reader| reader.queue_changes()).await
    }
}
