//! The figures that rows are judged by.

use super::report::SideReport;
use crate::run::condition::Condition;
use crate::stats::{Percentiles, Summary};
use crate::workloads::Outcome;

/// The median rate of one side is at least `factor` times that of another.
pub fn times(sides: &[SideReport], ours: &str, other: &str, factor: f64) -> Condition {
    Condition::times(rate(sides, ours), rate(sides, other), other, factor)
}

/// The median rate of a side; not a number for a side that is not there, which meets nothing.
pub fn rate(sides: &[SideReport], name: &str) -> f64 {
    let side = sides.iter().find(|side| side.name == name);
    side.and_then(|side| side.rate.as_ref()).map_or(f64::NAN, |rate| rate.median)
}

/// The median of a figure over the rounds of a side.
pub fn figure(sides: &[SideReport], side: &str, name: &str) -> f64 {
    median(sides, side, |outcome| outcome.figures.get(name).copied())
}

/// The largest of a figure over the rounds of a side.
pub fn peak(sides: &[SideReport], side: &str, name: &str) -> f64 {
    let rounds = sides.iter().find(|found| found.name == side).map(|side| side.rounds.iter());
    let figures = rounds.into_iter().flatten().filter_map(|round| round.figures.get(name).copied());
    figures.fold(f64::NAN, f64::max)
}

/// The median over the rounds of a side of one percentile.
pub fn latency(
    sides: &[SideReport],
    side: &str,
    name: &str,
    which: fn(&Percentiles) -> f64,
) -> f64 {
    median(sides, side, |outcome| outcome.latencies.get(name).map(which))
}

fn median(sides: &[SideReport], side: &str, of: impl Fn(&Outcome) -> Option<f64>) -> f64 {
    let rounds = sides.iter().find(|found| found.name == side).map(|side| side.rounds.iter());
    let figures: Vec<f64> = rounds.into_iter().flatten().filter_map(of).collect();
    Summary::of(&figures).map_or(f64::NAN, |summary| summary.median)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_meets_no_target() {
        assert!(!times(&[], "ours", "raw", 0.5).pass);
        assert!(!Condition::at_most("memory", "MB", peak(&[], "ours", "x"), 300.0).pass);
    }
}
