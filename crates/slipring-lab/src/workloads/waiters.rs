//! Many receives that wait, and few messages: waiting costs nothing, waking does not search.
//!
//! ```text
//!   waiter 1 … 10 ──wait──▶ │ queue 1 │ ◀─┐
//!   waiter … 20   ──wait──▶ │ queue 2 │ ◀─┼─ one slow sender, a queue at a time
//!   waiter … n    ──wait──▶ │ queue m │ ◀─┘
//! ```

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tokio::task::JoinSet;

use super::prober::wait_until;
use super::{Answer, Settings};
use crate::body::{self, Content};
use crate::ledger::{Ledger, MESSAGES_MAX};
use crate::process::Usage;
use crate::stats::Latencies;
use crate::targets::{Caller, Target};
use crate::time::monotonic_ns;

/// Longer than any run.
const WAIT: Duration = Duration::from_secs(3600);
/// Time for all waiters to have sat down.
const SETTLE: Duration = Duration::from_millis(1500);
const WOKEN_WITHIN: Duration = Duration::from_secs(10);
/// Steps through the queues in an order that is not theirs.
const STRIDE: usize = 7919;

/// Runs it; see the file's head for the shape. The rate is that of the sender.
pub async fn run<T: Target>(settings: &Settings, target: &T) -> Result<Answer> {
    let ledger = Arc::new(Ledger::new(0, MESSAGES_MAX / 16));
    let wakes = Arc::new(Mutex::new(Latencies::new()?));
    let mut waiters = JoinSet::new();
    let mut senders = Vec::with_capacity(settings.queues);
    for queue in 0..settings.queues {
        senders.push(target.caller(&format!("queue-{queue}")).await?);
    }
    for waiter in 0..settings.callers {
        let caller = target.caller(&format!("queue-{}", waiter % settings.queues)).await?;
        waiters.spawn(wait(caller, Arc::clone(&ledger), Arc::clone(&wakes)));
    }
    tokio::time::sleep(SETTLE).await;
    let usage = || match target.usage() {
        Ok(None) => Usage::own(),
        other => other.map(Option::unwrap_or_default),
    };
    let (idle, begun) = (usage()?, Instant::now());
    tokio::time::sleep(Duration::from_secs_f64(settings.seconds.max(0.1))).await;
    let idle_cpu = (usage()?.cpu_seconds - idle.cpu_seconds) / begun.elapsed().as_secs_f64();

    let start_ns = monotonic_ns();
    for index in 0..(settings.rate * settings.seconds) as usize {
        wait_until(start_ns + (index as f64 / settings.rate * 1e9) as u64).await;
        let sender = senders.get_mut(index * STRIDE % settings.queues).context("no such queue")?;
        // From the actual send: the schedule only spaces the wakes.
        let content = Content { number: ledger.take(1)?, due_ns: monotonic_ns() };
        sender.send(&[body::write(content)]).await?;
    }
    let deadline = Instant::now() + WOKEN_WITHIN;
    while ledger.outstanding() > 0 {
        if Instant::now() > deadline {
            bail!("{} messages woke no receive", ledger.outstanding());
        }
        if let Some(ended) = waiters.try_join_next() {
            ended.context("a waiter panicked")??;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let usage = usage()?;
    waiters.shutdown().await;
    let checks = ledger.final_checks();
    let mut found = Answer::new(checks.sent, checks.sent as f64 / settings.rate, checks);
    found.latency("wake", &wakes.lock().unwrap_or_else(PoisonError::into_inner));
    found.figures.insert("idle_cpu_percent".into(), idle_cpu * 100.0);
    found.figures.insert("resident_mb".into(), idle.resident_bytes as f64 / 1e6);
    found.figures.insert("resident_peak_mb".into(), usage.resident_peak_bytes as f64 / 1e6);
    Ok(found)
}

async fn wait<C: Caller>(
    mut caller: C,
    ledger: Arc<Ledger>,
    wakes: Arc<Mutex<Latencies>>,
) -> Result<()> {
    loop {
        let mut note = |body: &[u8]| {
            let now_ns = monotonic_ns();
            let content = body::read(body)?;
            wakes.lock().unwrap_or_else(PoisonError::into_inner).add(now_ns - content.due_ns);
            ledger.note(content.number)
        };
        caller.receive(1, WAIT, &mut note).await?;
        caller.ack().await?;
    }
}
