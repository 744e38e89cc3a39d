//! The engine: combines callers, wakes waiters, fires timers, keeps queues in order. One per
//! process and store.
//!
//! Per queue there is a combiner for sends, one for settlements, one for lease prolongations, and
//! the combined receives with those who wait. Timers are in shards. Nothing on a hot path is
//! instance-wide (law 1).
//!
//! Lock order: registry name shard → registry number shard; a queue's receive lock → timer shard,
//! seat or doubts; agenda → a schedule's place. No other two locks are held together, and none
//! across an await.

mod administration;
mod any;
mod catalogue;
mod claiming;
mod combiner;
mod core;
mod counts;
mod doubts;
mod failing;
mod figures;
mod isolated;
mod loads;
mod one_message;
mod options;
mod pending;
mod portions;
mod queue;
mod receives;
mod registry;
mod schedule;
mod turns;
mod turnstile;
mod upkeep;
mod watch;

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::admin::Peeked;
use crate::clock::{Clock, SystemClock, Timestamp};
use crate::error::Error;
use crate::lease::{Receipt, ReceiptKey};
use crate::limits::Limits;
use crate::message::{Delivery, MessageId};
use crate::queue::{QueueId, QueueName};
use crate::random::Randomness;
use crate::store::{Capabilities, Store};
use crate::timers::Timers;
use crate::waits::{WaitSnapshot, Waits};

use self::combiner::{Combiner, CombinerClasses, Turn};
use self::doubts::Doubts;
use self::portions::CallSize;
use self::receives::EndOfWait;
use self::registry::Registry;
use self::schedule::{Agenda, Schedule};
use self::turnstile::Turnstile;
use self::upkeep::Upkeep;
use self::watch::Watch;

pub use self::any::Several;
pub use self::counts::QueueCounts;
pub use self::loads::Load;
pub use self::options::EngineOptions;
pub use self::queue::{Queue, ReceiveRequest};

/// A running engine: one per process and store. Cheap to clone; when the last clone and the last
/// [`Queue`] are gone its tasks end.
#[derive(Clone)]
pub struct Engine(Arc<EngineHandle>);

pub(crate) struct EngineHandle {
    services: Services,
    registry: Arc<Registry>,
    key: ReceiptKey,
    /// Held while the list of queues is read anew, or a change of it is taken in, so that an older
    /// list never overtakes a newer change, see [`EngineHandle::change_list`].
    catalogue: tokio::sync::Mutex<Listed>,
    /// How many queues the registry did not know before.
    queues_seen: AtomicU64,
    /// Their names.
    new_queues: broadcast::Sender<QueueName>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

/// What the registry has of the store's list of queues.
#[derive(Debug, Default)]
struct Listed {
    /// How many changes of the list the store had counted when it was read.
    changes: Option<u64>,
    /// Moves whenever queues may leave the registry: with a deletion, and where it was read anew.
    epoch: u64,
}

/// So many new queues are kept for one who is slow to hear of them.
const NEW_QUEUES_KEPT: usize = 1024;

/// What everything in the engine shares.
struct Services {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    randomness: Arc<dyn Randomness>,
    limits: Limits,
    waits: Waits,
    runtime: Handle,
    timers: Vec<Arc<Timers<EndOfWait>>>,
    agenda: Arc<Agenda>,
    doubts: Arc<Doubts>,
    /// The schedule of all queues together, for a store that passes over all at once.
    together: Option<Arc<Schedule>>,
}

impl Services {
    fn timers_of(&self, queue: QueueId) -> Arc<Timers<EndOfWait>> {
        Arc::clone(&self.timers[queue.0 as usize % self.timers.len()])
    }

    /// The schedule of a queue that is entered.
    fn schedule_of(&self, queue: QueueId) -> Arc<Schedule> {
        let of_its_own = || Schedule::new(Some(queue), &self.agenda);
        self.together.as_ref().map_or_else(of_its_own, Arc::clone)
    }

