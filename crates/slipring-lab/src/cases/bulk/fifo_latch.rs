//! The published latch: exclusive, first come first served, handed on to the one who waits first
//! even while that one sleeps. Acquisitions and waits are counted as the engine counts its own.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};

use parking_lot::{Mutex, MutexGuard};
use slipring::WaitClass;
use slipring::clock::monotonic_ns;

/// A value that one thread has at a time, in the order in which they asked.
#[derive(Debug)]
pub struct FifoLatch<T> {
    class: Arc<WaitClass>,
    line: Mutex<Line>,
    /// Only who holds the latch locks this, so it is never waited for.
    value: Mutex<T>,
}

#[derive(Debug, Default)]
struct Line {
    held: bool,
    waiters: VecDeque<Arc<Waiter>>,
}

#[derive(Debug)]
struct Waiter {
    granted: AtomicBool,
    thread: Thread,
}

/// The latch, held; given back when it is dropped.
#[derive(Debug)]
pub struct Held<'a, T> {
    latch: &'a FifoLatch<T>,
    /// Taken out before the latch is handed on.
    value: Option<MutexGuard<'a, T>>,
}

impl<T> FifoLatch<T> {
    /// A latch around `value`, counted under `class`.
    pub fn new(class: Arc<WaitClass>, value: T) -> FifoLatch<T> {
        FifoLatch { class, line: Mutex::default(), value: Mutex::new(value) }
    }

    /// Takes the latch; sleeps while others have it or have asked before.
    pub fn acquire(&self) -> Held<'_, T> {
        let waiter = {
            let mut line = self.line.lock();
            if line.held {
                let granted = AtomicBool::new(false);
                let waiter = Arc::new(Waiter { granted, thread: thread::current() });
                line.waiters.push_back(Arc::clone(&waiter));
                Some(waiter)
            } else {
                line.held = true;
                None
            }
        };
        match waiter {
            None => self.class.passed(),
            Some(waiter) => {
                let since_ns = monotonic_ns();
                while !waiter.granted.load(Ordering::Acquire) {
                    thread::park();
                }
                self.class.waited(monotonic_ns().saturating_sub(since_ns));
            }
        }
        Held { latch: self, value: Some(self.value.lock()) }
    }

    /// The value, when no thread can ask for the latch any more.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }

    fn hand_on(&self) {
        let next = {
            let mut line = self.line.lock();
            let next = line.waiters.pop_front();
            line.held = next.is_some();
            next
        };
        if let Some(next) = next {
            next.granted.store(true, Ordering::Release);
            next.thread.unpark();
        }
    }
}

impl<T> Drop for Held<'_, T> {
    fn drop(&mut self) {
        drop(self.value.take());
        self.latch.hand_on();
    }
}

impl<T> Held<'_, T> {
    /// Works with the value; the latch is held for as long as `self` lives.
    pub fn with<R>(&mut self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.value.as_mut().map(|value| work(value))
    }
}

#[cfg(test)]
mod tests {
    use slipring::Waits;

    use super::*;

    #[test]
    fn who_asks_first_has_it_first_and_all_are_counted() {
        let waits = Waits::new();
        let latch = FifoLatch::new(waits.class("latch"), Vec::new());
        let held = latch.acquire();
        thread::scope(|scope| {
            for number in 0..8 {
                let latch = &latch;
                scope.spawn(move || latch.acquire().with(|seen| seen.push(number)));
                // The next one asks only when this one stands in the line.
                while latch.line.lock().waiters.len() <= number {
                    thread::yield_now();
                }
            }
            drop(held);
        });
        assert_eq!(latch.into_inner(), (0..8).collect::<Vec<_>>());
        let seen = &waits.snapshot()[0];
        assert_eq!((seen.acquisitions, seen.contended), (9, 8));
        assert!(seen.total_ns > 0);
    }

    #[test]
    fn one_thread_has_it_at_a_time() {
        let latch = FifoLatch::new(Waits::new().class("latch"), 0_u64);
        thread::scope(|scope| {
            for _ in 0..4 {
                let count = |_| latch.acquire().with(|n| *n += 1).unwrap_or_default();
                scope.spawn(move || (0..1000).for_each(count));
            }
        });
        assert_eq!(latch.into_inner(), 4000);
    }
}
