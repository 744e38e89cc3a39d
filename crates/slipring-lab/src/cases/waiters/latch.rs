//! A latch that is exclusive and first come, first served, as the published one was; its waits are
//! counted, and how long it is held.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use slipring::WaitClass;
use tokio::sync::{Mutex, MutexGuard};

use crate::time::monotonic_ns;

/// A value behind an exclusive latch. It is handed from its holder to the first in line: a caller
/// that comes meanwhile never gets it before those who wait.
pub struct Latch<T> {
    inner: Mutex<T>,
    class: Arc<WaitClass>,
    held_ns: AtomicU64,
}

/// The latch in the hands of a caller.
pub struct Held<'a, T> {
    value: MutexGuard<'a, T>,
    since_ns: u64,
    held_ns: &'a AtomicU64,
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> Drop for Held<'_, T> {
    fn drop(&mut self) {
        let held_ns = monotonic_ns().saturating_sub(self.since_ns);
        self.held_ns.fetch_add(held_ns, Ordering::Relaxed);
    }
}

impl<T> Latch<T> {
    /// A latch around `value`, counted under `class`.
    pub fn new(class: Arc<WaitClass>, value: T) -> Latch<T> {
        Latch { inner: Mutex::new(value), class, held_ns: AtomicU64::new(0) }
    }

    /// Takes it.
    pub async fn take(&self) -> Held<'_, T> {
        let began_ns = monotonic_ns();
        if let Ok(value) = self.inner.try_lock() {
            self.class.passed();
            return Held { value, since_ns: began_ns, held_ns: &self.held_ns };
        }
        let value = self.inner.lock().await;
        let since_ns = monotonic_ns();
        self.class.waited(since_ns.saturating_sub(began_ns));
        Held { value, since_ns, held_ns: &self.held_ns }
    }

    /// For how long it was held so far, by all callers together, in nanoseconds.
    pub fn held_ns(&self) -> u64 {
        self.held_ns.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex as PlainMutex;

    use futures::{FutureExt, poll};
    use slipring::Waits;

    use super::*;

    #[tokio::test]
    async fn a_latch_is_given_in_the_order_of_arrival_and_counts_its_waits() {
        let waits = Waits::new();
        let latch = Latch::new(waits.class("latch"), ());
        let order = PlainMutex::new(Vec::new());
        let held = latch.take().await;
        let mut line: Vec<_> = (0..3)
            .map(|caller| {
                let take = latch.take();
                let order = &order;
                async move {
                    let _guard = take.await;
                    order.lock().unwrap().push(caller);
                }
                .boxed()
            })
            .collect();
        for caller in &mut line {
            assert!(poll!(caller).is_pending());
        }
        drop(held);
        // The first in line has it before it runs: one that comes now waits behind all of them.
        let mut late = Box::pin(latch.take());
        assert!(poll!(&mut late).is_pending());
        futures::future::join_all(line.into_iter().rev()).await;
        drop(late.await);
        assert_eq!(*order.lock().unwrap(), [0, 1, 2]);
        let seen = &waits.snapshot()[0];
        assert_eq!((seen.acquisitions, seen.contended), (5, 4));
        assert!(latch.held_ns() > 0);
    }
}
