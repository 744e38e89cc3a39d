//! A turn: the phases of a scenario on one system, from the empty database to the last exit.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use parking_lot::Mutex;

use super::losses::Losses;
use super::phase::Phase;
use super::process::Exit;
use super::record::Record;
use super::scenario::Judge;
use super::stage::{Cast, Stage};
use super::system::Place;
use crate::interrupt::Interrupt;

/// Between two looks whether all has come.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// A system tells each second what it has counted, so long after the second at most.
const TOLD_WITHIN: Duration = Duration::from_millis(300);

/// What a turn came to, also one that ended before its end.
#[derive(Debug, Default)]
pub struct Turn {
    /// What was seen.
    pub record: Record,
    /// How adapters ended at SIGTERM.
    pub exits: Vec<Exit>,
    /// What became of the jobs, where that is noted.
    pub losses: Option<Losses>,
    /// Dead letters in the database, where they are asked for.
    pub dead_letters: Option<u64>,
    /// Processor time of PostgreSQL and of the adapter in the clean phase, in seconds.
    pub cpu_seconds: Option<[f64; 2]>,
    /// What a reader must know.
    pub notes: Vec<String>,
    /// Why it ended before its end.
    pub failed: Option<String>,
}

/// Has a system its turn in a database of its own.
pub async fn take(place: &mut Place, cast: Cast<'_>, interrupt: &Interrupt) -> Turn {
    let mut turn = Turn::default();
    let record = Arc::new(Mutex::new(Record::default()));
    let taken = async {
        let database = interrupt.until(place.database(cast.system)).await?;
        let mut stage = Stage::new(place, cast, &database)?;
        stage.record = Arc::clone(&record);
        let lived = interrupt.until(live(&mut stage, &mut turn)).await;
        turn.notes.append(&mut stage.notes);
        drop(stage);
        // All databases end with their PostgreSQL.
        if !interrupt.came() {
            mend(place).await?;
            place.remove(&database).await?;
        }
        lived
    };
    let taken = taken.await;
    turn.failed = taken.err().map(|error| format!("{error:#}"));
    turn.record = std::mem::take(&mut record.lock());
    turn
}

/// Starts a PostgreSQL again that a turn has left stopped.
async fn mend(place: &mut Place) -> Result<()> {
    if place.cluster.admin().await.is_ok() {
        return Ok(());
    }
    place.cluster.restart().await.context("starting PostgreSQL again after a turn")
}

async fn live(stage: &mut Stage<'_>, turn: &mut Turn) -> Result<()> {
    for replica in 0..stage.replicas() {
        stage.start(replica).await?;
    }
    let _watch = stage.watch();
    let lengths = stage.lengths;
    stage.load(1.0);
    stage.pass(Phase::WarmUp, lengths.warm_up).await?;
    let before = stage.cpu_seconds();
    stage.pass(Phase::Clean, lengths.clean).await?;
    let after = stage.cpu_seconds();
    turn.cpu_seconds = Some([after[0] - before[0], after[1] - before[1]]);
    stressed(stage, turn).await?;
    let scenario = stage.cast.scenario;
    if scenario.has_ledger() {
        stage.load(0.0);
        turn.losses = Some(match scenario.judge {
            Judge::DeadLetters => dead_letters(stage, turn).await?,
            _ => all_worked_on(stage).await?,
        });
    }
    for replica in 0..stage.replicas() {
        turn.exits.push(stage.terminate(replica).await?);
    }
    Ok(())
}

/// The trouble and the recovery, where there is one.
async fn stressed(stage: &mut Stage<'_>, turn: &mut Turn) -> Result<()> {
    let (scenario, lengths) = (stage.cast.scenario, stage.lengths);
    let Some(stress) = scenario.stress else { return Ok(()) };
    let from = stage.whole_second().await?;
    let to = from + lengths.stress * 1000;
    let held = stress.make(stage, to).await?;
    stage.ended(Phase::Stress, from, to);
    if scenario.ends_in_stress() {
        // What was counted in the last second is told at its end.
        tokio::time::sleep(TOLD_WITHIN).await;
        turn.exits.push(stage.terminate(0).await?);
        stage.start(0).await?;
    }
    stress.relent(stage, held).await?;
    stage.pass(Phase::Recovery, lengths.recovery).await
}

/// Waits until all jobs were worked on and no more are sent, or the patience with a system is over.
async fn all_worked_on(stage: &mut Stage<'_>) -> Result<Losses> {
    let deadline = Instant::now() + stage.cast.system.patience();
    let mut before = None;
    loop {
        let losses = stage.losses()?;
        let still = before.replace(losses) == Some(losses);
        if (losses.lost == 0 && still) || Instant::now() > deadline {
            return Ok(losses);
        }
        pause(stage).await?;
    }
}

/// Waits until all jobs are dead letters; nothing of them is ever worked on.
async fn dead_letters(stage: &mut Stage<'_>, turn: &mut Turn) -> Result<Losses> {
    let statement = stage.cast.system.dead_letters().context("a system without dead letters")?;
    let client = stage.session().await?;
    let deadline = Instant::now() + stage.cast.system.patience();
    loop {
        let sent = stage.losses()?.sent;
        let there: i64 = client.query_one(statement, &[]).await?.try_get(0)?;
        let there = u64::try_from(there)?;
        turn.dead_letters = Some(there);
        let still = stage.losses()?.sent == sent;
        if (there >= sent && still) || Instant::now() > deadline {
            return Ok(Losses { sent, lost: sent.saturating_sub(there), ..Losses::default() });
        }
        pause(stage).await?;
    }
}

async fn pause(stage: &mut Stage<'_>) -> Result<()> {
    let now = crate::time::wall_ms();
    stage.wait_until(now + LOOK_EVERY.as_millis() as u64).await
}
