//! The work of handlers: to wait for a length of time, which is kept to about 0.1 ms. The timer of
//! the runtime has steps of a millisecond and rounds up, so that by it work of 1 ms takes two.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

/// Work of this length or longer is timed by the runtime.
const COARSE: Duration = Duration::from_millis(100);
/// The kernel may end a wait so much late, in nanoseconds.
const SLACK_NS: u64 = 1000;
/// For each handler that waits, ends may be put together that lie so much apart: a thread that
/// woke for each would take a processor for itself.
const TOGETHER_EACH: Duration = Duration::from_micros(5);
const TOGETHER_MAX: Duration = Duration::from_millis(1);

/// Work of one length.
#[derive(Debug)]
pub struct Work {
    length: Duration,
    shared: Arc<Shared>,
}

/// The handlers that wait, in the order of their ends: all wait equally long.
#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    /// The first came, or the end.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    ends: VecDeque<(Instant, oneshot::Sender<()>)>,
    over: bool,
}

impl Work {
    /// Work of a length.
    ///
    /// # Errors
    /// When the thread that ends it does not start.
    pub fn of(length: Duration) -> Result<Work> {
        let shared = Arc::new(Shared::default());
        if !length.is_zero() && length < COARSE {
            let ending = Arc::clone(&shared);
            let thread = std::thread::Builder::new().name("work".to_owned());
            thread.spawn(move || ending.end_all()).context("starting the clock of handlers")?;
        }
        Ok(Work { length, shared })
    }

    /// Does the work once.
    pub async fn done(&self) {
        if self.length >= COARSE {
            return tokio::time::sleep(self.length).await;
        }
        if self.length.is_zero() {
            return;
        }
        let (end, ended) = oneshot::channel();
        {
            let mut waiting = self.shared.waiting.lock();
            // The clock sleeps up to the first end; those that come later do not disturb it.
            let first = waiting.ends.is_empty();
            waiting.ends.push_back((Instant::now() + self.length, end));
            if first {
                self.shared.changed.notify_one();
            }
        }
        // The clock lives as long as this does.
        let _ = ended.await;
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.shared.waiting.lock().over = true;
        self.shared.changed.notify_one();
    }
}

impl Shared {
    /// Ends each wait at its time, until nobody can wait any more.
    fn end_all(&self) {
        // With the kernel's default waits end 0.05 ms late, which changes nothing else.
        let _ = nix::sys::prctl::set_timerslack(SLACK_NS);
        let mut due = Vec::new();
        loop {
            let mut waiting = self.waiting.lock();
            let Some((first, _)) = waiting.ends.front() else {
                if waiting.over {
                    return;
                }
                self.changed.wait(&mut waiting);
                continue;
            };
            let (first, now) = (*first, Instant::now());
            if first > now {
                let together =
                    TOGETHER_EACH * u32::try_from(waiting.ends.len()).unwrap_or(u32::MAX);
                let until = first.max(now + together.min(TOGETHER_MAX));
                // Nothing that wakes it early ends anything early.
                let _ = self.changed.wait_until(&mut waiting, until);
                continue;
            }
            while waiting.ends.front().is_some_and(|(end, _)| *end <= now) {
                due.extend(waiting.ends.pop_front());
            }
            drop(waiting);
            for (_, end) in due.drain(..) {
                // A handler that is gone waits for nothing.
                let _ = end.send(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_is_never_shorter_than_its_length_and_many_work_at_the_same_time() {
        let length = Duration::from_millis(5);
        let work = Work::of(length).unwrap();
        let start = Instant::now();
        let all = futures::future::join_all((0..100).map(|_| async {
            work.done().await;
            start.elapsed()
        }));
        let ends = all.await;
        assert!(ends.iter().all(|end| *end >= length), "{ends:?}");
        // One after the other they would take half a second.
        assert!(ends.iter().all(|end| *end < length * 50), "{ends:?}");
    }

    #[tokio::test]
    async fn no_work_takes_no_time_and_long_work_is_timed_by_the_runtime() {
        Work::of(Duration::ZERO).unwrap().done().await;
        let start = Instant::now();
        Work::of(COARSE).unwrap().done().await;
        assert!(start.elapsed() >= COARSE);
    }
}
