//! The place of a receive over several queues in the order of each of them (S7.6).
//!
//! A seat has an entry among those who rest in every queue that it has found empty, and keeps it
//! from one receive to the next. A queue that may have a message takes the entry out, whether the
//! seat waits or not, and the seat remembers the queue's number as one to look into. So a receive
//! looks only into queues in which something has happened since it found them empty.
//!
//! One queue at a time looks for a seat: it takes the waiter out. Another one that wants it
//! meanwhile disturbs the seat, whose receive then looks again if the first look finds nothing.
//!
//! Lock order: a queue's receive lock → a seat's lock.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::clock::{Timestamp, monotonic_ns};
use crate::store::{ClaimEnd, Demand};

use super::{Answer, Receives, Resting, State, Ticket, Waiter};

/// A receive over several queues as each of them sees it.
pub(in super::super) struct Seat(Mutex<Inside>);

struct Inside {
    waits: Waits,
    /// When the receive came; it keeps its place however often it looks.
    place: Ticket,
    /// The receive that sits here now; answers for earlier ones are not for it.
    turn: u64,
    /// The entry in each queue; `None` in those to look into.
    entries: Vec<Option<Ticket>>,
    /// The numbers of the queues to look into.
    open: Vec<usize>,
    /// A queue wanted the waiter while another one looked for it.
    disturbed: bool,
}

enum Waits {
    /// No receive is under way, or it looks by itself.
    No,
    /// It rests in all queues.
    Rests(Waiter),
    /// A queue looks for it.
    Served,
}

/// Where a waiter comes from that stands for a seat.
pub(super) struct Seated {
    pub(super) seat: Arc<Seat>,
    /// The number of the queue that looks for it.
    pub(super) queue: usize,
    turn: u64,
}

/// What an entry stands for at the moment.
pub(super) enum Called {
    /// A receive that came at this place, later than the entry.
    Later(Ticket),
    /// Nothing to serve.
    Nothing,
    /// A receive to look for.
    Waiter(Waiter),
}

/// What a queue was like before a look into it.
#[derive(Clone, Copy)]
pub(in super::super) struct Seen {
    generation: u64,
    room: u64,
}

/// What a queue answers to a seat.
pub(in super::super) enum Entry {
    /// It is empty; the seat has an entry now.
    Empty,
    /// There may be a message.
    Look(Seen),
    /// The queue was deleted or the engine stopped: what waits ended with, and the refusal.
    Closed(Answer, crate::error::Error),
}

/// The place of a receive that comes now.
pub(in super::super) fn place_now() -> Ticket {
    (monotonic_ns() << 1) | 1
}

impl Seat {
    /// A seat at so many queues, none of which it has looked into.
    pub(in super::super) fn new(queues: usize) -> Seat {
        Seat(Mutex::new(Inside {
            waits: Waits::No,
            place: 0,
            turn: 0,
            entries: vec![None; queues],
            open: (0..queues).collect(),
            disturbed: false,
        }))
    }

    /// The numbers of the queues to look into.
    pub(in super::super) fn open(&self) -> Vec<usize> {
        self.0.lock().open.clone()
    }

    /// Whether a queue is to be looked into.
    pub(in super::super) fn is_open(&self, queue: usize) -> bool {
        self.0.lock().entries[queue].is_none()
    }

    /// A queue is to be looked into again: the entry in it, which is to be taken out.
    pub(in super::super) fn reopen(&self, queue: usize) -> Option<Ticket> {
        let mut inside = self.0.lock();
        let entry = inside.entries[queue];
        inside.lose(queue);
        entry
    }

    /// The number of the queue and the entry in it, for each entry there is.
    pub(in super::super) fn entries(&self) -> Vec<(usize, Ticket)> {
        let inside = self.0.lock();
        let entries = inside.entries.iter().enumerate();
        entries.filter_map(|(queue, entry)| entry.map(|entry| (queue, entry))).collect()
    }

