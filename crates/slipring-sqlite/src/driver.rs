//! Who runs the calls that wait: a lone caller itself, so that its call costs no change of
//! threads; the writing thread as soon as calls come at the same time, so that they share
//! transactions and no caller works for the others.
//!
//! Whoever holds the core runs all that waits in one transaction. A call that is not run by its
//! own caller has rung the writing thread's bell, so none is left behind. Locks are taken in this
//! order: the checkpoint's connection, then core or thread, then flushing, poison; the inbox is a
//! leaf.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use slipring::Error;

use crate::checkpoint::Checkpoints;
use crate::fault::closed;
use crate::flush::{Flusher, Log, Unwinding, flush_and_answer};
use crate::inbox::Inbox;
use crate::reclaim::Reclaim;
use crate::task::Classes;
use crate::writer::{Core, WriterTask};

/// Most messages and entries that share a transaction; bounds how long a call waits for those
/// that came before it.
const TRANSACTION_WEIGHT_MAX: usize = 8192;
/// A caller runs no more messages and entries than this by itself; a call of more has been
/// combined from several callers, or is better done beside them.
const CALLER_WEIGHT_MAX: usize = 16;
/// So many calls in a row must have met no other before a caller runs its own: where calls come
/// together, a caller that works cannot bring the next ones.
const LONELY_CALLS_MIN: u32 = 32;

/// The inbox of the writer with those who empty it.
pub(crate) struct Driver {
    inbox: Inbox<WriterTask>,
    /// `None` once the store is closed.
    core: Mutex<Option<Core>>,
    pub(crate) log: Log,
    flusher: Flusher,
    classes: Classes,
    checkpoints: Checkpoints,
    thread: Mutex<Thread>,
    bell: Condvar,
    /// Calls that are not answered yet.
    in_flight: AtomicU32,
    /// How many calls in a row met no other.
    lonely: AtomicU32,
}

/// A call that is not answered yet.
pub(crate) struct InFlight<'a>(&'a Driver);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What the writing thread is to do.
#[derive(Default)]
struct Thread {
    woken: bool,
    closed: bool,
}

impl Driver {
    pub(crate) fn new(core: Core, log: Log, classes: Classes, checkpoints: Checkpoints) -> Driver {
        Driver {
            inbox: Inbox::new(),
            core: Mutex::new(Some(core)),
            log,
            flusher: Flusher::default(),
            classes,
            checkpoints,
            thread: Mutex::default(),
            bell: Condvar::new(),
            in_flight: AtomicU32::new(0),
            lonely: AtomicU32::new(0),
        }
    }

    /// Starts the threads that write, flush and copy the log; they end after [`Driver::close`].
    pub(crate) fn start(self: &Arc<Self>) -> std::io::Result<[JoinHandle<()>; 3]> {
        let [writing, flushing, copying] = [(); 3].map(|()| Arc::clone(self));
        let name = |name: &str| thread::Builder::new().name(name.to_owned());
        let flushing = name("slipring-flush").spawn(move || flushing.flusher.run(&flushing.log))?;
        let copy = move || {
            let hold = || copying.core.lock();
            copying.checkpoints.run(&copying.log, hold, |reclaim| copying.give_back(reclaim));
        };
        let copying = name("slipring-checkpoint").spawn(copy)?;
        let writing = name("slipring-write").spawn(move || writing.work())?;
        Ok([writing, flushing, copying])
    }

