//! Keeping up with other processes on the same store.
//!
//! One task per engine asks the store for its count of foreign changes. After a change it takes
//! over the list of queues, asks in one call which of the queues with waiting receives have a
//! message, and lets only those look: a change costs one call, however many receives wait.

use std::sync::Weak;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::clock::monotonic_ns;
use crate::error::{Error, ErrorKind};
use crate::queue::QueueId;

use super::{Engine, EngineHandle};

/// While nothing happens the pause grows up to so many times the shortest one.
const PAUSE_GROWTH: u32 = 4;
/// A pause lasts at least so many times as long as the look before it.
const LOOK_SHARE: u64 = 19;
/// Deadlines that others may have set are looked at this often while they change something.
const PASSES_EVERY_NS: u64 = 50_000_000;
/// The store is asked for the heads of so many queues at a time.
const HEADS_MAX: usize = 1000;

/// The task that looks for changes by other processes.
pub(super) struct Watch {
    handle: Weak<EngineHandle>,
    shortest: Duration,
    seen: u64,
    /// Others may have set deadlines that nobody has looked at yet.
    passes_owed: bool,
    passes_at_ns: u64,
}

impl Watch {
    /// A watch over what changes after the count was `seen`.
    pub(super) fn new(handle: Weak<EngineHandle>, shortest: Duration, seen: u64) -> Watch {
        Watch { handle, shortest, seen, passes_owed: false, passes_at_ns: 0 }
    }

    /// Looks until `stop`; only for stores with the capability `shared`.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        let mut pause = self.shortest;
        loop {
            // Held only between two sleeps: a sleeping watch does not keep the engine alive.
            let Some(engine) = self.handle.upgrade().map(Engine) else { return };
            let began = monotonic_ns();
            match self.look(&engine).await {
                Ok(true) => pause = self.shortest,
                Ok(false) => pause = (pause * 2).min(self.shortest * PAUSE_GROWTH),
                Err(error) if error.kind() == ErrorKind::Closed => return,
                Err(error) => {
                    pause = self.shortest * PAUSE_GROWTH;
                    tracing::debug!(%error, "could not look for changes by other processes");
                }
            }
            let spent = monotonic_ns().saturating_sub(began);
            let rest = Duration::from_nanos(spent.saturating_mul(LOOK_SHARE)).max(pause);
            let clock = engine.clock();
            let sleep = clock.sleep_until(clock.now().after(rest));
            drop(engine);
            tokio::select! {
                () = sleep => {}
                () = stop.cancelled() => return,
            }
        }
    }

    /// One look; answers whether anything had changed.
    async fn look(&mut self, engine: &Engine) -> Result<bool, Error> {
        let changes = engine.0.services.store.foreign_changes().await?;
        let changed = self.seen != changes;
        if changed {
            self.passes_owed = true;
            engine.refresh().await?;
            wake(engine).await?;
        }
        // Not before all went well: what failed is tried again with the next look.
        self.seen = changes;
        if self.passes_owed && monotonic_ns() >= self.passes_at_ns {
            self.passes_owed = false;
            self.passes_at_ns = monotonic_ns().saturating_add(PASSES_EVERY_NS);
            let now = engine.clock().now();
            engine.0.services.schedule.due_at(now);
            engine.0.services.schedule.expire_at(now);
        }
        Ok(changed)
    }
}

/// Lets the receives look whose queues have a message.
async fn wake(engine: &Engine) -> Result<(), Error> {
    let services = &engine.0.services;
    let waiting: Vec<_> =
        engine.0.registry.all().into_iter().filter(|core| core.receives.doubt()).collect();
    for cores in waiting.chunks(HEADS_MAX) {
        let ids: Vec<QueueId> = cores.iter().map(|core| core.id).collect();
        let heads = services.store.heads(&ids, services.clock.now()).await?;
        for (core, _) in cores.iter().zip(heads).filter(|(_, head)| head.is_some()) {
            core.receives.notify(u64::MAX);
        }
    }
    Ok(())
}