    fn turnstile(&self) -> Arc<Turnstile> {
        let one_by_one = self.store.capabilities().calls_one_by_one;
        Arc::new(Turnstile::new(one_by_one, self.waits.class("turnstile")))
    }

    /// The largest call that the store wants.
    fn call_max(&self) -> CallSize {
        CallSize::most(&self.store.capabilities())
    }

    fn combiner<T: Turn>(
        &self,
        turn: T,
        turnstile: &Arc<Turnstile>,
        classes: &CombinerClasses,
    ) -> Arc<Combiner<T>> {
        let (runtime, turnstile) = (self.runtime.clone(), Arc::clone(turnstile));
        let bounds = (&self.limits, self.call_max());
        Combiner::new(turn, runtime, turnstile, bounds, &self.waits, classes)
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("store", &self.capabilities().name).finish_non_exhaustive()
    }
}

impl Engine {
    /// Opens an engine over a store, inside a tokio runtime, and starts its tasks. It lives on this
    /// runtime, whichever its callers are on: what they bring is done there, and when the runtime
    /// has ended they are refused with `Closed`.
    ///
    /// A store has one engine in a process. With two over the same `Arc`, a receive that rests in
    /// one hears late of what is sent by the other, or never: a store tells only of changes by
    /// other processes.
    ///
    /// # Errors
    /// Storage errors.
    pub async fn open(store: Arc<dyn Store>, options: EngineOptions) -> Result<Engine, Error> {
        let key = store.receipt_key().await?;
        let shards = options.timer_shards.clamp(1, 64);
        let clock = options.clock.or_else(|| store.clock());
        let clock = clock.unwrap_or_else(|| Arc::new(SystemClock::new()));
        let timers = (0..shards)
            .map(|_| Arc::new(Timers::new(Arc::clone(&clock), &options.waits)))
            .collect();
        let agenda = Agenda::new(&options.waits);
        let by_queue = store.capabilities().passes_by_queue;
        let together = (!by_queue).then(|| Schedule::new(None, &agenda));
        let doubts = Doubts::new(&options.waits);
        let handle = EngineHandle {
            services: Services {
                store,
                clock,
                randomness: options.randomness,
                limits: options.limits,
                waits: options.waits,
                runtime: Handle::current(),
                timers,
                agenda,
                doubts,
                together,
            },
            registry: Arc::new(Registry::new()),
            key,
            catalogue: tokio::sync::Mutex::default(),
            queues_seen: AtomicU64::new(0),
            new_queues: broadcast::Sender::new(NEW_QUEUES_KEPT),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        let engine = Engine(Arc::new(handle));
        // Counted before anybody looks at anything, so that no change falls between.
        let seen = engine.0.services.store.foreign_changes().await?;
        engine.refresh().await?;
        engine.upkeep().take_over().await?;
        engine.start(options.foreign_poll, seen);
        Ok(engine)
    }

    fn start(&self, foreign_poll: Duration, seen: u64) {
        let handle = &self.0;
        for timers in &handle.services.timers {
            handle.tasks.spawn(Arc::clone(timers).run(handle.stop.clone()));
        }
        handle.tasks.spawn(self.upkeep().run(handle.stop.clone()));
        handle.tasks.spawn(self.upkeep().prune(handle.stop.clone()));
        let end = EndOfRuntime(Arc::downgrade(handle));
        let stop = handle.stop.clone();
        handle.tasks.spawn(async move {
            let _end = end;
            stop.cancelled().await;
        });
        if self.capabilities().shared {
            let stop = handle.stop.clone();
            let watch = Watch::new(Arc::downgrade(handle), foreign_poll, seen);
            handle.tasks.spawn(watch.run(stop));
        }
    }

    fn upkeep(&self) -> Upkeep {
        let services = &self.0.services;
        Upkeep {
            store: Arc::clone(&services.store),
            clock: Arc::clone(&services.clock),
            agenda: Arc::clone(&services.agenda),
            together: services.together.clone(),
            registry: Arc::clone(&self.0.registry),
            tasks: self.0.tasks.clone(),
        }
    }

    /// What the store can do.
    pub fn capabilities(&self) -> Capabilities {
        self.0.services.store.capabilities()
    }

    /// The engine's clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.0.services.clock
    }

