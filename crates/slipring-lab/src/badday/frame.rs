//! The frame of every day: the phases, with the others at work from the first to the last.

use std::time::Duration;

use anyhow::Result;

use super::day::{About, Day};
use super::others::{Load, Others, Outcome};
use super::phase::Phase;
use super::report::{recovery_s, silent_queues};
use super::stage::Stage;
use crate::interrupt::Interrupt;
use crate::run::condition::Condition;
use crate::targets::Kind;

/// Queues of the others.
const QUEUES: usize = 4;
/// What is left comes within this; where leases do not end with a connection, they end before:
/// those by SQL after 30 s, those of jobs after [`TIME_TO_RUN_SECONDS`].
const LEFT_WITHIN: Duration = Duration::from_secs(45);
/// The time to run of the others' jobs.
pub const TIME_TO_RUN_SECONDS: u32 = 30;
/// After a fault of smoke size, whose phases are shorter than a slow machine's pauses, every queue
/// of the others is served again within this. A full size has its recovery, and no more, for that.
const SERVED_WITHIN: Duration = Duration::from_secs(30);

/// What one turn of a day came to.
#[derive(Debug, Default)]
pub struct Turn {
    /// What the others saw.
    pub outcome: Outcome,
    /// What the day asks besides.
    pub conditions: Vec<Condition>,
    /// Why it ended before its end.
    pub failed: Option<String>,
}

/// What the others do.
pub fn load(about: &About, stage: &Stage<'_>) -> Load {
    let (rate, batch) = about.load;
    // A batch by the beanstalkd protocol would wait for each of its messages.
    let batch = if stage.kind == Kind::Sql || stage.kind == Kind::SkipLocked { batch } else { 1 };
    let (window, left_within, seed) = (stage.lengths.window, LEFT_WITHIN, stage.seed);
    Load { queues: QUEUES, rate, batch, window, left_within, seed }
}

/// Runs a day on one target; tells also what was seen before a failure or an interrupt.
pub async fn live<D: Day>(stage: &mut Stage<'_>, interrupt: &Interrupt) -> Turn {
    let mut day = D::default();
    let prepared = async {
        day.prepare(stage).await?;
        stage.others(load(&D::ABOUT, stage)).await
    };
    let others = match interrupt.until(prepared).await {
        Ok(others) => others,
        Err(error) => return Turn::failed(&error),
    };
    let lived = interrupt.until(phases(&mut day, stage, &others)).await;
    let complete = lived.is_ok();
    let mut turn = lived.map_or_else(|error| Turn::failed(&error), |()| Turn::default());
    match tokio::task::spawn_blocking(move || others.end(complete)).await {
        Ok(mut outcome) => {
            turn.failed = turn.failed.or(outcome.failed.take());
            turn.outcome = outcome;
        }
        Err(error) => turn.failed = Some(format!("the others: {error:#}")),
    }
    if turn.failed.is_none() {
        match interrupt.until(day.check(stage)).await {
            Ok(conditions) => turn.conditions = conditions,
            Err(error) => turn.failed = Some(format!("{error:#}")),
        }
    }
    turn
}

impl Turn {
    /// One that ended before its end.
    pub fn failed(why: &anyhow::Error) -> Turn {
        Turn { failed: Some(format!("{why:#}")), ..Turn::default() }
    }
}

async fn phases<D: Day>(day: &mut D, stage: &mut Stage<'_>, others: &Others) -> Result<()> {
    let lengths = stage.lengths;
    tokio::time::sleep(lengths.around).await;
    others.enter(Phase::Fault);
    let (struck, ()) = tokio::join!(day.strike(stage), tokio::time::sleep(lengths.fault));
    struck?;
    day.relent(stage).await?;
    others.enter(Phase::Recovery);
    tokio::time::sleep(lengths.around).await;
    let recovered = Duration::from_secs_f64(D::ABOUT.recovery_s_max);
    others.until(recovered, |windows| !recovery_s(windows).is_nan()).await;
    if stage.smoke {
        others.until(SERVED_WITHIN, |windows| silent_queues(windows) == 0.0).await;
    }
    Ok(())
}
