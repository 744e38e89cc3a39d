//! The designs on PostgreSQL: a database for each table, a function for a push and one for a pop.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tokio::task::JoinHandle;
use tokio_postgres::{Client, NoTls, Statement};

use super::contest::{Activity, Counts, Durability, LOOK_EVERY, Server, Terms, Watch};
use super::drive::{Session, Tried};
use super::slots::{Ring, Table, Tickets};
use crate::run::cluster::Cluster;
use crate::targets::postgres::connect;

/// Sessions that have been closed are gone within this.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// A statement of this case.
macro_rules! statement {
    ($name:literal) => {
        include_str!(concat!("../../../queries/ring/postgres/", $name, ".sql"))
    };
}

/// What a ring needs besides its table and its slots, all kinds of tickets included.
const RING: [&str; 8] = [
    statement!("push_sequence"),
    statement!("pop_sequence"),
    statement!("push_identity"),
    statement!("pop_identity"),
    statement!("push_ticket_sequence"),
    statement!("pop_ticket_sequence"),
    statement!("ring_push"),
    statement!("ring_pop"),
];
const RIGHT_EDGE: [&str; 4] = [
    statement!("right_edge_table"),
    statement!("right_edge_fill"),
    statement!("right_edge_push"),
    statement!("right_edge_pop"),
];

/// The designs in databases of one cluster.
pub struct Postgres<'a> {
    cluster: &'a Cluster,
    admin: Client,
    ring: Ring,
    databases: BTreeMap<Table, Database>,
}

/// The database of a table, and a connection that is not measured.
struct Database {
    name: String,
    control: Client,
}

impl<'a> Postgres<'a> {
    /// No databases yet.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn new(cluster: &'a Cluster, ring: Ring) -> Result<Postgres<'a>> {
        let admin = cluster.admin().await?;
        Ok(Postgres { cluster, admin, ring, databases: BTreeMap::new() })
    }

    fn database(&self, table: Table) -> Result<&Database> {
        self.databases.get(&table).context("a table that was not made")
    }

    /// Waits until only the control session is there, for a session says what it has seen when
    /// it ends.
    async fn wait_for_the_end_of_sessions(&self, database: &Database) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let row = self.admin.query_one(statement!("sessions"), &[&database.name]).await?;
            let sessions: i64 = row.try_get(0)?;
            if sessions <= 1 {
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!("{} sessions of a step are still there after {PATIENCE:?}", sessions - 1);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}

impl Server for Postgres<'_> {
    type Session = PostgresSession;

    async fn build(&mut self, table: Table) -> Result<()> {
        if !self.databases.contains_key(&table) {
            let name = self.cluster.create_database(&self.admin).await?;
            let control = connect(&self.cluster.url(&name)).await?;
            self.databases.insert(table, Database { name, control });
        }
        let control = &self.database(table)?.control;
        control.batch_execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public").await?;
        let (slot_of, fill) = match table {
            Table::Reversed => (statement!("slot_reversed"), statement!("ring_fill_reversed")),
            Table::RightEdge | Table::Neighbours => {
                (statement!("slot_neighbours"), statement!("ring_fill_neighbours"))
            }
        };
        let ring = [slot_of, statement!("ring_table"), fill, statement!("ring_index")];
        let statements: Vec<&str> = match table {
            Table::RightEdge => RIGHT_EDGE.to_vec(),
            Table::Neighbours | Table::Reversed => ring.into_iter().chain(RING).collect(),
        };
        for statement in statements {
            let statement = self.ring.written_into(table, statement);
            let ran = control.batch_execute(&statement).await;
            ran.with_context(|| statement.lines().next().unwrap_or_default().to_owned())?;
        }
        Ok(control.batch_execute("VACUUM ANALYZE ring").await?)
    }

    async fn place(&mut self, terms: Terms) -> Result<Place> {
        let database = self.database(terms.design.table)?;
        if terms.design.table != Table::RightEdge {
            let (push, pop) = terms.first;
            let tickets = match terms.design.tickets {
                Tickets::Sequence => [
                    statement!("push_ticket_sequence").to_owned(),
                    statement!("pop_ticket_sequence").to_owned(),
                    format!("SELECT setval('push_sequence', {push}, false)"),
                    format!("SELECT setval('pop_sequence', {pop}, false)"),
                ],
                Tickets::Identity => [
                    statement!("push_ticket_identity").to_owned(),
                    statement!("pop_ticket_identity").to_owned(),
                    restart("push_identity", push),
                    restart("pop_identity", pop),
                ],
            };
            for statement in tickets {
                database.control.batch_execute(&statement).await?;
            }
        }
        Ok(Place { url: self.cluster.url(&database.name), durability: terms.durability })
    }

    async fn left(&mut self, table: Table) -> Result<Vec<(i64, i64)>> {
        let left = match table {
            Table::RightEdge => statement!("right_edge_left"),
            Table::Neighbours | Table::Reversed => statement!("ring_left"),
        };
        let rows = self.database(table)?.control.query(left, &[]).await?;
        rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
    }

    async fn write_out(&mut self, _: Table) -> Result<()> {
        Ok(self.admin.batch_execute("CHECKPOINT").await?)
    }

    async fn counts(&mut self, table: Table) -> Result<Counts> {
        let database = self.database(table)?;
        self.wait_for_the_end_of_sessions(database).await?;
        let pages = database.control.query_one(statement!("pages"), &[]).await?.try_get(0)?;
        let changed = self.admin.query_one(statement!("first_changes"), &[]).await?.try_get(0)?;
        Ok(Counts { pages, changed, lock_waits: 0 })
    }

    async fn watch(&mut self, table: Table) -> Result<Option<Watch>> {
        let client = self.cluster.admin().await?;
        let (stop, name) = (Arc::new(AtomicBool::new(false)), self.database(table)?.name.clone());
        let task = tokio::spawn(look(client, name, Arc::clone(&stop)));
        Ok(Some(Watch { stop, task }))
    }
}

