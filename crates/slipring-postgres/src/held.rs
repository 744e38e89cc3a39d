//! How long receives wait for a queue that others keep to themselves.
//!
//! A receive has an end of its own, and may be one over several queues: it does not wait as long as
//! other calls do. But a lock for which others stand in line is had only by who waits longer than
//! these hold it together, so each receive in vain lets the next one of that queue wait for twice
//! as long.

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
/// The wait of a receive over several queues.
const AMONG_OTHERS_MAX: Duration = Duration::from_millis(400);

/// The queues that receives found held, and the next wait for each.
#[derive(Debug, Default)]
pub(crate) struct Held {
    waits: Mutex<HashMap<QueueId, Duration>>,
}

impl Held {
    /// For how long a receive is tried.
    pub(crate) fn patience(&self, queue: QueueId, wait: Wait) -> Patience {
        let first = self.waits.lock().get(&queue).copied().unwrap_or(LOCK_WAIT_MIN);
        match wait {
            Wait::Alone => Patience { whole: WHOLE, first },
            Wait::AmongOthers => {
                Patience { whole: Duration::ZERO, first: first.min(AMONG_OTHERS_MAX) }
            }
        }
    }

    /// Takes note of what a receive with that patience has found.
    pub(crate) fn note(&self, queue: QueueId, patience: Patience, held: bool) {
        let mut waits = self.waits.lock();
        if held {
            let next = (patience.first * 2).min(LOCK_WAIT_MAX);
            let wait = waits.entry(queue).or_insert(next);
            *wait = next.max(*wait);
        } else if !waits.is_empty() {
            waits.remove(&queue);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_for_a_queue_grows_until_it_is_had() {
        let (held, q) = (Held::default(), QueueId(1));
        let first = |wait| held.patience(q, wait).first;
        let mut waits = Vec::new();
        for _ in 0..8 {
            let patience = held.patience(q, Wait::Alone);
            held.note(q, patience, true);
            waits.push(patience.first.as_millis());
        }
        assert_eq!(waits, [50, 100, 200, 400, 800, 1600, 3200, 3200]);
        assert_eq!(first(Wait::AmongOthers), AMONG_OTHERS_MAX);
        assert_eq!(held.patience(QueueId(2), Wait::Alone).first, LOCK_WAIT_MIN);
        // What waits less than another did takes nothing back.
        held.note(q, held.patience(q, Wait::AmongOthers), true);
        assert_eq!(first(Wait::Alone), LOCK_WAIT_MAX);
        held.note(q, held.patience(q, Wait::Alone), false);
        assert_eq!(first(Wait::Alone), LOCK_WAIT_MIN);
    }
}
