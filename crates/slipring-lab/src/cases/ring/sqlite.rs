//! The designs on SQLite: a file for each table, and the statements of a push and a pop.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use rusqlite::types::FromSql;
use rusqlite::{Connection, Params, Statement, params};

use super::contest::{Counts, Durability, Server, Terms};
use super::drive::{Session, Tried};
use super::slots::{Design, Ring, Table, Tickets, write_message};

/// A connection that finds the file locked tries again after this.
const BUSY_WAIT: Duration = Duration::from_micros(100);
/// And gives up after so many tries, which is half a minute or more.
const BUSY_TRIES_MAX: i32 = 300_000;
/// Kibibytes of the file that each connection keeps in memory.
const CACHE_KIB: i64 = 16 << 10;

/// A statement of this case.
macro_rules! statement {
    ($name:literal) => {
        include_str!(concat!("../../../queries/ring/sqlite/", $name, ".sql"))
    };
}

/// The designs in files of one folder.
pub struct Sqlite {
    folder: PathBuf,
    ring: Ring,
    /// Connections that are not measured. They keep the logs from being removed.
    files: BTreeMap<Table, Connection>,
}

impl Sqlite {
    /// No files yet.
    pub fn new(folder: &Path, ring: Ring) -> Sqlite {
        Sqlite { folder: folder.to_owned(), ring, files: BTreeMap::new() }
    }

    fn path(&self, table: Table) -> PathBuf {
        self.folder.join(format!("{}.db", table.name()))
    }

    fn file(&self, table: Table) -> Result<&Connection> {
        self.files.get(&table).context("a table that was not made")
    }

    /// Fills a new table, without a log.
    fn fill(&self, table: Table, connection: &mut Connection) -> Result<()> {
        let transaction = connection.transaction()?;
        {
            let (now, mut text) = (now_us(), String::new());
            let ring = self.ring;
            if table == Table::RightEdge {
                transaction.execute(statement!("right_edge_table"), [])?;
                let mut insert = transaction.prepare(statement!("right_edge_push"))?;
                for number in 0..ring.backlog {
                    write_message(&mut text, number);
                    insert.execute(params![number, now, text])?;
                }
            } else {
                transaction.execute(statement!("ring_table"), [])?;
                transaction.execute(statement!("sequence_table"), [])?;
                transaction.execute(statement!("push_identity"), [])?;
                transaction.execute(statement!("pop_identity"), [])?;
                let mut insert = transaction.prepare(statement!("ring_fill"))?;
                for ticket in ring.tickets_by_slot(table) {
                    write_message(&mut text, ticket);
                    let number = (ticket < ring.backlog).then_some(ticket);
                    insert.execute(params![ring.slot(table, ticket), number, now, text])?;
                }
            }
        }
        transaction.commit().context("committing a new table")
    }
}

impl Server for Sqlite {
    type Session = SqliteSession;

    async fn build(&mut self, table: Table) -> Result<()> {
        drop(self.files.remove(&table));
        let path = self.path(table);
        for end in ["", "-wal", "-shm"] {
            let file = format!("{}{end}", path.display());
            if let Err(error) = std::fs::remove_file(&file)
                && error.kind() != std::io::ErrorKind::NotFound
            {
                return Err(error).with_context(|| format!("removing {file}"));
            }
        }
        let mut connection = Connection::open(&path)?;
        connection.pragma_update(None, "journal_mode", "off")?;
        connection.pragma_update(None, "synchronous", "off")?;
        self.fill(table, &mut connection)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "full")?;
        self.files.insert(table, connection);
        Ok(())
    }

    async fn place(&mut self, terms: Terms) -> Result<Place> {
        let table = terms.design.table;
        if table != Table::RightEdge {
            let file = self.file(table)?;
            for (name, first) in [("push", terms.first.0), ("pop", terms.first.1)] {
                let sequence = "INSERT OR REPLACE INTO sequence VALUES (?1, ?2)";
                file.execute(sequence, params![name, first])?;
                let identity = format!("{name}_identity");
                file.execute(&format!("DELETE FROM {identity}"), [])?;
                file.execute("DELETE FROM sqlite_sequence WHERE name = ?1", [&identity])?;
                // The next automatic number is one more, and the tickets begin one before it.
                let begin = "INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)";
                file.execute(begin, params![identity, first])?;
            }
        }
        let Terms { design, durability, counted, .. } = terms;
        Ok(Place { path: self.path(table), design, durability, counted, ring: self.ring })
    }

    async fn left(&mut self, table: Table) -> Result<Vec<(i64, i64)>> {
        let left = match table {
            Table::RightEdge => statement!("right_edge_left"),
            Table::Neighbours | Table::Reversed => statement!("ring_left"),
        };
        let mut left = self.file(table)?.prepare(left)?;
        let rows = left.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    async fn write_out(&mut self, table: Table) -> Result<()> {
        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
        let busy: i64 = self.file(table)?.query_row(checkpoint, [], |row| row.get(0))?;
        if busy != 0 { bail!("the log of {} could not be emptied", table.name()) } else { Ok(()) }
    }

    async fn counts(&mut self, table: Table) -> Result<Counts> {
        let log = format!("{}-wal", self.path(table).display());
        let bytes = std::fs::read(&log).unwrap_or_default();
        let pages = pages_in_log(&bytes);
        let changed = pages.iter().collect::<BTreeSet<_>>().len();
        Ok(Counts { pages: pages.len() as i64, changed: changed as i64, lock_waits: 0 })
    }
}

/// The numbers of the pages in a write-ahead log, one for each frame since it began anew.
fn pages_in_log(log: &[u8]) -> Vec<u32> {
    const HEADER: usize = 32;
    const FRAME_HEADER: usize = 24;
    let word = |at: usize| {
        let bytes: Option<[u8; 4]> = log.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map(u32::from_be_bytes)
    };
    let (Some(page_bytes), Some(salts)) = (word(8), log.get(16..24)) else { return Vec::new() };
    let frame_bytes = FRAME_HEADER + page_bytes as usize;
    let frames = (HEADER..log.len()).step_by(frame_bytes);
    let of_now = frames.take_while(|at| log.get(at + 8..at + 16) == Some(salts));
    of_now.map_while(word).collect()
}

/// Microseconds since 1970.
fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.ok().and_then(|since| i64::try_from(since.as_micros()).ok()).unwrap_or(0)
}

/// Where a session connects to, and how it works there.
pub struct Place {
    path: PathBuf,
    design: Design,
    durability: Durability,
    counted: bool,
    ring: Ring,
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
    fn from_sequence(&mut self, name: &str) -> Result<i64> {
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
            (None, Tickets::Sequence) => self.from_sequence(name),
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
