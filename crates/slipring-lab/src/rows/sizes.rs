//! How large and how long a run is.

use serde::{Deserialize, Serialize};

use super::Table;
use crate::run::Options;

/// Sizes of one run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sizes {
    /// Tiny sizes and no foreign peers.
    pub smoke: bool,
    /// Rounds of each row.
    pub rounds: usize,
    /// Measured seconds of each round.
    pub seconds: f64,
    /// How long transactions are held open, in minutes.
    pub minutes: f64,
    /// Messages in the long backlog.
    pub backlog: u64,
}

/// The windows of a row in which a transaction is held open.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// Windows before it is opened.
    pub before: usize,
    /// Windows while it is open.
    pub during: usize,
    /// Windows after it was closed.
    pub after: usize,
    /// The length of each in seconds.
    pub seconds: f64,
}

impl Plan {
    /// All windows.
    pub fn windows(&self) -> usize {
        self.before + self.during + self.after
    }
}

impl Sizes {
    /// The sizes of a table without further options.
    pub fn new(table: Table, smoke: bool) -> Sizes {
        let (rounds, seconds) = match table {
            Table::Foundation => (5, 2.0),
            Table::Postgres => (3, 60.0),
            Table::Peers => (3, 10.0),
        };
        if smoke {
            return Sizes { smoke, rounds: 1, seconds: 0.2, minutes: 0.02, backlog: 20_000 };
        }
        Sizes { smoke, rounds, seconds, minutes: 15.0, backlog: 10_000_000 }
    }

    /// What the command line says, or else the sizes of the table.
    pub fn of(options: &Options) -> Sizes {
        let plain = Sizes::new(options.table, options.smoke);
        Sizes {
            smoke: options.smoke,
            rounds: options.rounds.unwrap_or(plain.rounds).max(1),
            seconds: options.seconds.unwrap_or(plain.seconds),
            minutes: options.minutes.unwrap_or(plain.minutes),
            backlog: options.backlog.unwrap_or(plain.backlog),
        }
    }

    /// How the time that a transaction is held open is cut into windows.
    pub fn plan(&self) -> Plan {
        let (before, during, after) = if self.smoke { (1, 3, 1) } else { (2, 15, 3) };
        Plan { before, during, after, seconds: self.minutes * 60.0 / f64::from(during as u8) }
    }
}
