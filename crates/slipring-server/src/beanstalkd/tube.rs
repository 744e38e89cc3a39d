//! What is known of one tube beyond its queue: who refers to it, and what was counted.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, RwLock};
use slipring::{Engine, Error, ErrorKind, Queue, QueueSettings};
use slipring_wire::beanstalkd::TubeName;

use super::counters::Counter;
use super::watched::Appeared;

/// Most jobs of a tube whose history is kept. It is a statistic; beyond it, the oldest ones show
/// zeros. An ack by another protocol, a purge or retention removes no history: it goes when it is
/// the oldest.
const HISTORIES_MAX: usize = 100_000;

/// What happened to one job. Only jobs to which any of it happened have one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct History {
    pub(super) timeouts: u32,
    pub(super) releases: u32,
    pub(super) buries: u32,
    pub(super) kicks: u32,
}

/// A tube.
pub(super) struct Tube {
    pub(super) name: TubeName,
    /// The place in the order of first mention.
    pub(super) born: u64,
    queue: RwLock<Option<Queue>>,
    /// Connections that use it; written under the registry's lock.
    pub(super) using: Counter,
    /// Connections that watch it; written under the registry's lock.
    pub(super) watching: Counter,
    /// Connections that wait for a job of it.
    pub(super) waiting: Counter,
    pub(super) jobs: Counter,
    pub(super) deletes: Counter,
    pub(super) pauses: Counter,
    /// How long the newest pause was meant to be, in seconds.
    pub(super) pause_seconds: Counter,
    /// Those to tell when there is a queue, by their addresses.
    wanted: Mutex<HashMap<usize, Weak<Appeared>>>,
    histories: Mutex<BTreeMap<u64, History>>,
    /// The number of histories, so that most deletes need no lock.
    histories_len: AtomicUsize,
}

impl Tube {
    pub(super) fn new(name: TubeName, born: u64) -> Tube {
        Tube {
            name,
            born,
            queue: RwLock::new(None),
            using: Counter::default(),
            watching: Counter::default(),
            waiting: Counter::default(),
            jobs: Counter::default(),
            deletes: Counter::default(),
            pauses: Counter::default(),
            pause_seconds: Counter::default(),
            wanted: Mutex::default(),
            histories: Mutex::default(),
            histories_len: AtomicUsize::new(0),
        }
    }

    /// Whether a connection uses or watches it.
    pub(super) fn is_referenced(&self) -> bool {
        self.using.get() > 0 || self.watching.get() > 0
    }

    /// Whether its queue was ever needed here.
    pub(super) fn has_queue(&self) -> bool {
        self.queue.read().is_some()
    }

    fn cached(&self, engine: &Engine) -> Option<Queue> {
        let queue = self.queue.read().clone()?;
        // A queue that was deleted, and perhaps made anew, is not the one that is cached.
        engine.queue_by_id(queue.id()).map(|_| queue)
    }

    /// The queue of this tube, made with `settings` if there is none.
    ///
    /// # Errors
    /// Those of [`Engine::queue_or_create`].
    pub(super) async fn queue(
        &self,
        engine: &Engine,
        settings: &QueueSettings,
    ) -> Result<Queue, Error> {
        if let Some(queue) = self.cached(engine) {
            return Ok(queue);
        }
        let queue = engine.queue_or_create(self.name.as_str(), settings).await?;
        *self.queue.write() = Some(queue.clone());
        Ok(queue)
    }

    /// The queue of this tube if there is one.
    ///
    /// # Errors
    /// Storage errors.
    pub(super) async fn existing_queue(&self, engine: &Engine) -> Result<Option<Queue>, Error> {
        if let Some(queue) = self.cached(engine) {
            return Ok(Some(queue));
        }
        match engine.queue(self.name.as_str()).await {
            Ok(queue) => {
                *self.queue.write() = Some(queue.clone());
                Ok(Some(queue))
            }
            Err(error) if error.kind() == ErrorKind::QueueNotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What `ask` answers of the queue of this tube; `None` if there is none. One that another
    /// server has deleted is none, and is asked for once more: it may have been made anew.
    ///
    /// # Errors
    /// Those of `ask`, and storage errors.
    pub(super) async fn in_queue<T, F>(
        &self,
        engine: &Engine,
        ask: impl Fn(Queue) -> F,
    ) -> Result<Option<T>, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        for _ in 0..2 {
            let Some(queue) = self.existing_queue(engine).await? else { break };
            match ask(queue).await {
                Err(error) if error.kind() == ErrorKind::QueueNotFound => {
                    engine.note_deletions().await?;
                }
                answer => return answer.map(Some),
            }
        }
        Ok(None)
    }

    /// The queue of this tube if the engine knows one; asks no store.
    pub(super) fn known_queue(&self, engine: &Engine) -> Option<Queue> {
        let found = self.cached(engine).or_else(|| engine.known_queue(self.name.as_str()))?;
        *self.queue.write() = Some(found.clone());
        Some(found)
    }

    /// Tells those who wish to know that the tube has a queue. They wish anew if they find none.
    pub(super) fn has_appeared(self: &Arc<Tube>) {
        let wanted = std::mem::take(&mut *self.wanted.lock());
        wanted.values().filter_map(Weak::upgrade).for_each(|appeared| appeared.tell(self));
    }

    /// Notes where to tell that the tube has a queue.
    pub(super) fn want(&self, appeared: &Arc<Appeared>) {
        self.wanted.lock().insert(Arc::as_ptr(appeared).addr(), Arc::downgrade(appeared));
    }

    /// Takes that back.
    pub(super) fn unwant(&self, appeared: &Arc<Appeared>) {
        self.wanted.lock().remove(&Arc::as_ptr(appeared).addr());
    }

    /// Whether a connection waits for a queue of this tube.
    pub(super) fn is_wanted(&self) -> bool {
        !self.wanted.lock().is_empty()
    }

    /// Notes something in a job's history.
    pub(super) fn note(&self, id: u64, change: impl FnOnce(&mut History)) {
        let mut histories = self.histories.lock();
        if histories.len() >= HISTORIES_MAX && !histories.contains_key(&id) {
            histories.pop_first();
        }
        change(histories.entry(id).or_default());
        self.histories_len.store(histories.len(), Ordering::Relaxed);
    }

    /// What happened to a job.
    pub(super) fn history(&self, id: u64) -> History {
        self.histories.lock().get(&id).copied().unwrap_or_default()
    }

    /// Forgets a job that is gone.
    pub(super) fn forget(&self, id: u64) {
        if self.histories_len.load(Ordering::Relaxed) > 0 {
            let mut histories = self.histories.lock();
            histories.remove(&id);
            self.histories_len.store(histories.len(), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beside_many_histories_those_of_the_oldest_jobs_are_forgotten() {
        let tube = Tube::new("t".parse().unwrap(), 0);
        let kick = |id: u64| tube.note(id, |history| history.kicks += 1);
        let kicks = |id: u64| tube.history(id).kicks;
        let last = HISTORIES_MAX as u64;
        (1..=last).for_each(kick);
        kick(last);
        assert_eq!((kicks(1), kicks(2), kicks(last)), (1, 1, 2));
        kick(last + 1);
        assert_eq!((kicks(1), kicks(2), kicks(last + 1)), (0, 1, 1));
        // Also where an old one is named again.
        kick(1);
        assert_eq!((kicks(1), kicks(2), kicks(3)), (1, 0, 1));
    }
}
