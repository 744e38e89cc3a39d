//! A fixed rate in windows, for what changes over minutes: whether a queue keeps up, and how
//! late its messages are.
//!
//! ```text
//!   due times │ │ │ ─▶ senders ─batch─▶ │ queue │ ─batch─▶ receivers: now − due time
//!   windows   └──1──┴──2──┴──3──┘ …                        (a line each, then what is left)
//! ```

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::task::JoinSet;

use super::answer;
use crate::body::{self, Content};
use crate::ledger::{Ledger, MESSAGES_MAX};
use crate::postgres::protocol::{Answer, Command, Line, Spread, Window, Work};
use crate::postgres::serve::say;
use crate::stats::Latencies;
use crate::targets::{Caller, Target};
use crate::time::monotonic_ns;

/// Of so many batches one fails, where they do.
const FAILS_ONE_IN: u64 = 10;
/// A batch that failed comes again after this.
const AGAIN_AFTER: Duration = Duration::from_millis(100);

/// How long what is left in the end may take to come.
const LEFT_WITHIN: Duration = Duration::from_secs(60);

/// What senders and receivers share.
struct Pace {
    start_ns: u64,
    batch: u64,
    rate: f64,
    fails: bool,
    next: AtomicU64,
    stop: AtomicBool,
    late: AtomicU64,
    ledger: Ledger,
    window: Mutex<Seen>,
}

/// What came within a window.
struct Seen {
    sent: u64,
    received: u64,
    latencies: Latencies,
}

impl Seen {
    fn new() -> Result<Seen> {
        Ok(Seen { sent: 0, received: 0, latencies: Latencies::new()? })
    }
}

impl Pace {
    fn window(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs it; see the file's head for the shape. `callers` is the number of senders and, where the
/// target allows as many, of receivers.
pub async fn run<T: Target>(command: &Command, target: &T) -> Result<Answer> {
    // All are there before the first of them works: making one may lock the queue's tables.
    let sending = callers(target, command.callers).await?;
    let receiving = callers(target, target.receivers(command.callers)).await?;
    let pace = Arc::new(Pace {
        start_ns: monotonic_ns() + 50_000_000,
        batch: command.batch.max(1) as u64,
        rate: command.rate,
        fails: command.work == Work::Failing,
        next: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        late: AtomicU64::new(0),
        ledger: Ledger::new(0, MESSAGES_MAX),
        window: Mutex::new(Seen::new()?),
    });
    let (mut senders, mut receivers) = (JoinSet::new(), JoinSet::new());
    for caller in sending {
        senders.spawn(send(caller, Arc::clone(&pace)));
    }
    for caller in receiving {
        receivers.spawn(receive(caller, Arc::clone(&pace)));
    }
    let mut all = Latencies::new()?;
    let mut measured = (0, 0.0);
    for number in 0..=command.windows {
        // The first is the warm-up.
        let length = if number == 0 { command.warmup } else { command.seconds };
        let begun = Instant::now();
        tokio::time::sleep(Duration::from_secs_f64(length.max(0.0))).await;
        fail_early(&mut senders)?;
        fail_early(&mut receivers)?;
        let seen = std::mem::replace(&mut *pace.window(), Seen::new()?);
        if number == 0 {
            continue;
        }
        let seconds = begun.elapsed().as_secs_f64();
        measured = (measured.0 + seen.received, measured.1 + seconds);
        all.merge(&seen.latencies)?;
        say(&Line::Window(Window {
            seconds,
            sent: seen.sent,
            received: seen.received,
            end_to_end: Spread::from(&seen.latencies),
        }))?;
    }
    pace.stop.store(true, Ordering::Relaxed);
    while let Some(ended) = senders.join_next().await {
        ended.context("a sender panicked")??;
    }
    let left = pace.ledger.outstanding();
    let deadline = Instant::now() + LEFT_WITHIN;
    while pace.ledger.outstanding() > 0 && Instant::now() < deadline {
        fail_early(&mut receivers)?;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    receivers.shutdown().await;
    let mut answer =
        answer(measured, pace.ledger.final_checks(), ("end_to_end", Spread::from(&all)));
    answer.figures.insert("backlog_at_the_end".into(), left as f64);
    answer.figures.insert("late_starts".into(), pace.late.load(Ordering::Relaxed) as f64);
    Ok(answer)
}

async fn callers<T: Target>(target: &T, count: usize) -> Result<Vec<T::Caller>> {
    let mut callers = Vec::with_capacity(count);
    for _ in 0..count {
        callers.push(target.caller("paced").await?);
    }
    Ok(callers)
}

/// Reports a task that has ended with an error.
fn fail_early(tasks: &mut JoinSet<Result<()>>) -> Result<()> {
    match tasks.try_join_next() {
        Some(ended) => ended.context("a caller panicked")?,
        None => Ok(()),
    }
}

/// A start so much after its due time counts as late.
const LATE_NS: u64 = 5_000_000;

async fn send<C: Caller>(mut caller: C, pace: Arc<Pace>) -> Result<()> {
    let mut bodies = Vec::new();
    while !pace.stop.load(Ordering::Relaxed) {
        let index = pace.next.fetch_add(1, Ordering::Relaxed);
        let due_ns = pace.start_ns + ((index * pace.batch) as f64 / pace.rate * 1e9) as u64;
        let now_ns = monotonic_ns();
        if due_ns > now_ns {
            tokio::time::sleep(Duration::from_nanos(due_ns - now_ns)).await;
        } else if now_ns > due_ns + LATE_NS {
            pace.late.fetch_add(1, Ordering::Relaxed);
        }
        let first = pace.ledger.take(pace.batch)?;
        bodies.clear();
        let numbers = first..first + pace.batch;
        bodies.extend(numbers.map(|number| body::write(Content { number, due_ns })));
        caller.send(&bodies).await?;
        pace.window().sent += pace.batch;
    }
    Ok(())
}

async fn receive<C: Caller>(mut caller: C, pace: Arc<Pace>) -> Result<()> {
    for nth in 1.. {
        let fails = pace.fails && nth % FAILS_ONE_IN == 0;
        let mut came = Vec::new();
        let mut note = |body: &[u8]| {
            let content = body::read(body)?;
            if fails {
                return Ok(());
            }
            came.push(monotonic_ns().saturating_sub(content.due_ns));
            pace.ledger.note(content.number)
        };
        let up_to = usize::try_from(pace.batch).unwrap_or(1);
        caller.receive(up_to, Duration::from_secs(1), &mut note).await?;
        if fails {
            caller.give_back(AGAIN_AFTER).await?;
        } else {
            caller.ack().await?;
        }
        let mut window = pace.window();
        window.received += came.len() as u64;
        came.into_iter().for_each(|ns| window.latencies.add(ns));
    }
    Ok(())
}
