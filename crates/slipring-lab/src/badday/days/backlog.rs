//! A queue is filled with ten million messages and cycled: the workload `backlog` of the row of
//! this name, beside the others.

use anyhow::Result;

use crate::badday::day::{About, Day, SINGLE};
use crate::badday::stage::Stage;
use crate::run::condition::Condition;
use crate::targets::Kind;
use crate::workloads::{Settings, Work};

/// See the file's head.
#[derive(Default)]
pub struct Backlog;

/// As the row asks.
const RESIDENT_MB_MAX: f64 = 300.0;

impl Day for Backlog {
    const ABOUT: About = About {
        name: "backlog",
        what: "a queue is filled with 10 million messages as fast as it takes them, then cycled",
        contenders: &[Kind::SlipringBeanstalkd],
        stall_ms_max: 500.0,
        recovery_s_max: 3.0,
        load: SINGLE,
    };

    async fn strike(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let messages = if stage.smoke { 10_000 } else { 10_000_000 };
        let settings = Settings { messages, callers: 4, batch: 1000, ..stage.work(Work::Backlog) };
        stage.participate(&settings).await?;
        Ok(())
    }

    async fn check(&mut self, stage: &mut Stage<'_>) -> Result<Vec<Condition>> {
        let peak = stage.resident_peak_mb()?;
        Ok(vec![Condition::at_most("resident peak", "MB", peak, RESIDENT_MB_MAX)])
    }
}
