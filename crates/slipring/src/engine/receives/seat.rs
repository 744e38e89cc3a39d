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
use crate::store::Demand;

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
    /// No receive sits here again: what has entries takes them out, and it gets no more.
    abandoned: bool,
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
    pub(super) generation: u64,
    pub(super) room: u64,
}

/// What a queue answers to a seat.
pub(in super::super) enum Entry {
    /// It is empty; the seat has an entry now.
    Empty,
    /// There may be a message.
    Look(Seen),
    /// There may be a message, and receives that came before wait for it.
    Behind,
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
            abandoned: false,
        }))
    }

    /// There is one more queue, which it has not looked into.
    pub(in super::super) fn grow(&self) {
        let mut inside = self.0.lock();
        let queue = inside.entries.len();
        inside.entries.push(None);
        inside.open.push(queue);
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

    /// Nothing sits here any more. Answers the number of the queue and the entry in it, for each
    /// entry there is; there will be no others.
    pub(in super::super) fn abandon(&self) -> Vec<(usize, Ticket)> {
        let mut inside = self.0.lock();
        inside.abandoned = true;
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

    /// The receive rests in all queues, those of `behind` among them, which are sorted and in which
    /// it gets its entries afterwards; `None` when there are others to look into.
    pub(in super::super) fn rest(
        self: &Arc<Self>,
        demand: Demand,
        behind: &[usize],
    ) -> Option<oneshot::Receiver<Answer>> {
        let mut inside = self.0.lock();
        if !inside.open.iter().all(|queue| behind.binary_search(queue).is_ok()) {
            return None;
        }
        let (mut waiter, answer) = self.waiter(&inside, demand, 0);
        waiter.rested = true;
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
        let (mut waiter, answer) = Waiter::new(demand, Some(Timestamp::MAX));
        waiter.seated = Some(Seated { seat: Arc::clone(self), queue, turn: inside.turn });
        waiter.among_others = true;
        (waiter, answer)
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

    /// There is no entry in the queue `queue` any more, or it gets none: the waiter to tell, if it
    /// rests.
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

    /// Whether a receive rests here that came before `place`.
    pub(super) fn waits_before(&self, place: Ticket) -> bool {
        let inside = self.0.lock();
        matches!(inside.waits, Waits::Rests(_)) && inside.place < place
    }

    /// It has an entry in a queue, or has it at another place. False when it is to have none.
    pub(super) fn entered(&self, queue: usize, entry: Ticket) -> bool {
        let mut inside = self.0.lock();
        if inside.abandoned {
            return false;
        }
        if inside.entries[queue].replace(entry).is_none() {
            inside.open.retain(|open| *open != queue);
        }
        true
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
        inside.waits = Waits::Rests(Waiter { rested: true, ..waiter });
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
    /// Puts a waiter back who stands for a seat.
    pub(super) fn rest_seat(&mut self, mut waiter: Waiter) {
        let Some(Seated { seat, queue, turn }) = waiter.seated.take() else { return };
        waiter.seated = Some(Seated { seat: Arc::clone(&seat), queue, turn });
        if let Some(place) = seat.take_back(waiter, turn) {
            self.insert_seat(&seat, queue, place);
        }
    }
}

impl Receives {
    /// Gives a seat an entry if the queue is empty: it is known to be, or was found so and nothing
    /// has happened since it was `seen`. The queue is number `queue` of the seat, whose receive
    /// came at `place`.
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
            if state.waited_for_before(seat, place) {
                return Entry::Behind;
            }
            return Entry::Look(Seen { generation: state.generation, room: state.room });
        }
        state.insert_seat(seat, queue, place);
        self.list(&mut state);
        Entry::Empty
    }

    /// Gives the seat of a receive that rests an entry behind those that came before it, though the
    /// queue may have a message: the queue looks for it in its turn. If these are gone, the receive
    /// is to look by itself.
    pub(in super::super) fn rest_behind(&self, seat: &Arc<Seat>, queue: usize, place: Ticket) {
        let mut state = self.lock();
        let known_empty = state.empty && state.fresh.is_empty();
        if state.closed.is_some() || !(known_empty || state.waited_for_before(seat, place)) {
            if let Some(waiter) = seat.lose_queue(queue) {
                // A receive that went away needs no answer.
                let _ = waiter.slot.send(Ok(Vec::new()));
            }
            return;
        }
        state.insert_seat(seat, queue, place);
        self.list(&mut state);
        state.look_for_all();
        if state.available > 0 {
            self.start(&mut state);
        }
    }

    /// Whether messages may have become ready since the queue was seen.
    pub(in super::super) fn moved_since(&self, seen: Seen) -> bool {
        self.lock().generation != seen.generation
    }

    /// What the queue is like now, and whether receives wait there that came before `place`, when
    /// the seat's receive came.
    pub(in super::super) fn seen(&self, seat: &Arc<Seat>, place: Ticket) -> (Seen, bool) {
        let state = self.lock();
        let seen = Seen { generation: state.generation, room: state.room };
        (seen, state.waited_for_before(seat, place))
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
}
