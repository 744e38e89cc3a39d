//! What the case has measured so far, and the figures that tables and checks take from it.

use anyhow::Result;

use super::contender::Kind;
use super::idle::Idle;
use super::load::Counted;
use super::neighbour::{Beside, Neighbour};
use super::one_latch::{LATCH, LatchUse};
use super::storm::{Storm, Stormed};
use super::waits::{self, WaitLine, WaitTable};
use super::wake::{Wake, Woken};
use crate::stats::{Percentiles, Summary};

/// All that was measured.
#[derive(Default)]
pub struct Found {
    /// Waits on one queue.
    pub storms: Vec<StormRuns>,
    /// Queue B beside queue A.
    pub neighbours: Vec<(Beside, Kind, Neighbour)>,
    /// Messages on queue B beside queue A.
    pub wakes: Vec<WakeRuns>,
    /// Idle receives.
    pub idles: Vec<(Kind, Idle)>,
}

/// The rounds of one storm on one contender.
pub struct StormRuns {
    /// What was run.
    pub storm: Storm,
    /// On what.
    pub kind: Kind,
    /// Round by round.
    pub rounds: Vec<Stormed>,
}

/// The rounds of one wake on one contender.
pub struct WakeRuns {
    /// What was run.
    pub wake: Wake,
    /// On what.
    pub kind: Kind,
    /// Round by round.
    pub rounds: Vec<Woken>,
}

impl StormRuns {
    /// All rounds as one.
    ///
    /// # Errors
    /// As [`Counted::merge`].
    pub fn overhead(&self) -> Result<Percentiles> {
        percentiles(self.rounds.iter().map(|round| &round.counted))
    }

    /// What the wait classes counted in all rounds.
    pub fn classes(&self) -> WaitTable {
        sum(self.rounds.iter().map(|round| &round.waits))
    }

    /// What the latch of the published design counted in all rounds.
    pub fn latch(&self) -> WaitLine {
        self.classes().remove(LATCH).unwrap_or_default()
    }

    /// How that latch was used in all rounds.
    pub fn latch_use(&self) -> LatchUse {
        let rounds = self.rounds.iter().filter_map(|round| round.latch);
        rounds.fold(LatchUse::default(), |sum, one| LatchUse {
            walked: sum.walked + one.walked,
            held_ns: sum.held_ns + one.held_ns,
        })
    }

    /// Seconds of all rounds.
    pub fn seconds(&self) -> f64 {
        self.rounds.iter().map(|round| round.seconds).sum()
    }

    /// Processor seconds of all rounds.
    pub fn processor_seconds(&self) -> f64 {
        self.rounds.iter().map(|round| round.processor_seconds).sum()
    }
}

impl WakeRuns {
    /// All rounds as one.
    ///
    /// # Errors
    /// As [`Counted::merge`].
    pub fn wakes(&self) -> Result<Percentiles> {
        percentiles(self.rounds.iter().map(|round| &round.wakes))
    }

    /// What the wait classes counted in all rounds.
    pub fn classes(&self) -> WaitTable {
        sum(self.rounds.iter().map(|round| &round.classes))
    }

    /// Messages that queue A has carried in all rounds.
    pub fn busy_messages(&self) -> f64 {
        self.rounds.iter().map(|round| round.checks[0].received as f64).sum()
    }

    /// Messages per second of queue A: the median of the rounds.
    pub fn busy_rate(&self) -> f64 {
        median(self.rounds.iter().map(|round| round.busy_rate))
    }
}

impl Found {
    /// The rounds of a storm, if it was run.
    pub fn storm(
        &self,
        kind: Kind,
        callers: usize,
        idle: usize,
        time_out_ms: u128,
    ) -> Option<&StormRuns> {
        self.storms.iter().find(|runs| {
            let storm = runs.storm;
            (runs.kind, storm.callers, storm.idle) == (kind, callers, idle)
                && storm.time_out.as_millis() == time_out_ms
        })
    }

    /// All waits that ended before their time.
    pub fn early(&self) -> u64 {
        self.all_counted().map(|counted| counted.early).sum()
    }

    /// All messages that came from empty queues, were lost or came twice.
    pub fn wrong(&self) -> u64 {
        let wakes = self.wakes.iter().flat_map(|runs| &runs.rounds);
        let idles = self.idles.iter().map(|(_, idle)| idle.checks);
        let checks = wakes.flat_map(|woken| woken.checks).chain(idles);
        let wrong: u64 = checks.map(|checks| checks.missing + checks.duplicates).sum();
        wrong + self.all_counted().map(|counted| counted.found).sum::<u64>()
    }

    fn all_counted(&self) -> impl Iterator<Item = &Counted> {
        let storms = self.storms.iter().flat_map(|runs| &runs.rounds).map(|round| &round.counted);
        let seen = self.neighbours.iter().flat_map(|(_, _, seen)| [&seen.alone, &seen.beside]);
        storms.chain(seen.flat_map(|seen| seen.waits.iter().chain(&seen.plain)))
    }
}

/// The percentiles of all together.
///
/// # Errors
/// As [`Counted::merge`].
pub fn percentiles<'a>(all: impl Iterator<Item = &'a Counted>) -> Result<Percentiles> {
    let mut sum = Counted::new()?;
    for one in all {
        sum.merge(one)?;
    }
    Ok(sum.overhead.percentiles())
}

/// How much larger the P95 of one is than that of another, measured by turns with it: the median
/// of the rounds, of which some may have met another load of the machine.
pub fn p95_ratio<'a>(
    over: impl Iterator<Item = &'a Counted>,
    under: impl Iterator<Item = &'a Counted>,
) -> f64 {
    let p95 = |counted: &Counted| counted.overhead.percentiles().p95_us;
    median(over.zip(under).map(|(over, under)| p95(over) / p95(under)))
}

/// The median, or no number for no figures.
pub fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let figures: Vec<f64> = figures.collect();
    Summary::of(&figures).map_or(f64::NAN, |summary| summary.median)
}

fn sum<'a>(tables: impl Iterator<Item = &'a WaitTable>) -> WaitTable {
    let mut sum = WaitTable::new();
    tables.for_each(|table| waits::add(&mut sum, table));
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(ms: u64) -> Counted {
        let mut counted = Counted::new().unwrap();
        (0..100).for_each(|_| counted.overhead.add(ms * 1_000_000));
        counted
    }

    #[test]
    fn a_ratio_is_the_median_of_the_rounds() {
        let (over, under) = ([6, 30, 4].map(counted), [2, 3, 2].map(counted));
        let ratio = p95_ratio(over.iter(), under.iter());
        assert!((ratio - 3.0).abs() < 0.05, "{ratio}");
        assert!(p95_ratio([].iter(), under.iter()).is_nan(), "what was not measured has none");
    }

    #[test]
    fn what_goes_wrong_anywhere_is_counted() {
        let mut found = Found::default();
        let (mut waits, mut plain) = (counted(1), counted(1));
        (waits.early, plain.found) = (2, 3);
        let mut seen = Neighbour::default();
        seen.beside.waits.push(waits);
        seen.alone.plain.push(plain);
        let (time_out, seconds) = (std::time::Duration::ZERO, 1.0);
        let beside = Beside { callers: 1, idle: 0, time_out, repetitions: 1, seconds, windows: 1 };
        found.neighbours.push((beside, Kind::Memory, seen));
        assert_eq!((found.early(), found.wrong()), (2, 3));
    }
}
