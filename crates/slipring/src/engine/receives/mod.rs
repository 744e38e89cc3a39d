//! The receives of one queue: combined claims, and those who wait (S2.4, S5.4).
//!
//! Each receive has its own wake slot and is served first come, first served. Nothing is claimed
//! ahead of demand. The driver takes the generation number before it looks into the store, and
//! receives are put to rest only if the number has not moved meanwhile, so no wake-up is lost.
//! When messages arrive, as many receives are looked after as there are messages, however many
//! wait. A receive that would end empty while a pass over due messages is owed looks once more
//! after it (S5.5). A receive over several queues rests in the same order as the others (S2.5).

mod along;
mod looks;
mod overtime;
mod seat;
mod state;

pub(super) use along::Along;
pub(super) use looks::is_in_flight_limit;
pub(super) use overtime::EndOfWait;
pub(super) use seat::{Entry, Seat, Seen, place_now};

use std::sync::{Arc, Weak};

use parking_lot::MutexGuard;
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};

use crate::clock::{Clock, Timestamp, monotonic_ns};
use crate::error::Error;
use crate::message::Delivery;
use crate::queue::QueueId;
use crate::store::{Demand, Store};
use crate::timers::{TimerKey, Timers};
use crate::waits::{NamedMutex, WaitClass, Waits};

use self::seat::Seated;
use self::state::{Closed, Resting, State};
use super::counts::Counts;
use super::doubts::Doubts;
use super::isolated::unanswered;
use super::pending::Pending;
use super::portions::CallSize;
use super::schedule::Schedule;
use super::turnstile::Turnstile;

/// The place of a receive in the order of arrival: twice the nanoseconds of the process at which it
/// came, and one more where it is a receive over several queues. So places of different queues
/// compare, and those of receives over one queue are its own.
pub(super) type Ticket = u64;

/// What a receive ends with.
pub(super) type Answer = Result<Vec<Delivery>, Error>;

/// What the receives of all queues share.
pub(super) struct ReceiveParts {
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) runtime: Handle,
    pub(super) timers: Arc<Timers<EndOfWait>>,
    pub(super) schedule: Arc<Schedule>,
    pub(super) doubts: Arc<Doubts>,
    pub(super) waiters_max: usize,
    /// The largest store call; bounds how long others wait behind it.
    pub(super) call_max: CallSize,
    pub(super) turnstile: Arc<Turnstile>,
    pub(super) counts: Arc<Counts>,
}

/// The receives of one queue.
pub(super) struct Receives {
    queue: QueueId,
    parts: ReceiveParts,
    me: Weak<Receives>,
    state: NamedMutex<State>,
    answered: Arc<WaitClass>,
    /// Rung when a look or a hand-back is over.
    idle: Notify,
}

/// A receive that waits for its answer.
pub(super) struct Waiter {
    demand: Demand,
    slot: oneshot::Sender<Answer>,
    /// `None` for a receive that does not wait.
    until: Option<Timestamp>,
    timer: Option<TimerKey>,
    since_ns: u64,
    /// It has waited for an overdue pass already, or its caller does.
    caught_up: bool,
    /// It has been at rest.
    rested: bool,
    /// The seat it stands for, if it is a receive over several queues.
    seated: Option<Seated>,
    /// It is a receive over several queues: others may have something for it.
    among_others: bool,
}

impl Waiter {
    /// A receive that comes now, and where its answer arrives.
    fn new(demand: Demand, until: Option<Timestamp>) -> (Waiter, oneshot::Receiver<Answer>) {
        let (slot, answer) = oneshot::channel();
        let since_ns = monotonic_ns();
        let waiter = Waiter {
            demand,
            slot,
            until,
            timer: None,
            since_ns,
            caught_up: false,
            rested: false,
            seated: None,
            among_others: false,
        };
        (waiter, answer)
    }
}

