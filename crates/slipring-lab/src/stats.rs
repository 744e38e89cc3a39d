//! Medians and spreads of repeated measurements, and percentiles of latencies.

use anyhow::{Context, Result};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Longer latencies are counted as this: an hour.
const LATENCY_NS_MAX: u64 = 3_600_000_000_000;

/// Figures of the rounds of one measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The middle figure; the mean of the two middle ones when their number is even.
    pub median: f64,
    /// The smallest figure.
    pub min: f64,
    /// The largest figure.
    pub max: f64,
}

impl Summary {
    /// The summary of `figures`; nothing for no figures.
    pub fn of(figures: &[f64]) -> Option<Summary> {
        let mut sorted = figures.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let upper = *sorted.get(sorted.len() / 2)?;
        let lower = *sorted.get((sorted.len() - 1) / 2)?;
        Some(Summary { median: f64::midpoint(lower, upper), min, max })
    }

    /// How far the rounds lie apart: (max − min) / median, in percent.
    pub fn spread_percent(&self) -> f64 {
        if self.median == 0.0 { 0.0 } else { (self.max - self.min) / self.median * 100.0 }
    }
}

/// Latencies that wait to be counted. A thousand callers with a histogram each would spend more
/// time on fetching its memory than on their calls, so they count many at a time.
const WAITING_MAX: usize = 8192;

/// Latencies of one caller or of many, from 1 ns to an hour, to two digits.
#[derive(Debug, Clone)]
pub struct Latencies {
    counted: Histogram<u64>,
    waiting: Vec<u64>,
}

impl Latencies {
    /// No latencies yet.
    ///
    /// # Errors
    /// None in practice; the histogram checks its precision.
    pub fn new() -> Result<Latencies> {
        let histogram = Histogram::new_with_bounds(1, LATENCY_NS_MAX, 2);
        let counted = histogram.context("a histogram of two digits")?;
        Ok(Latencies { counted, waiting: Vec::new() })
    }

    /// Adds a latency in nanoseconds.
    pub fn add(&mut self, ns: u64) {
        self.waiting.push(ns);
        if self.waiting.len() >= WAITING_MAX {
            self.count();
        }
    }

    fn count(&mut self) {
        for ns in self.waiting.drain(..) {
            self.counted.saturating_record(ns.max(1));
        }
    }

    /// Adds a latency in nanoseconds as often as it was seen.
    pub fn add_many(&mut self, ns: u64, count: u64) {
        self.counted.saturating_record_n(ns.max(1), count);
    }

    /// The latencies seen, in microseconds, each with how often.
    pub fn buckets(&self) -> Vec<(f64, u64)> {
        let mut all = self.clone();
        all.count();
        let steps = all.counted.iter_recorded();
        let pair = |step: hdrhistogram::iterators::IterationValue<u64>| {
            (step.value_iterated_to() as f64 / 1000.0, step.count_at_value())
        };
        steps.map(pair).collect()
    }

    /// Adds all of another caller.
    ///
    /// # Errors
    /// None in practice; the histogram checks that it may grow.
    pub fn merge(&mut self, other: &Latencies) -> Result<()> {
        self.waiting.extend(&other.waiting);
        self.count();
        self.counted.add(&other.counted).context("merging latencies")
    }

    /// Bytes of memory that hold the latencies, however many there are.
    #[cfg(test)]
    pub fn memory_bytes(&self) -> usize {
        (self.counted.distinct_values() + self.waiting.capacity()) * size_of::<u64>()
    }

    /// The percentiles so far.
    pub fn percentiles(&self) -> Percentiles {
        let mut all = self.clone();
        all.count();
        let us = |ns: u64| ns as f64 / 1000.0;
        let at = |q| us(all.counted.value_at_quantile(q));
        Percentiles {
            count: all.counted.len(),
            p50_us: at(0.5),
            p95_us: at(0.95),
            p99_us: at(0.99),
            p999_us: at(0.999),
            max_us: us(all.counted.max()),
        }
    }
}

/// Percentiles of latencies in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Percentiles {
    /// How many latencies.
    pub count: u64,
    /// Half are at most this.
    pub p50_us: f64,
    /// 95 of 100 are at most this.
    pub p95_us: f64,
    /// 99 of 100 are at most this.
    pub p99_us: f64,
    /// 999 of 1,000 are at most this.
    pub p999_us: f64,
    /// The largest.
    pub max_us: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_and_the_spread_is_relative_to_it() {
        let odd = Summary::of(&[5.0, 1.0, 4.0]).unwrap();
        assert_eq!((odd.median, odd.min, odd.max), (4.0, 1.0, 5.0));
        assert_eq!(odd.spread_percent(), 100.0);
        assert_eq!(Summary::of(&[1.0, 2.0, 3.0, 10.0]).unwrap().median, 2.5);
        assert_eq!(Summary::of(&[]), None);
    }

    #[test]
    fn percentiles_are_those_of_all_merged_callers() {
        let mut all = Latencies::new().unwrap();
        let mut other = Latencies::new().unwrap();
        (1..=50).for_each(|ms| all.add(ms * 1_000_000));
        (51..=100).for_each(|ms| other.add(ms * 1_000_000));
        all.merge(&other).unwrap();
        let seen = all.percentiles();
        assert_eq!(seen.count, 100);
        assert!((seen.p95_us / 95_000.0 - 1.0).abs() < 0.02, "{seen:?}");
        assert!((seen.p50_us / 50_000.0 - 1.0).abs() < 0.02, "{seen:?}");
    }
}
