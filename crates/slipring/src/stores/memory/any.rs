//! Claims over several queues (S7.6): message by message from the queue that has the best one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::lifecycle;
use crate::store::{ClaimAny, ClaimEnd, ClaimedAny, Demand};

use super::MemoryStore;

/// Hands out ready messages of several queues. One queue is locked at a time.
pub(super) fn claim(store: &MemoryStore, claim: &ClaimAny) -> ClaimedAny {
    let ClaimAny { queues, now, demand } = claim;
    let mut ends = vec![ClaimEnd::Drained; queues.len()];
    let mut heads = BinaryHeap::new();
    for (at, queue) in queues.iter().enumerate() {
        let queue = store.queues.get(queue.0);
        if let Some(head) = queue.and_then(|queue| queue.lock().ok()?.head(*now)) {
            ends[at] = ClaimEnd::More;
            heads.push(Reverse((head, at)));
        }
    }
    let up_to = demand.up_to.max(1) as usize;
    let mut deliveries = Vec::new();
    while deliveries.len() < up_to
        && let Some(Reverse((_, at))) = heads.pop()
    {
        let Some(queue) = store.queues.get(queues[at].0) else { continue };
        let Ok(mut state) = queue.lock() else {
            ends[at] = ClaimEnd::Drained;
            continue;
        };
        // A message that has failed comes with few others (S11.2).
        let failed = state.head_attempts();
        let company = lifecycle::company(failed, demand.up_to, &state.info.settings);
        if failed > 0 && deliveries.len() >= company as usize {
            break;
        }
        let mut claimed = state.claim(&[Demand { up_to: 1, ..*demand }], *now);
        let given = claimed.deliveries.pop().unwrap_or_default();
        ends[at] = claimed.end;
        if let Some(head) = state.head(*now).filter(|_| claimed.end == ClaimEnd::More) {
            heads.push(Reverse((head, at)));
        }
        drop(state);
        deliveries.extend(given);
        if failed > 0 {
            break;
        }
    }
    ClaimedAny { deliveries, ends }
}
