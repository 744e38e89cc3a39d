//! Looks into the store on behalf of the receives of a queue, and what they get.

use std::sync::Arc;

use crate::clock::{Timestamp, monotonic_ns};
use crate::error::{Error, ErrorKind, Retry};
use crate::lifecycle::Settlement;
use crate::message::Delivery;
use crate::store::{ClaimBatch, ClaimEnd, SettleBatch};

use super::super::isolated::isolated;
use super::super::portions::of_settlement;
use super::seat::{Called, Seen};
use super::{Receives, Resting, State, Ticket, Waiter};

/// Messages on their way back, or a claim on its way for a receive over several queues.
pub(in super::super) struct HandingBack(Arc<Receives>);

impl Drop for HandingBack {
    fn drop(&mut self) {
        self.0.lock().handing_back -= 1;
        self.0.idle.notify_waiters();
    }
}

/// Whom a look is for, and what counted when it began.
pub(super) struct Chosen {
    pub(super) waiters: Vec<(Ticket, Waiter)>,
    pub(super) generation: u64,
    pub(super) room: u64,
}

/// What a look into the store brought.
pub(super) struct Look {
    pub(super) now: Timestamp,
    pub(super) generation: u64,
    pub(super) room: u64,
    pub(super) end: ClaimEnd,
    /// It gave something, and there may be more: a store bounds what one claim gives. Those who
    /// got nothing look again, which ends, for each of these looks gives something.
    pub(super) cut_short: bool,
}

/// Gives the looking back when a look ends by a fault, and goes on for those who still wait.
pub(super) struct DriveGuard<'a> {
    receives: &'a Receives,
    driving: bool,
}

impl<'a> DriveGuard<'a> {
    /// Of a look that begins now.
    pub(super) fn new(receives: &'a Receives) -> DriveGuard<'a> {
        DriveGuard { receives, driving: true }
    }

    /// The look ended by itself.
    pub(super) fn end(mut self) {
        self.driving = false;
    }
}

impl Drop for DriveGuard<'_> {
    fn drop(&mut self) {
        if !self.driving {
            return;
        }
        let mut state = self.receives.lock();
        state.driving = false;
        state.called = None;
        // It is not known what the look took; those who rest look once more.
        state.generation += 1;
        state.available = u64::MAX;
        state.empty = false;
        if !state.fresh.is_empty() || !state.resting.is_empty() {
            self.receives.start(&mut state);
        }
        drop(state);
        self.receives.idle.notify_waiters();
    }
}

impl State {
    /// Corrects the hint after a look; answers whether nothing has happened since it began.
    fn looked(&mut self, look: &Look) -> bool {
        if look.end == ClaimEnd::InFlightLimit && self.room != look.room {
            // The leases that ended meanwhile are those that the look still counted.
            self.generation += 1;
            self.since = u64::MAX;
        }
        let unmoved = self.generation == look.generation;
        match look.end {
            ClaimEnd::More => {
                self.available = u64::MAX;
                // Also where it was known to be empty: others, or the send that a look went along
                // with, have left something.
                self.empty = false;
            }
            // Those who rest look again when [`Receives::look_later`] says so, or along with the
            // next one that comes, see [`State::look_for_all`].
            ClaimEnd::Held => {
                self.available = self.since;
                self.empty = false;
            }
            ClaimEnd::Drained | ClaimEnd::Paused | ClaimEnd::InFlightLimit => {
                self.limited = look.end == ClaimEnd::InFlightLimit && self.room == look.room;
                // Whatever was ready when it began, it has seen.
                self.available = self.since;
                self.empty = unmoved;
            }
        }
        unmoved
    }

    /// Takes out the first in order of arrival, with its place: of those who have not looked yet
    /// or must look again, and with `rested` of those who rest.
    fn next_waiter(&mut self, rested: bool) -> Option<(Ticket, Waiter)> {
        loop {
            let resting = self.resting.first_key_value().map(|(ticket, _)| *ticket);
            let fresh = self.fresh.front().map(|(ticket, _)| *ticket);
            let resting =
                resting.filter(|resting| rested && fresh.is_none_or(|fresh| *resting < fresh));
            if resting.is_none() {
                return self.fresh.pop_front();
            }
            let (ticket, resting) = self.resting.pop_first()?;
            let (seat, queue) = match resting {
                Resting::Alone(waiter) => {
                    self.resting_alone -= 1;
                    return Some((ticket, waiter));
                }
                Resting::Seat(seat, queue) => (seat, queue),
            };
            match seat.call(queue, ticket) {
                Called::Waiter(waiter) => return Some((ticket, waiter)),
                Called::Later(place) => self.insert_seat(&seat, queue, place),
                Called::Nothing => {}
            }
        }
    }
}

