//! What the engine counts for each queue. Every queue has counters of its own, which are added to
//! without a lock; what they say is read one by one and is of no exact moment.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::lifecycle::Settlement;
use crate::queue::QueueId;
use crate::store::{Pass, Settled};

use super::queue::Queue;
use super::registry::Registry;

/// What went through a queue in this engine since it got to know the queue. What other processes
/// do with the same store is theirs to count; so is what users of SQL do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct QueueCounts {
    /// Messages that were stored; duplicates are not.
    pub sent: u64,
    /// Messages that were handed out to receives, as often as they were.
    pub received: u64,
    /// Messages that left by an ack.
    pub acked: u64,
    /// Messages that were given back as failed, whatever became of them.
    pub nacked: u64,
    /// Leases that ended at their deadline.
    pub lapsed: u64,
    /// Messages that were parked, by their holder or because nothing else was left to try.
    pub parked: u64,
    /// Messages that left for the queue's dead-letter queue.
    pub dead_lettered: u64,
    /// Messages whose retention was over.
    pub retired: u64,
}

impl QueueCounts {
    /// These and others together.
    #[must_use]
    pub fn and(self, others: QueueCounts) -> QueueCounts {
        self.with(others, u64::saturating_add)
    }

    /// What was counted since an earlier look.
    #[must_use]
    pub fn since(self, before: QueueCounts) -> QueueCounts {
        self.with(before, u64::saturating_sub)
    }

    fn with(self, other: QueueCounts, both: fn(u64, u64) -> u64) -> QueueCounts {
        QueueCounts {
            sent: both(self.sent, other.sent),
            received: both(self.received, other.received),
            acked: both(self.acked, other.acked),
            nacked: both(self.nacked, other.nacked),
            lapsed: both(self.lapsed, other.lapsed),
            parked: both(self.parked, other.parked),
            dead_lettered: both(self.dead_lettered, other.dead_lettered),
            retired: both(self.retired, other.retired),
        }
    }
}

/// The counters of one queue.
#[derive(Debug, Default)]
pub(super) struct Counts {
    sent: AtomicU64,
    received: AtomicU64,
    acked: AtomicU64,
    nacked: AtomicU64,
    lapsed: AtomicU64,
    parked: AtomicU64,
    dead_lettered: AtomicU64,
    retired: AtomicU64,
}

fn add(counter: &AtomicU64, count: u64) {
    if count > 0 {
        counter.fetch_add(count, Ordering::Relaxed);
    }
}

impl Counts {
    pub(super) fn sent(&self, messages: u64) {
        add(&self.sent, messages);
    }

    pub(super) fn received(&self, messages: u64) {
        add(&self.received, messages);
    }

    /// Takes in the answers to settlements, of which those at `nacks` are nacks.
    pub(super) fn settled(&self, settled: &[Result<Settled, Error>], nacks: &[usize]) {
        let (mut acked, mut parked, mut dead_lettered) = (0, 0, 0);
        for settled in settled.iter().flatten() {
            match settled {
                Settled::Done => acked += 1,
                Settled::Parked => parked += 1,
                Settled::DeadLettered(_) => dead_lettered += 1,
                Settled::Ready | Settled::Delayed(_) => {}
            }
        }
        let nacked = nacks.iter().filter(|at| settled.get(**at).is_some_and(Result::is_ok)).count();
        add(&self.acked, acked);
        add(&self.nacked, nacked as u64);
        add(&self.parked, parked);
        add(&self.dead_lettered, dead_lettered);
    }

    pub(super) fn now(&self) -> QueueCounts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        QueueCounts {
            sent: of(&self.sent),
            received: of(&self.received),
            acked: of(&self.acked),
            nacked: of(&self.nacked),
            lapsed: of(&self.lapsed),
            parked: of(&self.parked),
            dead_lettered: of(&self.dead_lettered),
            retired: of(&self.retired),
        }
    }
}

/// The places of the nacks among settlements.
pub(super) fn nacks<T>(entries: &[(T, Settlement)]) -> Vec<usize> {
    let nacks = entries.iter().enumerate();
    let nacks = nacks.filter(|(_, (_, how))| matches!(how, Settlement::Nack { .. }));
    nacks.map(|(at, _)| at).collect()
}

/// Takes in a pass over the leases of one queue: see [`Pass::ready`].
pub(super) fn lapsed(registry: &Registry, queue: QueueId, pass: &Pass) {
    let Some(core) = registry.by_id(queue) else { return };
    for (of, count) in &pass.ready {
        let counter = if *of == queue { &core.counts.lapsed } else { &core.counts.dead_lettered };
        add(counter, *count);
    }
    add(&core.counts.parked, pass.removed);
}

/// Takes in a pass over what is too old: see [`Pass::ready`].
pub(super) fn retired(registry: &Registry, pass: &Pass) {
    for (queue, count) in &pass.ready {
        if let Some(core) = registry.by_id(*queue) {
            add(&core.counts.retired, *count);
        }
    }
}

impl Queue {
    /// What went through the queue in this engine; costs no storage access.
    pub fn counts(&self) -> QueueCounts {
        self.core.counts.now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::error::ErrorKind;

    #[test]
    fn an_entry_that_was_refused_counts_as_nothing() {
        let nack = Settlement::Nack { delay: None, priority: None, reason: None };
        let entries =
            [(1, Settlement::Ack), (2, nack.clone()), (3, nack), (4, Settlement::HandBack)];
        let nacks = nacks(&entries);
        assert_eq!(nacks, [1, 2]);
        let refused = Err(Error::new(ErrorKind::LeaseLost, "lost"));
        let until = Settled::Delayed(Timestamp::from_millis(1));
        let counts = Counts::default();
        counts.settled(&[Ok(Settled::Done), Ok(until), refused, Ok(Settled::Ready)], &nacks);
        let all = QueueCounts { acked: 1, nacked: 1, ..QueueCounts::default() };
        assert_eq!(counts.now(), all);
    }

    #[test]
    fn what_was_counted_since_a_look_and_before_it_is_all() {
        let before = QueueCounts { sent: 2, lapsed: 1, ..QueueCounts::default() };
        let now = QueueCounts { sent: 5, lapsed: 1, retired: 4, ..QueueCounts::default() };
        let since = now.since(before);
        assert_eq!((since.sent, since.lapsed, since.retired), (3, 0, 4));
        assert_eq!(before.and(since), now);
    }
}
