//! The table of jobs on SQLite: WAL, synchronous=FULL, a connection for each worker. SQLite locks
//! no rows: where the published claim locks one, BEGIN IMMEDIATE locks the file, so that there are
//! no deadlocks to lose a delete by.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use rusqlite::{Connection as File, ErrorCode, params};

use super::{QUEUE, expired, now};
use crate::body::Body;
use crate::cases::jobs::claims::{Jobs, Tally};
use crate::cases::jobs::method::{Answer, Connection, Failure, Lock, Method, Row, TableWorker};

/// How long a writer waits for another, by SQLite's own way of waiting: what PHP's driver sets.
const BUSY_TIMEOUT: Duration = Duration::from_secs(60);

const LOOK: &str = include_str!("../../../../queries/jobs/sqlite/look.sql");
const RESERVE: &str = include_str!("../../../../queries/jobs/sqlite/reserve.sql");
const TAKE: &str = include_str!("../../../../queries/jobs/sqlite/take.sql");
const FETCH: &str = include_str!("../../../../queries/jobs/sqlite/fetch.sql");
const MARK: &str = include_str!("../../../../queries/jobs/sqlite/mark.sql");
const DELETE: &str = include_str!("../../../../queries/jobs/sqlite/delete.sql");

/// The table in a file of its own.
pub struct Sqlite {
    path: PathBuf,
    method: Method,
}

impl Sqlite {
    /// Makes the table in a new file.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn new(folder: &Path, method: Method) -> Result<Sqlite> {
        let path = folder.join("jobs.db");
        let file = open(&path)?;
        file.execute_batch(include_str!("../../../../queries/jobs/sqlite/table.sql"))?;
        if method.index() {
            file.execute_batch(include_str!("../../../../queries/jobs/sqlite/index.sql"))?;
        }
        Ok(Sqlite { path, method })
    }
}

fn open(path: &Path) -> Result<File> {
    let file = File::open(path)?;
    file.pragma_update(None, "journal_mode", "WAL")?;
    file.pragma_update(None, "synchronous", "FULL")?;
    file.busy_timeout(BUSY_TIMEOUT)?;
    Ok(file)
}

impl Jobs for Sqlite {
    type Worker = TableWorker<Session>;
    const BLOCKS: bool = true;

    async fn fill(&self, bodies: &[Body]) -> Result<()> {
        let mut file = open(&self.path)?;
        let transaction = file.transaction()?;
        let mut fill =
            transaction.prepare(include_str!("../../../../queries/jobs/sqlite/fill.sql"))?;
        let now = now();
        for body in bodies {
            fill.execute(params![QUEUE, std::str::from_utf8(body)?, now])?;
        }
        drop(fill);
        Ok(transaction.commit()?)
    }

    async fn filled(&self) -> Result<()> {
        Ok(open(&self.path)?.execute_batch("ANALYZE")?)
    }

    async fn worker(&self, seed: u64, tally: &Arc<Tally>) -> Result<TableWorker<Session>> {
        Ok(TableWorker::new(Session(open(&self.path)?), self.method, seed, tally))
    }
}

/// A connection; it keeps its prepared statements.
pub struct Session(File);

impl Session {
    fn plain(&self, statement: &str) -> Answer<()> {
        self.0.execute_batch(statement).map_err(failure)
    }

    fn execute(&self, statement: &str, values: impl rusqlite::Params) -> Answer<usize> {
        let mut prepared = self.0.prepare_cached(statement).map_err(failure)?;
        prepared.execute(values).map_err(failure)
    }

    fn rows(&self, up_to: i64) -> rusqlite::Result<Vec<Row>> {
        let mut look = self.0.prepare_cached(LOOK)?;
        let now = now();
        let rows = look.query_map(params![QUEUE, now, expired(now), up_to], |row| {
            Ok(Row {
                id: row.get(0)?,
                payload: row.get(1)?,
                version: row.get(2)?,
                marked: row.get(3)?,
            })
        })?;
        rows.collect()
    }
}

/// Tells that another connection wrote from other errors.
fn failure(error: rusqlite::Error) -> Failure {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Failure::Refused,
        _ => Failure::Other(error.into()),
    }
}

impl Connection for Session {
    async fn begin(&mut self) -> Answer<()> {
        self.plain("BEGIN IMMEDIATE")
    }

