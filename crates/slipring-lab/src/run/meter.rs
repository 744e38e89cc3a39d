//! What a measurement cost PostgreSQL: WAL, commits, dead rows, size, and what its backends
//! waited for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use tokio::task::AbortHandle;
use tokio_postgres::Client;

use super::cluster::Cluster;
use crate::targets::postgres::connect;

const SAMPLE_EVERY: Duration = Duration::from_secs(1);
/// The statistics of a backend that has just ended are there within this.
const SETTLE: Duration = Duration::from_millis(200);

/// What the tables of one database look like at a moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tables {
    /// Dead rows by table, tables without any left out.
    pub dead: BTreeMap<String, i64>,
    /// Rows ever updated or deleted: each has been a dead row, no matter what cleaned it up.
    pub changed: i64,
    /// Dead rows of the catalogue, where making and truncating tables leaves some.
    pub dead_in_catalogue: i64,
    /// Size of all tables of users with their indexes.
    pub bytes: i64,
}

impl Tables {
    /// Reads them from a database, without what this connection remembers.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn of(cluster: &Cluster, database: &str) -> Result<Tables> {
        let client = connect(&cluster.url(database)).await?;
        let mut tables = Tables::default();
        for row in client.query(include_str!("../../queries/tables.sql"), &[]).await? {
            let (dead, bytes): (i64, i64) = (row.try_get(1)?, row.try_get(3)?);
            if row.try_get(4)? {
                tables.dead_in_catalogue += dead;
                continue;
            }
            tables.changed += row.try_get::<_, i64>(2)?;
            tables.bytes += bytes;
            if dead > 0 {
                tables.dead.insert(row.try_get(0)?, dead);
            }
        }
        Ok(tables)
    }

    /// Dead rows of all tables of users.
    pub fn dead_rows(&self) -> i64 {
        self.dead.values().sum()
    }
}

/// What one measurement cost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Bytes of WAL, from the end of the set-up on.
    pub wal_bytes: f64,
    /// Committed transactions, from the end of the set-up on.
    pub commits: f64,
    /// Processor time of PostgreSQL in seconds, where it is ours, without that of the meter's own
    /// sessions.
    pub cpu_seconds: Option<f64>,
    /// The tables in the end.
    pub tables: Tables,
    /// How many backends were seen doing what, sampled once a second; `CPU` is not waiting.
    pub waits: BTreeMap<String, i64>,
}

/// Measures one database. Its connection is to another one, so that it counts nothing of its own.
pub struct Meter<'a> {
    cluster: &'a Cluster,
    admin: &'a Client,
    database: String,
    wal: String,
    commits: i64,
    /// The processes of its sessions.
    sessions: [u32; 2],
    cpu: Option<f64>,
    waits: Arc<Mutex<BTreeMap<String, i64>>>,
    sampler: AbortHandle,
}

impl<'a> Meter<'a> {
    /// Begins.
    ///
    /// # Errors
    /// When PostgreSQL fails.
    pub async fn begin(
        cluster: &'a Cluster,
        admin: &'a Client,
        database: &str,
    ) -> Result<Meter<'a>> {
        let waits = Arc::new(Mutex::new(BTreeMap::new()));
        let sampler = cluster.admin().await?;
        let sessions = [process(admin).await?, process(&sampler).await?];
        let sampling = sample(sampler, database.to_owned(), Arc::clone(&waits));
        Ok(Meter {
            cluster,
            admin,
            database: database.to_owned(),
            wal: position(admin).await?,
            commits: commits(admin, database).await?,
            sessions,
            cpu: cluster.cpu_seconds_without(&sessions),
            waits,
            sampler: tokio::spawn(sampling).abort_handle(),
        })
    }

    /// WAL and processor time until now; the rest is for the end.
    ///
    /// # Errors
    /// When PostgreSQL fails.
    pub async fn pause(&self) -> Result<Cost> {
        let distance = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), $1::text::pg_lsn)::float8";
        let wal_bytes = self.admin.query_one(distance, &[&self.wal]).await?.try_get(0)?;
        let now = self.cluster.cpu_seconds_without(&self.sessions);
        let cpu = now.zip(self.cpu).map(|(now, then)| now - then);
        Ok(Cost { wal_bytes, cpu_seconds: cpu, ..Cost::default() })
    }

    /// Ends: call it when the load's connections are closed, for only then have its backends
    /// said all they know. `paused` is what [`Meter::pause`] told before they closed.
    ///
    /// # Errors
    /// When PostgreSQL fails.
    pub async fn end(self, paused: Cost) -> Result<Cost> {
        tokio::time::sleep(SETTLE).await;
        let commits = (commits(self.admin, &self.database).await? - self.commits) as f64;
        let tables = Tables::of(self.cluster, &self.database).await?;
        let waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(Cost { commits, tables, waits, ..paused })
    }
}

impl Drop for Meter<'_> {
    fn drop(&mut self) {
        self.sampler.abort();
    }
}

/// Where the WAL ends.
///
/// # Errors
/// When PostgreSQL fails.
pub async fn position(admin: &Client) -> Result<String> {
    Ok(admin.query_one("SELECT pg_current_wal_lsn()::text", &[]).await?.try_get(0)?)
}

/// The process that serves a session.
async fn process(session: &Client) -> Result<u32> {
    let pid: i32 = session.query_one("SELECT pg_backend_pid()", &[]).await?.try_get(0)?;
    Ok(pid.unsigned_abs())
}

async fn commits(admin: &Client, database: &str) -> Result<i64> {
    let statement = include_str!("../../queries/transactions.sql");
    Ok(admin.query_one(statement, &[&database]).await?.try_get(0)?)
}

/// Looks once a second, until it is aborted or its connection breaks.
async fn sample(client: Client, database: String, waits: Arc<Mutex<BTreeMap<String, i64>>>) {
    loop {
        let statement = include_str!("../../queries/waits.sql");
        let Ok(rows) = client.query(statement, &[&database]).await else { return };
        for row in rows {
            let (name, count): (String, i64) = (row.get(0), row.get(1));
            let mut waits = waits.lock().unwrap_or_else(PoisonError::into_inner);
            *waits.entry(name).or_default() += count;
        }
        tokio::time::sleep(SAMPLE_EVERY).await;
    }
}
