//! Keeping up with other processes on the same store.
//!
//! One task per engine asks the store for its count of foreign changes. After a change it asks in
//! one call which of the queues with waiting receives have a message, and lets only those look: a
//! change costs one call, however many receives wait. Then it takes over the deadlines that others
//! have set and the list of queues, which have shares of the time of their own: many deadlines or
//! a long list keep no receive waiting for longer than it takes to read them.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::clock::{Clock, monotonic_ns};
use crate::error::{Error, ErrorKind};
use crate::queue::QueueId;
use crate::store::Store;

use super::isolated::isolated;
use super::{Engine, EngineHandle};

/// While nothing happens the pause grows up to so many times the shortest one.
const PAUSE_GROWTH: u32 = 4;
/// Then the store is let wait by itself, so long at a time, where it can.
const AWAIT: Duration = Duration::from_secs(5);
/// Looks take at most one in so many parts of the time.
const LOOK_SHARE: i64 = 20;
/// What looks have not used of their share is kept up to this much. A change costs several looks
/// at once, and the next one is not put off for that.
const SAVED_NS_MAX: i64 = 50_000_000;
/// A look's time is counted in ticks of this. One in which the process does not run counts once,
/// however long it lasts: it says nothing about the store.
const TICK: Duration = Duration::from_millis(10);
/// Deadlines that others may have set are looked at this often while they change something.
const PASSES_EVERY: Duration = Duration::from_millis(50);
/// However long a look took, the next one comes so soon: where receives wait, of the deadlines, and
/// of the list of queues.
const REST_MAX: Duration = Duration::from_secs(1);
const PASSES_REST_MAX: Duration = Duration::from_secs(5);
const LIST_REST_MAX: Duration = Duration::from_secs(30);
/// Receives that wait look this often though nothing has changed: a message that a transaction
/// gives back before it ends, by a savepoint, changes nothing that others can see.
const WAKE_EVERY_NS: u64 = 10_000_000_000;
/// The store is asked for the heads of so many queues at a time.
const HEADS_MAX: usize = 1000;

/// The task that looks for changes by other processes.
pub(super) struct Watch {
    handle: Weak<EngineHandle>,
    shortest: Duration,
    seen: u64,
    /// When waiting receives look next, whatever changes.
    wake_at_ns: u64,
    /// Others may have set deadlines that were not looked at yet.
    passes_owed: bool,
    passes_at_ns: u64,
    passes_share: Share,
    share: Share,
    /// The list of queues may be another one.
    list_owed: bool,
    list_at_ns: u64,
    /// Of what the list takes. To read one of very many queues takes longer than many looks, which
    /// are not put off for it.
    list_share: Share,
}

impl Watch {
    /// A watch over what changes after the count was `seen`.
    pub(super) fn new(handle: Weak<EngineHandle>, shortest: Duration, seen: u64) -> Watch {
        let at_ns = monotonic_ns();
        let share = |rest_max| Share { saved_ns: SAVED_NS_MAX, at_ns, rest_max };
        Watch {
            handle,
            shortest,
            seen,
            wake_at_ns: at_ns.saturating_add(WAKE_EVERY_NS),
            passes_owed: false,
            passes_at_ns: 0,
            passes_share: share(PASSES_REST_MAX),
            share: share(REST_MAX),
            list_owed: false,
            list_at_ns: 0,
            list_share: share(LIST_REST_MAX),
        }
    }

