//! What takes jobs: awa's queue storage.

use anyhow::{Context, Result, ensure};
use awa::{InsertOpts, InsertParams, JobArgs, QueueStorage, QueueStorageConfig};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

use super::environment::{Environment, PRIORITY_DEFAULT};
use super::system::{Depths, Intake};
use super::telemetry::{Descriptor, time_text, wall_us};
use crate::peer;

/// Connections: as many as the adapter of awa's author takes for so many workers, and no more than
/// two of 400 leave to others.
const CONNECTIONS_EACH: u32 = 4;
const CONNECTIONS_BESIDE: u32 = 48;
const CONNECTIONS: std::ops::RangeInclusive<u32> = 80..=180;
/// The priorities that awa knows, and that of a job without one.
const PRIORITIES: std::ops::RangeInclusive<u32> = 1..=4;
const PRIORITY: i16 = 2;

/// A job of the benchmark.
#[derive(Debug, Serialize, Deserialize, JobArgs)]
pub struct BenchJob {
    /// Its body, which says what it is.
    pub body: String,
}

/// awa's queues.
pub struct Queue {
    /// Its connections.
    pub pool: PgPool,
    /// The names of its queues.
    pub names: Vec<String>,
    storage: QueueStorage,
    attempts_max: i16,
}

impl Queue {
    /// Connects and migrates.
    pub async fn open(environment: &Environment) -> Result<Queue> {
        let workers = u32::try_from(environment.workers)?;
        let connections = CONNECTIONS_EACH.saturating_mul(workers) + CONNECTIONS_BESIDE;
        let connections = connections.clamp(*CONNECTIONS.start(), *CONNECTIONS.end());
        let pool = PgPoolOptions::new().max_connections(connections);
        let pool = pool.connect(&environment.database_url).await?;
        awa::migrations::run(&pool).await?;
        let names = match environment.queues {
            1 => vec!["bench".to_owned()],
            queues => (0..queues).map(|number| format!("bench-{number}")).collect(),
        };
        let storage = QueueStorage::new(QueueStorageConfig::default())?;
        let attempts_max = i16::try_from(environment.attempts_max).unwrap_or(i16::MAX);
        Ok(Queue { pool, names, storage, attempts_max })
    }

    /// The first line of the adapter: what is in the database.
    pub async fn descriptor(&self, environment: &Environment) -> Result<Descriptor> {
        let tables = include_str!("../../../../queries/adapter_awa_tables.sql");
        let event_tables = sqlx::query_scalar(tables).fetch_all(&self.pool).await?;
        let db_name = sqlx::query_scalar("SELECT current_database()::text");
        Ok(Descriptor {
            kind: "descriptor",
            system: super::SYSTEM,
            instance_id: environment.instance,
            event_tables,
            event_indexes: Vec::new(),
            extensions: Vec::new(),
            version: peer::VERSION,
            schema_version: String::new(),
            db_name: db_name.fetch_one(&self.pool).await?,
            started_at: time_text(wall_us() / 1000),
        })
    }
}

impl Intake for Queue {
    async fn send(&self, queue: usize, jobs: &[(u32, Bytes)]) -> Result<()> {
        let name = self.names.get(queue).context("a queue that was not made")?;
        let params = |(priority, body): &(u32, Bytes)| {
            let priority = match *priority {
                PRIORITY_DEFAULT => PRIORITY,
                other => i16::try_from(other.clamp(*PRIORITIES.start(), *PRIORITIES.end()))?,
            };
            let opts = InsertOpts {
                queue: name.clone(),
                priority,
                max_attempts: self.attempts_max,
                ..InsertOpts::default()
            };
            let args = json!({ "body": std::str::from_utf8(body)? });
            anyhow::Ok(InsertParams { kind: BenchJob::kind().to_owned(), args, opts })
        };
        let params = jobs.iter().map(params).collect::<Result<Vec<_>>>()?;
        let taken = self.storage.enqueue_params_copy(&self.pool, &params).await?;
        ensure!(taken == jobs.len(), "{taken} of {} jobs were taken", jobs.len());
        Ok(())
    }

    async fn depths(&self) -> Result<Depths> {
        let mut depths = Depths::default();
        for name in &self.names {
            let counts = self.storage.queue_counts_fast(&self.pool, name).await?;
            depths.ready += u64::try_from(counts.available)?;
            depths.running += u64::try_from(counts.running)?;
            let deferred = include_str!("../../../../queries/adapter_awa_deferred.sql");
            let deferred = sqlx::query_scalar::<_, i64>(deferred).bind(name);
            depths.retryable += u64::try_from(deferred.fetch_one(&self.pool).await?)?;
        }
        Ok(depths)
    }

    async fn stop(&self) {}
}
