//! What was measured, by contender, number of timers and threads, over all rounds.

use std::collections::BTreeMap;

use super::measure::{Measured, Name};
use crate::stats::Summary;

/// One place in the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    /// Outstanding timers.
    pub timers: usize,
    /// Threads.
    pub threads: usize,
    /// Whose timers.
    pub name: Name,
}

/// All measurements, each with its round.
#[derive(Debug, Default)]
pub struct Points(BTreeMap<At, Vec<(usize, Measured)>>);

impl Points {
    /// Adds a measurement.
    pub fn add(&mut self, round: usize, measured: Measured) {
        let (timers, threads, name) = (measured.timers, measured.threads, measured.contender);
        self.0.entry(At { timers, threads, name }).or_default().push((round, measured));
    }

    /// All places with what was measured there.
    pub fn all(&self) -> impl Iterator<Item = (At, Vec<&Measured>)> {
        self.0.iter().map(|(at, rounds)| (*at, rounds.iter().map(|(_, one)| one).collect()))
    }

    /// What was measured at a place, where all timers were reached.
    pub fn full(&self, at: At) -> Vec<&Measured> {
        let rounds = self.0.get(&at).into_iter().flatten().map(|(_, one)| one);
        rounds.filter(|one| one.reached == one.timers).collect()
    }

    /// The least number of timers a contender could not reach, and how many it had then.
    pub fn not_reached(&self, name: Name) -> Option<(usize, usize)> {
        let of_name = self.0.iter().filter(|(at, _)| at.name == name);
        let short = of_name.flat_map(|(_, rounds)| rounds).map(|(_, one)| one);
        let short = short.filter(|one| one.reached < one.timers);
        short.map(|one| (one.timers, one.reached)).min()
    }

    /// Whether a contender could not reach so many timers before.
    pub fn is_beyond(&self, name: Name, timers: usize) -> bool {
        self.not_reached(name).is_some_and(|(asked, _)| timers >= asked)
    }

    /// The numbers of timers, from the least on.
    pub fn timers(&self) -> Vec<usize> {
        let mut timers: Vec<usize> = self.0.keys().map(|at| at.timers).collect();
        timers.dedup();
        timers
    }

    /// The numbers of threads, from the least on.
    pub fn threads(&self) -> Vec<usize> {
        let mut threads: Vec<usize> = self.0.keys().map(|at| at.threads).collect();
        threads.sort_unstable();
        threads.dedup();
        threads
    }

    /// The rate of the engine divided by that of `other`: the median of the rounds' ratios, for
    /// both ran one after the other in each.
    pub fn ratio(&self, timers: usize, threads: usize, other: Name) -> Option<f64> {
        let rates = |name| -> BTreeMap<usize, f64> {
            let rounds = self.0.get(&At { timers, threads, name }).into_iter().flatten();
            let full = rounds.filter(|(_, one)| one.reached == one.timers);
            full.map(|(round, one)| (*round, one.rate)).collect()
        };
        let theirs = rates(other);
        let pairs = rates(Name::Engine).into_iter().filter_map(|(round, ours)| {
            let theirs = theirs.get(&round).copied().filter(|rate| *rate > 0.0)?;
            Some(ours / theirs)
        });
        Some(Summary::of(&pairs.collect::<Vec<f64>>())?.median)
    }
}

/// The median of one figure over the rounds; not a number without rounds.
pub fn median(rounds: &[&Measured], figure: impl Fn(&Measured) -> f64) -> f64 {
    let figures: Vec<f64> = rounds.iter().map(|one| figure(one)).collect();
    Summary::of(&figures).map_or(f64::NAN, |summary| summary.median)
}

/// The largest of one figure over the rounds; not a number without rounds.
pub fn largest(rounds: &[&Measured], figure: impl Fn(&Measured) -> f64) -> f64 {
    let figures: Vec<f64> = rounds.iter().map(|one| figure(one)).collect();
    Summary::of(&figures).map_or(f64::NAN, |summary| summary.max)
}

/// The sum of one count over the rounds.
pub fn total(rounds: &[&Measured], count: impl Fn(&Measured) -> u64) -> u64 {
    rounds.iter().map(|one| count(one)).sum()
}

#[cfg(test)]
pub mod tests {
    use super::super::measure::Waited;
    use super::*;
    use crate::stats::Percentiles;

    /// A measurement that found `rate`.
    pub fn one(contender: Name, timers: usize, threads: usize, rate: f64) -> Measured {
        let late = Percentiles {
            count: 10,
            p50_us: 4e3,
            p99_us: 8e3,
            max_us: 9e3,
            ..Percentiles::default()
        };
        let waits = (contender != Name::TokioSleep).then(|| Waited {
            class: "a_lock".into(),
            acquisitions: 200,
            contended: 20,
            total_ms: 30.0,
            max_ms: 4.0,
            share: 0.25,
        });
        Measured {
            contender,
            timers,
            reached: timers,
            threads,
            rate,
            turns: late,
            late,
            early: 0,
            lost: 0,
            renewed: 64,
            lapsed: 0,
            renewals_late: late,
            bytes_per_timer: 56.0,
            waits,
            blocked_per_million: 3.0,
            idle_share: 0.5,
        }
    }

    #[test]
    fn a_ratio_is_the_median_of_those_of_the_rounds() {
        let mut points = Points::default();
        for (round, (ours, theirs)) in
            [(100.0, 10.0), (50.0, 10.0), (60.0, 20.0)].into_iter().enumerate()
        {
            points.add(round, one(Name::Engine, 10, 1, ours));
            points.add(round, one(Name::DotnetList, 10, 1, theirs));
        }
        assert_eq!(points.ratio(10, 1, Name::DotnetList), Some(5.0));
        assert_eq!(points.ratio(10, 1, Name::OrderedList), None);
        assert_eq!((points.timers(), points.threads()), (vec![10], vec![1]));
    }

    #[test]
    fn what_could_not_be_reached_is_not_tried_again_and_no_figure() {
        let mut points = Points::default();
        points.add(0, Measured { reached: 7, ..one(Name::OrderedList, 10, 1, 1.0) });
        points.add(0, one(Name::Engine, 10, 1, 9.0));
        assert!(points.is_beyond(Name::OrderedList, 10) && points.is_beyond(Name::OrderedList, 99));
        assert!(!points.is_beyond(Name::OrderedList, 9) && !points.is_beyond(Name::Engine, 99));
        assert_eq!(points.ratio(10, 1, Name::OrderedList), None);
        assert!(points.full(At { timers: 10, threads: 1, name: Name::OrderedList }).is_empty());
    }
}
