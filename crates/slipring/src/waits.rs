//! Wait classes (law 5): every lock, queue and I/O wait has a name, counts and a histogram.
//!
//! A class costs a few relaxed atomic additions per acquisition. Counters are striped over cache
//! lines, so that counting a wait does not become the shared object that is waited for.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;

use crate::clock::monotonic_ns;

const STRIPES: usize = 8;
const BUCKETS: usize = 40;

/// All wait classes of an engine and its store. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Waits(Arc<Mutex<BTreeMap<&'static str, Arc<WaitClass>>>>);

impl Waits {
    /// An empty table.
    pub fn new() -> Waits {
        Waits::default()
    }

    /// The class of this name, made at the first call. Keep the result: the look-up takes a lock.
    pub fn class(&self, name: &'static str) -> Arc<WaitClass> {
        let mut classes = self.0.lock();
        Arc::clone(classes.entry(name).or_insert_with(|| Arc::new(WaitClass::new(name))))
    }

    /// The table at this moment, by name.
    pub fn snapshot(&self) -> Vec<WaitSnapshot> {
        self.0.lock().values().map(|class| class.snapshot()).collect()
    }
}

/// One kind of wait.
#[derive(Debug)]
pub struct WaitClass {
    name: &'static str,
    stripes: [Stripe; STRIPES],
}

#[derive(Debug)]
#[repr(align(128))]
struct Stripe {
    acquisitions: AtomicU64,
    contended: AtomicU64,
    total_ns: AtomicU64,
    max_ns: AtomicU64,
    /// Bucket `b` counts waits of `2^b` to `2^(b+1)` nanoseconds.
    buckets: [AtomicU64; BUCKETS],
}

impl Default for Stripe {
    fn default() -> Stripe {
        Stripe {
            acquisitions: AtomicU64::new(0),
            contended: AtomicU64::new(0),
            total_ns: AtomicU64::new(0),
            max_ns: AtomicU64::new(0),
            buckets: [const { AtomicU64::new(0) }; BUCKETS],
        }
    }
}

/// A class's figures at a moment. Percentiles are upper bounds of power-of-two buckets over
/// contended waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WaitSnapshot {
    /// The class.
    pub name: &'static str,
    /// How often the thing was taken.
    pub acquisitions: u64,
    /// How often it had to be waited for.
    pub contended: u64,
    /// Time waited in all, in nanoseconds.
    pub total_ns: u64,
    /// The longest wait, in nanoseconds.
    pub max_ns: u64,
    /// Half of the contended waits were at most so long, in nanoseconds.
    pub p50_ns: u64,
    /// 95 of 100 contended waits were at most so long, in nanoseconds.
    pub p95_ns: u64,
    /// 99 of 100 contended waits were at most so long, in nanoseconds.
    pub p99_ns: u64,
    /// Contended waits by power of two: entry `b` counts waits below `2^(b+1)` ns.
    pub buckets: Vec<u64>,
}

impl WaitClass {
    fn new(name: &'static str) -> WaitClass {
        WaitClass { name, stripes: Default::default() }
    }

