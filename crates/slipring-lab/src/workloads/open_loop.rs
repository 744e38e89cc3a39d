//! Load that does not wait for answers: the schedule is computed, and latency counts from it.
//!
//! ```text
//!   due times │ │ │ │ │ │ ─▶ next free sender ──▶ │ queue │ ──▶ receivers: now − due time
//!             1/rate apart    (late when none is)
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::task::JoinSet;

use super::prober::{LATE_NS, wait_until};
use super::{Found, Settings};
use crate::body::{self, Content};
use crate::ledger::{Ledger, MESSAGES_MAX};
use crate::stats::Latencies;
use crate::targets::{Caller, Target};
use crate::time::monotonic_ns;

/// What senders and receivers share.
struct Schedule {
    start_ns: u64,
    count: u64,
    rate: f64,
    next: AtomicU64,
    late: AtomicU64,
    over: AtomicBool,
    ledger: Ledger,
}

/// Latencies of one task: publish from the due time, publish from the start, end to end.
struct Seen {
    from_due: Latencies,
    from_start: Latencies,
    end_to_end: Latencies,
}

impl Seen {
    fn new() -> Result<Seen> {
        let latencies = Latencies::new;
        Ok(Seen { from_due: latencies()?, from_start: latencies()?, end_to_end: latencies()? })
    }
}

/// Runs it; see the file's head for the shape. `callers` is the number of senders and of
/// receivers.
pub async fn run<T: Target>(settings: &Settings, target: &T) -> Result<Found> {
    let schedule = Arc::new(Schedule {
        start_ns: monotonic_ns() + 50_000_000,
        count: (settings.rate * settings.seconds) as u64,
        rate: settings.rate,
        next: AtomicU64::new(0),
        late: AtomicU64::new(0),
        over: AtomicBool::new(false),
        ledger: Ledger::new(0, MESSAGES_MAX),
    });
    let (mut senders, mut receivers) = (JoinSet::new(), JoinSet::new());
    for _ in 0..settings.callers {
        senders.spawn(send(target.caller("open").await?, Arc::clone(&schedule)));
        receivers.spawn(receive(target.caller("open").await?, Arc::clone(&schedule)));
    }
    let mut seen = Seen::new()?;
    while let Some(joined) = senders.join_next().await {
        merge(&mut seen, &joined.context("a sender panicked")??)?;
    }
    let seconds = (monotonic_ns().saturating_sub(schedule.start_ns)) as f64 / 1e9;
    schedule.over.store(true, Ordering::Relaxed);
    while let Some(joined) = receivers.join_next().await {
        merge(&mut seen, &joined.context("a receiver panicked")??)?;
    }
    let mut found = Found { checks: schedule.ledger.final_checks(), ..Found::default() };
    found.rate = schedule.count as f64 / seconds;
    found.figures.insert("late_starts".into(), schedule.late.load(Ordering::Relaxed) as f64);
    found.latencies.insert("publish".into(), seen.from_due.percentiles());
    found.latencies.insert("publish_uncorrected".into(), seen.from_start.percentiles());
    found.latencies.insert("end_to_end".into(), seen.end_to_end.percentiles());
    Ok(found)
}

fn merge(all: &mut Seen, own: &Seen) -> Result<()> {
    all.from_due.merge(&own.from_due)?;
    all.from_start.merge(&own.from_start)?;
    all.end_to_end.merge(&own.end_to_end)
}

async fn send<C: Caller>(mut caller: C, schedule: Arc<Schedule>) -> Result<Seen> {
    let mut seen = Seen::new()?;
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

async fn receive<C: Caller>(mut caller: C, schedule: Arc<Schedule>) -> Result<Seen> {
    let mut seen = Seen::new()?;
    loop {
        let mut note = |body: &[u8]| {
            let content = body::read(body)?;
            seen.end_to_end.add(monotonic_ns().saturating_sub(content.due_ns));
            schedule.ledger.note(content.number)
        };
        let count = caller.receive(10, Duration::from_secs(1), &mut note).await?;
        if count == 0 && schedule.over.load(Ordering::Relaxed) {
            return Ok(seen);
        }
        caller.ack().await?;
    }
}
