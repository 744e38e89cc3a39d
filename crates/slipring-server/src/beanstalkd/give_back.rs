//! What a connection holds when it ends is given back: reservations belong to the connection.
//!
//! Where the store fails it is asked again, until it has the jobs back or they have run out.

use std::time::Duration;

use slipring::lifecycle::Settlement;
use slipring::{Error, Queue, Retry};
use tokio_util::sync::CancellationToken;

use super::failure::is_no_such_job;
use super::reservations::Reservation;
use super::server::Shared;
use super::settles::{ByQueue, group};

/// Most reservations that are given back in one call.
const GIVE_BACK_MAX: usize = 500;

/// A store that failed is asked again so much later.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Gives jobs back; answers those to try again, as the store failed.
pub(super) async fn give_back(shared: &Shared, held: Vec<Reservation>) -> Vec<Reservation> {
    let mut by_queue: ByQueue<Reservation> = Vec::new();
    for job in held {
        group(&mut by_queue, job.receipt.queue, job);
    }
    let mut left = Vec::new();
    for (id, jobs) in by_queue {
        let Some(queue) = shared.engine.queue_by_id(id) else { continue };
        // One call after another: those of other connections come in between.
        for portion in jobs.chunks(GIVE_BACK_MAX) {
            left.extend(give_back_portion(shared, &queue, portion).await);
        }
    }
    left
}

/// Tries again with what is left, until nothing is or the server stops: then the reservations end
/// with it.
pub(super) async fn give_back_rest(
    shared: &Shared,
    mut left: Vec<Reservation>,
    stop: &CancellationToken,
) {
    let clock = shared.engine.clock();
    loop {
        let now = clock.now();
        left.retain(|job| now < job.deadline);
        if left.is_empty() {
            return;
        }
        tokio::select! {
            () = clock.sleep_until(now.after(AGAIN_AFTER)) => {}
            () = stop.cancelled() => return,
        }
        left = give_back(shared, left).await;
    }
}

async fn give_back_portion(
    shared: &Shared,
    queue: &Queue,
    jobs: &[Reservation],
) -> Vec<Reservation> {
    let back = Settlement::Nack { delay: Some(Duration::ZERO), priority: None, reason: None };
    let entries = jobs.iter().map(|job| (job.receipt, back.clone())).collect();
    let settled = queue.settle(entries).await;
    let settled = settled.unwrap_or_else(|error| vec![Err(error); jobs.len()]);
    let mut errors = settled.iter().filter_map(|settled| settled.as_ref().err());
    if let Some(error) = errors.find(|error| !is_no_such_job(error)) {
        shared.failures.note(error, shared.now());
    }
    let may_come_back = |error: &Error| error.retry() != Retry::Never;
    let answered = jobs.iter().zip(settled);
    let left = answered.filter(|(_, settled)| settled.as_ref().is_err_and(may_come_back));
    left.map(|(job, _)| job.clone()).collect()
}
