//! What a queue keeps of its receives, and the order among them (S2.5).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::clock::monotonic_ns;
use crate::error::Error;

use super::seat::Seat;
use super::{Answer, Ticket, Waiter};

/// So many entries are looked at to find out whether receives rest that came before another one.
const ENTRIES_LOOKED_AT_MAX: usize = 32;

#[derive(Default)]
pub(super) struct State {
    /// Looked and found nothing; in order of arrival.
    pub(super) resting: BTreeMap<Ticket, Resting>,
    /// How many of them are receives over this queue alone.
    pub(super) resting_alone: usize,
    /// Have not looked yet, or look again without a rest; in order of arrival.
    pub(super) fresh: VecDeque<(Ticket, Waiter)>,
    /// Those whose time is over and for whom a pass is awaited, see [`super::overtime`].
    pub(super) overtime: BTreeSet<Ticket>,
    /// The first of those at rest that are being looked after at the moment.
    pub(super) called: Option<Ticket>,
    pub(super) last_ticket: Ticket,
    /// Moves whenever messages may have become ready.
    pub(super) generation: u64,
    /// At most so many messages are ready; a hint that only decides how many to look after. What
    /// others have changed is not in it until it is told.
    pub(super) available: u64,
    /// By how much that grew since the look under way began, which therefore may not have seen
    /// them.
    pub(super) since: u64,
    /// The last look found nothing and the generation has not moved since.
    pub(super) empty: bool,
    /// The last look met the queue's `in_flight_max`, and no lease has ended since it began.
    pub(super) limited: bool,
    /// Moves whenever leases have ended, which makes room below the queue's `in_flight_max`.
    pub(super) room: u64,
    pub(super) driving: bool,
    /// A look is to come, because others kept the queue to themselves at the last one.
    pub(super) looks_later: bool,
    /// How many changes by others it has taken in.
    pub(super) heard: u64,
    /// The next one must be told: receives rest here, or did not long ago.
    pub(super) listed: bool,
    /// How many lists of messages are on their way back.
    pub(super) handing_back: usize,
    pub(super) closed: Option<Closed>,
}

/// The queue was deleted or the engine stopped.
pub(super) struct Closed {
    /// What later receives are refused with.
    pub(super) refusal: Error,
    /// What waits end with, those at rest and those whose look was under way.
    pub(super) ending: Answer,
}

/// What rests.
pub(super) enum Resting {
    /// A receive over this queue alone.
    Alone(Waiter),
    /// The seat of receives over several queues, of which this is the one with the number.
    Seat(Arc<Seat>, usize),
}

impl State {
    /// The place of a receive that comes now.
    pub(super) fn ticket(&mut self) -> Ticket {
        self.last_ticket = (monotonic_ns() << 1).max(self.last_ticket + 2);
        self.last_ticket
    }

    /// Puts a receive over this queue alone to rest.
    pub(super) fn rest(&mut self, ticket: Ticket, mut waiter: Waiter) {
        waiter.rested = true;
        self.resting.insert(ticket, Resting::Alone(waiter));
        self.resting_alone += 1;
    }

    /// Puts a seat among those who rest, at its place or the first free one behind it; but not one
    /// that was abandoned, so that no entry is left of it.
    pub(super) fn insert_seat(&mut self, seat: &Arc<Seat>, queue: usize, place: Ticket) {
        let mut entry = place;
        while self.resting.contains_key(&entry) {
            entry += 2;
        }
        if seat.entered(queue, entry) {
            self.resting.insert(entry, Resting::Seat(Arc::clone(seat), queue));
        }
    }

    /// Takes a receive over this queue alone out of those who rest.
    pub(super) fn take_resting(&mut self, ticket: Ticket) -> Option<Waiter> {
        match self.resting.remove(&ticket)? {
            Resting::Alone(waiter) => {
                self.resting_alone -= 1;
                Some(waiter)
            }
            seat @ Resting::Seat(..) => {
                self.resting.insert(ticket, seat);
                None
            }
        }
    }

    /// Puts a receive at its place among those who are to look.
    pub(super) fn look_next(&mut self, ticket: Ticket, waiter: Waiter) {
        if waiter.rested {
            self.called = Some(self.called.map_or(ticket, |first| first.min(ticket)));
        }
        let at = self.fresh.partition_point(|(other, _)| *other <= ticket);
        self.fresh.insert(at, (ticket, waiter));
    }

    /// Whether receives have waited here since before `place`, those of `own` left out. It may
    /// answer yes where there are many entries and none of them waits.
    pub(super) fn waited_for_before(&self, own: &Arc<Seat>, place: Ticket) -> bool {
        if self.called.is_some_and(|first| first < place) {
            return true;
        }
        let mut before = self.resting.range(..place);
        let waits = before.by_ref().take(ENTRIES_LOOKED_AT_MAX).any(|(_, entry)| match entry {
            Resting::Alone(_) => true,
            Resting::Seat(seat, _) => !Arc::ptr_eq(seat, own) && seat.waits_before(place),
        });
        waits || before.next().is_some()
    }

    /// A look is to come while others rest: it is for these too if something may have happened
    /// that was not told, so that what it finds is theirs first.
    pub(super) fn look_for_all(&mut self) {
        if !self.driving && !self.empty && self.available == 0 && !self.resting.is_empty() {
            self.available = u64::MAX;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::place_now;
    use super::*;

    #[test]
    fn a_seat_that_was_abandoned_leaves_no_entry_behind() {
        let (mut state, seat) = (State::default(), Arc::new(Seat::new(2)));
        seat.sit(place_now());
        state.insert_seat(&seat, 0, place_now());
        assert_eq!(state.resting.len(), 1);
        let entries = seat.abandon();
        assert_eq!(entries.len(), 1);
        // A queue that took the seat's waiter out puts it back, or moves its entry.
        state.insert_seat(&seat, 1, place_now());
        state.insert_seat(&seat, 0, place_now());
        assert!(state.resting.keys().eq([&entries[0].1]));
    }
}
