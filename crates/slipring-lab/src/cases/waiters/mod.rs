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
mod others;
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
use self::others::Others;
use self::sizes::Sizes;
use self::wake::Busy;
use super::Options;
use crate::findings::Findings;
use crate::folder;
use crate::run::condition::Condition;

/// Runs the case.
///
/// # Errors
/// When nothing can be measured at all, or not for so many seconds; what ends a run early is told
/// in its findings.
pub fn run(options: &Options) -> Result<Findings> {
    let sizes = Sizes::new(options)?;
    let data = folder::data()?;
    let title = "waiters: one latch over the waiters of all queues, and ours";
    let mut findings = Findings::new("case-1", title, &data);
    let runtime = Runtime::new().context("starting the threads of the engines")?;
    interrupt::watch(&runtime);
    let mut found = Found::default();
    let others = Others::now()?;
    let measured = Case { runtime: &runtime, sizes: &sizes, folder: &data }.measure(&mut found);
    findings.incomplete = measured.err().map(|error| format!("{error:#}"));
    fill(&mut findings, &found, &sizes)?;
    findings.notes.push(others.note()?);
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
    if findings.incomplete.is_some() {
        // What was not measured has no figure, and no check of it was missed.
        let measured = |check: &Condition| check.figure.is_finite() && check.needed.is_finite();
        findings.conditions.retain(measured);
    }
    findings.notes = notes::all(found, sizes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(seconds: Option<f64>) -> Options {
        Options { number: 1, smoke: true, seconds, out: None, strict: false, contender: Vec::new() }
    }

    fn filled(found: &Found, incomplete: Option<String>) -> Findings {
        let folder = tempfile::tempdir().unwrap();
        let mut findings = Findings::new("case-1", "t", folder.path());
        findings.incomplete = incomplete;
        fill(&mut findings, found, &Sizes::new(&options(None)).unwrap()).unwrap();
        findings
    }

    #[test]
    fn what_was_not_measured_meets_no_check_and_in_a_run_that_ended_early_has_none() {
        let all = filled(&Found::default(), None);
        let counts = all.conditions.iter().filter(|check| check.pass).count();
        assert_eq!(counts, 2, "nothing was early, and nothing wrong: {:?}", all.conditions);
        assert!(all.missed() > 10);
        let early = filled(&Found::default(), Some("interrupted".into()));
        assert_eq!((early.conditions.len(), early.missed()), (2, 0));
    }

    #[test]
    fn a_smoke_run_of_a_moment_finds_every_table_plot_and_check() {
        let runtime = Runtime::new().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut sizes = Sizes::new(&options(Some(0.02))).unwrap();
        (sizes.callers, sizes.callers_among_idle) = (vec![1, 10], vec![1, 10]);
        (sizes.idle, sizes.neighbours) = (50, 4);
        let mut found = Found::default();
        let case = Case { runtime: &runtime, sizes: &sizes, folder: folder.path() };
        case.measure(&mut found).unwrap();
        let mut findings = Findings::new("case-1", "t", folder.path());
        fill(&mut findings, &found, &sizes).unwrap();
        assert_eq!((found.early(), found.wrong()), (0, 0));
        for table in &findings.tables {
            assert!(!table.rows.is_empty(), "{}", table.title);
        }
        assert_eq!(findings.tables[0].rows.len(), 2 * Kind::ALL.len());
        for plot in &findings.plots {
            assert!(plot.svg().unwrap().contains("published"), "{}", plot.name);
        }
        assert!(findings.conditions.len() > 12);
    }

    #[test]
    fn seconds_that_cannot_be_measured_are_refused() {
        for seconds in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = Sizes::new(&options(Some(seconds))).err().unwrap().to_string();
            assert!(error.contains("--seconds"), "{error}");
        }
    }
}
