//! Percentiles of the last seconds: an HDR histogram of three digits for each second, so that
//! memory does not grow with the number of jobs.

use anyhow::{Context, Result};
use hdrhistogram::Histogram;

/// Longer latencies are counted as this: an hour, in microseconds.
const LATENCY_US_MAX: u64 = 3_600_000_000;

/// The latencies of the last seconds.
#[derive(Debug)]
pub struct Window {
    /// One histogram for each second, at its number modulo the number of them.
    slots: Vec<Slot>,
    /// All of them together, while they are asked for.
    all: Histogram<u64>,
}

#[derive(Debug)]
struct Slot {
    /// The second that is counted here.
    second: u64,
    counted: Histogram<u32>,
}

impl Window {
    /// A window of so many seconds with nothing in it.
    ///
    /// # Errors
    /// None in practice; the histogram checks its bounds.
    pub fn new(seconds: u64) -> Result<Window> {
        let slot = || {
            let counted = Histogram::new_with_bounds(1, LATENCY_US_MAX, 3);
            Ok(Slot { second: 0, counted: counted.context("a histogram of three digits")? })
        };
        let slots = (0..seconds.max(1)).map(|_| slot()).collect::<Result<_>>()?;
        let all = Histogram::new_with_bounds(1, LATENCY_US_MAX, 3);
        Ok(Window { slots, all: all.context("a histogram of three digits")? })
    }

    /// Counts a latency of so many microseconds in a second. Seconds are counted from any moment,
    /// and do not go back.
    pub fn add(&mut self, second: u64, us: u64) {
        let seconds = self.seconds();
        let Some(slot) = self.slots.get_mut((second % seconds) as usize) else { return };
        if slot.second != second {
            slot.second = second;
            slot.counted.reset();
        }
        slot.counted.saturating_record(us.clamp(1, LATENCY_US_MAX));
    }

    /// P50, P95 and P99 in milliseconds of the seconds up to `second`, itself included; nothing
    /// where nothing was counted.
    pub fn percentiles_ms(&mut self, second: u64) -> Option<[f64; 3]> {
        self.all.reset();
        for slot in &self.slots {
            if slot.second + self.seconds() > second {
                // Both have the same bounds, so that all fits.
                self.all.add(&slot_as_wide(&slot.counted)?).ok()?;
            }
        }
        let at = |q: f64| self.all.value_at_quantile(q) as f64 / 1000.0;
        (!self.all.is_empty()).then(|| [at(0.5), at(0.95), at(0.99)])
    }

    /// How many seconds it covers.
    fn seconds(&self) -> u64 {
        self.slots.len() as u64
    }
}

/// The same counts with room for the sum of many.
fn slot_as_wide(counted: &Histogram<u32>) -> Option<Histogram<u64>> {
    let mut wide = Histogram::new_with_bounds(1, LATENCY_US_MAX, 3).ok()?;
    for step in counted.iter_recorded() {
        wide.saturating_record_n(step.value_iterated_to(), u64::from(step.count_at_value()));
    }
    Some(wide)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_last_thirty_seconds() {
        let mut window = Window::new(30).unwrap();
        assert_eq!(window.percentiles_ms(5), None);
        (1..=100).for_each(|ms| window.add(10, ms * 1000));
        let [p50, p95, p99] = window.percentiles_ms(10).unwrap();
        for (seen, exact) in [(p50, 50.0), (p95, 95.0), (p99, 99.0)] {
            assert!((seen / exact - 1.0).abs() < 0.001, "{seen} is not {exact}");
        }
        // The second leaves the window as the thirtieth after it begins.
        window.add(11, 7000);
        let [p50, ..] = window.percentiles_ms(39).unwrap();
        assert!(p50 > 45.0, "{p50}");
        let [p50, _, p99] = window.percentiles_ms(40).unwrap();
        assert!((p50 - 7.0).abs() < 0.01 && (p99 - 7.0).abs() < 0.01, "{p50} {p99}");
        assert_eq!(window.percentiles_ms(41), None);
    }

    #[test]
    fn a_second_takes_the_place_of_the_one_thirty_before() {
        let mut window = Window::new(30).unwrap();
        window.add(1, 1_000_000);
        window.add(31, 5000);
        let [p50, _, p99] = window.percentiles_ms(31).unwrap();
        assert!((p50 - 5.0).abs() < 0.01 && (p99 - 5.0).abs() < 0.01, "{p50} {p99}");
    }

    #[test]
    fn what_is_too_long_counts_as_the_longest() {
        let mut window = Window::new(30).unwrap();
        window.add(1, u64::MAX);
        window.add(1, 0);
        let [p50, _, p99] = window.percentiles_ms(1).unwrap();
        assert!(p50 <= 0.001 && p99 >= 3_500_000.0, "{p50} {p99}");
    }
}
