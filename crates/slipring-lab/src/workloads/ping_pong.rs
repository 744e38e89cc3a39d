//! Latency without other load: one message goes to and fro.
//!
//! ```text
//!   left ──send─▶ │ ping │ ─receive─▶ right        × n pairs, each with two queues of its own
//!   left ◀receive─ │ pong │ ◀──send── right
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result};
use tokio::task::JoinSet;

use super::closed_loop::PATIENCE;
use super::{Answer, Settings};
use crate::body::{self, Content};
use crate::ledger::{Ledger, MESSAGES_MAX};
use crate::stats::Latencies;
use crate::targets::{Caller, Target};
use crate::time::monotonic_ns;

/// Runs it; see the file's head for the shape. The rate is round trips per second.
pub async fn run<T: Target>(settings: &Settings, target: &T) -> Result<Answer> {
    let ledger = Arc::new(Ledger::new(0, MESSAGES_MAX));
    let stop = Arc::new(AtomicBool::new(false));
    let (mut lefts, mut rights) = (JoinSet::new(), JoinSet::new());
    let begun = Instant::now();
    for pair in 0..settings.callers {
        let (ping, pong) = (format!("ping-{pair}"), format!("pong-{pair}"));
        let left = Player {
            sends: target.caller(&ping).await?,
            receives: target.caller(&pong).await?,
            ledger: Arc::clone(&ledger),
        };
        let right = Player {
            sends: target.caller(&pong).await?,
            receives: target.caller(&ping).await?,
            ledger: Arc::clone(&ledger),
        };
        lefts.spawn(left.serve(Arc::clone(&stop)));
        rights.spawn(right.answer());
    }
    tokio::time::sleep(settings.measured()).await;
    stop.store(true, Ordering::Relaxed);
    let seconds = begun.elapsed().as_secs_f64();
    let mut latencies = Latencies::new()?;
    while let Some(joined) = lefts.join_next().await {
        latencies.merge(&joined.context("a player panicked")??)?;
    }
    if let Some(ended) = rights.try_join_next() {
        ended.context("a player panicked")??;
    }
    // Every ball has come back: those on the right hold nothing, and wait for ever.
    rights.shutdown().await;
    let round_trips = latencies.percentiles().count;
    let mut found = Answer::new(round_trips, seconds, ledger.final_checks());
    found.latency("round_trip", &latencies);
    Ok(found)
}

struct Player<C> {
    sends: C,
    receives: C,
    ledger: Arc<Ledger>,
}

impl<C: Caller> Player<C> {
    async fn serve(mut self, stop: Arc<AtomicBool>) -> Result<Latencies> {
        let mut latencies = Latencies::new()?;
        while !stop.load(Ordering::Relaxed) {
            let begun = monotonic_ns();
            self.throw().await?;
            while !self.catch().await? {}
            latencies.add(monotonic_ns() - begun);
        }
        Ok(latencies)
    }

    async fn answer(mut self) -> Result<()> {
        loop {
            if self.catch().await? {
                self.throw().await?;
            }
        }
    }

    async fn throw(&mut self) -> Result<()> {
        let content = Content { number: self.ledger.take(1)?, due_ns: monotonic_ns() };
        self.sends.send(&[body::write(content)]).await
    }

    async fn catch(&mut self) -> Result<bool> {
        let ledger = &self.ledger;
        let mut note = |body: &[u8]| ledger.note(body::read(body)?.number);
        let caught = self.receives.receive(1, PATIENCE, &mut note).await? > 0;
        self.receives.ack().await?;
        Ok(caught)
    }
}
