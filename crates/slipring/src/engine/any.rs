//! Receives over several queues: the best priority first, then the oldest send (S7.6).
//!
//! A receive looks only into the queues in which something may have happened since they were found
//! empty (see [`super::receives::Seat`]). One such queue serves it like the receives of its own;
//! over several of them it claims from all in one call. With none it rests in all of them, and the
//! first that has a message when its turn comes serves it. Where receives wait that came before
//! (S2.5), it does not claim by itself but goes behind them.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use tokio::sync::oneshot;

use crate::clock::Timestamp;
use crate::error::{Error, ErrorKind, Retry};
use crate::message::Delivery;
use crate::queue::QueueId;
use crate::store::{ClaimAny, ClaimEnd, ClaimedAny, Demand};

use super::claiming::{Claiming, hand_back};
use super::isolated::{isolated, unanswered};
use super::queue::{Queue, ReceiveRequest};
use super::receives::{Answer, Entry, Seat, Seen, is_in_flight_limit, place_now};

/// Several queues to receive from as one, which keeps its place in them from one receive to the
/// next: a receive costs as much as the queues that have changed, not as all of them. Dropping it
/// takes it out of all queues.
pub struct Several {
    queues: Vec<Queue>,
    seat: Arc<Seat>,
}

impl fmt::Debug for Several {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Several").field(&self.queues).finish()
    }
}

/// A receive under way.
struct Course {
    request: ReceiveRequest,
    place: u64,
    /// It has waited, so it ends like all that waited when a queue is closed.
    waited: bool,
    /// The queues in which others wait that came before, as the last look has found.
    behind: Vec<usize>,
}

/// The store is asked for the heads of so many queues at a time.
const HEADS_MAX: usize = 1000;

impl Several {
    pub(super) fn new(queues: &[Queue]) -> Several {
        let mut seen = HashSet::new();
        let queues: Vec<_> = queues.iter().filter(|q| seen.insert(q.id())).cloned().collect();
        let seat = Arc::new(Seat::new(queues.len()));
        Several { queues, seat }
    }

    /// Receives from another queue, too, if it is not one of them yet. The place in the others
    /// stays; the next receive looks into the new one.
    pub fn add(&mut self, queue: &Queue) {
        if self.queues.iter().all(|known| known.id() != queue.id()) {
            self.queues.push(queue.clone());
            self.seat.grow();
        }
    }

    /// Receives from all the queues: the best priority first, then the oldest send (S7.6).
    ///
    /// # Errors
    /// As [`Queue::receive`], but a queue whose `in_flight_max` is reached counts as empty;
    /// `Invalid` when there is no queue.
    pub async fn receive(&mut self, request: ReceiveRequest) -> Result<Vec<Delivery>, Error> {
        let Some(first) = self.queues.first() else {
            return Err(Error::new(ErrorKind::Invalid, "a receive needs at least one queue"));
        };
        if self.queues.len() == 1 {
            return first.receive(request).await;
        }
        let until = first.check_receive(&request, "receive")?;
        let services = &first.engine.services;
        let clock = Arc::clone(&services.clock);
        let mut course = Course { request, place: place_now(), waited: false, behind: Vec::new() };
        self.seat.sit(course.place);
        let _sitting = Sitting(&self.seat);
        let mut caught_up = false;
        // When it looked into all queues before it would have ended.
        let mut looked_at = None;
        loop {
            let now = clock.now();
            let wait_until = until.filter(|until| now < *until);
            if let Some(list) = self.look(&mut course, wait_until).await? {
                return Ok(list);
            }
            if let Some(until) = wait_until {
                if let Some(answer) = self.rest(&course)
                    && let Some(list) = self.wait(&mut course, answer, until).await?
                {
                    return Ok(list);
                }
                continue;
            }
            let (found, seen) = self.look_into_all(&course).await?;
            if let Some(list) = found {
                return Ok(list);
            }
            let due = *looked_at.get_or_insert(now);
            let moved = |(at, seen): &(usize, Seen)| {
                let core = &self.queues[*at].core;
                core.schedule.overdue(due) || core.receives.moved_since(*seen)
            };
            if caught_up || !seen.iter().any(moved) {
                return Ok(Vec::new());
            }
            caught_up = true;
            for queue in &self.queues {
                caught_up &= queue.core.schedule.pass_ended(due).await;
                if !caught_up
                    && seen.iter().any(|(at, s)| self.queues[*at].core.receives.moved_since(*s))
                {
                    // The pass may have made ready what it waits for.
                    break;
                }
            }
        }
    }

