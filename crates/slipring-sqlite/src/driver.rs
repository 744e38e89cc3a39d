//! Who runs the calls that wait: a lone caller itself, so that its call costs no change of
//! threads; the writing thread where calls come at the same time, so that they share transactions
//! and no caller works for the others. [`Company`] learns which of the two it is.
//!
//! Whoever holds the core runs what waits in transactions; the ring says which calls share one. A
//! call that is not run by its own caller has rung the writing thread's bell, so none is left
//! behind. Locks are taken in this order: the checkpoint's connection, then core or thread, then
//! flushing, poison; the ring and the bell of the clearing are leaves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};
use rusqlite::Connection;
use slipring::Error;
use slipring::clock::monotonic_ns;

use crate::checkpoint::{Beside, Checkpoints, Held};
use crate::clearing::Clearing;
use crate::company::{Company, InFlight};
use crate::fault::closed;
use crate::flush::{Durable, Flusher, Log, Unwinding, flush_and_answer};
use crate::inbox::Inbox;
use crate::on_disk::Needs;
use crate::reader::ReaderTask;
use crate::reclaim::Reclaim;
use crate::ring::{Ring, Turn};
use crate::serving::Calls;
use crate::task::Classes;
use crate::writer::{Core, WriterTask};

/// A caller runs no more messages, entries and bytes than this by itself; a call of more has been
/// combined from several callers, or is better done beside them.
const CALLER_MESSAGES_MAX: usize = 16;
const CALLER_BYTES_MAX: u64 = 64 << 10;

/// The calls for the writer with those who run them.
pub(crate) struct Driver {
    ring: Mutex<Ring<WriterTask>>,
    /// `None` once the store is closed.
    core: Mutex<Option<Core>>,
    pub(crate) log: Log,
    flusher: Flusher,
    classes: Classes,
    pub(crate) checkpoints: Checkpoints,
    clearing: Clearing,
    thread: Mutex<Thread>,
    bell: Condvar,
    company: Company,
    /// Whether the log is about to begin anew: large calls, and queues that are ahead of the
    /// others, wait.
    calm: AtomicBool,
}

/// Keeps large calls, and queues that are ahead of the others, from writing.
struct Calm<'a>(&'a Driver);

impl Drop for Calm<'_> {
    fn drop(&mut self) {
        self.0.calm.store(false, Ordering::Release);
        self.0.wake();
    }
}

/// What the writing thread is to do.
#[derive(Default)]
struct Thread {
    woken: bool,
    closed: bool,
    /// Since when it waits for the bell that was rung.
    rung_ns: Option<u64>,
    asleep: bool,
}

impl Driver {
    pub(crate) fn new(core: Core, log: Log, classes: Classes, checkpoints: Checkpoints) -> Driver {
        Driver {
            ring: Mutex::new(Ring::new()),
            core: Mutex::new(Some(core)),
            log,
            flusher: Flusher::default(),
            classes,
            checkpoints,
            clearing: Clearing::default(),
            thread: Mutex::default(),
            bell: Condvar::new(),
            company: Company::new(),
            calm: AtomicBool::new(false),
        }
    }

    /// Starts the threads that write, flush, copy the log and clear away; they end after
    /// [`Driver::close`].
    pub(crate) fn start(
        self: &Arc<Self>,
        readers: Arc<Inbox<ReaderTask>>,
    ) -> std::io::Result<[JoinHandle<()>; 4]> {
        let [writing, flushing, copying, clearing] = [(); 4].map(|()| Arc::clone(self));
        let name = |name: &str| thread::Builder::new().name(name.to_owned());
        let flush = move || flushing.flusher.run(&flushing.log, || flushing.wake());
        let flushing = name("slipring-flush").spawn(flush)?;
        let copy = move || copying.checkpoints.run(&copying.log, &*copying);
        let copying = name("slipring-checkpoint").spawn(copy)?;
        let writing = name("slipring-write").spawn(move || writing.work())?;
        let clear = move || clearing.clearing.run(&clearing, &readers);
        let clearing = name("slipring-clear").spawn(clear)?;
        Ok([writing, flushing, copying, clearing])
    }

