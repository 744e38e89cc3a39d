//! The load of case 4: a queue is filled with empty jobs, then workers claim, execute and delete
//! them, each as fast as it can.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::audit::{Audit, Order};
use super::claims::{Counted, Counts, Jobs, Tally, Worker};
use crate::body::{self, Body, Content};

/// A worker that found no job looks again after this.
const LOOK_AGAIN: Duration = Duration::from_millis(2);
/// Jobs that are sent in one call to fill a queue.
const FILL: usize = 1000;

/// What is worked off, and by how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Jobs in the queue before the first is claimed.
    pub jobs: u32,
    /// Workers at a time.
    pub workers: usize,
    /// Jobs that a worker claims at a time.
    pub up_to: usize,
    /// The choices of workers are made from it.
    pub seed: u64,
    /// A run that takes longer is ended, and counted as it is.
    pub limit: Duration,
}

impl Load {
    /// The jobs, the first one first.
    pub fn bodies(&self) -> Vec<Body> {
        (0..self.jobs).map(|job| body::write(Content { number: job.into(), due_ns: 0 })).collect()
    }
}

/// What one run found.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Measured {
    /// From the first claim to the last delete, in seconds.
    pub seconds: f64,
    /// Jobs that were deleted in that time.
    pub gone: u64,
    /// Who was executed when.
    pub audit: Audit,
    /// What the workers counted.
    pub counts: Counts,
    /// What the database counted.
    pub counted: Counted,
}

impl Measured {
    /// Jobs per second.
    pub fn rate(&self) -> f64 {
        self.gone as f64 / self.seconds
    }

    /// Whether every job was executed, and deleted in time.
    pub fn complete(&self) -> bool {
        self.gone >= self.audit.jobs && self.audit.missing == 0
    }
}

/// What the workers of one run share.
struct Shared {
    load: Load,
    order: Order,
    tally: Arc<Tally>,
    begin: Barrier,
    /// When the last job was deleted.
    end: std::sync::OnceLock<Instant>,
    stop: AtomicBool,
}

/// Tells blocked workers to stop when the run is dropped.
struct StopOnDrop(Arc<Shared>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }
}

/// Fills the queue and works it off.
///
/// # Errors
/// When the queue fails.
pub async fn run<J: Jobs>(jobs: J, load: Load) -> Result<Measured> {
    for bodies in load.bodies().chunks(FILL) {
        jobs.fill(bodies).await.context("filling the queue")?;
    }
    jobs.filled().await.context("after filling the queue")?;
    let shared = Arc::new(Shared {
        load,
        order: Order::new(load.jobs),
        tally: Arc::default(),
        begin: Barrier::new(load.workers + 1),
        end: std::sync::OnceLock::new(),
        stop: AtomicBool::new(false),
    });
    let stop = StopOnDrop(Arc::clone(&shared));
    let mut ready = Vec::with_capacity(load.workers);
    for number in 0..load.workers {
        let seed = load.seed.wrapping_add(number as u64);
        ready.push(jobs.worker(seed, &shared.tally).await.context("starting a worker")?);
    }
    let mut workers = JoinSet::new();
    for worker in ready {
        let work = work(worker, Arc::clone(&shared));
        if J::BLOCKS {
            let runtime = Handle::current();
            workers.spawn_blocking(move || runtime.block_on(work));
        } else {
            workers.spawn(work);
        }
    }
    shared.begin.wait().await;
    let begun = Instant::now();
    while let Some(ended) = workers.join_next().await {
        ended.context("a worker panicked")??;
    }
    let end = shared.end.get().copied().unwrap_or_else(Instant::now);
    drop(stop);
    let counted = jobs.counted().await.context("reading the counters of the database")?;
    jobs.end().await?;
    Ok(Measured {
        seconds: end.duration_since(begun).as_secs_f64(),
        gone: shared.tally.gone.load(Ordering::Relaxed),
        audit: shared.order.audit()?,
        counts: shared.tally.counts(),
        counted,
    })
}

/// One worker: claim, execute, delete, until all jobs are gone.
async fn work<W: Worker>(mut worker: W, shared: Arc<Shared>) -> Result<()> {
    shared.begin.wait().await;
    let begun = Instant::now();
    let (load, jobs) = (shared.load, u64::from(shared.load.jobs));
    while !shared.stop.load(Ordering::Relaxed) && begun.elapsed() < load.limit {
        let mut run = |body: &[u8]| shared.order.executed(body);
        let claimed = worker.claim(load.up_to, &mut run).await.context("claiming a job")?;
        if claimed > 0 {
            worker.finish().await.context("deleting a job")?;
        }
        if shared.tally.gone.load(Ordering::Relaxed) >= jobs {
            shared.end.get_or_init(Instant::now);
            return Ok(());
        }
        if claimed == 0 {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::method::{Method, Pessimistic};
    use super::super::tables::sqlite::Sqlite;
    use super::*;
    use crate::cases::jobs::driven::Driven;
    use crate::targets::{Kind, Store, Target};
    use crate::workloads::{Settings, Work};

    const LOAD: Load =
        Load { jobs: 60, workers: 3, up_to: 1, seed: 7, limit: Duration::from_secs(60) };

    #[tokio::test(flavor = "multi_thread")]
    async fn every_method_executes_and_deletes_every_job_once() {
        let pessimistic = Pessimistic::FIVE_TRIES;
        let methods = [
            Method::Pessimistic(pessimistic),
            Method::Pessimistic(Pessimistic { fetch: true, tries: 1, ..pessimistic }),
            Method::Pessimistic(Pessimistic { mark: true, tries: 1, ..pessimistic }),
            Method::Pessimistic(Pessimistic { index: false, ..pessimistic }),
            Method::Optimistic { window: 1 },
            Method::Optimistic { window: 3 },
        ];
        for method in methods {
            let folder = tempfile::tempdir().unwrap();
            let found = run(Sqlite::new(folder.path(), method).unwrap(), LOAD).await.unwrap();
            assert!(found.complete(), "{method:?}: {found:?}");
            assert_eq!((found.audit.executions, found.audit.repeated), (60, 0), "{method:?}");
            assert_eq!((found.gone, found.counts.claims), (60, 60), "{method:?}");
            assert!(found.counts.rounds >= 60 && found.rate() > 0.0, "{method:?}: {found:?}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn ours_works_off_one_at_a_time_and_in_batches() {
        for up_to in [1, 7] {
            let folder = tempfile::tempdir().unwrap();
            let settings = Settings::new(Work::Backlog, Kind::Store);
            let store = Store::start(&settings, folder.path()).await.unwrap();
            let jobs = Driven::new(store).await.unwrap();
            let found = run(jobs, Load { up_to, ..LOAD }).await.unwrap();
            assert!(found.complete(), "{found:?}");
            assert_eq!((found.audit.executions, found.audit.repeated), (60, 0));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_run_that_takes_too_long_tells_what_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let jobs = Sqlite::new(folder.path(), Method::Optimistic { window: 1 }).unwrap();
        let found = run(jobs, Load { limit: Duration::ZERO, ..LOAD }).await.unwrap();
        assert!(!found.complete());
        assert_eq!((found.gone, found.audit.missing), (0, 60));
    }
}
