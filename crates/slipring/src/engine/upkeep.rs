//! The engine's own duties: due delays, lapsed leases, retention.
//!
//! One task and one armed sleep per engine for each duty's next moment; nothing runs while
//! nothing is due.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::clock::{Clock, Timestamp};
use crate::error::{Error, ErrorKind};
use crate::store::{Pass, Store};

use super::registry::Registry;

/// Retention and deduplication windows are looked at this often (S14.4 allows a minute).
const PRUNE_EVERY: Duration = Duration::from_secs(15);
/// After a failure of the store a duty is tried again so much later.
const RETRY_AFTER: Duration = Duration::from_millis(500);

/// The next moment of each duty. Moving one earlier wakes the task.
pub(super) struct Schedule {
    due: AtomicU64,
    expire: AtomicU64,
    /// Begins and ends of passes: odd while one is under way.
    passes: AtomicU64,
    changed: Notify,
    /// Rung after each round of passes, and when there will be no more.
    passed: Notify,
    ended: AtomicBool,
}

impl Schedule {
    pub(super) fn new() -> Schedule {
        // Both are looked at once at the start: the store knows what happened while nobody ran.
        Schedule {
            due: AtomicU64::new(0),
            expire: AtomicU64::new(0),
            passes: AtomicU64::new(0),
            changed: Notify::new(),
            passed: Notify::new(),
            ended: AtomicBool::new(false),
        }
    }

    /// A message becomes ready at `at`.
    pub(super) fn due_at(&self, at: Timestamp) {
        self.earlier(&self.due, at);
    }

    /// A lease lapses at `at`.
    pub(super) fn expire_at(&self, at: Timestamp) {
        self.earlier(&self.expire, at);
    }

    fn earlier(&self, field: &AtomicU64, at: Timestamp) {
        let at = at.as_millis();
        // Mostly a plain load: nearly every deadline is later than the first one.
        if at < field.load(Ordering::Acquire) && field.fetch_min(at, Ordering::AcqRel) > at {
            self.changed.notify_one();
        }
    }

    /// Whether a message may have become ready by `now` without having been moved there yet.
    pub(super) fn overdue(&self, now: Timestamp) -> bool {
        while !self.ended.load(Ordering::Acquire) {
            let passes = self.passes.load(Ordering::SeqCst);
            if passes % 2 == 1 {
                return true;
            }
            let first = self.next();
            // A pass clears its field for a while: what was read counts only if none was there.
            if self.passes.load(Ordering::SeqCst) == passes {
                return first <= now;
            }
        }
        false
    }

    /// Waits until nothing is overdue at `now`: until the passes over it are done or have failed.
    pub(super) async fn caught_up(&self, now: Timestamp) {
        loop {
            let passed = self.passed.notified();
            if !self.overdue(now) {
                return;
            }
            passed.await;
        }
    }

    fn end(&self) {
        self.ended.store(true, Ordering::Release);
        self.passed.notify_waiters();
    }

    fn next(&self) -> Timestamp {
        let first = self.due.load(Ordering::SeqCst).min(self.expire.load(Ordering::SeqCst));
        Timestamp::from_millis(first)
    }
}

#[derive(Clone, Copy)]
enum Duty {
    Due,
    Expire,
    Prune,
}

/// What the upkeep task works with.
pub(super) struct Upkeep {
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) schedule: Arc<Schedule>,
    pub(super) registry: Arc<Registry>,
}

impl Upkeep {
    /// Does the duties until `stop`.
    pub(super) async fn run(self, stop: CancellationToken) {
        let mut prune_at = self.clock.now();
        loop {
            let now = self.clock.now();
            self.timed(&self.schedule.due, Duty::Due, now).await;
            self.timed(&self.schedule.expire, Duty::Expire, now).await;
            if now >= prune_at {
                let next = self.pass(Duty::Prune, now).await;
                prune_at = next.map_or(now.after(PRUNE_EVERY), |n| n.min(now.after(PRUNE_EVERY)));
            }
            self.schedule.passed.notify_waiters();
            let next = self.schedule.next().min(prune_at);
            tokio::select! {
                () = self.clock.sleep_until(next) => {}
                () = self.schedule.changed.notified() => {}
                () = stop.cancelled() => break,
            }
        }
        self.schedule.end();
    }

    async fn timed(&self, field: &AtomicU64, duty: Duty, now: Timestamp) {
        if now.as_millis() < field.load(Ordering::Acquire) {
            return;
        }
        self.schedule.passes.fetch_add(1, Ordering::SeqCst);
        // Cleared before the store looks: what is scheduled during the pass must not be forgotten.
        field.store(u64::MAX, Ordering::SeqCst);
        let next = self.pass(duty, now).await;
        if let Some(next) = next {
            // A pass that was cut short has left what was due at any time before.
            let next = if next <= now { 0 } else { next.as_millis() };
            field.fetch_min(next, Ordering::AcqRel);
        }
        self.schedule.passes.fetch_add(1, Ordering::SeqCst);
    }

    async fn pass(&self, duty: Duty, now: Timestamp) -> Option<Timestamp> {
        let store = Arc::clone(&self.store);
        // A task of its own, so that a store that panics ends this pass and not all of them.
        let passed = tokio::spawn(async move {
            match duty {
                Duty::Due => store.due(now).await,
                Duty::Expire => store.expire(now).await,
                Duty::Prune => store.prune(now).await,
            }
        });
        let failed = |_| Err(Error::new(ErrorKind::Internal, "the pass ended without an answer"));
        match passed.await.unwrap_or_else(failed) {
            Ok(Pass { ready, next, .. }) => {
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
        Duty::Due => "due delays",
        Duty::Expire => "lapsed leases",
        Duty::Prune => "retention",
    };
    tracing::warn!(%error, duty, "upkeep failed and is tried again");
}
