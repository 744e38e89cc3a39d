//! The phases of a bad day.

use std::time::Duration;

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

/// What goes on beside the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Nothing yet.
    Calm,
    /// One participant misbehaves.
    Fault,
    /// It has stopped.
    Recovery,
}

impl Phase {
    /// In their order.
    pub const ALL: [Phase; 3] = [Phase::Calm, Phase::Fault, Phase::Recovery];

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Calm => "calm",
            Phase::Fault => "fault",
            Phase::Recovery => "recovery",
        }
    }

    /// As a number that [`Phase::from_number`] reads.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// From a number; the last for one that is none.
    pub fn from_number(number: u8) -> Phase {
        Phase::ALL.get(usize::from(number)).copied().unwrap_or(Phase::Recovery)
    }
}

/// How long each phase is at least, and how long a window.
#[derive(Debug, Clone, Copy)]
pub struct Lengths {
    /// Of the calm phase, and of the recovery.
    pub around: Duration,
    /// Of the fault phase; it goes on until the fault has happened.
    pub fault: Duration,
    /// Of a window.
    pub window: Duration,
}

/// Seconds that `--seconds` takes.
const SECONDS: std::ops::RangeInclusive<f64> = 0.2..=3600.0;

impl Lengths {
    /// Of a day whose phases have so many seconds each, or the default of a size.
    ///
    /// # Errors
    /// When it is too short or too long.
    pub fn of(seconds: Option<f64>, smoke: bool) -> Result<Lengths> {
        let seconds = seconds.unwrap_or(if smoke { 0.25 } else { 10.0 });
        if !SECONDS.contains(&seconds) {
            let (least, most) = (SECONDS.start(), SECONDS.end());
            bail!("--seconds {seconds}: a phase of a bad day takes {least} to {most}");
        }
        let each = Duration::from_secs_f64(seconds);
        // Four windows at least, and none longer than a second.
        let window = (each / 4).min(Duration::from_secs(1));
        Ok(Lengths { around: each, fault: each, window })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_has_seconds_enough_for_its_windows() {
        let lengths = Lengths::of(Some(30.0), false).unwrap();
        assert_eq!(lengths.window, Duration::from_secs(1));
        assert!(Lengths::of(None, true).unwrap().window < Duration::from_millis(200));
        for seconds in [f64::NAN, 0.0, -1.0, 3601.0] {
            let refused = Lengths::of(Some(seconds), false).unwrap_err().to_string();
            assert!(refused.ends_with("takes 0.2 to 3600"), "{refused}");
        }
        assert!(Phase::ALL.iter().all(|phase| Phase::from_number(phase.number()) == *phase));
    }
}