impl Receives {
    pub(super) fn new(queue: QueueId, parts: ReceiveParts, waits: &Waits) -> Arc<Receives> {
        let state = NamedMutex::new(waits.class("receive_queue_lock"), State::default());
        let answered = waits.class("receive_wait");
        Arc::new_cyclic(|me| {
            let (me, idle) = (Weak::clone(me), Notify::new());
            Receives { queue, parts, me, state, answered, idle }
        })
    }

    /// Lets a receive in. It waits until the moment `until`, or not at all.
    pub(super) fn enter(
        self: &Arc<Self>,
        demand: Demand,
        until: Option<Timestamp>,
    ) -> Result<Pending, Error> {
        let (waiter, answer) = Waiter::new(demand, until);
        let ticket = self.let_in(waiter, None)?;
        Ok(Pending::new(Arc::clone(self), ticket, answer))
    }

    /// Lets a receive over several queues in that has come at `place` and looks once, without a
    /// wait for a pass.
    pub(super) fn enter_at(
        self: &Arc<Self>,
        demand: Demand,
        place: Ticket,
    ) -> Result<Pending, Error> {
        let (mut waiter, answer) = Waiter::new(demand, None);
        (waiter.caught_up, waiter.among_others) = (true, true);
        let ticket = self.let_in(waiter, Some(place))?;
        Ok(Pending::new(Arc::clone(self), ticket, answer))
    }

    /// Lets a receive in that has its slot, and its place if it came before.
    pub(super) fn let_in(
        &self,
        mut waiter: Waiter,
        place: Option<Ticket>,
    ) -> Result<Ticket, Error> {
        let mut state = self.lock();
        if let Some(closed) = &state.closed {
            return Err(closed.refusal.clone());
        }
        if state.resting_alone + state.fresh.len() >= self.parts.waiters_max {
            let asked = self.parts.waiters_max as u64 + 1;
            return Err(Error::limit("waiters_max", self.parts.waiters_max as u64, asked));
        }
        let ticket = place.unwrap_or_else(|| state.ticket());
        let rests = waiter.until.is_some() && state.empty && state.fresh.is_empty();
        if rests && waiter.seated.is_some() {
            state.rest_seat(waiter);
            self.list(&mut state);
        } else if rests {
            waiter.timer = self.arm(waiter.until, ticket);
            state.rest(ticket, waiter);
            self.list(&mut state);
        } else {
            state.look_for_all();
            state.look_next(ticket, waiter);
            self.start(&mut state);
        }
        Ok(ticket)
    }

    /// Says that `count` messages may have become ready; `u64::MAX` when it is not known how many.
    pub(super) fn notify(&self, count: u64) {
        if count == 0 {
            return;
        }
        let mut state = self.lock();
        state.generation += 1;
        state.available = state.available.saturating_add(count);
        state.since = state.since.saturating_add(count);
        state.empty = false;
        if !state.resting.is_empty() {
            self.start(&mut state);
        }
    }

    /// Says that others may have changed something, here or elsewhere. True when it is worth
    /// finding out whether a message is ready, which [`Receives::notify`] then tells.
    pub(super) fn doubt(&self) -> bool {
        let mut state = self.lock();
        if state.driving || !state.fresh.is_empty() {
            // Those who rest came before the one who looks.
            state.available = u64::MAX;
            state.since = u64::MAX;
            return false;
        }
        let waits = !state.resting.is_empty();
        if !waits && std::mem::take(&mut state.listed) {
            self.parts.doubts.unlist(self.queue);
        }
        waits
    }

    /// The state, with the changes by others taken in.
    fn lock(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        self.hear(&mut state);
        state
    }

    /// Takes in what others have changed; answers whether they have.
    fn hear(&self, state: &mut State) -> bool {
        let count = self.parts.doubts.count();
        if std::mem::replace(&mut state.heard, count) == count {
            return false;
        }
        state.generation += 1;
        state.empty = false;
        if state.driving || !state.fresh.is_empty() {
            // The look on the way may have come too early; one more puts all in order.
            state.available = u64::MAX;
            state.since = u64::MAX;
        }
        true
    }