/// Empties a table of tickets and sets where it begins.
fn restart(table: &str, first: i64) -> String {
    format!("TRUNCATE {table}; ALTER TABLE {table} ALTER COLUMN ticket RESTART WITH {first}")
}

/// Looks what the sessions of a database do, until it is told to end or its connection breaks.
async fn look(client: Client, database: String, stop: Arc<AtomicBool>) -> Activity {
    let mut activity = Activity::new();
    let Ok(look) = client.prepare(include_str!("../../../queries/waits.sql")).await else {
        return activity;
    };
    while !stop.load(Ordering::Relaxed) {
        let Ok(rows) = client.query(&look, &[&database]).await else { break };
        for row in rows {
            if let (Ok(name), Ok(count)) = (row.try_get::<_, String>(0), row.try_get::<_, i64>(1)) {
                *activity.entry(name).or_default() += count.unsigned_abs();
            }
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    activity
}

/// Where a session connects to.
pub struct Place {
    url: String,
    durability: Durability,
}

/// A connection with its two statements.
pub struct PostgresSession {
    client: Client,
    connection: JoinHandle<Result<(), tokio_postgres::Error>>,
    push: Statement,
    pop: Statement,
}

impl Session for PostgresSession {
    type Place = Place;

    async fn open(place: &Place) -> Result<PostgresSession> {
        let opened = tokio_postgres::connect(&place.url, NoTls).await;
        let (client, connection) =
            opened.with_context(|| format!("connecting to {}", place.url))?;
        let connection = tokio::spawn(connection);
        if place.durability == Durability::Delayed {
            client.batch_execute("SET synchronous_commit = off").await?;
        }
        let push = client.prepare("SELECT ticket, done FROM push($1, $2, $3)").await?;
        let pop = client.prepare("SELECT ticket, body FROM pop($1)").await?;
        Ok(PostgresSession { client, connection, push, pop })
    }

    async fn push(&mut self, number: i64, message: &str, again: Option<i64>) -> Result<Tried<()>> {
        let row = self.client.query_one(&self.push, &[&number, &message, &again]).await?;
        Ok(Tried { ticket: row.try_get(0)?, done: row.try_get::<_, bool>(1)?.then_some(()) })
    }

    async fn pop(&mut self, again: Option<i64>) -> Result<Tried<String>> {
        let row = self.client.query_one(&self.pop, &[&again]).await?;
        Ok(Tried { ticket: row.try_get(0)?, done: row.try_get(1)? })
    }

    async fn close(self) -> Result<u64> {
        drop(self.client);
        self.connection.await.context("ending a connection")??;
        Ok(0)
    }
}

/// The settings that decide on speed and durability, as the server tells them, in one line.
///
/// # Errors
/// When the server fails.
pub async fn settings(admin: &Client) -> Result<String> {
    let rows = admin.query(include_str!("../../../queries/settings.sql"), &[]).await?;
    let pair = |row: &tokio_postgres::Row| -> Result<String> {
        Ok(format!("{}={}", row.try_get::<_, String>(0)?, row.try_get::<_, String>(1)?))
    };
    Ok(rows.iter().map(pair).collect::<Result<Vec<_>>>()?.join(" "))
}
