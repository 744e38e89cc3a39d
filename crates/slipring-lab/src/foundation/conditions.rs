//! The figures that rows are judged by.

use super::report::ContenderReport;
use crate::run::contender::named;
pub use crate::run::contender::{rate, times};
use crate::stats::{Percentiles, Summary};
use crate::workloads::Outcome;

/// The median of a figure over the rounds of a contender.
pub fn figure(contenders: &[ContenderReport], contender: &str, name: &str) -> f64 {
    median(contenders, contender, |outcome| outcome.figures.get(name).copied())
}

/// The largest of a figure over the rounds of a contender.
pub fn peak(contenders: &[ContenderReport], contender: &str, name: &str) -> f64 {
    let rounds = named(contenders, contender).map(|contender| contender.rounds.iter());
    let figures = rounds.into_iter().flatten().filter_map(|round| round.figures.get(name).copied());
    figures.fold(f64::NAN, f64::max)
}

/// The median over the rounds of a contender of one percentile.
pub fn latency(
    contenders: &[ContenderReport],
    contender: &str,
    name: &str,
    which: fn(&Percentiles) -> f64,
) -> f64 {
    median(contenders, contender, |outcome| outcome.latencies.get(name).map(which))
}

fn median(
    contenders: &[ContenderReport],
    contender: &str,
    of: impl Fn(&Outcome) -> Option<f64>,
) -> f64 {
    let rounds = named(contenders, contender).map(|contender| contender.rounds.iter());
    let figures: Vec<f64> = rounds.into_iter().flatten().filter_map(of).collect();
    Summary::of(&figures).map_or(f64::NAN, |summary| summary.median)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::condition::Condition;

    #[test]
    fn what_was_not_measured_meets_no_target() {
        assert!(!times::<ContenderReport>(&[], "ours", "raw", 0.5).pass);
        assert!(!Condition::at_most("memory", "MB", peak(&[], "ours", "x"), 300.0).pass);
    }
}
