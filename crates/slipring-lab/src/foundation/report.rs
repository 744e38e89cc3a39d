//! What a run found, as it is kept.

use serde::{Deserialize, Serialize};

use super::Sizes;
use crate::run::contender::Measured;
use crate::run::report;
use crate::stats::Summary;
use crate::workloads::Outcome;

/// A whole run.
pub type Report = report::Report<Details, ContenderReport>;

/// How it was run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Details {
    /// Whether the sizes were tiny, so that the figures mean nothing.
    pub smoke: bool,
    /// Rounds of each row.
    pub rounds: usize,
    /// Measured seconds of each round.
    pub seconds: f64,
}

/// One row.
pub type RowReport = report::RowReport<ContenderReport>;

/// One of the things a row ran by turns.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ContenderReport {
    /// Its name within the row.
    pub name: String,
    /// Messages per second over the rounds.
    pub rate: Option<Summary>,
    /// The rounds.
    pub rounds: Vec<Outcome>,
}

impl ContenderReport {
    /// The contender's rounds with their summary.
    pub fn new(name: &str, rounds: Vec<Outcome>) -> ContenderReport {
        let rates: Vec<f64> = rounds.iter().map(|round| round.rate).collect();
        ContenderReport { name: name.to_owned(), rate: Summary::of(&rates), rounds }
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

impl From<Sizes> for Details {
    fn from(sizes: Sizes) -> Details {
        let Sizes { smoke, rounds, seconds, .. } = sizes;
        Details { smoke, rounds, seconds }
    }
}
