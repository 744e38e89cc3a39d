//! Callers that each start the next call when the last one is answered, for a time or a count.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tokio::task::JoinSet;

use super::Answer;
use crate::body::{self, Body, Content};
use crate::ledger::{Checks, Ledger};
use crate::stats::Latencies;
use crate::targets::{Caller, Target};
use crate::time::monotonic_ns;

/// How long a receive of a caller waits for what must be there.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// What each caller does over and over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Send a batch.
    Send,
    /// Send a batch, receive as much, ack it.
    Cycle,
}

/// When the callers stop.
#[derive(Debug, Clone, Copy)]
pub enum Until {
    /// After a warm-up and a measured time.
    Over { warmup: Duration, measured: Duration },
    /// When the ledger has given out this number.
    Sent(u64),
}

/// The callers.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// How many.
    pub callers: usize,
    /// Messages in a call.
    pub batch: usize,
    /// What they do.
    pub step: Step,
    /// For how long.
    pub until: Until,
}

/// What they did in the measured time.
#[derive(Debug)]
pub struct Measured {
    /// Messages.
    pub messages: u64,
    /// The measured time in seconds.
    pub seconds: f64,
    /// Latency of a whole step.
    pub latencies: Latencies,
}

impl Measured {
    /// The answer of a workload that is these callers: the latency of a whole step gets a name.
    pub fn answer(&self, name: &str, checks: Checks) -> Answer {
        let mut answer = Answer::new(self.messages, self.seconds, checks);
        answer.latency(name, &self.latencies);
        answer
    }

    /// Messages per second.
    pub fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.messages as f64 / self.seconds } else { 0.0 }
    }
}

/// What callers and clock share.
#[derive(Default)]
struct Meter {
    stop: AtomicBool,
    measuring: AtomicBool,
    messages: AtomicU64,
}

/// Runs the callers on one queue.
///
/// # Errors
/// When a call fails or hands out what was never sent.
pub async fn run<T: Target>(
    load: Load,
    target: &T,
    queue: &str,
    ledger: &Arc<Ledger>,
) -> Result<Measured> {
    run_on(load, target, &[queue.to_owned()], ledger).await
}

/// Runs the callers on several queues, as many on each, one at least.
///
/// # Errors
/// As [`run`].
pub async fn run_on<T: Target>(
    load: Load,
    target: &T,
    queues: &[String],
    ledger: &Arc<Ledger>,
) -> Result<Measured> {
    let on_each = load.callers.div_ceil(queues.len().max(1));
    let mut ready = Vec::with_capacity(on_each * queues.len());
    for queue in queues.iter().flat_map(|queue| std::iter::repeat_n(queue, on_each)) {
        ready.push(target.caller(queue).await?);
    }
    run_callers(load, ready, ledger).await
}

/// Runs callers that are there.
///
/// # Errors
/// As [`run`].
pub async fn run_callers<C: Caller>(
    load: Load,
    ready: Vec<C>,
    ledger: &Arc<Ledger>,
) -> Result<Measured> {
    let meter = Arc::new(Meter::default());
    let mut callers = JoinSet::new();
    let started = Instant::now();
    for caller in ready {
        callers.spawn(call(caller, load, Arc::clone(&meter), Arc::clone(ledger)));
    }
    let mut latencies = Latencies::new()?;
    let mut measured = None;
    let clock = watch(load.until, Arc::clone(&meter));
    tokio::pin!(clock);
    let timed = matches!(load.until, Until::Over { .. });
    loop {
        tokio::select! {
            now = &mut clock, if timed && measured.is_none() => measured = Some(now),
            joined = callers.join_next() => match joined {
                Some(own) => latencies.merge(&own.context("a caller panicked")??)?,
                None => break,
            },
        }
    }
    let all = || (meter.messages.load(Ordering::Relaxed), started.elapsed().as_secs_f64());
    let (messages, seconds) = measured.unwrap_or_else(all);
    Ok(Measured { messages, seconds, latencies })
}

/// Lets the warm-up and the measured time pass; answers messages and seconds of the latter.
async fn watch(until: Until, meter: Arc<Meter>) -> (u64, f64) {
    let Until::Over { warmup, measured } = until else {
        return std::future::pending().await;
    };
    tokio::time::sleep(warmup).await;
    let (before, begun) = (meter.messages.load(Ordering::Relaxed), Instant::now());
    meter.measuring.store(true, Ordering::Relaxed);
    tokio::time::sleep(measured).await;
    let messages = meter.messages.load(Ordering::Relaxed) - before;
    let seconds = begun.elapsed().as_secs_f64();
    meter.stop.store(true, Ordering::Relaxed);
    (messages, seconds)
}

async fn call<C: Caller>(
    mut caller: C,
    load: Load,
    meter: Arc<Meter>,
    ledger: Arc<Ledger>,
) -> Result<Latencies> {
    let mut latencies = Latencies::new()?;
    let mut bodies = Vec::with_capacity(load.batch);
    while !meter.stop.load(Ordering::Relaxed) {
        let batch = match load.until {
            Until::Sent(end) => {
                let left = usize::try_from(end.saturating_sub(ledger.next())).unwrap_or(usize::MAX);
                left.min(load.batch)
            }
            Until::Over { .. } => load.batch,
        };
        if batch == 0 {
            break;
        }
        fill(&mut bodies, batch, &ledger)?;
        let begun = monotonic_ns();
        caller.send(&bodies).await?;
        if load.step == Step::Cycle {
            let mut note = |body: &[u8]| ledger.note(body::read(body)?.number);
            if caller.receive(batch, PATIENCE, &mut note).await? == 0 {
                bail!("a receive got nothing from a queue that held messages");
            }
            caller.ack().await?;
        }
        if meter.measuring.load(Ordering::Relaxed) {
            latencies.add(monotonic_ns() - begun);
        }
        meter.messages.fetch_add(batch as u64, Ordering::Relaxed);
    }
    Ok(latencies)
}

/// Fills `bodies` with the next messages of the ledger, due now.
///
/// # Errors
/// When the run sends more than the ledger holds.
pub fn fill(bodies: &mut Vec<Body>, batch: usize, ledger: &Ledger) -> Result<()> {
    let first = ledger.take(batch as u64)?;
    let due_ns = monotonic_ns();
    bodies.clear();
    let numbers = first..first + batch as u64;
    bodies.extend(numbers.map(|number| body::write(Content { number, due_ns })));
    Ok(())
}

/// Receives and acks what is left, until the ledger has seen everything or nothing comes.
///
/// # Errors
/// As [`run`].
pub async fn drain<T: Target>(
    target: &T,
    queue: &str,
    batch: usize,
    ledger: &Arc<Ledger>,
) -> Result<()> {
    drain_by(&mut target.caller(queue).await?, batch, ledger).await
}

/// As [`drain`], by a caller that is there.
///
/// # Errors
/// As [`run`].
pub async fn drain_by<C: Caller>(caller: &mut C, batch: usize, ledger: &Arc<Ledger>) -> Result<()> {
    loop {
        let left = usize::try_from(ledger.outstanding()).unwrap_or(usize::MAX);
        if left == 0 {
            return Ok(());
        }
        let mut note = |body: &[u8]| ledger.note(body::read(body)?.number);
        if caller.receive(left.min(batch), PATIENCE, &mut note).await? == 0 {
            return Ok(());
        }
        caller.ack().await?;
    }
}
