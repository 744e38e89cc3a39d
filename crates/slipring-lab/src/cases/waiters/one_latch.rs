//! The baseline: an engine whose waiting receives of all queues hang in one map of lists under one
//! exclusive latch, first come, first served. Only the lab can reach it.
//!
//! What takes the latch, as published: the registration of a waiter, the end of its time, a
//! message, and the commit or rollback of a transaction that had a waiter or a message. Under the
//! latch is only what the map needs: the queue's list is looked up, a waiter is added behind the
//! last or taken out, each by a walk from the first, and waiters are woken. The steps of the walks
//! are counted. There is no sleep, no disk and no other lock under the latch.
//!
//! Everything else is what ours has: messages lie in our in-memory store, waiters sleep on a slot
//! of their own, and their time-outs are timers of tokio. A receive that does not wait never takes
//! the latch.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use slipring::lifecycle::Settlement;
use slipring::store::{AppendBatch, ClaimBatch, Demand, SettleBatch};
use slipring::stores::MemoryStore;
use slipring::{
    Clock, Delivery, NewMessage, QueueId, QueueName, QueueSettings, Receipt, Store, SystemClock,
    SystemRandomness, WaitSnapshot, Waits,
};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::latch::Latch;
use super::list::List;

/// The name of the latch in the wait table.
pub const LATCH: &str = "waiter_map_latch";

/// The engine.
pub struct OneLatch {
    store: Arc<dyn Store>,
    clock: SystemClock,
    waits: Waits,
    map: Latch<WaiterMap>,
    next_waiter: AtomicU64,
}

/// The waiters of all queues of the process.
#[derive(Default)]
struct WaiterMap {
    lists: HashMap<QueueId, List<Waiter>>,
    /// Waiters that were passed on the walks to the places of others.
    walked: u64,
}

/// How the latch and what lies under it were used so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct LatchUse {
    /// Waiters that were passed on the walks to the places of others.
    pub walked: u64,
    /// For how long the latch was held, in nanoseconds.
    pub held_ns: u64,
}

impl LatchUse {
    /// What was added since `before`.
    #[must_use]
    pub fn since(self, before: LatchUse) -> LatchUse {
        LatchUse { walked: self.walked - before.walked, held_ns: self.held_ns - before.held_ns }
    }
}

struct Waiter {
    number: u64,
    slot: oneshot::Sender<()>,
}

/// A message in the hands of its receiver. Its transaction ends with the ack.
pub struct Held {
    /// The message with its receipt.
    pub delivery: Delivery,
    /// Its transaction had a waiter.
    waited: bool,
}

impl WaiterMap {
    fn register(&mut self, queue: QueueId, waiter: Waiter) {
        self.walked += self.lists.entry(queue).or_default().push(waiter);
    }

    /// Takes a waiter out; false when it was woken before.
    fn remove(&mut self, queue: QueueId, number: u64) -> bool {
        let Some(list) = self.lists.get_mut(&queue) else { return false };
        let (waiter, steps) = list.remove(|waiter| waiter.number == number);
        self.walked += steps;
        waiter.is_some()
    }

    /// How many receives wait on the queue.
    fn waiting(&self, queue: QueueId) -> usize {
        self.lists.get(&queue).map_or(0, List::len)
    }

    /// Wakes the first waiter of the queue that still listens.
    fn wake(&mut self, queue: QueueId) {
        let Some(list) = self.lists.get_mut(&queue) else { return };
        while let Some(waiter) = list.pop() {
            if waiter.slot.send(()).is_ok() {
                return;
            }
        }
    }
}

impl OneLatch {
    /// An engine with no queues.
    pub fn new() -> OneLatch {
        let waits = Waits::new();
        OneLatch {
            store: MemoryStore::with_randomness(Arc::new(SystemRandomness), &waits),
            clock: SystemClock::new(),
            map: Latch::new(waits.class(LATCH), WaiterMap::default()),
            waits,
            next_waiter: AtomicU64::new(0),
        }
    }

    /// Makes a queue.
    pub async fn create_queue(&self, name: &str) -> Result<QueueId> {
        let name = QueueName::new(name)?;
        let settings = QueueSettings::default();
        let (info, _) = self.store.create_queue(&name, &settings, self.clock.now()).await?;
        Ok(info.id)
    }

    /// Receives one message, and waits for it at most for `wait`. A caller must not drop the
    /// future before its end: its waiter would stay in the map.
    pub async fn receive(&self, queue: QueueId, wait: Duration) -> Result<Option<Held>> {
        let deadline = Instant::now() + wait;
        let mut waited = false;
        loop {
            if let Some(delivery) = self.look(queue).await? {
                return Ok(Some(Held { delivery, waited }));
            }
            if wait.is_zero() {
                return Ok(None);
            }
            waited = true;
            let (number, woken) = self.register(queue).await;
            // A message that came between the look and the registration has woken no waiter.
            if let Some(delivery) = self.look(queue).await? {
                self.withdraw(queue, number).await;
                return Ok(Some(Held { delivery, waited }));
            }
            if tokio::time::timeout_at(deadline, woken).await.is_err() {
                self.withdraw(queue, number).await;
                self.end_transaction(&[]).await;
                return Ok(None);
            }
        }
    }

    /// Stores a message and wakes a waiter of its queue.
    pub async fn send(&self, queue: QueueId, body: Bytes) -> Result<()> {
        let messages = vec![NewMessage::new(body)];
        let batch = AppendBatch { queue, now: self.clock.now(), messages, units: vec![1] };
        let answers = self.store.append(batch).await?;
        answers.into_iter().next().context("an append without an answer")??;
        // The message: those who wait for its queue are found. They are woken by the commit.
        let waited_for = self.map.take().await.waiting(queue) > 0;
        let arrivals = if waited_for { &[queue][..] } else { &[] };
        self.end_transaction(arrivals).await;
        Ok(())
    }

