//! What a run of the crash test prints, and whether it did enough.

use std::time::Duration;

use anyhow::{Result, bail};

use super::Driven;
use super::checker::{Counts, Verdict};

/// Violations and failures shown; the rest is counted.
const SHOWN_MAX: usize = 20;

/// Prints what a run did and what it found.
pub fn print(verdict: &Verdict, driven: &Driven, took: Duration) {
    let counts = &verdict.counts;
    let [done, refused, unknown] = counts.operations;
    let (kills, ended) = (counts.kills, counts.sessions_ended);
    println!("{kills} kills, {ended} sessions ended, in {:.1} s", took.as_secs_f64());
    if driven.beside > 0 {
        let Driven { met, beside, .. } = driven;
        println!("{met} kills met a copy of the log; {beside} second processes on the file");
    }
    println!("operations: {done} done, {refused} refused, {unknown} unknown");
    println!(
        "messages: {} sent, {} perhaps sent, {} handed out, {} acked",
        counts.sent, counts.sent_unknown, counts.hand_outs, counts.acked
    );
    println!(
        "{} leases prolonged, {} messages buried, {} kicks",
        counts.extended, counts.buried, counts.kicked
    );
    println!(
        "handed out again: {} after a nack or bury, {} after a cut connection, {} after a lapse",
        counts.after_nack, counts.after_cut, counts.after_lapse
    );
    for failure in driven.failures.iter().take(SHOWN_MAX) {
        println!("FAILURE {failure}");
    }
    if !driven.failures.is_empty() {
        println!("{} rounds and second processes failed", driven.failures.len());
    }
    for violation in verdict.violations.iter().take(SHOWN_MAX) {
        println!("VIOLATION {violation}");
    }
    match verdict.violations.len() {
        0 => println!("every property holds"),
        more if more > SHOWN_MAX => println!("… and {} more", more - SHOWN_MAX),
        _ => {}
    }
}

/// A run in which hardly anything happened proves nothing.
///
/// # Errors
/// When that is so.
pub fn check_activity(counts: &Counts) -> Result<()> {
    let floor = 10 * counts.kills;
    for (what, count) in [("sent", counts.sent), ("acked", counts.acked)] {
        if count < floor.max(10) {
            bail!("only {count} messages were {what} over {} kills", counts.kills);
        }
    }
    Ok(())
}
