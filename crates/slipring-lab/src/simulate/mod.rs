//! `simulate`: a discrete-event simulator of workers, cores, latches, logs and combiners.
//!
//! It stands in where the cores are missing: it must give what was published and what is measured
//! here, then says what to expect on more cores, with all that it takes for granted printed.

mod calibrated;
mod combining;
mod cores;
mod disks;
mod latches;
pub mod model;
pub mod models;
pub mod outcome;
mod own;
mod predicted;
mod program;
mod published;
#[cfg(test)]
mod tests;
mod world;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;

use crate::cases::bulk::measured::{Measured, Sizes, measure};
use crate::findings::Findings;
use crate::folder;
use crate::interrupt::Interrupt;
use crate::run::condition::number;
pub use calibrated::Costs;

/// Numbers of workers at which the simulator is held against this machine.
pub const MEASURED_WORKERS: [usize; 3] = [1, 2, 4];

/// The seed where none is given.
pub const SEED: u64 = 1;

/// What is simulated, and what becomes of it.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// A model of your own, as TOML or JSON. Without one the simulator is held against what was
    /// published and what this machine does, and then predicts.
    model: Option<PathBuf>,
    /// The same seed gives the same run.
    #[arg(long)]
    seed: Option<u64>,
    /// Tiny sizes; the measured figures mean nothing.
    #[arg(long)]
    smoke: bool,
    /// Keep tables, plots and raw data in a dated folder inside this one; otherwise they go to
    /// target/lab/simulate.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Fail when a check is missed.
    #[arg(long)]
    strict: bool,
}

/// Simulates and prints what was found.
///
/// # Errors
/// When the model makes no sense, or something cannot be measured or kept; with `--strict`, also
/// when a check is missed. What was found until then is printed and kept.
pub fn run(options: &Options) -> Result<()> {
    let data = folder::data()?;
    let title = "the simulator against what was published and measured, and what it predicts";
    let mut findings = Findings::new("simulate", title, &data);
    match &options.model {
        Some(model) => {
            let begun = Instant::now();
            let events = own::run(model, options.seed, &mut findings)?;
            findings.notes.push(speed(events, begun));
        }
        None => {
            if let Err(error) = validate(options, &mut findings) {
                findings.incomplete = Some(format!("{error:#}"));
            }
        }
    }
    findings.end(options.out.as_deref(), options.strict)
}

fn validate(options: &Options, findings: &mut Findings) -> Result<()> {
    let sizes = Sizes::of(options.smoke, &MEASURED_WORKERS);
    let stop = Interrupt::listen()?;
    let mut measured = Measured::default();
    measure(&sizes, &stop, &mut measured)?;
    stand_in(&measured, options.smoke, options.seed.unwrap_or(SEED), &stop, findings)
}

/// Holds the simulator against what was published and what was measured, and lets it predict.
///
/// # Errors
/// When a model makes no sense, a run that it needs was not measured, or the run is to end.
pub fn stand_in(
    measured: &Measured,
    smoke: bool,
    seed: u64,
    stop: &Interrupt,
    findings: &mut Findings,
) -> Result<()> {
    let begun = Instant::now();
    stop.check()?;
    let mut events = published::compare(smoke, seed, findings)?;
    let costs = Costs::of(measured)?;
    findings.notes.extend(costs.assumptions(findings.head.machine.cores));
    findings.notes.push(format!(
        "other programs used {:.0} % of one processor while the loads were measured; from 15 % on \
         believe no measured figure, nor what is derived from it",
        measured.others_percent
    ));
    stop.check()?;
    events += calibrated::compare(measured, &costs, seed, findings)?;
    stop.check()?;
    events += predicted::predict(&costs, smoke, seed, findings)?;
    findings.notes.push(speed(events, begun));
    Ok(())
}

fn speed(events: u64, begun: Instant) -> String {
    let seconds = begun.elapsed().as_secs_f64();
    let rate = number(events as f64 / seconds);
    format!("simulated {} events in {seconds:.2} s, {rate} a second", number(events as f64))
}
