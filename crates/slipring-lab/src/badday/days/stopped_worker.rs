//! A worker that holds jobs is stopped for longer than their time to run, then goes on.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::badday::day::{About, Day, SINGLE, TUBES};
use crate::badday::stage::Stage;
use crate::badday::worker::{self, Worker};
use crate::run::condition::Condition;

/// See the file's head.
#[derive(Default)]
pub struct StoppedWorker {
    worker: Option<Worker>,
    back_s: f64,
    again: usize,
    stale: u64,
}

/// What a server may need beyond the time to run to hand all of it to another, in seconds.
const BEYOND_S: f64 = 2.0;
/// For a server that hands them over later than asked, or never.
const PATIENCE: Duration = Duration::from_secs(10);

fn jobs(stage: &Stage<'_>) -> (usize, u32) {
    if stage.smoke { (50, 2) } else { (1000, 5) }
}

impl Day for StoppedWorker {
    const ABOUT: About = About {
        name: "stopped-worker",
        what: "a worker that holds jobs is stopped (SIGSTOP) for longer than they may run",
        contenders: TUBES,
        stall_ms_max: 250.0,
        recovery_s_max: 2.0,
        load: SINGLE,
    };

    async fn prepare(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let (count, time_to_run) = jobs(stage);
        worker::put(stage, count, time_to_run).await
    }

    async fn strike(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let (count, time_to_run) = jobs(stage);
        let patience = Duration::from_secs(u64::from(time_to_run)) + PATIENCE;
        let worker = Worker::start(stage, count).await?;
        worker.pause()?;
        self.worker = Some(worker);
        let (back, again) = worker::take_over(stage, count, patience).await?;
        (self.back_s, self.again) = (back.as_secs_f64(), again);
        Ok(())
    }

    async fn relent(&mut self, _: &mut Stage<'_>) -> Result<()> {
        let worker = self.worker.take().context("no worker was started")?;
        worker.go_on()?;
        self.stale = tokio::task::spawn_blocking(|| worker.finish()).await??;
        Ok(())
    }

    async fn check(&mut self, stage: &mut Stage<'_>) -> Result<Vec<Condition>> {
        let limit = f64::from(jobs(stage).1) + BEYOND_S;
        Ok(vec![
            Condition::at_most("all held jobs with another worker", "s", self.back_s, limit),
            Condition::at_most("held jobs that came twice", "jobs", self.again as f64, 0.0),
            Condition::at_most("stale deletes that had effect", "jobs", self.stale as f64, 0.0),
        ])
    }
}