    /// Looks into the queues that may have a message, and waits where there is only one. `None`
    /// when there was none, or when there is reason to look again. Those in which others came first
    /// are left out.
    async fn look(
        &self,
        course: &mut Course,
        wait_until: Option<Timestamp>,
    ) -> Result<Option<Vec<Delivery>>, Error> {
        let mut open = Vec::new();
        course.behind.clear();
        for at in self.seat.open() {
            match self.queues[at].core.receives.enter_seat(&self.seat, at, course.place, None) {
                Entry::Empty => {}
                Entry::Look(seen) => open.push((at, seen)),
                Entry::Behind => course.behind.push(at),
                Entry::Closed(ending, _) if course.waited => return ending.map(Some),
                Entry::Closed(_, refusal) => return Err(refusal),
            }
        }
        course.behind.sort_unstable();
        match (open.as_slice(), wait_until) {
            ([], _) => Ok(None),
            ([(at, _)], Some(until)) if course.behind.is_empty() => {
                let queue = &self.queues[*at];
                let (waiter, answer) = self.seat.serve(course.request.demand(), *at);
                let entered = queue.core.receives.let_in(waiter, Some(course.place));
                entered.map_err(|error| queue.named(error, "receive"))?;
                self.wait(course, answer, until).await
            }
            ([(at, seen)], None) => {
                let found = self.receive_in_turn(course, *at).await?;
                if found.is_none() {
                    self.found_empty(*at, *seen, course.place);
                }
                Ok(found)
            }
            _ => self.claim(course, open).await,
        }
    }

    /// Looks into all queues, for what was sent just now, here or elsewhere, the seat may not be
    /// told yet. Also answers what they were like before.
    async fn look_into_all(
        &self,
        course: &Course,
    ) -> Result<(Option<Vec<Delivery>>, Vec<(usize, Seen)>), Error> {
        let (mut seen, mut open, mut behind) = (Vec::new(), Vec::new(), Vec::new());
        for (at, queue) in self.queues.iter().enumerate() {
            let (like, others) = queue.core.receives.seen(&self.seat, course.place);
            seen.push((at, like));
            if others {
                behind.push(at);
            } else {
                open.push((at, like));
            }
        }
        let mut found = None;
        if !open.is_empty() {
            found = self.claim(course, open).await?;
        }
        if found.is_none() {
            found = self.receive_behind(course, behind).await?;
        }
        Ok((found, seen))
    }

