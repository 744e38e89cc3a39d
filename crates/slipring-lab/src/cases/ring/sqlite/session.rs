//! A connection to a file, with the statements of a push and a pop.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use rusqlite::types::FromSql;
use rusqlite::{Connection, Params, Statement, params};

use super::{now_us, statement};
use crate::cases::ring::contest::Durability;
use crate::cases::ring::drive::{Session, Tried};
use crate::cases::ring::slots::{Design, Ring, Table, Tickets};

/// A connection that finds the file locked tries again after this.
const BUSY_WAIT: Duration = Duration::from_micros(100);
/// And gives up after so many tries, which is half a minute or more.
const BUSY_TRIES_MAX: i32 = 300_000;
/// Kibibytes of the file that each connection keeps in memory.
const CACHE_KIB: i64 = 16 << 10;

/// Where a session connects to, and how it works there.
pub struct Place {
    /// The file.
    pub path: PathBuf,
    /// The design.
    pub design: Design,
    /// What a commit survives.
    pub durability: Durability,
    /// The log is kept as it grows, to be counted.
    pub counted: bool,
    /// The sizes of the ring.
    pub ring: Ring,
}

/// A connection, with what is left of the tickets it took.
pub struct SqliteSession {
    connection: Connection,
    design: Design,
    ring: Ring,
    push: Block,
    pop: Block,
    waits: Arc<AtomicU64>,
}

/// Tickets that a connection has taken: the next, and the end.
type Block = std::ops::Range<i64>;

impl SqliteSession {
    /// The next ticket of a kind, from those that the connection has, or many new ones.
    fn next_of_sequence(&mut self, name: &str) -> Result<i64> {
        let block = if name == "push" { &mut self.push } else { &mut self.pop };
        if let Some(ticket) = block.next() {
            return Ok(ticket);
        }
        let mut take = self.connection.prepare_cached(statement!("sequence_take"))?;
        let first: Option<i64> = returned(&mut take, params![name, self.ring.cache])?;
        let first = first.context("a sequence that is not there")?;
        *block = first..first + self.ring.cache;
        block.next().context("a sequence whose cache holds nothing")
    }

    /// The ticket of a try: the one it has, or the next.
    fn ticket(&mut self, name: &str, again: Option<i64>) -> Result<i64> {
        match (again, self.design.tickets) {
            (Some(ticket), _) => Ok(ticket),
            (None, Tickets::Sequence) => self.next_of_sequence(name),
            (None, Tickets::Identity) => {
                let insert = match name {
                    "push" => statement!("push_ticket"),
                    _ => statement!("pop_ticket"),
                };
                self.connection.prepare_cached(insert)?.execute([])?;
                Ok(self.connection.last_insert_rowid() - 1)
            }
        }
    }

    /// Whether a new ticket is written in the transaction of the operation.
    fn writes_ticket(&self, again: Option<i64>) -> bool {
        again.is_none()
            && self.design.tickets == Tickets::Identity
            && self.design.table != Table::RightEdge
    }

    /// Runs an operation, in a transaction where it has more than one statement.
    fn transact<T>(
        &mut self,
        several: bool,
        operation: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        if !several {
            return operation(self);
        }
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        match operation(self) {
            Ok(done) => {
                self.connection.prepare_cached("COMMIT")?.execute([])?;
                Ok(done)
            }
            Err(error) => {
                // The first error is the one to tell.
                let _ = self.connection.execute("ROLLBACK", []);
                Err(error)
            }
        }
    }

    fn fill_slot(&mut self, number: i64, message: &str, again: Option<i64>) -> Result<Tried<()>> {
        let ticket = self.ticket("push", again)?;
        let (slot, lap) = (self.ring.slot(self.design.table, ticket), self.ring.lap(ticket));
        let mut push = self.connection.prepare_cached(statement!("ring_push"))?;
        let filled = push.execute(params![slot, lap, number, now_us(), message])?;
        Ok(Tried { ticket: Some(ticket), done: (filled > 0).then_some(()) })
    }

    fn empty_slot(&mut self, again: Option<i64>) -> Result<Tried<String>> {
        let ticket = self.ticket("pop", again)?;
        let (slot, lap) = (self.ring.slot(self.design.table, ticket), self.ring.lap(ticket));
        let mut pop = self.connection.prepare_cached(statement!("ring_pop"))?;
        let done = returned(&mut pop, params![slot, lap])?;
        Ok(Tried { ticket: Some(ticket), done })
    }
}

/// What a changing statement returns. It is run to its end, where it commits.
fn returned<T: FromSql>(statement: &mut Statement<'_>, with: impl Params) -> Result<Option<T>> {
    let (mut rows, mut first) = (statement.query(with)?, None);
    while let Some(row) = rows.next()? {
        first = Some(row.get(0)?);
    }
    Ok(first)
}

impl Session for SqliteSession {
    type Place = Place;

    async fn open(place: &Place) -> Result<SqliteSession> {
        let opened = Connection::open(&place.path);
        let mut connection = opened.with_context(|| format!("opening {}", place.path.display()))?;
        let waits = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&waits);
        connection.busy_handler(Some(move |tries: i32| {
            counter.fetch_add(u64::from(tries == 0), Ordering::Relaxed);
            std::thread::sleep(BUSY_WAIT);
            tries < BUSY_TRIES_MAX
        }))?;
        let synchronous = match place.durability {
            Durability::Full => "full",
            Durability::Delayed => "normal",
        };
        connection.pragma_update(None, "synchronous", synchronous)?;
        connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
        if place.counted {
            connection.pragma_update(None, "wal_autocheckpoint", 0)?;
        }
        let (design, ring) = (place.design, place.ring);
        Ok(SqliteSession { connection, design, ring, push: 0..0, pop: 0..0, waits })
    }

    async fn push(&mut self, number: i64, message: &str, again: Option<i64>) -> Result<Tried<()>> {
        if self.design.table == Table::RightEdge {
            let mut push = self.connection.prepare_cached(statement!("right_edge_push"))?;
            push.execute(params![number, now_us(), message])?;
            return Ok(Tried { ticket: None, done: Some(()) });
        }
        let several = self.writes_ticket(again);
        self.transact(several, |session| session.fill_slot(number, message, again))
    }

    async fn pop(&mut self, again: Option<i64>) -> Result<Tried<String>> {
        if self.design.table == Table::RightEdge {
            let mut pop = self.connection.prepare_cached(statement!("right_edge_pop"))?;
            let done = returned(&mut pop, [])?;
            return Ok(Tried { ticket: None, done });
        }
        let several = self.writes_ticket(again);
        self.transact(several, |session| session.empty_slot(again))
    }

    async fn close(self) -> Result<u64> {
        let waits = self.waits.load(Ordering::Relaxed);
        self.connection.close().map_err(|(_, error)| error).context("closing a connection")?;
        Ok(waits)
    }
}
