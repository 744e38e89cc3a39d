//! The workers: feeders claim as many jobs as there is room for, each job is worked on by a handler
//! of its own while there is one free, and settlers settle all that has ended meanwhile.
//!
//! As many jobs are claimed ahead as the handlers begin in a short time, so that a handler does not
//! wait for a trip to the database.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::task::TaskTracker;

use super::bench::{AGAIN_AFTER, Bench};
use super::environment::FailMode;
use super::system::{Claimed, Feeder, Finished, Outcome, SETTLERS, System, Verdict};
use super::telemetry::wall_us;
use super::work::Work;

/// So much work is claimed ahead, in milliseconds.
const AHEAD_MS: u128 = 20;
/// Most jobs that are claimed ahead, unless there are more handlers.
const AHEAD_MAX: usize = 256;
/// Most jobs of one settlement.
const SETTLE_MAX: usize = 1000;
/// Most jobs of one receive.
const RECEIVE_MAX: usize = 10_000;

/// The handlers, and what they share.
struct Crew<R> {
    bench: Arc<Bench>,
    /// Handlers that are free.
    handlers: Arc<Semaphore>,
    /// What they do.
    work: Work,
    finished: mpsc::Sender<Finished<R>>,
}

/// Works until the run is over, and then until what was begun is settled.
pub async fn run<S: System>(system: Arc<S>, bench: Arc<Bench>) {
    let workers = bench.environment.workers;
    let work = match Work::of(bench.environment.work) {
        Ok(work) => work,
        Err(error) => return bench.log.note(&format!("no handler runs: {error:#}")),
    };
    let (finished, ended) = mpsc::channel(2 * workers + SETTLE_MAX);
    let crew = Arc::new(Crew {
        bench: Arc::clone(&bench),
        handlers: Arc::new(Semaphore::new(workers)),
        work,
        finished,
    });
    let (ended, tasks) = (Arc::new(Mutex::new(ended)), TaskTracker::new());
    let feeders = system.feeders();
    // Each has room of its own: one that waits does not hold up the others.
    let room = workers + ahead(workers, bench.environment.work);
    let room = room.div_ceil(feeders.len().max(1));
    for feeder in feeders {
        tasks.spawn(feed(feeder, Arc::new(Semaphore::new(room)), Arc::clone(&crew)));
    }
    // Settlers end when no job is left that could end.
    drop(crew);
    for settler in 0..SETTLERS {
        let (system, bench) = (Arc::clone(&system), Arc::clone(&bench));
        tasks.spawn(settle_all(settler, system, Arc::clone(&ended), bench));
    }
    tasks.close();
    tasks.wait().await;
}

/// How many jobs are claimed beyond those that are worked on.
fn ahead(workers: usize, work: Duration) -> usize {
    let begun = workers as u128 * AHEAD_MS / work.as_millis().max(1);
    usize::try_from(begun).unwrap_or(usize::MAX).clamp(1, workers.max(AHEAD_MAX))
}

/// Claims jobs while there is room, and gives each to a handler.
async fn feed<F: Feeder>(mut feeder: F, room: Arc<Semaphore>, crew: Arc<Crew<F::Receipt>>)
where
    F::Receipt: Clone + Send + Sync + 'static,
{
    let bench = Arc::clone(&crew.bench);
    while let Some(mut places) = places(&room, &bench).await {
        let up_to = u32::try_from(places.num_permits()).unwrap_or(u32::MAX);
        let received = tokio::select! {
            received = feeder.receive(up_to) => received,
            () = bench.stop.cancelled() => return,
        };
        let pause = match received {
            Ok(jobs) if jobs.is_empty() => feeder.pause(),
            Ok(jobs) => {
                for job in jobs {
                    let Some(place) = places.split(1) else { break };
                    tokio::spawn(handle(Arc::clone(&crew), job, place));
                }
                continue;
            }
            Err(error) => {
                bench.log.failed("a receive", &error);
                AGAIN_AFTER
            }
        };
        drop(places);
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = bench.stop.cancelled() => return,
        }
    }
}

/// As much room as there is, at least for one; nothing when the run is over.
async fn places(room: &Arc<Semaphore>, bench: &Bench) -> Option<OwnedSemaphorePermit> {
    let mut places = tokio::select! {
        biased;
        () = bench.stop.cancelled() => return None,
        place = Arc::clone(room).acquire_owned() => place.ok()?,
    };
    let more = room.available_permits().min(RECEIVE_MAX - 1);
    let more = Arc::clone(room).try_acquire_many_owned(u32::try_from(more).ok()?);
    if let Ok(more) = more {
        places.merge(more);
    }
    Some(places)
}

