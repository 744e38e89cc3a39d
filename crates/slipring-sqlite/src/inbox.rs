//! Where calls wait to be taken: first come, first served, as many as fit one transaction.

use std::collections::VecDeque;

use parking_lot::{Condvar, Mutex};

/// A queue of tasks, each with a weight.
pub(crate) struct Inbox<T> {
    state: Mutex<State<T>>,
    bell: Condvar,
}

struct State<T> {
    tasks: VecDeque<(T, usize)>,
    weight: usize,
    /// How many threads wait on the bell.
    asleep: usize,
    closed: bool,
}

impl<T> Inbox<T> {
    pub(crate) fn new() -> Inbox<T> {
        let state = State { tasks: VecDeque::new(), weight: 0, asleep: 0, closed: false };
        Inbox { state: Mutex::new(state), bell: Condvar::new() }
    }

    /// Leaves a task; gives it back when nobody will come for it any more.
    pub(crate) fn push(&self, task: T, weight: usize) -> Result<(), T> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(task);
        }
        state.tasks.push_back((task, weight));
        state.weight += weight;
        let wake = state.asleep > 0;
        drop(state);
        if wake {
            self.bell.notify_one();
        }
        Ok(())
    }

    /// Takes what waits, in order, up to `weight_max` or one task.
    pub(crate) fn take(&self, weight_max: usize) -> Vec<T> {
        self.state.lock().take(weight_max)
    }

    /// Puts tasks that were taken back to the head, also when no more are taken on.
    pub(crate) fn put_back(&self, tasks: Vec<(usize, T)>) {
        let mut state = self.state.lock();
        for (weight, task) in tasks.into_iter().rev() {
            state.tasks.push_front((task, weight));
            state.weight += weight;
        }
    }

    /// Takes one task, waiting for it; `None` when the inbox is closed and empty.
    pub(crate) fn wait_for_one(&self) -> Option<T> {
        let mut state = self.state.lock();
        while state.tasks.is_empty() && !state.closed {
            state.asleep += 1;
            self.bell.wait(&mut state);
            state.asleep -= 1;
        }
        state.take(1).pop()
    }

    /// The weight of all that waits; 0 when nothing does.
    pub(crate) fn weight(&self) -> usize {
        self.state.lock().weight
    }

    /// Takes no more tasks; those that wait are still served.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.bell.notify_all();
    }
}

impl<T> State<T> {
    fn take(&mut self, weight_max: usize) -> Vec<T> {
        let mut taken = Vec::with_capacity(self.tasks.len().min(weight_max));
        let mut left = weight_max;
        while let Some((_, weight)) = self.tasks.front() {
            if *weight > left && left < weight_max {
                break;
            }
            left = left.saturating_sub(*weight);
            self.weight -= *weight;
            taken.extend(self.tasks.pop_front().map(|(task, _)| task));
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_takes_in_order_what_fits_and_at_least_one() {
        let inbox = Inbox::new();
        for weight in [100, 3, 4, 5, 1] {
            inbox.push(weight, weight).unwrap();
        }
        assert_eq!((inbox.weight(), inbox.take(10)), (113, vec![100]));
        assert_eq!((inbox.weight(), inbox.take(10)), (13, vec![3, 4]));
        assert_eq!(inbox.take(10), [5, 1]);
        assert_eq!((inbox.weight(), inbox.take(10)), (0, vec![]));
    }

    #[test]
    fn what_is_put_back_is_taken_first() {
        let inbox = Inbox::new();
        for weight in [1, 2, 3] {
            inbox.push(weight, weight).unwrap();
        }
        assert_eq!(inbox.take(3), [1, 2]);
        inbox.put_back(vec![(1, 1), (2, 2)]);
        assert_eq!((inbox.weight(), inbox.take(10)), (6, vec![1, 2, 3]));
    }

    #[test]
    fn a_closed_inbox_serves_what_is_in_and_refuses_more() {
        let inbox = Inbox::new();
        inbox.push(1, 1).unwrap();
        inbox.close();
        assert_eq!(inbox.push(2, 1), Err(2));
        assert_eq!((inbox.wait_for_one(), inbox.wait_for_one()), (Some(1), None));
    }

    #[test]
    fn a_waiting_thread_is_woken_by_a_task() {
        let inbox = Inbox::new();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| inbox.wait_for_one());
            inbox.push(7, 1).unwrap();
            assert_eq!(waiter.join().unwrap(), Some(7));
        });
    }
}
