//! What idle receives with a long time-out cost, and that each of them wakes all the same.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use futures::{StreamExt, TryStreamExt, stream};
use tokio::runtime::Runtime;

use super::contender::{Contender, Kind, Place};
use super::idlers::Idlers;
use crate::body::{self, Content};
use crate::ledger::{Checks, Ledger};
use crate::process::Usage;
use crate::time::{monotonic_ns, processor_ns};

/// Sends under way at a time when all are woken.
const SENDS: usize = 64;

/// What idle receives cost.
#[derive(Debug, Clone, Copy)]
pub struct Idle {
    /// How many waited.
    pub waiters: usize,
    /// Processor time of this process with no receive, in percent of one processor.
    pub empty_percent: f64,
    /// The same with all of them at rest.
    pub idle_percent: f64,
    /// Memory that came with each, in bytes: its task and its place in the engine.
    pub bytes: f64,
    /// From the first send until the last of them had its message and had acked it, in seconds.
    pub wake_seconds: f64,
    /// Their messages, checked.
    pub checks: Checks,
}

impl Idle {
    /// Processor time of each waiter, in nanoseconds per second.
    pub fn ns_per_second(&self) -> f64 {
        (self.idle_percent - self.empty_percent).max(0.0) / 100.0 * 1e9 / self.waiters as f64
    }
}

/// Rests `waiters` receives on queue A for `seconds`, on a contender that is started for it, then
/// wakes each with a message.
///
/// # Errors
/// Those of the engine; when a receive does not wake.
pub fn run(
    runtime: &Runtime,
    kind: Kind,
    waiters: usize,
    seconds: f64,
    folder: &Path,
) -> Result<Idle> {
    let folder = tempfile::tempdir_in(folder)?;
    runtime.block_on(async {
        let contender = Arc::new(Contender::open(kind, folder.path()).await?);
        let empty_percent = processor_percent(seconds).await;
        let memory = Usage::own()?.resident_bytes;
        let mut idlers = Idlers::start(&contender, waiters).await?;
        let bytes = Usage::own()?.resident_bytes.saturating_sub(memory) as f64 / waiters as f64;
        let idle_percent = processor_percent(seconds).await;

        let ledger = Ledger::new(0, waiters as u64);
        let began_ns = monotonic_ns();
        let sends = stream::iter(0..waiters).map(|_| async {
            let content = Content { number: ledger.take(1)?, due_ns: monotonic_ns() };
            contender.send(Place::A, &body::write(content)).await
        });
        sends.buffer_unordered(SENDS).try_for_each(|()| async { Ok(()) }).await?;
        while let Some(held) = idlers.next().await? {
            ledger.note(body::read(held.body())?.number)?;
            contender.ack(Place::A, held).await?;
        }
        let wake_seconds = (monotonic_ns() - began_ns) as f64 / 1e9;
        contender.close().await;
        let checks = ledger.final_checks();
        Ok(Idle { waiters, empty_percent, idle_percent, bytes, wake_seconds, checks })
    })
}

/// What this process uses of one processor meanwhile.
async fn processor_percent(seconds: f64) -> f64 {
    let (began_ns, processor_began_ns) = (monotonic_ns(), processor_ns());
    tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
    let used_ns = (processor_ns() - processor_began_ns) as f64;
    used_ns / (monotonic_ns() - began_ns).max(1) as f64 * 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_receives_wake_once_each() {
        let runtime = Runtime::new().unwrap();
        let folder = tempfile::tempdir().unwrap();
        for kind in Kind::ALL {
            let idle = run(&runtime, kind, 300, 0.05, folder.path()).unwrap();
            assert_eq!((idle.checks.received, idle.checks.missing), (300, 0), "{}", kind.name());
            assert_eq!(idle.checks.duplicates, 0);
            assert!(idle.wake_seconds > 0.0 && idle.idle_percent >= 0.0);
        }
    }
}
