//! A million delays end within one second: those of the workload `storm`, by the wire.

use std::time::Duration;

use anyhow::{Result, bail};

use crate::badday::day::{About, Day, SINGLE, TUBES_LATE};
use crate::badday::stage::Stage;
use crate::ledger::{Ledger, MESSAGES_MAX};
use crate::run::condition::Condition;
use crate::targets::Target;
use crate::time::monotonic_ns;
use crate::workloads::{send_storm, wait_until};

/// See the file's head.
#[derive(Default)]
pub struct DelaysAtOnce {
    due_ns: u64,
    ready: u64,
}

const TUBE: &str = "storm";
/// They are sent at this rate at least; their moment is chosen accordingly.
const SENT_PER_SECOND: u64 = 10_000;
const SECOND_NS: u64 = 1_000_000_000;
/// All are ready within so long after their moment.
const READY_WITHIN: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// A delay by the wire has whole seconds: the last ends so much later.
const WHOLE_SECOND_NS: u64 = SECOND_NS;

fn messages(stage: &Stage<'_>) -> u64 {
    if stage.smoke { 5000 } else { 1_000_000 }
}

impl Day for DelaysAtOnce {
    const ABOUT: About = About {
        name: "delays-at-once",
        what: "a million delays end within one second in one queue",
        contenders: TUBES_LATE,
        stall_ms_max: 250.0,
        recovery_s_max: 2.0,
        load: SINGLE,
    };

    async fn prepare(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let count = messages(stage);
        let calm_ns = u64::try_from(stage.lengths.around.as_nanos()).unwrap_or(u64::MAX);
        let sending_ns = SECOND_NS + count * SECOND_NS / SENT_PER_SECOND;
        self.due_ns = monotonic_ns() + sending_ns + calm_ns;
        let ledger = Ledger::new(0, MESSAGES_MAX / 16);
        let mut sender = stage.tubes().caller(TUBE).await?;
        send_storm(&mut sender, &ledger, count, 500, self.due_ns).await?;
        let begin_ns = self.due_ns.saturating_sub(calm_ns);
        if monotonic_ns() > begin_ns {
            bail!("{count} delays were not sent in time; their moment came before the fault");
        }
        wait_until(begin_ns).await;
        Ok(())
    }

    async fn strike(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        wait_until(self.due_ns + WHOLE_SECOND_NS).await;
        let mut looker = stage.tubes().caller(TUBE).await?;
        let end_ns = monotonic_ns() + READY_WITHIN.as_nanos() as u64;
        loop {
            self.ready = looker.statistic("current-jobs-ready").await?;
            if self.ready >= messages(stage) || monotonic_ns() > end_ns {
                return Ok(());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    async fn check(&mut self, stage: &mut Stage<'_>) -> Result<Vec<Condition>> {
        let (ready, all) = (self.ready as f64, messages(stage) as f64);
        Ok(vec![Condition::at_least("ready in the end".to_owned(), "messages", ready, all)])
    }
}
