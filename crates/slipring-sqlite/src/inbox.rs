//! Where calls wait for a thread: taken first come, first served, as many as fit one transaction.

use std::collections::VecDeque;

use parking_lot::{Condvar, Mutex};

/// A queue of tasks with any number of threads that take from it.
pub(crate) struct Inbox<T> {
    state: Mutex<State<T>>,
    bell: Condvar,
}

struct State<T> {
    tasks: VecDeque<T>,
    /// How many threads wait on the bell.
    asleep: usize,
    closed: bool,
}

impl<T> Inbox<T> {
    pub(crate) fn new() -> Inbox<T> {
        let state = State { tasks: VecDeque::new(), asleep: 0, closed: false };
        Inbox { state: Mutex::new(state), bell: Condvar::new() }
    }

    /// Leaves a task; gives it back when nobody will come for it any more.
    pub(crate) fn push(&self, task: T) -> Result<(), T> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(task);
        }
        state.tasks.push_back(task);
        let wake = state.asleep > 0;
        drop(state);
        if wake {
            self.bell.notify_one();
        }
        Ok(())
    }

    /// Takes what waits, in order, up to `weight_max` or one task; waits for one if there is none
    /// and `wait` is true. False when the inbox is closed and empty.
    pub(crate) fn take(
        &self,
        into: &mut Vec<T>,
        weight_max: usize,
        weigh: impl Fn(&T) -> usize,
        wait: bool,
    ) -> bool {
        let mut state = self.state.lock();
        while wait && state.tasks.is_empty() && !state.closed {
            state.asleep += 1;
            self.bell.wait(&mut state);
            state.asleep -= 1;
        }
        let mut left = weight_max;
        while let Some(task) = state.tasks.front() {
            let weight = weigh(task);
            if weight > left && left < weight_max {
                break;
            }
            left = left.saturating_sub(weight);
            into.extend(state.tasks.pop_front());
        }
        !(state.closed && into.is_empty())
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.state.lock().tasks.is_empty()
    }

    /// Takes no more tasks; those that wait are still served.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.bell.notify_all();
    }

    /// Takes no more tasks and gives back those that wait.
    pub(crate) fn abandon(&self) -> VecDeque<T> {
        let mut state = self.state.lock();
        state.closed = true;
        let left = std::mem::take(&mut state.tasks);
        drop(state);
        self.bell.notify_all();
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(inbox: &Inbox<usize>, weight_max: usize) -> Vec<usize> {
        let mut into = Vec::new();
        inbox.take(&mut into, weight_max, |weight| *weight, false);
        into
    }

    #[test]
    fn a_turn_takes_in_order_what_fits_and_at_least_one() {
        let inbox = Inbox::new();
        for weight in [100, 3, 4, 5, 1] {
            inbox.push(weight).unwrap();
        }
        assert_eq!(taken(&inbox, 10), [100]);
        assert_eq!(taken(&inbox, 10), [3, 4]);
        assert_eq!(taken(&inbox, 10), [5, 1]);
        assert!(taken(&inbox, 10).is_empty());
    }

    #[test]
    fn a_closed_inbox_serves_what_is_in_and_refuses_more() {
        let inbox = Inbox::new();
        inbox.push(1).unwrap();
        inbox.close();
        assert_eq!(inbox.push(2), Err(2));
        let mut into = Vec::new();
        assert!(inbox.take(&mut into, 10, |w| *w, true));
        into.clear();
        assert!(!inbox.take(&mut into, 10, |w| *w, true));
    }

    #[test]
    fn a_waiting_thread_is_woken_by_a_task() {
        let inbox = Inbox::new();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let mut into = Vec::new();
                inbox.take(&mut into, 10, |w| *w, true);
                into
            });
            inbox.push(7).unwrap();
            assert_eq!(waiter.join().unwrap(), [7]);
        });
    }
}
