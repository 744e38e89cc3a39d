//! When each queue has something to do next, and whose turn it is.
//!
//! A [`Schedule`] is one queue's: when its next message is due and when its next lease lapses. The
//! [`Agenda`] has the schedules of an engine in the order of these moments. A queue whose pass was
//! cut short goes behind those whose moment has come meanwhile, so queues take turns.
//!
//! Mostly a deadline is later than the queue's first one, and noting it is a plain load. The lock
//! of the agenda is a leaf: nothing else is taken while it is held but the place of a schedule.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::clock::Timestamp;
use crate::queue::QueueId;
use crate::waits::{NamedMutex, Waits};

/// Order of schedules: a moment in milliseconds, then who came first.
type Key = (u64, u64);

/// The next moments of a queue. Moving one earlier wakes the upkeep.
pub(super) struct Schedule {
    /// `None` for one that stands for all queues together, see
    /// [`crate::store::Capabilities::passes_by_queue`].
    pub(super) queue: Option<QueueId>,
    due: AtomicU64,
    expire: AtomicU64,
    /// Begins and ends of passes: odd while one is under way.
    passes: AtomicU64,
    /// Rung after each pass, and when there will be no more.
    passed: Notify,
    /// The queue is no more.
    retired: AtomicBool,
    /// Locked only under the agenda's lock.
    place: Mutex<Place>,
    agenda: Arc<Agenda>,
}

/// Where a schedule stands in the agenda.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Nowhere,
    At(Key),
    /// Its passes are under way; it is entered again when they end.
    Running,
}

/// One of the two moments of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    Due,
    Expire,
}

/// All schedules of an engine that have a next moment.
pub(super) struct Agenda {
    state: NamedMutex<State>,
    /// Rung when the first moment has changed.
    pub(super) changed: Notify,
    ended: AtomicBool,
}

#[derive(Default)]
struct State {
    moments: BTreeMap<Key, Arc<Schedule>>,
    next: u64,
}

impl State {
    /// Enters a schedule behind all of the same moment; true when it is the first now.
    fn insert(&mut self, schedule: &Arc<Schedule>, place: &mut Place, at_ms: u64) -> bool {
        let key = (at_ms, self.next);
        self.next += 1;
        *place = Place::At(key);
        self.moments.insert(key, Arc::clone(schedule));
        self.moments.first_key_value().is_some_and(|(first, _)| *first == key)
    }
}

impl Schedule {
    /// A schedule without moments.
    pub(super) fn new(queue: Option<QueueId>, agenda: &Arc<Agenda>) -> Arc<Schedule> {
        Arc::new(Schedule {
            queue,
            due: AtomicU64::new(u64::MAX),
            expire: AtomicU64::new(u64::MAX),
            passes: AtomicU64::new(0),
            passed: Notify::new(),
            retired: AtomicBool::new(false),
            place: Mutex::new(Place::Nowhere),
            agenda: Arc::clone(agenda),
        })
    }

    /// A message becomes ready at `at`.
    pub(super) fn due_at(self: &Arc<Self>, at: Timestamp) {
        self.earlier(Moment::Due, at);
    }

    /// A lease lapses at `at`.
    pub(super) fn expire_at(self: &Arc<Self>, at: Timestamp) {
        self.earlier(Moment::Expire, at);
    }

    fn moment(&self, of: Moment) -> &AtomicU64 {
        match of {
            Moment::Due => &self.due,
            Moment::Expire => &self.expire,
        }
    }

    fn earlier(self: &Arc<Self>, of: Moment, at: Timestamp) {
        let (field, at) = (self.moment(of), at.as_millis());
        if at < field.load(Ordering::Acquire) && field.fetch_min(at, Ordering::AcqRel) > at {
            self.agenda.enter(self, at);
        }
    }

    /// Whether a message of the queue may have become ready by `now` without having been moved
    /// there yet.
    pub(super) fn overdue(&self, now: Timestamp) -> bool {
        while !self.over() {
            let passes = self.passes.load(Ordering::SeqCst);
            if passes % 2 == 1 {
                return true;
            }
            let first = self.next();
            // A pass clears its moment for a while: what was read counts only if none was there.
            if self.passes.load(Ordering::SeqCst) == passes {
                return first <= now.as_millis();
            }
        }
        false
    }

