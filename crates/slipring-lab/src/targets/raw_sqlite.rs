//! The limit of SQLite: a bare rusqlite loop over a table of bodies, WAL and synchronous=FULL.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rusqlite::Connection;

use super::{Caller, Look, Target};
use crate::body::Body;
use crate::workloads::Settings;

/// A file with one table.
pub struct RawSqlite(PathBuf);

impl Target for RawSqlite {
    type Caller = RawSqliteCaller;

    async fn start(_: &Settings, folder: &Path) -> Result<RawSqlite> {
        Ok(RawSqlite(folder.join("raw.db")))
    }

    async fn caller(&self, _: &str) -> Result<RawSqliteCaller> {
        let open = || -> rusqlite::Result<Connection> {
            let connection = Connection::open(&self.0)?;
            connection.pragma_update(None, "journal_mode", "wal")?;
            connection.pragma_update(None, "synchronous", "full")?;
            connection.busy_timeout(Duration::from_secs(10))?;
            let table = "create table if not exists message (id integer primary key, body blob)";
            connection.execute(table, [])?;
            Ok(connection)
        };
        let connection = open().with_context(|| format!("opening {}", self.0.display()))?;
        Ok(RawSqliteCaller { connection, held: Vec::new() })
    }
}

/// One transaction per call.
pub struct RawSqliteCaller {
    connection: Connection,
    held: Vec<i64>,
}

impl Caller for RawSqliteCaller {
    async fn send(&mut self, bodies: &[Body]) -> Result<()> {
        let transaction = self.connection.transaction()?;
        {
            let mut insert = transaction.prepare_cached("insert into message (body) values (?)")?;
            for body in bodies {
                insert.execute([body])?;
            }
        }
        transaction.commit().context("committing")
    }

    async fn receive(&mut self, up_to: usize, _: Duration, look: Look<'_>) -> Result<usize> {
        if !self.held.is_empty() {
            bail!("the raw loop holds one batch at a time");
        }
        let mut select =
            self.connection.prepare_cached("select id, body from message order by id limit ?")?;
        let mut rows = select.query([up_to as i64])?;
        while let Some(row) = rows.next()? {
            self.held.push(row.get(0)?);
            look(row.get_ref(1)?.as_blob()?)?;
        }
        Ok(self.held.len())
    }

    async fn ack(&mut self) -> Result<()> {
        let (Some(first), Some(last)) = (self.held.first(), self.held.last()) else {
            return Ok(());
        };
        let mut delete =
            self.connection.prepare_cached("delete from message where id between ? and ?")?;
        let deleted = delete.execute([first, last])?;
        if deleted != self.held.len() {
            bail!("{deleted} of {} rows were deleted", self.held.len());
        }
        drop(delete);
        self.held.clear();
        Ok(())
    }

    async fn count(&mut self) -> Result<Option<u64>> {
        let count = "select count(*) from message";
        let count: i64 = self.connection.query_row(count, [], |row| row.get(0))?;
        Ok(u64::try_from(count).ok())
    }
}
