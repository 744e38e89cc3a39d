//! Peer: tokio's timers, one `Sleep` for each.
//!
//! The fairest use for timers that are created and cancelled: a `Sleep` in a place that is used
//! again, so that only its registration costs, not its memory; polled once with the waker of its
//! task, which registers it; replaced by a new one, which takes the old one out. A task for each
//! timer would cost more. `Sleep::reset` to a later moment costs less still (it writes one atomic),
//! but that is one timer put off, not one that is cancelled.
//!
//! A `DelayQueue` is the other way to many timers, and a contender of its own.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use slipring::WaitSnapshot;
use tokio::time::{Instant, Sleep, sleep_until};

use super::contender::{Alarm, Contender, Sink};
use crate::time::monotonic_ns;

/// tokio's timers of one runtime.
pub struct TokioSleeps {
    /// A moment on both clocks; not earlier on tokio's, so that nothing is early.
    start_ns: u64,
    start: Instant,
    /// The waker of a caller's task, which its time-outs are polled with.
    task: Waker,
}

/// Wakes nothing: a time-out that fires is none of those that are let fire.
struct Task;

impl Wake for Task {
    fn wake(self: Arc<Task>) {}
}

impl Wake for Alarm {
    fn wake(self: Arc<Alarm>) {
        self.fire();
    }
}

impl TokioSleeps {
    /// The timers of the runtime that its users are in.
    pub fn start() -> TokioSleeps {
        let start_ns = monotonic_ns();
        let (start, task) = (Instant::now(), Waker::from(Arc::new(Task)));
        TokioSleeps { start_ns, start, task }
    }

    fn at(&self, due_ns: u64) -> Instant {
        self.start + Duration::from_nanos(due_ns.saturating_sub(self.start_ns))
    }
}

/// Registers a timer. One that is over already rings at once.
fn register(sleep: Pin<&mut Sleep>, waker: &Waker) {
    if sleep.poll(&mut Context::from_waker(waker)).is_ready() {
        waker.wake_by_ref();
    }
}

impl Contender for TokioSleeps {
    type Slot = Pin<Box<Sleep>>;

    fn create(&self, _caller: usize, due_ns: u64, alarm: Alarm) -> Self::Slot {
        let mut sleep = Box::pin(sleep_until(self.at(due_ns)));
        register(sleep.as_mut(), &Waker::from(Arc::new(alarm)));
        sleep
    }

    fn time_out(&self, _caller: usize, due_ns: u64, _sink: &Arc<Sink>) -> Self::Slot {
        let mut sleep = Box::pin(sleep_until(self.at(due_ns)));
        register(sleep.as_mut(), &self.task);
        sleep
    }

    fn again(&self, _caller: usize, slot: &mut Self::Slot, due_ns: u64, _sink: &Arc<Sink>) {
        slot.set(sleep_until(self.at(due_ns)));
        register(slot.as_mut(), &self.task);
    }

    fn is_over(&self, slot: &Self::Slot) -> bool {
        slot.is_elapsed()
    }

    fn waits(&self) -> Option<WaitSnapshot> {
        None
    }

    fn stop(&self) {}
}
