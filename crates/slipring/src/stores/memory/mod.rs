//! The reference store: all in memory, nothing survives the process (S1.5).
//!
//! The files, in reading order: `stored` (a message and the orders of a queue's messages),
//! `groups` (the order of FIFO queues), `dedup`, `queue` (what the verbs do to one queue),
//! `append`, `any` (claims over several queues), `passes` (deadlines), `moves` (redrive), `loads`,
//! `mod` and `admin` (the other two traits: find queues, take locks).
//!
//! Locks: every queue has its own, and no verb takes one that all queues share. A call that needs
//! two queues takes the one with the lower number first. The tables of names and of loads come
//! before any queue; the shards of the two maps come last.

mod admin;
mod any;
mod append;
mod claim;
mod dedup;
mod groups;
mod loads;
mod moves;
mod passes;
mod queue;
mod sharded;
mod stored;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use async_trait::async_trait;
use parking_lot::{MutexGuard, RwLock};

use crate::clock::Timestamp;
use crate::error::{Error, ErrorKind};
use crate::lease::ReceiptKey;
use crate::lifecycle::{self, Settlement, State};
use crate::message::{Delivery, MessageId};
use crate::queue::{QueueId, QueueName};
use crate::random::{Randomness, SystemRandomness};
use crate::store::{
    AppendBatch, Capabilities, ClaimAny, ClaimBatch, Claimed, ClaimedAny, Deadline, Deadlines,
    Demand, ExtendBatch, Head, Pass, Prolong, Sent, SettleBatch, Settled, Store,
};
use crate::waits::{NamedMutex, WaitClass, Waits};

use passes::Tally;
use queue::{DeadLetters, NeedsDeadLetters, QueueState, gone};
use sharded::Sharded;

/// A part of [`Store::deadlines`] has so many queues.
const DEADLINES_MAX: usize = 1000;

/// A store in memory. Verbs cost O(log n) for each message they touch.
pub struct MemoryStore {
    queues: Sharded<Arc<Queue>>,
    names: RwLock<BTreeMap<QueueName, Arc<Queue>>>,
    directory: Arc<Sharded<QueueId>>,
    /// Message numbers are 1, 2, 3 … over all queues.
    next_message: Arc<AtomicU64>,
    next_queue: AtomicU64,
    loads: loads::Loads,
    key: ReceiptKey,
    randomness: Arc<dyn Randomness>,
    lock_class: Arc<WaitClass>,
    closed: AtomicBool,
}

#[derive(Debug)]
struct Queue {
    id: QueueId,
    state: NamedMutex<QueueState>,
}

impl MemoryStore {
    /// An empty store with a random receipt key; its waits are counted in a table of its own.
    pub fn shared() -> Arc<MemoryStore> {
        MemoryStore::with_randomness(Arc::new(SystemRandomness), &Waits::new())
    }

    /// An empty store that takes its key and jitter from `randomness` and counts its lock waits
    /// in `waits`, as `memory_queue_lock`, `memory_table_lock`, `memory_directory_lock` and
    /// `memory_loads_lock`.
    pub fn with_randomness(randomness: Arc<dyn Randomness>, waits: &Waits) -> Arc<MemoryStore> {
        let mut key = [0; 32];
        randomness.fill(&mut key);
        Arc::new(MemoryStore {
            queues: Sharded::new(&waits.class("memory_table_lock")),
            names: RwLock::default(),
            directory: Arc::new(Sharded::new(&waits.class("memory_directory_lock"))),
            next_message: Arc::new(AtomicU64::new(1)),
            next_queue: AtomicU64::new(1),
            loads: loads::Loads::new(&waits.class("memory_loads_lock")),
            key: ReceiptKey::from_bytes(key),
            randomness,
            lock_class: waits.class("memory_queue_lock"),
            closed: AtomicBool::new(false),
        })
    }

