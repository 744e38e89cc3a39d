//! One measurement: one contender, so many timers, so many threads. It has a process of its own,
//! so that resident memory is that of its timers.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use slipring::WaitSnapshot;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::contender::{Contender, Seen, Sink};
use super::delay_queues::DelayQueues;
use super::dotnet_list::DotnetList;
use super::engine_wheel::EngineWheel;
use super::leases::{Kept, Leases};
use super::load::{self, Done, Size};
use super::ordered_list::OrderedList;
use super::tokio_sleeps::TokioSleeps;
use crate::stats::{Latencies, Percentiles};

/// Threads of the runtime that fires timers and keeps the leases, beside those of the load.
const RUNTIME_THREADS: usize = 2;
/// For how long timers that were let fire are waited for after the measurement, at most.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whose timers are measured.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum, Serialize, Deserialize,
)]
pub enum Name {
    /// The engine's own.
    Engine,
    /// One `Sleep` for each.
    TokioSleep,
    /// tokio-util's, in shards behind locks.
    DelayQueue,
    /// One list without order, walked when something is due.
    DotnetList,
    /// One list in order.
    OrderedList,
}

impl Name {
    /// All contenders; each round begins with another.
    pub const ALL: [Name; 5] =
        [Name::Engine, Name::TokioSleep, Name::DelayQueue, Name::DotnetList, Name::OrderedList];

    /// What tables call it.
    pub fn text(self) -> &'static str {
        match self {
            Name::Engine => "slipring (engine's wheel)",
            Name::TokioSleep => "tokio sleep",
            Name::DelayQueue => "tokio-util DelayQueue",
            Name::DotnetList => ".NET Framework list",
            Name::OrderedList => "ordered list",
        }
    }
}

/// What one measurement is asked for.
#[derive(Debug, Clone, clap::Args)]
pub struct Settings {
    /// Whose timers.
    #[arg(long, value_enum)]
    pub contender: Name,
    /// Outstanding timers.
    #[arg(long)]
    pub timers: usize,
    /// Threads of the load.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub threads: u16,
    /// For how long it is measured, in milliseconds.
    #[arg(long)]
    pub time_ms: u64,
    /// For how long the timers are set before, at most, in seconds.
    #[arg(long)]
    pub fill_max_s: u64,
    /// Where the choices come from.
    #[arg(long, default_value_t = 5)]
    pub seed: u64,
}

/// What was measured.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Measured {
    /// Whose timers.
    pub contender: Name,
    /// Outstanding timers that were asked for.
    pub timers: usize,
    /// Those that were reached in the time there was.
    pub reached: usize,
    /// Threads.
    pub threads: usize,
    /// Operations per second of all threads together.
    pub rate: f64,
    /// How long eight operations took.
    pub turns: Percentiles,
    /// How late those were that were let fire.
    pub late: Percentiles,
    /// How many came before their time.
    pub early: u64,
    /// How many of them never came.
    pub lost: u64,
    /// Leases renewed in time.
    pub renewed: u64,
    /// Leases that had lapsed when their renewal came.
    pub lapsed: u64,
    /// How late the timers of the renewals were.
    pub renewals_late: Percentiles,
    /// Resident bytes of a timer.
    pub bytes_per_timer: f64,
    /// Waits at the contender's lock during the measurement, where they can be seen.
    pub waits: Option<Waited>,
    /// How often the threads gave up a processor to wait, in a million operations.
    pub blocked_per_million: f64,
    /// The part of the threads' time in which they did not run, 0 to 1: waiting for a lock, or for
    /// a processor.
    pub idle_share: f64,
}

/// Waits at one lock.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Waited {
    /// The wait class.
    pub class: String,
    /// How often the lock was taken.
    pub acquisitions: u64,
    /// How often it had to be waited for.
    pub contended: u64,
    /// Time waited in all, in milliseconds.
    pub total_ms: f64,
    /// The longest wait so far, those before the measurement included, in milliseconds.
    pub max_ms: f64,
    /// The part of the threads' time that they waited for it, 0 to 1.
    pub share: f64,
}

impl Waited {
    fn between(before: &WaitSnapshot, after: &WaitSnapshot, thread_seconds: f64) -> Waited {
        let total_ms = after.total_ns.saturating_sub(before.total_ns) as f64 / 1e6;
        Waited {
            class: after.name.to_owned(),
            acquisitions: after.acquisitions - before.acquisitions,
            contended: after.contended - before.contended,
            total_ms,
            max_ms: after.max_ns as f64 / 1e6,
            share: total_ms / 1000.0 / thread_seconds,
        }
    }
}

