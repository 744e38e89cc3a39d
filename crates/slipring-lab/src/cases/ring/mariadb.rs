//! The designs on MariaDB: a database for each table, a procedure for a push and one for a pop.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, Statement};

use super::contest::{Counts, Durability, Server, Terms};
use super::drive::{Session, Tried};
use super::slots::{Ring, Table, Tickets};
use crate::mariadb;

/// All changed pages are written within this.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// A transaction that lost a deadlock, or waited too long for a lock. It left nothing behind.
const LOST: [u16; 2] = [1213, 1205];
/// The automatic numbers of a whole run are kept in memory.
const MEMORY_TABLE_BYTES: u64 = 1 << 30;

/// A statement of this case.
macro_rules! statement {
    ($name:literal) => {
        include_str!(concat!("../../../queries/ring/mariadb/", $name, ".sql"))
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

/// The designs in databases of one server.
pub struct MariaDb {
    server: mariadb::Server,
    ring: Ring,
    databases: BTreeMap<Table, Database>,
}

/// The database of a table, and a connection that is not measured.
struct Database {
    name: String,
    control: Conn,
}

impl MariaDb {
    /// No databases yet.
    pub fn new(server: mariadb::Server, ring: Ring) -> MariaDb {
        MariaDb { server, ring, databases: BTreeMap::new() }
    }

    fn database(&mut self, table: Table) -> Result<&mut Database> {
        self.databases.get_mut(&table).context("a table that was not made")
    }
}

impl Server for MariaDb {
    type Session = MariaDbSession;

    async fn build(&mut self, table: Table) -> Result<()> {
        if let Some(Database { name, control }) = self.databases.remove(&table) {
            control.disconnect().await?;
            self.server.drop_database(&name).await?;
        }
        let name = self.server.create_database().await?;
        let mut control = self.server.connect(Some(&name)).await?;
        let limit = format!("SET SESSION max_heap_table_size = {MEMORY_TABLE_BYTES}");
        control.query_drop(limit).await?;
        let (slot_of, fill) = match table {
            Table::Reversed => (statement!("slot_reversed"), statement!("ring_fill_reversed")),
            Table::RightEdge | Table::Neighbours => {
                (statement!("slot_neighbours"), statement!("ring_fill_neighbours"))
            }
        };
        let ring = [slot_of, statement!("ring_table"), fill];
        let statements: Vec<&str> = match table {
            Table::RightEdge => RIGHT_EDGE.to_vec(),
            Table::Neighbours | Table::Reversed => ring.into_iter().chain(RING).collect(),
        };
        for statement in statements {
            let statement = self.ring.written_into(table, statement);
            let ran = control.query_drop(&statement).await;
            ran.with_context(|| statement.lines().next().unwrap_or_default().to_owned())?;
        }
        self.databases.insert(table, Database { name, control });
        Ok(())
    }

    async fn place(&mut self, terms: Terms) -> Result<Place> {
        let flush = match terms.durability {
            Durability::Full => 1,
            Durability::Delayed => 2,
        };
        let database = self.database(terms.design.table)?;
        let flush = format!("SET GLOBAL innodb_flush_log_at_trx_commit = {flush}");
        database.control.query_drop(flush).await?;
        if terms.design.table != Table::RightEdge {
            let (push, pop) = terms.first;
            let tickets = match terms.design.tickets {
                Tickets::Sequence => vec![
                    statement!("push_ticket_sequence").to_owned(),
                    statement!("pop_ticket_sequence").to_owned(),
                    format!("ALTER SEQUENCE push_sequence RESTART {push}"),
                    format!("ALTER SEQUENCE pop_sequence RESTART {pop}"),
                ],
                // The automatic numbers begin with 1, the tickets with 0.
                Tickets::Identity => vec![
                    statement!("push_ticket_identity").to_owned(),
                    statement!("pop_ticket_identity").to_owned(),
                    "TRUNCATE push_identity".to_owned(),
                    "TRUNCATE pop_identity".to_owned(),
                    format!("ALTER TABLE push_identity AUTO_INCREMENT = {}", push + 1),
                    format!("ALTER TABLE pop_identity AUTO_INCREMENT = {}", pop + 1),
                ],
            };
            for statement in tickets {
                let ran = database.control.query_drop(&statement).await;
                ran.with_context(|| format!("running {statement:?}"))?;
            }
        }
        let retries = terms.design.table == Table::RightEdge;
        let name = database.name.clone();
        Ok(Place { options: self.server.options(Some(&name)), retries })
    }

    async fn left(&mut self, table: Table) -> Result<Vec<(i64, i64)>> {
        let left = match table {
            Table::RightEdge => statement!("right_edge_left"),
            Table::Neighbours | Table::Reversed => statement!("ring_left"),
        };
        Ok(self.database(table)?.control.query(left).await?)
    }

    async fn write_out(&mut self, table: Table) -> Result<()> {
        let control = &mut self.database(table)?.control;
        let before: Option<f64> =
            control.query_first("SELECT @@GLOBAL.innodb_max_dirty_pages_pct").await?;
        control.query_drop("SET GLOBAL innodb_max_dirty_pages_pct = 0").await?;
        let deadline = Instant::now() + PATIENCE;
        while status(control, "Innodb_buffer_pool_pages_dirty").await? > 0 {
            if Instant::now() > deadline {
                bail!("MariaDB has not written its changed pages within {PATIENCE:?}");
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        let before = before.unwrap_or(90.0);
        let restore = format!("SET GLOBAL innodb_max_dirty_pages_pct = {before}");
        Ok(control.query_drop(restore).await?)
    }

    async fn counts(&mut self, table: Table) -> Result<Counts> {
        let control = &mut self.database(table)?.control;
        let pages = status(control, "Innodb_buffer_pool_read_requests").await?;
        let changed = status(control, "Innodb_buffer_pool_pages_dirty").await?
            + status(control, "Innodb_buffer_pool_pages_flushed").await?;
        let lock_waits = status(control, "Innodb_row_lock_waits").await?;
        Ok(Counts { pages, changed, lock_waits })
    }
}

/// A count of the server's.
async fn status(control: &mut Conn, name: &str) -> Result<i64> {
    let statement = format!("SHOW GLOBAL STATUS LIKE '{name}'");
    let told: Option<(String, i64)> = control.query_first(statement).await?;
    told.map(|(_, value)| value).with_context(|| format!("MariaDB does not tell {name}"))
}

/// Where a session connects to.
pub struct Place {
    options: Opts,
    /// Whether a transaction that lost a deadlock is tried again; a ring would lose its ticket.
    retries: bool,
}

/// A connection with its two statements.
pub struct MariaDbSession {
    connection: Conn,
    push: Statement,
    pop: Statement,
    retries: bool,
    lost: u64,
}

impl MariaDbSession {
    /// Nothing for a transaction that lost, and may be tried again.
    fn or_lost<T>(&mut self, answer: mysql_async::Result<Option<T>>) -> Result<Option<T>> {
        match answer {
            Ok(Some(row)) => Ok(Some(row)),
            Ok(None) => bail!("a procedure answered nothing"),
            Err(mysql_async::Error::Server(error))
                if self.retries && LOST.contains(&error.code) =>
            {
                self.lost += 1;
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl Session for MariaDbSession {
    type Place = Place;

    async fn open(place: &Place) -> Result<MariaDbSession> {
        let connection = Conn::new(place.options.clone()).await;
        let mut connection = connection.context("connecting to MariaDB")?;
        // As is usual for queues: no locks of gaps between rows.
        let isolation = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
        connection.query_drop(isolation).await?;
        let push = connection.prep("CALL push(?, ?, ?)").await?;
        let pop = connection.prep("CALL pop(?)").await?;
        Ok(MariaDbSession { connection, push, pop, retries: place.retries, lost: 0 })
    }

    async fn push(&mut self, number: i64, message: &str, again: Option<i64>) -> Result<Tried<()>> {
        let answer = self.connection.exec_first(&self.push, (number, message, again)).await;
        let Some((ticket, done)) = self.or_lost::<(Option<i64>, i64)>(answer)? else {
            return Ok(Tried { ticket: again, done: None });
        };
        Ok(Tried { ticket, done: (done > 0).then_some(()) })
    }

    async fn pop(&mut self, again: Option<i64>) -> Result<Tried<String>> {
        let answer = self.connection.exec_first(&self.pop, (again,)).await;
        let Some((ticket, done)) = self.or_lost(answer)? else {
            return Ok(Tried { ticket: again, done: None });
        };
        Ok(Tried { ticket, done })
    }

    async fn close(self) -> Result<u64> {
        self.connection.disconnect().await?;
        Ok(self.lost)
    }
}
