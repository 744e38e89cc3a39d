//! A queue with a long backlog goes on as if it were empty.
//!
//! ```text
//!   fill:   callers ══════▶ │▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒│
//!   cycle:  caller ──send─▶ │▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒│ ─receive, ack─▶ the same caller
//! ```
//!
//! With a folder that is kept, a later run finds the backlog there and only cycles.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};

use super::closed_loop::{self, Load, Step, Until};
use super::{Answer, Settings, send};
use crate::ledger::{Ledger, MESSAGES_MAX};
use crate::process::Usage;
use crate::targets::{Caller, Target};

const QUEUE: &str = "backlog";

/// Runs it; see the file's head for the shape.
pub async fn run<T: Target>(settings: &Settings, target: &T, folder: &Path) -> Result<Answer> {
    let notes = folder.join("next-number");
    let first = match std::fs::read_to_string(&notes) {
        Ok(text) => text.trim().parse().with_context(|| format!("in {}", notes.display()))?,
        Err(_) => 0,
    };
    let ledger = Arc::new(Ledger::new(first, MESSAGES_MAX));
    let mut found = Answer::default();
    let mut load = Load {
        callers: settings.callers,
        batch: settings.batch,
        step: Step::Send,
        until: Until::Sent(settings.messages),
    };
    if first < settings.messages {
        let filled = closed_loop::run(load, target, QUEUE, &ledger).await?;
        found.figures.insert("fill_messages_per_s".into(), filled.rate());
    }
    let held_before = target.caller(QUEUE).await?.count().await?;
    load.step = Step::Cycle;
    load.until = send::over(settings);
    let before = ledger.checks();
    let measured = closed_loop::run(load, target, QUEUE, &ledger).await?;
    std::fs::write(&notes, ledger.next().to_string()).context("noting the next number")?;
    let usage = match target.usage()? {
        Some(server) => server,
        None => Usage::own()?,
    };
    found.figures.insert("resident_peak_mb".into(), usage.resident_peak_bytes as f64 / 1e6);
    let (held, checks) = (target.caller(QUEUE).await?.count().await?, ledger.checks());
    if let (Some(held_before), Some(held)) = (held_before, held) {
        let right = held_before + (checks.sent - before.sent) - checks.received;
        if held != right {
            bail!("the queue holds {held} messages, and ought to hold {right}");
        }
    }
    found.checks = checks;
    if settings.drain {
        closed_loop::drain(target, QUEUE, settings.batch.max(100), &ledger).await?;
        found.checks = ledger.final_checks();
    }
    (found.messages, found.seconds) = (measured.messages, measured.seconds);
    found.latency("cycle", &measured.latencies);
    Ok(found)
}
