//! Claims over several queues (S7.6): message by message from the queue that has the best one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::clock::Timestamp;
use crate::deal::PassedOver;
use crate::message::{Delivery, Priority};
use crate::queue::QueueId;
use crate::store::{ClaimAny, ClaimEnd, ClaimedAny, Demand, Head};

use super::MemoryStore;

/// The queues of a claim that have a ready message, each by its number in the claim.
#[derive(Default)]
struct Heads {
    /// Those that give in the order of their heads.
    in_turn: BinaryHeap<Reverse<(Head, usize)>>,
    /// Those with failing messages alone whose turn has not come.
    passed: Vec<Passed>,
}

/// A queue with failing messages alone that deliveries of others go past (S11.1).
struct Passed {
    head: Head,
    at: usize,
    /// Its count when it came here.
    before: PassedOver,
    /// How many have gone past it since.
    went: u32,
}

impl Heads {
    /// Adds a queue past whose failing messages so many deliveries have gone. These messages come
    /// first of their priority when it is their turn.
    fn add(&mut self, head: Head, at: usize, passed_over: PassedOver) {
        if !head.failing {
            self.in_turn.push(Reverse((head, at)));
        } else if !passed_over.failing_is_due() {
            self.passed.push(Passed { head, at, before: passed_over, went: 0 });
        } else {
            let sent_at = Timestamp::from_millis(0);
            self.in_turn.push(Reverse((Head { failing: false, sent_at, ..head }, at)));
        }
    }

    /// The queue that gives next, and how many have gone past it here.
    fn pop(&mut self) -> Option<(Head, usize, u32)> {
        if let Some(Reverse((head, at))) = self.in_turn.pop() {
            return Some((head, at, 0));
        }
        let best = self.passed.iter().enumerate().min_by_key(|(_, queue)| queue.head)?.0;
        let Passed { head, at, went, .. } = self.passed.swap_remove(best);
        Some((head, at, went))
    }

    /// Counts a delivery of this priority; answers the queues whose turn has come by it, which are
    /// in order now, and how many have gone past each.
    fn go_past(&mut self, priority: Priority) -> Vec<(usize, u32)> {
        let mut come = Vec::new();
        for queue in self.passed.iter_mut().filter(|queue| queue.head.priority <= priority) {
            queue.went += 1;
        }
        let due = |queue: &mut Passed| queue.went >= queue.before.until_failing();
        for Passed { head, at, before, went } in self.passed.extract_if(.., due).collect::<Vec<_>>()
        {
            come.push((at, went));
            let mut passed_over = before;
            passed_over.past_failing(went);
            self.add(head, at, passed_over);
        }
        come
    }
}

fn pass_over(store: &MemoryStore, queue: QueueId, deliveries: u32) {
    if let Some(queue) = store.queues.get(queue.0)
        && let Ok(mut state) = queue.lock()
    {
        state.pass_over(deliveries);
    }
}

/// Hands out ready messages of several queues. One queue is locked at a time.
pub(super) fn claim(store: &MemoryStore, claim: &ClaimAny) -> ClaimedAny {
    let ClaimAny { queues, now, demand } = claim;
    let mut ends = vec![ClaimEnd::Drained; queues.len()];
    let mut heads = Heads::default();
    for (at, queue) in queues.iter().enumerate() {
        let Some(queue) = store.queues.get(queue.0) else { continue };
        let Ok(state) = queue.lock() else { continue };
        if let Some(head) = state.head(*now) {
            ends[at] = ClaimEnd::More;
            heads.add(head, at, state.passed_over);
        }
    }
    let up_to = demand.up_to.max(1) as usize;
    let mut deliveries: Vec<Delivery> = Vec::new();
    while deliveries.len() < up_to
        && let Some((head, at, went)) = heads.pop()
    {
        let Some(queue) = store.queues.get(queues[at].0) else { continue };
        let Ok(mut state) = queue.lock() else {
            ends[at] = ClaimEnd::Drained;
            continue;
        };
        state.pass_over(went);
        let one = Demand { up_to: 1, ..*demand };
        let (given, end) = state.claim_beside(deliveries.len() as u64, demand.up_to, one, *now);
        ends[at] = end;
        let Some(given) = given else { continue };
        // One that gave another message than its first has one that does not fit here.
        let goes_on = end == ClaimEnd::More && given.message.id == head.id;
        let next = state.head(*now).filter(|_| goes_on);
        let passed_over = state.passed_over;
        // A message whose tries run out comes with few others (S11.2).
        let failed = given.message.attempts > 1 && state.info.settings.max_attempts.is_some();
        drop(state);
        for (at, went) in heads.go_past(given.message.priority) {
            pass_over(store, queues[at], went);
        }
        if let Some(head) = next {
            heads.add(head, at, passed_over);
        }
        deliveries.push(given);
        if failed {
            break;
        }
    }
    for Passed { at, went, .. } in heads.passed {
        pass_over(store, queues[at], went);
    }
    ClaimedAny { deliveries, ends }
}
