//! The second case: one log latch under a parallel insert.
//!
//! Published: each worker of a parallel insert must take one latch, first come first served, for
//! each log record. Here are (a) a load that many connections append to and one small commit
//! publishes, (b) that latch with the same load, a combiner and the engine beside
//! it, measured, and (c) the simulator, which goes where this machine has no cores.

mod combining_log;
mod cores;
pub mod extents;
mod fifo_latch;
mod load;
mod log;
pub mod measured;
mod report;
pub mod send_path;

use anyhow::Result;

use self::measured::{Measured, Sizes, measure};
use super::Options;
use crate::findings::Findings;
use crate::folder;
use crate::interrupt::Interrupt;
use crate::simulate;

/// Numbers of workers of part (b); the simulator needs those up to four.
const WORKERS: [usize; 5] = [1, 2, 4, 8, 16];

/// Runs the case; what was found until an error is kept and called incomplete.
///
/// # Errors
/// When the folder for data cannot be made.
pub fn run(options: &Options) -> Result<Findings> {
    let title = "one log latch under a parallel insert, and what grouping does about it";
    let mut findings = Findings::new("case-2", title, &folder::data()?);
    if let Err(error) = parts(options, &mut findings) {
        findings.incomplete = Some(format!("{error:#}"));
    }
    Ok(findings)
}

fn parts(options: &Options, findings: &mut Findings) -> Result<()> {
    let stop = Interrupt::listen()?;
    let sizes = Sizes::of(options.smoke, &WORKERS);
    let mut measured = Measured::default();
    let complete = measure(&sizes, &stop, &mut measured);
    report::show(&measured, findings);
    complete?;
    load::measure(options, findings)?;
    report::beside_a_hog(&sizes, &stop, findings)?;
    measured.keep_only(&simulate::MEASURED_WORKERS);
    simulate::stand_in(&measured, options.smoke, simulate::SEED, &stop, findings)
}
