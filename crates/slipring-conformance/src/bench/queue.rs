//! A queue of the store under test, with short verbs.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use slipring::lifecycle::Settlement;
use slipring::store::{
    AppendBatch, ClaimBatch, Claimed, Demand, ExtendBatch, Prolong, Sent, SettleBatch, Settled,
};
use slipring::{
    Delivery, Error, MessageId, MessageState, NewMessage, PeekFilter, Peeked, QueueId, QueueInfo,
    QueueSettings, QueueStats, Receipt, Reconfigured, Store, Timestamp,
};

use super::Bench;
use super::sentences::{NACK, Sendable, bodies, text};

/// A queue of the store under test. Calls that a case does not expect to fail panic.
#[derive(Clone)]
pub struct QueueBench {
    pub(super) bench: Bench,
    /// Its number.
    pub id: QueueId,
    /// As it was created.
    pub info: QueueInfo,
}

impl QueueBench {
    /// The same queue through another handle.
    pub fn on(&self, bench: &Bench) -> QueueBench {
        QueueBench { bench: bench.clone(), ..self.clone() }
    }

    fn now(&self) -> Timestamp {
        self.bench.now()
    }

    fn store(&self) -> Arc<dyn Store> {
        self.bench.store()
    }

    /// Sends units in one batch; answers message by message.
    pub async fn append(&self, units: Vec<Vec<NewMessage>>) -> Vec<Result<Sent, Error>> {
        let sizes = units.iter().map(|unit| unit.len() as u32).collect();
        let messages: Vec<_> = units.into_iter().flatten().collect();
        let count = messages.len();
        let batch = AppendBatch { queue: self.id, now: self.now(), messages, units: sizes };
        let answers = self.store().append(batch).await.expect("the batch is taken");
        assert_eq!(answers.len(), count, "there is an answer for each message");
        answers
    }

    /// Sends one message.
    pub async fn try_send(&self, message: impl Sendable) -> Result<Sent, Error> {
        self.append(vec![vec![message.message()]]).await.remove(0)
    }

    /// Sends one message; answers its number.
    pub async fn send(&self, message: impl Sendable) -> MessageId {
        self.try_send(message).await.expect("the message is taken").id
    }

    /// Sends messages as one unit; answers their numbers.
    pub async fn send_all<M: Sendable>(
        &self,
        messages: impl IntoIterator<Item = M>,
    ) -> Vec<MessageId> {
        let unit: Vec<NewMessage> = messages.into_iter().map(Sendable::message).collect();
        let answers = self.append(vec![unit]).await;
        answers.into_iter().map(|answer| answer.expect("the message is taken").id).collect()
    }

    /// Serves receives that wait at the same time.
    pub async fn claim_demands(&self, demands: Vec<Demand>) -> Claimed {
        let count = demands.len();
        let batch = ClaimBatch { queue: self.id, now: self.now(), demands };
        let claimed = self.store().claim(batch).await.expect("the claim succeeds");
        assert_eq!(claimed.deliveries.len(), count, "there is a list for each demand");
        for (list, delivery) in
            claimed.deliveries.iter().flat_map(|l| l.iter().map(move |d| (l, d)))
        {
            assert_eq!(delivery.receipt.queue, self.id, "the receipt names the queue");
            assert_eq!(delivery.receipt.message, delivery.message.id);
            assert!(delivery.message.attempts >= 1, "a delivery counts itself (S6.1)");
            assert!(!list.is_empty());
        }
        claimed
    }

    /// Receives of these sizes that wait at the same time.
    pub async fn claim_many(&self, sizes: &[u32]) -> Claimed {
        let demand = |up_to: &u32| Demand { up_to: *up_to, lease: None, session: false };
        self.claim_demands(sizes.iter().map(demand).collect()).await
    }

    /// One receive.
    pub async fn claim(&self, up_to: u32) -> Vec<Delivery> {
        self.claim_many(&[up_to]).await.deliveries.remove(0)
    }

    /// One receive with a lease of its own length.
    pub async fn claim_for(&self, up_to: u32, lease: Duration) -> Vec<Delivery> {
        let demand = Demand { up_to, lease: Some(lease), session: false };
        self.claim_demands(vec![demand]).await.deliveries.remove(0)
    }

    /// One receive of one message, which must be there.
    pub async fn claim_one(&self) -> Delivery {
        self.claim(1).await.pop().expect("a message is ready")
    }

    /// One receive of one message, which must be there, with a lease of its own length.
    pub async fn claim_one_for(&self, lease: Duration) -> Delivery {
        self.claim_for(1, lease).await.pop().expect("a message is ready")
    }

    /// One receive; the texts that it got.
    pub async fn take(&self, up_to: u32) -> Vec<String> {
        bodies(&self.claim(up_to).await)
    }

    /// Takes a given message.
    pub async fn claim_message(&self, id: MessageId) -> Result<Delivery, Error> {
        let demand = Demand { up_to: 1, lease: None, session: false };
        self.store().claim_message(self.id, id, demand, self.now()).await
    }

    /// Receives one by one and acks until nothing is ready; the texts in order.
    pub async fn drain(&self) -> Vec<String> {
        let mut all = Vec::new();
        while let Some(delivery) = self.claim(1).await.pop() {
            all.push(text(&delivery.message.body));
            self.ack(&delivery).await.expect("a message just taken can be acked");
        }
        all
    }

