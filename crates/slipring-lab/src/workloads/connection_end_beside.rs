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
use super::{Found, Settings};
use crate::targets::{Caller, Target};

/// Runs it; see the file's head for the shape.
pub async fn run<T: Target>(settings: &Settings, target: &T) -> Result<Found> {
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
    let checks = filled.final_checks();
    found.checks.sent += checks.sent;
    found.checks.received += checks.received;
    found.checks.missing += checks.missing;
    found.checks.duplicates += checks.duplicates;
    found.rate = count as f64 / took.as_secs_f64().max(1e-9);
    found.figures.insert("end_seconds".into(), took.as_secs_f64());
    Ok(found)
}
