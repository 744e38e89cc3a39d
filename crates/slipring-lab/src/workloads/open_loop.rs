//! Load that does not wait for answers: the schedule is computed, and latency counts from it.
//!
//! ```text
//!   due times │ │ │ │ │ │ ─▶ next free sender ──▶ │ queue │ ──▶ receivers: now − due time
//!             1/rate apart    (late when none is)
//! ```

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::task::JoinSet;

use super::prober::{LATE_NS, wait_until};
use super::{Answer, Settings};
use crate::body::{self, Content};
use crate::ledger::{Ledger, MESSAGES_MAX};
use crate::stats::Latencies;
use crate::targets::{Caller, Target};
use crate::time::monotonic_ns;

const RECEIVED_WITHIN: Duration = Duration::from_secs(10);

/// What senders and receivers share.
struct Schedule {
    start_ns: u64,
    count: u64,
    rate: f64,
    next: AtomicU64,
    late: AtomicU64,
    ledger: Ledger,
    end_to_end: Mutex<Latencies>,
}

/// Latencies of publishing, from the due time and from the actual start.
struct Published {
    from_due: Latencies,
    from_start: Latencies,
}

impl Published {
    fn new() -> Result<Published> {
        Ok(Published { from_due: Latencies::new()?, from_start: Latencies::new()? })
    }
}

/// Runs it; see the file's head for the shape. `callers` is the number of senders and of
/// receivers.
pub async fn run<T: Target>(settings: &Settings, target: &T) -> Result<Answer> {
    let schedule = Arc::new(Schedule {
        start_ns: monotonic_ns() + 50_000_000,
        count: (settings.rate * settings.seconds) as u64,
        rate: settings.rate,
        next: AtomicU64::new(0),
        late: AtomicU64::new(0),
        ledger: Ledger::new(0, MESSAGES_MAX),
        end_to_end: Mutex::new(Latencies::new()?),
    });
    let (mut senders, mut receivers) = (JoinSet::new(), JoinSet::new());
    for _ in 0..settings.callers {
        senders.spawn(send(target.caller("open").await?, Arc::clone(&schedule)));
        receivers.spawn(receive(target.caller("open").await?, Arc::clone(&schedule)));
    }
    let mut published = Published::new()?;
    while let Some(joined) = senders.join_next().await {
        let own = joined.context("a sender panicked")??;
        published.from_due.merge(&own.from_due)?;
        published.from_start.merge(&own.from_start)?;
    }
    let seconds = monotonic_ns().saturating_sub(schedule.start_ns) as f64 / 1e9;
    wait_for_all(&schedule, &mut receivers).await?;
    let mut found = Answer::new(schedule.count, seconds, schedule.ledger.final_checks());
    found.figures.insert("late_starts".into(), schedule.late.load(Ordering::Relaxed) as f64);
    found.latency("publish", &published.from_due);
    found.latency("publish_uncorrected", &published.from_start);
    let end_to_end = schedule.end_to_end.lock().unwrap_or_else(PoisonError::into_inner);
    found.latency("end_to_end", &end_to_end);
    Ok(found)
}

/// Waits until everything that was sent has come, and ends the receivers.
async fn wait_for_all(schedule: &Schedule, receivers: &mut JoinSet<Result<()>>) -> Result<()> {
    let deadline = Instant::now() + RECEIVED_WITHIN;
    while schedule.ledger.outstanding() > 0 && Instant::now() < deadline {
        if let Some(ended) = receivers.try_join_next() {
            ended.context("a receiver panicked")??;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    receivers.shutdown().await;
    Ok(())
}

async fn send<C: Caller>(mut caller: C, schedule: Arc<Schedule>) -> Result<Published> {
    let mut seen = Published::new()?;
    loop {
        let index = schedule.next.fetch_add(1, Ordering::Relaxed);
        if index >= schedule.count {
            return Ok(seen);
        }
        let due_ns = schedule.start_ns + (index as f64 / schedule.rate * 1e9) as u64;
        wait_until(due_ns).await;
        let begun_ns = monotonic_ns().max(due_ns);
        if begun_ns > due_ns + LATE_NS {
            schedule.late.fetch_add(1, Ordering::Relaxed);
        }
        let number = schedule.ledger.take(1)?;
        caller.send(&[body::write(Content { number, due_ns })]).await?;
        let now_ns = monotonic_ns();
        seen.from_due.add(now_ns.saturating_sub(due_ns));
        seen.from_start.add(now_ns.saturating_sub(begun_ns));
    }
}

async fn receive<C: Caller>(mut caller: C, schedule: Arc<Schedule>) -> Result<()> {
    loop {
        let mut note = |body: &[u8]| {
            let content = body::read(body)?;
            let end_to_end = schedule.end_to_end.lock();
            let latency_ns = schedule.ledger.late_ns(content.due_ns, monotonic_ns());
            end_to_end.unwrap_or_else(PoisonError::into_inner).add(latency_ns);
            schedule.ledger.note(content.number)
        };
        caller.receive(10, Duration::from_secs(1), &mut note).await?;
        caller.ack().await?;
    }
}
