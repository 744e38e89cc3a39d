//! The consumers of a full queue were away, and all come at once: they connect, and receive until
//! it is empty.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::task::JoinSet;

use crate::badday::day::{About, Day, SINGLE, TUBES_LATE};
use crate::badday::stage::Stage;
use crate::body;
use crate::ledger::{Ledger, MESSAGES_MAX};
use crate::run::condition::Condition;
use crate::targets::{Caller, Target};
use crate::workloads::closed_loop::{self, Load, Step, Until};

/// See the file's head.
pub struct Herd {
    ledger: Arc<Ledger>,
}

impl Default for Herd {
    fn default() -> Herd {
        Herd { ledger: Arc::new(Ledger::new(0, MESSAGES_MAX / 16)) }
    }
}

const TUBE: &str = "herd";

impl Day for Herd {
    const ABOUT: About = About {
        name: "herd",
        what: "1,000 consumers that were away come at once to a queue of 100,000 messages",
        contenders: TUBES_LATE,
        stall_ms_max: 500.0,
        recovery_s_max: 3.0,
        load: SINGLE,
    };

    async fn prepare(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let until = Until::Sent(if stage.smoke { 1000 } else { 100_000 });
        let fill = Load { callers: 4, batch: 500, step: Step::Send, until };
        closed_loop::run(fill, &stage.tubes(), TUBE, &self.ledger).await?;
        Ok(())
    }

    async fn strike(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let mut consumers = JoinSet::new();
        for _ in 0..if stage.smoke { 50 } else { 1000 } {
            let (target, ledger) = (stage.tubes(), Arc::clone(&self.ledger));
            consumers.spawn(async move {
                let mut caller = target.caller(TUBE).await?;
                while ledger.outstanding() > 0 {
                    let mut note = |body: &[u8]| ledger.note(body::read(body)?.number);
                    caller.receive(1, Duration::ZERO, &mut note).await?;
                    caller.ack().await?;
                }
                Ok::<_, anyhow::Error>(())
            });
        }
        while let Some(ended) = consumers.join_next().await {
            ended.context("a consumer panicked")??;
        }
        Ok(())
    }

    async fn check(&mut self, _: &mut Stage<'_>) -> Result<Vec<Condition>> {
        let checks = self.ledger.final_checks();
        Ok(vec![
            Condition::at_most("its own lost", "messages", checks.missing as f64, 0.0),
            Condition::at_most("its own repeated", "messages", checks.duplicates as f64, 0.0),
        ])
    }
}
