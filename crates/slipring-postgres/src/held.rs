//! How long receives wait for a queue that others keep to themselves.
//!
//! A receive has an end of its own, and may be one over several queues: it waits for a lock for
//! less time than other calls do. A lock with waiters is granted only to a session that waits
//! longer than those before it hold it in total. So each receive that does not get the lock doubles
//! the wait of the next receive of that queue. A receive over several queues waits briefly, and
//! one time in [`LONG_EVERY`] for that longer time.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use slipring::QueueId;

use crate::patience::{LOCK_WAIT_MAX, LOCK_WAIT_MIN, Patience};

/// For which queues a receive waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// For this one only.
    Alone,
    /// Others could serve it meanwhile.
    AmongOthers,
}

/// All tries of one receive, but for the last one.
const WHOLE: Duration = Duration::from_secs(1);
/// One in so many receives over several queues waits for a queue as long as one for it alone.
const LONG_EVERY: u32 = 16;

/// The queues that receives found held.
#[derive(Debug, Default)]
pub(crate) struct Held {
    queues: Mutex<HashMap<QueueId, Line>>,
}

/// What is known of one that is held.
#[derive(Debug, Clone, Copy)]
struct Line {
    /// The next wait for it.
    wait: Duration,
    /// How many receives over several queues have tried it.
    tries: u32,
}

impl Held {
    /// For how long a receive is tried.
    pub(crate) fn patience(&self, queue: QueueId, wait: Wait) -> Patience {
        let mut queues = self.queues.lock();
        let line = queues.get_mut(&queue);
        let grown = line.as_ref().map_or(LOCK_WAIT_MIN, |line| line.wait);
        if wait == Wait::Alone {
            return Patience { whole: WHOLE, first: grown };
        }
        let long = line.is_some_and(|line| {
            line.tries += 1;
            line.tries.is_multiple_of(LONG_EVERY)
        });
        Patience { whole: Duration::ZERO, first: if long { grown } else { LOCK_WAIT_MIN } }
    }

    /// Takes note of a receive that has ended: of one that found the queue held, how long it was to
    /// wait at first.
    pub(crate) fn note(&self, queue: QueueId, held: Option<Patience>) {
        let mut queues = self.queues.lock();
        let Some(patience) = held else {
            if !queues.is_empty() {
                queues.remove(&queue);
            }
            return;
        };
        let line = queues.entry(queue).or_insert(Line { wait: LOCK_WAIT_MIN, tries: 0 });
        let before = line.wait;
        line.wait = before.max(patience.first * 2).min(LOCK_WAIT_MAX);
        if before < LOCK_WAIT_MAX && line.wait == LOCK_WAIT_MAX {
            tracing::warn!(
                %queue,
                "receives get nothing: other transactions have had the queue to themselves for \
                 seconds; `slipring doctor` names them"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const Q: QueueId = QueueId(1);

    #[test]
    fn the_wait_for_a_queue_grows_until_it_is_had() {
        let held = Held::default();
        let first = |wait| held.patience(Q, wait).first;
        let mut waits = Vec::new();
        for _ in 0..8 {
            let patience = held.patience(Q, Wait::Alone);
            held.note(Q, Some(patience));
            waits.push(patience.first.as_millis());
        }
        assert_eq!(waits, [50, 100, 200, 400, 800, 1600, 3200, 3200]);
        assert_eq!(held.patience(QueueId(2), Wait::Alone).first, LOCK_WAIT_MIN);
        // What waits less than another did takes nothing back.
        held.note(Q, Some(held.patience(Q, Wait::AmongOthers)));
        assert_eq!(first(Wait::Alone), LOCK_WAIT_MAX);
        held.note(Q, None);
        assert_eq!(first(Wait::Alone), LOCK_WAIT_MIN);
    }

    #[test]
    fn a_receive_over_several_queues_waits_long_now_and_then() {
        let held = Held::default();
        held.note(Q, Some(Patience { whole: WHOLE, first: LOCK_WAIT_MAX }));
        let long = (0..4 * LONG_EVERY).filter(|_| {
            let patience = held.patience(Q, Wait::AmongOthers);
            patience.first == LOCK_WAIT_MAX
        });
        assert_eq!(long.count(), 4);
    }
}
