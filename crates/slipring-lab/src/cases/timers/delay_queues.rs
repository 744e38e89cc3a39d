//! Peer: tokio-util's `DelayQueue`, in as many shards as the engine's timers have, each behind a
//! lock and polled by a task. It is made for one task; a lock is what its users put around it when
//! several threads create and cancel.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use slipring::waits::{NamedMutex, Waits};
use slipring::{EngineOptions, WaitClass, WaitSnapshot};
use tokio::runtime::Handle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::time::DelayQueue;
use tokio_util::time::delay_queue::Key;

use super::contender::{Alarm, Contender, Sink};
use crate::time::monotonic_ns;

/// Most timers taken out while a lock is held once, as in the engine.
const TAKEN_MAX: usize = 256;

type Shard = NamedMutex<DelayQueue<Alarm>>;

/// `DelayQueue`s behind locks.
pub struct DelayQueues {
    shards: Vec<Arc<Shard>>,
    class: Arc<WaitClass>,
    /// A moment on both clocks; not earlier on tokio's, so that nothing is early.
    start_ns: u64,
    start: Instant,
    stop: CancellationToken,
}

impl DelayQueues {
    /// Empty shards, each with its task on `runtime`.
    pub fn start(runtime: &Handle) -> DelayQueues {
        let class = Waits::new().class("delay_queue_lock");
        let shard = || Arc::new(NamedMutex::new(Arc::clone(&class), DelayQueue::new()));
        let shards: Vec<_> = (0..EngineOptions::default().timer_shards).map(|_| shard()).collect();
        let stop = CancellationToken::new();
        for shard in &shards {
            let task = stop.clone().run_until_cancelled_owned(fire(Arc::clone(shard)));
            runtime.spawn(task);
        }
        let start_ns = monotonic_ns();
        let start = Instant::now();
        DelayQueues { shards, class, start_ns, start, stop }
    }

    fn shard(&self, caller: usize) -> &Shard {
        &self.shards[caller % self.shards.len()]
    }
}

/// Fires the timers of a shard for ever.
async fn fire(shard: Arc<Shard>) {
    let mut fired = Vec::new();
    loop {
        poll_fn(|cx| take(&shard, cx, &mut fired)).await;
        fired.drain(..).for_each(|alarm: Alarm| alarm.fire());
        tokio::task::yield_now().await;
    }
}

/// Takes out some of what is due.
fn take(shard: &Shard, cx: &mut Context<'_>, fired: &mut Vec<Alarm>) -> Poll<()> {
    let mut queue = shard.lock();
    while fired.len() < TAKEN_MAX {
        let Poll::Ready(Some(expired)) = queue.poll_expired(cx) else { break };
        fired.push(expired.into_inner());
    }
    if fired.is_empty() { Poll::Pending } else { Poll::Ready(()) }
}

impl Contender for DelayQueues {
    type Slot = Key;

    fn create(&self, caller: usize, due_ns: u64, alarm: Alarm) -> Key {
        let at = self.start + Duration::from_nanos(due_ns.saturating_sub(self.start_ns));
        self.shard(caller).lock().insert_at(alarm, at)
    }

    fn again(&self, caller: usize, slot: &mut Key, due_ns: u64, sink: &Arc<Sink>) {
        drop(self.shard(caller).lock().try_remove(slot));
        *slot = self.time_out(caller, due_ns, sink);
    }

    fn waits(&self) -> Option<WaitSnapshot> {
        Some(self.class.snapshot())
    }

    fn stop(&self) {
        self.stop.cancel();
    }
}
