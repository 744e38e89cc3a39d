//! The producer: inserts the jobs that are due, into the queues in turn. What is not inserted is
//! tried again, so that the offered load stays what it is while the database is away.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::future::join_all;

use super::bench::{AGAIN_AFTER, Bench};
use super::job::Job;
use super::pace::{Credit, Orders, Rate, missing};
use super::system::Intake;
use super::tally::Counts;
use super::telemetry::wall_us;

/// So many full batches are inserted side by side when more is due.
pub const SIDE_BY_SIDE: u64 = 4;
/// Between two looks at the depth while enough is there, and the longest that one look is good for.
const LOOK_EVERY: Duration = Duration::from_millis(50);
const LOOK_LASTS: Duration = Duration::from_millis(500);
/// A look takes no longer, or has failed.
const LOOK_MAX: Duration = Duration::from_secs(2);

/// What makes jobs due.
pub enum Pace {
    /// The harness.
    Harness(Arc<Orders>),
    /// The time, since this moment.
    Own(Credit, Instant),
    /// The depth, as it was last seen.
    Depth(u64, Option<Seen>),
}

/// A look at the depth.
pub struct Seen {
    ready: u64,
    at: Instant,
    counts: Counts,
}

/// Jobs of one queue, and their numbers.
#[derive(Clone, Default)]
struct Batch {
    numbers: Vec<u64>,
    jobs: Vec<(u32, Bytes)>,
}

/// The producer of one adapter.
pub struct Producer<S> {
    /// Where jobs go.
    pub system: Arc<S>,
    /// What all share.
    pub bench: Arc<Bench>,
    /// What makes jobs due.
    pub pace: Pace,
    /// The rate of now.
    pub rate: Rate,
    /// The number of the next job.
    pub next: u64,
}

impl<S: Intake> Producer<S> {
    /// Inserts until the run is over.
    pub async fn run(mut self) {
        let stop = self.bench.stop.clone();
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = self.produce() => {}
        }
    }

    async fn produce(&mut self) {
        loop {
            let mut due = self.due().await;
            while due > 0 {
                let jobs = due.min(self.jobs_max());
                self.insert(jobs).await;
                due -= jobs;
            }
        }
    }

    /// Most jobs that are inserted side by side.
    fn jobs_max(&self) -> u64 {
        SIDE_BY_SIDE * self.bench.environment.batch_max as u64
    }

    /// Waits until jobs are due; answers how many.
    async fn due(&mut self) -> u64 {
        let rate = self.rate.now();
        let every = self.bench.environment.batch_every;
        match &mut self.pace {
            Pace::Harness(orders) => {
                self.bench.tally.offer(rate);
                // Looks at the rate now and then while no order comes.
                let order = tokio::time::timeout(Duration::from_secs(1), orders.next());
                match order.await {
                    Ok(Some(jobs)) => return jobs,
                    Ok(None) => {
                        self.bench.log.note("stdin has ended; the adapter goes on by its own pace");
                        self.pace = Pace::Own(Credit::default(), Instant::now());
                    }
                    Err(_) => {}
                }
                0
            }
            Pace::Own(credit, since) => {
                self.bench.tally.offer(rate);
                tokio::time::sleep(every).await;
                let elapsed = since.elapsed();
                *since += elapsed;
                credit.earn(rate, elapsed)
            }
            Pace::Depth(target, _) => {
                self.bench.tally.offer(0.0);
                let target = *target;
                self.missing(target).await
            }
        }
    }

    /// How many jobs are missing for a depth, at most so many as are inserted side by side; waits a
    /// moment where none is.
    async fn missing(&mut self, target: u64) -> u64 {
        let most = self.jobs_max();
        let Pace::Depth(_, seen) = &mut self.pace else { return 0 };
        if seen.as_ref().is_none_or(|seen| seen.at.elapsed() > LOOK_LASTS) {
            let counts = self.bench.tally.counts();
            let (at, look) = (Instant::now(), self.system.depths());
            match tokio::time::timeout(LOOK_MAX, look).await {
                Ok(Ok(depths)) => *seen = Some(Seen { ready: depths.ready, at, counts }),
                Ok(Err(error)) => self.bench.log.failed("a look at the depth", &error),
                Err(late) => self.bench.log.failed("a look at the depth", &late),
            }
        }
        let due = seen
            .as_ref()
            .map_or(0, |seen| missing(target, seen.ready, seen.counts, self.bench.tally.counts()));
        if due == 0 {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        due.min(most)
    }

    /// Inserts so many jobs, into all queues and by all batches at the same time.
    async fn insert(&mut self, jobs: u64) {
        let environment = &self.bench.environment;
        let queues = environment.queues as u64;
        let mut by_queue: Vec<Batch> = vec![Batch::default(); environment.queues];
        let inserted_us = wall_us();
        for number in self.next..self.next + jobs {
            let every = environment.fail_first_mod;
            let fails_first = every > 0 && number % every == 0;
            let job = Job { number, inserted_us, fails_first };
            // Each queue gets all priorities, in their order.
            let turn = (number / queues) as usize % environment.priorities.len();
            let priority = environment.priorities.get(turn).copied().unwrap_or_default();
            if let Some(batch) = by_queue.get_mut((number % queues) as usize) {
                batch.numbers.push(number);
                batch.jobs.push((priority, job.body(environment.payload_bytes)));
            }
        }
        self.next += jobs;
        let most = environment.batch_max;
        let batches = by_queue.iter().enumerate().flat_map(|(queue, all)| {
            all.jobs.chunks(most).zip(all.numbers.chunks(most)).map(move |batch| (queue, batch))
        });
        join_all(batches.map(|(queue, (jobs, numbers))| self.send(queue, jobs, numbers))).await;
    }

    /// Sends a batch, again and again until it is there.
    async fn send(&self, queue: usize, jobs: &[(u32, Bytes)], numbers: &[u64]) {
        loop {
            let start = Instant::now();
            match self.system.send(queue, jobs).await {
                Ok(()) => {
                    self.bench.ledger.sent(numbers, &self.bench.log);
                    self.bench.tally.enqueued(jobs.len() as u64, start.elapsed());
                    return;
                }
                Err(error) => self.bench.log.failed("a send", &error),
            }
            tokio::time::sleep(AGAIN_AFTER).await;
        }
    }
}