    /// The engine's source of randomness.
    pub fn randomness(&self) -> &Arc<dyn Randomness> {
        &self.0.services.randomness
    }

    /// The engine's limits.
    pub fn limits(&self) -> &Limits {
        &self.0.services.limits
    }

    /// The wait table at this moment (law 5).
    pub fn waits(&self) -> Vec<WaitSnapshot> {
        self.0.services.waits.snapshot()
    }

    /// A receipt as a text that cannot be guessed (S3.6).
    pub fn seal(&self, receipt: &Receipt) -> String {
        self.0.key.seal(receipt)
    }

    /// The receipt in a text.
    ///
    /// # Errors
    /// `ReceiptInvalid`.
    pub fn unseal(&self, text: &str) -> Result<Receipt, Error> {
        self.0.key.open(text)
    }

    /// A receipt and the moment of its hand-out as a text that cannot be guessed or altered.
    pub fn seal_at(&self, receipt: &Receipt, moment: Timestamp) -> String {
        self.0.key.seal_at(receipt, moment)
    }

    /// Receipt and moment in a text that [`Engine::seal_at`] has made.
    ///
    /// # Errors
    /// `ReceiptInvalid`.
    pub fn unseal_at(&self, text: &str) -> Result<(Receipt, Timestamp), Error> {
        self.0.key.open_at(text)
    }

    /// Receives from several queues: the best priority first, then the oldest send (S7.6).
    ///
    /// # Errors
    /// As [`Queue::receive`]; `Invalid` when there is no queue.
    pub async fn receive_any(
        &self,
        queues: &[Queue],
        request: ReceiveRequest,
    ) -> Result<Vec<Delivery>, Error> {
        Several::new(queues).receive(request).await
    }

    /// Several queues to receive from as one again and again, which costs less than as many calls
    /// of [`Engine::receive_any`].
    pub fn several(&self, queues: &[Queue]) -> Several {
        Several::new(queues)
    }

    /// Looks at one message, wherever it is.
    ///
    /// # Errors
    /// Storage errors.
    pub async fn lookup(&self, message: MessageId) -> Result<Option<Peeked>, Error> {
        let services = &self.0.services;
        services.store.lookup(message, services.clock.now()).await.map_err(|e| e.during("lookup"))
    }

    /// Whether the store can serve at the moment; the error says why not.
    ///
    /// # Errors
    /// Storage errors.
    pub async fn check(&self) -> Result<(), Error> {
        self.0.services.store.check().await
    }

    /// Stops: refuses new calls, ends waits with nothing, finishes what is in hand, writes back
    /// and closes the store. Returns when that is done. Leases of workers are handed back by the
    /// workers before.
    pub async fn shutdown(&self) {
        for core in self.0.registry.all() {
            core.shut_down().await;
        }
        self.0.stop.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
        if let Err(error) = self.0.services.store.close().await {
            tracing::warn!(%error, "the store did not close cleanly; nothing acknowledged is lost");
        }
        self.0.registry.clear();
    }
}

/// Closes the queues of an engine whose runtime has ended, which drops all its tasks: what rests
/// there would not be woken any more.
struct EndOfRuntime(Weak<EngineHandle>);

impl Drop for EndOfRuntime {
    fn drop(&mut self) {
        let Some(handle) = self.0.upgrade().filter(|handle| !handle.stop.is_cancelled()) else {
            return;
        };
        for core in handle.registry.all() {
            core.close(&Error::closed());
        }
    }
}

impl Drop for EngineHandle {
    fn drop(&mut self) {
        // Queues and registry refer to each other; this lets both go.
        self.stop.cancel();
        self.registry.clear();
    }
}
