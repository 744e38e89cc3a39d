//! What a case works with: a fresh store, a clock it sets, and queues with short verbs.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use slipring::lifecycle::Settlement;
use slipring::store::{
    AppendBatch, ClaimBatch, Claimed, Demand, ExtendBatch, Pass, Sent, SettleBatch, Settled,
};
use slipring::{
    Clock, Delivery, Error, ErrorKind, ManualClock, MessageId, MessageState, NewMessage,
    PeekFilter, Peeked, Priority, QueueId, QueueInfo, QueueName, QueueSettings, QueueStats,
    Receipt, Store, Timestamp,
};
use tempfile::TempDir;

/// Opens the store under test.
#[async_trait]
pub trait Factory: Send + Sync + 'static {
    /// Opens the store whose data is at `place`, an empty folder at first; a store that keeps its
    /// data elsewhere takes the path as a name for it. A place is opened again after a close only
    /// where the store says [`slipring::Capabilities::durable`], and a second time at once only
    /// where it says [`slipring::Capabilities::shared`].
    ///
    /// # Errors
    /// Whatever opening fails with; the case fails.
    async fn open(&self, place: &Path) -> Result<Arc<dyn Store>, Error>;
}

/// The moment at which every case begins.
pub const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);

/// A store on a place of its own, and the clock. Cheap to clone.
#[derive(Clone)]
pub struct Bench {
    factory: Arc<dyn Factory>,
    place: Arc<TempDir>,
    store: Arc<Mutex<Arc<dyn Store>>>,
    queues: Arc<AtomicU32>,
    /// The time that every call of the bench gives to the store.
    pub clock: ManualClock,
}

impl Bench {
    /// A fresh store.
    pub async fn open(factory: Arc<dyn Factory>) -> Bench {
        let place = Arc::new(TempDir::new().expect("a temporary folder can be made"));
        let store = factory.open(place.path()).await.expect("the store opens");
        Bench {
            factory,
            place,
            store: Arc::new(Mutex::new(store)),
            queues: Arc::new(AtomicU32::new(1)),
            clock: ManualClock::at(START),
        }
    }

    /// Another fresh store, on another place.
    pub async fn another(&self) -> Bench {
        Bench::open(Arc::clone(&self.factory)).await
    }

    /// A second handle on the same data, as another process has it.
    pub async fn second_handle(&self) -> Bench {
        let store = self.factory.open(self.place.path()).await.expect("the store opens twice");
        Bench { store: Arc::new(Mutex::new(store)), ..self.clone() }
    }

    /// Closes the store and opens it again.
    pub async fn reopen(&self) {
        let old = self.store();
        old.close().await.expect("the store closes");
        drop(old);
        self.reopen_closed().await;
    }

    /// Opens the store again after somebody else has closed it.
    pub async fn reopen_closed(&self) {
        let store = self.factory.open(self.place.path()).await.expect("the store opens again");
        *self.store.lock() = store;
    }

    /// The store.
    pub fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store.lock())
    }

    /// Puts another store in the place of this one, such as a wrapper around it.
    pub fn replace_store(&self, store: Arc<dyn Store>) {
        *self.store.lock() = store;
    }

    /// The present moment.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Moves the clock, and nothing else.
    pub fn advance(&self, duration: Duration) {
        self.clock.advance(duration);
    }

    /// Moves the clock and lets the store do all that is due and lapsed by then.
    pub async fn pass(&self, duration: Duration) {
        self.clock.advance(duration);
        self.due().await;
        self.expire().await;
    }

    /// Everything that is due, as one pass.
    pub async fn due(&self) -> Pass {
        self.whole(|store, now| Box::pin(async move { store.due(now).await })).await
    }

    /// Everything that has lapsed, as one pass.
    pub async fn expire(&self) -> Pass {
        self.whole(|store, now| Box::pin(async move { store.expire(now).await })).await
    }

    /// Everything that may be forgotten, as one pass.
    pub async fn prune(&self) -> Pass {
        self.whole(|store, now| Box::pin(async move { store.prune(now).await })).await
    }

    /// Repeats a pass until it has nothing more to do at this moment.
    async fn whole(
        &self,
        verb: fn(Arc<dyn Store>, Timestamp) -> futures::future::BoxFuture<'static, PassAnswer>,
    ) -> Pass {
        let mut sum = Pass::default();
        for _ in 0..10_000 {
            let pass = verb(self.store(), self.now()).await.expect("a pass succeeds");
            sum.removed += pass.removed;
            for (queue, count) in pass.ready {
                match sum.ready.iter_mut().find(|(seen, _)| *seen == queue) {
                    Some((_, total)) => *total += count,
                    None => sum.ready.push((queue, count)),
                }
            }
            sum.next = pass.next;
            if pass.next.is_none_or(|next| next > self.now()) {
                sum.ready.sort();
                return sum;
            }
        }
        panic!("a pass says for ever that it has more to do now");
    }

    /// A new queue with a name of its own.
    pub async fn queue(&self, settings: QueueSettings) -> QueueBench {
        let number = self.queues.fetch_add(1, Ordering::Relaxed);
        self.named(&format!("queue-{number}"), settings).await
    }

    /// A new queue with default settings.
    pub async fn plain(&self) -> QueueBench {
        self.queue(QueueSettings::default()).await
    }

    /// A new queue with a given name.
    pub async fn named(&self, name: &str, settings: QueueSettings) -> QueueBench {
        let name = QueueName::new(name).unwrap();
        let made = self.store().create_queue(&name, &settings, self.now()).await;
        let (info, new) = made.expect("the queue can be created");
        assert!(new, "queue {name} is there already");
        QueueBench { bench: self.clone(), id: info.id, info }
    }

    /// A new queue whose messages go to `dead` after so many failed attempts.
    pub async fn source_of(&self, dead: &QueueBench, max_attempts: u32) -> QueueBench {
        self.queue(settings(|to| {
            to.max_attempts = Some(max_attempts);
            to.dead_letter = Some(dead.info.name.clone());
        }))
        .await
    }

    /// The message wherever it is.
    pub async fn lookup(&self, id: MessageId) -> Option<Peeked> {
        self.store().lookup(id, self.now()).await.unwrap()
    }

    /// Removes a message by number; answers the queue it was in.
    pub async fn cancel(&self, id: MessageId) -> Result<QueueId, Error> {
        self.store().cancel(id, self.now()).await
    }

    /// Makes a message ready by number.
    pub async fn kick_message(&self, id: MessageId) -> Result<QueueId, Error> {
        self.store().kick_message(id, self.now()).await
    }
}

