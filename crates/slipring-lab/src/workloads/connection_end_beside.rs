//! The end of a connection with many reservations must not be felt on another queue.
//!
//! ```text
//!   fill:   callers ══════▶ │ full  │ ══▶ holder, which takes all
//!   alone:  prober ──cycle▶ │ quiet │ ──▶ latency from the due time
//!   beside: holder ends ══▶ │ full  │     until all are back, while the prober goes on
//! ```

use anyhow::{Result, bail};

use super::beside::{Beside, Count, FULL, fill, until_left};
use super::closed_loop::{PATIENCE, drain_by};
use super::{Answer, Settings};
use crate::targets::{Caller, Target};

/// Runs it; see the file's head for the shape.
pub async fn run<T: Target>(settings: &Settings, target: &T) -> Result<Answer> {
    let filled = fill(settings, target, settings.batch).await?;
    let (mut holder, mut other) = (target.caller(FULL).await?, target.caller(FULL).await?);
    let (mut held, count) = (0, filled.next());
    while held < count {
        let up_to = settings.batch.min(usize::try_from(count - held)?);
        let got = holder.receive(up_to, PATIENCE, &mut |_| Ok(())).await? as u64;
        if got == 0 {
            bail!("{held} of {count} messages could be received");
        }
        held += got;
    }
    let beside = Beside::alone(settings, target).await?;
    let ended = async {
        holder.end().await?;
        until_left(&mut other, 0, Count::Leased).await
    };
    let ((), took, mut found) = beside.with(ended).await?;
    drain_by(&mut other, settings.batch, &filled).await?;
    found.checks += filled.final_checks();
    (found.messages, found.seconds) = (count, took.as_secs_f64());
    found.figures.insert("end_seconds".into(), took.as_secs_f64());
    Ok(found)
}
