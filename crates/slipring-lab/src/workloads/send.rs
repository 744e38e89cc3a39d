//! Sends only: the write path.
//!
//! ```text
//!   caller 1 ──batch──▶ ┐
//!   caller 2 ──batch──▶ ├─▶ queue        (afterwards, when drained: queue ──▶ checked)
//!   caller n ──batch──▶ ┘
//! ```

use std::sync::Arc;

use anyhow::{Result, bail};

use super::closed_loop::{self, Load, Step, Until};
use super::{Answer, Settings};
use crate::ledger::{Ledger, MESSAGES_MAX};
use crate::targets::{Caller, Kind, Target};

/// Runs it; see the file's head for the shape.
pub async fn run<T: Target>(settings: &Settings, target: &T) -> Result<Answer> {
    let ledger = Arc::new(Ledger::new(0, MESSAGES_MAX));
    let load = Load {
        callers: settings.callers,
        batch: settings.batch,
        step: Step::Send,
        until: over(settings),
    };
    let measured = closed_loop::run(load, target, "send", &ledger).await?;
    let sent = ledger.checks().sent;
    // A plain file counts for one caller; everything else is one queue.
    if settings.callers == 1 || settings.target != Kind::RawFile {
        let held = target.caller("send").await?.count().await?;
        if held.is_some_and(|held| held != sent) {
            bail!("{sent} messages were sent, and the queue holds {held:?}");
        }
    }
    let mut checks = ledger.checks();
    if settings.drain {
        closed_loop::drain(target, "send", settings.batch.max(100), &ledger).await?;
        checks = ledger.final_checks();
    }
    Ok(measured.answer("send", checks))
}

/// Warm-up and measured time of a run.
pub fn over(settings: &Settings) -> Until {
    Until::Over { warmup: settings.warmup(), measured: settings.measured() }
}
