//! The frame of the bad days that one queue must not feel: a slow prober on it, alone and beside
//! what happens to another queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;

use super::closed_loop::{self, Load, Step, Until};
use super::prober::{Probed, probe};
use super::{Answer, Settings};
use crate::ledger::{Ledger, MESSAGES_MAX};
use crate::targets::{Caller, Target};

/// The queue that something happens to.
pub const FULL: &str = "full";
/// The prober looks so often whether it is over.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Callers that fill the queue.
const FILLERS: usize = 8;

/// Fills the queue [`FULL`] by calls of so many messages; answers what was sent.
pub async fn fill<T: Target>(settings: &Settings, target: &T, batch: usize) -> Result<Arc<Ledger>> {
    let filled = Arc::new(Ledger::new(0, MESSAGES_MAX));
    let step = Step::Send;
    let fill = Load { callers: FILLERS, batch, step, until: Until::Sent(settings.messages) };
    closed_loop::run(fill, target, FULL, &filled).await?;
    Ok(filled)
}

/// A prober on a quiet queue.
pub struct Beside<'a, T: Target> {
    settings: &'a Settings,
    prober: T::Caller,
    ledger: Ledger,
    alone: Probed,
}

impl<'a, T: Target> Beside<'a, T> {
    /// Probes while nothing else happens.
    pub async fn alone(settings: &'a Settings, target: &T) -> Result<Beside<'a, T>> {
        let (prober, alone) = (target.caller("quiet").await?, Probed::new()?);
        let ledger = Ledger::new(0, MESSAGES_MAX / 16);
        let mut beside = Beside { settings, prober, ledger, alone };
        let length = settings.measured();
        let Beside { prober, ledger, alone, .. } = &mut beside;
        probe(prober, settings.rate, length, ledger, alone).await?;
        Ok(beside)
    }

    /// Probes until `trouble` is over; answers what that answered, and how long it took with the
    /// figures.
    pub async fn with<O>(
        mut self,
        trouble: impl Future<Output = Result<O>>,
    ) -> Result<(O, Duration, Answer)> {
        let (over, mut beside) = (AtomicBool::new(false), Probed::new()?);
        let trouble = async {
            let begun = Instant::now();
            let ended = trouble.await;
            over.store(true, Ordering::Relaxed);
            ended.map(|ended| (ended, begun.elapsed()))
        };
        let rate = self.settings.rate;
        let look_every = LOOK_EVERY.max(Duration::from_secs_f64(1.0 / rate));
        let probing = async {
            while !over.load(Ordering::Relaxed) {
                probe(&mut self.prober, rate, look_every, &self.ledger, &mut beside).await?;
            }
            Ok::<_, anyhow::Error>(())
        };
        let (ended, probed) = tokio::join!(trouble, probing);
        probed?;
        let (ended, took) = ended?;
        let mut found = Answer { checks: self.ledger.final_checks(), ..Answer::default() };
        let (with, without) = (beside.from_due.percentiles(), self.alone.from_due.percentiles());
        let ratio = with.p99_us / without.p99_us.max(0.001);
        found.figures.insert("p99_beside_over_alone".into(), ratio);
        found.figures.insert("stall_max_ms".into(), with.max_us / 1000.0);
        found.figures.insert("stall_max_alone_ms".into(), without.max_us / 1000.0);
        for (name, probed) in [("alone", &self.alone), ("beside", &beside)] {
            found.latency(name, &probed.from_due);
            found.latency(&format!("{name}_uncorrected"), &probed.from_start);
        }
        Ok((ended, took, found))
    }
}

/// The caller of [`FULL`] waits until the queue has `left` messages of those that `count` counts.
pub async fn until_left<C: Caller>(caller: &mut C, left: u64, count: Count) -> Result<()> {
    let begun = Instant::now();
    loop {
        let now = match count {
            Count::All => caller.count().await?,
            Count::Leased => caller.leased().await?,
        };
        if now == Some(left) {
            return Ok(());
        }
        anyhow::ensure!(now.is_some(), "this target does not tell what a queue holds");
        anyhow::ensure!(begun.elapsed() < LONGEST, "{now:?} messages instead of {left}");
        tokio::time::sleep(LOOK_EVERY / 10).await;
    }
}

/// Nothing here takes nearly so long; retention begins within 15 s.
const LONGEST: Duration = Duration::from_secs(120);

/// Which messages of a queue.
#[derive(Debug, Clone, Copy)]
pub enum Count {
    /// All of them.
    All,
    /// Those under a lease.
    Leased,
}
