//! What a run found, as it is kept: a JSON file with all raw figures, and the printed table.

use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::verdict::Condition;
use super::{Sizes, table, today};
use crate::machine::Machine;
use crate::stats::Summary;
use crate::workloads::Outcome;

/// A whole run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Report {
    /// The day, as YYYY-MM-DD (UTC).
    pub date: String,
    /// The command line.
    pub command: String,
    /// What it ran on.
    pub machine: Machine,
    /// Whether the sizes were tiny, so that the figures mean nothing.
    pub smoke: bool,
    /// Rounds of each row, measured seconds of each round.
    pub rounds: usize,
    /// Measured seconds of each round.
    pub seconds: f64,
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
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SideReport {
    /// Its name within the row.
    pub name: String,
    /// Messages per second over the rounds.
    pub rate: Option<Summary>,
    /// The rounds.
    pub rounds: Vec<Outcome>,
}

impl SideReport {
    /// The side's rounds with their summary.
    pub fn new(name: &str, rounds: Vec<Outcome>) -> SideReport {
        let rates: Vec<f64> = rounds.iter().map(|round| round.rate).collect();
        SideReport { name: name.to_owned(), rate: Summary::of(&rates), rounds }
    }
}

impl Report {
    /// A report without rows yet.
    pub fn new(machine: Machine, sizes: Sizes) -> Report {
        let mut command = vec!["slipring-lab".to_owned()];
        command.extend(std::env::args().skip(1));
        Report {
            date: today(),
            command: command.join(" "),
            machine,
            smoke: sizes.smoke,
            rounds: sizes.rounds,
            seconds: sizes.seconds,
            rows: Vec::new(),
        }
    }

    /// How many targets were missed.
    pub fn missed(&self) -> usize {
        self.rows.iter().flat_map(|row| &row.conditions).filter(|c| !c.pass).count()
    }

    /// Writes `foundation.json` and `foundation.txt` into `folder`.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn keep(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        let files = [
            ("foundation.json", serde_json::to_string_pretty(self)? + "\n"),
            ("foundation.txt", table::text(self)),
        ];
        for (name, text) in files {
            let path = folder.join(name);
            std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        }
        Ok(())
    }
}
