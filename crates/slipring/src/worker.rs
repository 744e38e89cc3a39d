//! The worker loop for in-process users: receive, run, renew the lease, settle, stop cleanly.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock::{Clock, Timestamp};
use crate::engine::{Queue, ReceiveRequest};
use crate::error::{Error, ErrorKind};
use crate::failures::Reason;
use crate::lifecycle::Settlement;
use crate::message::{Delivery, Message};

/// How a handler's work ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Done: ack.
    Done,
    /// Failed: again later, by the queue's backoff.
    Retry,
    /// Failed: again after this time, at most [`crate::Limits::duration_max`].
    RetryAfter(Duration),
    /// Will never succeed: to the dead-letter queue, or parked.
    GiveUp,
    /// As [`Outcome::Retry`], and why, which is kept with the message (S6.8).
    RetryBecause(Reason),
    /// As [`Outcome::GiveUp`], and why, which is kept with the message (S6.8).
    GiveUpBecause(Reason),
}

/// How a worker works.
#[derive(Debug, Clone, Copy)]
pub struct WorkerOptions {
    /// Messages worked on at a time, at least 1. One receive takes at most
    /// [`crate::Limits::receive_messages_max`] of them. Default 16.
    pub concurrency: u32,
    /// The lease it asks for, at most [`crate::Limits::duration_max`]; renewed when a third of it
    /// has passed. Default 30 s.
    pub lease: Duration,
    /// How long a stopping worker waits for running handlers before it hands their messages back.
    /// Default 10 s.
    pub grace: Duration,
}

impl Default for WorkerOptions {
    fn default() -> WorkerOptions {
        WorkerOptions {
            concurrency: 16,
            lease: Duration::from_secs(30),
            grace: Duration::from_secs(10),
        }
    }
}

/// A worker on one queue.
#[derive(Clone)]
pub struct Worker {
    queue: Queue,
    clock: Arc<dyn Clock>,
    options: WorkerOptions,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker")
            .field("queue", &self.queue)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// The worker looks again so often when it is not woken; it is woken at once when a message
/// arrives.
const WAIT: Duration = Duration::from_secs(20);
/// After a failed receive it tries again so much later.
const RETRY_AFTER: Duration = Duration::from_secs(1);

impl Worker {
    /// A worker on `queue`.
    pub fn new(queue: Queue, mut options: WorkerOptions) -> Worker {
        let clock = queue.clock();
        options.lease = options.lease.min(queue.limits().duration_max);
        Worker { queue, clock, options }
    }

    /// Runs `handler` for every message until `stop`. Then no more messages are taken, running
    /// handlers get the grace time, and what is unfinished after it is handed back, its attempt
    /// not counted. A handler that blocks its thread is waited for until it ends or comes to an
    /// `await`: until then no other receive gets its message. The worker ends in the same way by
    /// itself, and says so in the log, when the queue is deleted or the engine closes.
    ///
    /// A handler that panics counts as failed, for the reason that the panic gives. Its lease is
    /// renewed as long as it runs; when the lease is lost all the same (the process stood still for
    /// too long), the handler's future is dropped.
    pub async fn run<H, F>(&self, handler: H, stop: CancellationToken)
    where
        H: Fn(Message) -> F + Send + Sync + 'static,
        F: Future<Output = Outcome> + Send + 'static,
    {
        let handler = Arc::new(handler);
        let places = Arc::new(Semaphore::new(self.options.concurrency.max(1) as usize));
        let tasks = TaskTracker::new();
        let give_up = CancellationToken::new();
        while let Some((deliveries, mut permits)) = self.next(&places, &stop).await {
            for delivery in deliveries {
                let Some(place) = permits.split(1) else { break };
                let (worker, handler) = (self.clone(), Arc::clone(&handler));
                let (message, give_up) = (delivery.message.clone(), give_up.clone());
                // Called inside, so that a handler that panics at once counts as failed too.
                let work = async move { handler(message).await };
                tasks.spawn(async move {
                    worker.work(delivery, work, give_up).await;
                    drop(place);
                });
            }
        }
        tasks.close();
        let patience = self.clock.sleep_until(self.clock.now().after(self.options.grace));
        tokio::select! {
            () = tasks.wait() => return,
            () = patience => give_up.cancel(),
        }
        tasks.wait().await;
    }