/// Measures.
///
/// # Errors
/// When the runtime, a thread or the engine beside the load fails.
pub fn run(settings: &Settings) -> Result<Measured> {
    let runtime = Builder::new_multi_thread().worker_threads(RUNTIME_THREADS).enable_all().build();
    let runtime = runtime.context("starting a runtime")?;
    let inside = runtime.enter();
    let handle = runtime.handle();
    let measured = match settings.contender {
        Name::Engine => contend(EngineWheel::start(handle), &runtime, settings),
        Name::TokioSleep => contend(TokioSleeps::start(), &runtime, settings),
        Name::DelayQueue => contend(DelayQueues::start(handle), &runtime, settings),
        Name::DotnetList => contend(DotnetList::start()?, &runtime, settings),
        Name::OrderedList => contend(OrderedList::start()?, &runtime, settings),
    };
    drop(inside);
    runtime.shutdown_background();
    measured
}

fn contend<C: Contender>(contender: C, runtime: &Runtime, of: &Settings) -> Result<Measured> {
    let contender = Arc::new(contender);
    let threads = usize::from(of.threads);
    let size = Size {
        timers: of.timers,
        threads,
        time: Duration::from_millis(of.time_ms),
        fill_max: Duration::from_secs(of.fill_max_s),
        seed: of.seed,
    };
    let sinks: Result<Vec<Arc<Sink>>> = (0..threads).map(|_| Sink::new()).collect();
    let sinks = sinks?;
    let leases = runtime.block_on(Leases::take(&contender, threads))?;
    let (renewals, stop) = (leases.sink(), CancellationToken::new());
    let mut keeping = None;
    let mut before = None;
    let done = load::run(&contender, runtime.handle(), &size, &sinks, PATIENCE, || {
        before = contender.waits();
        keeping = Some(runtime.spawn(leases.keep(stop.clone())));
        Ok(())
    });
    let after = contender.waits();
    stop.cancel();
    let kept = kept(runtime, keeping);
    contender.stop();
    let (done, kept) = (done?, kept?);
    let waits = before
        .zip(after)
        .map(|(before, after)| Waited::between(&before, &after, done.seconds * threads as f64));
    Ok(Measured { waits, ..measured(of, &done, &sinks, kept, renewals.seen())? })
}

fn kept(runtime: &Runtime, keeping: Option<JoinHandle<Result<Kept>>>) -> Result<Kept> {
    let Some(keeping) = keeping else { return Ok(Kept::default()) };
    runtime.block_on(keeping).context("the leases' task")?.context("keeping leases")
}

fn measured(
    of: &Settings,
    done: &Done,
    sinks: &[Arc<Sink>],
    kept: Kept,
    renewals: Seen,
) -> Result<Measured> {
    let mut late = Latencies::new()?;
    for sink in sinks {
        late.merge(&sink.late())?;
    }
    let late = late.percentiles();
    let thread_seconds = done.seconds * f64::from(of.threads);
    Ok(Measured {
        contender: of.contender,
        timers: of.timers,
        reached: done.reached,
        threads: usize::from(of.threads),
        rate: done.operations as f64 / done.seconds,
        turns: done.turns.percentiles(),
        late,
        early: sinks.iter().map(|sink| sink.seen().early).sum::<u64>() + renewals.early,
        lost: done.let_fire.saturating_sub(late.count),
        renewed: kept.renewed,
        lapsed: kept.lapsed,
        renewals_late: renewals.late,
        bytes_per_timer: done.resident_bytes as f64 / done.reached.max(1) as f64,
        waits: None,
        blocked_per_million: done.blocked as f64 / (done.operations.max(1) as f64 / 1e6),
        idle_share: (1.0 - done.cpu_seconds / thread_seconds).max(0.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contender_fires_all_it_is_to_fire_never_early_and_keeps_leases() {
        for contender in Name::ALL {
            let settings = Settings {
                contender,
                timers: 500,
                threads: 2,
                time_ms: 300,
                fill_max_s: 10,
                seed: 7,
            };
            let seen = run(&settings).unwrap();
            assert_eq!((seen.reached, seen.lost, seen.early), (500, 0, 0), "{seen:?}");
            assert!(seen.late.count > 0 && seen.rate > 0.0, "{seen:?}");
            assert!(seen.renewed >= 64, "{seen:?}");
            let counted = seen.waits.is_some_and(|waits| waits.acquisitions > seen.late.count);
            assert_eq!(counted, contender != Name::TokioSleep, "{contender:?}");
        }
    }
}