    /// Receives from queues in which others came first, in its turn there, without a wait: from
    /// those that have a message, the best one first.
    async fn receive_behind(
        &self,
        course: &Course,
        mut behind: Vec<usize>,
    ) -> Result<Option<Vec<Delivery>>, Error> {
        if behind.len() > 1 {
            let services = &self.queues[0].engine.services;
            let mut heads = Vec::new();
            for part in behind.chunks(HEADS_MAX) {
                let ids: Vec<QueueId> = part.iter().map(|at| self.queues[*at].id()).collect();
                let found = services.store.heads(&ids, services.clock.now()).await;
                let found = found.map_err(|error| error.during("receive"))?;
                let found = found.into_iter().zip(part).filter_map(|(head, at)| Some((head?, *at)));
                heads.extend(found);
            }
            heads.sort();
            behind = heads.into_iter().map(|(_, at)| at).collect();
        }
        for at in behind {
            let found = self.receive_in_turn(course, at).await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Receives from one queue behind those that came before, without a wait. `None` when nothing
    /// was left.
    async fn receive_in_turn(
        &self,
        course: &Course,
        at: usize,
    ) -> Result<Option<Vec<Delivery>>, Error> {
        let queue = &self.queues[at];
        let entered = queue.core.receives.enter_at(course.request.demand(), course.place);
        let answer = match entered {
            Ok(pending) => pending.answer().await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(list) => Ok(Some(list).filter(|list| !list.is_empty())),
            Err(error) if is_in_flight_limit(&error) => Ok(None),
            Err(error) => Err(queue.named(error, "receive")),
        }
    }

    /// Rests in all queues. It waits before it gets the entries in those where others came first:
    /// there a queue may look for it at once. `None` when there are queues to look into.
    fn rest(&self, course: &Course) -> Option<oneshot::Receiver<Answer>> {
        let answer = self.seat.rest(course.request.demand(), &course.behind)?;
        for at in &course.behind {
            self.queues[*at].core.receives.rest_behind(&self.seat, *at, course.place);
        }
        Some(answer)
    }

    /// Claims from queues in one call. `None` when they were empty.
    async fn claim(
        &self,
        course: &Course,
        open: Vec<(usize, Seen)>,
    ) -> Result<Option<Vec<Delivery>>, Error> {
        let ids = open.iter().map(|(at, _)| self.queues[*at].id()).collect();
        let claimed = claim_any(&self.queues, ids, course.request.demand()).await?;
        for ((at, seen), end) in open.into_iter().zip(claimed.ends) {
            if end == ClaimEnd::More {
                self.reopen(at);
            } else {
                self.queues[at].core.receives.found(seen, end);
                self.found_empty(at, seen, course.place);
            }
        }
        Ok(Some(claimed.deliveries).filter(|list| !list.is_empty()))
    }

    /// Takes a place in a queue in which nothing was found, unless something has happened since.
    fn found_empty(&self, at: usize, seen: Seen, place: u64) {
        if self.seat.is_open(at) {
            self.queues[at].core.receives.enter_seat(&self.seat, at, place, Some(seen));
        }
    }

    /// Looks into a queue again next time.
    fn reopen(&self, at: usize) {
        if let Some(entry) = self.seat.reopen(at) {
            self.queues[at].core.receives.leave_seat(&self.seat, entry);
        }
    }

    /// Waits for an answer until a moment. `None` when it is over, or to look again.
    async fn wait(
        &self,
        course: &mut Course,
        answer: oneshot::Receiver<Answer>,
        until: Timestamp,
    ) -> Result<Option<Vec<Delivery>>, Error> {
        let mut awaited = Awaited { several: self, answer, done: false };
        let over = async {
            match until {
                Timestamp::MAX => std::future::pending().await,
                until => self.queues[0].engine.services.clock.sleep_to_end(until).await,
            }
        };
        let answer = tokio::select! {
            biased;
            answer = &mut awaited.answer => Some(answer),
            () = over => None,
        };
        let answer = match answer {
            Some(answer) => Some(answer),
            None if self.seat.stand_up() => None,
            // A queue looks for it, and says what it has found.
            None => Some((&mut awaited.answer).await),
        };
        awaited.done = true;
        course.waited = true;
        let dropped = |_| Err(self.queues[0].core.receives.unanswered());
        let list = answer.map_or(Ok(Vec::new()), |answer| answer.unwrap_or_else(dropped))?;
        Ok(Some(list).filter(|list| !list.is_empty()))
    }
}

impl Drop for Several {
    fn drop(&mut self) {
        for (at, entry) in self.seat.abandon() {
            self.queues[at].core.receives.leave_seat(&self.seat, entry);
        }
    }
}

/// Ends a receive that sits.
struct Sitting<'a>(&'a Seat);

impl Drop for Sitting<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// An answer that is waited for; dropping it hands back what it was just given (S2.3).
struct Awaited<'a> {
    several: &'a Several,
    answer: oneshot::Receiver<Answer>,
    done: bool,
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        // As for a receive over one queue: closed first, then what is there is found.
        self.answer.close();
        self.several.seat.leave();
        if let Ok(Ok(list)) = self.answer.try_recv() {
            hand_back(&self.several.queues[0].engine, list);
        }
    }
}

/// Claims from some of the queues; goes on when the caller goes away, and hands back then.
async fn claim_any(
    queues: &[Queue],
    ids: Vec<QueueId>,
    demand: Demand,
) -> Result<ClaimedAny, Error> {
    let Some(first) = queues.first() else { return Err(unanswered()) };
    let (slot, answer) = oneshot::channel::<Result<ClaimedAny, Error>>();
    let engine = Arc::clone(&first.engine);
    // A shutdown waits for it.
    let under_way = first.core.receives.under_way()?;
    first.engine.services.runtime.spawn(async move {
        let _under_way = under_way;
        let services = &engine.services;
        let now = services.clock.now();
        let handed_out = |queue: QueueId, messages: u64, until: Timestamp| {
            if let Some(core) = engine.registry.by_id(queue) {
                core.schedule.expire_at(until);
                core.counts.received(messages);
            }
        };
        let claim = ClaimAny { queues: ids.clone(), now, demand };
        let claimed = isolated(services.store.claim_any(claim)).await;
        match &claimed {
            Ok(claimed) => {
                for delivery in &claimed.deliveries {
                    handed_out(delivery.receipt.queue, 1, delivery.deadline);
                }
            }
            // Messages may be leased all the same; the store knows until when.
            Err(error) if error.retry() == Retry::Unknown => {
                ids.into_iter().for_each(|queue| handed_out(queue, 0, now));
            }
            Err(_) => {}
        }
        if let Err(Ok(claimed)) = slot.send(claimed) {
            hand_back(&engine, claimed.deliveries);
        }
    });
    let claiming = Claiming::new(Arc::clone(&first.engine), answer, |claimed| claimed.deliveries);
    claiming.answer().await.map_err(|error| error.during("receive"))
}