    /// Looks until `stop`; only for stores with the capability `shared`.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        let mut pause = self.shortest;
        loop {
            // Held only between two sleeps: a sleeping watch does not keep the engine alive.
            let Some(engine) = self.handle.upgrade().map(Engine) else { return };
            let longest = self.shortest.saturating_mul(PAUSE_GROWTH);
            let mut quiet = false;
            let clock = Arc::clone(&engine.0.services.clock);
            let (mut found, took_ns) = timed(&*clock, isolated(self.look(&engine))).await;
            if let Err(error) = self.take_over(&engine).await {
                found = Err(error);
            }
            if let Err(error) = self.refresh(&engine).await {
                found = Err(error);
            }
            match found {
                Ok(true) => pause = self.shortest,
                Ok(false) => {
                    quiet = pause == longest && !self.passes_owed && !self.list_owed;
                    pause = pause.saturating_mul(2).min(longest);
                }
                Err(error) if error.kind() == ErrorKind::Closed => return,
                Err(error) => {
                    pause = longest;
                    tracing::debug!(%error, "could not look for changes by other processes");
                }
            }
            let rest = self.share.rest(took_ns, monotonic_ns()).max(pause);
            let store = Arc::clone(&engine.0.services.store);
            drop(engine);
            let next = async {
                if !(quiet && await_change(&*store).await) {
                    clock.sleep_until(clock.now().after(rest)).await;
                }
            };
            tokio::select! {
                () = next => {}
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
            self.list_owed = true;
        }
        if changed || monotonic_ns() >= self.wake_at_ns {
            // Who waits comes first; the list of queues says nothing about them.
            wake(engine).await?;
            self.wake_at_ns = monotonic_ns().saturating_add(WAKE_EVERY_NS);
        }
        // Not before all went well: what failed is tried again with the next look.
        self.seen = changes;
        Ok(changed)
    }

    /// Takes over the deadlines that others may have set, when that is due.
    async fn take_over(&mut self, engine: &Engine) -> Result<(), Error> {
        if !self.passes_owed || monotonic_ns() < self.passes_at_ns {
            return Ok(());
        }
        let clock = Arc::clone(&engine.0.services.clock);
        let (taken, took_ns) = timed(&*clock, isolated(engine.upkeep().take_over())).await;
        self.passes_owed = taken.is_err();
        self.passes_at_ns = self.passes_share.next_ns(took_ns, PASSES_EVERY);
        taken
    }

    /// Takes over the list of queues, when that is due.
    async fn refresh(&mut self, engine: &Engine) -> Result<(), Error> {
        if !self.list_owed || monotonic_ns() < self.list_at_ns {
            return Ok(());
        }
        let clock = Arc::clone(&engine.0.services.clock);
        // Who makes or changes a queue may wait for another process; the looks go on meanwhile.
        let Ok(seen) = engine.0.catalogue.try_lock() else { return Ok(()) };
        let (refreshed, took_ns) = timed(&*clock, isolated(engine.refresh_from(seen))).await;
        self.list_at_ns = self.list_share.next_ns(took_ns, Duration::ZERO);
        self.list_owed = refreshed.is_err();
        refreshed
    }
}

/// Lets the store wait for a change; false when it has not waited.
async fn await_change(store: &dyn Store) -> bool {
    match isolated(store.await_foreign_change(AWAIT)).await {
        Ok(waited) => waited,
        Err(error) => {
            tracing::debug!(%error, "the store could not wait for changes by other processes");
            false
        }
    }
}

/// Waits for a look; answers how long it took while the process ran.
async fn timed<T>(clock: &dyn Clock, look: impl Future<Output = T>) -> (T, u64) {
    let began_ns = monotonic_ns();
    let mut counted = Duration::ZERO;
    tokio::pin!(look);
    loop {
        counted += TICK;
        tokio::select! {
            biased;
            found = &mut look => {
                let counted_ns = u64::try_from(counted.as_nanos()).unwrap_or(u64::MAX);
                return (found, monotonic_ns().saturating_sub(began_ns).min(counted_ns));
            }
            () = clock.sleep_until(clock.now().after(TICK)) => {}
        }
    }
}

/// What part of the time looks take.
struct Share {
    /// Time that the next looks may take; negative when they have taken more than their share.
    saved_ns: i64,
    /// Until when time has been shared out.
    at_ns: u64,
    /// The longest rest: a look that the network or the database has held up says nothing about
    /// the next one.
    rest_max: Duration,
}

impl Share {
    /// How long to rest after a look that took `took_ns` and ended at `ended_ns`, before the next
    /// is due to its share.
    fn rest(&mut self, took_ns: u64, ended_ns: u64) -> Duration {
        let took = i64::try_from(took_ns).unwrap_or(i64::MAX);
        let ns = |from: u64, to: u64| i64::try_from(to.saturating_sub(from)).unwrap_or(i64::MAX);
        let saved = self.saved_ns.saturating_add(ns(self.at_ns, ended_ns) / LOOK_SHARE);
        self.saved_ns = saved.min(SAVED_NS_MAX).saturating_sub(took);
        self.at_ns = ended_ns;
        let rest_max = i64::try_from(self.rest_max.as_nanos()).unwrap_or(i64::MAX);
        self.saved_ns = self.saved_ns.max(-(rest_max / LOOK_SHARE));
        let lacking = u64::try_from(self.saved_ns.saturating_neg().saturating_mul(LOOK_SHARE));
        Duration::from_nanos(lacking.unwrap_or(0))
    }

