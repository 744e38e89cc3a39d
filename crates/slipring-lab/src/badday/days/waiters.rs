//! Very many receives wait, each on a connection of its own: the workload `waiters` of the row of
//! this name, beside the others.

use anyhow::Result;

use crate::badday::day::{About, Day, SINGLE, TUBES};
use crate::badday::stage::Stage;
use crate::run::condition::Condition;
use crate::workloads::{Answer, Settings, Work};

/// See the file's head.
#[derive(Default)]
pub struct Waiters(Answer);

/// A woken receive has its message within so many milliseconds, 95 of 100 times.
const WAKE_MS_MAX: f64 = 250.0;

impl Day for Waiters {
    const ABOUT: About = About {
        name: "waiters",
        what: "10,000 connections come, wait on 1,000 queues, and are woken one at a time",
        contenders: TUBES,
        stall_ms_max: 500.0,
        recovery_s_max: 3.0,
        load: SINGLE,
    };

    async fn strike(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let (callers, queues) = if stage.smoke { (200, 20) } else { (10_000, 1000) };
        let settings = stage.work(Work::Waiters);
        let settings = Settings { callers, queues, rate: 200.0, ..settings };
        self.0 = stage.participate(&settings).await?;
        Ok(())
    }

    async fn check(&mut self, _: &mut Stage<'_>) -> Result<Vec<Condition>> {
        let wake = self.0.latencies.get("wake").map(|wake| wake.percentiles().p95_us / 1e3);
        let wake = wake.unwrap_or(f64::NAN);
        Ok(vec![Condition::at_most("P95 send to wake", "ms", wake, WAKE_MS_MAX)])
    }
}