    fn check_open(&self) -> Result<(), Error> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::new(ErrorKind::Closed, "the memory store has been closed"));
        }
        Ok(())
    }

    fn queue(&self, id: QueueId) -> Result<Arc<Queue>, Error> {
        self.check_open()?;
        self.queues.get(id.0).ok_or_else(|| Error::queue_not_found(id))
    }

    fn named(&self, name: &QueueName) -> Option<Arc<Queue>> {
        self.names.read().get(name).cloned()
    }

    fn all(&self) -> Vec<Arc<Queue>> {
        self.names.read().values().cloned().collect()
    }

    /// Runs `work` on the queue that holds a message.
    fn with_message<T>(
        &self,
        id: MessageId,
        mut work: impl FnMut(&mut QueueState) -> T,
    ) -> Result<Option<T>, Error> {
        self.check_open()?;
        // A message that moves between the look-up and the lock is looked up again; under the
        // lock of its queue the directory is right.
        while let Some(holder) = self.directory.get(id.0) {
            let Some(queue) = self.queues.get(holder.0) else { return Ok(None) };
            let mut state = queue.state.lock();
            if state.messages.contains_key(&id) {
                return Ok(Some(work(&mut state)));
            }
        }
        Ok(None)
    }

    /// Runs `work`, which goes on where it stopped, first without and then with the lock of the
    /// dead-letter queue, so that most calls touch one queue only.
    fn with_dead_letters(
        &self,
        queue: &Queue,
        mut work: impl FnMut(&mut QueueState, &mut DeadLetters<'_>) -> Result<(), NeedsDeadLetters>,
    ) {
        let target = {
            let mut state = queue.state.lock();
            match work(&mut state, &mut DeadLetters::Unknown) {
                Ok(()) => return,
                Err(NeedsDeadLetters) => state.info.settings.dead_letter.clone(),
            }
        };
        let target = target.and_then(|name| self.named(&name)).filter(|t| t.id != queue.id);
        // With the target known the work cannot ask for it again.
        let _ = match target {
            None => work(&mut queue.state.lock(), &mut DeadLetters::Nobody),
            Some(target) => {
                let (mut source, mut target) = lock_both(queue, &target);
                match target.deleted {
                    true => work(&mut source, &mut DeadLetters::Nobody),
                    false => work(&mut source, &mut DeadLetters::Queue(&mut target)),
                }
            }
        };
    }
}

/// Locks two different queues, the one with the lower number first.
fn lock_both<'a>(
    a: &'a Queue,
    b: &'a Queue,
) -> (MutexGuard<'a, QueueState>, MutexGuard<'a, QueueState>) {
    if a.id < b.id {
        let first = a.state.lock();
        (first, b.state.lock())
    } else {
        let first = b.state.lock();
        (a.state.lock(), first)
    }
}

impl Queue {
    /// The queue's messages.
    ///
    /// # Errors
    /// `QueueNotFound` when the queue was deleted after it was looked up.
    fn lock(&self) -> Result<MutexGuard<'_, QueueState>, Error> {
        let state = self.state.lock();
        if state.deleted { Err(Error::queue_not_found(&state.info.name)) } else { Ok(state) }
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("queues", &self.names.read().len()).finish()
    }
}

