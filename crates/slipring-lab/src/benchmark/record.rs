//! What was seen in one turn: the samples of all processes of an adapter, the phases, the dead
//! rows; and the figures that are read from them.

use std::collections::BTreeMap;

use super::phase::Phase;
use super::telemetry::Sample;
use crate::stats::Summary;

/// A completion rate of this part of what is offered is a recovered one.
const RECOVERED: f64 = 0.9;
/// So many seconds of offered jobs may wait in a queue that has recovered, where more have not
/// waited in the clean phase.
const WAITING_S: f64 = 0.5;
/// A look at the depth is good for so long, in milliseconds.
const DEPTH_LASTS_MS: u64 = 3000;

/// A phase, on the wall clock in milliseconds since 1970. Both ends are whole seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// What went on.
    pub phase: Phase,
    /// Its beginning.
    pub from_ms: u64,
    /// Its end.
    pub to_ms: u64,
}

/// Dead rows of the declared tables at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dead {
    /// On the wall clock in milliseconds since 1970.
    pub at_ms: u64,
    /// Rows that are dead.
    pub rows: i64,
    /// Rows ever updated or deleted: each was a dead row, whatever cleaned it up.
    pub changed: i64,
}

/// All that was seen.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// Samples, with the number of the process that told each.
    pub samples: Vec<(usize, Sample)>,
    /// Phases that have ended.
    pub spans: Vec<Span>,
    /// Looks at the declared tables.
    pub dead: Vec<Dead>,
    /// Lines that were none of the contract.
    pub bad_lines: u64,
}

impl Record {
    /// A process has told a sample. Processes are numbered in the order of their starts.
    pub fn add(&mut self, process: usize, sample: Sample) {
        self.samples.push((process, sample));
    }

    /// The span of a phase.
    pub fn span(&self, phase: Phase) -> Option<Span> {
        self.spans.iter().copied().find(|span| span.phase == phase)
    }

    /// How much a second a rate came to in each second, over all processes. A rate is spread evenly
    /// over the time since the tick before of the same process.
    pub fn per_second(&self, metric: &str) -> BTreeMap<u64, f64> {
        let mut seconds = BTreeMap::new();
        let mut last: BTreeMap<usize, u64> = BTreeMap::new();
        for (process, sample) in &self.samples {
            if sample.metric != metric {
                continue;
            }
            let window_ms = (sample.window_s * 1000.0) as u64;
            let before = last.insert(*process, sample.at_ms);
            let from = before.unwrap_or_else(|| sample.at_ms.saturating_sub(window_ms));
            for second in from / 1000..sample.at_ms.div_ceil(1000) {
                let begun = from.max(second * 1000);
                let ended = sample.at_ms.min((second + 1) * 1000);
                let part = ended.saturating_sub(begun) as f64 / 1000.0;
                *seconds.entry(second).or_default() += sample.value * part;
            }
        }
        seconds
    }

    /// The mean of a rate over a phase, of all processes together; not a number where there was no
    /// such phase. A second of which nothing was told counts as one in which nothing happened.
    pub fn rate(&self, phase: Phase, metric: &str) -> f64 {
        let Some(span) = self.span(phase) else { return f64::NAN };
        let (from, to) = (span.from_ms / 1000, span.to_ms / 1000);
        let sum = self.per_second(metric).range(from..to).fold(0.0, |sum, (_, value)| sum + value);
        if to > from { sum / (to - from) as f64 } else { f64::NAN }
    }

    /// The median of a metric over the ticks of a phase whose windows lie wholly in it; of several
    /// replicas the one with the highest value counts. Not a number where there is no such tick.
    pub fn median(&self, phase: Phase, metric: &str) -> f64 {
        Summary::of(&self.ticks(phase, metric)).map_or(f64::NAN, |summary| summary.median)
    }

    /// The highest over the same ticks.
    pub fn worst(&self, phase: Phase, metric: &str) -> f64 {
        self.ticks(phase, metric).into_iter().fold(f64::NAN, f64::max)
    }

    fn ticks(&self, phase: Phase, metric: &str) -> Vec<f64> {
        let Some(span) = self.span(phase) else { return Vec::new() };
        let mut ticks: BTreeMap<u64, f64> = BTreeMap::new();
        for (_, sample) in self.of(metric) {
            let window_ms = (sample.window_s * 1000.0) as u64;
            if sample.at_ms <= span.to_ms && sample.at_ms >= span.from_ms + window_ms {
                let highest = ticks.entry(sample.at_ms).or_insert(sample.value);
                *highest = highest.max(sample.value);
            }
        }
        ticks.into_values().collect()
    }

    /// The highest value of a metric in a phase; not a number where nothing was told.
    pub fn peak(&self, phase: Phase, metric: &str) -> f64 {
        let Some(span) = self.span(phase) else { return f64::NAN };
        let within =
            |sample: &&(usize, Sample)| (span.from_ms..=span.to_ms).contains(&sample.1.at_ms);
        self.of(metric).filter(within).map(|(_, sample)| sample.value).fold(f64::NAN, f64::max)
    }

    /// The last value of a metric that is told up to a moment and is not older than 3 s.
    pub fn last(&self, metric: &str, at_ms: u64) -> Option<f64> {
        let recent = |sample: &&(usize, Sample)| {
            sample.1.at_ms <= at_ms && sample.1.at_ms + DEPTH_LASTS_MS >= at_ms
        };
        let last = self.of(metric).filter(recent).max_by_key(|(_, sample)| sample.at_ms);
        last.map(|(_, sample)| sample.value)
    }

    /// Seconds from the end of the stress to the first second in which completions are at what is
    /// offered in a second and the queue is short, 0 where that is the first one; infinite where
    /// there is none, and not a number where nothing was stressed.
    pub fn recovery_s(&self, offered: f64) -> f64 {
        let Some(span) = self.span(Phase::Recovery) else { return f64::NAN };
        let waited = self.peak(Phase::Clean, "queue_depth");
        let waiting_max = (WAITING_S * offered).max(waited);
        let completed = self.per_second("completion_rate");
        let (from, to) = (span.from_ms / 1000, span.to_ms / 1000);
        let recovered = |second: &u64| {
            let depth = self.last("queue_depth", (second + 1) * 1000);
            let rate = completed.get(second).copied().unwrap_or(0.0);
            rate >= RECOVERED * offered && depth.is_some_and(|depth| depth <= waiting_max)
        };
        (from..to).find(recovered).map_or(f64::INFINITY, |second| (second - from) as f64)
    }

    /// Most dead rows that were seen at a moment; not a number where nobody looked.
    pub fn dead_rows(&self) -> f64 {
        self.dead.iter().map(|dead| dead.rows as f64).fold(f64::NAN, f64::max)
    }

    /// Rows updated or deleted up to the last look; likewise.
    pub fn changed_rows(&self) -> f64 {
        self.dead.iter().map(|dead| dead.changed as f64).fold(f64::NAN, f64::max)
    }

    fn of<'a>(&'a self, metric: &'a str) -> impl Iterator<Item = &'a (usize, Sample)> {
        self.samples.iter().filter(move |(_, sample)| sample.metric == metric)
    }
}
