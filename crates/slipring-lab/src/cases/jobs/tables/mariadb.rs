//! The table of jobs on MariaDB, which stands for the MySQL of the publication. Transactions are
//! REPEATABLE READ, which is the server's default and what the published runs had.

use std::sync::Arc;

use anyhow::{Context, Result};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, Params, Statement, TxOpts};

use super::{QUEUE, expired, now};
use crate::body::Body;
use crate::cases::jobs::claims::{Counted, Jobs, Tally};
use crate::cases::jobs::method::{Answer, Connection, Failure, Lock, Method, Row, TableWorker};

/// The server's number of a deadlock, and that of a wait for a lock that took too long.
const DEADLOCK: u16 = 1213;
const LOCK_WAIT_TIMEOUT: u16 = 1205;

/// The table in a database of its own.
pub struct MariaDb {
    options: Opts,
    method: Method,
    /// The server's counters when the table was made: deadlocks, lock waits.
    before: (u64, u64),
}

impl MariaDb {
    /// Makes the table in the database that `options` lead to.
    ///
    /// # Errors
    /// When the server fails.
    pub async fn new(options: Opts, method: Method) -> Result<MariaDb> {
        let mut admin = Conn::new(options.clone()).await.context("connecting to MariaDB")?;
        let table = include_str!("../../../../queries/jobs/mariadb/table.sql");
        admin.query_drop(table).await.context("making the table of jobs")?;
        if method.index() {
            let index = include_str!("../../../../queries/jobs/mariadb/index.sql");
            admin.query_drop(index).await.context("making its index")?;
        }
        let before = counters(&mut admin).await?;
        admin.disconnect().await?;
        Ok(MariaDb { options, method, before })
    }
}

/// Deadlocks and waits for row locks since the server was started.
async fn counters(connection: &mut Conn) -> Result<(u64, u64)> {
    let counters = include_str!("../../../../queries/jobs/mariadb/counters.sql");
    let rows: Vec<(String, u64)> = connection.query(counters).await?;
    let of = |name: &str| {
        let row = rows.iter().find(|(found, _)| found.eq_ignore_ascii_case(name));
        row.map(|(_, value)| *value).with_context(|| format!("the server does not count {name}"))
    };
    Ok((of("Innodb_deadlocks")?, of("Innodb_row_lock_waits")?))
}

impl Jobs for MariaDb {
    type Worker = TableWorker<Session>;

    async fn fill(&self, bodies: &[Body]) -> Result<()> {
        let mut connection = Conn::new(self.options.clone()).await?;
        let now = now();
        let mut transaction = connection.start_transaction(TxOpts::default()).await?;
        let fill = include_str!("../../../../queries/jobs/mariadb/fill.sql");
        let rows = bodies.iter().map(|body| (QUEUE, body.as_slice(), now, now));
        transaction.exec_batch(fill, rows).await?;
        transaction.commit().await?;
        Ok(connection.disconnect().await?)
    }

    async fn filled(&self) -> Result<()> {
        let mut connection = Conn::new(self.options.clone()).await?;
        connection.query_drop("ANALYZE TABLE jobs").await?;
        Ok(connection.disconnect().await?)
    }

    async fn worker(&self, seed: u64, tally: &Arc<Tally>) -> Result<TableWorker<Session>> {
        let session = Session::open(Conn::new(self.options.clone()).await?).await?;
        Ok(TableWorker::new(session, self.method, seed, tally))
    }

    async fn counted(&self) -> Result<Counted> {
        let mut admin = Conn::new(self.options.clone()).await?;
        let (deadlocks, waits) = counters(&mut admin).await?;
        admin.disconnect().await?;
        Ok(Counted {
            deadlocks: Some(deadlocks.saturating_sub(self.before.0)),
            lock_waits: Some(waits.saturating_sub(self.before.1)),
            waiting_mean: None,
        })
    }
}

