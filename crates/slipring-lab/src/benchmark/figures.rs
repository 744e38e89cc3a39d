//! The figures of a turn, and of several turns of one system.

use super::losses::Losses;
use super::phase::Phase;
use super::scenario::{Point, Scenario};
use super::system::System;
use super::turn::Turn;
use crate::stats::Summary;

/// What a turn came to. What was not measured is not a number.
#[derive(Debug, Clone)]
pub struct Figures {
    /// Completions per second in the clean phase, under stress and in the recovery.
    pub completed: [f64; 3],
    /// Inserts per second, clean and under stress.
    pub enqueued: [f64; 2],
    /// P99 from the insert to the start of the work, in milliseconds, clean and under stress.
    pub claim_p99_ms: [f64; 2],
    /// The highest P99 of a window under stress.
    pub claim_p99_peak_ms: f64,
    /// P50 of the same in the clean phase.
    pub claim_p50_ms: f64,
    /// Most jobs that were ready, clean and under stress.
    pub depth: [f64; 2],
    /// Attempts per second that failed as they should, in the clean phase.
    pub failed_rate: f64,
    /// Completions per second of priorities 1 and 4 in the clean phase.
    pub by_priority: [f64; 2],
    /// Most dead rows in the declared tables.
    pub dead_rows: f64,
    /// Rows of these that were updated or deleted.
    pub changed_rows: f64,
    /// Seconds until the load was as before.
    pub recovery_s: f64,
    /// Longest end after SIGTERM in seconds; infinite for one that failed or had to be killed.
    pub exit_s: f64,
    /// Microseconds of processor time of PostgreSQL and of the adapter for each completion.
    pub cpu_us: [f64; 2],
    /// What became of the jobs.
    pub losses: Option<Losses>,
    /// Dead letters in the database.
    pub dead_letters: Option<u64>,
}

const STRESSED: [Phase; 3] = [Phase::Clean, Phase::Stress, Phase::Recovery];

impl Figures {
    /// Of a turn of a scenario.
    pub fn of(turn: &Turn, scenario: &Scenario) -> Figures {
        let record = &turn.record;
        let clean = record.rate(Phase::Clean, "completion_rate");
        let span = record.span(Phase::Clean);
        let seconds = span.map_or(f64::NAN, |span| (span.to_ms - span.from_ms) as f64 / 1000.0);
        let per_job = |cpu: f64| if clean > 0.0 { cpu * 1e6 / (clean * seconds) } else { f64::NAN };
        let exit = |exit: &super::process::Exit| match exit.well {
            true => exit.seconds,
            false => f64::INFINITY,
        };
        let at = |phase, metric| record.median(phase, metric);
        Figures {
            completed: STRESSED.map(|phase| record.rate(phase, "completion_rate")),
            enqueued: [Phase::Clean, Phase::Stress].map(|phase| record.rate(phase, "enqueue_rate")),
            claim_p99_ms: [Phase::Clean, Phase::Stress].map(|phase| at(phase, "claim_p99_ms")),
            claim_p99_peak_ms: record.worst(Phase::Stress, "claim_p99_ms"),
            claim_p50_ms: at(Phase::Clean, "claim_p50_ms"),
            depth: [Phase::Clean, Phase::Stress].map(|phase| record.peak(phase, "queue_depth")),
            failed_rate: record.rate(Phase::Clean, "retryable_failure_rate"),
            by_priority: ["completed_priority_1_rate", "completed_priority_4_rate"]
                .map(|metric| record.rate(Phase::Clean, metric)),
            dead_rows: record.dead_rows(),
            changed_rows: record.changed_rows(),
            recovery_s: record.recovery_s(scenario.offered()),
            exit_s: turn.exits.iter().map(exit).fold(f64::NAN, f64::max),
            cpu_us: turn.cpu_seconds.unwrap_or([f64::NAN; 2]).map(per_job),
            losses: turn.losses,
            dead_letters: turn.dead_letters,
        }
    }
}

/// The turns of one system at one size.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The system.
    pub system: System,
    /// The size.
    pub point: Point,
    /// Turns that came to their end.
    pub turns: Vec<Figures>,
    /// Why one did not.
    pub failed: Option<String>,
}

impl Cell {
    /// One that had no turn yet.
    pub fn new(system: System, point: Point) -> Cell {
        Cell { system, point, turns: Vec::new(), failed: None }
    }

    /// Median and range of a figure over its turns, those left out in which it is none.
    pub fn summary(&self, of: impl Fn(&Figures) -> f64) -> Option<Summary> {
        let figures: Vec<f64> = self.turns.iter().map(of).filter(|one| !one.is_nan()).collect();
        Summary::of(&figures)
    }

    /// The median of a figure; not a number where there is none.
    pub fn median(&self, of: impl Fn(&Figures) -> f64) -> f64 {
        self.summary(of).map_or(f64::NAN, |summary| summary.median)
    }

    /// The highest of a figure; likewise.
    pub fn worst(&self, of: impl Fn(&Figures) -> f64) -> f64 {
        self.summary(of).map_or(f64::NAN, |summary| summary.max)
    }

    /// The sum over the turns of what became of the jobs.
    pub fn losses(&self) -> Option<Losses> {
        let told = self.turns.iter().filter_map(|turn| turn.losses);
        told.reduce(|sum, one| Losses {
            sent: sum.sent + one.sent,
            lost: sum.lost + one.lost,
            again: sum.again + one.again,
            unsure: sum.unsure + one.unsure,
        })
    }
}
