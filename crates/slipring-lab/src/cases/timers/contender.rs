//! What a contender of case 5 has to do, and what becomes of the timers that fire.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use anyhow::Result;
use slipring::WaitSnapshot;
use tokio::sync::mpsc::UnboundedSender;

use crate::stats::{Latencies, Percentiles};
use crate::time::monotonic_ns;

/// A set of timers that several threads use, each of them inside a tokio runtime. Moments are
/// nanoseconds of the monotonic clock.
pub trait Contender: Send + Sync + 'static {
    /// What its user keeps of a timer.
    type Slot: Send + Sync + 'static;

    /// Sets a timer that rings `alarm` at `due_ns`, never before. It may ring only as long as the
    /// slot is kept. `caller` is the number of the calling thread.
    fn create(&self, caller: usize, due_ns: u64, alarm: Alarm) -> Self::Slot;

    /// Sets a timer that is expected to be cancelled, as a time-out is.
    fn time_out(&self, caller: usize, due_ns: u64, sink: &Arc<Sink>) -> Self::Slot {
        self.create(caller, due_ns, Alarm::of(sink, due_ns))
    }

    /// Cancels the time-out in `slot`, and sets a new one in its place.
    fn again(&self, caller: usize, slot: &mut Self::Slot, due_ns: u64, sink: &Arc<Sink>);

    /// Whether the timer has rung, as far as the contender can tell by the slot.
    fn is_over(&self, _slot: &Self::Slot) -> bool {
        true
    }

    /// The waits at its lock, where they can be seen.
    fn waits(&self) -> Option<WaitSnapshot>;

    /// Ends what fires the timers.
    fn stop(&self);
}

/// What a timer is set for: as large as what the engine's own timers carry.
pub struct Alarm {
    sink: Weak<Sink>,
    tag: u64,
}

impl Alarm {
    /// An alarm that tells `sink` its tag: the moment it is due, or the number of a lease.
    pub fn of(sink: &Arc<Sink>, tag: u64) -> Alarm {
        Alarm { sink: Arc::downgrade(sink), tag }
    }

    /// The timer has fired.
    pub fn fire(&self) {
        if let Some(sink) = self.sink.upgrade() {
            sink.hear(self.tag, monotonic_ns());
        }
    }
}

impl slipring::timers::Alarm for Alarm {
    fn ring(self) {
        self.fire();
    }
}

/// Where alarms ring.
pub struct Sink {
    fired: Mutex<Fired>,
    renewals: Option<Renewals>,
}

/// Where the renewals of leases ring.
struct Renewals {
    /// When the renewal of each lease is due.
    due_ns: Vec<AtomicU64>,
    to: UnboundedSender<usize>,
}

/// What has fired so far.
struct Fired {
    late: Latencies,
    early: u64,
}

/// What was seen of the timers that were let fire.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    /// How late they were.
    pub late: Percentiles,
    /// How many came before their time.
    pub early: u64,
}

impl Sink {
    /// For timers that are tagged with the moment they are due.
    ///
    /// # Errors
    /// None in practice.
    pub fn new() -> Result<Arc<Sink>> {
        let fired = Mutex::new(Fired { late: Latencies::new()?, early: 0 });
        Ok(Arc::new(Sink { fired, renewals: None }))
    }

    /// For timers that are tagged with the number of a lease, which is passed on to `to`.
    ///
    /// # Errors
    /// None in practice.
    pub fn of_leases(leases: usize, to: UnboundedSender<usize>) -> Result<Arc<Sink>> {
        let fired = Mutex::new(Fired { late: Latencies::new()?, early: 0 });
        let due_ns = (0..leases).map(|_| AtomicU64::new(0)).collect();
        Ok(Arc::new(Sink { fired, renewals: Some(Renewals { due_ns, to }) }))
    }

    /// The renewal of a lease is due at this moment. Said before its timer is set.
    pub fn expect(&self, lease: usize, due_ns: u64) {
        let place = self.renewals.as_ref().and_then(|renewals| renewals.due_ns.get(lease));
        if let Some(place) = place {
            place.store(due_ns, Ordering::Release);
        }
    }

    fn hear(&self, tag: u64, now_ns: u64) {
        let Some(renewals) = &self.renewals else { return self.count(tag, now_ns) };
        let lease = usize::try_from(tag).unwrap_or(usize::MAX);
        if let Some(due_ns) = renewals.due_ns.get(lease) {
            self.count(due_ns.load(Ordering::Acquire), now_ns);
            // At the end of the measurement nobody listens any more.
            let _ = renewals.to.send(lease);
        }
    }

    fn count(&self, due_ns: u64, now_ns: u64) {
        let mut fired = self.fired.lock().unwrap_or_else(PoisonError::into_inner);
        fired.early += u64::from(now_ns < due_ns);
        fired.late.add(now_ns.saturating_sub(due_ns));
    }

    /// How many have fired.
    pub fn fired(&self) -> u64 {
        self.seen().late.count
    }

    /// What has been seen so far.
    pub fn seen(&self) -> Seen {
        let fired = self.fired.lock().unwrap_or_else(PoisonError::into_inner);
        Seen { late: fired.late.percentiles(), early: fired.early }
    }

    /// The latenesses so far, to be merged.
    pub fn late(&self) -> Latencies {
        self.fired.lock().unwrap_or_else(PoisonError::into_inner).late.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sink_counts_what_is_late_and_what_is_early() {
        let sink = Sink::new().unwrap();
        sink.count(1_000_000, 3_000_000);
        sink.count(5_000_000, 4_999_999);
        let seen = sink.seen();
        assert_eq!((seen.late.count, seen.early, sink.fired()), (2, 1, 2));
        assert!((seen.late.max_us / 2000.0 - 1.0).abs() < 0.02, "{seen:?}");
        Alarm::of(&sink, monotonic_ns()).fire();
        assert_eq!((sink.fired(), sink.seen().early), (3, 1));
    }

    #[test]
    fn the_alarm_of_a_lease_passes_its_number_on() {
        let (to, mut from) = tokio::sync::mpsc::unbounded_channel();
        let sink = Sink::of_leases(2, to).unwrap();
        sink.expect(1, monotonic_ns());
        Alarm::of(&sink, 1).fire();
        Alarm::of(&sink, 2).fire();
        assert_eq!((from.try_recv().ok(), from.try_recv().ok()), (Some(1), None));
        assert_eq!(sink.fired(), 1);
    }
}
