//! Very many delays that end at once in one queue must not be felt in others.
//!
//! ```text
//!   delayed × n ────▶ │ storm   │   all due at one moment
//!   looker  ─receive▶ │ empty   │   without waiting: how long each takes
//!   sender ─delay 1 s▶│ delayed │──▶ waiter: how late each comes
//! ```

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::closed_loop::{self, PATIENCE};
use super::prober::wait_until;
use super::{Answer, Settings};
use crate::body::{self, Body, Content};
use crate::ledger::{Ledger, MESSAGES_MAX};
use crate::stats::Latencies;
use crate::targets::{Caller, Target};
use crate::time::monotonic_ns;

/// The delays of the other queue.
const DELAY: Duration = Duration::from_secs(1);
/// The storm is sent at this rate at least; its moment is chosen accordingly.
const SENT_PER_SECOND: u64 = 8000;
const SECOND_NS: u64 = 1_000_000_000;

/// Runs it; see the file's head for the shape. `messages` end at once, and the rate is that of the
/// looks and of the delays elsewhere, for `seconds` from that moment on.
pub async fn run<T: Target>(settings: &Settings, target: &T) -> Result<Answer> {
    let storm = Arc::new(Ledger::new(0, MESSAGES_MAX));
    let others = Arc::new(Ledger::new(0, MESSAGES_MAX / 16));
    let due_ns = monotonic_ns() + 2 * SECOND_NS + settings.messages * SECOND_NS / SENT_PER_SECOND;
    let mut caller = target.caller("storm").await?;
    send_storm(&mut caller, &storm, settings.messages, settings.batch as u64, due_ns).await?;
    let ready_early = due_ns.saturating_sub(monotonic_ns()) < SECOND_NS;
    if ready_early {
        bail!("the storm was not sent in time; its moment came before the measurement");
    }
    let schedule = Schedule {
        from_ns: due_ns.saturating_sub(SECOND_NS),
        rate: settings.rate,
        count: ((settings.seconds + 1.0) * settings.rate) as u64,
    };
    let mut looks = Latencies::new()?;
    let mut late = Latencies::new()?;
    let waiting = wait(target.caller("delayed").await?, Arc::clone(&others), schedule);
    let waiting = tokio::spawn(waiting);
    let sending =
        tokio::spawn(send(target.caller("delayed").await?, Arc::clone(&others), schedule));
    let looking = tokio::spawn(look(target.caller("empty").await?, schedule));
    sending.await.context("the sender panicked")??;
    looks.merge(&looking.await.context("the looker panicked")??)?;
    late.merge(&waiting.await.context("the waiter panicked")??)?;
    let storm_ns = monotonic_ns().saturating_sub(due_ns).max(1);
    closed_loop::drain(target, "storm", settings.batch.max(100), &storm).await?;
    let mut checks = storm.final_checks();
    checks += others.final_checks();
    let mut found = Answer::new(schedule.count, storm_ns as f64 / 1e9, checks);
    found.latency("look", &looks);
    found.latency("late", &late);
    Ok(found)
}

/// Sends delays by batches until the ledger has given out `messages` numbers; all end at a moment.
///
/// # Errors
/// When the target does not take them.
pub async fn send_storm<C: Caller>(
    caller: &mut C,
    storm: &Ledger,
    messages: u64,
    batch: u64,
    due_ns: u64,
) -> Result<()> {
    while storm.next() < messages {
        let count = batch.min(messages - storm.next());
        let first = storm.take(count)?;
        let write = |number| body::write(Content { number, due_ns });
        let bodies: Vec<Body> = (first..first + count).map(write).collect();
        let delay = Duration::from_nanos(due_ns.saturating_sub(monotonic_ns()));
        caller.send_delayed(&bodies, delay).await?;
    }
    Ok(())
}

/// Moments that do not wait for answers.
#[derive(Debug, Clone, Copy)]
struct Schedule {
    from_ns: u64,
    rate: f64,
    count: u64,
}

impl Schedule {
    fn at_ns(&self, index: u64) -> u64 {
        self.from_ns + (index as f64 / self.rate * 1e9) as u64
    }
}

/// Receives without waiting from a queue that is empty; each counts from its due time.
async fn look<C: Caller>(mut caller: C, schedule: Schedule) -> Result<Latencies> {
    let mut looks = Latencies::new()?;
    for index in 0..schedule.count {
        let due_ns = schedule.at_ns(index);
        wait_until(due_ns).await;
        let mut none = |_: &[u8]| bail!("an empty queue gave a message");
        caller.receive(1, Duration::ZERO, &mut none).await?;
        looks.add(monotonic_ns().saturating_sub(due_ns));
    }
    Ok(looks)
}

async fn send<C: Caller>(mut caller: C, ledger: Arc<Ledger>, schedule: Schedule) -> Result<()> {
    for index in 0..schedule.count {
        wait_until(schedule.at_ns(index)).await;
        // From the actual send: how late a send is says nothing about the end of its delay.
        let due_ns = monotonic_ns() + DELAY.as_secs() * SECOND_NS;
        let content = Content { number: ledger.take(1)?, due_ns };
        caller.send_delayed(&[body::write(content)], DELAY).await?;
    }
    Ok(())
}

/// Receives the delayed ones as they come; answers how late each is.
async fn wait<C: Caller>(
    mut caller: C,
    ledger: Arc<Ledger>,
    schedule: Schedule,
) -> Result<Latencies> {
    wait_until(schedule.from_ns).await;
    let mut late = Latencies::new()?;
    let mut left = schedule.count;
    while left > 0 {
        let mut note = |body: &[u8]| {
            let content = body::read(body)?;
            late.add(ledger.late_ns(content.due_ns, monotonic_ns()));
            ledger.note(content.number)
        };
        let got = caller.receive(10, PATIENCE * 10, &mut note).await? as u64;
        if got == 0 {
            bail!("{left} delayed messages did not come");
        }
        left = left.saturating_sub(got);
        caller.ack().await?;
    }
    Ok(late)
}
