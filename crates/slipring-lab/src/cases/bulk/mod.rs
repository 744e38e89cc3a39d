//! The second case: one log latch under a parallel insert.

use anyhow::Result;

use super::Options;
use crate::findings::Findings;
use crate::folder;

mod load;

/// Runs the case; what was found until an error is kept and called incomplete.
///
/// # Errors
/// When the folder for data cannot be made.
pub fn run(options: &Options) -> Result<Findings> {
    let title = "one log latch under a parallel insert, and what grouping does about it";
    let mut findings = Findings::new("case-2", title, &folder::data()?);
    if let Err(error) = load::measure(options, &mut findings) {
        findings.incomplete = Some(format!("{error:#}"));
    }
    Ok(findings)
}
