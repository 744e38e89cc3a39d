//! Where looks wait for a reader: first come, first served.

use std::collections::VecDeque;

use parking_lot::{Condvar, Mutex};

/// A queue of tasks.
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

    /// Leaves a task; gives it back when it would not be taken any more.
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

    /// Takes one task, waiting for it; `None` when the inbox is closed and empty.
    pub(crate) fn wait_for_one(&self) -> Option<T> {
        let mut state = self.state.lock();
        while state.tasks.is_empty() && !state.closed {
            state.asleep += 1;
            self.bell.wait(&mut state);
            state.asleep -= 1;
        }
        state.tasks.pop_front()
    }

    /// Takes no more tasks; those that wait are still served.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.bell.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_inbox_serves_what_is_in_and_refuses_more() {
        let inbox = Inbox::new();
        inbox.push(1).unwrap();
        inbox.close();
        assert_eq!(inbox.push(2), Err(2));
        assert_eq!((inbox.wait_for_one(), inbox.wait_for_one()), (Some(1), None));
    }

    #[test]
    fn a_waiting_thread_is_woken_by_a_task() {
        let inbox = Inbox::new();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| inbox.wait_for_one());
            inbox.push(7).unwrap();
            assert_eq!(waiter.join().unwrap(), Some(7));
        });
    }
}
