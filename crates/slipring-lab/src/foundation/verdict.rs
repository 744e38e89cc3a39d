//! What is asked of a row, and whether it is met.

use serde::{Deserialize, Serialize};

use super::report::SideReport;
use crate::stats::Percentiles;

/// One thing asked of a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// What is asked, in words.
    pub target: String,
    /// The unit of both figures.
    pub unit: String,
    /// What was measured.
    pub figure: f64,
    /// What was needed.
    pub needed: f64,
    /// Ours divided by what it is compared with, where the target is such a ratio.
    pub ratio: Option<f64>,
    /// Whether it was met.
    pub pass: bool,
}

impl Condition {
    /// The median rate of one side is at least `factor` times that of another.
    pub fn ratio(sides: &[SideReport], ours: &str, other: &str, factor: f64) -> Condition {
        let (own, theirs) = (rate(sides, ours), rate(sides, other));
        let target = format!("{factor} × {other}");
        let condition = Condition::at_least(target, "messages/s", own, factor * theirs);
        Condition { ratio: (theirs > 0.0).then(|| own / theirs), ..condition }
    }

    /// A figure is at least what is needed.
    pub fn at_least(target: String, unit: &str, figure: f64, needed: f64) -> Condition {
        let pass = figure >= needed && needed > 0.0;
        let target = format!("≥ {target}");
        Condition { target, unit: unit.into(), figure, needed, ratio: None, pass }
    }

    /// A figure is at most what is allowed.
    pub fn at_most(target: &str, unit: &str, figure: f64, needed: f64) -> Condition {
        let target = format!("{target} ≤ {}", number(needed));
        let pass = figure <= needed;
        Condition { target, unit: unit.into(), figure, needed, ratio: None, pass }
    }
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

fn median(
    sides: &[SideReport],
    side: &str,
    of: impl Fn(&crate::workloads::Outcome) -> Option<f64>,
) -> f64 {
    let rounds = sides.iter().find(|found| found.name == side).map(|side| side.rounds.iter());
    let figures: Vec<f64> = rounds.into_iter().flatten().filter_map(of).collect();
    crate::stats::Summary::of(&figures).map_or(f64::NAN, |summary| summary.median)
}

/// A figure for people: thousands parted, digits after the point only where they matter.
pub fn number(figure: f64) -> String {
    if figure.is_nan() {
        return "?".to_owned();
    }
    if figure.abs() < 100.0 {
        return format!("{figure:.2}");
    }
    let digits = format!("{figure:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_meets_no_target() {
        assert!(!Condition::ratio(&[], "ours", "raw", 0.5).pass);
        assert!(!Condition::at_most("memory", "MB", peak(&[], "ours", "x"), 300.0).pass);
        assert!(Condition::at_most("memory", "MB", 300.0, 300.0).pass);
        assert!(!Condition::at_least("a rate".into(), "/s", 99.0, 100.0).pass);
    }

    #[test]
    fn figures_are_written_for_people() {
        let written = [0.756, 99.0, 300.0, 1234.4, 1_970_000.0].map(number);
        assert_eq!(written, ["0.76", "99.00", "300", "1,234", "1,970,000"]);
    }
}
