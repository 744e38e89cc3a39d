//! The systems of the benchmark: ours, and those beside us.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::scenario::{Judge, Scenario};
use crate::adapter;
use crate::peers::{Peer, Postgres, Prepared};
use crate::run::cluster::Cluster;

/// A system, by the name used on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum System {
    /// Our engine in the adapter's process.
    Slipring,
    /// Our functions for users of SQL.
    SlipringSql,
    /// The crate awa.
    Awa,
    /// The functions of pgmq.
    Pgmq,
    /// The table that everybody writes first.
    SkipLocked,
}

impl System {
    /// All of them.
    pub const ALL: [System; 5] =
        [System::Slipring, System::SlipringSql, System::Awa, System::Pgmq, System::SkipLocked];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            System::Slipring => adapter::Kind::Slipring.name(),
            System::SlipringSql => adapter::Kind::SlipringSql.name(),
            System::Awa => "awa",
            System::Pgmq => adapter::Kind::Pgmq.name(),
            System::SkipLocked => adapter::Kind::SkipLocked.name(),
        }
    }

    /// Whether it is Slipring.
    pub fn is_ours(self) -> bool {
        matches!(self, System::Slipring | System::SlipringSql)
    }

    /// How it is driven.
    pub fn how(self) -> &'static str {
        match self {
            System::Slipring => "the engine in the adapter's process",
            System::SlipringSql => "send_batch, receive and ack by SQL, an engine beside them",
            System::Awa => {
                "awa's own workers; enqueue_params_copy, claims of 512, its defaults; a job counts \
                 as completed when its handler returns, before its ack"
            }
            System::Pgmq => "send_batch, read and delete of arrays by SQL",
            System::SkipLocked => "batched INSERT, UPDATE … FOR UPDATE SKIP LOCKED and DELETE",
        }
    }

    /// Why it is not run in a scenario, where it is not.
    pub fn lacks(self, scenario: &Scenario) -> Option<&'static str> {
        match (self, scenario.judge) {
            (System::Pgmq | System::SkipLocked, Judge::Priorities) => Some("it has no priorities"),
            (System::SkipLocked, Judge::DeadLetters) => Some("it has no dead letters"),
            _ => None,
        }
    }

    /// After the end of the load everything comes within this: leases of 30 s, and what looks for
    /// those that are over; of awa up to half a minute late.
    pub fn patience(self) -> Duration {
        Duration::from_secs(if self == System::Awa { 150 } else { 60 })
    }

    /// How long a lease lasts, in milliseconds; 0 for leases without an end. awa's claims without a
    /// deadline are its fast ones: they are used where nothing is killed.
    pub fn lease_ms(self, scenario: &Scenario, smoke: bool) -> u64 {
        match (self, scenario.judge) {
            (System::Awa, judge) if judge != Judge::Chaos => 0,
            (_, Judge::Chaos) if smoke => 2000,
            _ => 30_000,
        }
    }

    /// What counts its dead letters; nothing for one without.
    pub fn dead_letters(self) -> Option<&'static str> {
        match self {
            System::Slipring | System::SlipringSql => {
                Some(include_str!("../../queries/benchmark_dead_letters_slipring.sql"))
            }
            System::Awa => Some(include_str!("../../queries/benchmark_dead_letters_awa.sql")),
            System::Pgmq => Some(include_str!("../../queries/benchmark_dead_letters_pgmq.sql")),
            System::SkipLocked => None,
        }
    }

    fn peer(self) -> Option<Peer> {
        match self {
            System::Awa => Some(Peer::Awa),
            System::Pgmq => Some(Peer::Pgmq),
            System::Slipring | System::SlipringSql | System::SkipLocked => None,
        }
    }

    /// Its adapter.
    fn command(self, prepared: &Prepared) -> Result<Command> {
        if let Some(command) = prepared.adapter() {
            return Ok(command);
        }
        let program = std::env::current_exe().context("finding this program")?;
        let mut command = Command::new(program);
        command.args(["adapter", "--system", self.name()]);
        Ok(command)
    }
}

/// A PostgreSQL of the run's own, and what was installed for it.
pub struct Place {
    /// The PostgreSQL.
    pub cluster: Cluster,
    prepared: BTreeMap<System, std::result::Result<Prepared, String>>,
}

impl Place {
    /// Starts a PostgreSQL that takes as many connections as that of the public benchmark.
    ///
    /// # Errors
    /// When there is none on this machine, or it does not start.
    pub async fn open() -> Result<Place> {
        let cluster = Cluster::with_settings(&["max_connections=400"]).await?;
        Ok(Place { cluster, prepared: BTreeMap::new() })
    }

    /// The settings of PostgreSQL that matter, on one line.
    ///
    /// # Errors
    /// When PostgreSQL fails.
    pub async fn settings(&self) -> Result<String> {
        let admin = self.cluster.admin().await?;
        let rows = admin.query(include_str!("../../queries/settings.sql"), &[]).await?;
        let settings = rows.iter().map(|row| {
            Ok(format!("{}={}", row.try_get::<_, &str>(0)?, row.try_get::<_, &str>(1)?))
        });
        Ok(settings.collect::<Result<Vec<_>>>()?.join(", "))
    }

    /// What a system needs, installed when it is first asked for.
    ///
    /// # Errors
    /// When it is absent; the error says why.
    pub async fn prepare(&mut self, system: System) -> Result<Prepared> {
        let Some(peer) = system.peer() else { return Ok(Prepared::default()) };
        if !self.prepared.contains_key(&system) {
            let admin = self.cluster.admin().await?;
            let prepared = peer.prepare(Some(Postgres { admin: &admin, ours: true })).await;
            let prepared = prepared.map_err(|error| format!("absent: {error:#}"));
            self.prepared.insert(system, prepared);
        }
        let found = self.prepared.get(&system).context("a system that was not prepared")?;
        found.clone().map_err(anyhow::Error::msg)
    }

    /// A fresh database in which a system can be started, and its adapter on it.
    ///
    /// # Errors
    /// When the system is absent, or PostgreSQL fails.
    pub async fn database(&mut self, system: System) -> Result<String> {
        let prepared = self.prepare(system).await?;
        let admin = self.cluster.admin().await?;
        let database = self.cluster.create_database(&admin).await?;
        // Pages written for the first time after a checkpoint cost more WAL; this way all systems
        // begin alike.
        admin.batch_execute("CHECKPOINT").await.context("a checkpoint before a turn")?;
        prepared.set_up(&self.cluster.url(&database)).await?;
        Ok(database)
    }

    /// The adapter of a system on a database, told nothing but that.
    ///
    /// # Errors
    /// When the system is absent.
    pub async fn adapter(&mut self, system: System, database: &str) -> Result<Command> {
        let mut command = system.command(&self.prepare(system).await?)?;
        command.env_clear().env("DATABASE_URL", self.cluster.url(database));
        Ok(command)
    }

    /// Removes a database.
    ///
    /// # Errors
    /// When PostgreSQL fails.
    pub async fn remove(&self, database: &str) -> Result<()> {
        self.cluster.drop_database(&self.cluster.admin().await?, database).await
    }
}
