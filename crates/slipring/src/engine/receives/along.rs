//! Hand-outs in the call that stores the messages: a send to a queue that is known to be empty,
//! and in which receives rest, takes their demands along. That saves the look that would follow
//! the send, with its transaction and its change of threads.
//!
//! It is a look like others: while it is under way no other begins, and a receive that comes
//! meanwhile looks after it.

use std::sync::Arc;

use crate::clock::Timestamp;
use crate::error::{Error, Retry};
use crate::store::{ClaimEnd, Claimed, Demand};

use super::Receives;
use super::looks::{Chosen, DriveGuard, Look};

/// The receives whose demands go along with a send. Dropped without an answer it ends as a look
/// that failed.
pub(in super::super) struct Along<'a> {
    receives: &'a Arc<Receives>,
    guard: DriveGuard<'a>,
    chosen: Chosen,
}

impl Receives {
    /// Takes receives at rest for so many messages that are about to be sent and will be ready at
    /// once. `None` where there are none, where a look is under way, and where there may be other
    /// messages.
    pub(in super::super) fn along(self: &Arc<Self>, messages: u64) -> Option<Along<'_>> {
        let mut state = self.lock();
        let waits = !state.resting.is_empty() && state.fresh.is_empty();
        if messages == 0 || state.driving || !state.empty || !waits || state.closed.is_some() {
            return None;
        }
        let available = std::mem::replace(&mut state.available, messages);
        state.driving = true;
        match self.choose_from(&mut state) {
            Some(chosen) => {
                let guard = DriveGuard::new(self);
                Some(Along { receives: self, guard, chosen })
            }
            // Those who rested went away.
            None => {
                state.available = available;
                None
            }
        }
    }
}

impl Along<'_> {
    /// What the receives want, in order of arrival.
    pub(in super::super) fn demands(&self) -> Vec<Demand> {
        self.chosen.waiters.iter().map(|(_, waiter)| waiter.demand).collect()
    }

    /// The send has stored `ready` messages that are ready, and the receives got these.
    pub(in super::super) fn sent(
        self,
        ready: u64,
        now: Timestamp,
        claimed: Result<Claimed, Error>,
    ) {
        let claimed = match claimed {
            Ok(claimed) => claimed,
            Err(error) => {
                let receives = Arc::clone(self.receives);
                if error.retry() == Retry::Unknown {
                    // Messages may be leased all the same; the store knows until when.
                    receives.parts.schedule.expire_at(now);
                }
                self.failed(now);
                return receives.notify(ready);
            }
        };
        let Along { receives, guard, chosen } = self;
        let Chosen { waiters, generation, room } = chosen;
        // The look has seen the messages of its own send, so they are no news to it.
        let generation = receives.sent_along(ready, generation);
        let (rest, gave) = receives.deal_out(waiters, claimed.deliveries);
        let cut_short = claimed.end == ClaimEnd::More && gave;
        let look = Look { now, generation, room, end: claimed.end, cut_short };
        receives.settle_down(&look, rest);
        receives.go_on(guard);
    }

    /// The send has failed, and there was no look; the receives rest on.
    pub(in super::super) fn failed(self, now: Timestamp) {
        let Along { receives, guard, chosen } = self;
        let Chosen { waiters, generation, room } = chosen;
        let look = Look { now, generation, room, end: ClaimEnd::Drained, cut_short: false };
        receives.settle_down(&look, waiters);
        receives.go_on(guard);
    }
}

impl Receives {
    /// Takes note of messages that a look under way has seen; answers the generation from which
    /// on something happened that it has not.
    fn sent_along(&self, ready: u64, since: u64) -> u64 {
        let mut state = self.lock();
        if ready == 0 {
            return since;
        }
        let unmoved = state.generation == since;
        state.generation += 1;
        if unmoved { state.generation } else { since }
    }

    /// Ends a look that went along with a send, or goes on with those who are to look now.
    fn go_on(self: &Arc<Self>, guard: DriveGuard<'_>) {
        guard.end();
        let mut state = self.lock();
        let looks = !state.fresh.is_empty() || (state.available > 0 && !state.resting.is_empty());
        if looks {
            self.begin(Arc::clone(self), &mut state);
            return;
        }
        state.driving = false;
        state.called = None;
        drop(state);
        self.idle.notify_waiters();
    }
}
