//! Claims over several queues (S7.6): message by message from the queue that has the best one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::message::Delivery;
use crate::store::{ClaimAny, ClaimEnd, ClaimedAny, Demand};

use super::MemoryStore;

/// Hands out ready messages of several queues. One queue is locked at a time.
pub(super) fn claim(store: &MemoryStore, claim: &ClaimAny) -> ClaimedAny {
    let ClaimAny { queues, now, demand } = claim;
    let mut ends = vec![ClaimEnd::Drained; queues.len()];
    let mut heads = BinaryHeap::new();
    // Queues with failing messages alone that are gone past, and the priority of these.
    let mut passed = BTreeMap::new();
    for (at, queue) in queues.iter().enumerate() {
        let queue = store.queues.get(queue.0);
        if let Some(head) = queue.and_then(|queue| queue.lock().ok()?.head_in_turn(*now)) {
            ends[at] = ClaimEnd::More;
            if head.failing {
                passed.insert(at, head.priority);
            }
            heads.push(Reverse((head, at)));
        }
    }
    let up_to = demand.up_to.max(1) as usize;
    let mut deliveries: Vec<Delivery> = Vec::new();
    while deliveries.len() < up_to
        && let Some(Reverse((head, at))) = heads.pop()
    {
        let Some(queue) = store.queues.get(queues[at].0) else { continue };
        let Ok(mut state) = queue.lock() else {
            ends[at] = ClaimEnd::Drained;
            continue;
        };
        passed.remove(&at);
        let one = Demand { up_to: 1, ..*demand };
        let (given, end) = state.claim_beside(deliveries.len() as u64, demand.up_to, one, *now);
        ends[at] = end;
        let Some(given) = given else { continue };
        // One that gave another message than its first has one that does not fit here.
        let goes_on = end == ClaimEnd::More && given.message.id == head.id;
        if let Some(head) = state.head_in_turn(*now).filter(|_| goes_on) {
            heads.push(Reverse((head, at)));
        }
        // A message whose tries run out comes with few others (S11.2).
        let failed = given.message.attempts > 1 && state.info.settings.max_attempts.is_some();
        drop(state);
        deliveries.push(given);
        if failed {
            break;
        }
    }
    let worst = deliveries.iter().map(|delivery| delivery.message.priority).max();
    for (at, _) in passed.into_iter().filter(|(_, own)| worst.is_some_and(|worst| *own <= worst)) {
        if let Some(queue) = store.queues.get(queues[at].0)
            && let Ok(mut state) = queue.lock()
        {
            state.pass_over(deliveries.len());
        }
    }
    ClaimedAny { deliveries, ends }
}
