//! awa as a system of the public benchmark, by its own workers. The load, the telemetry, the work
//! of a handler and the end are the files of the lab's own adapter, so that they are the same.
//!
//! The settings are those of the adapter that awa's author keeps in the benchmark: inserts by COPY,
//! polls of 50 ms beside its notifications, no snapshots for an administrator. The rest are the
//! crate's defaults. A lease of a day stands for claims without a deadline, awa's fast ones.
#![allow(dead_code)] // what the lab's adapter has for systems without workers of their own

#[path = "../../../../src/adapter/bench.rs"]
mod bench;
#[path = "../../../../src/adapter/environment.rs"]
mod environment;
#[path = "../../../../src/adapter/job.rs"]
mod job;
#[path = "../../../../src/adapter/ledger.rs"]
mod ledger;
#[path = "../../../../src/adapter/log.rs"]
mod log;
#[path = "../../../../src/adapter/pace.rs"]
mod pace;
#[path = "../../../../src/adapter/producer.rs"]
mod producer;
#[path = "../../../../src/adapter/samples.rs"]
mod samples;
#[path = "../../../../src/adapter/serve.rs"]
mod serve;
#[path = "../../../../src/adapter/system.rs"]
mod system;
mod queue;
#[path = "../../../../src/adapter/tally.rs"]
mod tally;
#[path = "../../../../src/adapter/telemetry.rs"]
mod telemetry;
#[path = "../../../../src/adapter/window.rs"]
mod window;
#[path = "../../../../src/adapter/work.rs"]
mod work;
mod workers;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;

use self::bench::Bench;
use self::environment::Environment;
use self::queue::Queue;

const SYSTEM: &str = "awa";
/// For the jobs that are worked on at the end.
const SHUTDOWN_MAX: Duration = Duration::from_secs(2);

/// Runs the adapter until SIGTERM.
///
/// # Errors
/// When a variable is wrong, the database is not there, or stdout is closed.
pub fn run() -> Result<()> {
    let environment = Environment::read(&|name| std::env::var(name).ok())?;
    serve::run(Bench::new(SYSTEM, environment)?, start)
}

async fn start(bench: Arc<Bench>) -> Result<()> {
    let opening = async || {
        let queue = Queue::open(&bench.environment).await?;
        let descriptor = queue.descriptor(&bench.environment).await?;
        Ok((queue, descriptor))
    };
    let is_away = |error: &anyhow::Error| error.downcast_ref::<sqlx::Error>().is_some();
    let Some((queue, descriptor)) = serve::open(&bench, is_away, opening).await? else {
        return Ok(());
    };
    let client = workers::client(&queue, &bench)?;
    client.start().await?;
    let ending = Arc::clone(&bench);
    let workers = async move {
        ending.stop.cancelled().await;
        client.shutdown(SHUTDOWN_MAX).await;
    };
    serve::serve(Arc::new(queue), bench, descriptor, workers).await
}
