//! The peers: which there are, how each is had from a package registry, and the program that drives
//! it or that it is.
//!
//! Lock files and drivers are in `crates/slipring-lab/peers`. What is installed lies in
//! `target/lab/peers`, and is installed anew when a lock file has changed.

pub mod install;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::process::Command;

use anyhow::{Context, Result};
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
    /// A server of the SQS protocol, from PyPI.
    Moto,
    /// A server of the SQS protocol, from Maven Central.
    Elasticmq,
    /// From Debian.
    Redis,
    /// From the Go module proxy.
    Nats,
    /// From Debian.
    RabbitMq,
}

/// The PostgreSQL that an extension is installed for.
#[derive(Clone, Copy)]
pub struct Postgres<'a> {
    /// A connection as a user who may see what extensions there are.
    pub admin: &'a Client,
    /// Whether it was started here: then what is installed on this machine is installed for it.
    pub ours: bool,
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
        Peer::Moto,
        Peer::Elasticmq,
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
            Peer::Moto => "moto",
            Peer::Elasticmq => "elasticmq",
            Peer::Redis => "redis",
            Peer::Nats => "nats",
            Peer::RabbitMq => "rabbitmq",
        }
    }

    /// Whether each of its messages can be acked without the others.
    pub fn outcome_per_message(self) -> bool {
        self != Peer::Pgq
    }

    /// The target that it is; where there are several, the one that keeps messages in memory.
    pub fn kind(self) -> Kind {
        match self {
            Peer::Pgmq => Kind::Pgmq,
            Peer::Pgq => Kind::Pgq,
            Peer::GraphileWorker => Kind::GraphileWorker,
            Peer::River => Kind::River,
            Peer::PgBoss => Kind::PgBoss,
            Peer::Awa => Kind::Awa,
            Peer::Moto => Kind::Moto,
            Peer::Elasticmq => Kind::Elasticmq,
            Peer::Redis => Kind::Redis,
            Peer::Nats => Kind::Nats,
            Peer::RabbitMq => Kind::RabbitMq,
        }
    }

    /// Gets it from its registry, unless it is there already; an extension for this PostgreSQL,
    /// where that was started here.
    ///
    /// # Errors
    /// When it cannot be had; the error says why, and then the peer is absent from the table.
    pub async fn prepare(self, postgres: Option<Postgres<'_>>) -> Result<Prepared> {
        match self {
            Peer::Pgmq => install::pgmq(),
            Peer::Pgq => install::pgq(postgres).await,
            Peer::GraphileWorker | Peer::PgBoss => install::npm(self.name()),
            Peer::River => install::go(self.name()),
            Peer::Awa => install::cargo(self.name()),
            Peer::Moto => install::moto(),
            Peer::Elasticmq => install::elasticmq(),
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
    /// Its driver, where it has one of its own; the address of the database follows. Of a server
    /// the program that it is.
    program: Vec<String>,
}

/// The peers of a run. Each is got when it is first asked for.
#[derive(Default)]
pub struct Peers(BTreeMap<Peer, std::result::Result<Prepared, String>>);

impl Peers {
    /// What a target needs, inside this PostgreSQL where it is inside one.
    ///
    /// # Errors
    /// When it is a peer that is absent; the error says why.
    pub async fn prepare(
        &mut self,
        target: Kind,
        postgres: Option<Postgres<'_>>,
    ) -> Result<Prepared> {
        let Some(peer) = target.peer() else { return Ok(Prepared::default()) };
        let found = match self.0.entry(peer) {
            Entry::Occupied(found) => found.get().clone(),
            Entry::Vacant(place) => {
                let prepared = peer.prepare(postgres).await;
                place.insert(prepared.map_err(|error| format!("absent: {error:#}"))).clone()
            }
        };
        found.map_err(anyhow::Error::msg)
    }
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
        let mut command = self.command()?;
        command.arg(url);
        Some(command)
    }

    /// The program that a server is; arguments follow.
    pub fn command(&self) -> Option<Command> {
        let (program, arguments) = self.program.split_first()?;
        let mut command = Command::new(program);
        command.args(arguments);
        Some(command)
    }

    /// Its driver as a system of the public benchmark, which the environment tells what to do;
    /// nothing for one without a program of its own.
    pub fn adapter(&self) -> Option<Command> {
        let (program, arguments) = self.program.split_first()?;
        let mut command = Command::new(program);
        command.args(arguments).arg("adapter");
        Some(command)
    }
}