    /// Takes a call on, and runs it where its caller is alone. It is answered in time, also when
    /// its caller does not wait for it. What is returned is to be kept until the answer is there.
    ///
    /// # Errors
    /// When the store has been closed.
    pub(crate) fn submit(&self, task: WriterTask) -> Result<InFlight<'_>, Error> {
        let others = self.in_flight.fetch_add(1, Ordering::Relaxed);
        let in_flight = InFlight(self);
        let lonely = match others {
            0 => self.lonely.fetch_add(1, Ordering::Relaxed) >= LONELY_CALLS_MIN,
            _ => {
                self.lonely.store(0, Ordering::Relaxed);
                false
            }
        };
        let weight = task.weight();
        self.inbox.push(task, weight).map_err(|_| closed())?;
        if lonely && weight <= CALLER_WEIGHT_MAX && self.log.is_quick() {
            self.run_as_caller();
        }
        if self.inbox.weight() > 0 {
            self.wake();
        }
        Ok(in_flight)
    }

    /// Takes on a task that no call waits for as one, so that it says nothing of how many callers
    /// there are.
    ///
    /// # Errors
    /// When the store has been closed.
    pub(crate) fn leave(&self, task: WriterTask) -> Result<(), Error> {
        let weight = task.weight();
        self.inbox.push(task, weight).map_err(|_| closed())?;
        self.wake();
        Ok(())
    }

    fn run_as_caller(&self) {
        let Some(mut core) = self.core.try_lock() else { return };
        let durable = self.round(&mut core, CALLER_WEIGHT_MAX, false);
        drop(core);
        if let Some((tasks, written)) = durable {
            flush_and_answer(&self.log, tasks, written);
        }
    }

    fn wake(&self) {
        let mut thread = self.thread.lock();
        if !thread.woken {
            thread.woken = true;
            self.bell.notify_one();
        }
    }

    /// Runs what waits in one transaction, up to a weight; answers the calls that wait for a flush,
    /// and up to which transaction. Where another process writes at the moment it either waits, or
    /// leaves the calls in the inbox.
    fn round(
        &self,
        core: &mut Option<Core>,
        weight_max: usize,
        wait: bool,
    ) -> Option<(Vec<WriterTask>, u64)> {
        let mut tasks = self.inbox.take(weight_max);
        if tasks.is_empty() {
            return None;
        }
        let ready = self.log.check().and_then(|()| core.as_mut().ok_or_else(closed));
        let core = match ready {
            Ok(core) => core,
            Err(error) => {
                tasks.into_iter().for_each(|task| task.fail(error.clone()));
                return None;
            }
        };
        for task in &mut tasks {
            task.taken(&self.classes.writer_inbox);
        }
        let unwinding = Unwinding(&self.log);
        let served = core.serve(tasks, wait);
        drop(unwinding);
        let postponed = served.postponed.into_iter();
        let weighed = |task: WriterTask| (task.weight(), task);
        self.inbox.put_back(postponed.map(weighed).collect());
        if let Some(error) = served.poison {
            self.log.poison(error);
        }
        if core.is_clearing() {
            self.wake();
        }
        self.checkpoints.ask_if_due();
        (!served.durable.is_empty()).then(|| (served.durable, self.log.wrote()))
    }

    /// What the writing thread does.
    fn work(&self) {
        // However the thread ends, nobody waits for it for ever.
        let _end = End(self);
        loop {
            let mut thread = self.thread.lock();
            while !thread.woken && !thread.closed {
                self.bell.wait(&mut thread);
            }
            thread.woken = false;
            let closed = thread.closed;
            drop(thread);
            self.work_off();
            self.keep_up();
            if closed && self.inbox.weight() == 0 {
                break;
            }
        }
        self.let_go();
    }

    fn work_off(&self) {
        while self.inbox.weight() > 0 {
            let durable = self.round(&mut self.core.lock(), TRANSACTION_WEIGHT_MAX, true);
            let Some((tasks, written)) = durable else { continue };
            if self.inbox.weight() == 0 && self.flusher.is_idle() {
                flush_and_answer(&self.log, tasks, written);
            } else {
                self.flusher.push(tasks, written);
            }
        }
    }

    /// Between transactions: clears away a part of what deleted queues have left.
    fn keep_up(&self) {
        if self.log.check().is_err() {
            return;
        }
        if let Some(core) = self.core.lock().as_mut()
            && core.is_clearing()
        {
            self.clear_away(core);
        }
    }

    /// Gives back a little space that the file does not need, where no call wants the writer.
    fn give_back(&self, reclaim: &mut Reclaim) -> Duration {
        let Some(mut core) = self.core.try_lock() else { return reclaim.not_now() };
        match core.as_mut() {
            Some(core) if self.inbox.weight() == 0 && self.log.check().is_ok() => {
                reclaim.step(core, &self.log)
            }
            _ => reclaim.not_now(),
        }
    }

    fn clear_away(&self, core: &mut Core) {
        match core.alone_if_free(|writer| writer.clear_away()) {
            Ok(Some(())) if core.is_clearing() => self.wake(),
            // Where another process writes, the next call that comes through leads here again.
            Ok(_) => {}
            Err(fault) => {
                self.log.report(fault, "what a deleted queue left is not cleared away yet");
            }
        }
    }

    /// Takes no more calls; the threads end when those that wait are served.
    pub(crate) fn close(&self) {
        self.inbox.close();
        self.thread.lock().closed = true;
        self.bell.notify_all();
    }

    /// Writes back what is cached and lets the file go.
    fn let_go(&self) {
        let Some(mut core) = self.core.lock().take() else { return };
        if self.log.check().is_err() {
            return;
        }
        self.log.place.leave();
        if let Err(fault) = core.alone(|writer| writer.leave_last_stamp()) {
            self.log.report(fault, "the time of the last send could not be kept");
        }
        self.checkpoints.finish(core.connection(), &self.log);
    }
}

