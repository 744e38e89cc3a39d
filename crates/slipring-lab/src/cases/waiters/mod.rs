//! Case 1: waiters. Applications wait for messages with short time-outs; in the published design
//! each change of the list of waiters takes one latch of the whole instance, so busy queues slow
//! quiet ones. The published load runs on that design, built anew, and on ours.
//!
//! ```text
//!   storm       T callers ──wait 10 ms──▶ │ A │ empty
//!   among idle  T callers ──wait 10 ms──▶ │ A │ ◀──wait 1 h── 10,000 that do nothing
//!   neighbour   100 callers ──wait──▶ │ A │     │ B │ ◀──wait── one caller, measured
//!   wake        100 callers, senders ─▶ │ A │   │ B │ ◀─▶ one sender, one receiver, measured
//!   idle        10,000 callers ──wait 1 h──▶ │ A │
//! ```

mod checks;
mod contender;
mod found;
mod idle;
mod idlers;
mod interrupt;
mod lane;
mod latch;
mod list;
mod load;
mod neighbour;
mod notes;
mod one_latch;
mod published;
mod sizes;
mod storm;
mod tables;
mod waits;
mod wake;

use std::path::Path;

use anyhow::{Context, Result, bail};
use tokio::runtime::Runtime;

use self::contender::Kind;
use self::found::{Found, StormRuns, WakeRuns};
use self::sizes::Sizes;
use self::wake::Busy;
use super::Options;
use crate::findings::Findings;
use crate::folder;

/// Runs the case.
///
/// # Errors
/// When nothing could be measured at all; what ends a run early is told in its findings.
pub fn run(options: &Options) -> Result<Findings> {
    let data = folder::data()?;
    let title = "waiters: one latch over the waiters of all queues, and ours";
    let mut findings = Findings::new("case-1", title, &data);
    let runtime = Runtime::new().context("starting the threads of the engines")?;
    interrupt::watch(&runtime);
    let sizes = Sizes::new(options);
    let mut found = Found::default();
    let measured = Case { runtime: &runtime, sizes: &sizes, folder: &data }.measure(&mut found);
    findings.incomplete = measured.err().map(|error| format!("{error:#}"));
    fill(&mut findings, &found, &sizes)?;
    Ok(findings)
}

struct Case<'a> {
    runtime: &'a Runtime,
    sizes: &'a Sizes,
    folder: &'a Path,
}

impl Case<'_> {
    /// Measures all of it, contenders by turns; what was measured before an error stays.
    fn measure(&self, found: &mut Found) -> Result<()> {
        for round in 0..self.sizes.rounds {
            self.storms(round, found)?;
            self.wakes(round, found)?;
        }
        for beside in self.sizes.neighbours() {
            for kind in Kind::ALL {
                go_on()?;
                let seen = neighbour::run(self.runtime, kind, &beside, self.folder);
                let seen = seen.with_context(|| format!("queue B of {}", kind.name()))?;
                found.neighbours.push((beside, kind, seen));
            }
        }
        for kind in Kind::ALL {
            go_on()?;
            let (waiters, seconds) = (self.sizes.idle, self.sizes.seconds);
            let idle = idle::run(self.runtime, kind, waiters, seconds, self.folder);
            let idle = idle.with_context(|| format!("idle receives of {}", kind.name()))?;
            found.idles.push((kind, idle));
        }
        go_on()
    }

    fn storms(&self, round: usize, found: &mut Found) -> Result<()> {
        for storm in self.sizes.storms() {
            for kind in by_turns(round) {
                go_on()?;
                let stormed = storm::run(self.runtime, kind, &storm, self.folder);
                let stormed = stormed
                    .with_context(|| format!("{} waiters of {}", storm.callers, kind.name()))?;
                let at = |runs: &StormRuns| runs.kind == kind && runs.storm == storm;
                match found.storms.iter_mut().find(|runs| at(runs)) {
                    Some(runs) => runs.rounds.push(stormed),
                    None => found.storms.push(StormRuns { storm, kind, rounds: vec![stormed] }),
                }
            }
        }
        Ok(())
    }

    fn wakes(&self, round: usize, found: &mut Found) -> Result<()> {
        for wake in self.sizes.wakes() {
            for kind in by_turns(round) {
                go_on()?;
                let woken = wake::run(self.runtime, kind, &wake, self.folder);
                let woken = woken.with_context(|| format!("messages of {}", kind.name()))?;
                let at = |runs: &WakeRuns| runs.kind == kind && runs.wake == wake;
                match found.wakes.iter_mut().find(|runs| at(runs)) {
                    Some(runs) => runs.rounds.push(woken),
                    None => found.wakes.push(WakeRuns { wake, kind, rounds: vec![woken] }),
                }
            }
        }
        Ok(())
    }
}

/// The contenders, each round beginning with another.
fn by_turns(round: usize) -> [Kind; 3] {
    let mut kinds = Kind::ALL;
    let first = round % kinds.len();
    kinds.rotate_left(first);
    kinds
}

fn go_on() -> Result<()> {
    if interrupt::seen() { bail!("interrupted") } else { Ok(()) }
}

/// Makes tables, plots, checks and notes of what was measured.
fn fill(findings: &mut Findings, found: &Found, sizes: &Sizes) -> Result<()> {
    let idle = sizes.idle;
    findings.tables = vec![
        tables::storms(found, 0, 10)?,
        tables::storms(found, 0, 1)?,
        tables::storms(found, idle, 10)?,
        tables::latch(found),
        tables::neighbours(found)?,
        tables::wakes(found)?,
        tables::idles(found),
    ];
    let most = sizes.most();
    for kind in Kind::ALL {
        if let Some(runs) = found.storm(kind, most, 0, 10) {
            let title = format!("{}: wait classes of {most} waiters, 10 ms", kind.name());
            let waits = runs.overhead()?.count as f64;
            findings.tables.push(tables::classes(&title, &runs.classes(), waits));
        }
    }
    for (beside, kind, seen) in found.neighbours.iter().filter(|(beside, _, _)| beside.idle == 0) {
        let title = format!("{}: wait classes while {} wait on A", kind.name(), beside.callers);
        let waits = found::percentiles(seen.beside.waits.iter())?.count as f64;
        findings.tables.push(tables::classes(&title, &seen.classes, waits));
    }
    for runs in found.wakes.iter().filter(|runs| runs.wake.busy == Busy::Full) {
        let busy = runs.wake.busy.name(runs.wake.callers);
        let title = format!("{}: wait classes, {busy}; per message of A", runs.kind.name());
        findings.tables.push(tables::classes(&title, &runs.classes(), runs.busy_messages()));
    }
    let among = format!("P95 beyond a time-out of 10 ms, among {idle} idle receives");
    findings.plots = vec![
        tables::plot(found, 0, "overhead", "P95 beyond a time-out of 10 ms")?,
        tables::plot(found, idle, "among-idle", &among)?,
        tables::latch_plot(found, idle),
    ];
    findings.conditions = checks::all(found, sizes);
    findings.notes = notes::all(found, sizes);
    Ok(())
}