    /// Removes a message, and commits the transaction that received it.
    pub async fn ack(&self, held: Held) -> Result<()> {
        self.settle(held.delivery.receipt).await?;
        if held.waited {
            self.end_transaction(&[]).await;
        }
        Ok(())
    }

    /// The wait table.
    pub fn waits(&self) -> Vec<WaitSnapshot> {
        self.waits.snapshot()
    }

    /// How the latch was used so far.
    pub async fn latch_use(&self) -> LatchUse {
        let walked = self.map.take().await.walked;
        LatchUse { walked, held_ns: self.map.held_ns() }
    }

    /// How many receives wait on a queue.
    pub async fn waiting(&self, queue: QueueId) -> usize {
        self.map.take().await.waiting(queue)
    }

    async fn look(&self, queue: QueueId) -> Result<Option<Delivery>> {
        let demands = vec![Demand { up_to: 1, lease: None, session: false }];
        let claim = ClaimBatch { queue, now: self.clock.now(), demands };
        let claimed = self.store.claim(claim).await?;
        Ok(claimed.deliveries.into_iter().flatten().next())
    }

    async fn settle(&self, receipt: Receipt) -> Result<()> {
        let entries = vec![(receipt, Settlement::Ack)];
        let batch = SettleBatch { queue: receipt.queue, now: self.clock.now(), entries };
        match self.store.settle(batch).await?.into_iter().next() {
            Some(answer) => Ok(answer.map(drop)?),
            None => bail!("a settlement without an answer"),
        }
    }

    async fn register(&self, queue: QueueId) -> (u64, oneshot::Receiver<()>) {
        let (slot, woken) = oneshot::channel();
        let number = self.next_waiter.fetch_add(1, Ordering::Relaxed);
        self.map.take().await.register(queue, Waiter { number, slot });
        (number, woken)
    }

    /// Takes a waiter out whose time is over or who needs no message any more. One that was woken
    /// meanwhile passes that on.
    async fn withdraw(&self, queue: QueueId, number: u64) {
        let mut map = self.map.take().await;
        if !map.remove(queue, number) {
            map.wake(queue);
        }
    }

    /// Commits or rolls back: wakes a waiter for each message that the transaction brought.
    async fn end_transaction(&self, arrivals: &[QueueId]) {
        let mut map = self.map.take().await;
        arrivals.iter().for_each(|queue| map.wake(*queue));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    async fn engine() -> (Arc<OneLatch>, QueueId) {
        let engine = Arc::new(OneLatch::new());
        let queue = engine.create_queue("a").await.unwrap();
        (engine, queue)
    }

    fn latch(engine: &OneLatch) -> WaitSnapshot {
        engine.waits().into_iter().find(|wait| wait.name == LATCH).unwrap()
    }

    #[tokio::test]
    async fn a_wait_that_ends_empty_takes_the_latch_at_its_begin_its_end_and_the_commit() {
        let (engine, queue) = engine().await;
        let wait = Duration::from_millis(1);
        let began = Instant::now();
        assert!(engine.receive(queue, wait).await.unwrap().is_none());
        assert!(began.elapsed() >= wait);
        assert_eq!(latch(&engine).acquisitions, 3);
        assert_eq!(engine.waiting(queue).await, 0);
    }

    #[tokio::test]
    async fn a_receive_that_does_not_wait_takes_no_latch() {
        let (engine, queue) = engine().await;
        assert!(engine.receive(queue, Duration::ZERO).await.unwrap().is_none());
        assert_eq!(latch(&engine).acquisitions, 0);
    }

    #[tokio::test]
    async fn messages_wake_waiters_and_each_comes_once() {
        let (engine, queue) = engine().await;
        let mut callers = tokio::task::JoinSet::new();
        for _ in 0..20 {
            let engine = Arc::clone(&engine);
            callers.spawn(async move {
                let held = engine.receive(queue, LONG).await.unwrap().unwrap();
                let body = held.delivery.message.body.clone();
                engine.ack(held).await.unwrap();
                body
            });
        }
        while engine.waiting(queue).await < 20 {
            tokio::task::yield_now().await;
        }
        for number in 0..20_u8 {
            engine.send(queue, Bytes::from(vec![number])).await.unwrap();
        }
        let mut seen: Vec<u8> = callers.join_all().await.iter().map(|body| body[0]).collect();
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..20));
        assert!(engine.receive(queue, Duration::ZERO).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_waiter_is_added_and_taken_out_by_a_walk_from_the_first() {
        let (engine, queue) = engine().await;
        let (first, _kept) = engine.register(queue).await;
        let (second, _slot) = engine.register(queue).await;
        engine.withdraw(queue, second).await;
        engine.withdraw(queue, first).await;
        // The second passed the first when it came and when it went.
        let used = engine.latch_use().await;
        assert!(used.walked == 2 && used.held_ns > 0, "{used:?}");
    }

    #[tokio::test]
    async fn a_wake_that_comes_to_one_who_leaves_is_passed_on() {
        let (engine, queue) = engine().await;
        let (first, _woken) = engine.register(queue).await;
        let (_, second) = engine.register(queue).await;
        engine.end_transaction(&[queue]).await;
        engine.withdraw(queue, first).await;
        second.await.unwrap();
    }
}