    /// Takes a call on, and runs it where its caller is alone. It is answered in time, also when
    /// its caller does not wait for it. What is returned is to be kept until the answer is there.
    ///
    /// # Errors
    /// When the store has been closed.
    pub(crate) fn submit(&self, task: WriterTask) -> Result<InFlight<'_>, Error> {
        let in_flight = self.company.enter();
        let load = task.load();
        self.ring.lock().push(task, load).map_err(|_| closed())?;
        let small = load.messages <= CALLER_MESSAGES_MAX && load.bytes <= CALLER_BYTES_MAX;
        if small && self.company.runs_own_call(self.log.flush_ns()) {
            self.run_as_caller();
        }
        if !self.is_empty() {
            self.wake();
        }
        Ok(in_flight)
    }

    /// Takes on a task that belongs to no caller, and so says nothing of how many there are.
    ///
    /// # Errors
    /// When the store has been closed.
    pub(crate) fn leave(&self, task: WriterTask) -> Result<(), Error> {
        let load = task.load();
        self.ring.lock().push(task, load).map_err(|_| closed())?;
        self.wake();
        Ok(())
    }

    fn run_as_caller(&self) {
        let Some(mut core) = self.core.try_lock() else { return };
        let turn = Turn::bounded(CALLER_MESSAGES_MAX, CALLER_BYTES_MAX);
        let turn = turn.calm(self.is_calm());
        let durable = self.round(&mut core, turn, false);
        drop(core);
        if let Some(Durable { tasks, written, .. }) = durable {
            flush_and_answer(&self.log, tasks, written);
        }
    }

    fn wake(&self) {
        let mut thread = self.thread.lock();
        if !thread.woken {
            thread.woken = true;
            thread.rung_ns = thread.asleep.then(monotonic_ns);
            self.bell.notify_one();
        }
    }

    fn is_empty(&self) -> bool {
        self.ring.lock().len() == 0
    }

    /// Whether large calls, and queues that are ahead of the others, wait: for the log to begin
    /// anew, or for bytes to be flushed.
    fn is_calm(&self) -> bool {
        self.calm.load(Ordering::Acquire) || self.flusher.is_full()
    }

    /// Runs calls in one transaction; answers those that wait for a flush, and up to which
    /// transaction. Where another process writes at the moment it either waits, or leaves the calls
    /// in the ring.
    fn round(&self, core: &mut Option<Core>, turn: Turn, wait: bool) -> Option<Durable> {
        let ready = self.log.check().and_then(|()| core.as_mut().ok_or_else(closed));
        let core = match ready {
            Ok(core) => core,
            Err(error) => {
                let tasks = self.ring.lock().take_all();
                tasks.into_iter().for_each(|task| task.fail(error.clone()));
                return None;
            }
        };
        let unwinding = Unwinding(&self.log);
        let mut round = Round { driver: self, turn };
        core.flushed(self.log.flushed());
        let since_ns = monotonic_ns();
        let served = core.serve(&mut round, wait);
        self.company.transaction.took(monotonic_ns().saturating_sub(since_ns));
        drop(unwinding);
        let mut ring = self.ring.lock();
        let bytes = round.turn.bytes();
        ring.put_back(served.postponed.into_iter().map(|task| {
            let load = task.load();
            (task, load)
        }));
        ring.end(std::mem::take(&mut round.turn));
        drop(ring);
        if let Some(error) = served.poison {
            self.log.poison(error);
        }
        if core.take_clearing() {
            self.clearing.ask();
        }
        self.lengthen_log(core);
        self.checkpoints.ask_if_due();
        let written = match served.needs {
            Needs::Nothing => return None,
            Needs::Earlier(written) => written,
            Needs::Own => {
                let written = self.log.wrote();
                core.wrote(written);
                written
            }
        };
        Some(Durable { tasks: served.durable, written, bytes })
    }

    /// Keeps the log ahead of the writer. Without that it grows as it is written, which is slower
    /// and no failure.
    fn lengthen_log(&self, core: &mut Core) {
        let pages = self.checkpoints.log_pages();
        if !self.log.ahead.is_short(pages) || self.log.check().is_err() {
            return;
        }
        let lengthened = core.alone_if_free(|_| Ok(self.log.lengthen(pages)));
        if let Ok(Some(Err(error))) = lengthened {
            tracing::debug!(%error, "the log is not lengthened ahead of the writer");
        }
    }

    /// What the writing thread does.
    fn work(&self) {
        // However the thread ends, nobody waits for it for ever.
        let _end = End(self);
        loop {
            let mut thread = self.thread.lock();
            thread.asleep = true;
            while !thread.woken && !thread.closed {
                self.bell.wait(&mut thread);
            }
            thread.asleep = false;
            if let Some(rung_ns) = thread.rung_ns.take() {
                self.company.waking.took(monotonic_ns().saturating_sub(rung_ns));
            }
            thread.woken = false;
            let closed = thread.closed;
            drop(thread);
            self.work_off(closed);
            if closed && self.is_empty() {
                break;
            }
        }
        self.let_go();
    }

    fn work_off(&self, closed: bool) {
        loop {
            let calm = !closed && self.is_calm();
            if !self.ring.lock().has_calls(calm) {
                return;
            }
            let turn = Turn::default().calm(calm);
            let durable = self.round(&mut self.core.lock(), turn, true);
            let Some(durable) = durable else { continue };
            // A slow flush is left to its thread: calls that come meanwhile go on without it.
            let calls = durable.tasks.len();
            let itself = self.company.flushes_itself(calls, self.log.flush_ns());
            if itself && self.is_empty() && self.flusher.is_idle() {
                flush_and_answer(&self.log, durable.tasks, durable.written);
            } else {
                self.flusher.push(durable);
            }
        }
    }

    /// Gives back a little space that the file does not need, where no call wants the writer.
    fn give_back(&self, reclaim: &mut Reclaim) -> Duration {
        let Some(mut core) = self.core.try_lock() else { return reclaim.not_now() };
        match core.as_mut() {
            Some(core) if self.is_empty() && self.log.check().is_ok() => {
                reclaim.step(core, &self.log)
            }
            _ => reclaim.not_now(),
        }
    }

    /// Takes no more calls; the threads end when those that wait are served.
    pub(crate) fn close(&self) {
        self.clearing.close();
        self.ring.lock().close();
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

impl Beside for Driver {
    fn calm(&self) -> impl Drop {
        self.calm.store(true, Ordering::Release);
        Calm(self)
    }

    fn hold(&self) -> impl Held {
        self.core.lock()
    }

    fn give_back(&self, reclaim: &mut Reclaim) -> Duration {
        Driver::give_back(self, reclaim)
    }
}

impl Held for MutexGuard<'_, Option<Core>> {
    fn connection(&self) -> Option<&Connection> {
        self.as_ref().map(Core::connection)
    }
}

/// One transaction: takes its calls from the ring.
struct Round<'a> {
    driver: &'a Driver,
    turn: Turn,
}

impl Calls for Round<'_> {
    fn next(&mut self, took_ns: u64) -> Option<WriterTask> {
        let mut task = self.driver.ring.lock().next(&mut self.turn, took_ns)?;
        let classes = &self.driver.classes;
        task.taken(if task.polls() { &classes.poll } else { &classes.writer_inbox });
        Some(task)
    }

    fn rest(&mut self) -> Vec<WriterTask> {
        self.driver.ring.lock().take_all()
    }
}

impl Drop for Round<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.driver.ring.lock().abandon();
            // The thread answers those that wait: nothing is written any more.
            self.driver.wake();
        }
    }
}

/// What happens when the writing thread ends.
struct End<'a>(&'a Driver);

impl Drop for End<'_> {
    fn drop(&mut self) {
        let tasks = {
            let mut ring = self.0.ring.lock();
            ring.close();
            ring.take_all()
        };
        tasks.into_iter().for_each(|task| task.fail(closed()));
        self.0.clearing.close();
        self.0.flusher.close();
        self.0.checkpoints.close();
    }
}

#[cfg(test)]
mod tests;