    async fn commit(&mut self) -> Answer<()> {
        self.plain("COMMIT")
    }

    async fn roll_back(&mut self) -> Answer<()> {
        if self.0.is_autocommit() { Ok(()) } else { self.plain("ROLLBACK") }
    }

    async fn look(&mut self, _: Lock, up_to: i64) -> Answer<Vec<Row>> {
        self.rows(up_to).map_err(failure)
    }

    async fn reserve(&mut self, row: &Row) -> Answer<()> {
        self.execute(RESERVE, params![now(), row.id]).map(|_| ())
    }

    async fn take(&mut self, row: &Row) -> Answer<bool> {
        self.execute(TAKE, params![now(), row.id, row.version]).map(|rows| rows == 1)
    }

    async fn fetch(&mut self, id: i64) -> Answer<()> {
        let mut fetch = self.0.prepare_cached(FETCH).map_err(failure)?;
        let fetched = fetch.query_map([id], |row| row.get::<_, i64>(0)).map_err(failure)?;
        fetched.collect::<rusqlite::Result<Vec<i64>>>().map(|_| ()).map_err(failure)
    }

    async fn mark(&mut self, id: i64) -> Answer<()> {
        self.execute(MARK, [id]).map(|_| ())
    }

    async fn delete(&mut self, id: i64) -> Answer<usize> {
        self.execute(DELETE, [id])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::{self, Content};
    use crate::cases::jobs::claims::Worker;
    use crate::cases::jobs::method::Pessimistic;

    /// A table of two jobs with one worker on it, and a connection beside it.
    async fn filled(folder: &Path, how: Pessimistic) -> (TableWorker<Session>, Arc<Tally>, File) {
        let table = Sqlite::new(folder, Method::Pessimistic(how)).unwrap();
        let body = |number| body::write(Content { number, due_ns: 0 });
        table.fill(&[body(0), body(1)]).await.unwrap();
        let tally = Arc::new(Tally::default());
        let beside = open(&table.path).unwrap();
        let session = Session(open(&table.path).unwrap());
        session.0.busy_timeout(Duration::ZERO).unwrap();
        (TableWorker::new(session, Method::Pessimistic(how), 1, &tally), tally, beside)
    }

    async fn claim(worker: &mut TableWorker<Session>) -> Option<u64> {
        let mut claimed = None;
        let mut run = |body: &[u8]| {
            claimed = Some(body::read(body)?.number);
            Ok(())
        };
        worker.claim(1, &mut run).await.unwrap();
        claimed
    }

    #[tokio::test]
    async fn a_delete_that_fails_to_the_end_leaves_its_job_to_run_again() {
        let folder = tempfile::tempdir().unwrap();
        let (mut worker, tally, beside) = filled(folder.path(), Pessimistic::FIVE_TRIES).await;
        assert_eq!(claim(&mut worker).await, Some(0));
        beside.execute_batch("BEGIN IMMEDIATE").unwrap();
        worker.finish().await.unwrap();
        let counts = tally.counts();
        assert_eq!((counts.refused, counts.lost_deletes), (5, 1));
        // Its time is over.
        beside.execute_batch("UPDATE jobs SET reserved_at = 0 WHERE id = 1; COMMIT").unwrap();
        assert_eq!(claim(&mut worker).await, Some(0));
        worker.finish().await.unwrap();
        assert_eq!(claim(&mut worker).await, Some(1));
        worker.finish().await.unwrap();
        assert_eq!(claim(&mut worker).await, None);
    }

    #[tokio::test]
    async fn a_job_that_is_marked_as_executed_is_deleted_and_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let how = Pessimistic { mark: true, tries: 0, ..Pessimistic::FIVE_TRIES };
        let (mut worker, tally, beside) = filled(folder.path(), how).await;
        assert_eq!(claim(&mut worker).await, Some(0));
        // No try is left for the delete; the mark is there.
        worker.finish().await.unwrap();
        beside.execute_batch("UPDATE jobs SET reserved_at = 0 WHERE id = 1").unwrap();
        assert_eq!(claim(&mut worker).await, Some(1));
        assert_eq!(tally.gone.load(std::sync::atomic::Ordering::Relaxed), 1);
        let left: i64 =
            beside.query_row("SELECT count(*) FROM jobs", [], |row| row.get(0)).unwrap();
        assert_eq!(left, 1);
    }
}
