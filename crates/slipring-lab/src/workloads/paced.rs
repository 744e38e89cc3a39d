//! A fixed rate in windows, for what changes over minutes: whether a queue keeps up, and how
//! late its messages are.
//!
//! ```text
//!   due times │ │ │ ─▶ senders ─batch─▶ │ queue │ ─batch─▶ receivers: now − due time
//!   windows   └──1──┴──2──┴──3──┘ …                        (a line each, then what is left)
//! ```

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::task::JoinSet;

use super::{Answer, Settings, Tell, Work};
use crate::body::{self, Content};
use crate::driver::protocol::{Spread, Window};
use crate::ledger::{Ledger, MESSAGES_MAX};
use crate::stats::Latencies;
use crate::targets::{Caller, Target};
use crate::time::monotonic_ns;

/// A batch that failed comes again after this, and one that is sent with a delay has this one.
const AFTER: Duration = Duration::from_millis(100);

/// How long what is left in the end may take to come.
const LEFT_WITHIN: Duration = Duration::from_secs(60);

/// Which batches do not go the happy path.
#[derive(Debug, Clone, Copy, Default)]
struct Setbacks {
    /// Of so many that are received one fails.
    fails_one_in: Option<u64>,
    /// Of so many that are sent one has a delay.
    delayed_one_in: Option<u64>,
    /// A message that failed is due when it may come again; otherwise when it first was.
    due_again: bool,
}

impl Setbacks {
    fn of(work: Work) -> Setbacks {
        match work {
            Work::Failing => Setbacks { fails_one_in: Some(10), ..Setbacks::default() },
            Work::Deferred => {
                Setbacks { fails_one_in: Some(3), delayed_one_in: Some(4), due_again: true }
            }
            _ => Setbacks::default(),
        }
    }
}

/// Whether the n-th is one of those that are one in so many.
fn is_one_in(nth: u64, one_in: Option<u64>) -> bool {
    one_in.is_some_and(|one_in| nth.is_multiple_of(one_in))
}

/// What senders and receivers share.
struct Pace {
    start_ns: u64,
    batch: u64,
    rate: f64,
    setbacks: Setbacks,
    /// When messages that failed are due again, by their number.
    again_ns: Mutex<HashMap<u64, u64>>,
    next: AtomicU64,
    stop: AtomicBool,
    late: AtomicU64,
    ledger: Ledger,
    window: Mutex<Seen>,
}

/// What came within a window.
struct Seen {
    begun_ns: u64,
    sent: u64,
    received: u64,
    latencies: Latencies,
    sends: Gaps,
    receives: Gaps,
}

/// The time between the ends of operations of one kind.
#[derive(Debug, Clone, Copy)]
pub struct Gaps {
    last_ns: u64,
    max_ns: u64,
}

impl Gaps {
    /// None yet; the first begins at this moment.
    pub fn from(now_ns: u64) -> Gaps {
        Gaps { last_ns: now_ns, max_ns: 0 }
    }

    /// An operation has ended.
    pub fn completed(&mut self, now_ns: u64) {
        self.max_ns = self.max_ns.max(now_ns.saturating_sub(self.last_ns));
        self.last_ns = now_ns;
    }

    /// Goes on in the next window: a gap that began in this one is counted whole there.
    #[must_use]
    pub fn next(self) -> Gaps {
        Gaps { max_ns: 0, ..self }
    }

    /// The longest, the one that has not ended included.
    pub fn max_ns(&self, now_ns: u64) -> u64 {
        self.max_ns.max(now_ns.saturating_sub(self.last_ns))
    }
}

impl Seen {
    fn new(now_ns: u64, sends: Gaps, receives: Gaps) -> Result<Seen> {
        let latencies = Latencies::new()?;
        Ok(Seen { begun_ns: now_ns, sent: 0, received: 0, latencies, sends, receives })
    }

    /// What is told of it at its end.
    fn window(&self, now_ns: u64) -> Window {
        let stall_max_ns = self.sends.max_ns(now_ns).max(self.receives.max_ns(now_ns));
        Window {
            seconds: now_ns.saturating_sub(self.begun_ns) as f64 / 1e9,
            sent: self.sent,
            received: self.received,
            end_to_end: Spread::from(&self.latencies),
            stall_max_ms: Some(stall_max_ns as f64 / 1e6),
        }
    }
}

