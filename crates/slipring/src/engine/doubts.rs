//! What other processes may have changed, told to receives without going through all queues.
//!
//! A change by others concerns any queue: it moves one number, and each queue takes it in when its
//! lock is next taken. Only queues with receives that rest must be told at once; these are listed.
//! Who lists itself reads the number afterwards, and who moves the number reads the list
//! afterwards, so that one of the two finds the other.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use crate::queue::QueueId;
use crate::waits::{NamedMutex, Waits};

use super::receives::Receives;

/// The changes by others that an engine has noticed, and who must be told of the next one.
pub(super) struct Doubts {
    count: AtomicU64,
    /// A leaf of the lock order: taken under the receive lock of a queue.
    listed: NamedMutex<HashMap<QueueId, Weak<Receives>>>,
}

impl Doubts {
    pub(super) fn new(waits: &Waits) -> Arc<Doubts> {
        let listed = NamedMutex::new(waits.class("doubts_lock"), HashMap::new());
        Arc::new(Doubts { count: AtomicU64::new(0), listed })
    }

    /// How many changes there were.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    /// Others have changed something; answers the queues that were listed.
    pub(super) fn raise(&self) -> Vec<Arc<Receives>> {
        self.count.fetch_add(1, Ordering::SeqCst);
        self.listed.lock().values().filter_map(Weak::upgrade).collect()
    }

    /// Receives of a queue rest from now on.
    pub(super) fn list(&self, queue: QueueId, receives: Weak<Receives>) {
        self.listed.lock().insert(queue, receives);
    }

    /// None of the queue does.
    pub(super) fn unlist(&self, queue: QueueId) {
        self.listed.lock().remove(&queue);
    }
}
