//! The receives of one queue: combined claims, and those who wait (S2.4, S5.4).
//!
//! Each receive has its own wake slot and is served first come, first served. Nothing is claimed
//! ahead of demand. The driver takes the generation number before it looks into the store, and
//! receives are put to rest only if the number has not moved meanwhile, so no wake-up is lost.
//! When messages arrive, as many receives are looked after as there are messages, however many
//! wait. A receive that would end empty while a pass over due messages is owed looks once more
//! after it (S5.5).

mod looks;

pub(super) use looks::is_in_flight_limit;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::Weak;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};

use crate::clock::{Clock, Timestamp, monotonic_ns};
use crate::deal::FAILING_SHARE;
use crate::error::Error;
use crate::message::Delivery;
use crate::queue::QueueId;
use crate::store::{Demand, Store};
use crate::waits::{NamedMutex, WaitClass, Waits};

use super::pending::Pending;
use super::timers::Timers;
use super::turnstile::Turnstile;
use super::upkeep::Schedule;
use super::wheel::TimerKey;

/// Messages that one claim may ask for; bounds how long others wait behind it in the store.
const CLAIM_MESSAGES_MAX: u64 = 8192;

/// The place of a receive in the order of arrival.
pub(super) type Ticket = u64;

/// What a receive ends with.
pub(super) type Answer = Result<Vec<Delivery>, Error>;

/// What the receives of all queues share.
pub(super) struct ReceiveParts {
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) runtime: Handle,
    pub(super) timers: Arc<Timers>,
    pub(super) schedule: Arc<Schedule>,
    pub(super) waiters_max: usize,
    pub(super) turnstile: Arc<Turnstile>,
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
    /// Receives over several queues that went past this one while it had failing messages alone.
    passed_over: AtomicU32,
}

#[derive(Default)]
struct State {
    /// Looked and found nothing; in order of arrival.
    resting: BTreeMap<Ticket, Waiter>,
    /// Have not looked yet; all younger than those who rest.
    fresh: VecDeque<(Ticket, Waiter)>,
    /// Receives over several queues, woken when messages are left over.
    watchers: BTreeMap<Ticket, Arc<Notify>>,
    next_ticket: Ticket,
    /// Moves whenever messages may have become ready.
    generation: u64,
    /// At most so many messages are ready; a hint that only decides how many to look after.
    available: u64,
    /// By how much that grew since the look under way began, which therefore may not have seen
    /// them.
    since: u64,
    /// The last look found nothing and the generation has not moved since.
    empty: bool,
    /// The last look met the queue's `in_flight_max`, and no lease has ended since it began.
    limited: bool,
    /// Moves whenever leases have ended, which makes room below the queue's `in_flight_max`.
    room: u64,
    driving: bool,
    /// How many lists of messages are on their way back.
    handing_back: usize,
    closed: Option<Closed>,
}

/// The queue was deleted or the engine stopped.
struct Closed {
    /// What later receives are refused with.
    refusal: Error,
    /// What waits end with, those at rest and those whose look was under way.
    ending: Answer,
}

struct Waiter {
    demand: Demand,
    slot: oneshot::Sender<Answer>,
    /// `None` for a receive that does not wait.
    until: Option<Timestamp>,
    timer: Option<TimerKey>,
    since_ns: u64,
    /// It has waited for an overdue pass already.
    caught_up: bool,
}

impl Receives {
    pub(super) fn new(queue: QueueId, parts: ReceiveParts, waits: &Waits) -> Arc<Receives> {
        let state = NamedMutex::new(waits.class("receive_queue_lock"), State::default());
        let answered = waits.class("receive_wait");
        Arc::new_cyclic(|me| {
            let (me, idle) = (Weak::clone(me), Notify::new());
            let passed_over = AtomicU32::new(0);
            Receives { queue, parts, me, state, answered, idle, passed_over }
        })
    }

    /// Lets a receive in. It waits until the moment `until`, or not at all.
    pub(super) fn enter(
        self: &Arc<Self>,
        demand: Demand,
        until: Option<Timestamp>,
    ) -> Result<Pending, Error> {
        let (slot, answer) = oneshot::channel();
        let mut waiter =
            Waiter { demand, slot, until, timer: None, since_ns: monotonic_ns(), caught_up: false };
        let mut state = self.state.lock();
        if let Some(closed) = &state.closed {
            return Err(closed.refusal.clone());
        }
        if state.resting.len() + state.fresh.len() >= self.parts.waiters_max {
            let asked = self.parts.waiters_max as u64 + 1;
            return Err(Error::limit("waiters_max", self.parts.waiters_max as u64, asked));
        }
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        if until.is_some() && state.empty && state.fresh.is_empty() {
            waiter.timer = self.arm(until, ticket);
            state.resting.insert(ticket, waiter);
        } else {
            state.fresh.push_back((ticket, waiter));
            self.start(&mut state);
        }
        drop(state);
        Ok(Pending::new(Arc::clone(self), ticket, answer))
    }

    /// Says that `count` messages may have become ready; `u64::MAX` when it is not known how many.
    pub(super) fn notify(&self, count: u64) {
        if count == 0 {
            return;
        }
        let mut state = self.state.lock();
        state.generation += 1;
        state.available = state.available.saturating_add(count);
        state.since = state.since.saturating_add(count);
        state.empty = false;
        if !state.resting.is_empty() || !state.watchers.is_empty() {
            self.start(&mut state);
        }
    }