    /// Settles entry by entry.
    pub async fn settle_all(
        &self,
        entries: Vec<(Receipt, Settlement)>,
    ) -> Vec<Result<Settled, Error>> {
        let count = entries.len();
        let batch = SettleBatch { queue: self.id, now: self.now(), entries };
        let answers = self.store().settle(batch).await.expect("the settlements are taken");
        assert_eq!(answers.len(), count, "there is an answer for each entry");
        answers
    }

    /// Settles one delivery.
    pub async fn settle(&self, of: &Delivery, how: Settlement) -> Result<Settled, Error> {
        self.settle_all(vec![(of.receipt, how)]).await.remove(0)
    }

    /// Acks one delivery.
    pub async fn ack(&self, of: &Delivery) -> Result<Settled, Error> {
        self.settle(of, Settlement::Ack).await
    }

    /// Nacks one delivery; it waits by the queue's backoff.
    pub async fn nack(&self, of: &Delivery) -> Result<Settled, Error> {
        self.settle(of, NACK).await
    }

    /// Nacks one delivery; it waits so long.
    pub async fn nack_for(&self, of: &Delivery, delay: Duration) -> Result<Settled, Error> {
        self.settle(of, Settlement::Nack { delay: Some(delay), priority: None, reason: None }).await
    }

    /// Parks one delivery.
    pub async fn park(&self, of: &Delivery) -> Result<Settled, Error> {
        self.settle(of, Settlement::Park { priority: None }).await
    }

    /// Prolongs leases entry by entry.
    pub async fn extend_all(
        &self,
        entries: Vec<(Receipt, impl Into<Prolong>)>,
    ) -> Vec<Result<Timestamp, Error>> {
        let count = entries.len();
        let entries = entries.into_iter().map(|(receipt, how)| (receipt, how.into())).collect();
        let batch = ExtendBatch { queue: self.id, now: self.now(), entries };
        let answers = self.store().extend(batch).await.expect("the prolongations are taken");
        assert_eq!(answers.len(), count, "there is an answer for each entry");
        answers
    }

    /// Prolongs one lease to so long from now.
    pub async fn extend(&self, of: &Delivery, duration: Duration) -> Result<Timestamp, Error> {
        self.extend_all(vec![(of.receipt, Some(duration))]).await.remove(0)
    }

    /// Takes one lease up again for so long from now (S3.7).
    pub async fn take_up(&self, of: &Delivery, duration: Duration) -> Result<Timestamp, Error> {
        let prolong = Prolong { lease: Some(duration), take_up: true };
        self.extend_all(vec![(of.receipt, prolong)]).await.remove(0)
    }

    /// What the queue holds.
    pub async fn stats(&self) -> QueueStats {
        self.store().stats(self.id, self.now()).await.expect("there are statistics")
    }

    /// Asserts how many messages are ready, delayed, leased and parked.
    #[track_caller]
    pub fn holds(
        &self,
        ready: u64,
        delayed: u64,
        leased: u64,
        parked: u64,
    ) -> impl Future<Output = ()> + Send + '_ {
        let at = std::panic::Location::caller();
        async move {
            let seen = self.stats().await;
            let seen = (seen.ready, seen.delayed, seen.leased, seen.parked);
            let wanted = (ready, delayed, leased, parked);
            assert_eq!(seen, wanted, "ready, delayed, leased, parked at {at}");
        }
    }

    /// Looks at messages of one state.
    pub async fn peek_full(&self, state: Option<MessageState>, limit: u32) -> Vec<Peeked> {
        let filter = PeekFilter { state, limit };
        self.store().peek(self.id, filter, self.now()).await.expect("the queue can be looked at")
    }

    /// The texts of the messages of one state, in order.
    pub async fn peek(&self, state: MessageState) -> Vec<String> {
        let seen = self.peek_full(Some(state), 1000).await;
        seen.iter().map(|peeked| text(&peeked.message.body)).collect()
    }

    /// Replaces the settings.
    pub async fn configure(&self, settings: &QueueSettings) -> Result<QueueInfo, Error> {
        self.store().configure(self.id, settings, self.now()).await
    }

    /// Replaces the settings if they are as old as `seen` says.
    pub async fn reconfigure(&self, seen: Timestamp, settings: &QueueSettings) -> Reconfigured {
        let done = self.store().reconfigure(self.id, seen, settings, self.now()).await;
        done.expect("the settings can be changed")
    }

    /// Makes parked or delayed messages ready.
    pub async fn kick(&self, limit: u32) -> u64 {
        self.store().kick(self.id, limit, self.now()).await.expect("the queue can be kicked")
    }

    /// Removes everything that was sent until now, in steps of `limit`.
    pub async fn purge(&self, limit: u32) -> u64 {
        let mut total = 0;
        loop {
            let purged = self.store().purge(self.id, limit, self.now()).await;
            let removed = purged.expect("the queue can be purged");
            assert!(removed <= u64::from(limit), "a step keeps to its limit");
            if removed == 0 {
                return total;
            }
            total += removed;
        }
    }

    /// The body, priority and so on of the only message in `state`.
    pub async fn only(&self, state: MessageState) -> Peeked {
        let mut seen = self.peek_full(Some(state), 10).await;
        assert_eq!(seen.len(), 1, "exactly one message is {}", state.name());
        seen.remove(0)
    }
}