impl Pace {
    fn window(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn again_ns(&self) -> std::sync::MutexGuard<'_, HashMap<u64, u64>> {
        self.again_ns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins the next window; answers what came in this one.
    fn next_window(&self) -> Result<(Window, Latencies)> {
        let mut seen = self.window();
        let now_ns = monotonic_ns();
        let next = Seen::new(now_ns, seen.sends.next(), seen.receives.next())?;
        let seen = std::mem::replace(&mut *seen, next);
        Ok((seen.window(now_ns), seen.latencies))
    }
}

/// Runs it; see the file's head for the shape. `callers` is the number of senders and, where the
/// target allows as many, of receivers.
pub async fn run<T: Target>(settings: &Settings, target: &T, tell: Tell<'_>) -> Result<Answer> {
    // All are there before the first of them works: making one may lock the queue's tables.
    let sending = callers(target, settings.callers).await?;
    let receiving = callers(target, target.receivers(settings.callers)).await?;
    let now_ns = monotonic_ns();
    let gaps = Gaps::from(now_ns);
    let pace = Arc::new(Pace {
        start_ns: now_ns + 50_000_000,
        batch: settings.batch.max(1) as u64,
        rate: settings.rate,
        setbacks: Setbacks::of(settings.work),
        again_ns: Mutex::new(HashMap::new()),
        next: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        late: AtomicU64::new(0),
        ledger: Ledger::new(0, MESSAGES_MAX),
        window: Mutex::new(Seen::new(now_ns, gaps, gaps)?),
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
    for number in 0..=settings.windows {
        // The first is the warm-up.
        let length = if number == 0 { settings.warmup() } else { settings.measured() };
        tokio::time::sleep(length).await;
        fail_early(&mut senders)?;
        fail_early(&mut receivers)?;
        let (window, latencies) = pace.next_window()?;
        if number == 0 {
            continue;
        }
        all.merge(&latencies)?;
        measured = (measured.0 + window.received, measured.1 + window.seconds);
        tell(window)?;
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
    let mut answer = Answer::new(measured.0, measured.1, pace.ledger.final_checks());
    answer.latency("end_to_end", &all);
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
        let delay = is_one_in(index, pace.setbacks.delayed_one_in).then_some(AFTER);
        let due_ns = due_ns + delay.map_or(0, |delay| delay.as_nanos() as u64);
        let first = pace.ledger.take(pace.batch)?;
        bodies.clear();
        let numbers = first..first + pace.batch;
        bodies.extend(numbers.map(|number| body::write(Content { number, due_ns })));
        match delay {
            None => caller.send(&bodies).await?,
            Some(delay) => caller.send_delayed(&bodies, delay).await?,
        }
        let mut window = pace.window();
        window.sent += pace.batch;
        window.sends.completed(monotonic_ns());
    }
    Ok(())
}

async fn receive<C: Caller>(mut caller: C, pace: Arc<Pace>) -> Result<()> {
    for nth in 1.. {
        let fails = is_one_in(nth, pace.setbacks.fails_one_in);
        let (mut came, mut failed) = (Vec::new(), Vec::new());
        let mut note = |body: &[u8]| {
            let content = body::read(body)?;
            if fails {
                failed.push(content.number);
                return Ok(());
            }
            let due_ns = pace.again_ns().remove(&content.number).unwrap_or(content.due_ns);
            came.push(pace.ledger.late_ns(due_ns, monotonic_ns()));
            pace.ledger.note(content.number)
        };
        let up_to = usize::try_from(pace.batch).unwrap_or(1);
        caller.receive(up_to, Duration::from_secs(1), &mut note).await?;
        if fails {
            if pace.setbacks.due_again {
                let due_ns = monotonic_ns() + AFTER.as_nanos() as u64;
                pace.again_ns().extend(failed.into_iter().map(|number| (number, due_ns)));
            }
            caller.give_back(AFTER).await?;
        } else {
            caller.ack().await?;
        }
        let mut window = pace.window();
        if !came.is_empty() {
            window.receives.completed(monotonic_ns());
        }
        window.received += came.len() as u64;
        came.into_iter().for_each(|ns| window.latencies.add(ns));
    }
    Ok(())
}
