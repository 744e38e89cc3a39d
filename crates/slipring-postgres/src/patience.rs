//! How long an answer, and the lock of a queue, are waited for.

use std::time::Duration;

use tokio::time::timeout;

use crate::constants;

/// A limit is waited for in so many parts.
const PARTS: u32 = 10;

/// The first wait of a statement for a lock, and the longest one. Each try
/// in vain doubles the wait, if [`crate::seats::Seats::patient`] permits: a statement gets a lock
/// for which other transactions queue only if it waits longer than those before it hold it.
pub(crate) const LOCK_WAIT_MIN: Duration =
    Duration::from_millis(constants::LOCK_WAIT_MS.unsigned_abs());
pub(crate) const LOCK_WAIT_MAX: Duration = Duration::from_millis(3200);

/// How long a statement comes again for a lock that others hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// All tries together. It is tried once however short this is.
    pub(crate) whole: Duration,
    /// The wait of the first try.
    pub(crate) first: Duration,
}

impl Patience {
    pub(crate) const fn of(whole: Duration) -> Patience {
        Patience { whole, first: LOCK_WAIT_MIN }
    }
}

/// The answer, or `None` when it has not come within `limit`. Time in which the process is stopped
/// or paused counts as a tenth of the limit at most: the answer may have come meanwhile, and has
/// only to be read.
pub(crate) async fn within<F: Future>(limit: Duration, answer: F) -> Option<F::Output> {
    tokio::pin!(answer);
    for _ in 0..PARTS {
        // A part that ended while nothing ran is followed by one that begins now.
        if let Ok(answer) = timeout(limit / PARTS, &mut answer).await {
            return Some(answer);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);
    const SOON: Duration = Duration::from_millis(10);

    /// An answer that comes so much later.
    async fn after(duration: Duration) {
        let never = timeout(duration, std::future::pending::<()>()).await;
        assert!(never.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_does_not_come_is_given_up_at_the_limit() {
        let given_up = within(LIMIT, std::future::pending::<()>());
        assert_eq!(timeout(LIMIT + SOON, given_up).await, Ok(None));
        assert_eq!(within(LIMIT, after(LIMIT - SOON)).await, Some(()));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_came_while_the_process_was_stopped_counts() {
        let answer = async {
            after(LIMIT * 2).await;
            // Read only after the limit was noticed.
            after(SOON).await;
        };
        let (answer, ()) = tokio::join!(within(LIMIT, answer), advance(LIMIT * 2));
        assert_eq!(answer, Some(()));
    }
}
