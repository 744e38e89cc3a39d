//! A fresh database for each measurement inside PostgreSQL, and the meter of what a measurement
//! cost.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio_postgres::Client;

use super::cluster::Cluster;
use super::meter::{Meter, Tables, position};
use super::others;
use crate::driver::process;
use crate::peers::{Postgres, Prepared};
use crate::targets::postgres::connect;
use crate::workloads::Settings;

/// Longer than any duty is put off that comes from having made queues: autovacuum looks once a
/// minute, and tables of ours that were written are left after a minute.
const STILL: Duration = Duration::from_secs(70);
const STILL_WITHIN: Duration = Duration::from_secs(210);
/// Many times longer than a statement of ours keeps its snapshot.
const SNAPSHOTS_WITHIN: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// A PostgreSQL that takes databases, with a connection to none of them.
pub struct Databases {
    cluster: Cluster,
    admin: Client,
    /// Databases that are copied, by how many idle queues are in them.
    crowded: RefCell<BTreeMap<usize, String>>,
}

impl Databases {
    /// In the PostgreSQL at this address, or in one that is started here.
    ///
    /// # Errors
    /// When it does not start, or refuses.
    pub async fn open(url: Option<&str>) -> Result<Databases> {
        let cluster = Cluster::open(url).await?;
        let admin = cluster.admin().await?;
        Ok(Databases { cluster, admin, crowded: RefCell::default() })
    }

    /// The settings of PostgreSQL that matter.
    ///
    /// # Errors
    /// When PostgreSQL fails.
    pub async fn settings(&self) -> Result<BTreeMap<String, String>> {
        let rows = self.admin.query(include_str!("../../queries/settings.sql"), &[]).await?;
        rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
    }

    /// Makes a database with so many idle queues; without any it is empty.
    ///
    /// # Errors
    /// When PostgreSQL fails.
    pub async fn create(&self, others: usize) -> Result<String> {
        let database = match others {
            0 => self.cluster.create_database(&self.admin).await?,
            others => {
                let crowded = self.crowded(others).await?;
                self.cluster.copy_database(&self.admin, &crowded).await?
            }
        };
        // Pages written for the first time after a checkpoint cost more WAL; this way all
        // contenders begin alike. It takes a right that a given PostgreSQL may not grant.
        let _ = self.admin.batch_execute("CHECKPOINT").await;
        Ok(database)
    }

    /// The database with so many queues, which is made when it is first asked for.
    async fn crowded(&self, others: usize) -> Result<String> {
        let there = self.crowded.borrow().get(&others).cloned();
        if let Some(there) = there {
            return Ok(there);
        }
        let database = self.cluster.create_database(&self.admin).await?;
        let made = async {
            others::make(&self.cluster.url(&database), others).await?;
            self.clean_up(&database, false).await
        };
        if let Err(error) = made.await {
            self.remove(&database).await?;
            return Err(error);
        }
        self.crowded.borrow_mut().insert(others, database.clone());
        Ok(database)
    }

    /// Removes the databases that are copied.
    ///
    /// # Errors
    /// When PostgreSQL fails.
    pub async fn close(self) -> Result<()> {
        for database in self.crowded.take().into_values() {
            self.remove(&database).await?;
        }
        Ok(())
    }

    /// The driver of the target that `settings` name, on the database that they name.
    ///
    /// # Errors
    /// When the SQL of the peer fails.
    pub async fn driver(&self, settings: &Settings, prepared: &Prepared) -> Result<Command> {
        let Some(url) = &settings.postgres else { return process::own(settings) };
        let name = settings.target.name();
        prepared.set_up(url).await.with_context(|| format!("absent: {name}"))?;
        prepared.process(url).map_or_else(|| process::own(settings), Ok)
    }

    /// Removes a database.
    ///
    /// # Errors
    /// When PostgreSQL fails.
    pub async fn remove(&self, database: &str) -> Result<()> {
        self.cluster.drop_database(&self.admin, database).await
    }

    /// The PostgreSQL, for extensions.
    pub fn postgres(&self) -> Postgres<'_> {
        Postgres { admin: &self.admin, ours: self.cluster.is_own() }
    }

    /// The address of a database.
    pub fn url(&self, database: &str) -> String {
        self.cluster.url(database)
    }

    /// Processor time of PostgreSQL in seconds, where it was started here.
    pub fn cpu_seconds(&self) -> Option<f64> {
        self.cluster.cpu_seconds_without(&[])
    }

    /// Begins to measure what a database costs.
    ///
    /// # Errors
    /// When PostgreSQL fails.
    pub async fn meter(&self, database: &str) -> Result<Meter<'_>> {
        Meter::begin(&self.cluster, &self.admin, database).await
    }

    /// The tables of a database at this moment.
    ///
    /// # Errors
    /// When PostgreSQL fails.
    pub async fn tables(&self, database: &str) -> Result<Tables> {
        Tables::of(&self.cluster, database).await
    }

    /// Does now what new queues leave to do for autovacuum and the checkpointer: it is no cost of
    /// what is measured. With `still` it also waits until nothing has written WAL for longer than
    /// duties are put off, or until it is clear that something always does.
    ///
    /// # Errors
    /// When PostgreSQL fails.
    pub async fn clean_up(&self, database: &str, still: bool) -> Result<()> {
        let client = connect(&self.cluster.url(database)).await?;
        let deadline = Instant::now() + SNAPSHOTS_WITHIN;
        // A statement that waits for changes keeps its snapshot for half a second. VACUUM leaves
        // the dead rows that this snapshot may see. The next read of their page would remove them
        // during the measurement, and that writes WAL.
        let next = "SELECT pg_snapshot_xmax(pg_current_snapshot())::xid::text";
        let next: String = client.query_one(next, &[]).await?.try_get(0)?;
        let older = include_str!("../../queries/older_snapshots.sql");
        while client.query_one(older, &[&next]).await?.try_get(0)? && Instant::now() < deadline {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        for statement in ["ANALYZE", "VACUUM"] {
            client.batch_execute(statement).await.context("cleaning up behind new queues")?;
        }
        // As above, a right that may not be granted.
        let _ = self.admin.batch_execute("CHECKPOINT").await;
        let deadline = Instant::now() + STILL_WITHIN;
        let mut last = (position(&self.admin).await?, Instant::now());
        while still && last.1.elapsed() < STILL && Instant::now() < deadline {
            tokio::time::sleep(LOOK_EVERY).await;
            let now = position(&self.admin).await?;
            if now != last.0 {
                last = (now, Instant::now());
            }
        }
        Ok(())
    }
}