/// A connection with its prepared statements.
pub struct Session {
    connection: Conn,
    look: [Statement; 3],
    reserve: Statement,
    take: Statement,
    fetch: Statement,
    mark: Statement,
    delete: Statement,
}

impl Session {
    async fn open(mut c: Conn) -> Result<Session> {
        let look = [
            c.prep(include_str!("../../../../queries/jobs/mariadb/look.sql")).await?,
            c.prep(include_str!("../../../../queries/jobs/mariadb/look_locked.sql")).await?,
            c.prep(include_str!("../../../../queries/jobs/mariadb/look_skip_locked.sql")).await?,
        ];
        Ok(Session {
            look,
            reserve: c.prep(include_str!("../../../../queries/jobs/mariadb/reserve.sql")).await?,
            take: c.prep(include_str!("../../../../queries/jobs/mariadb/take.sql")).await?,
            fetch: c.prep(include_str!("../../../../queries/jobs/mariadb/fetch.sql")).await?,
            mark: c.prep(include_str!("../../../../queries/jobs/mariadb/mark.sql")).await?,
            delete: c.prep(include_str!("../../../../queries/jobs/mariadb/delete.sql")).await?,
            connection: c,
        })
    }

    /// Runs a prepared statement; answers how many rows it changed.
    async fn execute(
        &mut self,
        statement: Statement,
        values: impl Into<Params> + Send,
    ) -> Answer<u64> {
        self.connection.exec_drop(statement, values).await.map_err(failure)?;
        Ok(self.connection.affected_rows())
    }

    async fn plain(&mut self, statement: &'static str) -> Answer<()> {
        self.connection.query_drop(statement).await.map_err(failure)
    }
}

/// Tells a deadlock from other errors.
fn failure(error: mysql_async::Error) -> Failure {
    match &error {
        mysql_async::Error::Server(told) if told.code == DEADLOCK => Failure::Deadlock,
        mysql_async::Error::Server(told) if told.code == LOCK_WAIT_TIMEOUT => Failure::Refused,
        _ => Failure::Other(error.into()),
    }
}

impl Connection for Session {
    async fn begin(&mut self) -> Answer<()> {
        self.plain("BEGIN").await
    }

    async fn commit(&mut self) -> Answer<()> {
        self.plain("COMMIT").await
    }

    async fn roll_back(&mut self) -> Answer<()> {
        self.plain("ROLLBACK").await
    }

    async fn look(&mut self, lock: Lock, up_to: i64) -> Answer<Vec<Row>> {
        let [plain, wait, skip] = &self.look;
        let statement = match lock {
            Lock::None => plain.clone(),
            Lock::Wait => wait.clone(),
            Lock::Skip => skip.clone(),
        };
        let now = now();
        let values = (QUEUE, now, expired(now), up_to);
        let row = |(id, payload, version, marked): (i64, String, i64, bool)| Row {
            id,
            payload,
            version,
            marked,
        };
        self.connection.exec_map(statement, values, row).await.map_err(failure)
    }

    async fn reserve(&mut self, row: &Row) -> Answer<()> {
        self.execute(self.reserve.clone(), (now(), row.id)).await.map(|_| ())
    }

    async fn take(&mut self, row: &Row) -> Answer<bool> {
        let taken = self.execute(self.take.clone(), (now(), row.id, row.version)).await;
        taken.map(|rows| rows == 1)
    }

    async fn fetch(&mut self, id: i64) -> Answer<()> {
        let fetched: Result<Option<(i64, String)>, _> =
            self.connection.exec_first(self.fetch.clone(), (id,)).await;
        fetched.map(|_| ()).map_err(failure)
    }

    async fn mark(&mut self, id: i64) -> Answer<()> {
        self.execute(self.mark.clone(), (id,)).await.map(|_| ())
    }

    async fn delete(&mut self, id: i64) -> Answer<usize> {
        self.execute(self.delete.clone(), (id,)).await.map(|rows| usize::from(rows > 0))
    }
}
