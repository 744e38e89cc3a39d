//! A queue's store calls one after another, whatever their kind, where the store says that pays.
//!
//! Calls of different kinds that run side by side each serve a few callers. One after another they
//! fall into step: while one is under way all others wait for the next of their kind, which then
//! serves them all. No call waits for a timer to fill a batch: a call waits only for another one
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
/// Without a new caller for so many rounds, none is on the way.
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

    /// Waits for the call under way, then gives the callers it has just answered the time to come
    /// with their next request, as long as more of them come. `waiting` counts the callers that
    /// this call is for; without any there is nothing to wait for. What it answers is to be kept
    /// until the call is over.
    pub(super) async fn pass(&self, waiting: impl Fn() -> usize) -> Option<SemaphorePermit<'_>> {
        let call = self.call.as_ref()?;
        let mut before = waiting();
        if before == 0 {
            return None;
        }
        let pass = match call.try_acquire() {
            Ok(pass) => {
                self.waited.passed();
                Some(pass)
            }
            Err(_) => {
                let began = monotonic_ns();
                let pass = tokio::time::timeout(PATIENCE, call.acquire()).await;
                self.waited.waited(monotonic_ns().saturating_sub(began));
                pass.ok().and_then(Result::ok)
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
        pass
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

    use std::cell::Cell;

    use super::*;
    use crate::waits::Waits;

    fn turnstile(one_by_one: bool) -> Turnstile {
        Turnstile::new(one_by_one, Waits::new().class("turnstile"))
    }

    #[tokio::test]
    async fn a_call_waits_for_the_one_before_it_but_not_for_ever() {
        let turnstile = turnstile(true);
        let first = turnstile.pass(|| 1).await;
        assert!(first.is_some());
        assert!(turnstile.pass(|| 1).await.is_none());
        let mut second = std::pin::pin!(turnstile.pass(|| 1));
        tokio::select! {
            biased;
            _ = &mut second => unreachable!("it has to wait"),
            () = std::future::ready(()) => drop(first),
        }
        assert!(second.await.is_some());
        let waits = turnstile.waited.snapshot();
        assert_eq!((waits.acquisitions, waits.contended), (3, 2));
    }

    #[tokio::test]
    async fn callers_on_their_way_are_let_in_as_long_as_they_come() {
        let (turnstile, looks) = (turnstile(true), Cell::new(0));
        let waiting = || {
            looks.set(looks.get() + 1);
            looks.get().min(20)
        };
        assert!(turnstile.pass(waiting).await.is_some());
        assert_eq!(looks.get(), 20 + QUIET_ROUNDS as usize);
        let endless = || {
            looks.set(looks.get() + 1);
            looks.get()
        };
        looks.set(0);
        assert!(turnstile.pass(endless).await.is_some());
        assert_eq!(looks.get(), 1 + ROUNDS_MAX as usize);
    }

    #[tokio::test]
    async fn without_an_order_or_callers_nobody_waits() {
        let (any, ordered) = (turnstile(false), turnstile(true));
        let _first = ordered.pass(|| 1).await.unwrap();
        for (turnstile, callers) in [(&any, 1), (&ordered, 0)] {
            tokio::select! {
                biased;
                pass = turnstile.pass(|| callers) => assert!(pass.is_none()),
                () = std::future::ready(()) => unreachable!("it does not wait"),
            }
        }
    }
}
