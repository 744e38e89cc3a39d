//! Shards of timers: one wheel, one lock and one sleeping task each (law 1).
//!
//! The engine ends the waits of receives by them. A queue belongs to one shard, so that a storm of
//! waits costs the queues of its own shard at most, and these not much: the lock is held for at
//! most 256 steps at a time, however many timers end at once (law 6).
//!
//! The module is public because the lab measures these timers beside others, and what is measured
//! has to be what the engine uses. It is no part of the interface that is kept stable.

mod wheel;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::MutexGuard;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::clock::{Clock, Timestamp, monotonic_ns};
use crate::waits::{NamedMutex, Waits};

pub use self::wheel::TimerKey;
use self::wheel::Wheel;

/// Length of a tick in milliseconds. A wait ends at most one tick and one wake-up late (S5.4).
/// Longer ticks would save wake-ups of the shard's task, but short waits would end late by most of
/// a tick, and all at once.
const TICK_MS: u64 = 1;

/// Most timers that are fired or moved within the wheel while the lock is held once; some 20 µs
/// when they are not in the processor's cache.
const STEPS_MAX: usize = 256;

/// The task tries so often to take the lock before it waits for it as all others do, which is
/// some 20 ms.
const TRIES_MAX: u32 = 64;
/// Of so many tries one is followed by a pause, the others by a turn of the runtime.
const TRIES_BETWEEN_PAUSES: u32 = 4;
const PAUSE: Duration = Duration::from_millis(1);

/// What happens when a timer's moment has come.
pub trait Alarm: Send + 'static {
    /// Called once by the shard's task, without its lock, never before the moment. It must not
    /// block.
    fn ring(self);
}

/// One shard of timers. Its task is [`Timers::run`].
pub struct Timers<A> {
    clock: Arc<dyn Clock>,
    state: NamedMutex<State<A>>,
    changed: Notify,
}

impl<A> std::fmt::Debug for Timers<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Timers").finish_non_exhaustive()
    }
}

struct State<A> {
    wheel: Wheel<A>,
    /// The tick the task sleeps towards; 0 while it is awake, `u64::MAX` when it sleeps for good.
    armed: u64,
}

impl<A: Alarm> Timers<A> {
    /// An empty shard. Its lock is counted in `waits` as `timer_wheel_lock`.
    pub fn new(clock: Arc<dyn Clock>, waits: &Waits) -> Timers<A> {
        let wheel = Wheel::new(clock.now().as_millis() / TICK_MS);
        let state = State { wheel, armed: u64::MAX };
        let state = NamedMutex::new(waits.class("timer_wheel_lock"), state);
        Timers { clock, state, changed: Notify::new() }
    }

    /// Rings `alarm` at the moment `at`, which [`Clock::end_of`] gave, never before.
    pub fn insert(&self, at: Timestamp, alarm: A) -> TimerKey {
        let tick = at.as_millis().div_ceil(TICK_MS);
        let mut state = self.state.lock();
        let key = state.wheel.insert(tick, alarm);
        let earlier = tick < state.armed;
        drop(state);
        if earlier {
            self.changed.notify_one();
        }
        key
    }

    /// Forgets a timer; nothing happens when it has fired.
    pub fn cancel(&self, key: TimerKey) {
        let alarm = self.state.lock().wheel.cancel(key);
        // Let go without the lock, for the alarm may hold the last of something.
        drop(alarm);
    }

    /// Fires timers until `stop`.
    pub async fn run(self: Arc<Timers<A>>, stop: CancellationToken) {
        let mut fired = Vec::with_capacity(STEPS_MAX);
        while !stop.is_cancelled() {
            let next = self.step(&mut fired).await;
            // The shard's lock is free here: a queue's lock is never taken under it.
            fired.drain(..).for_each(Alarm::ring);
            let Some(next) = next else {
                tokio::task::yield_now().await;
                continue;
            };
            let sleep = async {
                match next {
                    u64::MAX => std::future::pending().await,
                    tick => {
                        let at = Timestamp::from_millis(tick.saturating_mul(TICK_MS));
                        self.clock.sleep_to_end(at).await;
                    }
                }
            };
            tokio::select! {
                () = sleep => {}
                () = self.changed.notified() => {}
                () = stop.cancelled() => return,
            }
        }
    }

