//! Who may use how many of the pool's connections, so that none is missing where it is needed most.
//!
//! A quarter of the pool is kept for sends, flushes and looks whether the store can serve. What is
//! asked of one queue takes a quarter at most, or two connections: statements that wait for a
//! queue's lock leave the others of the pool to other queues. Of the statements that wait long for
//! a lock there is one a queue, and they have a quarter of the rest at most.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use slipring::QueueId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// A share of the pool is one in so many of its connections.
const SHARE: usize = 4;
/// A call that needs two seats comes for them so many times before it keeps the first one.
const IN_VAIN_MAX: usize = 4;
/// Shares that nobody uses are forgotten when there are so many more than were in use.
const FORGET_FROM: usize = 1024;

/// What a statement is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seat {
    /// It may use the whole pool.
    Kept,
    /// It sends to a queue: the whole pool is open to it, but for the queue's share.
    Send(QueueId),
    /// It is about a queue.
    Queue(QueueId),
    /// It is about none, or about several.
    Other,
}

/// Held as long as a connection.
#[derive(Debug)]
pub(crate) struct Taken {
    _queue: Option<OwnedSemaphorePermit>,
    _rest: Option<OwnedSemaphorePermit>,
}

/// Held while a statement may wait long for a lock.
#[derive(Debug)]
pub(crate) struct Patient {
    waiting: Arc<Mutex<HashSet<Option<QueueId>>>>,
    whom: Option<QueueId>,
}

impl Drop for Patient {
    fn drop(&mut self) {
        self.waiting.lock().remove(&self.whom);
    }
}

/// The seats of a pool.
#[derive(Debug)]
pub(crate) struct Seats {
    share: usize,
    rest: Arc<Semaphore>,
    queues: Mutex<Queues>,
    /// Whose statements wait long for a lock; nothing stands for those that are about no queue.
    waiting: Arc<Mutex<HashSet<Option<QueueId>>>>,
    waiting_max: usize,
}

#[derive(Debug, Default)]
struct Queues {
    shares: HashMap<QueueId, Weak<Semaphore>>,
    forget_at: usize,
}

impl Seats {
    /// The seats of a pool of so many connections.
    pub(crate) fn of(connections: usize) -> Seats {
        let kept = (connections / SHARE).max(1);
        // A pool of one has nothing to keep.
        let rest = connections.saturating_sub(kept).max(1);
        // A receive and a settlement of one queue do not wait for each other.
        let share = kept.max(2);
        let queues = Queues { shares: HashMap::new(), forget_at: FORGET_FROM };
        Seats {
            share,
            rest: Arc::new(Semaphore::new(rest)),
            queues: Mutex::new(queues),
            waiting: Arc::default(),
            waiting_max: rest / SHARE,
        }
    }

    /// Leave to wait long for a lock, if there is some now: for one statement of a queue, and one
    /// of those about none.
    pub(crate) fn patient(&self, seat: Seat) -> Option<Patient> {
        let whom = match seat {
            Seat::Send(queue) | Seat::Queue(queue) => Some(queue),
            Seat::Kept | Seat::Other => None,
        };
        let mut waiting = self.waiting.lock();
        let free = waiting.len() < self.waiting_max && waiting.insert(whom);
        free.then(|| Patient { waiting: Arc::clone(&self.waiting), whom })
    }

    /// Waits for a seat, at most for `limit`; none where that is over.
    pub(crate) async fn take(&self, seat: Seat, limit: Duration) -> Option<Taken> {
        timeout(limit, self.taken(seat)).await.ok()
    }

    /// A seat for a statement that is about no queue, if there is one now.
    pub(crate) fn try_take(&self) -> Option<Taken> {
        let rest = Arc::clone(&self.rest).try_acquire_owned().ok()?;
        Some(Taken { _queue: None, _rest: Some(rest) })
    }

    async fn taken(&self, seat: Seat) -> Taken {
        // Never closed.
        match seat {
            Seat::Kept => Taken { _queue: None, _rest: None },
            Seat::Send(queue) => {
                let queue = self.share_of(queue).acquire_owned().await.ok();
                Taken { _queue: queue, _rest: None }
            }
            Seat::Other => {
                let rest = Arc::clone(&self.rest).acquire_owned().await.ok();
                Taken { _queue: None, _rest: rest }
            }
            Seat::Queue(queue) => self.both(queue).await,
        }
    }

