//! A queue's store calls one after another, whatever their kind, where the store says that pays.
//!
//! Calls of different kinds that run side by side each serve a few callers. One after another they
//! fall into step: while one is under way all others wait for the next of their kind, which then
//! serves them all. Nobody waits for a timer to fill a batch: a call waits only for another one
//! that is under way, and not for long.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::clock::monotonic_ns;
use crate::waits::WaitClass;

/// How long a call waits for those before it; then it goes beside them. It bounds what a large
/// call, a slow disk or a call that hangs costs the others.
const PATIENCE: Duration = Duration::from_millis(2);

/// Most times that callers on their way are let in before a call begins.
const ROUNDS_MAX: u32 = 64;
/// Without anybody new for so many rounds, nobody is on the way.
const QUIET_ROUNDS: u32 = 2;

/// Lets the store calls of one queue through.
pub(super) struct Turnstile {
    /// `None` where calls need no order.
    call: Option<Semaphore>,
    waited: Arc<WaitClass>,
}

impl Turnstile {
    /// One that keeps order, or lets everybody through at once.
    pub(super) fn new(one_by_one: bool, waited: Arc<WaitClass>) -> Turnstile {
        Turnstile { call: one_by_one.then(|| Semaphore::new(1)), waited }
    }

    /// Whether calls go one after another.
    pub(super) fn is_one_by_one(&self) -> bool {
        self.call.is_some()
    }

    /// Waits for the calls under way, then for the callers on their way: those who were answered
    /// just now come with their next request before they are scheduled again. `waiting` counts
    /// the callers that the call is for; without any there is nothing to wait for. What it answers
    /// is to be kept until the call is over.
    pub(super) async fn pass(&self, waiting: impl Fn() -> usize) -> Option<SemaphorePermit<'_>> {
        let call = self.call.as_ref()?;
        let mut before = waiting();
        if before == 0 {
            return None;
        }
        let began = monotonic_ns();
        let pass = match call.try_acquire() {
            Ok(pass) => Some(pass),
            Err(_) => {
                tokio::time::timeout(PATIENCE, call.acquire()).await.ok().and_then(Result::ok)
            }
        };
        let mut quiet = 0;
        for _ in 0..ROUNDS_MAX {
            tokio::task::yield_now().await;
            let now = waiting();
            quiet = if now == before { quiet + 1 } else { 0 };
            if quiet == QUIET_ROUNDS {
                break;
            }
            before = now;
        }
        self.waited.waited(monotonic_ns().saturating_sub(began));
        pass
    }
}
