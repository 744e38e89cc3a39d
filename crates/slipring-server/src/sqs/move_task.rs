//! One move task: messages of a dead-letter queue go to another queue, or each back to where it
//! came from, step by step.

use std::time::Duration;

use parking_lot::Mutex;
use slipring::{Engine, Error, MoveRequest, Queue, QueueId, Timestamp};
use slipring_wire::sqs::MoveTask;
use tokio_util::sync::CancellationToken;

/// Messages of one step when no rate is asked for.
const STEP: u32 = 1_000;

/// With a rate, this is how often a step is made.
const STEPS_PER_SECOND: u32 = 5;

/// What a task was started with.
#[derive(Debug, Clone)]
pub(super) struct Order {
    pub(super) source: QueueId,
    pub(super) source_arn: String,
    pub(super) target: Option<(QueueId, String)>,
    /// Messages per second.
    pub(super) rate: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Running,
    Completed,
    Cancelling,
    Cancelled,
    Failed,
}

#[derive(Debug)]
struct Progress {
    status: Status,
    moved: u64,
    failure: Option<String>,
}

/// A task, running or over.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) handle: String,
    order: Order,
    to_move: u64,
    started: Timestamp,
    progress: Mutex<Progress>,
    cancel: CancellationToken,
}

impl Task {
    pub(super) fn new(
        handle: String,
        order: Order,
        to_move: u64,
        started: Timestamp,
        cancel: CancellationToken,
    ) -> Task {
        let progress = Progress { status: Status::Running, moved: 0, failure: None };
        Task { handle, order, to_move, started, progress: Mutex::new(progress), cancel }
    }

    /// Whether another task has to wait for this one.
    pub(super) fn is_active(&self) -> bool {
        matches!(self.progress.lock().status, Status::Running | Status::Cancelling)
    }

    /// The queue that messages are taken from.
    pub(super) fn source(&self) -> QueueId {
        self.order.source
    }

    /// How many messages it has moved, and whether it is completed.
    pub(super) fn ended(&self) -> (u64, bool) {
        let progress = self.progress.lock();
        (progress.moved, progress.status == Status::Completed)
    }

    /// Asks a running task to end; answers how many it had moved, or `None` if it is over.
    pub(super) fn cancel(&self) -> Option<u64> {
        let mut progress = self.progress.lock();
        if progress.status != Status::Running {
            return None;
        }
        progress.status = Status::Cancelling;
        self.cancel.cancel();
        Some(progress.moved)
    }

    /// The task as clients see it.
    pub(super) fn described(&self) -> MoveTask {
        let progress = self.progress.lock();
        let status = match progress.status {
            Status::Running => "RUNNING",
            Status::Completed => "COMPLETED",
            Status::Cancelling => "CANCELLING",
            Status::Cancelled => "CANCELLED",
            Status::Failed => "FAILED",
        };
        MoveTask {
            task_handle: (progress.status == Status::Running).then(|| self.handle.clone()),
            status: status.to_string(),
            source_arn: self.order.source_arn.clone(),
            destination_arn: self.order.target.as_ref().map(|(_, arn)| arn.clone()),
            max_number_of_messages_per_second: self.order.rate.map(i64::from),
            approximate_number_of_messages_moved: progress.moved,
            approximate_number_of_messages_to_move: self.to_move,
            failure_reason: progress.failure.clone(),
            started_timestamp: self.started.as_millis(),
        }
    }

    /// Moves until as many are moved as there were at the start, none is left, or the task is
    /// cancelled.
    pub(super) async fn run(&self, engine: Engine) {
        let clock = engine.clock().clone();
        let pause = Duration::from_secs(1) / STEPS_PER_SECOND;
        let mut made = 0;
        while !self.cancel.is_cancelled() {
            let left = self.to_move.saturating_sub(self.progress.lock().moved);
            let step = self.order.rate.map_or(STEP, |rate| share(rate, made));
            let limit = step.min(u32::try_from(left).unwrap_or(u32::MAX));
            if left == 0 {
                return self.finish(Status::Completed, None);
            }
            if limit > 0 {
                let target = self.order.target.as_ref().map(|(id, _)| *id);
                let request = MoveRequest { source: self.order.source, target, limit };
                match engine.move_messages(request).await {
                    Ok(0) => return self.ran_dry(&engine).await,
                    Ok(moved) => self.progress.lock().moved += moved,
                    Err(error) => {
                        return self.finish(Status::Failed, Some(error.message().to_string()));
                    }
                }
            }
            made += 1;
            if self.order.rate.is_some() {
                tokio::select! {
                    () = clock.sleep_until(clock.now().after(pause)) => {}
                    () = self.cancel.cancelled() => {}
                }
            }
        }
        self.finish(Status::Cancelled, None);
    }

    /// Nothing could be moved any more: others took the rest, or nobody knows where it came from.
    async fn ran_dry(&self, engine: &Engine) {
        let left = match engine.queue_by_id(self.order.source) {
            Some(source) if self.order.target.is_none() => left_in(&source).await,
            _ => Ok(0),
        };
        match left {
            Ok(0) => self.finish(Status::Completed, None),
            Ok(_) => {
                let reason = "CouldNotDetermineMessageSource".to_string();
                self.finish(Status::Failed, Some(reason));
            }
            Err(error) => self.finish(Status::Failed, Some(error.message().to_string())),
        }
    }

    fn finish(&self, status: Status, failure: Option<String>) {
        let mut progress = self.progress.lock();
        progress.status = status;
        progress.failure = failure;
    }
}

/// Messages that a move takes: those ready and those parked.
///
/// # Errors
/// Those of [`Queue::stats`].
pub(super) async fn left_in(source: &Queue) -> Result<u64, Error> {
    source.stats().await.map(|stats| stats.ready + stats.parked)
}

/// How many of `rate` messages per second the step number `made` moves, so that the steps of a
/// second make the rate exactly.
fn share(rate: u32, made: u32) -> u32 {
    let step = made % STEPS_PER_SECOND;
    rate * (step + 1) / STEPS_PER_SECOND - rate * step / STEPS_PER_SECOND
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_of_a_second_make_the_rate() {
        for rate in 1..=500 {
            assert_eq!((0..STEPS_PER_SECOND).map(|made| share(rate, made)).sum::<u32>(), rate);
        }
    }
}
