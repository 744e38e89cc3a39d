//! A call as it waits to be run: the work, and the slot of the one who waits.

use std::sync::Arc;

use slipring::clock::monotonic_ns;
use slipring::{Error, WaitClass};
use tokio::sync::oneshot;

use crate::fault::{Fault, Outcome};
use crate::ring::Load;

/// Work for a thread that owns a connection; `C` is what the thread works with.
pub(crate) trait Task<C: ?Sized>: Send {
    /// Whose it is and how much; bounds how many share a transaction.
    fn load(&self) -> Load;
    /// Whether it needs the transaction that its thread opens for those that wait.
    fn needs_transaction(&self) -> bool;
    /// Whether it is a look in the background that comes again and again. Its waits are a class of
    /// their own: they say nothing of those of callers.
    fn polls(&self) -> bool {
        false
    }
    /// When it was left, on the monotonic clock.
    fn left_ns(&self) -> u64;
    /// Called when it is taken up; again each time it was put back since.
    fn taken(&mut self, wait: &WaitClass);
    /// Does the work. It may be called again after the transaction was undone.
    ///
    /// # Errors
    /// When the transaction must be undone.
    fn run(&mut self, context: &mut C) -> Result<(), Fault>;
    /// Gives the result of the last run to the one who waits.
    fn answer(self: Box<Self>);
    /// Gives an error to the one who waits.
    fn fail(self: Box<Self>, error: Error);
}

/// A closure as a [`Task`].
pub(crate) struct Call<F, T> {
    work: F,
    load: Load,
    needs_transaction: bool,
    polls: bool,
    result: Option<Result<T, Error>>,
    slot: oneshot::Sender<Result<T, Error>>,
    since_ns: u64,
    taken: bool,
}

/// Where the answer of a [`Call`] arrives.
pub(crate) type Answer<T> = oneshot::Receiver<Result<T, Error>>;

impl<F, T> Call<F, T> {
    /// A call of some load, and where its answer arrives.
    pub(crate) fn new(load: impl Into<Load>, work: F) -> (Call<F, T>, Answer<T>) {
        let (slot, answer) = oneshot::channel();
        let since_ns = monotonic_ns();
        let call = Call {
            work,
            load: load.into(),
            needs_transaction: true,
            polls: false,
            result: None,
            slot,
            since_ns,
            taken: false,
        };
        (call, answer)
    }

    /// The same call as a look in the background, outside of any transaction.
    pub(crate) fn polling(mut self) -> Call<F, T> {
        self.needs_transaction = false;
        self.polls = true;
        self
    }
}

impl<C, F, T> Task<C> for Call<F, T>
where
    F: FnMut(&mut C) -> Outcome<T> + Send,
    T: Send,
{
    fn load(&self) -> Load {
        self.load
    }

    fn needs_transaction(&self) -> bool {
        self.needs_transaction
    }

    fn polls(&self) -> bool {
        self.polls
    }

    fn left_ns(&self) -> u64 {
        self.since_ns
    }

    fn taken(&mut self, wait: &WaitClass) {
        if !std::mem::replace(&mut self.taken, true) {
            wait.waited(monotonic_ns().saturating_sub(self.since_ns));
        }
    }

    fn run(&mut self, context: &mut C) -> Result<(), Fault> {
        self.result = None;
        self.result = Some(match (self.work)(context) {
            Ok(value) => Ok(value),
            Err(Fault::Refused(error)) => Err(error),
            Err(fault) => return Err(fault),
        });
        Ok(())
    }

    fn answer(self: Box<Self>) {
        let unfinished = || Err(Fault::Damaged("a call was not run".to_owned()).into_error());
        // A caller that is gone needs no answer.
        let _ = self.slot.send(self.result.unwrap_or_else(unfinished));
    }

    fn fail(self: Box<Self>, error: Error) {
        let _ = self.slot.send(Err(error));
    }
}

/// The wait classes of the store (law 5).
#[derive(Clone)]
pub(crate) struct Classes {
    /// From leaving a call to its being taken up by the writer.
    pub(crate) writer_inbox: Arc<WaitClass>,
    /// The same for looks in the background, for changes by other processes.
    pub(crate) poll: Arc<WaitClass>,
    /// The same as that of the writer for the readers.
    pub(crate) reader_inbox: Arc<WaitClass>,
    /// Beginning a transaction, which waits while another process writes.
    pub(crate) write_lock: Arc<WaitClass>,
    /// Writing a transaction to the log.
    pub(crate) commit: Arc<WaitClass>,
    /// Flushing the log to disk.
    pub(crate) flush: Arc<WaitClass>,
    /// Copying the log into the file beside the writer; no call waits for it.
    pub(crate) checkpoint: Arc<WaitClass>,
    /// Copying the last pages of the log while the writer is held.
    pub(crate) checkpoint_pause: Arc<WaitClass>,
    /// Of the log for readers of old states of the file, until it can begin anew.
    pub(crate) log_held_back: Arc<WaitClass>,
}

impl Classes {
    pub(crate) fn new(waits: &slipring::Waits) -> Classes {
        Classes {
            writer_inbox: waits.class("sqlite.writer_inbox"),
            poll: waits.class("sqlite.poll"),
            reader_inbox: waits.class("sqlite.reader_inbox"),
            write_lock: waits.class("sqlite.write_lock"),
            commit: waits.class("sqlite.commit"),
            flush: waits.class("sqlite.flush"),
            checkpoint: waits.class("sqlite.checkpoint"),
            checkpoint_pause: waits.class("sqlite.checkpoint_pause"),
            log_held_back: waits.class("sqlite.log_held_back"),
        }
    }
}
