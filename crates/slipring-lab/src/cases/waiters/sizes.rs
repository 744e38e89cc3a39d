//! How much of everything is measured, at full size and for a smoke run.

use std::time::Duration;

use anyhow::{Result, bail};

use super::load::THREADS_MAX;
use super::neighbour::Beside;
use super::storm::Storm;
use super::wake::{Busy, Wake};
use crate::cases::Options;

/// Waits of each caller, as published.
const REPETITIONS: u32 = 1_000;
/// Seconds of one storm, window or load, at most.
const SECONDS: f64 = 2.0;
const SECONDS_SMOKE: f64 = 0.1;
const SECONDS_MAX: f64 = 3600.0;
const TIME_OUTS_MS: [u64; 2] = [10, 1];

/// How much is measured.
pub struct Sizes {
    /// Numbers of callers of the storm.
    pub callers: Vec<usize>,
    /// Numbers of callers of the storm among idle receives.
    pub callers_among_idle: Vec<usize>,
    /// Idle receives.
    pub idle: usize,
    /// Callers on queue A beside queue B.
    pub neighbours: usize,
    /// Each storm runs so often, by turns with the others.
    pub rounds: usize,
    /// Seconds of one storm, window or load, at most.
    pub seconds: f64,
}

impl Sizes {
    /// Those of a run.
    ///
    /// # Errors
    /// When the seconds that were asked for cannot be measured.
    pub fn new(options: &Options) -> Result<Sizes> {
        let seconds = options.seconds(SECONDS, SECONDS_SMOKE);
        if !(seconds > 0.0 && seconds <= SECONDS_MAX) {
            bail!("--seconds {seconds}: more than 0 and at most {SECONDS_MAX} can be measured");
        }
        if options.smoke {
            return Ok(Sizes {
                callers: vec![1, 10, 300],
                callers_among_idle: vec![1, 10],
                idle: 1_000,
                neighbours: 20,
                rounds: 1,
                seconds,
            });
        }
        Ok(Sizes {
            callers: vec![1, 10, 100, 200, 300, 1_000, 10_000],
            callers_among_idle: vec![1, 10, 100, 200, 300],
            idle: 10_000,
            neighbours: 100,
            rounds: 5,
            seconds,
        })
    }

    /// The storms of one round.
    pub fn storms(&self) -> Vec<Storm> {
        let storm = |callers: usize, idle: usize, ms: u64| Storm {
            callers,
            idle,
            time_out: Duration::from_millis(ms),
            repetitions: REPETITIONS,
            seconds: self.seconds,
        };
        let plain = TIME_OUTS_MS.iter().flat_map(|ms| self.callers.iter().map(move |n| (*n, *ms)));
        let mut storms: Vec<Storm> = plain.map(|(callers, ms)| storm(callers, 0, ms)).collect();
        let among = self.callers_among_idle.iter();
        storms.extend(among.map(|callers| storm(*callers, self.idle, TIME_OUTS_MS[0])));
        storms
    }

    /// Queue B beside queue A: without idle receives on A, and with them.
    pub fn neighbours(&self) -> [Beside; 2] {
        [0, self.idle].map(|idle| Beside {
            callers: self.neighbours,
            idle,
            time_out: Duration::from_millis(TIME_OUTS_MS[0]),
            repetitions: REPETITIONS,
            seconds: self.seconds,
            windows: self.rounds,
        })
    }

    /// The wakes of one round.
    pub fn wakes(&self) -> [Wake; 4] {
        Busy::ALL.map(|busy| Wake { busy, callers: self.neighbours, seconds: self.seconds })
    }

    /// Waiters of the largest storm whose callers are threads.
    pub fn most(&self) -> usize {
        self.callers.iter().copied().filter(|n| *n <= THREADS_MAX).max().unwrap_or(1)
    }

    /// Waiters of the largest storm among idle receives.
    pub fn most_among_idle(&self) -> usize {
        self.callers_among_idle.iter().copied().max().unwrap_or(1)
    }
}