#[async_trait]
impl Store for MemoryStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            name: "memory",
            durable: false,
            shared: false,
            transactions: false,
            calls_one_by_one: false,
            appends_and_claims: false,
            passes_by_queue: true,
            deletes_if_empty: true,
            call_messages_max: 2048,
            call_bytes_max: 8 << 20,
        }
    }

    async fn append(&self, batch: AppendBatch) -> Result<Vec<Result<Sent, Error>>, Error> {
        let queue = self.queue(batch.queue)?;
        let mut state = queue.lock()?;
        let mut answers = Vec::with_capacity(batch.messages.len());
        let mut messages = batch.messages.into_iter();
        for count in batch.units {
            let unit: Vec<_> = messages.by_ref().take(count as usize).collect();
            let messages_in_unit = unit.len();
            match state.append_unit(unit, batch.now) {
                Ok(sent) => answers.extend(sent.into_iter().map(Ok)),
                Err(error) => answers.extend((0..messages_in_unit).map(|_| Err(error.clone()))),
            }
        }
        let outside = Error::new(ErrorKind::Invalid, "the message belongs to no unit of the batch");
        answers.extend(messages.map(|_| Err(outside.clone())));
        Ok(answers)
    }

    async fn claim(&self, batch: ClaimBatch) -> Result<Claimed, Error> {
        Ok(self.queue(batch.queue)?.lock()?.claim(&batch.demands, batch.now))
    }

    async fn claim_any(&self, claim: ClaimAny) -> Result<ClaimedAny, Error> {
        self.check_open()?;
        Ok(any::claim(self, &claim))
    }

    async fn claim_message(
        &self,
        queue: QueueId,
        message: MessageId,
        demand: Demand,
        now: Timestamp,
    ) -> Result<Delivery, Error> {
        let queue = self.queue(queue)?;
        let mut state = queue.lock()?;
        let stored = state.messages.get(&message).ok_or_else(|| gone(message))?;
        if !lifecycle::free_to_take(stored.state) {
            return Err(held(message));
        }
        state.hand_out(message, demand, now).ok_or_else(|| gone(message))
    }

    async fn heads(&self, queues: &[QueueId], now: Timestamp) -> Result<Vec<Option<Head>>, Error> {
        self.check_open()?;
        let head = |id: &QueueId| self.queues.get(id.0)?.lock().ok()?.head(now);
        Ok(queues.iter().map(head).collect())
    }

    async fn settle(&self, batch: SettleBatch) -> Result<Vec<Result<Settled, Error>>, Error> {
        self.check_open()?;
        let Some(queue) = self.queues.get(batch.queue.0) else {
            return Ok(batch
                .entries
                .iter()
                .map(|(receipt, _)| Err(gone(receipt.message)))
                .collect());
        };
        let mut answers = Vec::with_capacity(batch.entries.len());
        self.with_dead_letters(&queue, |state, dead_letters| {
            while let Some((receipt, settlement)) = batch.entries.get(answers.len()) {
                if receipt.queue != batch.queue {
                    answers.push(Err(foreign(receipt.message)));
                    continue;
                }
                let by_backoff = matches!(settlement, Settlement::Nack { delay: None, .. });
                let jitter = if by_backoff { self.randomness.unit() } else { 0.0 };
                answers.push(state.settle(
                    *receipt,
                    settlement,
                    batch.now,
                    jitter,
                    dead_letters,
                )?);
            }
            Ok(())
        });
        Ok(answers)
    }

    async fn extend(&self, batch: ExtendBatch) -> Result<Vec<Result<Timestamp, Error>>, Error> {
        self.check_open()?;
        let queue = self.queues.get(batch.queue.0);
        let mut state = queue.as_ref().map(|queue| queue.state.lock());
        let answer = |(receipt, prolong): (_, Prolong)| {
            let crate::lease::Receipt { queue, message, fence } = receipt;
            if queue != batch.queue {
                return Err(foreign(message));
            }
            let state = state.as_mut().ok_or_else(|| gone(message))?;
            let stored = state.messages.get(&message).ok_or_else(|| gone(message))?;
            let settings = &state.info.settings;
            let held = stored.held();
            lifecycle::check_prolong(&held, fence, prolong.take_up, settings, batch.now)
                .map_err(|error| error.with("message", message))?;
            let own = stored.message.lease;
            let lasts = lifecycle::lease_duration(prolong.lease, own, settings);
            let deadline = batch.now.after(lasts);
            state.change(message, |stored| {
                stored.state = State::Leased;
                stored.until = deadline;
            });
            Ok(deadline)
        };
        Ok(batch.entries.into_iter().map(answer).collect())
    }

    async fn due(&self, now: Timestamp) -> Result<Pass, Error> {
        self.check_open()?;
        let mut tally = Tally::new(now);
        for queue in self.all() {
            queue.state.lock().pass_due(&mut tally);
        }
        Ok(tally.into_pass())
    }

    async fn expire(&self, now: Timestamp) -> Result<Pass, Error> {
        self.check_open()?;
        let mut tally = Tally::new(now);
        for queue in self.all() {
            self.with_dead_letters(&queue, |state, to| state.pass_lapsed(&mut tally, to));
        }
        Ok(tally.into_pass())
    }

    async fn due_in(&self, queue: QueueId, now: Timestamp) -> Result<Pass, Error> {
        self.check_open()?;
        let mut tally = Tally::new(now);
        if let Some(queue) = self.queues.get(queue.0) {
            queue.state.lock().pass_due(&mut tally);
        }
        Ok(tally.into_pass())
    }

    async fn expire_in(&self, queue: QueueId, now: Timestamp) -> Result<Pass, Error> {
        self.check_open()?;
        let mut tally = Tally::new(now);
        if let Some(queue) = self.queues.get(queue.0) {
            self.with_dead_letters(&queue, |state, to| state.pass_lapsed(&mut tally, to));
        }
        Ok(tally.into_pass())
    }

    async fn deadlines(&self, from: u64) -> Result<Deadlines, Error> {
        self.check_open()?;
        let mut queues = self.all();
        queues.retain(|queue| queue.id.0 >= from);
        queues.sort_by_key(|queue| queue.id);
        let next = queues.get(DEADLINES_MAX).map(|queue| queue.id.0);
        queues.truncate(DEADLINES_MAX);
        let queues = queues.iter().map(|queue| queue.state.lock().deadline());
        let some = |at: &Deadline| at.due.is_some() || at.lapse.is_some();
        Ok(Deadlines { queues: queues.filter(some).collect(), next })
    }

    async fn prune(&self, now: Timestamp) -> Result<Pass, Error> {
        self.check_open()?;
        let mut tally = Tally::new(now);
        self.loads.forget(now);
        for queue in self.all() {
            queue.state.lock().pass_forget(&mut tally);
        }
        Ok(tally.into_pass())
    }

    async fn foreign_changes(&self) -> Result<u64, Error> {
        self.check_open()?;
        Ok(0)
    }
}

fn held(id: MessageId) -> Error {
    Error::new(ErrorKind::WrongState, format!("message {id} is under a lease")).with("message", id)
}

fn foreign(id: MessageId) -> Error {
    Error::new(ErrorKind::ReceiptInvalid, format!("the receipt of message {id} is another queue's"))
        .with("message", id)
}
