//! What works on jobs: awa's own client, with the work of the lab's adapter.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use awa::{Client, JobError, JobResult, QueueConfig};

use super::bench::Bench;
use super::environment::{FailMode, LEASE_LONGEST};
use super::job::Job;
use super::queue::{BenchJob, Queue};
use super::telemetry::wall_us;
use super::work::Work;

/// Between two looks of a queue that nothing has woken.
const POLL: Duration = Duration::from_millis(50);
/// Between two snapshots for an administrator, which are none of the queue's work.
const SNAPSHOTS: Duration = Duration::from_secs(300);

/// A client with the handler of the benchmark on all queues; it is not started yet.
pub fn client(queue: &Queue, bench: &Arc<Bench>) -> Result<Client> {
    let environment = &bench.environment;
    let endless = environment.lease == LEASE_LONGEST;
    let workers = (environment.workers / queue.names.len().max(1)).max(1);
    let config = QueueConfig {
        max_workers: u32::try_from(workers)?,
        poll_interval: POLL,
        deadline_duration: if endless { Duration::ZERO } else { environment.lease },
        ..QueueConfig::default()
    };
    let mut builder = Client::builder(queue.pool.clone());
    for name in &queue.names {
        builder = builder.queue(name, config.clone());
    }
    let work = Arc::new(Work::of(environment.work)?);
    let bench = Arc::clone(bench);
    let client = builder
        .queue_stats_interval(SNAPSHOTS)
        .runtime_snapshot_interval(SNAPSHOTS)
        .dlq_enabled_by_default(environment.dead_letters)
        .register::<BenchJob, _, _>(move |job: BenchJob, context| {
            let attempt = Attempt { number: context.job.attempt, priority: context.job.priority };
            handle(Arc::clone(&bench), Arc::clone(&work), job, attempt)
        })
        .build()?;
    Ok(client)
}

/// What a job's row says of an attempt.
struct Attempt {
    /// Counted from 1.
    number: i16,
    priority: i16,
}

/// As the handlers of the lab's adapter, but a job counts as completed when this returns: awa acks
/// it after that, together with others.
async fn handle(
    bench: Arc<Bench>,
    work: Arc<Work>,
    job: BenchJob,
    attempt: Attempt,
) -> Result<JobResult, JobError> {
    let Some(job) = Job::of(job.body.as_bytes()) else {
        bench.log.happened("a message that is no job was set aside");
        return Err(JobError::terminal("no job of this benchmark"));
    };
    let first = attempt.number <= 1;
    let counts = !job.fails_first || first;
    bench.tally.started(counts.then(|| wall_us().saturating_sub(job.inserted_us)));
    if bench.environment.fail_mode == FailMode::Always {
        bench.tally.failed();
        return Err(JobError::terminal("it fails for good, as it should"));
    }
    if job.fails_first && first {
        bench.tally.failed();
        return Err(JobError::retryable_msg("its first attempt fails, as it should"));
    }
    work.done().await;
    bench.ledger.done([job.number].into_iter(), &bench.log);
    let lasted_us = wall_us().saturating_sub(job.inserted_us);
    bench.tally.completed(u32::try_from(attempt.priority).unwrap_or(0), lasted_us);
    Ok(JobResult::Completed)
}
