//! The adapter of case 4: how the workers of one peer claim jobs and delete them, and what is
//! counted meanwhile. A peer is a file that implements it.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::body::Body;
use crate::targets::Look;

/// A queue of jobs that is filled, then worked off.
pub trait Jobs: Sized + Send + 'static {
    /// What one worker holds.
    type Worker: Worker;
    /// Whether calls of a worker block its thread.
    const BLOCKS: bool = false;

    /// Adds jobs in this order; not measured.
    ///
    /// # Errors
    /// When the queue refuses.
    fn fill(&self, bodies: &[Body]) -> impl Future<Output = Result<()>> + Send;

    /// What follows the last job, such as the statistics that a planner needs; not measured.
    ///
    /// # Errors
    /// When the queue fails.
    fn filled(&self) -> impl Future<Output = Result<()>> + Send {
        async { Ok(()) }
    }

    /// One worker with a connection of its own. It counts in `tally`, and makes its choices from
    /// `seed`.
    ///
    /// # Errors
    /// When the queue refuses.
    fn worker(
        &self,
        seed: u64,
        tally: &Arc<Tally>,
    ) -> impl Future<Output = Result<Self::Worker>> + Send;

    /// What the database itself has counted since the queue was filled.
    ///
    /// # Errors
    /// When the database fails.
    fn counted(&self) -> impl Future<Output = Result<Counted>> + Send {
        async { Ok(Counted::default()) }
    }

    /// Ends what was started for it.
    ///
    /// # Errors
    /// When it does not end.
    fn end(self) -> impl Future<Output = Result<()>> + Send {
        async { Ok(()) }
    }
}

/// One of the workers.
pub trait Worker: Send + 'static {
    /// Claims up to so many jobs, shows each to `run` once it is this worker's, and holds them.
    /// Answers how many; zero when there is none at the moment.
    ///
    /// # Errors
    /// When the queue fails, otherwise than by a deadlock.
    fn claim(&mut self, up_to: usize, run: Look<'_>) -> impl Future<Output = Result<usize>> + Send;

    /// Deletes all that it holds, as often as its method tries, and counts what is gone.
    ///
    /// # Errors
    /// When the queue fails, otherwise than by a deadlock.
    fn finish(&mut self) -> impl Future<Output = Result<()>> + Send;
}

/// Counts of all workers of one run.
#[derive(Debug, Default)]
pub struct Tally {
    /// Jobs that are deleted for certain.
    pub gone: AtomicU64,
    /// Jobs that were claimed.
    pub claims: AtomicU64,
    /// Looks for a job that found one, whether or not another worker was faster.
    pub rounds: AtomicU64,
    /// Claims that the database ended as a deadlock; they were tried again at once.
    pub claim_deadlocks: AtomicU64,
    /// Deletes that the database ended as a deadlock.
    pub delete_deadlocks: AtomicU64,
    /// Deletes that were given up; their jobs run again.
    pub lost_deletes: AtomicU64,
    /// Calls refused because another worker wrote, or because their snapshot was too old.
    pub refused: AtomicU64,
}

impl Tally {
    /// Adds to one of its counts.
    pub fn add(count: &AtomicU64, more: usize) {
        count.fetch_add(more as u64, Ordering::Relaxed);
    }

    /// The counts at this moment.
    pub fn counts(&self) -> Counts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counts {
            claims: read(&self.claims),
            rounds: read(&self.rounds),
            deadlocks: read(&self.claim_deadlocks) + read(&self.delete_deadlocks),
            delete_deadlocks: read(&self.delete_deadlocks),
            lost_deletes: read(&self.lost_deletes),
            refused: read(&self.refused),
        }
    }
}

/// A [`Tally`] that was read, or what workers of another language counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Jobs that were claimed.
    pub claims: u64,
    /// Looks for a job that found one.
    pub rounds: u64,
    /// Deadlocks that a worker was told of.
    pub deadlocks: u64,
    /// Those of them that ended a delete.
    pub delete_deadlocks: u64,
    /// Deletes that were given up.
    pub lost_deletes: u64,
    /// Calls refused because another worker wrote, or because their snapshot was too old.
    pub refused: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.claims += other.claims;
        self.rounds += other.rounds;
        self.deadlocks += other.deadlocks;
        self.delete_deadlocks += other.delete_deadlocks;
        self.lost_deletes += other.lost_deletes;
        self.refused += other.refused;
    }
}

/// What a database counts by itself; nothing where it does not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// Deadlocks.
    pub deadlocks: Option<u64>,
    /// Waits for a lock of a row.
    pub lock_waits: Option<u64>,
    /// How many workers waited for a lock at a time, on average over samples.
    pub waiting_mean: Option<f64>,
}
