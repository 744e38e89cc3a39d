//! Large messages that grow too old together must not be felt on another queue.
//!
//! ```text
//!   fill:   callers ══════▶ │ full  │
//!   alone:  prober ──cycle▶ │ quiet │ ──▶ latency from the due time
//!   beside: retention ════▶ │ full  │     until it is empty, while the prober goes on
//! ```

use std::time::Duration;

use anyhow::Result;

use super::beside::{Beside, Count, FULL, fill, until_left};
use super::{Answer, Settings};
use crate::targets::{Caller, Target};

/// What is in the queue is older than this by then.
const RETENTION: Duration = Duration::from_millis(10);

/// Runs it; see the file's head for the shape.
pub async fn run<T: Target>(settings: &Settings, target: &T) -> Result<Answer> {
    let filled = fill(settings, target, 1).await?;
    let mut keeper = target.caller(FULL).await?;
    let beside = Beside::alone(settings, target).await?;
    let grow_old = async {
        keeper.keep_for(RETENTION).await?;
        until_left(&mut keeper, 0, Count::All).await
    };
    let ((), took, mut found) = beside.with(grow_old).await?;
    (found.messages, found.seconds) = (filled.next(), took.as_secs_f64());
    found.figures.insert("retention_seconds".into(), took.as_secs_f64());
    Ok(found)
}
