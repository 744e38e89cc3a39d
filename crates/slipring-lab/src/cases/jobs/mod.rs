//! Case 4: claiming jobs, as Laravel's database queue did in 2017. Ten workers work off 10,000
//! empty jobs, by the published methods built anew on three databases, by SKIP LOCKED, beanstalkd,
//! today's Laravel, and by ours, all with the same audit: which job was executed when.

mod audit;
mod claims;
mod contenders;
mod drive;
mod driven;
mod laravel;
mod method;
mod places;
mod report;
mod tables;

use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::Options;
use crate::findings::Findings;
use crate::folder;
use crate::run::bench::turns;
use crate::run::progress;
use crate::targets::server;

use drive::Load;
use places::Places;
use report::Outcome;

/// As published.
const WORKERS: usize = 10;
/// Where the choices of workers come from.
const SEED: u64 = 4;

/// Runs the case.
///
/// # Errors
/// When there is no PostgreSQL, or the server cannot be built. A contender that fails is told as
/// such.
pub fn run(options: &Options) -> Result<Findings> {
    server::build()?;
    let title = "claiming jobs: who is executed how often, in which order, how fast";
    let mut findings = Findings::new("case-4", title, &folder::data()?);
    let runtime = tokio::runtime::Runtime::new().context("starting the runtime")?;
    runtime.block_on(find(options, &mut findings))?;
    Ok(findings)
}

async fn find(options: &Options, findings: &mut Findings) -> Result<()> {
    let load = Load {
        jobs: if options.smoke { 300 } else { 10_000 },
        workers: WORKERS,
        up_to: 1,
        seed: SEED,
        limit: Duration::from_secs_f64(options.seconds(180.0, 20.0)),
    };
    progress("starting PostgreSQL and MariaDB …");
    let mut places = Places::open(!options.smoke).await?;
    findings.notes.extend(places.notes().await?);
    let asked = |name: &str| {
        options.contender.is_empty() || options.contender.iter().any(|part| name.contains(part))
    };
    let all = contenders::all(WORKERS).into_iter().filter(|contender| asked(&contender.name));
    let all = all.filter(|contender| places.has(contender));
    let mut outcomes: Vec<Outcome> = all.map(Outcome::new).collect();
    if outcomes.is_empty() {
        bail!("no contender that is here has {:?} in its name", options.contender);
    }
    let rounds = if options.smoke { 1 } else { 3 };
    let interrupted = tokio::select! {
        () = measure(&mut outcomes, &mut places, load, rounds) => false,
        signal = tokio::signal::ctrl_c() => { signal?; true }
    };
    progress("");
    for outcome in &outcomes {
        if let Some(why) = &outcome.failed {
            findings.notes.push(format!("{} failed: {why}", outcome.contender.name));
        }
    }
    findings.notes.extend(notes(load, rounds));
    findings.tables.extend([report::audit_table(&outcomes), report::counts_table(&outcomes)]);
    findings.plots.extend(report::plots(&outcomes));
    findings.conditions.extend(report::conditions(&outcomes));
    findings.incomplete = match (interrupted, report::wrong(&outcomes)) {
        (true, _) => Some("it was interrupted".to_owned()),
        (false, wrong) => wrong.or_else(|| failed(&outcomes)),
    };
    Ok(())
}

/// Which contenders failed.
fn failed(outcomes: &[Outcome]) -> Option<String> {
    let failed = outcomes.iter().filter(|outcome| outcome.failed.is_some());
    let names: Vec<&str> = failed.map(|outcome| outcome.contender.name.as_str()).collect();
    (!names.is_empty()).then(|| format!("these failed: {}", names.join("; ")))
}

/// Runs all contenders by turns. One that fails has no more rounds.
async fn measure(outcomes: &mut [Outcome], places: &mut Places, load: Load, rounds: usize) {
    for (round, at) in turns(outcomes.len(), rounds) {
        let Some(outcome) = outcomes.get_mut(at) else { continue };
        if outcome.failed.is_some() {
            continue;
        }
        progress(&format!("round {} of {rounds}: {} …", round + 1, outcome.contender.name));
        let load = Load { seed: load.seed.wrapping_add(1000 * round as u64), ..load };
        match places.measure(&outcome.contender, load).await {
            Ok(found) => outcome.rounds.push(found),
            Err(error) => outcome.failed = Some(format!("{error:#}")),
        }
    }
}

/// What a reader must know to read the figures.
fn notes(load: Load, rounds: usize) -> Vec<String> {
    vec![
        format!(
            "{} empty jobs of 100 bytes, {} workers, {rounds} rounds by turns; jobs/s is the \
             median of the rounds, from the first claim to the last delete. Published: A a small \
             virtual server, B a c4.large, MySQL where this run has MariaDB",
            load.jobs, load.workers
        ),
        "displacement: |i − index of the job executed i-th|, i over first executions; the checks \
         take the largest of each round, and of those the median. Published: beanstalkd at most 6, \
         window N at most 70 in 10,000"
            .to_owned(),
        "rounds/claim: looks that found a job, for each job claimed; published about 1.6 for \
         window N"
            .to_owned(),
        format!(
            "a reserved job expires after {} s. The published original, with one try for a delete, \
             ran 11,800 jobs for 10,000; lost deletes tell what of it appears here. A claim that \
             ends in a deadlock is tried again at once, where the original slept for seconds",
            method::EXPIRY_SECONDS
        ),
        "SQLite: WAL, synchronous=FULL. It locks the file and not rows, so BEGIN IMMEDIATE takes \
         the place of FOR UPDATE, and there are no deadlocks; refused counts SQLITE_BUSY. Laravel \
         uses SQLite's defaults: a rollback journal, and BEGIN, whose reads cannot become writes \
         while another writes"
            .to_owned(),
        "batches of 100: a worker claims and deletes 100 jobs in one call, or pipelines as many \
         commands. The published methods know no batches"
            .to_owned(),
    ]
}