/// What happens when the writing thread ends.
struct End<'a>(&'a Driver);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.inbox.close();
        for task in self.0.inbox.take(usize::MAX) {
            task.fail(closed());
        }
        self.0.flusher.close();
        self.0.checkpoints.close();
    }
}

#[cfg(test)]
mod tests {
    use slipring::AdminStore;

    use super::*;
    use crate::fault::Outcome;
    use crate::writer::Writer;
    use crate::{SqliteOptions, SqliteStore};

    fn open(folder: &tempfile::TempDir) -> Arc<SqliteStore> {
        SqliteStore::open(folder.path().join("a.db"), SqliteOptions::default()).unwrap()
    }

    /// The name of the thread that runs a call of a weight.
    async fn thread_of(store: &SqliteStore, weight: usize) -> Option<String> {
        let name = |writer: &mut Writer<'_>| {
            // Answered after a flush, and so not while the thread still has the core.
            writer.promise(slipring::Durability::Full);
            Ok(thread::current().name().map(str::to_owned))
        };
        store.write("thread_of", weight, name).await.unwrap()
    }

    const WRITING: &str = "slipring-write";

    /// Calls until a call of a weight is run by its caller.
    async fn be_lonely(store: &SqliteStore, weight: usize) {
        let lonely = async {
            while thread_of(store, weight).await.as_deref() == Some(WRITING) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(30), lonely).await.unwrap();
    }

    #[tokio::test]
    async fn a_lone_caller_runs_its_small_calls_and_never_a_pass() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder);
        for _ in 0..LONELY_CALLS_MIN {
            assert_eq!(thread_of(&store, 1).await.as_deref(), Some(WRITING));
        }
        be_lonely(&store, CALLER_WEIGHT_MAX).await;
        for weight in [CALLER_WEIGHT_MAX + 1, crate::store::PASS_WEIGHT] {
            assert_eq!(thread_of(&store, weight).await.as_deref(), Some(WRITING), "{weight}");
        }
    }

    /// Has a call panic, checks what comes after it, and answers whether its caller ran it.
    async fn panic_in_a_call(lonely: bool) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder);
        if lonely {
            be_lonely(&store, 1).await;
        }
        let broken = Arc::clone(&store);
        let panics = |_: &mut Writer<'_>| -> Outcome<()> { panic!("on purpose") };
        let call = tokio::spawn(async move { broken.write("panics", 1, panics).await });
        // The panic of a lone caller is its own; others are told of it.
        let by_caller = match call.await {
            Ok(answer) => {
                answer.unwrap_err();
                false
            }
            Err(error) => error.is_panic(),
        };
        for _ in 0..3 {
            store.write("after", 1, |_| Ok(())).await.unwrap_err();
        }
        store.check().await.expect_err("such a store is not ready");
        store.close().await.unwrap_err();
        drop(store);
        thread_of(&open(&folder), 1).await;
        by_caller
    }

    #[tokio::test]
    async fn after_a_call_that_panics_every_call_is_answered_and_none_is_done() {
        assert!(!panic_in_a_call(false).await, "a first call is run by the thread");
        let by_caller = async { while !panic_in_a_call(true).await {} };
        tokio::time::timeout(std::time::Duration::from_secs(60), by_caller).await.unwrap();
    }

    #[tokio::test]
    async fn looks_are_answered_also_after_looks_that_panicked() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder);
        for _ in 0..5 {
            let look = store.read("panics", |_| -> Outcome<()> { panic!("on purpose") });
            look.await.unwrap_err();
        }
        assert!(store.queues().await.unwrap().is_empty());
    }
}
