//! `adapter.json`: what the harness knows of a system before it starts it. The descriptor names
//! what is really in the database, which is at least that.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde::Serialize;
use slipring_postgres::Address;

use super::environment::Environment;
use super::pgmq;
use super::telemetry::{Descriptor, time_text, wall_us};

/// Sets of three tables that rotate, one of them written.
const ROTATED: [&str; 11] = [
    "ack",
    "dedup",
    "fifo_group",
    "fifo_touched",
    "item_body",
    "item_picture",
    "lease",
    "mark",
    "state",
    "tally",
    "tally_sum",
];
/// Tables that stay: administration.
const STEADY: [&str; 8] =
    ["incarnation", "load", "load_block", "load_part", "migration", "place", "queue", "store"];
/// Tables in a set that rotates.
const SLOTS: std::ops::Range<u32> = 0..3;

/// A system under the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// Our engine in this process, over the PostgreSQL store.
    Slipring,
    /// Our functions for users of SQL, with an engine beside them.
    SlipringSql,
    /// pgmq's functions, which must be in the database.
    Pgmq,
    /// A table claimed with SKIP LOCKED.
    SkipLocked,
}

/// What `adapter.json` says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Manifest {
    /// The system's name.
    pub system: &'static str,
    /// Systems of one schema.
    pub family: &'static str,
    /// The name for people.
    pub display_name: &'static str,
    /// The database that the harness makes.
    pub db_name: &'static str,
    /// Tables with rows of jobs or of their states.
    pub event_tables: Vec<String>,
    /// Indexes that are worth a look.
    pub event_indexes: Vec<String>,
    /// Extensions that it needs.
    pub extensions: Vec<String>,
}

impl Kind {
    /// The name of the system.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Slipring => "slipring",
            Kind::SlipringSql => "slipring-sql",
            Kind::Pgmq => "pgmq",
            Kind::SkipLocked => "skip-locked",
        }
    }

    /// What the harness knows of it.
    pub fn manifest(self) -> Manifest {
        let (display_name, db_name) = match self {
            Kind::Slipring => ("Slipring (Rust, in-process)", "slipring_bench"),
            Kind::SlipringSql => ("Slipring (SQL functions)", "slipring_sql_bench"),
            Kind::Pgmq => ("pgmq (SQL functions)", "pgmq_bench"),
            Kind::SkipLocked => ("a table with SKIP LOCKED", "skip_locked_bench"),
        };
        Manifest {
            system: self.name(),
            family: if self.is_ours() { "slipring" } else { self.name() },
            display_name,
            db_name,
            event_tables: self.tables(1),
            event_indexes: self.indexes(),
            extensions: Vec::new(),
        }
    }

    /// Whether it is Slipring.
    pub fn is_ours(self) -> bool {
        matches!(self, Kind::Slipring | Kind::SlipringSql)
    }

    /// The tables that are there with so many queues; of ours those of the first queue, for the
    /// messages of further ones are in sets of their own, which the descriptor names.
    fn tables(self, queues: usize) -> Vec<String> {
        match self {
            Kind::Slipring | Kind::SlipringSql => tables(),
            Kind::Pgmq => {
                let names = pgmq::queue_names(queues).into_iter();
                names.flat_map(|name| ["q", "a"].map(|set| format!("pgmq.{set}_{name}"))).collect()
            }
            Kind::SkipLocked => vec!["public.job".to_owned()],
        }
    }

    fn indexes(self) -> Vec<String> {
        match self {
            Kind::Slipring | Kind::SlipringSql => indexes(),
            Kind::Pgmq => Vec::new(),
            Kind::SkipLocked => vec!["public.job_ready".to_owned()],
        }
    }
}

/// The manifest as the text of `adapter.json`.
///
/// # Errors
/// None in practice.
pub fn text(kind: Kind) -> Result<String> {
    let text = serde_json::to_string_pretty(&kind.manifest()).context("writing adapter.json")?;
    Ok(text + "\n")
}

/// The tables of our database with the first queue.
fn tables() -> Vec<String> {
    let mut names: BTreeSet<String> = STEADY.iter().map(|name| (*name).to_owned()).collect();
    for slot in SLOTS {
        names.extend(ROTATED.iter().map(|name| format!("{name}_{slot}")));
        names.insert(format!("message_1_{slot}"));
    }
    names.into_iter().map(|name| format!("slipring.{name}")).collect()
}

/// The index of each table of messages, and the one by which an ack by SQL is found.
fn indexes() -> Vec<String> {
    let of_slot = |slot| [format!("ack_{slot}_once"), format!("message_1_{slot}_order")];
    let names: BTreeSet<String> = SLOTS.flat_map(of_slot).collect();
    names.into_iter().map(|name| format!("slipring.{name}")).collect()
}

/// The first line of the adapter: what is in the database.
///
/// # Errors
/// When the database does not answer.
pub async fn descriptor(kind: Kind, environment: &Environment) -> Result<Descriptor> {
    let address: Address = environment.database_url.parse().map_err(anyhow::Error::msg)?;
    let client = address.connect("slipring-lab adapter").await?;
    let mut event_tables: BTreeSet<String> = kind.tables(environment.queues).into_iter().collect();
    let (schema_version, db_name) = if kind.is_ours() {
        for row in client.query(include_str!("../../queries/adapter_tables.sql"), &[]).await? {
            event_tables.insert(row.try_get(0)?);
        }
        let version = include_str!("../../queries/adapter_schema_version.sql");
        let version = client.query_one(version, &[]).await?;
        (version.try_get(0)?, version.try_get(1)?)
    } else {
        let name = client.query_one("SELECT current_database()::text", &[]).await?;
        (String::new(), name.try_get(0)?)
    };
    Ok(Descriptor {
        kind: "descriptor",
        system: kind.name(),
        instance_id: environment.instance,
        event_tables: event_tables.into_iter().collect(),
        event_indexes: kind.indexes(),
        extensions: Vec::new(),
        version: env!("CARGO_PKG_VERSION"),
        schema_version,
        db_name,
        started_at: time_text(wall_us() / 1000),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_files_are_what_the_command_prints() {
        let slipring = include_str!("../../adapter/slipring/adapter.json");
        let by_sql = include_str!("../../adapter/slipring-sql/adapter.json");
        assert_eq!(text(Kind::Slipring).unwrap(), slipring);
        assert_eq!(text(Kind::SlipringSql).unwrap(), by_sql);
    }
}
