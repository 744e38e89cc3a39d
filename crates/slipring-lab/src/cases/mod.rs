//! `case`: the published cases. Each has its published design built anew as a baseline, the effect
//! its author saw, and ours on the same work, side by side in one run.

pub mod bulk;
mod jobs;
mod ring;
pub mod timers;
mod waiters;

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::findings::Findings;

/// Which case is run, and what becomes of it.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Its number.
    #[arg(value_parser = clap::value_parser!(u8).range(1..=5))]
    number: u8,
    /// Tiny sizes; the figures mean nothing.
    #[arg(long)]
    pub smoke: bool,
    /// Measured seconds of each step that is measured for a time.
    #[arg(long)]
    pub seconds: Option<f64>,
    /// Case 4: only contenders whose name has one of these in it; what they are compared with too.
    #[arg(long)]
    pub contender: Vec<String>,
    /// Keep tables, plots and raw data in a dated folder inside this one; otherwise they go to
    /// target/lab, into a folder of the case's name.
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Fail when a check is missed.
    #[arg(long)]
    pub strict: bool,
}

impl Options {
    /// The measured seconds of a step: what the command line says, or a default for each size.
    pub fn seconds(&self, full: f64, smoke: f64) -> f64 {
        self.seconds.unwrap_or(if self.smoke { smoke } else { full })
    }
}

/// Runs a case and prints what it found.
///
/// # Errors
/// When it fails, or cannot be kept; with `--strict`, also when a check is missed. What was found
/// until then is printed and kept.
pub fn run(options: &Options) -> Result<()> {
    find(options)?.present(options.out.as_deref(), options.strict)
}

/// Runs a case.
fn find(options: &Options) -> Result<Findings> {
    if options.number != 4 && !options.contender.is_empty() {
        bail!("--contender is an option of case 4, not of case {}", options.number);
    }
    match options.number {
        1 => waiters::run(options),
        2 => bulk::run(options),
        3 => ring::run(options),
        4 => jobs::run(options),
        5 => timers::run(options),
        number => bail!("there is no case {number}; they are 1 to 5"),
    }
}
