//! The phases of a scenario and their lengths.

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

/// What goes on in a part of a turn. What lies between two parts belongs to none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Caches fill; nothing of it counts.
    WarmUp,
    /// The load alone.
    Clean,
    /// The load with its trouble.
    Stress,
    /// The load, after the trouble.
    Recovery,
}

impl Phase {
    /// In their order.
    pub const ALL: [Phase; 4] = [Phase::WarmUp, Phase::Clean, Phase::Stress, Phase::Recovery];

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Phase::WarmUp => "warm-up",
            Phase::Clean => "clean",
            Phase::Stress => "stress",
            Phase::Recovery => "recovery",
        }
    }
}

/// Seconds of the phases in the public benchmark, which has a clean phase of 60 s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full {
    /// Of the clean phase.
    pub clean: u64,
    /// Of the stress; 0 for a scenario without one.
    pub stress: u64,
    /// Of the recovery; likewise.
    pub recovery: u64,
}

/// Seconds of the warm-up in the public benchmark.
const WARM_UP: f64 = 30.0;
/// The clean phase that all others are in proportion to.
const CLEAN: f64 = 60.0;
/// Seconds that `--seconds` takes.
const SECONDS: std::ops::RangeInclusive<f64> = 1.0..=3600.0;
/// The longest window of latencies.
const WINDOW_MAX: u64 = 30;

/// The size of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// Seconds of a clean phase that has 60 s in the public benchmark.
    pub seconds: f64,
    /// The least that is of any use; the figures mean nothing.
    pub smoke: bool,
}

/// Whole seconds of each phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lengths {
    /// Of the warm-up.
    pub warm_up: u64,
    /// Of the clean phase.
    pub clean: u64,
    /// Of the stress.
    pub stress: u64,
    /// Of the recovery.
    pub recovery: u64,
}

impl Scale {
    /// As `--seconds` says, or the default.
    ///
    /// # Errors
    /// When it is too short or too long.
    pub fn of(seconds: Option<f64>, smoke: bool) -> Result<Scale> {
        let seconds = seconds.unwrap_or(if smoke { 1.0 } else { 15.0 });
        if !SECONDS.contains(&seconds) {
            let (least, most) = (SECONDS.start(), SECONDS.end());
            bail!("--seconds {seconds}: a clean phase takes {least} to {most}");
        }
        Ok(Scale { seconds, smoke })
    }

    /// The lengths of phases that have these in the public benchmark. In a smoke run each has one
    /// second, the recovery two.
    pub fn lengths(self, full: Full) -> Lengths {
        let part = |of: f64, least: u64| {
            let scaled = (of * self.seconds / CLEAN).round() as u64;
            let least = if of > 0.0 { least } else { 0 };
            if self.smoke { least.min(scaled.max(least)) } else { scaled.max(least) }
        };
        let least = if self.smoke { 1 } else { 2 };
        Lengths {
            warm_up: part(WARM_UP, 1),
            clean: part(full.clean as f64, least),
            stress: part(full.stress as f64, least),
            recovery: part(full.recovery as f64, 2),
        }
    }
}

impl Lengths {
    /// Seconds of the window of latencies: as long as it may be and lie within the shortest phase
    /// that is judged.
    pub fn window(&self) -> u64 {
        let judged = [self.clean, self.stress].into_iter().filter(|seconds| *seconds > 0);
        judged.min().unwrap_or(1).clamp(1, WINDOW_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: Full = Full { clean: 60, stress: 240, recovery: 60 };

    #[test]
    fn phases_keep_their_proportions() {
        let lengths = |seconds| Scale::of(Some(seconds), false).unwrap().lengths(FULL);
        let full = Lengths { warm_up: 30, clean: 60, stress: 240, recovery: 60 };
        assert_eq!(lengths(60.0), full);
        assert_eq!(lengths(15.0), Lengths { warm_up: 8, clean: 15, stress: 60, recovery: 15 });
        assert_eq!((full.window(), lengths(15.0).window(), lengths(1.0).window()), (30, 15, 2));
        let alone = Full { stress: 0, recovery: 0, ..FULL };
        let alone = Scale::of(None, false).unwrap().lengths(alone);
        assert_eq!((alone.stress, alone.recovery), (0, 0));
    }

    #[test]
    fn a_smoke_run_takes_seconds() {
        let lengths = Scale::of(None, true).unwrap().lengths(FULL);
        assert_eq!(lengths, Lengths { warm_up: 1, clean: 1, stress: 1, recovery: 2 });
        assert_eq!(lengths.window(), 1);
    }

    #[test]
    fn a_length_that_is_of_no_use_is_refused() {
        for seconds in [f64::NAN, 0.0, 0.9, 3601.0] {
            let refused = Scale::of(Some(seconds), false).unwrap_err().to_string();
            assert!(refused.ends_with("takes 1 to 3600"), "{refused}");
        }
    }
}