    /// A receive sits down; it came at `place`.
    pub(in super::super) fn sit(&self, place: Ticket) {
        let mut inside = self.0.lock();
        inside.turn += 1;
        inside.place = place;
        inside.waits = Waits::No;
        inside.disturbed = false;
    }

    /// The receive rests in all queues; `None` when there are queues to look into.
    pub(in super::super) fn rest(
        self: &Arc<Self>,
        demand: Demand,
    ) -> Option<oneshot::Receiver<Answer>> {
        let mut inside = self.0.lock();
        if !inside.open.is_empty() {
            return None;
        }
        let (waiter, answer) = self.waiter(&inside, demand, 0);
        inside.waits = Waits::Rests(waiter);
        Some(answer)
    }

    /// A waiter for the queue with this number, which looks for it from now on.
    pub(in super::super) fn serve(
        self: &Arc<Self>,
        demand: Demand,
        queue: usize,
    ) -> (Waiter, oneshot::Receiver<Answer>) {
        let mut inside = self.0.lock();
        inside.waits = Waits::Served;
        inside.disturbed = false;
        self.waiter(&inside, demand, queue)
    }

    /// It waits without an end: the receive itself keeps the time.
    fn waiter(
        self: &Arc<Self>,
        inside: &Inside,
        demand: Demand,
        queue: usize,
    ) -> (Waiter, oneshot::Receiver<Answer>) {
        let (slot, answer) = oneshot::channel();
        let seated = Seated { seat: Arc::clone(self), queue, turn: inside.turn };
        let until = Some(Timestamp::MAX);
        let since_ns = monotonic_ns();
        let (timer, caught_up) = (None, false);
        let seated = Some(seated);
        (Waiter { demand, slot, until, timer, since_ns, caught_up, seated }, answer)
    }

    /// The receive does not wait any longer. False while a queue looks for it, which then ends the
    /// wait.
    pub(in super::super) fn stand_up(&self) -> bool {
        let mut inside = self.0.lock();
        inside.disturbed = true;
        let served = matches!(inside.waits, Waits::Served);
        if !served {
            inside.waits = Waits::No;
        }
        !served
    }

    /// Nothing is to be looked for any more.
    pub(in super::super) fn leave(&self) {
        let mut inside = self.0.lock();
        inside.turn += 1;
        inside.waits = Waits::No;
    }

    /// The queue `queue` has taken the entry `entry` out, for it may have a message.
    pub(super) fn call(&self, queue: usize, entry: Ticket) -> Called {
        let mut inside = self.0.lock();
        if let Waits::Rests(_) = &inside.waits
            && inside.place > entry
        {
            return Called::Later(inside.place);
        }
        inside.lose(queue);
        match std::mem::replace(&mut inside.waits, Waits::No) {
            Waits::Rests(mut waiter) if !waiter.slot.is_closed() => {
                inside.waits = Waits::Served;
                inside.disturbed = false;
                if let Some(seated) = &mut waiter.seated {
                    seated.queue = queue;
                }
                Called::Waiter(waiter)
            }
            Waits::Served => {
                inside.waits = Waits::Served;
                inside.disturbed = true;
                Called::Nothing
            }
            Waits::No | Waits::Rests(_) => Called::Nothing,
        }
    }

    /// The queue `queue` is no more, with the entry in it: the waiter to tell, if it rests.
    pub(super) fn lose_queue(&self, queue: usize) -> Option<Waiter> {
        let mut inside = self.0.lock();
        inside.lose(queue);
        inside.disturbed = true;
        match std::mem::replace(&mut inside.waits, Waits::No) {
            Waits::Rests(waiter) => Some(waiter),
            other => {
                inside.waits = other;
                None
            }
        }
    }

    /// Whether a receive rests here, and not for a queue that looks for it.
    pub(super) fn rests(&self) -> bool {
        matches!(self.0.lock().waits, Waits::Rests(_))
    }

