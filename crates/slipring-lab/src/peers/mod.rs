//! The peers: which there are, how each is had from a package registry, and the program that
//! drives those that need one of their own.
//!
//! Lock files and drivers are in `crates/slipring-lab/peers`. What is installed lies in
//! `target/lab/peers`, and is installed anew when a lock file has changed.

pub mod install;

use std::process::Command;

use anyhow::{Context, Result, bail};
use tokio_postgres::Client;

use crate::targets::Kind;
use crate::targets::postgres::connect;

/// A peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Peer {
    /// The SQL of the extension, from its crate.
    Pgmq,
    /// The extension, from Debian.
    Pgq,
    /// From npm.
    GraphileWorker,
    /// From the Go module proxy.
    River,
    /// From npm.
    PgBoss,
    /// A crate.
    Awa,
    /// From Debian.
    Redis,
    /// From the Go module proxy.
    Nats,
    /// From Debian.
    RabbitMq,
}

impl Peer {
    /// All of them.
    pub const ALL: &[Peer] = &[
        Peer::Pgmq,
        Peer::Pgq,
        Peer::GraphileWorker,
        Peer::River,
        Peer::PgBoss,
        Peer::Awa,
        Peer::Redis,
        Peer::Nats,
        Peer::RabbitMq,
    ];
    /// Servers of other classes.
    pub const CLASSES: &[Peer] = &[Peer::Redis, Peer::Nats, Peer::RabbitMq];

    /// Its name, and that of its folder.
    pub fn name(self) -> &'static str {
        match self {
            Peer::Pgmq => "pgmq",
            Peer::Pgq => "pgq",
            Peer::GraphileWorker => "graphile-worker",
            Peer::River => "river",
            Peer::PgBoss => "pg-boss",
            Peer::Awa => "awa",
            Peer::Redis => "redis",
            Peer::Nats => "nats",
            Peer::RabbitMq => "rabbitmq",
        }
    }

    /// Whether each of its messages can be acked without the others.
    pub fn outcome_per_message(self) -> bool {
        self != Peer::Pgq
    }

    /// The target that it is.
    pub fn kind(self) -> Kind {
        match self {
            Peer::Pgmq => Kind::Pgmq,
            Peer::Pgq => Kind::Pgq,
            Peer::GraphileWorker => Kind::GraphileWorker,
            Peer::River => Kind::River,
            Peer::PgBoss => Kind::PgBoss,
            Peer::Awa => Kind::Awa,
            Peer::Redis => Kind::Redis,
            Peer::Nats => Kind::Nats,
            Peer::RabbitMq => Kind::RabbitMq,
        }
    }

    /// Gets it from its registry, unless it is there already; an extension for the PostgreSQL
    /// behind `admin`, where that is on this machine and `ours`.
    ///
    /// # Errors
    /// When it cannot be had; the error says why, and then the peer is absent from the table.
    pub async fn prepare(self, admin: &Client, ours: bool) -> Result<Prepared> {
        match self {
            Peer::Pgq => {
                let found = install::pgq(admin, ours).await;
                found.with_context(|| format!("{} cannot be installed", self.name()))
            }
            _ => self.install(),
        }
    }

    /// As [`Peer::prepare`], for one that is installed without a look at PostgreSQL.
    ///
    /// # Errors
    /// As [`Peer::prepare`].
    pub fn install(self) -> Result<Prepared> {
        match self {
            Peer::Pgmq => install::pgmq(),
            Peer::Pgq => bail!("its package depends on the PostgreSQL"),
            Peer::GraphileWorker | Peer::PgBoss => install::npm(self.name()),
            Peer::River => install::go(self.name()),
            Peer::Awa => install::cargo(self.name()),
            Peer::Redis => install::redis(),
            Peer::Nats => install::nats(),
            Peer::RabbitMq => install::rabbitmq(),
        }
        .with_context(|| format!("{} cannot be installed", self.name()))
    }
}

/// A peer that can be started.
#[derive(Debug, Clone, Default)]
pub struct Prepared {
    /// Its version, where the driver does not know it.
    pub version: Option<String>,
    /// SQL that a database needs.
    sql: Option<String>,
    /// Its driver, where it has one of its own; the address of the database follows.
    program: Vec<String>,
}

impl Prepared {
    /// Brings a new database into the state that the driver expects.
    ///
    /// # Errors
    /// When the SQL fails.
    pub async fn set_up(&self, url: &str) -> Result<()> {
        let Some(sql) = &self.sql else { return Ok(()) };
        connect(url).await?.batch_execute(sql).await.context("running its SQL")
    }

    /// Its driver on a database; nothing for a set of SQL functions, which ours drives.
    pub fn process(&self, url: &str) -> Option<Command> {
        let (program, arguments) = self.program.split_first()?;
        let mut command = Command::new(program);
        command.args(arguments).arg(url);
        Some(command)
    }
}
