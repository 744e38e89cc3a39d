//! A storm on some queues must not be felt on another.
//!
//! ```text
//!   n callers ══cycle══▶ │ busy… │         by turns: with the storm, without it
//!   prober  ───cycle───▶ │ quiet │ ──▶ latency from the due time
//! ```

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;

use super::closed_loop::{self, Load, Step, Until};
use super::prober::{Probed, probe_apart};
use super::{Answer, Settings};
use crate::ledger::{Ledger, MESSAGES_MAX};
use crate::stats::Summary;
use crate::targets::Target;

/// Each turn is one quiet and one stormy phase.
const TURNS: usize = 3;
/// What the prober sees while the storm begins is kept apart: callers that all come at once are no
/// busy queues yet.
const BEGINNING: Duration = Duration::from_secs(1);

/// Runs it; see the file's head for the shape.
pub async fn run<T: Target>(settings: &Settings, target: &T) -> Result<Answer> {
    let ledger = Arc::new(Ledger::new(0, MESSAGES_MAX / 16));
    let busy = Arc::new(Ledger::new(0, MESSAGES_MAX));
    let mut caller = target.caller("quiet").await?;
    let queues: Vec<String> = (0..settings.queues).map(|n| format!("busy-{n}")).collect();
    let length = settings.measured();
    let storm = Load {
        callers: settings.callers,
        batch: settings.batch,
        step: Step::Cycle,
        until: Until::Over { warmup: BEGINNING, measured: length },
    };
    let (mut alone, mut beside) = (Probed::new()?, Probed::new()?);
    let mut beginning = Probed::new()?;
    let (mut storms, mut ratios) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let quiet;
        (caller, quiet) = probe_apart(caller, settings.rate, length, Arc::clone(&ledger)).await?;
        let delayed = async {
            let (caller, first) =
                probe_apart(caller, settings.rate, BEGINNING, Arc::clone(&ledger)).await?;
            let (caller, then) =
                probe_apart(caller, settings.rate, length, Arc::clone(&ledger)).await?;
            anyhow::Ok((caller, first, then))
        };
        let (measured, probed) =
            tokio::join!(closed_loop::run_on(storm, target, &queues, &busy), delayed);
        let (first, stormy);
        (caller, first, stormy) = probed?;
        storms.push(measured?);
        let (with, without) = (stormy.from_due.percentiles(), quiet.from_due.percentiles());
        ratios.push(with.p95_us / without.p95_us.max(0.001));
        let phases = [(&mut alone, &quiet), (&mut beginning, &first), (&mut beside, &stormy)];
        for (all, own) in phases {
            all.from_due.merge(&own.from_due)?;
            all.from_start.merge(&own.from_start)?;
            all.late += own.late;
        }
    }
    for queue in &queues {
        closed_loop::drain(target, queue, settings.batch.max(100), &busy).await?;
    }
    let (messages, seconds) =
        (storms.iter().map(|m| m.messages).sum(), storms.iter().map(|m| m.seconds).sum());
    let mut found = Answer::new(messages, seconds, ledger.final_checks());
    found.checks.missing += busy.final_checks().missing;
    found.checks.duplicates += busy.final_checks().duplicates;
    let ratio = Summary::of(&ratios).map_or(0.0, |ratios| ratios.median);
    found.figures.insert("p95_beside_over_alone".into(), ratio);
    let stall_ms = |probed: &Probed| probed.from_due.percentiles().max_us / 1000.0;
    found.figures.insert("stall_max_ms".into(), stall_ms(&beside));
    found.figures.insert("stall_max_alone_ms".into(), stall_ms(&alone));
    found.figures.insert("late_starts".into(), (alone.late + beside.late) as f64);
    let phases = [("alone", &alone), ("beginning", &beginning), ("beside", &beside)];
    for (name, probed) in phases {
        found.latency(name, &probed.from_due);
        found.latency(&format!("{name}_uncorrected"), &probed.from_start);
    }
    Ok(found)
}