impl Receives {
    /// Looks as long as there are receives to look after.
    pub(super) async fn drive(self: Arc<Self>) {
        let guard = DriveGuard::new(&self);
        loop {
            let _pass = self.parts.turnstile.pass(|| self.to_look_after()).await;
            let Some(Chosen { waiters, generation, room }) = self.choose() else { break };
            let now = self.parts.clock.now();
            let demands = waiters.iter().map(|(_, waiter)| waiter.demand).collect();
            let batch = ClaimBatch { queue: self.queue, now, demands };
            // Other queues may have something for all of them.
            let claimed = match waiters.iter().all(|(_, waiter)| waiter.among_others) {
                true => isolated(self.parts.store.claim_briefly(batch)).await,
                false => isolated(self.parts.store.claim(batch)).await,
            };
            match claimed {
                Ok(claimed) => {
                    let (rest, gave) = self.deal_out(waiters, claimed.deliveries);
                    let cut_short = claimed.end == ClaimEnd::More && gave;
                    let look = Look { now, generation, room, end: claimed.end, cut_short };
                    self.settle_down(&look, rest);
                }
                Err(error) => {
                    if error.retry() == Retry::Unknown {
                        // Messages may be leased all the same; the store knows until when.
                        self.parts.schedule.expire_at(now);
                    }
                    for (_, waiter) in waiters {
                        self.disarm(&waiter);
                        let _ = waiter.slot.send(Err(error.clone()));
                    }
                }
            }
        }
        guard.end();
        self.idle.notify_waiters();
    }

    /// Answers those who got something; the others, and whether there was anything.
    pub(super) fn deal_out(
        &self,
        waiters: Vec<(Ticket, Waiter)>,
        lists: Vec<Vec<Delivery>>,
    ) -> (Vec<(Ticket, Waiter)>, bool) {
        let mut rest = Vec::new();
        let mut lists = lists.into_iter();
        let mut gave = false;
        for (ticket, waiter) in waiters {
            match lists.next() {
                Some(list) if !list.is_empty() => {
                    gave = true;
                    self.deliver(waiter, list);
                }
                _ => rest.push((ticket, waiter)),
            }
        }
        (rest, gave)
    }

    fn to_look_after(&self) -> usize {
        let state = self.lock();
        let resting = state.resting.len();
        state.fresh.len() + usize::try_from(state.available).map_or(resting, |n| n.min(resting))
    }

    /// Picks whom to look after, in order of arrival: of those who rest as many as there may be
    /// messages, and all who have not looked yet or must look again. `None` ends the driving.
    fn choose(&self) -> Option<Chosen> {
        self.choose_from(&mut self.lock())
    }

    /// As [`Receives::choose`], of a state that is held.
    pub(super) fn choose_from(&self, state: &mut State) -> Option<Chosen> {
        let mut chosen: Vec<(Ticket, Waiter)> = Vec::new();
        let (mut wanted, mut called) = (0, None);
        while wanted < self.parts.call_max.messages {
            let rested = wanted < state.available;
            let Some((ticket, waiter)) = state.next_waiter(rested) else { break };
            if waiter.slot.is_closed() {
                self.disarm(&waiter);
                continue;
            }
            wanted += u64::from(waiter.demand.up_to);
            if waiter.rested {
                called = Some(called.map_or(ticket, |first: Ticket| first.min(ticket)));
            }
            chosen.push((ticket, waiter));
        }
        state.called = called;
        if !chosen.is_empty() {
            let (generation, room) = (state.generation, state.room);
            state.since = 0;
            return Some(Chosen { waiters: chosen, generation, room });
        }
        state.driving = false;
        None
    }

    fn deliver(&self, waiter: Waiter, list: Vec<Delivery>) {
        self.disarm(&waiter);
        if let Some(first) = list.iter().map(|d| d.deadline).min() {
            self.parts.schedule.expire_at(first);
        }
        self.answered.waited(monotonic_ns().saturating_sub(waiter.since_ns));
        // Before its caller hears of it. One that goes away this moment is counted all the same.
        if !waiter.slot.is_closed() {
            self.parts.counts.received(list.len() as u64);
        }
        if let Err(Ok(list)) = waiter.slot.send(Ok(list)) {
            self.hand_back(list);
        }
    }

