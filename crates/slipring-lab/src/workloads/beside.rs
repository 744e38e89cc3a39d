//! The frame of the bad days that one queue must not feel: a slow prober on it, alone and beside
//! what happens to another queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;

use super::closed_loop::{self, Load, Step, Until};
use super::prober::{Probed, Schedule, probe, probe_next};
use super::{Answer, Settings};
use crate::ledger::{Ledger, MESSAGES_MAX};
use crate::targets::{Caller, Target};
use crate::time::monotonic_ns;

/// The queue that something happens to.
pub const FULL: &str = "full";
/// Between two looks at how many messages are left.
const LOOK_EVERY: Duration = Duration::from_millis(25);
/// What a trouble leaves behind may delay others for so long after it.
const AFTER_NS: u64 = 250_000_000;
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

    /// Probes what falls due until shortly after `trouble` is over; answers what that answered, and
    /// how long it took with the figures.
    pub async fn with<O>(
        mut self,
        trouble: impl Future<Output = Result<O>>,
    ) -> Result<(O, Duration, Answer)> {
        let (over_ns, mut beside) = (AtomicU64::new(u64::MAX), Probed::new()?);
        let trouble = async {
            let begun = Instant::now();
            let ended = trouble.await;
            over_ns.store(monotonic_ns() + AFTER_NS, Ordering::Relaxed);
            ended.map(|ended| (ended, begun.elapsed()))
        };
        let mut schedule = Schedule::from_now(self.settings.rate);
        let probing = async {
            while schedule.next_ns() < over_ns.load(Ordering::Relaxed) {
                probe_next(&mut self.prober, &mut schedule, &self.ledger, &mut beside).await?;
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
        tokio::time::sleep(LOOK_EVERY).await;
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::body::Body;
    use crate::targets::{Kind, Look, Store};
    use crate::workloads::Work;

    /// The in-memory store, whose acks wait while they are held up.
    struct HeldUp(Store, Arc<AtomicU64>);

    struct HeldUpCaller(<Store as Target>::Caller, Arc<AtomicU64>);

    impl Target for HeldUp {
        type Caller = HeldUpCaller;

        async fn start(settings: &Settings, folder: &Path) -> Result<HeldUp> {
            Ok(HeldUp(Store::start(settings, folder).await?, Arc::default()))
        }

        async fn caller(&self, queue: &str) -> Result<HeldUpCaller> {
            Ok(HeldUpCaller(self.0.caller(queue).await?, Arc::clone(&self.1)))
        }
    }

    impl Caller for HeldUpCaller {
        async fn send(&mut self, bodies: &[Body]) -> Result<()> {
            self.0.send(bodies).await
        }

        async fn receive(&mut self, up_to: usize, wait: Duration, look: Look<'_>) -> Result<usize> {
            self.0.receive(up_to, wait, look).await
        }

        async fn ack(&mut self) -> Result<()> {
            while self.1.load(Ordering::SeqCst) > 0 {
                tokio::task::yield_now().await;
            }
            self.0.ack().await
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_falls_due_during_a_stall_is_sent_and_counts_from_then() {
        let (rate, stall) = (100.0, Duration::from_millis(500));
        let settings = Settings { rate, seconds: 0.1, ..Settings::new(Work::Send, Kind::Memory) };
        let folder = tempfile::tempdir().unwrap();
        let target = HeldUp::start(&settings, folder.path()).await.unwrap();
        let beside = Beside::alone(&settings, &target).await.unwrap();
        let before = beside.ledger.checks().sent;
        let trouble = async {
            target.1.store(1, Ordering::SeqCst);
            let until_ns = monotonic_ns() + stall.as_nanos() as u64;
            while monotonic_ns() < until_ns {
                tokio::task::yield_now().await;
            }
            target.1.store(0, Ordering::SeqCst);
            Ok(())
        };
        let ((), _, found) = beside.with(trouble).await.unwrap();
        // All of them waited: the middle one for half of the stall.
        assert!(found.checks.sent - before >= 50, "{:?}", found.checks);
        let waited = found.latencies["beside"].percentiles();
        assert!(waited.p50_us > 100_000.0 && waited.max_us > 480_000.0, "{waited:?}");
    }
}
