//! Queues that puts have made go again: one whose tube nobody uses or watches, in which there is
//! nothing, and that is as a put has made it.
//!
//! The store decides whether a queue is empty in the moment in which it deletes it, so no put is
//! lost: one that comes too late is refused there and makes the queue anew.

use std::time::Duration;

use slipring::{Error, Queue, QueueSettings};

use super::server::Shared;

/// The queues are looked over this often.
const EVERY: Duration = Duration::from_secs(15);
/// Most queues that one look goes over; the next one goes on behind them.
const LOOK_MAX: usize = 1_000;

impl Shared {
    /// Looks the queues over from time to time; ends never.
    pub(super) async fn retire_from_time_to_time(&self) {
        let clock = self.engine.clock();
        loop {
            clock.sleep_until(clock.now().after(EVERY)).await;
            if let Err(error) = self.retire_some().await {
                self.failures.note(&error, self.now());
            }
        }
    }

    /// Deletes queues until one has gone, for a put that finds no room for its own; answers whether
    /// one has.
    ///
    /// # Errors
    /// Storage errors.
    pub(super) async fn retire_for_room(&self) -> Result<bool, Error> {
        // One after another: who waits here finds the room that others have made.
        let _turn = self.retiring.lock().await;
        if (self.engine.known_queue_count() as u64) < self.queues_max() {
            return Ok(true);
        }
        let candidates = self.candidates();
        for part in candidates.chunks(LOOK_MAX) {
            if self.retire(part).await? > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn queues_max(&self) -> u64 {
        self.engine.limits().queues_max as u64
    }

    /// Deletes some of those that are to go; answers how many went.
    async fn retire_some(&self) -> Result<usize, Error> {
        let mut from = self.retiring.lock().await;
        let candidates = self.candidates();
        let begin = candidates.partition_point(|queue| queue.id() <= *from);
        // Behind the last one it begins again with the first.
        let behind = candidates.get(begin..).filter(|behind| !behind.is_empty());
        let some = behind.unwrap_or(&candidates);
        let some = some.get(..some.len().min(LOOK_MAX)).unwrap_or_default();
        if let Some(last) = some.last() {
            *from = last.id();
        }
        self.retire(some).await
    }

    /// The queues that may be to go, in the order of their numbers; asks no store.
    fn candidates(&self) -> Vec<Queue> {
        let mut queues = self.engine.known_queues_where(|queue| self.is_left(queue));
        queues.sort_by_key(Queue::id);
        queues
    }

    /// Whether a queue is as a put has made it, and nobody uses it.
    fn is_left(&self, queue: &Queue) -> bool {
        let settings = &queue.info().settings;
        if !settings.attributes.contains_key(QueueSettings::MADE_BY_A_SEND) {
            return false;
        }
        // Of those that every server says for itself it may be another one's.
        let mut made = QueueSettings {
            durability: settings.durability,
            message_bytes_max: settings.message_bytes_max,
            ..self.queue_settings.clone()
        };
        if settings.paused_until.is_some_and(|until| until <= self.now()) {
            made.paused_until = settings.paused_until;
        }
        let used = || self.tubes.of_queue(queue).is_some_and(|tube| tube.is_referenced());
        *settings == made && queue.waiting() == 0 && !used()
    }

    async fn retire(&self, queues: &[Queue]) -> Result<usize, Error> {
        let mut gone = 0;
        let held = self.engine.stats_of(queues).await?;
        for (queue, held) in queues.iter().zip(held) {
            let empty = held.is_ok_and(|held| held.total() == 0);
            if !empty || !self.is_left(queue) {
                continue;
            }
            match self.engine.delete_queue_if_empty(queue).await {
                Ok(true) => {
                    gone += 1;
                    self.tubes.forget(queue);
                    tracing::debug!(queue = %queue.name(), "a queue that a put had made is gone");
                }
                Ok(false) => {}
                // Somebody else was faster.
                Err(error) if error.kind() == slipring::ErrorKind::QueueNotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(gone)
    }
}
