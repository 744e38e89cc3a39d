//! Sends, cycles and a fixed rate.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::peer::{Lab, Peer};
use crate::say;
use crate::seen::{Gaps, Latencies, Ledger};

/// Batches that each sender may be ahead of the workers.
const AHEAD: u64 = 16;
const LEFT_WITHIN: Duration = Duration::from_secs(60);
const FILLER_BYTES: usize = 60;

/// One piece of work.
#[derive(Debug, Clone, Deserialize)]
pub struct Command {
    work: String,
    callers: u64,
    batch: u64,
    seconds: f64,
    warmup: f64,
    windows: u64,
    rate: f64,
}

/// What callers, workers and clock share.
struct Load {
    command: Command,
    begun: Instant,
    ledger: Ledger,
    all: Latencies,
    window: Latencies,
    sends: Gaps,
    receives: Gaps,
    done: AtomicU64,
    next: AtomicU64,
    sent: AtomicU64,
    late: AtomicU64,
    measuring: AtomicBool,
    stop: AtomicBool,
}

impl Load {
    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn messages(&self, due: u64) -> Vec<Lab> {
        let first = self.ledger.take(self.command.batch);
        let numbers = first..first + self.command.batch;
        numbers.map(|n| Lab { n, due, fill: "x".repeat(FILLER_BYTES) }).collect()
    }
}

/// Runs one piece of work.
pub async fn run(command: Command, peer: &Peer) -> Result<Value> {
    let load = Arc::new(Load {
        command,
        begun: Instant::now(),
        ledger: Ledger::default(),
        all: Latencies::default(),
        window: Latencies::default(),
        sends: Gaps::default(),
        receives: Gaps::default(),
        done: AtomicU64::new(0),
        next: AtomicU64::new(0),
        sent: AtomicU64::new(0),
        late: AtomicU64::new(0),
        measuring: AtomicBool::new(false),
        stop: AtomicBool::new(false),
    });
    match load.command.work.as_str() {
        "send" => send(load, peer).await,
        "cycle" => cycle(load, peer).await,
        "paced" => paced(load, peer).await,
        other => bail!("this driver does not do {other}"),
    }
}

async fn send(load: Arc<Load>, peer: &Peer) -> Result<Value> {
    let callers = std::iter::repeat_with(|| async {
        while !load.stop.load(Ordering::Relaxed) {
            let begun = load.now();
            peer.send(load.messages(begun)).await?;
            if load.measuring.load(Ordering::Relaxed) {
                load.all.add(load.now() - begun);
            }
            load.done.fetch_add(load.command.batch, Ordering::Relaxed);
        }
        anyhow::Ok(())
    });
    let (messages, seconds) = beside(callers, measure(&load), &load).await?;
    Ok(answer(&load, messages, seconds, "send", 0, json!({})))
}

/// Callers send ahead of the workers by a bounded number of messages.
async fn cycle(load: Arc<Load>, peer: &Peer) -> Result<Value> {
    let seen = Arc::clone(&load);
    let take = move |message: &Lab| {
        seen.ledger.note(message.n);
        if seen.measuring.load(Ordering::Relaxed) {
            seen.all.add(seen.now().saturating_sub(message.due));
        }
        seen.done.fetch_add(1, Ordering::Relaxed);
    };
    let client = peer.work(Arc::new(take)).await?;
    let room = load.command.callers * load.command.batch * AHEAD;
    let callers = std::iter::repeat_with(|| async {
        while !load.stop.load(Ordering::Relaxed) {
            if load.ledger.outstanding() + load.command.batch > room {
                tokio::time::sleep(Duration::from_millis(1)).await;
                continue;
            }
            peer.send(load.messages(load.now())).await?;
        }
        anyhow::Ok(())
    });
    let (messages, seconds) = beside(callers, measure(&load), &load).await?;
    let missing = drain(&load).await;
    client.shutdown(Duration::from_secs(10)).await;
    Ok(answer(&load, messages, seconds, "end_to_end", missing, json!({})))
}

