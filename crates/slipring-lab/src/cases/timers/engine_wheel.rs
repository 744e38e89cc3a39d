//! Ours: the timers that the engine ends the waits of receives with (`slipring::timers`), as many
//! shards as an engine has by default. A calling thread stands for a queue: it always uses the
//! same shard.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use slipring::timers::{TimerKey, Timers};
use slipring::{Clock, EngineOptions, Timestamp, WaitClass, WaitSnapshot, Waits};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::contender::{Alarm, Contender, Sink};
use crate::time::monotonic_ns;

const NS_PER_MS: u64 = 1_000_000;

/// Milliseconds of the monotonic clock, so that an alarm's nanoseconds are on the same clock.
pub struct MonotonicClock;

impl Clock for MonotonicClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(monotonic_ns() / NS_PER_MS)
    }

    fn sleep_until(&self, at: Timestamp) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let at_ns = at.as_millis().saturating_mul(NS_PER_MS);
        let left = Duration::from_nanos(at_ns.saturating_sub(monotonic_ns()));
        Box::pin(tokio::time::sleep(left))
    }
}

/// The engine's timers.
pub struct EngineWheel {
    shards: Vec<Arc<Timers<Alarm>>>,
    class: Arc<WaitClass>,
    stop: CancellationToken,
}

impl EngineWheel {
    /// Empty shards, each with its task on `runtime`.
    pub fn start(runtime: &Handle) -> EngineWheel {
        let (waits, stop) = (Waits::new(), CancellationToken::new());
        let shards: Vec<_> = (0..EngineOptions::default().timer_shards)
            .map(|_| Arc::new(Timers::new(Arc::new(MonotonicClock), &waits)))
            .collect();
        for shard in &shards {
            runtime.spawn(Arc::clone(shard).run(stop.clone()));
        }
        EngineWheel { shards, class: waits.class("timer_wheel_lock"), stop }
    }

    fn shard(&self, caller: usize) -> &Timers<Alarm> {
        &self.shards[caller % self.shards.len()]
    }
}

impl Contender for EngineWheel {
    type Slot = TimerKey;

    fn create(&self, caller: usize, due_ns: u64, alarm: Alarm) -> TimerKey {
        self.shard(caller).insert(Timestamp::from_millis(due_ns.div_ceil(NS_PER_MS)), alarm)
    }

    fn again(&self, caller: usize, slot: &mut TimerKey, due_ns: u64, sink: &Arc<Sink>) {
        self.shard(caller).cancel(*slot);
        *slot = self.time_out(caller, due_ns, sink);
    }

    fn waits(&self) -> Option<WaitSnapshot> {
        Some(self.class.snapshot())
    }

    fn stop(&self) {
        self.stop.cancel();
    }
}
