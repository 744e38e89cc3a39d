//! A consumer takes ten messages a second of a thousand that are sent to its queue.

use std::time::Duration;

use anyhow::{Context, Result};
use tokio::task::JoinSet;

use crate::badday::day::{About, Day, SINGLE, TUBES};
use crate::badday::stage::Stage;
use crate::body::{self, Content};
use crate::run::condition::Condition;
use crate::targets::{Caller, Target};

/// See the file's head.
#[derive(Default)]
pub struct SlowConsumer {
    /// Dropping it ends both.
    tasks: JoinSet<Result<()>>,
    left: u64,
}

const TUBE: &str = "slow";
/// Messages of a send, one for each that is consumed.
const BATCH: u64 = 100;
const EVERY: Duration = Duration::from_millis(100);

impl Day for SlowConsumer {
    const ABOUT: About = About {
        name: "slow-consumer",
        what: "a consumer takes 10 messages a second of 1,000 that are sent to its queue",
        contenders: TUBES,
        stall_ms_max: 250.0,
        recovery_s_max: 2.0,
        load: SINGLE,
    };

    async fn strike(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let mut sender = stage.tubes().caller(TUBE).await?;
        let mut consumer = stage.tubes().caller(TUBE).await?;
        self.tasks.spawn(async move {
            for first in (0u64..).step_by(BATCH as usize) {
                let content = |number| body::write(Content { number, due_ns: 0 });
                let bodies: Vec<_> = (first..first + BATCH).map(content).collect();
                sender.send(&bodies).await?;
                tokio::time::sleep(EVERY).await;
            }
            Ok(())
        });
        self.tasks.spawn(async move {
            loop {
                let mut look = |body: &[u8]| body::read(body).map(drop);
                consumer.receive(1, EVERY, &mut look).await?;
                tokio::time::sleep(EVERY).await;
                consumer.ack().await?;
            }
        });
        Ok(())
    }

    async fn relent(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        if let Some(ended) = self.tasks.try_join_next() {
            ended.context("a task panicked")??;
        }
        self.tasks.abort_all();
        let mut looker = stage.tubes().caller(TUBE).await?;
        self.left = looker.statistic("current-jobs-ready").await?;
        Ok(())
    }

    async fn check(&mut self, _: &mut Stage<'_>) -> Result<Vec<Condition>> {
        let text = "backlog of the slow consumer".to_owned();
        Ok(vec![Condition::at_least(text, "messages", self.left as f64, BATCH as f64 / 2.0)])
    }
}