    /// Waits for the end of a pass if something is overdue at `now`. Answers whether nothing is,
    /// any more: the passes over it are done or have failed.
    pub(super) async fn pass_ended(&self, now: Timestamp) -> bool {
        let passed = self.passed.notified();
        if self.overdue(now) {
            passed.await;
        }
        !self.overdue(now)
    }

    /// The queue is no more: there will be no pass.
    pub(super) fn retire(&self) {
        self.retired.store(true, Ordering::Release);
        self.agenda.leave(self);
        self.passed.notify_waiters();
    }

    fn over(&self) -> bool {
        self.retired.load(Ordering::Acquire) || self.agenda.ended.load(Ordering::Acquire)
    }

    fn next(&self) -> u64 {
        self.due.load(Ordering::SeqCst).min(self.expire.load(Ordering::SeqCst))
    }

    /// Passes of the queue begin. Only the one that took the schedule from the agenda says so.
    pub(super) fn begin(&self) {
        self.passes.fetch_add(1, Ordering::SeqCst);
    }

    /// Takes a moment that has come by `now`; answers whether it has. It is taken before the store
    /// looks, so that what is scheduled during the pass is not forgotten.
    pub(super) fn take(&self, of: Moment, now: Timestamp) -> bool {
        let come = self.moment(of).load(Ordering::Acquire) <= now.as_millis();
        if come {
            self.moment(of).store(u64::MAX, Ordering::SeqCst);
        }
        come
    }

    /// The pass of `now` over a moment has ended, and the next one has something to do at `next`.
    pub(super) fn put(&self, of: Moment, next: Option<Timestamp>, now: Timestamp) {
        if let Some(next) = next {
            // A pass that was cut short has left what was due at any time before.
            let next = if next <= now { 0 } else { next.as_millis() };
            self.moment(of).fetch_min(next, Ordering::AcqRel);
        }
    }

    /// The passes that began at `now` have ended.
    pub(super) fn end(self: &Arc<Self>, now: Timestamp) {
        self.passes.fetch_add(1, Ordering::SeqCst);
        self.agenda.enter_again(self, now);
        self.passed.notify_waiters();
    }
}

impl Agenda {
    /// An empty agenda.
    pub(super) fn new(waits: &Waits) -> Arc<Agenda> {
        Arc::new(Agenda {
            state: NamedMutex::new(waits.class("agenda_lock"), State::default()),
            changed: Notify::new(),
            ended: AtomicBool::new(false),
        })
    }

    /// Takes the first schedule whose moment has come by `now`; or else says when the next one's
    /// comes. Who takes one ends with [`Schedule::end`].
    pub(super) fn take(&self, now: Timestamp) -> Result<Arc<Schedule>, Timestamp> {
        let mut state = self.state.lock();
        let Some(first) = state.moments.first_entry() else { return Err(Timestamp::MAX) };
        if first.key().0 > now.as_millis() {
            return Err(Timestamp::from_millis(first.key().0));
        }
        let schedule = first.remove();
        *schedule.place.lock() = Place::Running;
        Ok(schedule)
    }

    fn enter(&self, schedule: &Arc<Schedule>, at_ms: u64) {
        let mut state = self.state.lock();
        let mut place = schedule.place.lock();
        match *place {
            Place::Running => return,
            Place::At(known) if known.0 <= at_ms => return,
            Place::At(known) => drop(state.moments.remove(&known)),
            Place::Nowhere => {}
        }
        if !schedule.over() && state.insert(schedule, &mut place, at_ms) {
            self.changed.notify_one();
        }
    }

    /// After its passes: behind all whose moment had come when these began.
    fn enter_again(&self, schedule: &Arc<Schedule>, now: Timestamp) {
        let mut state = self.state.lock();
        let mut place = schedule.place.lock();
        *place = Place::Nowhere;
        // Read under the lock: who moves a moment earlier meanwhile waits for the lock, and finds
        // the place that is made here.
        let next = schedule.next();
        if next < u64::MAX
            && !schedule.over()
            && state.insert(schedule, &mut place, next.max(now.as_millis()))
        {
            self.changed.notify_one();
        }
    }