    fn entered(&self, queue: usize, entry: Ticket) {
        let mut inside = self.0.lock();
        inside.entries[queue] = Some(entry);
        inside.open.retain(|open| *open != queue);
    }

    pub(super) fn moved(&self, queue: usize, entry: Ticket) {
        self.0.lock().entries[queue] = Some(entry);
    }

    /// Takes a waiter back for which its queue found nothing: the place where it rests on. `None`
    /// when nothing waits here any more, or the receive was told to look again.
    fn take_back(&self, waiter: Waiter, turn: u64) -> Option<Ticket> {
        let mut inside = self.0.lock();
        if inside.turn != turn || waiter.slot.is_closed() {
            return None;
        }
        let one_open = inside.open.len() == 1;
        if std::mem::take(&mut inside.disturbed) || !one_open {
            inside.waits = Waits::No;
            // A receive that went away needs no answer.
            let _ = waiter.slot.send(Ok(Vec::new()));
            return None;
        }
        inside.waits = Waits::Rests(waiter);
        Some(inside.place)
    }
}

impl Inside {
    fn lose(&mut self, queue: usize) {
        if self.entries[queue].take().is_some() {
            self.open.push(queue);
        }
    }
}

impl State {
    /// Puts a seat among those who rest, at its place or the first free one behind it.
    pub(super) fn insert_seat(&mut self, seat: &Arc<Seat>, queue: usize, place: Ticket) -> Ticket {
        let mut entry = place;
        while self.resting.contains_key(&entry) {
            entry += 2;
        }
        self.resting.insert(entry, Resting::Seat(Arc::clone(seat), queue));
        entry
    }

    /// Puts a waiter back who stands for a seat.
    pub(super) fn rest_seat(&mut self, mut waiter: Waiter) {
        let Some(Seated { seat, queue, turn }) = waiter.seated.take() else { return };
        waiter.seated = Some(Seated { seat: Arc::clone(&seat), queue, turn });
        if let Some(place) = seat.take_back(waiter, turn) {
            let entry = self.insert_seat(&seat, queue, place);
            seat.entered(queue, entry);
        }
    }
}

impl Receives {
    /// Gives a seat an entry if the queue is empty: it is known to be, or was found so and nothing
    /// has happened since it was `seen`. The queue is number `queue` of the seat.
    pub(in super::super) fn enter_seat(
        &self,
        seat: &Arc<Seat>,
        queue: usize,
        place: Ticket,
        seen: Option<Seen>,
    ) -> Entry {
        let mut state = self.lock();
        if let Some(closed) = &state.closed {
            return Entry::Closed(closed.ending.clone(), closed.refusal.clone());
        }
        let found_empty = seen.is_some_and(|seen| seen.generation == state.generation);
        if !(found_empty || state.empty && state.fresh.is_empty()) {
            return Entry::Look(Seen { generation: state.generation, room: state.room });
        }
        let entry = state.insert_seat(seat, queue, place);
        seat.entered(queue, entry);
        self.list(&mut state);
        Entry::Empty
    }

    /// Whether messages may have become ready since the queue was seen.
    pub(in super::super) fn moved_since(&self, seen: Seen) -> bool {
        self.lock().generation != seen.generation
    }

    /// What the queue is like now.
    pub(in super::super) fn seen(&self) -> Seen {
        let state = self.lock();
        Seen { generation: state.generation, room: state.room }
    }

    /// Takes the entry of a seat out.
    pub(in super::super) fn leave_seat(&self, seat: &Arc<Seat>, entry: Ticket) {
        let mut state = self.lock();
        // A look may have taken it out, and another seat may stand there by now.
        if let Some(Resting::Seat(other, _)) = state.resting.get(&entry)
            && Arc::ptr_eq(other, seat)
        {
            state.resting.remove(&entry);
        }
    }

    /// Takes note of what a look over several queues has found here.
    pub(in super::super) fn found(&self, seen: Seen, end: ClaimEnd) {
        let mut state = self.lock();
        if end == ClaimEnd::More {
            return;
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
}
