//! What one simulated run did.

use serde::Serialize;

use crate::stats::Percentiles;

/// Counts of one thing that is waited for: a latch, pages, a log, a combiner.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Its name in the model.
    pub name: String,
    /// How often it was taken: a latch by workers, a log by flushes, a combiner by turns.
    pub acquisitions: u64,
    /// How many asked for it; more than acquisitions where many share one.
    pub requests: u64,
    /// How many of those had to wait.
    pub contended: u64,
    /// Time waited in all, until the one who waited ran again, in nanoseconds.
    pub wait_ns: u64,
    /// The longest wait, in nanoseconds.
    pub wait_ns_max: u64,
}

impl Counts {
    /// Of a thing that nothing has asked for.
    pub fn of(name: &str) -> Counts {
        Counts { name: name.to_owned(), ..Counts::default() }
    }

    /// Notes the end of a wait.
    pub fn waited(&mut self, ns: u64) {
        self.contended += 1;
        self.wait_ns += ns;
        self.wait_ns_max = self.wait_ns_max.max(ns);
    }

    /// The part of the requests that waited.
    pub fn contended_share(&self) -> f64 {
        share(self.contended, self.requests)
    }

    /// The mean wait of all requests, in milliseconds.
    pub fn wait_ms_mean(&self) -> f64 {
        share(self.wait_ns, self.requests) / 1e6
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// What one worker did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct WorkerCounts {
    /// Operations it finished.
    pub operations: u64,
    /// Latches it took.
    pub acquisitions: u64,
    /// Of those, how many it waited for.
    pub contended: u64,
}

/// What one run did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// How many workers there were.
    pub workers: usize,
    /// On how many cores.
    pub cores: usize,
    /// Simulated time in nanoseconds.
    pub elapsed_ns: u64,
    /// Operations done.
    pub operations: u64,
    /// What they count as; see the model.
    pub units: f64,
    /// Events it took.
    pub events: u64,
    /// Time for which cores ran workers and turns, in nanoseconds.
    pub busy_ns: u64,
    /// Latches and pages.
    pub latches: Vec<Counts>,
    /// Logs.
    pub logs: Vec<Counts>,
    /// Combiners.
    pub combiners: Vec<Counts>,
    /// Each worker.
    pub by_worker: Vec<WorkerCounts>,
    /// What an operation took, in microseconds.
    pub latencies: Percentiles,
}

impl Outcome {
    /// Units in a second.
    pub fn rate(&self) -> f64 {
        if self.elapsed_ns == 0 { 0.0 } else { self.units / self.elapsed_ns as f64 * 1e9 }
    }

    /// Simulated milliseconds.
    pub fn elapsed_ms(&self) -> f64 {
        self.elapsed_ns as f64 / 1e6
    }

    /// The part of the cores' time that was used.
    pub fn busy_share(&self) -> f64 {
        share(self.busy_ns, self.elapsed_ns.saturating_mul(self.cores as u64))
    }
}
