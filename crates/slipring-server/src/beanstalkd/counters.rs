//! What is counted since the start, and the connections there are.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::measures::COMMANDS;

/// A number that only its readers look at; it orders nothing.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add(&self, count: usize) {
        self.0.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub(super) fn subtract(&self, count: usize) {
        self.0.fetch_sub(count as u64, Ordering::Relaxed);
    }

    pub(super) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The counters of a server: commands by kind, jobs, connections.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) put: Counter,
    pub(super) peek: Counter,
    pub(super) peek_ready: Counter,
    pub(super) peek_delayed: Counter,
    pub(super) peek_buried: Counter,
    pub(super) reserve: Counter,
    pub(super) reserve_with_timeout: Counter,
    pub(super) delete: Counter,
    pub(super) release: Counter,
    pub(super) use_tube: Counter,
    pub(super) watch: Counter,
    pub(super) ignore: Counter,
    pub(super) bury: Counter,
    pub(super) kick: Counter,
    pub(super) kick_job: Counter,
    pub(super) reserve_job: Counter,
    pub(super) quit: Counter,
    pub(super) touch: Counter,
    pub(super) stats: Counter,
    pub(super) stats_job: Counter,
    pub(super) stats_tube: Counter,
    pub(super) list_tubes: Counter,
    pub(super) list_tube_used: Counter,
    pub(super) list_tubes_watched: Counter,
    pub(super) pause_tube: Counter,
    pub(super) job_timeouts: Counter,
    pub(super) total_jobs: Counter,
    pub(super) connections: Counter,
    pub(super) connections_total: Counter,
    pub(super) producers: Counter,
    pub(super) workers: Counter,
    pub(super) waiting: Counter,
}

impl Counters {
    /// How often each command came, in the order of [`COMMANDS`].
    pub(super) fn commands(&self) -> Vec<(&'static str, u64)> {
        let counters = [
            &self.put,
            &self.peek,
            &self.peek_ready,
            &self.peek_delayed,
            &self.peek_buried,
            &self.reserve,
            &self.reserve_with_timeout,
            &self.delete,
            &self.release,
            &self.use_tube,
            &self.watch,
            &self.ignore,
            &self.bury,
            &self.kick,
            &self.touch,
            &self.stats,
            &self.stats_job,
            &self.stats_tube,
            &self.list_tubes,
            &self.list_tube_used,
            &self.list_tubes_watched,
            &self.pause_tube,
            &self.kick_job,
            &self.reserve_job,
            &self.quit,
        ];
        COMMANDS.into_iter().zip(counters.map(Counter::get)).collect()
    }
}

/// Counts one connection, and what it has turned out to be, for as long as it lives.
pub(super) struct Presence {
    counters: Arc<Counters>,
    producer: bool,
    worker: bool,
}

impl Presence {
    pub(super) fn new(counters: Arc<Counters>) -> Presence {
        counters.connections.add(1);
        counters.connections_total.add(1);
        Presence { counters, producer: false, worker: false }
    }

    /// The connection has put a job.
    pub(super) fn produces(&mut self) {
        if !std::mem::replace(&mut self.producer, true) {
            self.counters.producers.add(1);
        }
    }

    /// The connection has reserved.
    pub(super) fn works(&mut self) {
        if !std::mem::replace(&mut self.worker, true) {
            self.counters.workers.add(1);
        }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.counters.connections.subtract(1);
        self.counters.producers.subtract(usize::from(self.producer));
        self.counters.workers.subtract(usize::from(self.worker));
    }
}
