//! What was sent and what came back: nothing lost, duplicates and displacement counted.

use std::ops::AddAssign;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

/// Most messages one run may send: 3.8 million a second for a minute and its warm-up, in 32 MiB.
pub const MESSAGES_MAX: u64 = 1 << 28;

/// What comes so much before it is due has come early; a clock of whole milliseconds is no more
/// off than that.
const EARLY_NS: u64 = 2_000_000;

/// Counts of a run's messages. Numbers are dense, so that one bit per message is enough and the
/// ledger does not disturb what is measured.
#[derive(Debug)]
pub struct Ledger {
    next: AtomicU64,
    first: u64,
    end: u64,
    seen: Vec<AtomicU64>,
    received: AtomicU64,
    duplicates: AtomicU64,
    highest: AtomicU64,
    displaced: AtomicU64,
    displacement_max: AtomicU64,
    early: AtomicU64,
}

impl Ledger {
    /// A ledger whose first message gets the number `first`: so many were sent before this run and
    /// may come back in it. At most `messages` more may be sent.
    pub fn new(first: u64, messages: u64) -> Ledger {
        let end = first + messages.min(MESSAGES_MAX);
        let words = usize::try_from(end.div_ceil(64)).unwrap_or(0);
        Ledger {
            next: AtomicU64::new(first),
            first,
            end,
            seen: std::iter::repeat_with(AtomicU64::default).take(words).collect(),
            received: AtomicU64::new(0),
            duplicates: AtomicU64::new(0),
            highest: AtomicU64::new(0),
            displaced: AtomicU64::new(0),
            displacement_max: AtomicU64::new(0),
            early: AtomicU64::new(0),
        }
    }

    /// Reserves the numbers of `count` messages; answers the first of them.
    ///
    /// # Errors
    /// When the run would send more than the ledger holds.
    pub fn take(&self, count: u64) -> Result<u64> {
        let first = self.next.fetch_add(count, Ordering::Relaxed);
        if first + count > self.end {
            bail!("a run sends at most {} messages; use a shorter one", self.end - self.first);
        }
        Ok(first)
    }

    /// Notes a received message.
    ///
    /// # Errors
    /// When it was not sent.
    pub fn note(&self, number: u64) -> Result<()> {
        let word = usize::try_from(number / 64).ok().and_then(|at| self.seen.get(at));
        let Some(word) = word.filter(|_| number < self.next.load(Ordering::Relaxed)) else {
            bail!("message {number} was received, and was never sent");
        };
        let bit = 1 << (number % 64);
        self.received.fetch_add(1, Ordering::Relaxed);
        if word.fetch_or(bit, Ordering::Relaxed) & bit != 0 {
            self.duplicates.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        let highest = self.highest.fetch_max(number, Ordering::Relaxed);
        if number < highest {
            self.displaced.fetch_add(1, Ordering::Relaxed);
            self.displacement_max.fetch_max(highest - number, Ordering::Relaxed);
        }
        Ok(())
    }

    /// How late a message is that was due at a moment and has come now: not at all when it is
    /// early, which is counted.
    pub fn late_ns(&self, due_ns: u64, now_ns: u64) -> u64 {
        self.early.fetch_add(u64::from(now_ns + EARLY_NS < due_ns), Ordering::Relaxed);
        now_ns.saturating_sub(due_ns)
    }

    /// How many messages were sent and have not come back, those from before this run included.
    pub fn outstanding(&self) -> u64 {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        of(&self.next).saturating_sub(of(&self.received).saturating_sub(of(&self.duplicates)))
    }

    /// The number the next message gets.
    pub fn next(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// The counts at this moment.
    pub fn checks(&self) -> Checks {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Checks {
            sent: of(&self.next) - self.first,
            received: of(&self.received),
            duplicates: of(&self.duplicates),
            displaced: of(&self.displaced),
            displacement_max: of(&self.displacement_max),
            early: of(&self.early),
            missing: 0,
        }
    }

    /// The counts at the end of a run that has received everything it sent.
    pub fn final_checks(&self) -> Checks {
        let seen: u32 = self.seen.iter().map(|w| w.load(Ordering::Relaxed).count_ones()).sum();
        let sent = self.next.load(Ordering::Relaxed);
        Checks { missing: sent.saturating_sub(u64::from(seen)), ..self.checks() }
    }
}

/// The checked result of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Checks {
    /// Messages sent in this run.
    pub sent: u64,
    /// Messages received, duplicates included.
    pub received: u64,
    /// Messages received that had been received before.
    pub duplicates: u64,
    /// Messages received after one that was sent later; drivers of peers may not say.
    #[serde(default)]
    pub displaced: u64,
    /// By how many sends at most.
    #[serde(default)]
    pub displacement_max: u64,
    /// Messages that came before they were due; drivers of peers may not say.
    #[serde(default)]
    pub early: u64,
    /// Messages sent that never came back, where the run waited for all.
    pub missing: u64,
}

impl AddAssign for Checks {
    /// Adds those of other queues of the same run.
    fn add_assign(&mut self, other: Checks) {
        self.sent += other.sent;
        self.received += other.received;
        self.duplicates += other.duplicates;
        self.displaced += other.displaced;
        self.displacement_max = self.displacement_max.max(other.displacement_max);
        self.early += other.early;
        self.missing += other.missing;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_duplicates_inventions_and_displacement_are_seen() {
        let ledger = Ledger::new(10, 100);
        assert_eq!(ledger.take(5).unwrap(), 10);
        for number in (0..10).chain([10, 13, 12, 12]) {
            ledger.note(number).unwrap();
        }
        assert!(ledger.note(15).unwrap_err().to_string().contains("never sent"));
        let checks = ledger.final_checks();
        assert_eq!((checks.sent, checks.received, checks.duplicates), (5, 14, 1));
        assert_eq!((checks.missing, checks.displaced, checks.displacement_max), (2, 1, 1));
        assert!(ledger.take(96).is_err());
    }

    #[test]
    fn what_comes_before_it_is_due_is_counted_and_not_late() {
        let ledger = Ledger::new(0, 10);
        assert_eq!(ledger.late_ns(5_000_000, 9_000_000), 4_000_000);
        assert_eq!(ledger.late_ns(5_000_000, 3_000_000), 0);
        assert_eq!(ledger.checks().early, 0);
        assert_eq!(ledger.late_ns(5_000_000, 2_999_999), 0);
        assert_eq!(ledger.final_checks().early, 1);
    }
}
