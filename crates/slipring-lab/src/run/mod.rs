//! What the runs of all tables share: their options, what is asked of a row, how a report is
//! headed and kept, and what a run comes to in the end.

pub mod condition;
pub mod contender;
pub mod report;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde::Serialize;

use report::Report;

/// What of a table is run, and what becomes of it.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Tiny sizes without foreign peers, all answers checked; the figures mean nothing.
    #[arg(long)]
    pub smoke: bool,
    /// Only rows of these names.
    #[arg(long)]
    pub row: Vec<String>,
    /// Measured seconds of each round.
    #[arg(long)]
    pub seconds: Option<f64>,
    /// Rounds of each row.
    #[arg(long)]
    pub rounds: Option<usize>,
    /// Keep report and raw data in a dated folder inside this one; otherwise they go to
    /// target/lab, into a folder of the table's name.
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Fail when a row misses its target.
    #[arg(long)]
    pub strict: bool,
}

impl Options {
    /// Checks that all rows that are asked for are among `names`.
    ///
    /// # Errors
    /// When one is not.
    pub fn check_rows(&self, names: &[&str]) -> Result<()> {
        match self.row.iter().find(|row| !names.contains(&row.as_str())) {
            Some(unknown) => bail!("no row is called {unknown:?}; see `slipring-lab list`"),
            None => Ok(()),
        }
    }

    /// Whether a row is to be run.
    pub fn asks_for(&self, row: &str) -> bool {
        self.row.is_empty() || self.row.iter().any(|name| name == row)
    }

    /// Keeps the report of a table and what was `printed`, below `data` unless another place was
    /// given, and says where.
    ///
    /// # Errors
    /// When they cannot be kept, a row has failed, or, if strict, missed its target.
    pub fn end<D: Serialize, S: Serialize>(
        &self,
        (name, report): (&str, &Report<D, S>),
        printed: &str,
        failed: &[&str],
        data: &Path,
    ) -> Result<()> {
        let folder = match &self.out {
            Some(out) => out.join(report.head.folder_name()),
            None => data.join(name),
        };
        report.keep(&folder, name, printed)?;
        println!("raw data: {}", folder.display());
        if !failed.is_empty() {
            bail!("rows that failed: {}", failed.join(", "));
        }
        let missed = report.missed();
        if self.strict && missed > 0 {
            bail!("{missed} targets were missed");
        }
        Ok(())
    }
}

/// Shows on a terminal what is going on; the next text takes the place of the last.
pub fn progress(text: &str) {
    if std::io::stderr().is_terminal() {
        eprint!("\r{text:<60}\r");
    }
}
