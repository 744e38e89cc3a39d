//! The full life of a message: send, receive, ack, by callers that do all three.
//!
//! ```text
//!             ┌──send───▶ ┌───────┐
//!   caller ───┼─receive── │ queue │        × n, each with its own connection
//!             └───ack───▶ └───────┘
//! ```

use std::sync::Arc;

use anyhow::Result;

use super::closed_loop::{self, Load, Step};
use super::{Answer, Settings, send};
use crate::ledger::{Ledger, MESSAGES_MAX};
use crate::targets::Target;

/// Runs it; see the file's head for the shape. Nothing may be left behind: the queue is drained
/// at the end in any case.
pub async fn run<T: Target>(settings: &Settings, target: &T) -> Result<Answer> {
    let ledger = Arc::new(Ledger::new(0, MESSAGES_MAX));
    let load = Load {
        callers: settings.callers,
        batch: settings.batch,
        step: Step::Cycle,
        until: send::over(settings),
    };
    let measured = closed_loop::run(load, target, "cycle", &ledger).await?;
    closed_loop::drain(target, "cycle", settings.batch.max(100), &ledger).await?;
    Ok(measured.answer("cycle", ledger.final_checks()))
}
