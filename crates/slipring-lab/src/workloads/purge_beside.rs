//! A purge of large messages must not be felt on another queue.
//!
//! ```text
//!   fill:   callers ══════▶ │ full  │     out of memory, where the system can be told
//!   alone:  prober ──cycle▶ │ quiet │ ──▶ latency from the due time
//!   beside: purge ════════▶ │ full  │     while the prober goes on
//! ```

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::beside::{Beside, FULL, fill};
use super::{Answer, Settings};
use crate::targets::{Caller, Target};

/// Runs it; see the file's head for the shape.
pub async fn run<T: Target>(settings: &Settings, target: &T, folder: &Path) -> Result<Answer> {
    let filled = fill(settings, target, 1).await?;
    let mut purger = target.caller(FULL).await?;
    let beside = Beside::alone(settings, target).await?;
    forget(folder)?;
    let (purged, took, mut found) = beside.with(purger.purge()).await?;
    let held = purger.count().await?.unwrap_or(0);
    if purged != filled.next() || held > 0 {
        bail!("{purged} of {} messages were purged, {held} are left", filled.next());
    }
    (found.messages, found.seconds) = (purged, took.as_secs_f64());
    found.figures.insert("purge_seconds".into(), took.as_secs_f64());
    Ok(found)
}

/// Has the system forget what it keeps of the files in memory, so that reading them again goes to
/// the disk.
///
/// # Errors
/// When it cannot be told.
pub fn forget(folder: &Path) -> Result<()> {
    for file in std::fs::read_dir(folder).context("listing the data")? {
        let mut dd = Command::new("dd");
        let input = format!("if={}", file?.path().display());
        dd.args([&input, "iflag=nocache", "count=0", "status=none"]);
        let done = dd.stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !done.context("running dd")?.success() {
            bail!("dd cannot forget {input}");
        }
    }
    Ok(())
}
