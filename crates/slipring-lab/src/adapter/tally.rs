//! What producer and workers have done so far: counts, and latencies of the last seconds.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use parking_lot::Mutex;

use super::window::Window;

/// Counts since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Jobs that were inserted.
    pub enqueued: u64,
    /// Jobs whose work was begun.
    pub started: u64,
    /// Jobs that were acked.
    pub completed: u64,
    /// Of these, those of priority 1.
    pub completed_priority_1: u64,
    /// Of these, those of priority 4.
    pub completed_priority_4: u64,
    /// Attempts that failed because they should.
    pub failed: u64,
}

/// P50, P95 and P99 in milliseconds of the last seconds, where anything was counted.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Percentiles {
    /// From the insert to the start of the work.
    pub claim: Option<[f64; 3]>,
    /// Of one call that inserts.
    pub producer_call: Option<[f64; 3]>,
    /// From the insert to the answered ack.
    pub end_to_end: Option<[f64; 3]>,
}

/// What is counted, by all tasks together.
#[derive(Debug)]
pub struct Tally {
    start: Instant,
    /// Seconds that percentiles are about.
    window_s: u64,
    enqueued: AtomicU64,
    started: AtomicU64,
    completed: AtomicU64,
    completed_priority_1: AtomicU64,
    completed_priority_4: AtomicU64,
    failed: AtomicU64,
    /// Bits of the rate.
    target_rate: AtomicU64,
    claim: Mutex<Window>,
    producer_call: Mutex<Window>,
    end_to_end: Mutex<Window>,
}

impl Tally {
    /// Nothing yet; percentiles are about the last `window_s` seconds.
    ///
    /// # Errors
    /// As [`Window::new`].
    pub fn new(target_rate: f64, window_s: u64) -> Result<Tally> {
        Ok(Tally {
            start: Instant::now(),
            window_s,
            enqueued: AtomicU64::new(0),
            started: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            completed_priority_1: AtomicU64::new(0),
            completed_priority_4: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            target_rate: AtomicU64::new(target_rate.to_bits()),
            claim: Mutex::new(Window::new(window_s)?),
            producer_call: Mutex::new(Window::new(window_s)?),
            end_to_end: Mutex::new(Window::new(window_s)?),
        })
    }

    /// A call has inserted so many jobs.
    pub fn enqueued(&self, jobs: u64, took: Duration) {
        self.enqueued.fetch_add(jobs, Ordering::Relaxed);
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.producer_call.lock().add(self.second(), us);
    }

    /// The work on a job was begun so long after its insert, where that is to be counted.
    pub fn started(&self, waited_us: Option<u64>) {
        self.started.fetch_add(1, Ordering::Relaxed);
        if let Some(us) = waited_us {
            self.claim.lock().add(self.second(), us);
        }
    }

    /// A job was acked so long after its insert.
    pub fn completed(&self, priority: u32, lasted_us: u64) {
        self.completed.fetch_add(1, Ordering::Relaxed);
        match priority {
            1 => self.completed_priority_1.fetch_add(1, Ordering::Relaxed),
            4 => self.completed_priority_4.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
        self.end_to_end.lock().add(self.second(), lasted_us);
    }

    /// An attempt failed because it should.
    pub fn failed(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    /// The rate that is offered from now on, in jobs per second.
    pub fn offer(&self, rate: f64) {
        self.target_rate.store(rate.to_bits(), Ordering::Relaxed);
    }

    /// The rate that is offered.
    pub fn target_rate(&self) -> f64 {
        f64::from_bits(self.target_rate.load(Ordering::Relaxed))
    }

    /// The counts so far.
    pub fn counts(&self) -> Counts {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counts {
            enqueued: of(&self.enqueued),
            started: of(&self.started),
            completed: of(&self.completed),
            completed_priority_1: of(&self.completed_priority_1),
            completed_priority_4: of(&self.completed_priority_4),
            failed: of(&self.failed),
        }
    }

    /// The percentiles of now.
    pub fn percentiles(&self) -> Percentiles {
        let second = self.second();
        Percentiles {
            claim: self.claim.lock().percentiles_ms(second),
            producer_call: self.producer_call.lock().percentiles_ms(second),
            end_to_end: self.end_to_end.lock().percentiles_ms(second),
        }
    }

    /// Seconds since the start, beginning with as many as a window covers, so that none of those
    /// before lies in it.
    fn second(&self) -> u64 {
        self.start.elapsed().as_secs() + self.window_s
    }
}