type PassAnswer = Result<Pass, Error>;

/// What can be sent: a text, bytes, or a whole [`NewMessage`].
pub trait Sendable {
    /// The message.
    fn message(self) -> NewMessage;
}

impl Sendable for NewMessage {
    fn message(self) -> NewMessage {
        self
    }
}

impl Sendable for &str {
    fn message(self) -> NewMessage {
        NewMessage::new(Bytes::copy_from_slice(self.as_bytes()))
    }
}

impl Sendable for String {
    fn message(self) -> NewMessage {
        NewMessage::new(self)
    }
}

/// A message with a text, to be built on.
pub fn m(body: &str) -> NewMessage {
    body.message()
}

/// So many seconds.
pub const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// So many milliseconds.
pub const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Default settings with changes.
pub fn settings(change: impl FnOnce(&mut QueueSettings)) -> QueueSettings {
    let mut settings = QueueSettings::default();
    change(&mut settings);
    settings
}

/// The texts of deliveries, in order.
pub fn bodies(deliveries: &[Delivery]) -> Vec<String> {
    deliveries.iter().map(|delivery| text(&delivery.message.body)).collect()
}

fn text(body: &Bytes) -> String {
    String::from_utf8_lossy(body).into_owned()
}

/// A nack that waits by the queue's backoff.
pub const NACK: Settlement = Settlement::Nack { delay: None, priority: None };

/// Asserts that a call was refused, and how.
#[track_caller]
pub fn refused<T: std::fmt::Debug>(answer: Result<T, Error>, kind: ErrorKind) -> Error {
    match answer {
        Err(error) if error.kind() == kind => error,
        other => panic!("expected the error {}, but got {other:?}", kind.name()),
    }
}

/// A queue of the store under test. Calls that a case does not expect to fail panic.
#[derive(Clone)]
pub struct QueueBench {
    bench: Bench,
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
        self.settle(of, Settlement::Nack { delay: Some(delay), priority: None }).await
    }

    /// Parks one delivery.
    pub async fn park(&self, of: &Delivery) -> Result<Settled, Error> {
        self.settle(of, Settlement::Park { priority: None }).await
    }

    /// Prolongs leases entry by entry.
    pub async fn extend_all(
        &self,
        entries: Vec<(Receipt, Option<Duration>)>,
    ) -> Vec<Result<Timestamp, Error>> {
        let count = entries.len();
        let batch = ExtendBatch { queue: self.id, now: self.now(), entries };
        let answers = self.store().extend(batch).await.expect("the prolongations are taken");
        assert_eq!(answers.len(), count, "there is an answer for each entry");
        answers
    }

    /// Prolongs one lease to so long from now.
    pub async fn extend(&self, of: &Delivery, duration: Duration) -> Result<Timestamp, Error> {
        self.extend_all(vec![(of.receipt, Some(duration))]).await.remove(0)
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

/// A priority.
pub const fn p(priority: u32) -> Priority {
    Priority(priority)
}
