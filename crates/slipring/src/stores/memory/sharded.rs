//! A map that many tasks use at once: split over locks, so that it is not one shared thing.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::waits::{NamedMutex, WaitClass};

const SHARDS: usize = 64;

/// A map from numbers, spread over 64 locks. The locks are leaves of the lock order: nothing else
/// is taken while one is held.
#[derive(Debug)]
pub(super) struct Sharded<V>([Shard<V>; SHARDS]);

type Shard<V> = NamedMutex<BTreeMap<u64, V>>;

impl<V: Clone> Sharded<V> {
    /// An empty map whose lock waits are counted under `class`.
    pub(super) fn new(class: &Arc<WaitClass>) -> Sharded<V> {
        Sharded(std::array::from_fn(|_| NamedMutex::new(Arc::clone(class), BTreeMap::new())))
    }

    pub(super) fn get(&self, key: u64) -> Option<V> {
        self.shard(key).lock().get(&key).cloned()
    }

    pub(super) fn insert(&self, key: u64, value: V) {
        self.shard(key).lock().insert(key, value);
    }

    pub(super) fn remove(&self, key: u64) {
        self.shard(key).lock().remove(&key);
    }

    fn shard(&self, key: u64) -> &Shard<V> {
        &self.0[(key % SHARDS as u64) as usize]
    }
}
