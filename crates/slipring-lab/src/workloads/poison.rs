//! Messages that always fail, given back at once, among good ones.
//!
//! ```text
//!   fill:   ▒ poisons, then a backlog of good ones
//!   cycle:  caller ──send─▶ │▒▒▒▒▒▒▒▒▒▒│ ─receive─▶ the same caller ── good: ack
//!                                ▲                                 └─ poison: at once ─┐
//!                                └─────────────────────────────────────────────────────┘
//! ```
//!
//! The backlog keeps good messages ready all the time, so what a poison takes is taken from them.
//! The rate is that of the good ones. In the end everything is received and acked, poisons too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use tokio::task::JoinSet;

use super::closed_loop::{self, Load, PATIENCE, Step, Until};
use super::{Answer, Settings};
use crate::body;
use crate::ledger::{Ledger, MESSAGES_MAX};
use crate::targets::{Caller, Target};

const QUEUE: &str = "poison";

/// What callers and clock share.
#[derive(Default)]
struct Meter {
    stop: AtomicBool,
    good: AtomicU64,
    failures: AtomicU64,
}

/// Runs it; see the file's head for the shape.
pub async fn run<T: Target>(settings: &Settings, target: &T) -> Result<Answer> {
    let ledger = Arc::new(Ledger::new(0, MESSAGES_MAX));
    let poisons = settings.poisons as u64;
    let fill = |sent| Load {
        callers: 1,
        batch: settings.batch.max(100),
        step: Step::Send,
        until: Until::Sent(sent),
    };
    // The first numbers are those of the poisons.
    closed_loop::run(fill(poisons), target, QUEUE, &ledger).await?;
    closed_loop::run(fill(poisons + settings.messages), target, QUEUE, &ledger).await?;

    let meter = Arc::new(Meter::default());
    let mut callers = JoinSet::new();
    let mut ready = Vec::with_capacity(settings.callers);
    for _ in 0..settings.callers {
        ready.push(target.caller(QUEUE).await?);
    }
    for caller in ready {
        let (meter, ledger) = (Arc::clone(&meter), Arc::clone(&ledger));
        callers.spawn(call(caller, settings.batch, poisons, meter, ledger));
    }
    let timed = measure(settings, &meter);
    tokio::pin!(timed);
    let mut measured = None;
    loop {
        tokio::select! {
            found = &mut timed, if measured.is_none() => measured = Some(found),
            joined = callers.join_next() => match joined {
                Some(ended) => ended.context("a caller panicked")??,
                None => break,
            },
        }
    }
    let [good, failures, seconds] = measured.unwrap_or_default();
    closed_loop::drain(target, QUEUE, settings.batch.max(100), &ledger).await?;
    let checks = ledger.final_checks();
    if checks.displaced > 0 && poisons == 0 && settings.callers == 1 {
        bail!("one caller got good messages out of order: {checks:?}");
    }
    let figures = [
        ("poison_deliveries_per_s".to_owned(), failures / seconds.max(f64::MIN_POSITIVE)),
        ("poison_percent_of_deliveries".to_owned(), 100.0 * failures / (good + failures).max(1.0)),
    ];
    Ok(Answer { figures: figures.into(), ..Answer::new(good as u64, seconds, checks) })
}

/// Lets the warm-up and the measured time pass; answers good messages, failures and seconds of the
/// latter.
async fn measure(settings: &Settings, meter: &Meter) -> [f64; 3] {
    let now = || [&meter.good, &meter.failures].map(|count| count.load(Ordering::Relaxed));
    tokio::time::sleep(settings.warmup()).await;
    let (before, begun) = (now(), Instant::now());
    tokio::time::sleep(settings.measured()).await;
    let (after, seconds) = (now(), begun.elapsed().as_secs_f64());
    meter.stop.store(true, Ordering::Relaxed);
    let [good, failures] = [after[0] - before[0], after[1] - before[1]];
    [good as f64, failures as f64, seconds]
}

async fn call<C: Caller>(
    mut caller: C,
    batch: usize,
    poisons: u64,
    meter: Arc<Meter>,
    ledger: Arc<Ledger>,
) -> Result<()> {
    let mut bodies = Vec::with_capacity(batch);
    let mut failed = Vec::with_capacity(batch);
    while !meter.stop.load(Ordering::Relaxed) {
        closed_loop::fill(&mut bodies, batch, &ledger)?;
        caller.send(&bodies).await?;
        let (mut at, mut good) = (0, 0);
        failed.clear();
        let mut look = |body: &[u8]| {
            let number = body::read(body)?.number;
            if number < poisons {
                failed.push(at);
            } else {
                ledger.note(number)?;
                good += 1;
            }
            at += 1;
            Ok(())
        };
        if caller.receive(batch, PATIENCE, &mut look).await? == 0 {
            bail!("a receive got nothing from a queue that held messages");
        }
        caller.ack_but(&failed).await?;
        meter.good.fetch_add(good, Ordering::Relaxed);
        meter.failures.fetch_add(failed.len() as u64, Ordering::Relaxed);
    }
    Ok(())
}
