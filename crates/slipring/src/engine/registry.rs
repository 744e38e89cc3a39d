//! The queues an engine knows, by name and by number, in shards so that no lock is instance-wide
//! (law 1).

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::Arc;

use parking_lot::RwLock;

use crate::error::Error;
use crate::queue::{QueueId, QueueInfo, QueueName};

use super::core::QueueCore;

const SHARDS: usize = 16;

/// All queues of an engine.
pub(super) struct Registry {
    hasher: RandomState,
    by_name: Vec<RwLock<HashMap<QueueName, Arc<QueueCore>>>>,
    by_id: Vec<RwLock<HashMap<QueueId, Arc<QueueCore>>>>,
}

impl Registry {
    pub(super) fn new() -> Registry {
        Registry {
            hasher: RandomState::new(),
            by_name: (0..SHARDS).map(|_| RwLock::default()).collect(),
            by_id: (0..SHARDS).map(|_| RwLock::default()).collect(),
        }
    }

    fn shard<'a, K: Hash, V>(&self, shards: &'a [V], key: &K) -> &'a V {
        &shards[self.hasher.hash_one(key) as usize % SHARDS]
    }

    pub(super) fn by_name(&self, name: &QueueName) -> Option<Arc<QueueCore>> {
        self.shard(&self.by_name, name).read().get(name).cloned()
    }

    pub(super) fn by_id(&self, id: QueueId) -> Option<Arc<QueueCore>> {
        self.shard(&self.by_id, &id).read().get(&id).cloned()
    }

    /// Enters a queue, or brings the known one up to date. A queue that was deleted and made
    /// again under its old name replaces the old one, whose receives end.
    pub(super) fn put(
        &self,
        info: Arc<QueueInfo>,
        make: impl FnOnce(Arc<QueueInfo>) -> Arc<QueueCore>,
    ) -> Arc<QueueCore> {
        // Lock order: name shard, then number shard.
        let mut names = self.shard(&self.by_name, &info.name).write();
        if let Some(known) = names.get(&info.name)
            && known.id == info.id
        {
            known.update(info);
            return Arc::clone(known);
        }
        let core = make(Arc::clone(&info));
        let replaced = names.insert(info.name.clone(), Arc::clone(&core));
        if let Some(replaced) = &replaced {
            self.shard(&self.by_id, &replaced.id).write().remove(&replaced.id);
        }
        self.shard(&self.by_id, &info.id).write().insert(info.id, Arc::clone(&core));
        drop(names);
        // Without the lock: it wakes all that wait there.
        if let Some(replaced) = replaced {
            replaced.close(&Error::queue_not_found(&info.name));
        }
        core
    }

    /// Forgets a queue and ends its receives.
    pub(super) fn remove(&self, core: &QueueCore) {
        let name = core.info().name.clone();
        let mut names = self.shard(&self.by_name, &name).write();
        if names.get(&name).is_some_and(|known| known.id == core.id) {
            names.remove(&name);
        }
        self.shard(&self.by_id, &core.id).write().remove(&core.id);
        drop(names);
        core.close(&Error::queue_not_found(&name));
    }

    /// How many queues there are.
    pub(super) fn len(&self) -> usize {
        self.by_id.iter().map(|shard| shard.read().len()).sum()
    }

    /// All queues, in no order.
    pub(super) fn all(&self) -> Vec<Arc<QueueCore>> {
        self.by_id.iter().flat_map(|s| s.read().values().cloned().collect::<Vec<_>>()).collect()
    }

    /// Lets the receives of every queue look again.
    pub(super) fn wake_all(&self) {
        for core in self.all() {
            core.receives.notify(u64::MAX);
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&self) {
        self.by_name.iter().for_each(|shard| shard.write().clear());
        self.by_id.iter().for_each(|shard| shard.write().clear());
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;
    use std::task::{Context, Wake, Waker};
    use std::time::Duration;

    use super::*;
    use crate::queue::QueueSettings;
    use crate::stores::MemoryStore;
    use crate::{AdminStore, Engine, EngineOptions, ReceiveRequest};

    /// Finds out whether the queue can be looked up while it wakes a receive.
    struct LooksUp {
        engine: Engine,
        name: QueueName,
        found: AtomicBool,
    }

    impl Wake for LooksUp {
        fn wake(self: Arc<Self>) {
            let (found, looked) = mpsc::channel();
            let me = Arc::clone(&self);
            let look = std::thread::spawn(move || {
                let known = me.engine.0.registry.by_name(&me.name).is_some();
                // The test has ended if it was not waited for.
                let _ = found.send(known);
            });
            let found = looked.recv_timeout(Duration::from_secs(1)).is_ok_and(|known| known);
            self.found.store(found, Ordering::SeqCst);
            drop(look);
        }
    }

    #[tokio::test]
    async fn no_lock_is_held_while_a_replaced_queue_is_closed() {
        let store = MemoryStore::shared();
        let engine = Engine::open(Arc::clone(&store) as _, EngineOptions::default()).await.unwrap();
        let queue = engine.create_queue("q", QueueSettings::default()).await.unwrap();
        let name = queue.name();
        let found = AtomicBool::new(false);
        let looks_up = Arc::new(LooksUp { engine: engine.clone(), name, found });
        let mut receive = pin!(queue.receive(ReceiveRequest::up_to(1).wait(Duration::MAX)));
        let waker = Waker::from(Arc::clone(&looks_up));
        assert!(receive.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        // It has looked, and rests.
        queue.core.receives.drained().await;
        // Another process deletes the queue and makes it again.
        store.delete_queue(queue.id()).await.unwrap();
        let again = engine.create_queue("q", QueueSettings::default()).await.unwrap();
        assert_ne!(again.id(), queue.id());
        assert!(looks_up.found.load(Ordering::SeqCst), "a lock was held");
        receive.await.unwrap_err();
    }
}
