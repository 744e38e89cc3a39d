//! A worker that holds jobs is killed: its connection ends, and they are back at once.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::badday::day::{About, Day, SINGLE, TUBES};
use crate::badday::stage::Stage;
use crate::badday::worker::{self, Worker};
use crate::run::condition::Condition;

/// See the file's head.
#[derive(Default)]
pub struct KilledWorker {
    worker: Option<Worker>,
    back_s: f64,
    again: usize,
}

/// Longer than any run: only the end of the connection brings them back.
const TIME_TO_RUN_S: u32 = 3600;
/// All held jobs are deleted by another worker, one at a time, within so many seconds.
const BACK_S_MAX: f64 = 10.0;
/// For a server that hands them over later than asked, or never.
const PATIENCE: Duration = Duration::from_secs(60);

fn jobs(stage: &Stage<'_>) -> usize {
    if stage.smoke { 50 } else { 2000 }
}

impl Day for KilledWorker {
    const ABOUT: About = About {
        name: "killed-worker",
        what: "a worker that holds jobs is killed (SIGKILL)",
        contenders: TUBES,
        stall_ms_max: 250.0,
        recovery_s_max: 2.0,
        load: SINGLE,
    };

    async fn prepare(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        worker::put(stage, jobs(stage), TIME_TO_RUN_S).await?;
        self.worker = Some(Worker::start(stage, jobs(stage)).await?);
        Ok(())
    }

    async fn strike(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let worker = self.worker.take().context("no worker was started")?;
        // Dropping a process group kills it.
        tokio::task::spawn_blocking(|| drop(worker)).await?;
        let (back, again) = worker::take_over(stage, jobs(stage), PATIENCE).await?;
        (self.back_s, self.again) = (back.as_secs_f64(), again);
        Ok(())
    }

    async fn check(&mut self, _: &mut Stage<'_>) -> Result<Vec<Condition>> {
        Ok(vec![
            Condition::at_most("all held jobs by another worker", "s", self.back_s, BACK_S_MAX),
            Condition::at_most("held jobs that came twice", "jobs", self.again as f64, 0.0),
        ])
    }
}
