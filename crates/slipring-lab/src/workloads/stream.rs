//! A cycle for targets that do not let each sender receive: senders run ahead of the receivers by
//! a bounded number of messages.
//!
//! ```text
//!   senders ─batch─▶ │ queue, at most `AHEAD` batches per sender │ ─▶ receiver(s), ack
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::{Answer, Settings};
use crate::body::{self, Content};
use crate::ledger::{Ledger, MESSAGES_MAX};
use crate::stats::Latencies;
use crate::targets::{Caller, Target};
use crate::time::monotonic_ns;

/// Batches that each sender may be ahead; enough for a target that receives in bulk.
const AHEAD: usize = 16;
const LEFT_WITHIN: Duration = Duration::from_secs(60);

struct Stream {
    batch: usize,
    ahead: Semaphore,
    ledger: Ledger,
    received: AtomicU64,
    measuring: AtomicBool,
    stop: AtomicBool,
}

/// Runs it; see the file's head for the shape. The latency is that from send to receive.
pub async fn run<T: Target>(settings: &Settings, target: &T) -> Result<Answer> {
    let stream = Arc::new(Stream {
        batch: settings.batch,
        ahead: Semaphore::new(settings.callers * settings.batch * AHEAD),
        ledger: Ledger::new(0, MESSAGES_MAX),
        received: AtomicU64::new(0),
        measuring: AtomicBool::new(false),
        stop: AtomicBool::new(false),
    });
    let (mut senders, mut receivers) = (JoinSet::new(), JoinSet::new());
    for _ in 0..settings.callers {
        senders.spawn(send(target.caller("stream").await?, Arc::clone(&stream)));
    }
    for _ in 0..target.receivers(settings.callers) {
        receivers.spawn(receive(target.caller("stream").await?, Arc::clone(&stream)));
    }
    tokio::time::sleep(settings.warmup()).await;
    let (before, begun) = (stream.received.load(Ordering::Relaxed), Instant::now());
    stream.measuring.store(true, Ordering::Relaxed);
    tokio::time::sleep(settings.measured()).await;
    let messages = stream.received.load(Ordering::Relaxed) - before;
    let seconds = begun.elapsed().as_secs_f64();
    stream.stop.store(true, Ordering::Relaxed);
    stream.ahead.close();
    while let Some(ended) = senders.join_next().await {
        ended.context("a sender panicked")??;
    }
    let mut latencies = Latencies::new()?;
    while let Some(ended) = receivers.join_next().await {
        latencies.merge(&ended.context("a receiver panicked")??)?;
    }
    let mut found = Answer::new(messages, seconds, stream.ledger.final_checks());
    found.latency("end_to_end", &latencies);
    Ok(found)
}

async fn send<C: Caller>(mut caller: C, stream: Arc<Stream>) -> Result<()> {
    let batch = u32::try_from(stream.batch).context("a batch of more than 2^32 messages")?;
    while let Ok(room) = stream.ahead.acquire_many(batch).await {
        room.forget();
        let (first, due_ns) = (stream.ledger.take(u64::from(batch))?, monotonic_ns());
        let numbers = first..first + u64::from(batch);
        let bodies: Vec<_> =
            numbers.map(|number| body::write(Content { number, due_ns })).collect();
        caller.send(&bodies).await?;
    }
    Ok(())
}

/// Receives until everything is there and the senders have stopped.
async fn receive<C: Caller>(mut caller: C, stream: Arc<Stream>) -> Result<Latencies> {
    let mut latencies = Latencies::new()?;
    let mut last = Instant::now();
    loop {
        if stream.stop.load(Ordering::Relaxed) && stream.ledger.outstanding() == 0 {
            return Ok(latencies);
        }
        if last.elapsed() > LEFT_WITHIN {
            bail!("{} messages did not come", stream.ledger.outstanding());
        }
        let measuring = stream.measuring.load(Ordering::Relaxed);
        let mut note = |body: &[u8]| {
            let content = body::read(body)?;
            if measuring {
                latencies.add(monotonic_ns().saturating_sub(content.due_ns));
            }
            stream.ledger.note(content.number)
        };
        let came = caller.receive(stream.batch, Duration::from_secs(1), &mut note).await?;
        caller.ack().await?;
        if came > 0 {
            last = Instant::now();
            stream.received.fetch_add(came as u64, Ordering::Relaxed);
            stream.ahead.add_permits(came);
        }
    }
}
