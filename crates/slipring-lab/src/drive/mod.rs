//! `drive`: any operation by many threads, in a closed loop or at rates that do not wait for
//! answers, with percentiles from the due time and the wait tables before and after.

mod crew;
mod messages;
mod on;
mod operation;
mod options;
mod report;
mod schedule;
mod session;
mod smoke;
mod statement;
mod stop;
mod sweep;
mod tally;
#[cfg(test)]
mod tests;

use anyhow::{Result, bail};

use crate::waits::flame;
pub use options::Options;
use report::Report;
pub use stop::Stop;

/// Drives what the options name, and prints what it found.
///
/// # Errors
/// When nothing could be measured; when the run ended early, an operation was refused, or, if
/// strict, a check was missed. What was measured until then is printed and kept before.
pub fn run(options: &Options) -> Result<()> {
    if options.smoke {
        return smoke::run();
    }
    let report = on::measure(options, &Stop::default())?;
    show(options, &report)?;
    if let Some(why) = &report.incomplete {
        bail!("the run is incomplete: {why}");
    }
    if let Some(why) = report.first_failure() {
        bail!("{} operations were refused; the first: {why}", report.failed());
    }
    let missed = report.findings().missed();
    if options.strict && missed > 0 {
        bail!("{missed} checks were missed");
    }
    Ok(())
}

/// Prints and keeps a report.
fn show(options: &Options, report: &Report) -> Result<()> {
    let findings = report.findings();
    let folder = findings.show(options.out.as_deref())?;
    flame::keep(&report.stacks, &folder, "drive")?;
    if let Some(path) = &options.json {
        report.write_json(path)?;
    }
    if let Some(path) = &options.csv {
        report.write_csv(path)?;
    }
    Ok(())
}
