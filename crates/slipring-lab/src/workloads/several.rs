//! Callers that each receive from the same several queues.
//!
//! ```text
//!   drain:  │▒▒▒▒▒▒▒▒ 1│ ═══▶ callers, which watch 2 … m as well
//!   cycle:  caller ──send──▶ │1│2│3│ … │m│ ──receive over all, ack──▶ the same caller
//!                    a queue at a time
//! ```

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tokio::task::JoinSet;

use super::closed_loop::{self, Load, Step, Until};
use super::{Answer, Settings, send};
use crate::body;
use crate::ledger::{Ledger, MESSAGES_MAX};
use crate::targets::{Caller, Target};

/// Runs it; see the file's head for the shape. The rate is that of the cycle.
pub async fn run<T: Target>(settings: &Settings, target: &T) -> Result<Answer> {
    let ledger = Arc::new(Ledger::new(0, MESSAGES_MAX));
    let queues: Vec<String> = (0..settings.queues).map(|nth| format!("queue-{nth}")).collect();
    let mut callers = Vec::with_capacity(settings.callers);
    for _ in 0..settings.callers {
        let mut caller = target.caller_of(&queues).await?;
        // It has looked for the queues once, before any of them was there.
        caller.receive(1, Duration::ZERO, &mut |_| Ok(())).await?;
        callers.push(caller);
    }
    let mut load = Load {
        callers: settings.callers,
        batch: settings.batch,
        step: Step::Send,
        until: Until::Sent(settings.messages),
    };
    closed_loop::run(load, target, &queues[0], &ledger).await?;

    let (held, begun) = (ledger.outstanding(), Instant::now());
    let mut drains = JoinSet::new();
    for mut caller in callers {
        let (ledger, batch) = (Arc::clone(&ledger), settings.batch);
        drains.spawn(async move {
            let mut note = |body: &[u8]| ledger.note(body::read(body)?.number);
            while caller.receive(batch, Duration::ZERO, &mut note).await? > 0 {
                caller.ack().await?;
            }
            anyhow::Ok(caller)
        });
    }
    let mut callers = Vec::with_capacity(settings.callers);
    while let Some(drained) = drains.join_next().await {
        callers.push(drained.context("a caller panicked")??);
    }
    let drain_rate = held as f64 / begun.elapsed().as_secs_f64();
    ensure!(ledger.outstanding() == 0, "a drain left {} of {held} messages", ledger.outstanding());

    load.step = Step::Cycle;
    load.until = send::over(settings);
    let measured = closed_loop::run_callers(load, callers, &ledger).await?;
    let mut last = target.caller_of(&queues).await?;
    closed_loop::drain_by(&mut last, settings.batch.max(100), &ledger).await?;
    let mut found = measured.answer("cycle", ledger.final_checks());
    found.figures.insert("drain_messages_per_s".into(), drain_rate);
    Ok(found)
}
