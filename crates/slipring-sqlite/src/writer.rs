//! The one who writes: the only writing connection and the pictures of the queues. The one that
//! has it runs calls that wait in transactions.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::Connection;
use slipring::{Durability, Error, QueueId, Randomness, Timestamp};

use crate::checkpoint::LogSize;
use crate::disk::Disk;
use crate::fault::{Fault, Outcome};
use crate::on_disk::{Needs, OnDisk};
use crate::open::PAGE_BYTES;
use crate::options::SqliteOptions;
use crate::picture::Picture;
use crate::position::{from_sql, stamp_at, to_sql};
use crate::prune::Purge;
use crate::send_back::SendingBack;
use crate::serving::{Calls, Served};
use crate::statements::{Query, Statements, keep_statements};
use crate::task::{Classes, Task};
use crate::write_lock::{Denied, is_busy};

/// A call for the writer.
pub(crate) type WriterTask = Box<dyn for<'c> Task<Writer<'c>>>;

/// A queue's picture, shared between the table of pictures and the verb that works on it. The
/// writer is used by one thread at a time, so the lock is never waited for; no verb takes the
/// lock of one queue twice, since a move and a dead letter lead to another queue or not at all.
pub(crate) type Shared = Arc<Mutex<Picture>>;

/// The writing connection with what belongs to it.
pub(crate) struct Core {
    connection: Connection,
    memory: Memory,
}

/// What the writer remembers from one transaction to the next.
pub(crate) struct Memory {
    pub(crate) randomness: Arc<dyn Randomness>,
    pub(crate) classes: Classes,
    busy_timeout: Duration,
    /// How long to wait for other processes.
    pub(crate) wait: Duration,
    /// Since when they keep the lock.
    pub(crate) denied: Arc<Denied>,
    size: Arc<LogSize>,
    pictures: HashMap<QueueId, Shared>,
    /// Queues whose picture is ahead of the file.
    noted: Vec<QueueId>,
    /// The stamp of the message sent last by this process.
    last_stamp: u64,
    /// The latest moment that a caller of this process has named.
    pub(crate) clock_ms: u64,
    /// Purges that have begun.
    pub(crate) purges: HashMap<QueueId, Purge>,
    /// Redrives that have begun, by where they take from.
    pub(crate) sending_back: HashMap<QueueId, SendingBack>,
    pub(crate) disk: Disk,
    /// Most pages that the file may have.
    pub(crate) pages_max: Option<u64>,
    /// What `PRAGMA data_version` said last; it moves when another connection commits.
    data_version: i64,
    /// How often another process was seen to have changed the file.
    foreign_changes: u64,
    /// What the call that runs waits for before it is answered.
    pub(crate) needs: Needs,
    on_disk: OnDisk,
    /// The ends of pauses that were announced by [`Writer::due`].
    pub(crate) announced: HashMap<QueueId, u64>,
    /// Those announced in the transaction that runs; none is told if it is undone.
    pub(crate) told: Vec<QueueId>,
    /// Where the next [`Writer::prune`] goes on.
    pub(crate) prune: crate::prune::Round,
    /// Whether a queue was deleted whose messages are still to be cleared away.
    pub(crate) clearing: bool,
}

/// The writer while a task works with it.
pub(crate) struct Writer<'c> {
    pub(crate) db: Statements<'c>,
    pub(crate) memory: &'c mut Memory,
}

impl Memory {
    /// Takes note of a moment that a caller has named.
    pub(crate) fn saw(&mut self, now: Timestamp) {
        self.clock_ms = self.clock_ms.max(now.as_millis());
    }
}

