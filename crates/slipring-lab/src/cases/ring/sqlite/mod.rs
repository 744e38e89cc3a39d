//! The designs on SQLite: a file for each table, and the pages in its log.

mod session;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use rusqlite::{Connection, params};

use super::contest::{Counts, Server, Terms};
use super::slots::{Ring, Table, write_message};
use session::{Place, SqliteSession};

/// A statement of this case.
macro_rules! statement {
    ($name:literal) => {
        include_str!(concat!("../../../../queries/ring/sqlite/", $name, ".sql"))
    };
}

use statement;

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
