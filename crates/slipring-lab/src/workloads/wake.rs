//! From a send to the wake of a receive that waits, on a database where nothing else happens.
//!
//! ```text
//!   sender ──one message, then 0.05 … 1.2 s of nothing──▶ │ queue │ ──▶ waiting receive
//! ```
//!
//! The pauses step through that range, so that a poller which slows down when idle is caught in
//! every mood.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::{Answer, Settings};
use crate::body::{self, Content};
use crate::ledger::{Checks, Ledger, MESSAGES_MAX};
use crate::stats::Latencies;
use crate::targets::{Caller, Target};
use crate::time::monotonic_ns;

const WAIT: Duration = Duration::from_secs(20);
const WOKEN_WITHIN: Duration = Duration::from_secs(20);
const PAUSE_MIN: Duration = Duration::from_millis(50);
/// Pauses grow by this up to the longest, then begin anew.
const PAUSE_STEP: Duration = Duration::from_millis(71);
const PAUSE_MAX: Duration = Duration::from_millis(1200);

/// Runs it; see the file's head for the shape. The latency counts from the moment the send is
/// begun, its commit included.
pub async fn run<R: Target, S: Target>(
    settings: &Settings,
    receiving: &R,
    sending: &S,
) -> Result<Answer> {
    let ledger = Arc::new(Ledger::new(0, MESSAGES_MAX / 16));
    let mut receiver = receiving.caller("wake").await?;
    let mut sender = sending.caller("wake").await?;
    let seen = Arc::clone(&ledger);
    let mut waiter = tokio::spawn(async move {
        let mut latencies = Latencies::new()?;
        loop {
            let mut stop = false;
            let mut note = |body: &[u8]| {
                let content = body::read(body)?;
                stop = content.due_ns == LAST;
                if !stop && content.due_ns != WARM_UP {
                    latencies.add(monotonic_ns().saturating_sub(content.due_ns));
                }
                seen.note(content.number)
            };
            receiver.receive(1, WAIT, &mut note).await?;
            receiver.ack().await?;
            if stop {
                return Ok::<_, anyhow::Error>(latencies);
            }
        }
    });
    let (mut begun, mut pause) = (Instant::now(), PAUSE_MIN);
    let (mut warm, mut unmeasured) = (false, 0);
    loop {
        if !warm && begun.elapsed() >= settings.warmup() {
            (warm, begun, unmeasured) = (true, Instant::now(), ledger.checks().sent);
        }
        if warm && begun.elapsed() >= settings.measured() {
            break;
        }
        tokio::select! {
            ended = &mut waiter => {
                ended.context("the receive panicked")??;
                bail!("the receive ended early");
            }
            () = tokio::time::sleep(pause) => {}
        }
        pause = after(pause);
        let due_ns = if warm { monotonic_ns() } else { WARM_UP };
        let content = Content { number: ledger.take(1)?, due_ns };
        sender.send(&[body::write(content)]).await?;
    }
    let seconds = begun.elapsed().as_secs_f64();
    let sent = ledger.checks().sent - unmeasured;
    sender.send(&[body::write(Content { number: ledger.take(1)?, due_ns: LAST })]).await?;
    let ended = tokio::time::timeout(WOKEN_WITHIN, waiter).await;
    let Ok(ended) = ended else {
        bail!("{} messages woke no receive within {WOKEN_WITHIN:?}", ledger.outstanding());
    };
    let latencies = ended.context("the receive panicked")??;
    let mut found = Answer::new(sent, seconds, ledger.final_checks());
    found.latency("wake", &latencies);
    Ok(found)
}

/// Sends with the same pauses, and none is received: what the database takes for a commit that
/// comes alone.
pub async fn commits<S: Target>(settings: &Settings, sending: &S) -> Result<Answer> {
    let ledger = Ledger::new(0, MESSAGES_MAX / 16);
    let mut sender = sending.caller("wake").await?;
    let mut latencies = Latencies::new()?;
    let (started, mut pause, mut sent) = (Instant::now(), PAUSE_MIN, 0);
    let measured = |at: Instant| at.duration_since(started).as_secs_f64() - settings.warmup;
    while measured(Instant::now()) < settings.seconds {
        tokio::time::sleep(pause).await;
        pause = after(pause);
        let begun = Instant::now();
        let content = Content { number: ledger.take(1)?, due_ns: WARM_UP };
        sender.send(&[body::write(content)]).await?;
        if measured(begun) >= 0.0 {
            latencies.add(u64::try_from(begun.elapsed().as_nanos())?);
            sent += 1;
        }
    }
    let checks = Checks { sent: ledger.checks().sent, ..Checks::default() };
    let mut found = Answer::new(sent, settings.seconds, checks);
    found.latency("wake", &latencies);
    Ok(found)
}

/// The pause that follows one.
fn after(pause: Duration) -> Duration {
    if pause < PAUSE_MAX { pause + PAUSE_STEP } else { PAUSE_MIN }
}

/// The due time of messages that are not measured.
const WARM_UP: u64 = 0;
/// The due time of the message that ends a run.
const LAST: u64 = u64::MAX;