    /// When the next look is due after one that took `took_ns` and ends now, but not before
    /// `least` has gone by.
    fn next_ns(&mut self, took_ns: u64, least: Duration) -> u64 {
        let now_ns = monotonic_ns();
        let rest = self.rest(took_ns, now_ns).max(least);
        now_ns.saturating_add(u64::try_from(rest.as_nanos()).unwrap_or(u64::MAX))
    }
}

/// Lets the receives look whose queues have a message.
async fn wake(engine: &Engine) -> Result<(), Error> {
    let services = &engine.0.services;
    let mut waiting = services.doubts.raise();
    waiting.retain(|receives| receives.doubt());
    for part in waiting.chunks(HEADS_MAX) {
        let ids: Vec<QueueId> = part.iter().map(|receives| receives.queue()).collect();
        let heads = services.store.heads(&ids, services.clock.now()).await?;
        for (receives, _) in part.iter().zip(heads).filter(|(_, head)| head.is_some()) {
            receives.notify(u64::MAX);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::clock::{ManualClock, Timestamp};
    use crate::engine::EngineOptions;
    use crate::stores::MemoryStore;

    use super::*;

    const MS: u64 = 1_000_000;

    #[tokio::test]
    async fn a_pause_of_any_length_ends_no_watch() {
        let engine = Engine::open(MemoryStore::shared(), EngineOptions::default()).await.unwrap();
        for pause in [Duration::MAX, Duration::MAX / 5, Duration::ZERO] {
            let watch = Watch::new(Arc::downgrade(&engine.0), pause, 0);
            let stop = CancellationToken::new();
            let mut run = std::pin::pin!(watch.run(stop.clone()));
            tokio::select! {
                biased;
                () = &mut run => unreachable!("it was not stopped"),
                () = tokio::task::yield_now() => {}
            }
            stop.cancel();
            run.await;
        }
        engine.shutdown().await;
    }

    #[test]
    fn a_few_long_looks_put_nothing_off_and_many_take_their_share() {
        let mut share = Share { saved_ns: SAVED_NS_MAX, at_ns: 0, rest_max: REST_MAX };
        let mut now = 0;
        for _ in 0..4 {
            now += 10 * MS;
            assert_eq!(share.rest(10 * MS, now), Duration::ZERO);
        }
        let begun = now;
        for _ in 0..50 {
            now += 10 * MS;
            let rest = share.rest(10 * MS, now);
            now += u64::try_from(rest.as_nanos()).unwrap();
        }
        let part = (50 * 10 * MS) as f64 / (now - begun) as f64;
        assert!((0.045..0.055).contains(&part), "{part}");
        // A look that hangs for half a minute makes nobody deaf for ten.
        assert_eq!(share.rest(30_000 * MS, now + 30_000 * MS), REST_MAX);
        now += 31_000 * MS;
        assert!(share.rest(MS, now) <= REST_MAX);
    }

    #[tokio::test]
    async fn a_look_counts_the_time_in_which_the_process_ran() {
        let clock = ManualClock::at(Timestamp::from_millis(1));
        let tick_ns = u64::try_from(TICK.as_nanos()).unwrap();
        // A thread that does not come back stands for a process that is stopped.
        let stopped = async {
            let end = monotonic_ns() + 20 * tick_ns;
            while monotonic_ns() < end {}
        };
        let ((), took_ns) = timed(&clock, stopped).await;
        assert_eq!(took_ns, tick_ns);
        let slow = async {
            for _ in 0..20 {
                let end = monotonic_ns() + tick_ns;
                while monotonic_ns() < end {}
                clock.advance(TICK);
                tokio::task::yield_now().await;
            }
        };
        let ((), took_ns) = timed(&clock, slow).await;
        assert!((18 * tick_ns..=21 * tick_ns).contains(&took_ns), "{took_ns}");
    }
}
