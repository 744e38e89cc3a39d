//! Whether calls come alone or together, and who is to run and to flush them: learned from how
//! long threads take to wake, what transactions and flushes take, and how calls met lately.
//!
//! A call that its own caller runs saves two changes of threads. It holds up whoever comes
//! meanwhile, for as long as its transaction and its flush take: a thread that serves other
//! callers too does not even see them come. After `n` calls in a row that met no other, the next
//! one meets some with a chance of about 1 in `n + 2` (Laplace's rule of succession). So a caller
//! runs its call where
//!
//! ```text
//!   two changes of threads  >  (transaction + flush) × callers / (n + 2)
//! ```
//!
//! with as many callers as met lately. Nobody is seen to come while a caller runs its own call, so
//! one in a while is left to the writing thread all the same.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// One lonely call of so many is left to the writing thread, to see whether others come.
pub(crate) const PROBE_EVERY: u32 = 32;
/// A measured time counts for so little of what is taken for usual, so that one slow flush or one
/// busy moment of the machine decides nothing.
const PARTS: u64 = 8;
/// How many were in flight is kept in such parts of one.
const FRACTION: u32 = 16;
/// A flush of no more than so many transactions is worth no change of threads.
const FLUSH_TRANSACTIONS: u64 = 4;

/// A time as it usually is, in nanoseconds; 0 until it was measured.
#[derive(Default)]
pub(crate) struct Usual(AtomicU64);

impl Usual {
    /// Takes a measured time in. Two threads that do so at once may lose one of the two.
    pub(crate) fn took(&self, ns: u64) {
        let usual = match self.0.load(Ordering::Relaxed) {
            0 => ns,
            before => before - before / PARTS + ns / PARTS,
        };
        self.0.store(usual.max(1), Ordering::Relaxed);
    }

    pub(crate) fn ns(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The calls in flight, and what is known of them.
pub(crate) struct Company {
    /// Calls that are not answered yet.
    in_flight: AtomicU32,
    /// How many calls in a row met no other.
    lonely: AtomicU32,
    /// How many were in flight when calls met lately, in parts of one; at least one.
    together: AtomicU32,
    /// From ringing for the writing thread to its being awake.
    pub(crate) waking: Usual,
    /// A transaction with all its calls.
    pub(crate) transaction: Usual,
}

/// A call that is not answered yet.
pub(crate) struct InFlight<'a>(&'a Company);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Company {
    pub(crate) fn new() -> Company {
        Company {
            in_flight: AtomicU32::new(0),
            lonely: AtomicU32::new(0),
            together: AtomicU32::new(FRACTION),
            waking: Usual::default(),
            transaction: Usual::default(),
        }
    }

    /// A call comes. What is returned is kept until it is answered.
    pub(crate) fn enter(&self) -> InFlight<'_> {
        let others = self.in_flight.fetch_add(1, Ordering::Relaxed);
        let together = self.together.load(Ordering::Relaxed);
        if others == 0 {
            self.lonely.fetch_add(1, Ordering::Relaxed);
        } else {
            self.lonely.store(0, Ordering::Relaxed);
            let now = (others + 1).saturating_mul(FRACTION);
            // It grows at once and shrinks slowly: many callers may be quiet for a moment.
            let next = if now > together { now } else { together - (together - now) / FRACTION };
            self.together.store(next, Ordering::Relaxed);
        }
        InFlight(self)
    }

    /// Whether the call that came last is to be run by its caller, where a flush usually takes so
    /// long.
    pub(crate) fn runs_own_call(&self, flush_ns: u64) -> bool {
        let lonely = self.lonely.load(Ordering::Relaxed);
        if lonely == 0 || lonely.is_multiple_of(PROBE_EVERY) {
            return false;
        }
        let together = u64::from(self.together.load(Ordering::Relaxed));
        let saved = self.waking.ns().saturating_mul(2).saturating_mul(u64::from(lonely) + 2);
        let blocked = self.transaction.ns().saturating_add(flush_ns).saturating_mul(together);
        saved > blocked / u64::from(FRACTION)
    }

    /// Whether who wrote a transaction of so many calls is to flush it too, where a flush usually
    /// takes so long: no call is in flight that would gain from a change of threads, or the flush
    /// is short beside the transactions that could be written meanwhile.
    pub(crate) fn flushes_itself(&self, calls: usize, flush_ns: u64) -> bool {
        let in_flight = self.in_flight.load(Ordering::Relaxed) as usize;
        let alone = in_flight <= calls && self.lonely.load(Ordering::Relaxed) > 0;
        alone || flush_ns <= self.transaction.ns().saturating_mul(FLUSH_TRANSACTIONS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where waking a thread takes 10 µs and a transaction 20.
    fn company() -> Company {
        let company = Company::new();
        company.waking.took(10_000);
        company.transaction.took(20_000);
        company
    }

    /// How many lonely calls it takes until a caller runs its own.
    fn calls_until_own(company: &Company, flush_ns: u64) -> Option<u32> {
        (1..10_000).find(|_| {
            drop(company.enter());
            company.runs_own_call(flush_ns)
        })
    }

    #[test]
    fn the_longer_a_flush_takes_the_longer_must_a_caller_have_been_alone() {
        let after = |flush_ns| calls_until_own(&company(), flush_ns).unwrap();
        assert_eq!(after(0), 1);
        assert_eq!(after(40_000), 2);
        assert_eq!(after(500_000), 25);
        assert!(after(10_000_000) > 400);
    }

    #[test]
    fn the_more_callers_met_lately_the_longer_must_one_have_been_alone() {
        let company = company();
        let met: Vec<_> = (0..8).map(|_| company.enter()).collect();
        assert!(!company.runs_own_call(40_000));
        drop(met);
        let after = calls_until_own(&company, 40_000).unwrap();
        assert!((20..30).contains(&after), "{after}");
    }

    #[test]
    fn one_lonely_call_in_a_while_is_left_to_the_thread() {
        let company = company();
        let own = (0..10 * PROBE_EVERY).filter(|_| {
            drop(company.enter());
            company.runs_own_call(1000)
        });
        assert_eq!(own.count(), 10 * PROBE_EVERY as usize - 10);
    }

    #[test]
    fn without_a_measured_change_of_threads_the_thread_runs_all() {
        assert_eq!(calls_until_own(&Company::new(), 1), None);
    }

    #[test]
    fn a_long_flush_is_left_to_its_thread_unless_nobody_else_is_there() {
        let company = company();
        let one = company.enter();
        assert!(company.flushes_itself(1, 500_000));
        let _other = company.enter();
        drop(one);
        assert!(!company.flushes_itself(1, 500_000), "they met a moment ago");
        assert!(company.flushes_itself(1, 50_000));
    }
}
