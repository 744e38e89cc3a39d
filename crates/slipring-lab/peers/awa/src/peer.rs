//! awa on one database.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use awa::{
    Client, InsertOpts, InsertParams, JobArgs, JobResult, QueueConfig, QueueStorage,
    QueueStorageConfig,
};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

/// The version that `Cargo.toml` pins.
pub const VERSION: &str = "0.6.9";
/// How it is driven.
pub const HOW: &str = "enqueue_params_copy; 512 workers, claims of 512, no deadlines (receipts)";

const QUEUE: &str = "lab";
const WORKERS: u32 = 512;

/// A message of the lab.
#[derive(Debug, Clone, Serialize, Deserialize, JobArgs)]
pub struct Lab {
    /// Its number.
    pub n: u64,
    /// When it was due, in nanoseconds of the driver's clock.
    pub due: u64,
    /// Makes it about as long as the others' bodies.
    pub fill: String,
}

/// awa with its schema in place.
pub struct Peer {
    pool: PgPool,
    storage: QueueStorage,
}

impl Peer {
    /// Connects and migrates.
    pub async fn open(url: &str) -> Result<Peer> {
        let pool = PgPoolOptions::new().max_connections(40).connect(url).await?;
        awa::migrations::run(&pool).await?;
        let storage = QueueStorage::new(QueueStorageConfig::default())?;
        Ok(Peer { pool, storage })
    }

    /// Sends one call's worth of messages.
    pub async fn send(&self, messages: Vec<Lab>) -> Result<()> {
        let opts = InsertOpts { queue: QUEUE.into(), ..InsertOpts::default() };
        let job = |message: Lab| {
            let args = serde_json::to_value(message)?;
            anyhow::Ok(InsertParams { kind: Lab::kind().to_string(), args, opts: opts.clone() })
        };
        let jobs = messages.into_iter().map(job).collect::<Result<Vec<_>>>()?;
        let taken = self.storage.enqueue_params_copy(&self.pool, &jobs).await?;
        anyhow::ensure!(taken == jobs.len(), "{taken} of {} messages were taken", jobs.len());
        Ok(())
    }

    /// Starts workers that hand each message to `take`.
    pub async fn work(&self, take: Arc<dyn Fn(&Lab) + Send + Sync>) -> Result<Client> {
        let config = QueueConfig {
            max_workers: WORKERS,
            poll_interval: Duration::from_millis(20),
            deadline_duration: Duration::ZERO,
            ..QueueConfig::default()
        };
        let client = Client::builder(self.pool.clone())
            .queue(QUEUE, config)
            .register::<Lab, _, _>(move |message, _context| {
                take(&message);
                async { Ok(JobResult::Completed) }
            })
            .build()?;
        client.start().await?;
        Ok(client)
    }
}