    /// The class's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Counts an acquisition that did not wait.
    pub fn passed(&self) {
        self.stripe().acquisitions.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an acquisition that waited.
    pub fn waited(&self, wait_ns: u64) {
        let stripe = self.stripe();
        stripe.acquisitions.fetch_add(1, Ordering::Relaxed);
        stripe.contended.fetch_add(1, Ordering::Relaxed);
        stripe.total_ns.fetch_add(wait_ns, Ordering::Relaxed);
        stripe.max_ns.fetch_max(wait_ns, Ordering::Relaxed);
        let bucket = (63 - wait_ns.max(1).leading_zeros() as usize).min(BUCKETS - 1);
        if let Some(count) = stripe.buckets.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Runs `work`, a wait by nature (such as a flush to disk), and counts its time.
    pub fn measure<T>(&self, work: impl FnOnce() -> T) -> T {
        let start = monotonic_ns();
        let result = work();
        self.waited(monotonic_ns().saturating_sub(start));
        result
    }

    /// The figures at this moment.
    pub fn snapshot(&self) -> WaitSnapshot {
        let sum = |field: fn(&Stripe) -> &AtomicU64| -> u64 {
            self.stripes.iter().map(|s| field(s).load(Ordering::Relaxed)).sum()
        };
        let mut buckets = vec![0; BUCKETS];
        for stripe in &self.stripes {
            for (total, count) in buckets.iter_mut().zip(&stripe.buckets) {
                *total += count.load(Ordering::Relaxed);
            }
        }
        let max_ns = self.stripes.iter().map(|s| s.max_ns.load(Ordering::Relaxed)).max();
        let max_ns = max_ns.unwrap_or(0);
        WaitSnapshot {
            name: self.name,
            acquisitions: sum(|s| &s.acquisitions),
            contended: sum(|s| &s.contended),
            total_ns: sum(|s| &s.total_ns),
            max_ns,
            p50_ns: percentile(&buckets, 50).min(max_ns),
            p95_ns: percentile(&buckets, 95).min(max_ns),
            p99_ns: percentile(&buckets, 99).min(max_ns),
            buckets,
        }
    }

    fn stripe(&self) -> &Stripe {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static MINE: usize = NEXT.fetch_add(1, Ordering::Relaxed) % STRIPES;
        }
        &self.stripes[MINE.with(|mine| *mine)]
    }
}

fn percentile(buckets: &[u64], percent: u64) -> u64 {
    let total: u64 = buckets.iter().sum();
    let wanted = (total * percent).div_ceil(100);
    let mut seen = 0;
    for (power, count) in buckets.iter().enumerate() {
        seen += count;
        if seen >= wanted && total > 0 {
            return 1 << (power + 1);
        }
    }
    0
}

/// A mutex whose waits are counted under a class. The lock must never be held across an await.
#[derive(Debug)]
pub struct NamedMutex<T> {
    class: Arc<WaitClass>,
    inner: Mutex<T>,
}

impl<T> NamedMutex<T> {
    /// A mutex around `value`, counted under `class`.
    pub fn new(class: Arc<WaitClass>, value: T) -> NamedMutex<T> {
        NamedMutex { class, inner: Mutex::new(value) }
    }

    /// Takes the lock.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        if let Some(guard) = self.inner.try_lock() {
            self.class.passed();
            return guard;
        }
        self.class.measure(|| self.inner.lock())
    }

    /// Takes the lock if it is free. `since_ns` is the moment of the first try, where this is not
    /// it: the time from then on counts as waited.
    pub fn try_lock(&self, since_ns: Option<u64>) -> Option<MutexGuard<'_, T>> {
        let guard = self.inner.try_lock()?;
        match since_ns {
            None => self.class.passed(),
            Some(since_ns) => self.class.waited(monotonic_ns().saturating_sub(since_ns)),
        }
        Some(guard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_counts_acquisitions_waits_and_percentiles() {
        let waits = Waits::new();
        let class = waits.class("lock");
        class.passed();
        for _ in 0..99 {
            class.waited(1000);
        }
        class.waited(1_000_000);
        let seen = &waits.snapshot()[0];
        assert_eq!((seen.name, seen.acquisitions, seen.contended), ("lock", 101, 100));
        assert_eq!((seen.total_ns, seen.max_ns), (1_099_000, 1_000_000));
        assert_eq!((seen.p50_ns, seen.p99_ns), (1024, 1024));
        assert!(Arc::ptr_eq(&class, &waits.class("lock")));
    }

    #[test]
    fn a_try_counts_when_it_succeeds_and_as_a_wait_when_it_is_not_the_first() {
        let waits = Waits::new();
        let lock = NamedMutex::new(waits.class("m"), 0_u32);
        let held = lock.try_lock(None);
        assert!(held.is_some() && lock.try_lock(None).is_none());
        drop(held);
        assert!(lock.try_lock(Some(monotonic_ns())).is_some());
        let seen = &waits.snapshot()[0];
        assert_eq!((seen.acquisitions, seen.contended), (2, 1));
    }

    #[test]
    fn a_contended_mutex_shows_up_under_its_class() {
        let waits = Waits::new();
        let lock = NamedMutex::new(waits.class("m"), 0_u32);
        let held = lock.lock();
        std::thread::scope(|scope| {
            scope.spawn(|| *lock.lock() += 1);
            while lock.inner.try_lock().is_some() {}
            drop(held);
        });
        assert_eq!(*lock.lock(), 1);
        assert!(waits.snapshot()[0].acquisitions >= 3);
    }
}