/// A fixed rate in windows; the first is the warm-up.
async fn paced(load: Arc<Load>, peer: &Peer) -> Result<Value> {
    let seen = Arc::clone(&load);
    let take = move |message: &Lab| {
        seen.ledger.note(message.n);
        let now = seen.now();
        seen.receives.completed(now);
        let ns = now.saturating_sub(message.due);
        seen.all.add(ns);
        seen.window.add(ns);
        seen.done.fetch_add(1, Ordering::Relaxed);
    };
    let client = peer.work(Arc::new(take)).await?;
    let begin = load.now() + 50_000_000;
    let callers = std::iter::repeat_with(|| async {
        while !load.stop.load(Ordering::Relaxed) {
            let index = load.next.fetch_add(1, Ordering::Relaxed);
            let messages = (index * load.command.batch) as f64;
            let due = begin + (messages / load.command.rate * 1e9) as u64;
            let now = load.now();
            if due > now {
                tokio::time::sleep(Duration::from_nanos(due - now)).await;
            } else if now > due + 5_000_000 {
                load.late.fetch_add(1, Ordering::Relaxed);
            }
            peer.send(load.messages(due)).await?;
            load.sent.fetch_add(load.command.batch, Ordering::Relaxed);
            load.sends.completed(load.now());
        }
        anyhow::Ok(())
    });
    let (messages, seconds) = beside(callers, windows(&load), &load).await?;
    let (left, late) = (load.ledger.outstanding(), load.late.load(Ordering::Relaxed));
    let figures = json!({"backlog_at_the_end": left, "late_starts": late});
    let missing = drain(&load).await;
    client.shutdown(Duration::from_secs(10)).await;
    Ok(answer(&load, messages, seconds, "end_to_end", missing, figures))
}

/// Runs callers until the clock has run; a caller that fails ends it.
async fn beside<F: Future<Output = Result<()>>>(
    callers: impl Iterator<Item = F>,
    clock: impl Future<Output = (u64, f64)>,
    load: &Load,
) -> Result<(u64, f64)> {
    let count = usize::try_from(load.command.callers).context("too many callers")?;
    let clock = async {
        let measured = clock.await;
        load.stop.store(true, Ordering::Relaxed);
        Ok(measured)
    };
    let all = futures::future::try_join_all(callers.take(count));
    let (measured, _) = tokio::try_join!(clock, all)?;
    Ok(measured)
}

/// Lets the warm-up and the measured time pass; answers messages and seconds of the latter.
async fn measure(load: &Load) -> (u64, f64) {
    sleep(load.command.warmup).await;
    let (before, begun) = (load.done.load(Ordering::Relaxed), Instant::now());
    load.measuring.store(true, Ordering::Relaxed);
    sleep(load.command.seconds).await;
    (load.done.load(Ordering::Relaxed) - before, begun.elapsed().as_secs_f64())
}

/// Lets the windows pass and says what was in each.
async fn windows(load: &Load) -> (u64, f64) {
    let (mut messages, mut seconds) = (0, 0.0);
    for number in 0..=load.command.windows {
        let before = load.done.load(Ordering::Relaxed);
        let (sent, begun) = (load.sent.load(Ordering::Relaxed), Instant::now());
        sleep(if number == 0 { load.command.warmup } else { load.command.seconds }).await;
        let (spread, now) = (load.window.drain(), load.now());
        let stall_ms = load.sends.take(now).max(load.receives.take(now)) as f64 / 1e6;
        if number == 0 {
            continue;
        }
        let (took, came) =
            (begun.elapsed().as_secs_f64(), load.done.load(Ordering::Relaxed) - before);
        let sent = load.sent.load(Ordering::Relaxed) - sent;
        (messages, seconds) = (messages + came, seconds + took);
        say(&json!({ "window": {
            "seconds": took,
            "sent": sent,
            "received": came,
            "end_to_end": spread,
            "stall_max_ms": stall_ms,
        } }));
    }
    (messages, seconds)
}

async fn sleep(seconds: f64) {
    tokio::time::sleep(Duration::from_secs_f64(seconds.max(0.0))).await;
}

/// Waits for what is still to come; answers how much of it did not.
async fn drain(load: &Load) -> u64 {
    let deadline = Instant::now() + LEFT_WITHIN;
    while load.ledger.outstanding() > 0 && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    load.ledger.outstanding()
}

fn answer(
    load: &Load,
    messages: u64,
    seconds: f64,
    name: &str,
    missing: u64,
    figures: Value,
) -> Value {
    let (received, duplicates) = load.ledger.received();
    json!({
        "messages": messages,
        "seconds": seconds,
        "sent": load.ledger.sent(),
        "received": received,
        "duplicates": duplicates,
        "missing": missing,
        "latencies": {name: load.all.drain()},
        "figures": figures,
    })
}