    /// Takes some of the timers out whose moment has come. Answers the tick of the next step;
    /// `None` when there is more to do at once.
    ///
    /// A thread that loses its processor while it holds the lock holds it for long. Who waits for
    /// it is a thread of the runtime, and with it would wait the tasks of other shards. So this
    /// tries, and lets the others go on meanwhile; it may fire late.
    async fn step(&self, fired: &mut Vec<A>) -> Option<u64> {
        let mut since_ns = None;
        for tries in 1..=TRIES_MAX {
            if let Some(state) = self.state.try_lock(since_ns) {
                return self.take_out(state, fired);
            }
            since_ns = since_ns.or_else(|| Some(monotonic_ns()));
            if tries % TRIES_BETWEEN_PAUSES == 0 {
                tokio::time::sleep(PAUSE).await;
            } else {
                tokio::task::yield_now().await;
            }
        }
        self.take_out(self.state.lock(), fired)
    }

    fn take_out(&self, mut state: MutexGuard<'_, State<A>>, fired: &mut Vec<A>) -> Option<u64> {
        let now = self.clock.now().as_millis() / TICK_MS;
        let done = state.wheel.advance(now, STEPS_MAX, |alarm| fired.push(alarm));
        let next = done.then(|| state.wheel.next_tick().unwrap_or(u64::MAX));
        state.armed = next.unwrap_or(0);
        next
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::task::{Context, Waker};
    use std::time::Duration;

    use super::*;
    use crate::clock::ManualClock;

    struct Count(Arc<AtomicU64>);

    impl Alarm for Count {
        fn ring(self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn shard() -> (Arc<ManualClock>, Arc<Timers<Count>>, Arc<AtomicU64>, Waits) {
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_000_000)));
        let waits = Waits::new();
        let timers = Arc::new(Timers::new(Arc::clone(&clock) as Arc<dyn Clock>, &waits));
        (clock, timers, Arc::default(), waits)
    }

    #[tokio::test]
    async fn very_many_that_end_at_once_are_taken_out_in_bounded_steps() {
        let (clock, timers, rung, waits) = shard();
        let at = clock.now().after(Duration::from_secs(1));
        let many = STEPS_MAX as u64 * 10;
        let keys: Vec<TimerKey> =
            (0..many).map(|_| timers.insert(at, Count(Arc::clone(&rung)))).collect();
        timers.cancel(keys[0]);
        clock.advance(Duration::from_secs(1));
        let mut fired = Vec::new();
        // They lie on a higher level: each is moved, then fired.
        while timers.step(&mut fired).await.is_none() {
            assert!(fired.len() <= STEPS_MAX);
            fired.drain(..).for_each(Alarm::ring);
            assert!(timers.state.lock().armed == 0, "nobody needs to wake the task");
        }
        fired.drain(..).for_each(Alarm::ring);
        assert_eq!(rung.load(Ordering::SeqCst), many - 1);
        let taken = waits.snapshot()[0].acquisitions;
        assert!(taken > many + 10, "a step takes the lock anew: {taken}");
    }

    #[tokio::test]
    async fn a_lock_that_is_held_holds_up_no_other_task() {
        let (clock, timers, rung, waits) = shard();
        timers.insert(clock.now(), Count(Arc::clone(&rung)));
        clock.advance(Duration::from_millis(TICK_MS));
        let mut fired = Vec::new();
        {
            let mut step = std::pin::pin!(timers.step(&mut fired));
            let held = timers.state.lock();
            // On this one thread the poll would never return if it waited for the lock.
            let mut look = Context::from_waker(Waker::noop());
            assert!(step.as_mut().poll(&mut look).is_pending());
            drop(held);
            step.await;
        }
        assert_eq!(fired.len(), 1);
        assert_eq!(waits.snapshot()[0].contended, 1);
    }

    #[tokio::test]
    async fn an_alarm_rings_by_itself_never_before_its_moment() {
        let (clock, timers, rung, _) = shard();
        let stop = CancellationToken::new();
        let task = tokio::spawn(Arc::clone(&timers).run(stop.clone()));
        timers.insert(clock.now().after(Duration::from_millis(99)), Count(Arc::clone(&rung)));
        clock.advance(Duration::from_millis(98));
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(rung.load(Ordering::SeqCst), 0);
        clock.advance(Duration::from_millis(1 + TICK_MS));
        let rings = async {
            while rung.load(Ordering::SeqCst) == 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), rings).await.unwrap();
        stop.cancel();
        task.await.unwrap();
    }
}
