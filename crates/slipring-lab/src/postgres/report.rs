//! What a run found, as it is kept.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Sizes;
use super::meter::Cost;
use super::protocol::{Answer, Command, Ready, Window};
use crate::run::contender::Measured;
use crate::run::report;
use crate::stats::{Percentiles, Summary};

/// A whole run.
pub type Report = report::Report<Details, ContenderReport>;

/// How it was run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Details {
    /// The settings of PostgreSQL that matter.
    pub settings: BTreeMap<String, String>,
    /// How long and how often things were measured.
    pub sizes: Sizes,
}

/// One row.
pub type RowReport = report::RowReport<ContenderReport>;

/// One of the things a row ran by turns.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ContenderReport {
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

impl ContenderReport {
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

impl Measured for ContenderReport {
    fn name(&self) -> &str {
        &self.name
    }

    fn rate(&self) -> Option<&Summary> {
        self.rate.as_ref()
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
