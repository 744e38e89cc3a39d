//! The engine's own duties: due delays, lapsed leases, retention.
//!
//! One task sleeps towards the first moment of the [`Agenda`]; the passes of a queue run in a task
//! of their own, a few queues at a time, so that neither a queue with much to do nor a pass that
//! hangs keeps the others waiting. Retention is looked at from time to time, beside them.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock::{Clock, Timestamp};
use crate::error::Error;
use crate::store::{Deadline, Pass, Store};

use super::counts;
use super::isolated::isolated;
use super::registry::Registry;
use super::schedule::{Agenda, Moment, Schedule};

/// Retention and deduplication windows are looked at this often (S14.4 allows a minute), and the
/// deadlines of all queues too, in case one was missed.
const PRUNE_EVERY: Duration = Duration::from_secs(15);
/// After a failure of the store a duty is tried again so much later.
const RETRY_AFTER: Duration = Duration::from_millis(500);
/// So many queues have a pass under way. A store that writes in one place has that many passes
/// before whatever comes next, so the number is small.
const PASSES_MAX: usize = 4;

#[derive(Clone, Copy)]
enum Duty {
    Of(Moment),
    Prune,
}

/// What the upkeep works with. Cheap to clone.
#[derive(Clone)]
pub(super) struct Upkeep {
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) agenda: Arc<Agenda>,
    /// The schedule of all queues together, for a store that passes over all at once.
    pub(super) together: Option<Arc<Schedule>>,
    pub(super) registry: Arc<Registry>,
    pub(super) tasks: TaskTracker,
}

impl Upkeep {
    /// Makes passes over the queues whose moment has come, until `stop`.
    pub(super) async fn run(self, stop: CancellationToken) {
        let room = Arc::new(Semaphore::new(PASSES_MAX));
        loop {
            let permit = tokio::select! {
                permit = Arc::clone(&room).acquire_owned() => permit,
                () = stop.cancelled() => break,
            };
            let changed = self.agenda.changed.notified();
            match self.agenda.take(self.clock.now()) {
                Ok(schedule) => {
                    let upkeep = self.clone();
                    self.tasks.spawn(async move {
                        upkeep.pass_over(&schedule).await;
                        drop(permit);
                    });
                }
                Err(next) => {
                    let sleep = async {
                        match next {
                            Timestamp::MAX => std::future::pending().await,
                            next => self.clock.sleep_until(next).await,
                        }
                    };
                    tokio::select! {
                        () = sleep => {}
                        () = changed => {}
                        () = stop.cancelled() => break,
                    }
                }
            }
        }
        self.agenda.end();
    }

    /// Looks at retention until `stop`.
    pub(super) async fn prune(self, stop: CancellationToken) {
        let mut looks_at = self.clock.now().after(PRUNE_EVERY);
        loop {
            let now = self.clock.now();
            let latest = now.after(PRUNE_EVERY);
            let next = self.pass(Duty::Prune, None, now).await.map_or(latest, |n| n.min(latest));
            if now >= looks_at {
                looks_at = latest;
                if let Err(error) = isolated(self.take_over()).await {
                    tracing::warn!(%error, "the deadlines of the queues could not be looked at");
                }
            }
            tokio::select! {
                () = self.clock.sleep_until(next) => {}
                () = stop.cancelled() => break,
            }
        }
    }

    /// Takes over the deadlines that are in the store: at the start, after others may have set
    /// some, and from time to time. Queues that the engine does not know yet are left out: they
    /// get a pass when they are entered.
    ///
    /// # Errors
    /// Storage errors.
    pub(super) async fn take_over(&self) -> Result<(), Error> {
        if let Some(together) = &self.together {
            let now = self.clock.now();
            together.due_at(now);
            together.expire_at(now);
            return Ok(());
        }
        let mut from = Some(0);
        while let Some(begin) = from {
            let page = self.store.deadlines(begin).await?;
            for Deadline { queue, due, lapse } in page.queues {
                let Some(core) = self.registry.by_id(queue) else { continue };
                due.into_iter().for_each(|at| core.schedule.due_at(at));
                lapse.into_iter().for_each(|at| core.schedule.expire_at(at));
            }
            // A store at fault does not lead round in circles.
            from = page.next.filter(|next| *next > begin);
        }
        Ok(())
    }

    async fn pass_over(&self, schedule: &Arc<Schedule>) {
        let now = self.clock.now();
        schedule.begin();
        for moment in [Moment::Due, Moment::Expire] {
            if schedule.take(moment, now) {
                let next = self.pass(Duty::Of(moment), Some(schedule), now).await;
                schedule.put(moment, next, now);
            }
        }
        schedule.end(now);
    }

    async fn pass(
        &self,
        duty: Duty,
        schedule: Option<&Arc<Schedule>>,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let store = &self.store;
        let queue = schedule.and_then(|schedule| schedule.queue);
        // A store that panics ends this pass and not all of them.
        let passed = isolated(async {
            match (duty, queue) {
                (Duty::Of(Moment::Due), Some(queue)) => store.due_in(queue, now).await,
                (Duty::Of(Moment::Due), None) => store.due(now).await,
                (Duty::Of(Moment::Expire), Some(queue)) => store.expire_in(queue, now).await,
                (Duty::Of(Moment::Expire), None) => store.expire(now).await,
                (Duty::Prune, _) => store.prune(now).await,
            }
        });
        match passed.await {
            Ok(pass) => {
                match (duty, queue) {
                    (Duty::Of(Moment::Expire), Some(of)) => {
                        counts::lapsed(&self.registry, of, &pass);
                    }
                    (Duty::Prune, _) => counts::retired(&self.registry, &pass),
                    _ => {}
                }
                let Pass { ready, next, .. } = pass;
                // Of another queue too: the pass may have sent dead letters there.
                for (queue, count) in ready {
                    if let Some(core) = self.registry.by_id(queue) {
                        core.receives.notify(count);
                    }
                }
                next
            }
            Err(error) => {
                log_failure(duty, &error);
                Some(now.after(RETRY_AFTER))
            }
        }
    }
}

fn log_failure(duty: Duty, error: &Error) {
    let duty = match duty {
        Duty::Of(Moment::Due) => "due delays",
        Duty::Of(Moment::Expire) => "lapsed leases",
        Duty::Prune => "retention",
    };
    tracing::warn!(%error, duty, "upkeep failed and is tried again");
}
