//! What a run found, as it is kept: a JSON file with all raw figures, and the printed table.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::meter::Cost;
use super::protocol::{Answer, Command, Ready, Window};
use super::{Sizes, table};
use crate::foundation::verdict::Condition;
use crate::machine::Machine;
use crate::stats::{Percentiles, Summary};

/// A whole run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Report {
    /// The day, as YYYY-MM-DD (UTC).
    pub date: String,
    /// The command line.
    pub command: String,
    /// What it ran on.
    pub machine: Machine,
    /// The settings of PostgreSQL that matter.
    pub settings: BTreeMap<String, String>,
    /// How it was run.
    pub sizes: Sizes,
    /// The rows that were run.
    pub rows: Vec<RowReport>,
}

/// One row.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RowReport {
    /// What `--row` calls it.
    pub name: String,
    /// What is measured, in words.
    pub what: String,
    /// What was asked, and whether it was met.
    pub conditions: Vec<Condition>,
    /// What was run by turns.
    pub sides: Vec<SideReport>,
}

/// One of the things a row ran by turns.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SideReport {
    /// Its name within the row.
    pub name: String,
    /// Version and way of driving.
    pub ready: Ready,
    /// Why it could not be measured, or why its answers are not to be believed.
    pub trouble: Option<String>,
    /// Messages per second over the rounds.
    pub rate: Option<Summary>,
    /// The rounds.
    pub rounds: Vec<Round>,
}

/// One measurement.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Round {
    /// What the driver was told.
    pub command: Command,
    /// What it answered.
    pub answer: Answer,
    /// What that cost PostgreSQL.
    pub cost: Cost,
    /// Windows, where the work has them.
    pub windows: Vec<Phase>,
}

/// A window with the tables at its end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Phase {
    /// What went on beside it.
    pub phase: Held,
    /// What the driver saw.
    pub window: Window,
    /// Dead rows of all tables of users.
    pub dead_rows: i64,
    /// Size of all tables of users with their indexes.
    pub bytes: i64,
}

/// Whether somebody held a transaction open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Held {
    /// Not yet.
    Before,
    /// All the time.
    During,
    /// Not any more.
    After,
}

impl SideReport {
    /// Fills in the summary of the rounds.
    pub fn sum_up(&mut self) {
        let rates: Vec<f64> = self.rounds.iter().map(|round| round.answer.rate()).collect();
        self.rate = Summary::of(&rates);
    }

    /// The median over the rounds of a figure.
    pub fn median(&self, of: impl Fn(&Round) -> Option<f64>) -> f64 {
        let figures: Vec<f64> = self.rounds.iter().filter_map(of).collect();
        Summary::of(&figures).map_or(f64::NAN, |summary| summary.median)
    }

    /// The median over the rounds of one percentile of the latency of the table.
    pub fn latency(&self, which: fn(&Percentiles) -> f64) -> f64 {
        self.median(|round| {
            let spread = round.answer.latencies.values().next()?;
            Some(which(&spread.percentiles()))
        })
    }
}

impl Round {
    /// A figure of the costs divided by the messages that came to an end, or were sent where the
    /// work is only to send.
    pub fn per_message(&self, figure: f64) -> Option<f64> {
        let messages = self.answer.received.max(self.answer.sent);
        (messages > 0).then(|| figure / messages as f64)
    }
}

impl Report {
    /// How many targets were missed.
    pub fn missed(&self) -> usize {
        self.rows.iter().flat_map(|row| &row.conditions).filter(|c| !c.pass).count()
    }

    /// Writes `postgres.json` and `postgres.txt` into `folder`.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn keep(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        let files = [
            ("postgres.json", serde_json::to_string_pretty(self)? + "\n"),
            ("postgres.txt", table::text(self)),
        ];
        for (name, text) in files {
            let path = folder.join(name);
            std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        }
        Ok(())
    }
}