    /// Receives rest here: the next change by others must be told. One that came before they were
    /// listed was told to none.
    fn list(&self, state: &mut State) {
        if state.listed {
            return;
        }
        state.listed = true;
        self.parts.doubts.list(self.queue, Weak::clone(&self.me));
        if self.hear(state) {
            state.available = u64::MAX;
            self.start(state);
        }
    }

    /// Says that messages left the queue's leases, which matters when the in-flight limit was met,
    /// or is being met by a look that is under way.
    pub(super) fn notify_room(&self) {
        let limited = {
            let mut state = self.lock();
            state.room += 1;
            std::mem::take(&mut state.limited)
        };
        if limited {
            self.notify(u64::MAX);
        }
    }

    /// Whose receives they are.
    pub(super) fn queue(&self) -> QueueId {
        self.queue
    }

    /// How many receives wait.
    pub(super) fn waiting(&self) -> usize {
        let state = self.lock();
        let seats = state.resting.values().filter(|resting| match resting {
            Resting::Alone(_) => false,
            Resting::Seat(seat, _) => seat.rests(),
        });
        state.resting_alone + state.fresh.len() + seats.count()
    }

    /// Ends all waits, with nothing or with `error`, and refuses further receives with `refusal`.
    pub(super) fn close(&self, refusal: Error, error: Option<Error>) {
        let mut state = self.lock();
        let ending = error.map_or(Ok(Vec::new()), Err);
        state.closed = Some(Closed { refusal, ending: ending.clone() });
        state.generation += 1;
        let resting = std::mem::take(&mut state.resting);
        state.resting_alone = 0;
        let fresh = std::mem::take(&mut state.fresh);
        if std::mem::take(&mut state.listed) {
            self.parts.doubts.unlist(self.queue);
        }
        // Under the lock, so that no seat takes a queue for open that it was not told about.
        let resting: Vec<Waiter> = resting
            .into_values()
            .filter_map(|resting| match resting {
                Resting::Alone(waiter) => Some(waiter),
                Resting::Seat(seat, queue) => seat.lose_queue(queue),
            })
            .collect();
        drop(state);
        for waiter in resting.into_iter().chain(fresh.into_iter().map(|(_, waiter)| waiter)) {
            self.disarm(&waiter);
            let _ = waiter.slot.send(ending.clone());
        }
    }

    /// What a receive ends with that a fault has left without an answer.
    pub(super) fn unanswered(&self) -> Error {
        let state = self.lock();
        state.closed.as_ref().map_or_else(unanswered, |closed| closed.refusal.clone())
    }

    /// Waits until no look is under way and nothing is being handed back; used after
    /// [`Receives::close`].
    pub(super) async fn drained(&self) {
        loop {
            let idle = self.idle.notified();
            tokio::pin!(idle);
            idle.as_mut().enable();
            {
                let state = self.lock();
                if !state.driving && state.handing_back == 0 {
                    return;
                }
            }
            idle.await;
        }
    }

    /// Takes a receive out whose caller went away while it rested.
    pub(super) fn leave(&self, ticket: Ticket) {
        let waiter = self.lock().take_resting(ticket);
        if let Some(waiter) = waiter {
            self.disarm(&waiter);
        }
    }

    fn start(&self, state: &mut State) {
        if state.driving {
            return;
        }
        if let Some(me) = self.me.upgrade() {
            self.begin(me, state);
        }
    }

    /// Begins to look. Where the engine's runtime has ended nobody does, and [`Receives::close`]
    /// tells those who wait.
    fn begin(&self, me: Arc<Receives>, state: &mut State) {
        // It takes the lock that is held here: a look that is over by now has not begun.
        state.driving = !self.parts.runtime.spawn(me.drive()).is_finished();
    }

    fn arm(&self, until: Option<Timestamp>, ticket: Ticket) -> Option<TimerKey> {
        let until = until.filter(|until| *until < Timestamp::MAX)?;
        let end = EndOfWait { receives: Weak::clone(&self.me), ticket };
        Some(self.parts.timers.insert(until, end))
    }

    fn disarm(&self, waiter: &Waiter) {
        if let Some(key) = waiter.timer {
            self.parts.timers.cancel(key);
        }
    }
}