/// Works on one job when a handler is free, and gives it to the settlers.
async fn handle<R: Clone>(crew: Arc<Crew<R>>, claimed: Claimed<R>, place: OwnedSemaphorePermit) {
    let handler = tokio::select! {
        biased;
        () = crew.bench.stop.cancelled() => None,
        handler = Arc::clone(&crew.handlers).acquire_owned() => handler.ok(),
    };
    let outcome = match handler {
        None => Outcome::HandBack,
        Some(_handler) => handled(&crew, &claimed).await,
    };
    // Nothing receives any more when the run is over.
    let _ = crew.finished.send(Finished { claimed, outcome }).await;
    drop(place);
}

/// What a handler does with a job.
async fn handled<R>(crew: &Crew<R>, claimed: &Claimed<R>) -> Outcome {
    let bench = &crew.bench;
    let Some(job) = claimed.job else {
        bench.log.happened("a message that is no job was set aside");
        return Outcome::GiveUp;
    };
    let environment = &bench.environment;
    let always = environment.fail_mode == FailMode::Always;
    // The time of a job that failed before is that of its backoff.
    let counts = !job.fails_first || claimed.attempts == 1;
    bench.tally.started(counts.then(|| wall_us().saturating_sub(job.inserted_us)));
    if always || (job.fails_first && claimed.attempts == 1) {
        bench.tally.failed();
        return if always { Outcome::GiveUp } else { Outcome::Retry };
    }
    crew.work.done().await;
    Outcome::Done
}

/// Settles what has ended, all that waits at a time, until nothing can end any more.
async fn settle_all<S: System>(
    settler: usize,
    system: Arc<S>,
    ended: Arc<Mutex<mpsc::Receiver<Finished<S::Receipt>>>>,
    bench: Arc<Bench>,
) {
    loop {
        let mut waiting = Vec::new();
        if ended.lock().await.recv_many(&mut waiting, SETTLE_MAX).await == 0 {
            return;
        }
        // Before the ack: a job that is acked and not in the ledger would count as lost.
        let done = waiting.iter().filter(|finished| finished.outcome == Outcome::Done);
        let numbers = done.filter_map(|finished| Some(finished.claimed.job?.number));
        bench.ledger.done(numbers, &bench.log);
        let mut tried = false;
        loop {
            match system.settle(settler, &waiting).await {
                Ok(verdicts) => waiting = left(&bench, waiting, &verdicts, tried),
                Err(error) => bench.log.failed("a settlement", &error),
            }
            if waiting.is_empty() {
                break;
            }
            tried = true;
            tokio::time::sleep(AGAIN_AFTER).await;
        }
    }
}

/// Counts what is settled; answers what is not.
fn left<R>(
    bench: &Bench,
    finished: Vec<Finished<R>>,
    verdicts: &[Verdict],
    tried: bool,
) -> Vec<Finished<R>> {
    let mut left = Vec::new();
    for (finished, verdict) in finished.into_iter().zip(verdicts) {
        // What is gone was acked by the try whose answer was lost, if there was one.
        let settled = match verdict {
            Verdict::Settled => true,
            Verdict::Gone => tried,
            Verdict::Lost => false,
            Verdict::Again => {
                left.push(finished);
                continue;
            }
        };
        let Some(job) = finished.claimed.job else { continue };
        if settled && finished.outcome == Outcome::Done {
            let lasted_us = wall_us().saturating_sub(job.inserted_us);
            bench.tally.completed(finished.claimed.priority, lasted_us);
        }
        if !settled {
            bench.log.happened("a lease was over before its job was settled");
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_much_is_claimed_ahead_as_is_begun_soon() {
        let ahead = |workers, ms| ahead(workers, Duration::from_millis(ms));
        assert_eq!((ahead(4, 1), ahead(4, 0), ahead(4, 10)), (80, 80, 8));
        assert_eq!((ahead(64, 1), ahead(1000, 1)), (256, 1000));
        // Long work is not kept from other replicas.
        assert_eq!((ahead(4, 1000), ahead(100, 1000)), (1, 2));
    }
}
