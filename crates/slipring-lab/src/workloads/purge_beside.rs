//! A purge of large messages must not be felt on another queue.
//!
//! ```text
//!   fill:   callers ══════▶ │ full  │     out of memory, where the system can be told
//!   alone:  prober ──cycle▶ │ quiet │ ──▶ latency from the due time
//!   beside: purge ════════▶ │ full  │     while the prober goes on
//! ```

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::closed_loop::{self, Load, Step, Until};
use super::prober::{Probed, probe};
use super::{Found, Settings};
use crate::ledger::{Ledger, MESSAGES_MAX};
use crate::targets::{Caller, Target};

const FULL: &str = "full";
/// The prober looks so often whether the purge is over.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Callers that fill the queue.
const FILLERS: usize = 8;

/// Runs it; see the file's head for the shape.
pub async fn run<T: Target>(settings: &Settings, target: &T, folder: &Path) -> Result<Found> {
    let filled = Arc::new(Ledger::new(0, MESSAGES_MAX));
    let fill = Load {
        callers: FILLERS,
        batch: 1,
        step: Step::Send,
        until: Until::Sent(settings.messages),
    };
    closed_loop::run(fill, target, FULL, &filled).await?;
    let (mut purger, mut prober) = (target.caller(FULL).await?, target.caller("quiet").await?);
    let ledger = Arc::new(Ledger::new(0, MESSAGES_MAX / 16));
    let length = Duration::from_secs_f64(settings.seconds.max(0.0));
    let mut alone = Probed::new()?;
    probe(&mut prober, settings.rate, length, &ledger, &mut alone).await?;
    forget(folder)?;
    let (over, mut beside) = (AtomicBool::new(false), Probed::new()?);
    let purge = async {
        let begun = Instant::now();
        let purged = purger.purge().await;
        over.store(true, Ordering::Relaxed);
        purged.map(|purged| (purged, begun.elapsed()))
    };
    let look_every = LOOK_EVERY.max(Duration::from_secs_f64(1.0 / settings.rate));
    let probing = async {
        while !over.load(Ordering::Relaxed) {
            probe(&mut prober, settings.rate, look_every, &ledger, &mut beside).await?;
        }
        Ok::<_, anyhow::Error>(())
    };
    let (purged, probed) = tokio::join!(purge, probing);
    probed?;
    let (purged, took) = purged?;
    let held = purger.count().await?.unwrap_or(0);
    if purged != filled.next() || held > 0 {
        bail!("{purged} of {} messages were purged, {held} are left", filled.next());
    }
    let mut found = Found { checks: ledger.final_checks(), ..Found::default() };
    found.rate = purged as f64 / took.as_secs_f64().max(1e-9);
    let (with, without) = (beside.from_due.percentiles(), alone.from_due.percentiles());
    let ratio = with.p99_us / without.p99_us.max(0.001);
    found.figures.insert("purge_seconds".into(), took.as_secs_f64());
    found.figures.insert("p99_beside_over_alone".into(), ratio);
    found.figures.insert("stall_max_ms".into(), with.max_us / 1000.0);
    for (name, probed) in [("alone", &alone), ("beside", &beside)] {
        found.latencies.insert(name.into(), probed.from_due.percentiles());
        found.latencies.insert(format!("{name}_uncorrected"), probed.from_start.percentiles());
    }
    Ok(found)
}

/// Has the system forget what it keeps of the files in memory, so that reading them again goes to
/// the disk.
fn forget(folder: &Path) -> Result<()> {
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