    /// A part of the queue's share and one of the rest. Neither is kept while the other is waited
    /// for: sends of the queue need the one, other queues the other. After [`IN_VAIN_MAX`] rounds
    /// it keeps a seat of the rest while it waits for the other, so that it ends.
    async fn both(&self, queue: QueueId) -> Taken {
        let share = self.share_of(queue);
        for _ in 0..IN_VAIN_MAX {
            let part = Arc::clone(&share).acquire_owned().await.ok();
            if let Ok(rest) = Arc::clone(&self.rest).try_acquire_owned() {
                return Taken { _queue: part, _rest: Some(rest) };
            }
            drop(part);
            let rest = Arc::clone(&self.rest).acquire_owned().await.ok();
            if let Ok(part) = Arc::clone(&share).try_acquire_owned() {
                return Taken { _queue: Some(part), _rest: rest };
            }
        }
        let rest = Arc::clone(&self.rest).acquire_owned().await.ok();
        Taken { _queue: share.acquire_owned().await.ok(), _rest: rest }
    }

    fn share_of(&self, queue: QueueId) -> Arc<Semaphore> {
        let mut queues = self.queues.lock();
        if let Some(share) = queues.shares.get(&queue).and_then(Weak::upgrade) {
            return share;
        }
        if queues.shares.len() >= queues.forget_at {
            queues.shares.retain(|_, share| share.strong_count() > 0);
            queues.forget_at = queues.shares.len().saturating_add(FORGET_FROM);
        }
        let share = Arc::new(Semaphore::new(self.share));
        queues.shares.insert(queue, Arc::downgrade(&share));
        share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(10);
    const ONE: QueueId = QueueId(1);

    async fn all(seats: &Seats, seat: Seat) -> Vec<Taken> {
        let mut all = Vec::new();
        while let Some(taken) = seats.take(seat, SOON).await {
            all.push(taken);
            assert!(all.len() <= 100, "there is no end");
        }
        all
    }

    #[tokio::test(start_paused = true)]
    async fn a_queue_has_a_quarter_and_leaves_the_rest_to_others() {
        let seats = Seats::of(16);
        let one = all(&seats, Seat::Queue(ONE)).await;
        assert_eq!(one.len(), 4);
        assert_eq!(all(&seats, Seat::Queue(QueueId(2))).await.len(), 4);
        drop(one);
        assert_eq!(all(&seats, Seat::Queue(ONE)).await.len(), 4, "they come back");
    }

    #[tokio::test(start_paused = true)]
    async fn calls_that_wait_for_a_seat_leave_their_queue_s_share_to_its_sends() {
        let seats = Seats::of(4);
        let mut others = all(&seats, Seat::Other).await;
        assert_eq!(others.len(), 3);
        let mut waiting: Vec<_> =
            (0..2).map(|_| Box::pin(seats.take(Seat::Queue(ONE), 100 * SOON))).collect();
        for take in &mut waiting {
            assert!(futures::poll!(take).is_pending());
        }
        assert!(seats.take(Seat::Send(ONE), SOON).await.is_some());
        others.pop();
        let taken = futures::future::select_all(waiting).await.0;
        assert!(taken.is_some(), "one of them has the seat that is free now");
    }

    #[tokio::test(start_paused = true)]
    async fn sends_have_seats_when_everything_else_is_taken() {
        for (connections, others) in [(16, 12), (2, 1), (1, 1)] {
            let seats = Seats::of(connections);
            let taken = all(&seats, Seat::Other).await;
            assert_eq!(taken.len(), others, "of {connections}");
            assert!(seats.try_take().is_none());
            assert!(seats.take(Seat::Queue(ONE), SOON).await.is_none());
            assert!(seats.take(Seat::Send(ONE), SOON).await.is_some());
            assert!(seats.take(Seat::Kept, SOON).await.is_some());
        }
    }

    #[test]
    fn one_statement_of_a_queue_waits_long_and_a_quarter_of_the_rest_in_all() {
        let seats = Seats::of(16);
        let one = seats.patient(Seat::Queue(ONE));
        assert!(one.is_some() && seats.patient(Seat::Send(ONE)).is_none());
        let other = seats.patient(Seat::Other);
        let two = seats.patient(Seat::Queue(QueueId(2)));
        assert!(other.is_some() && two.is_some());
        assert!(seats.patient(Seat::Queue(QueueId(3))).is_none(), "12 / 4");
        drop(one);
        assert!(seats.patient(Seat::Queue(ONE)).is_some());
        assert!(Seats::of(4).patient(Seat::Queue(ONE)).is_none(), "of 3 none is spared");
    }

    #[tokio::test(start_paused = true)]
    async fn shares_that_nobody_uses_are_forgotten() {
        let seats = Seats::of(16);
        let held = seats.take(Seat::Send(ONE), SOON).await;
        for id in 2..5000 {
            drop(seats.take(Seat::Send(QueueId(id)), SOON).await);
        }
        assert!(seats.queues.lock().shares.len() < 2 * FORGET_FROM);
        assert!(held.is_some() && all(&seats, Seat::Send(ONE)).await.len() == 3);
    }
}
