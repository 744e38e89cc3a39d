//! What a case works with: a fresh store, a clock it sets, and queues with short verbs.

pub(crate) mod load;
mod queue;
mod sentences;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use slipring::store::Pass;
use slipring::{
    Clock, Error, ManualClock, MessageId, Peeked, QueueId, QueueName, QueueSettings, Store,
    Timestamp,
};
use tempfile::TempDir;

pub use queue::QueueBench;
pub(crate) use sentences::text;
pub use sentences::{NACK, Sendable, bodies, m, ms, p, refused, s, settings};

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

    /// How many random sequences each model case replays where `SLIPRING_MODEL_CASES` does not
    /// say it. Each opens a store of its own and takes up to 70 steps, a second of work for a
    /// store on a server.
    fn model_sequences(&self) -> u32 {
        64
    }
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

    /// How many random sequences a model case replays.
    pub(crate) fn model_sequences(&self) -> u32 {
        self.factory.model_sequences()
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
        verb: fn(Arc<dyn Store>, Timestamp) -> BoxFuture<'static, PassAnswer>,
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

    /// Two new queues, each the dead-letter queue of the other, with one attempt for a message.
    pub async fn each_others_dead_letters(&self) -> (QueueBench, QueueBench) {
        let one = self.plain().await;
        let two = self.source_of(&one, 1).await;
        let mut settings = one.info.settings.clone();
        settings.max_attempts = Some(1);
        settings.dead_letter = Some(two.info.name.clone());
        one.configure(&settings).await.unwrap();
        (one, two)
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
