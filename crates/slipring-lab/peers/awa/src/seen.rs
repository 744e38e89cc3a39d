//! What was sent and what came back, and how long that took.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Which numbers were sent and which came back.
#[derive(Default)]
pub struct Ledger {
    next: AtomicU64,
    seen: Mutex<(HashSet<u64>, u64)>,
}

impl Ledger {
    /// Reserves numbers; answers the first.
    pub fn take(&self, count: u64) -> u64 {
        self.next.fetch_add(count, Ordering::Relaxed)
    }

    /// Notes a message that came.
    pub fn note(&self, number: u64) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.0.insert(number);
        seen.1 += 1;
    }

    /// How many were sent.
    pub fn sent(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// How many came, and how many of them again.
    pub fn received(&self) -> (u64, u64) {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        (seen.1, seen.1 - seen.0.len() as u64)
    }

    /// How many are still to come.
    pub fn outstanding(&self) -> u64 {
        let (received, twice) = self.received();
        self.sent().saturating_sub(received - twice)
    }
}

/// The time between the ends of operations of one kind, in nanoseconds.
#[derive(Default)]
pub struct Gaps(Mutex<(u64, u64)>);

impl Gaps {
    /// An operation has come to its end.
    pub fn completed(&self, now: u64) {
        let mut gaps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (last, longest) = *gaps;
        *gaps = (now, longest.max(now.saturating_sub(last)));
    }

    /// The longest since the last call; the one that has not ended is included, and goes on.
    pub fn take(&self, now: u64) -> u64 {
        let mut gaps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (last, longest) = *gaps;
        gaps.1 = 0;
        longest.max(now.saturating_sub(last))
    }
}

/// Microseconds to two digits, with counts.
#[derive(Default)]
pub struct Latencies(Mutex<BTreeMap<u64, u64>>);

impl Latencies {
    /// Adds a latency in nanoseconds.
    pub fn add(&self, ns: u64) {
        let us = (ns / 1000).max(1);
        let step = 10_u64.pow(us.ilog10().saturating_sub(1));
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(us.div_ceil(step) * step).or_default() += 1;
    }

    /// Takes what there is, as pairs of a latency and a count.
    pub fn drain(&self) -> Vec<(u64, u64)> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *counts).into_iter().collect()
    }
}