    fn leave(&self, schedule: &Schedule) {
        let mut state = self.state.lock();
        let mut place = schedule.place.lock();
        if let Place::At(key) = *place {
            *place = Place::Nowhere;
            state.moments.remove(&key);
        }
    }

    /// There will be no more passes, and no more waits for one.
    pub(super) fn end(&self) {
        let mut state = self.state.lock();
        self.ended.store(true, Ordering::Release);
        for schedule in std::mem::take(&mut state.moments).into_values() {
            *schedule.place.lock() = Place::Nowhere;
            schedule.passed.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn agenda(queues: u64) -> (Arc<Agenda>, Vec<Arc<Schedule>>) {
        let agenda = Agenda::new(&Waits::new());
        let of = |id| Schedule::new(Some(QueueId(id)), &agenda);
        let schedules = (1..=queues).map(of).collect();
        (agenda, schedules)
    }

    /// The queue whose turn it is.
    fn turn(agenda: &Agenda, now: u64) -> Option<(u64, Arc<Schedule>)> {
        let schedule = agenda.take(at(now)).ok()?;
        Some((schedule.queue?.0, schedule))
    }

    #[test]
    fn queues_with_much_to_do_take_turns() {
        let (agenda, queues) = agenda(3);
        queues.iter().for_each(|queue| queue.due_at(at(5)));
        let mut order = Vec::new();
        // The clock stands still, which is the hardest case.
        for _ in 0..9 {
            let (id, schedule) = turn(&agenda, 5).unwrap();
            order.push(id);
            schedule.begin();
            assert!(schedule.take(Moment::Due, at(5)) && schedule.overdue(at(5)));
            schedule.put(Moment::Due, Some(at(5)), at(5));
            schedule.end(at(5));
        }
        assert_eq!(order, [1, 2, 3, 1, 2, 3, 1, 2, 3]);
    }

    #[test]
    fn one_whose_passes_run_is_not_taken_twice_and_forgets_nothing() {
        let (agenda, queues) = agenda(1);
        queues[0].due_at(at(5));
        let (_, running) = turn(&agenda, 5).unwrap();
        running.begin();
        assert!(running.take(Moment::Due, at(5)));
        queues[0].due_at(at(4));
        assert!(agenda.take(at(9)).is_err(), "its pass runs");
        running.put(Moment::Due, None, at(5));
        running.end(at(5));
        assert!(queues[0].overdue(at(5)), "what was noted during the pass");
        assert!(turn(&agenda, 5).is_some());
    }

    #[test]
    fn an_earlier_moment_moves_a_queue_and_a_later_one_does_not() {
        let (agenda, queues) = agenda(2);
        queues[0].expire_at(at(50));
        queues[1].due_at(at(40));
        queues[0].due_at(at(60));
        assert_eq!(agenda.take(at(39)).err(), Some(at(40)));
        queues[0].due_at(at(30));
        assert_eq!(turn(&agenda, 45).map(|(id, _)| id), Some(1));
        assert_eq!(turn(&agenda, 45).map(|(id, _)| id), Some(2));
        assert_eq!(agenda.take(at(99)).err(), Some(Timestamp::MAX));
    }

    #[tokio::test]
    async fn nobody_waits_for_a_queue_that_is_gone_or_after_the_end() {
        let (agenda, queues) = agenda(2);
        queues.iter().for_each(|queue| queue.due_at(at(5)));
        assert!(queues.iter().all(|queue| queue.overdue(at(5)) && !queue.overdue(at(4))));
        let (ended, ()) = tokio::join!(queues[0].pass_ended(at(5)), async { queues[0].retire() });
        assert!(ended && queues[1].overdue(at(5)));
        let (ended, ()) = tokio::join!(queues[1].pass_ended(at(5)), async { agenda.end() });
        assert!(ended);
        queues.iter().for_each(|queue| queue.due_at(at(1)));
        assert_eq!(agenda.take(at(9)).err(), Some(Timestamp::MAX));
    }
}
