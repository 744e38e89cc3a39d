//! The jobs one connection holds, and when the first of them runs out. Pure: the time is given.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use slipring::{Receipt, Timestamp};

use super::tube::Tube;

/// In the last second of a reservation its connection is not made to wait for another job.
pub(super) const SAFETY_MARGIN: Duration = Duration::from_secs(1);

/// A job this connection holds.
#[derive(Clone)]
pub(super) struct Reservation {
    pub(super) receipt: Receipt,
    pub(super) deadline: Timestamp,
    pub(super) tube: Arc<Tube>,
}

/// All jobs a connection holds, by id.
#[derive(Default)]
pub(super) struct Reservations {
    by_id: HashMap<u64, Reservation>,
    /// No deadline is earlier than this. It may be earlier than the first deadline after the job
    /// with that deadline left; it is set right only when the moment comes near, or when it is
    /// waited for.
    soonest: Option<Timestamp>,
    /// What had the deadline `soonest` has left, or has another one now.
    stale: bool,
}

impl Reservations {
    pub(super) fn insert(&mut self, id: u64, reservation: Reservation) {
        let deadline = reservation.deadline;
        let before = self.by_id.insert(id, reservation);
        self.stale |= before.is_some_and(|before| Some(before.deadline) == self.soonest);
        self.soonest = Some(self.soonest.map_or(deadline, |soonest| soonest.min(deadline)));
    }

    pub(super) fn get(&self, id: u64) -> Option<&Reservation> {
        self.by_id.get(&id)
    }

    pub(super) fn remove(&mut self, id: u64) -> Option<Reservation> {
        let removed = self.by_id.remove(&id);
        self.stale |= removed.as_ref().is_some_and(|left| Some(left.deadline) == self.soonest);
        if self.by_id.is_empty() {
            self.soonest = None;
        }
        removed
    }

    /// A moment at or before the first deadline; `None` when nothing is held.
    pub(super) fn soonest(&self) -> Option<Timestamp> {
        self.soonest
    }

    /// The first deadline itself.
    fn exact_soonest(&mut self) -> Option<Timestamp> {
        self.soonest = self.by_id.values().map(|held| held.deadline).min();
        self.stale = false;
        self.soonest
    }

    /// When the safety margin of the first reservation to run out begins, exactly: a connection
    /// that waits is told at that moment, and takes it for the truth. Costs a walk over all that is
    /// held when the first deadline has changed.
    pub(super) fn margin_to_wait_for(&mut self, now: Timestamp) -> Option<Timestamp> {
        if self.stale {
            self.exact_soonest();
        }
        self.margin_begins(now)
    }

    /// When the safety margin of the first reservation to run out begins: at this moment or later,
    /// and exactly once it has begun.
    pub(super) fn margin_begins(&mut self, now: Timestamp) -> Option<Timestamp> {
        let near = |at: Timestamp| at <= now.after(SAFETY_MARGIN);
        let soonest = match self.soonest {
            Some(soonest) if near(soonest) => self.exact_soonest()?,
            soonest => soonest?,
        };
        let margin_ms = SAFETY_MARGIN.as_millis() as u64;
        Some(Timestamp::from_millis(soonest.as_millis().saturating_sub(margin_ms)))
    }

    /// Takes out what has run out.
    pub(super) fn take_lapsed(&mut self, now: Timestamp) -> Vec<(u64, Reservation)> {
        if self.soonest.is_none_or(|soonest| now < soonest) {
            return Vec::new();
        }
        let lapsed = self.by_id.extract_if(|_, held| held.deadline <= now).collect();
        self.exact_soonest();
        lapsed
    }

    /// Takes out everything.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = (u64, Reservation)> {
        self.soonest = None;
        std::mem::take(&mut self.by_id).into_iter()
    }
}

#[cfg(test)]
mod tests {
    use slipring::{Fence, MessageId, QueueId};

    use super::*;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn held(deadline_ms: u64) -> Reservation {
        Reservation {
            receipt: Receipt { queue: QueueId(1), message: MessageId(1), fence: Fence(1) },
            deadline: at(deadline_ms),
            tube: Arc::new(Tube::new("t".parse().unwrap(), 0)),
        }
    }

    #[test]
    fn a_job_runs_out_at_its_deadline_and_not_before() {
        let mut jobs = Reservations::default();
        jobs.insert(1, held(5000));
        jobs.insert(2, held(7000));
        assert!(jobs.take_lapsed(at(4999)).is_empty());
        let lapsed = jobs.take_lapsed(at(5000));
        assert_eq!(lapsed.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [1]);
        assert_eq!(jobs.soonest(), Some(at(7000)));
        assert!(jobs.get(2).is_some());
    }

    #[test]
    fn the_margin_begins_one_second_before_the_first_deadline_of_those_still_held() {
        let mut jobs = Reservations::default();
        assert_eq!(jobs.margin_begins(at(0)), None);
        jobs.insert(1, held(5000));
        jobs.insert(2, held(9000));
        assert_eq!(jobs.margin_begins(at(100)), Some(at(4000)));
        jobs.remove(1);
        assert_eq!(jobs.margin_begins(at(4000)), Some(at(8000)));
        jobs.remove(2);
        assert_eq!(jobs.margin_begins(at(4000)), None);
        assert_eq!(jobs.soonest(), None);
    }

    #[test]
    fn the_margin_that_is_waited_for_is_that_of_what_is_held_now() {
        let mut jobs = Reservations::default();
        jobs.insert(1, held(5000));
        jobs.insert(2, held(60_000));
        assert_eq!(jobs.margin_to_wait_for(at(0)), Some(at(4000)));
        // Touched.
        jobs.insert(1, held(8000));
        assert_eq!(jobs.margin_to_wait_for(at(0)), Some(at(7000)));
        jobs.remove(1);
        assert_eq!(jobs.margin_to_wait_for(at(0)), Some(at(59_000)));
        jobs.remove(2);
        assert_eq!(jobs.margin_to_wait_for(at(0)), None);
    }

    #[test]
    fn taking_everything_leaves_nothing() {
        let mut jobs = Reservations::default();
        jobs.insert(1, held(5000));
        assert_eq!(jobs.take_all().count(), 1);
        assert_eq!(jobs.soonest(), None);
    }
}
