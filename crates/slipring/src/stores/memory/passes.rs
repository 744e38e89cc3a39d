//! The bounded passes over deadlines: what is due, what has lapsed, what may be forgotten.

use std::collections::BTreeMap;

use crate::clock::Timestamp;
use crate::lifecycle::State;
use crate::queue::QueueId;
use crate::store::{Deadline, Pass, Settled};

use super::queue::{DeadLetters, NeedsDeadLetters, QueueState};

/// Most messages that one pass handles, over all queues it looks at; about 5 ms.
const PASS_MESSAGES_MAX: u32 = 2000;

/// What a pass has done so far, and how much it may still do.
#[derive(Debug)]
pub(super) struct Tally {
    now: Timestamp,
    left: u32,
    ready: BTreeMap<QueueId, u64>,
    removed: u64,
    next: Option<Timestamp>,
}

impl Tally {
    pub(super) fn new(now: Timestamp) -> Tally {
        Tally { now, left: PASS_MESSAGES_MAX, ready: BTreeMap::new(), removed: 0, next: None }
    }

    pub(super) fn into_pass(self) -> Pass {
        Pass {
            ready: self.ready.into_iter().collect(),
            removed: self.removed,
            next: self.next.map(|next| next.max(self.now)),
        }
    }

    fn ready(&mut self, queue: QueueId, messages: u64) {
        if messages > 0 {
            *self.ready.entry(queue).or_default() += messages;
        }
    }

    fn next_is(&mut self, at: Option<Timestamp>) {
        self.next = match (self.next, at) {
            (Some(old), Some(new)) => Some(old.min(new)),
            (old, new) => old.or(new),
        };
    }

    /// Whether one more message may be handled whose time is `at`.
    fn take_on(&mut self, at: Option<Timestamp>) -> bool {
        let goes = self.left > 0 && at.is_some_and(|at| at <= self.now);
        self.left -= u32::from(goes);
        goes
    }
}

impl QueueState {
    /// Makes ready what is due, and announces the end of a pause.
    pub(super) fn pass_due(&mut self, tally: &mut Tally) {
        if self.pause_end.is_some_and(|end| end <= tally.now) {
            self.pause_end = None;
            tally.ready(self.info.id, self.orders.ready_count);
        }
        tally.next_is(self.pause_end);
        let due = |queue: &QueueState| queue.orders.delayed.first().map(|(at, _)| *at);
        while tally.take_on(due(self)) {
            if let Some((_, id)) = self.orders.delayed.first().copied() {
                self.change(id, |stored| stored.state = State::Ready);
                tally.ready(self.info.id, 1);
            }
        }
        tally.next_is(due(self));
    }

    /// Ends lapsed leases.
    pub(super) fn pass_lapsed(
        &mut self,
        tally: &mut Tally,
        dead_letters: &mut DeadLetters<'_>,
    ) -> Result<(), NeedsDeadLetters> {
        let lapses = |queue: &QueueState| queue.orders.leased.first().map(|(at, _)| *at);
        while tally.take_on(lapses(self)) {
            match self.lapse_next(tally.now, dead_letters)? {
                Some(Settled::Ready) => tally.ready(self.info.id, 1),
                Some(Settled::DeadLettered(target)) => {
                    tally.ready(target, 1);
                    tally.ready(self.info.id, 1);
                }
                Some(Settled::Parked) => {
                    tally.removed += 1;
                    tally.ready(self.info.id, 1);
                }
                Some(Settled::Done | Settled::Delayed(_)) | None => {}
            }
        }
        tally.next_is(lapses(self));
        Ok(())
    }

    /// When the next message is due, and the next lease lapses.
    pub(super) fn deadline(&self) -> Deadline {
        let due = self.orders.delayed.first().map(|(at, _)| *at);
        let lapse = self.orders.leased.first().map(|(at, _)| *at);
        Deadline { queue: self.info.id, due, lapse }
    }

    /// Removes messages whose retention is over (S14.4) and closes deduplication windows (S8.1).
    pub(super) fn pass_forget(&mut self, tally: &mut Tally) {
        let retention = self.info.settings.retention;
        let before = tally.removed;
        // Numbers grow with the time of sending, so the lowest number is the oldest message.
        let leaves = |queue: &QueueState| {
            let oldest = queue.messages.values().next()?;
            Some(oldest.message.sent_at.after(retention?))
        };
        while tally.take_on(leaves(self)) {
            if let Some(id) = self.messages.keys().next().copied() {
                self.remove(id);
                tally.removed += 1;
            }
        }
        tally.next_is(leaves(self));
        tally.ready(self.info.id, tally.removed - before);
        while tally.take_on(self.remembered.next_end()) {
            self.remembered.forget_next();
        }
        tally.next_is(self.remembered.next_end());
    }
}