    /// Messages for as many free places as there are; `None` when it is time to stop.
    async fn next(
        &self,
        places: &Arc<Semaphore>,
        stop: &CancellationToken,
    ) -> Option<(Vec<Delivery>, OwnedSemaphorePermit)> {
        loop {
            let mut permits = tokio::select! {
                permit = Arc::clone(places).acquire_owned() => permit.ok()?,
                () = stop.cancelled() => return None,
            };
            let more = places.available_permits().min(self.options.concurrency as usize);
            if let Ok(others) = Arc::clone(places).try_acquire_many_owned(more as u32) {
                permits.merge(others);
            }
            let limits = self.queue.limits();
            let up_to = (permits.num_permits() as u32).min(limits.receive_messages_max);
            let request = ReceiveRequest::up_to(up_to)
                .wait(WAIT.min(limits.wait_max))
                .lease(self.options.lease);
            let received = tokio::select! {
                received = self.queue.receive(request) => received,
                () = stop.cancelled() => return None,
            };
            match received {
                Ok(deliveries) if deliveries.is_empty() => {}
                Ok(deliveries) => return Some((deliveries, permits)),
                Err(error)
                    if matches!(error.kind(), ErrorKind::Closed | ErrorKind::QueueNotFound) =>
                {
                    tracing::warn!(%error, "worker ends");
                    return None;
                }
                Err(error) => {
                    tracing::warn!(%error, "worker could not receive and tries again");
                    drop(permits);
                    tokio::select! {
                        () = self.clock.sleep_until(self.clock.now().after(RETRY_AFTER)) => {}
                        () = stop.cancelled() => return None,
                    }
                }
            }
        }
    }

    /// Runs one message's work with renewals, and settles it.
    async fn work<F>(self, delivery: Delivery, work: F, give_up: CancellationToken)
    where
        F: Future<Output = Outcome> + Send + 'static,
    {
        let mut running = AbortOnDrop(tokio::spawn(work));
        let mut deadline = delivery.deadline;
        let mut given_up = false;
        let mut renew_from = Timestamp::from_millis(0);
        let ended = loop {
            let renew_at = self.renewal(deadline).max(renew_from);
            tokio::select! {
                biased;
                // First: a handler that has ended counts as ended, also after the grace time.
                ended = &mut running.0 => break ended,
                () = self.clock.sleep_until(renew_at) => match self.renew(&delivery).await {
                    Ok(later) => deadline = later,
                    Err(error) if error.kind() == ErrorKind::LeaseLost
                        || error.kind() == ErrorKind::MessageGone =>
                    {
                        tracing::warn!(%error, message = %delivery.message.id, "lease lost");
                        return;
                    }
                    Err(error) if error.kind() == ErrorKind::Closed => {
                        renew_from = Timestamp::MAX;
                    }
                    // The deadline stands; the next renewal comes sooner, until it has passed.
                    Err(error) => {
                        let now = self.clock.now();
                        if now >= deadline {
                            renew_from = now.after(RETRY_AFTER);
                        }
                        tracing::warn!(%error, "lease not renewed, trying again");
                    }
                },
                // It is dropped between two steps of it, and holds its message until then.
                () = give_up.cancelled(), if !given_up => {
                    given_up = true;
                    running.0.abort();
                }
            }
        };
        let how = ended.map_or_else(ended_early, |outcome| self.settlement(outcome));
        self.settle(&delivery, how).await;
    }

    /// When to renew: after a third of what is left, at least 10 ms from now.
    fn renewal(&self, deadline: Timestamp) -> Timestamp {
        let now = self.clock.now();
        now.after((now.until(deadline) / 3).max(Duration::from_millis(10)))
    }

    async fn renew(&self, delivery: &Delivery) -> Result<Timestamp, Error> {
        let entries = vec![(delivery.receipt, Some(self.options.lease))];
        match self.queue.extend(entries).await?.into_iter().next() {
            Some(answer) => answer,
            None => Err(Error::new(ErrorKind::Internal, "the renewal was not answered")),
        }
    }

    /// What an outcome does to the message.
    fn settlement(&self, outcome: Outcome) -> Settlement {
        match outcome {
            Outcome::Done => Settlement::Ack,
            Outcome::Retry => Settlement::NACK,
            Outcome::RetryBecause(reason) => {
                Settlement::Nack { delay: None, priority: None, reason: Some(reason) }
            }
            Outcome::RetryAfter(delay) => {
                let delay = delay.min(self.queue.limits().duration_max);
                Settlement::Nack { delay: Some(delay), priority: None, reason: None }
            }
            Outcome::GiveUp => Settlement::DeadLetter { reason: None },
            Outcome::GiveUpBecause(reason) => Settlement::DeadLetter { reason: Some(reason) },
        }
    }

    async fn settle(&self, delivery: &Delivery, how: Settlement) {
        let answers = self.queue.settle(vec![(delivery.receipt, how)]).await;
        let failed = match answers {
            Ok(answers) => answers.into_iter().find_map(Result::err),
            Err(error) => Some(error),
        };
        if let Some(error) = failed {
            // The message comes again when its lease lapses: at least once (S2).
            tracing::warn!(%error, message = %delivery.message.id, "could not settle");
        }
    }
}

/// What is done to the message of a handler that did not come to its end: one that was dropped
/// hands it back, one that panicked has failed.
fn ended_early(error: JoinError) -> Settlement {
    if !error.is_panic() {
        return Settlement::HandBack;
    }
    let panic = error.into_panic();
    let said = panic.downcast_ref::<&str>().copied();
    let said = said.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let reason = Reason::new(&format!("the handler panicked: {}", said.unwrap_or("?")));
    Settlement::Nack { delay: None, priority: None, reason: Some(reason) }
}

struct AbortOnDrop(tokio::task::JoinHandle<Outcome>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
