//! Many queues: what those cost where nothing happens, to those where something does.
//!
//! ```text
//!   caller 1 ──cycle──▶ │ queue 0   │
//!   caller n ──cycle──▶ │ queue n-1 │        idle: callers wait in a receive instead
//!                       │ queue …   │        these have no callers
//! ```

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::task::JoinSet;

use super::closed_loop::{self, Load, Step};
use super::{Answer, Settings, send};
use crate::body;
use crate::ledger::{Checks, Ledger, MESSAGES_MAX};
use crate::process::Usage;
use crate::stats::Latencies;
use crate::targets::{Caller, Target};

/// Makes `queues` queues, and receives from the first `callers` of them once: the first use of a
/// connection compiles the functions.
pub async fn make<T: Target>(settings: &Settings, target: &T) -> Result<Answer> {
    let mut first = Vec::new();
    for number in 0..settings.queues {
        let caller = target.caller(&name(number)).await?;
        // Of the others only the queue is wanted.
        if number < settings.callers {
            first.push(caller);
        }
    }
    let receives = first.iter_mut().map(async |caller| {
        let mut nothing = |body: &[u8]| body::read(body).map(|_| ());
        caller.receive(1, Duration::ZERO, &mut nothing).await
    });
    futures::future::try_join_all(receives).await?;
    Ok(Answer::default())
}

/// Cycles on the first `callers` queues.
pub async fn run<T: Target>(settings: &Settings, target: &T) -> Result<Answer> {
    let until = send::over(settings);
    let load = Load { callers: 1, batch: settings.batch, step: Step::Cycle, until };
    let names: Vec<String> = (0..settings.callers).map(name).collect();
    let one = async |queue: &str| {
        let ledger = Arc::new(Ledger::new(0, MESSAGES_MAX / 8));
        let measured = closed_loop::run(load, target, queue, &ledger).await?;
        closed_loop::drain(target, queue, settings.batch.max(100), &ledger).await?;
        anyhow::Ok((measured, ledger.final_checks()))
    };
    let mut latencies = Latencies::new()?;
    let (mut messages, mut seconds, mut checks) = (0, 0.0_f64, Checks::default());
    for found in futures::future::try_join_all(names.iter().map(|name| one(name))).await? {
        let (measured, own) = found;
        messages += measured.messages;
        seconds = seconds.max(measured.seconds);
        latencies.merge(&measured.latencies)?;
        checks += own;
    }
    let mut found = Answer::new(messages, seconds, checks);
    found.latency("cycle", &latencies);
    Ok(found)
}

/// Lets receives wait on the first `callers` queues, and does nothing.
pub async fn idle<T: Target>(settings: &Settings, target: &T) -> Result<Answer> {
    let mut waiting = JoinSet::new();
    for number in 0..settings.callers {
        let mut caller = target.caller(&name(number)).await?;
        waiting.spawn(async move {
            let mut nothing = |body: &[u8]| body::read(body).map(|_| ());
            loop {
                caller.receive(1, Duration::from_secs(20), &mut nothing).await?;
            }
        });
    }
    let before = Usage::own()?;
    tokio::time::sleep(settings.measured()).await;
    let cpu = Usage::own()?.cpu_seconds - before.cpu_seconds;
    if let Some(ended) = waiting.try_join_next() {
        let ended: Result<()> = ended.context("a waiting receive panicked")?;
        ended?;
    }
    waiting.shutdown().await;
    let figures = [("driver_cpu_seconds".to_owned(), cpu)].into();
    Ok(Answer { seconds: settings.seconds, figures, ..Answer::default() })
}

fn name(number: usize) -> String {
    format!("queue-{number}")
}