impl Core {
    pub(crate) fn new(
        connection: Connection,
        options: &SqliteOptions,
        classes: Classes,
        denied: Arc<Denied>,
        size: Arc<LogSize>,
    ) -> Core {
        keep_statements(&connection);
        let memory = Memory {
            randomness: Arc::clone(&options.randomness),
            classes,
            busy_timeout: options.busy_timeout,
            wait: options.busy_timeout,
            denied,
            size,
            pictures: HashMap::new(),
            noted: Vec::new(),
            last_stamp: 0,
            clock_ms: 0,
            purges: HashMap::new(),
            sending_back: HashMap::new(),
            disk: Disk::of(connection.path()),
            pages_max: options.file_bytes_max.map(|bytes| bytes / PAGE_BYTES),
            data_version: 0,
            foreign_changes: 0,
            needs: Needs::default(),
            on_disk: OnDisk::default(),
            announced: HashMap::new(),
            told: Vec::new(),
            prune: crate::prune::Round::default(),
            // What an earlier run has left of deleted queues.
            clearing: true,
        };
        Core { connection, memory }
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Whether a deleted queue was found since the last look whose messages are to be cleared
    /// away.
    pub(crate) fn take_clearing(&mut self) -> bool {
        std::mem::take(&mut self.memory.clearing)
    }

    /// Takes note of a transaction that is to be flushed, by what `Log::wrote` said of it.
    pub(crate) fn wrote(&mut self, written: u64) {
        self.memory.on_disk.wrote(written, self.memory.last_stamp);
    }

    /// All up to a transaction was flushed.
    pub(crate) fn flushed(&mut self, written: u64) {
        self.memory.on_disk.flushed(written);
    }

    /// Runs calls in one transaction and answers those that need no flush.
    ///
    /// While another process writes it waits for a moment, or not at all; those whose time is up
    /// fail then, and the others are postponed.
    pub(crate) fn serve(&mut self, calls: &mut dyn Calls, wait: bool) -> Served {
        self.memory.wait = if wait { self.memory.denied.slice() } else { Duration::ZERO };
        let served = self.writer().serve(calls);
        self.memory.wait = self.memory.busy_timeout;
        served
    }

    /// As [`Core::alone`], but does nothing while another process writes: `None`.
    pub(crate) fn alone_if_free<T>(
        &mut self,
        work: impl FnOnce(&mut Writer<'_>) -> Outcome<T>,
    ) -> Outcome<Option<T>> {
        self.memory.wait = Duration::ZERO;
        let result = self.alone(work);
        self.memory.wait = self.memory.busy_timeout;
        match result {
            Err(fault) if is_busy(&fault) => Ok(None),
            result => result.map(Some),
        }
    }

    /// Runs work that belongs to no call in a transaction of its own.
    pub(crate) fn alone<T>(
        &mut self,
        work: impl FnOnce(&mut Writer<'_>) -> Outcome<T>,
    ) -> Outcome<T> {
        self.writer().in_transaction(|writer| {
            let result = work(writer)?;
            writer.write_back()?;
            Ok(result)
        })
    }

    /// Runs work that changes nothing, outside of a transaction.
    pub(crate) fn look<T>(
        &mut self,
        work: impl FnOnce(&mut Writer<'_>) -> Outcome<T>,
    ) -> Outcome<T> {
        work(&mut self.writer())
    }

    fn writer(&mut self) -> Writer<'_> {
        Writer { db: Statements::new(&self.connection), memory: &mut self.memory }
    }
}

impl<'c> Writer<'c> {
    pub(crate) fn in_transaction<T>(
        &mut self,
        work: impl FnOnce(&mut Writer<'c>) -> Outcome<T>,
    ) -> Outcome<T> {
        self.begin()?;
        let undo = UndoOnPanic(self.db.connection());
        self.memory.told.clear();
        let result = self.look_for_foreign_changes().and_then(|()| work(self)).and_then(|result| {
            let commit = || self.db.execute(Query::Commit, ());
            let committed = self.memory.classes.commit.measure(commit);
            committed.map(|_| result).map_err(Fault::Storage)
        });
        let result = result.map_err(|fault| crate::ceiling::told(fault, &self.memory.denied.place));
        if let Err(fault) = &result {
            if fault.is_full() {
                self.memory.size.found_no_room();
            }
            undo.now();
            self.forget_pictures();
            for queue in self.memory.told.drain(..) {
                self.memory.announced.remove(&queue);
            }
        }
        result
    }

    /// Drops the pictures when another connection has changed the file since the last look.
    pub(crate) fn look_for_foreign_changes(&mut self) -> Outcome<()> {
        let version = self.db.first(Query::DataVersion, (), |row| row.get(0))?.unwrap_or(0);
        if version != self.memory.data_version {
            self.memory.data_version = version;
            self.memory.foreign_changes += 1;
            self.forget_flushes();
            self.forget_pictures();
        }
        Ok(())
    }

    /// How often another process was seen to have changed the file.
    pub(crate) fn foreign_changes(&self) -> u64 {
        self.memory.foreign_changes
    }

    fn forget_pictures(&mut self) {
        self.memory.pictures.clear();
        self.memory.noted.clear();
    }

    /// Forgets one picture, for a queue that is no more.
    pub(crate) fn forget_picture(&mut self, queue: QueueId) {
        self.memory.pictures.remove(&queue);
        self.memory.purges.remove(&queue);
        self.memory.sending_back.remove(&queue);
        self.memory.noted.retain(|noted| *noted != queue);
    }

    /// The picture of a queue; `None` when there is no such queue.
    pub(crate) fn picture(&mut self, queue: QueueId) -> Outcome<Option<Shared>> {
        if let Some(picture) = self.memory.pictures.get(&queue) {
            return Ok(Some(Arc::clone(picture)));
        }
        let Some(picture) = self.load_picture(queue)? else { return Ok(None) };
        let picture = Arc::new(Mutex::new(picture));
        self.memory.pictures.insert(queue, Arc::clone(&picture));
        Ok(Some(picture))
    }

    /// The picture of a queue that must be there.
    pub(crate) fn live(&mut self, queue: QueueId) -> Outcome<Shared> {
        self.picture(queue)?.ok_or_else(|| Fault::Refused(Error::queue_not_found(queue)))
    }

    /// Notes that a picture is about to be changed.
    pub(crate) fn note(&mut self, picture: &mut Picture) {
        if !picture.noted {
            picture.noted = true;
            self.memory.noted.push(picture.id());
        }
    }

    /// The call that runs is answered only after a flush, if its queue wants that (S1.1, S1.3).
    pub(crate) fn promise(&mut self, durability: Durability) {
        if durability == Durability::Full {
            self.memory.needs = Needs::Own;
        }
    }

    /// The call that runs hands out a message with this stamp, and is answered only when that is as
    /// durable as its queue asks (S2.4).
    pub(crate) fn hands_out(&mut self, durability: Durability, sent: u64) {
        // A message may come from a queue of another process with a stamp that is ahead of ours.
        self.sent_before(sent);
        if durability == Durability::Full {
            self.memory.needs = self.memory.needs.max(self.memory.on_disk.needs(sent));
        }
    }

    /// Messages have come that need not be on disk although their stamps are old.
    pub(crate) fn forget_flushes(&mut self) {
        self.memory.on_disk.forget();
    }

    /// A stamp for a message sent now, after all stamps of this process and after `last`.
    pub(crate) fn stamp(&mut self, now: Timestamp, last: u64) -> u64 {
        self.memory.saw(now);
        let stamp = stamp_at(now.as_millis()).max(self.memory.last_stamp + 1).max(last + 1);
        self.memory.last_stamp = stamp;
        stamp
    }

    /// The stamp that was given last.
    pub(crate) fn last_stamp(&self) -> u64 {
        self.memory.last_stamp
    }

    /// Lets all stamps from here on be later than one that was found in the file.
    pub(crate) fn sent_before(&mut self, stamp: u64) {
        self.memory.last_stamp = self.memory.last_stamp.max(stamp);
    }

    /// Takes over the last stamp of the process that had the file before.
    pub(crate) fn recall_last_stamp(&mut self) -> Outcome<()> {
        let last = self.db.first(Query::LastSent, (), |row| row.get::<_, i64>(0))?;
        self.sent_before(from_sql(last.unwrap_or(0)));
        Ok(())
    }

    /// Leaves the last stamp for the process that has the file next.
    pub(crate) fn leave_last_stamp(&mut self) -> Outcome<()> {
        self.db.execute(Query::SetLastSent, [to_sql(self.memory.last_stamp)])?;
        Ok(())
    }

    /// Writes what pictures are ahead of the file.
    pub(crate) fn write_back(&mut self) -> Outcome<()> {
        for queue in std::mem::take(&mut self.memory.noted) {
            let Some(picture) = self.memory.pictures.get(&queue).map(Arc::clone) else { continue };
            let picture = &mut *picture.lock();
            picture.noted = false;
            self.write_back_groups(picture)?;
            self.write_back_picture(picture)?;
        }
        Ok(())
    }

    /// Writes back the lanes and counts of one queue, if they are known.
    pub(crate) fn write_back_lanes(&mut self, queue: QueueId) -> Outcome<()> {
        let picture = self.memory.pictures.get(&queue).map(Arc::clone);
        picture.map_or(Ok(()), |picture| self.write_back_picture(&mut picture.lock()))
    }
}

/// Lets the write lock go when work panics: other processes write on, also while this one keeps
/// the store open.
struct UndoOnPanic<'c>(&'c Connection);

impl UndoOnPanic<'_> {
    fn now(&self) {
        if !self.0.is_autocommit() {
            // SQLite undoes the transaction by itself when this fails.
            let _ = self.0.execute_batch(include_str!("../queries/rollback.sql"));
        }
    }
}

impl Drop for UndoOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.now();
        }
    }
}