    /// Says that somebody else may have changed something, here or elsewhere. True when it is worth
    /// finding out whether a message is ready, which [`Receives::notify`] then tells.
    pub(super) fn doubt(&self) -> bool {
        let mut state = self.state.lock();
        state.generation += 1;
        state.empty = false;
        if state.driving || !state.fresh.is_empty() {
            // The look on the way may have come too early; one more puts all in order.
            state.available = u64::MAX;
            state.since = u64::MAX;
            return false;
        }
        !state.resting.is_empty() || !state.watchers.is_empty()
    }

    /// Says that messages left the queue's leases, which matters when the in-flight limit was met,
    /// or is being met by a look that is under way.
    pub(super) fn notify_room(&self) {
        let limited = {
            let mut state = self.state.lock();
            state.room += 1;
            std::mem::take(&mut state.limited)
        };
        if limited {
            self.notify(u64::MAX);
        }
    }

    /// Ends the wait of a receive with nothing, if it still rests; but not while a message may
    /// have become ready by now that a pass has yet to move.
    pub(super) fn time_out(&self, ticket: Ticket) {
        let waiter = self.state.lock().resting.remove(&ticket);
        if let Some(mut waiter) = waiter {
            let now = self.parts.clock.now();
            if !waiter.caught_up && self.parts.schedule.overdue(now) {
                waiter.timer = None;
                self.look_again(vec![waiter], now);
                return;
            }
            self.answered.waited(monotonic_ns().saturating_sub(waiter.since_ns));
            let _ = waiter.slot.send(Ok(Vec::new()));
        }
    }

    /// Says that a receive over several queues has looked and found nothing here that was ready at
    /// that generation.
    pub(super) fn found_empty(&self, generation: u64) {
        let mut state = self.state.lock();
        if state.generation == generation && !state.driving {
            state.available = 0;
        }
    }

    /// Registers a receive over several queues; it is woken once when messages are left over here.
    pub(super) fn watch(&self, bell: &Arc<Notify>) -> (Ticket, u64) {
        let mut state = self.state.lock();
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.watchers.insert(ticket, Arc::clone(bell));
        (ticket, state.generation)
    }

    /// Takes a watcher out, after the look that it was woken for. One that was woken passes the
    /// wake-up on where messages may be left: its look came to nothing, or took from another queue.
    pub(super) fn unwatch(&self, ticket: Ticket) {
        let mut state = self.state.lock();
        if state.watchers.remove(&ticket).is_none() && state.available > 0 {
            let others = !state.watchers.is_empty() || !state.resting.is_empty();
            if others {
                self.start(&mut state);
            }
        }
    }

    /// The number that moves whenever messages may have become ready.
    pub(super) fn generation(&self) -> u64 {
        self.state.lock().generation
    }

    /// Counts that a receive over several queues is about to pass over this one, which has failing
    /// messages alone; answers whether it is this one's turn instead (S11.1).
    pub(super) fn due_after_pass(&self) -> bool {
        let before = self.passed_over.fetch_add(1, Ordering::Relaxed);
        let due = before >= FAILING_SHARE - 1;
        if due {
            self.passed_over.store(0, Ordering::Relaxed);
        }
        due
    }

    /// What waits have ended with and what further receives are refused with, once the queue was
    /// deleted or the engine stopped.
    pub(super) fn closed(&self) -> Option<(Answer, Error)> {
        let state = self.state.lock();
        state.closed.as_ref().map(|closed| (closed.ending.clone(), closed.refusal.clone()))
    }

    /// How many receives wait.
    pub(super) fn waiting(&self) -> usize {
        let state = self.state.lock();
        state.resting.len() + state.fresh.len() + state.watchers.len()
    }

    /// Ends all waits, with nothing or with `error`, and refuses further receives with `refusal`.
    pub(super) fn close(&self, refusal: Error, error: Option<Error>) {
        let mut state = self.state.lock();
        let ending = error.map_or(Ok(Vec::new()), Err);
        state.closed = Some(Closed { refusal, ending: ending.clone() });
        state.generation += 1;
        let resting = std::mem::take(&mut state.resting);
        let fresh = std::mem::take(&mut state.fresh);
        let watchers = std::mem::take(&mut state.watchers);
        drop(state);
        for waiter in resting.into_values().chain(fresh.into_iter().map(|(_, waiter)| waiter)) {
            self.disarm(&waiter);
            let _ = waiter.slot.send(ending.clone());
        }
        for bell in watchers.into_values() {
            bell.notify_one();
        }
    }

    /// Waits until no look is under way and nothing is being handed back; used after
    /// [`Receives::close`].
    pub(super) async fn drained(&self) {
        loop {
            let idle = self.idle.notified();
            tokio::pin!(idle);
            idle.as_mut().enable();
            {
                let state = self.state.lock();
                if !state.driving && state.handing_back == 0 {
                    return;
                }
            }
            idle.await;
        }
    }

    /// Takes a receive out whose caller went away while it rested.
    pub(super) fn leave(&self, ticket: Ticket) {
        let waiter = self.state.lock().resting.remove(&ticket);
        if let Some(waiter) = waiter {
            self.disarm(&waiter);
        }
    }

    fn start(&self, state: &mut State) {
        if state.driving {
            return;
        }
        if let Some(me) = self.me.upgrade() {
            state.driving = true;
            self.parts.runtime.spawn(me.drive());
        }
    }

    fn arm(&self, until: Option<Timestamp>, ticket: Ticket) -> Option<TimerKey> {
        let until = until.filter(|until| *until < Timestamp::MAX)?;
        Some(self.parts.timers.insert(until, Weak::clone(&self.me), ticket))
    }

    fn disarm(&self, waiter: &Waiter) {
        if let Some(key) = waiter.timer {
            self.parts.timers.cancel(key);
        }
    }
}
