//! How long commands took: a histogram with fixed bounds, which is added to without a lock.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The upper bounds in microseconds, up to 60 s.
const BOUNDS_US: [u64; 17] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 10_000_000, 30_000_000, 60_000_000,
];

/// Counters are striped over cache lines, so that threads do not wait for each other's.
const STRIPES: usize = 4;

/// A histogram.
#[derive(Debug, Default)]
pub(super) struct Latency([Stripe; STRIPES]);

#[derive(Debug, Default)]
#[repr(align(128))]
struct Stripe {
    /// By bound; the last counts what took longer than all of them.
    counts: [AtomicU64; BOUNDS_US.len() + 1],
    total_ns: AtomicU64,
}

/// What a histogram shows at a moment.
#[derive(Debug, PartialEq)]
pub(super) struct Shown {
    /// Upper bounds in seconds with how many took at most so long; the last is of all.
    pub(super) bounds: Vec<(f64, u64)>,
    /// The time of all together, in seconds.
    pub(super) sum: f64,
}

impl Latency {
    /// `times` commands took so long each.
    pub(super) fn took(&self, took_ns: u64, times: u64) {
        let stripe = &self.0[stripe_of_thread()];
        let at = BOUNDS_US.partition_point(|bound| bound * 1000 < took_ns);
        stripe.counts[at].fetch_add(times, Ordering::Relaxed);
        stripe.total_ns.fetch_add(took_ns.saturating_mul(times), Ordering::Relaxed);
    }

    /// The figures; `None` when there are none yet.
    pub(super) fn show(&self) -> Option<Shown> {
        let sum = |of: &dyn Fn(&Stripe) -> &AtomicU64| -> u64 {
            self.0.iter().map(|stripe| of(stripe).load(Ordering::Relaxed)).sum()
        };
        let mut below = 0;
        let mut bounds = Vec::with_capacity(BOUNDS_US.len() + 1);
        for at in 0..=BOUNDS_US.len() {
            below += sum(&|stripe: &Stripe| &stripe.counts[at]);
            let bound = BOUNDS_US.get(at).map_or(f64::INFINITY, |us| *us as f64 / 1e6);
            bounds.push((bound, below));
        }
        let sum = sum(&|stripe: &Stripe| &stripe.total_ns) as f64 / 1e9;
        (below > 0).then_some(Shown { bounds, sum })
    }
}

fn stripe_of_thread() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static MINE: usize = NEXT.fetch_add(1, Ordering::Relaxed) % STRIPES;
    }
    MINE.with(|mine| *mine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_what_took_at_most_so_long_and_end_with_a_minute() {
        let latency = Latency::default();
        assert_eq!(latency.show(), None);
        latency.took(100_000, 2);
        latency.took(100_001, 1);
        std::thread::scope(|scope| {
            scope.spawn(|| latency.took(61_000_000_000, 1));
        });
        let shown = latency.show().unwrap();
        let upto = |at: f64| shown.bounds.iter().find(|(bound, _)| *bound == at).unwrap().1;
        assert_eq!((upto(0.0001), upto(0.00025), upto(60.0), upto(f64::INFINITY)), (2, 3, 3, 4));
        assert!((shown.sum - 61.000_300_001).abs() < 1e-9);
        assert_eq!(shown.bounds.len(), 18);
    }
}
