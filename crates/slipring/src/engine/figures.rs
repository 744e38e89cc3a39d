//! What those ask who watch an engine: many queues at once, and the room of the store.

use crate::admin::StoreSpace;
use crate::error::Error;
use crate::obstacles::{ObstacleAges, Obstacles};
use crate::queue::{QueueId, QueueStats};

use super::{Engine, Queue};

impl Engine {
    /// The queues that this engine knows, by name; asks no store, so that another process may have
    /// made or deleted some.
    pub fn known_queues(&self) -> Vec<Queue> {
        let mut queues = self.known_queues_where(|_| true);
        queues.sort_by_cached_key(Queue::name);
        queues
    }

    /// As [`Engine::known_queues`], those of which `wanted` is true, in any order. Costs less where
    /// these are few of many.
    pub fn known_queues_where(&self, mut wanted: impl FnMut(&Queue) -> bool) -> Vec<Queue> {
        let all = self.0.registry.all().into_iter().map(|core| self.handle(core));
        all.filter(|queue| wanted(queue)).collect()
    }

    /// How many queues this engine knows; asks no store.
    pub fn known_queue_count(&self) -> usize {
        self.0.registry.len()
    }

    /// What queues hold, in the order asked, one by one as [`Queue::stats`] answers: a queue whose
    /// state is wrong takes no other with it. Costs less than [`Queue::stats`] of each.
    ///
    /// # Errors
    /// Storage errors, when the store does not answer at all.
    pub async fn stats_of(
        &self,
        queues: &[Queue],
    ) -> Result<Vec<Result<QueueStats, Error>>, Error> {
        let services = &self.0.services;
        let ids: Vec<QueueId> = queues.iter().map(Queue::id).collect();
        let stats = services.store.stats_of(&ids, services.clock.now()).await;
        let stats = stats.map_err(|error| error.during("stats"))?;
        let named = queues
            .iter()
            .zip(stats)
            .map(|(queue, stats)| stats.map_err(|error| queue.named(error, "stats")));
        Ok(named.collect())
    }

    /// The room that the store takes and has.
    ///
    /// # Errors
    /// Storage errors.
    pub async fn space(&self) -> Result<StoreSpace, Error> {
        self.0.services.store.space().await.map_err(|error| error.during("space"))
    }

    /// What others do to the store at this moment that holds the engine up, see
    /// [`AdminStore::obstacles`](crate::AdminStore::obstacles).
    ///
    /// # Errors
    /// Storage errors.
    pub async fn obstacles(&self) -> Result<Obstacles, Error> {
        let services = &self.0.services;
        let found = services.store.obstacles(&ObstacleAges::default(), services.clock.now()).await;
        found.map_err(|error| error.during("obstacles"))
    }
}