    /// After a look: corrects the hint, and puts those to rest who got nothing and have time.
    pub(super) fn settle_down(&self, look: &Look, rest: Vec<(Ticket, Waiter)>) {
        let overdue = self.parts.schedule.overdue(look.now);
        let mut over = Vec::new();
        let mut early = Vec::new();
        let mut again = Vec::new();
        let mut state = self.lock();
        // Read under the lock: a timer that fires before it is held has found its receive missing,
        // one that fires later finds it.
        let now = self.parts.clock.now();
        let closed = state.closed.as_ref().map(|closed| closed.ending.clone());
        let unmoved = state.looked(look);
        // A pass that ended since the look has moved the generation.
        let owed = matches!(look.end, ClaimEnd::Drained | ClaimEnd::InFlightLimit)
            && (overdue || !unmoved);
        for (ticket, mut waiter) in rest {
            let waits = waiter.until.is_some_and(|until| now < until);
            if waiter.slot.is_closed() || closed.is_some() {
                over.push(waiter);
                continue;
            }
            if waiter.seated.is_some() {
                state.rest_seat(waiter);
                self.list(&mut state);
                continue;
            }
            if !waits && look.cut_short {
                again.push((ticket, waiter));
                continue;
            }
            let awaits_pass = state.overtime.contains(&ticket);
            if !waits && !awaits_pass {
                if !owed || waiter.caught_up {
                    over.push(waiter);
                    continue;
                }
                self.disarm(&waiter);
                waiter.timer = None;
                state.overtime.insert(ticket);
                early.push(ticket);
            } else if waits && waiter.timer.is_none() {
                waiter.timer = self.arm(waiter.until, ticket);
            }
            state.rest(ticket, waiter);
            self.list(&mut state);
        }
        again.into_iter().for_each(|(ticket, waiter)| state.look_next(ticket, waiter));
        if look.end == ClaimEnd::Held && !state.resting.is_empty() {
            self.look_later(&mut state);
        }
        drop(state);
        for waiter in over {
            self.disarm(&waiter);
            self.answered.waited(monotonic_ns().saturating_sub(waiter.since_ns));
            let answer = match (&closed, look.end) {
                (Some(ending), _) => ending.clone(),
                (None, ClaimEnd::InFlightLimit) => Err(in_flight_limit()),
                (None, _) => Ok(Vec::new()),
            };
            let _ = waiter.slot.send(answer);
        }
        if !early.is_empty() {
            self.look_after_pass(early, look.now);
        }
    }

    /// Takes note of what a look over several queues has found here.
    pub(in super::super) fn found(&self, seen: Seen, end: ClaimEnd) {
        let mut state = self.lock();
        if end == ClaimEnd::More {
            return;
        }
        if end == ClaimEnd::Held {
            // Those who rest, and the one who has looked, are looked for in a while.
            return self.look_later(&mut state);
        }
        if end == ClaimEnd::InFlightLimit {
            if state.room != seen.room {
                // The leases that ended meanwhile are those that the look still counted.
                state.generation += 1;
                return;
            }
            state.limited = true;
        }
        if state.generation == seen.generation && !state.driving {
            state.available = 0;
            state.empty = true;
        }
    }

    /// Until what it answers is dropped, [`Receives::drained`] waits. Nobody gets in after
    /// [`Receives::close`].
    pub(in super::super) fn under_way(self: &Arc<Self>) -> Result<HandingBack, Error> {
        let mut state = self.lock();
        if let Some(closed) = &state.closed {
            return Err(closed.refusal.clone());
        }
        state.handing_back += 1;
        Ok(HandingBack(Arc::clone(self)))
    }

    /// Gives claimed messages back that were not taken, their attempt not counted.
    pub(in super::super) fn hand_back(&self, list: Vec<Delivery>) {
        let Some(me) = self.me.upgrade() else { return };
        self.lock().handing_back += 1;
        let back = HandingBack(Arc::clone(&me));
        self.parts.runtime.spawn(async move {
            let _back = back;
            let entries = list.iter().map(|d| (d.receipt, Settlement::HandBack)).collect();
            for entries in me.parts.call_max.deal(entries, |(_, how)| of_settlement(how)) {
                let count = entries.len() as u64;
                let batch = SettleBatch { queue: me.queue, now: me.parts.clock.now(), entries };
                match isolated(me.parts.store.settle(batch)).await {
                    Ok(_) => me.notify(count),
                    // The lease lapses by itself; nothing is lost.
                    Err(error) => {
                        tracing::warn!(%error, queue = %me.queue, count, "could not hand back");
                    }
                }
            }
        });
    }
}

const IN_FLIGHT_MAX: &str = "in_flight_max";

fn in_flight_limit() -> Error {
    Error::new(
        ErrorKind::LimitExceeded,
        "the queue's in_flight_max is reached; settle messages before receiving more",
    )
    .with("limit", IN_FLIGHT_MAX)
}

/// Whether that is what a receive was refused with.
pub(in super::super) fn is_in_flight_limit(error: &Error) -> bool {
    error.kind() == ErrorKind::LimitExceeded
        && error.context().iter().any(|(key, value)| *key == "limit" && value == IN_FLIGHT_MAX)
}
