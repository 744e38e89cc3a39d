//! Receives whose time is over while a pass over due messages is owed (S5.5).
//!
//! They keep their place among those who rest, so that what becomes ready meanwhile is theirs
//! before it is that of a later receive (S2.5). When the pass is over they look once more.
//!
//! Receives that found the queue held by others look once more in a while, too.

use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::clock::{Timestamp, monotonic_ns};
use crate::timers::Alarm;

use super::state::State;
use super::{Receives, Ticket};

/// After a look that found the queue held by others. Meanwhile messages of other queues can go to
/// those who rest here.
const HELD_PAUSE: Duration = Duration::from_millis(100);

/// The timer of a receive that waits.
pub(in super::super) struct EndOfWait {
    pub(super) receives: Weak<Receives>,
    pub(super) ticket: Ticket,
}

impl Alarm for EndOfWait {
    fn ring(self) {
        if let Some(receives) = self.receives.upgrade() {
            receives.time_out(self.ticket);
        }
    }
}

impl Receives {
    /// Ends the wait of a receive with nothing, if it still rests; but not while a message may
    /// have become ready by now that a pass has yet to move.
    fn time_out(&self, ticket: Ticket) {
        let mut state = self.lock();
        if state.overtime.contains(&ticket) {
            return;
        }
        let Some(mut waiter) = state.take_resting(ticket) else { return };
        let now = self.parts.clock.now();
        if !waiter.caught_up && self.parts.schedule.overdue(now) {
            waiter.timer = None;
            state.overtime.insert(ticket);
            state.rest(ticket, waiter);
            drop(state);
            self.look_after_pass(vec![ticket], now);
            return;
        }
        drop(state);
        self.answered.waited(monotonic_ns().saturating_sub(waiter.since_ns));
        let _ = waiter.slot.send(Ok(Vec::new()));
    }

    /// Lets receives in overtime look once more when everything that was due at `due` is ready. One
    /// that is being looked after at that moment finds itself out of [`super::State::overtime`].
    pub(super) fn look_after_pass(&self, tickets: Vec<Ticket>, due: Timestamp) {
        let Some(me) = self.me.upgrade() else { return };
        self.parts.runtime.spawn(async move {
            while !me.parts.schedule.pass_ended(due).await {}
            let mut state = me.lock();
            for ticket in tickets {
                state.overtime.remove(&ticket);
                if let Some(mut waiter) = state.take_resting(ticket) {
                    waiter.caught_up = true;
                    state.look_next(ticket, waiter);
                }
            }
            if !state.fresh.is_empty() {
                Arc::clone(&me).start(&mut state);
            }
        });
    }

    /// Lets those who rest look once more in a while.
    pub(super) fn look_later(&self, state: &mut State) {
        let Some(me) = self.me.upgrade() else { return };
        if std::mem::replace(&mut state.looks_later, true) {
            return;
        }
        self.parts.runtime.spawn(async move {
            let clock = &me.parts.clock;
            clock.sleep_to_end(clock.end_of(HELD_PAUSE)).await;
            let mut state = me.lock();
            state.looks_later = false;
            state.generation += 1;
            state.available = u64::MAX;
            state.empty = false;
            if !state.resting.is_empty() {
                Arc::clone(&me).start(&mut state);
            }
        });
    }
}
