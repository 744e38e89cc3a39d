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
        admin.disconnect().await?;
        let before = counters(&options).await?;
        Ok(MariaDb { options, method, before })
    }
}

/// Deadlocks and waits for row locks since the server was started.
///
/// # Errors
/// When the server fails.
pub async fn counters(options: &Opts) -> Result<(u64, u64)> {
    let mut connection = Conn::new(options.clone()).await?;
    let counters = include_str!("../../../../queries/jobs/mariadb/counters.sql");
    let rows: Vec<(String, u64)> = connection.query(counters).await?;
    connection.disconnect().await?;
    let of = |name: &str| {
        let row = rows.iter().find(|(found, _)| found.eq_ignore_ascii_case(name));
        row.map(|(_, value)| *value).with_context(|| format!("the server does not count {name}"))
    };
    Ok((of("Innodb_deadlocks")?, of("Innodb_row_lock_waits")?))
}

/// What the server has counted since [`counters`] answered `before`.
///
/// # Errors
/// When the server fails.
pub async fn counted_since(before: (u64, u64), options: &Opts) -> Result<Counted> {
    let (deadlocks, waits) = counters(options).await?;
    Ok(Counted {
        deadlocks: Some(deadlocks.saturating_sub(before.0)),
        lock_waits: Some(waits.saturating_sub(before.1)),
        waiting_mean: None,
    })
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
        counted_since(self.before, &self.options).await
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

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::body::{self, Content};
    use crate::cases::jobs::method::Pessimistic;
    use crate::mariadb::Server;

    /// With fewer rows the planner reads by the key, and the index plays no part.
    const ROWS: u64 = 10_000;

    /// Waits until a transaction waits for a row's lock. Read from the counter, which is exact:
    /// the table of transactions in `information_schema` is a copy, which the server makes anew
    /// only when 0.1 s have passed since the last read of it.
    async fn wait_for_a_waiter(connection: &mut Conn) {
        let deadline = Instant::now() + Duration::from_secs(30);
        let waiting = "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'";
        loop {
            let found: Option<(String, u64)> = connection.query_first(waiting).await.unwrap();
            if found.expect("the server counts waits").1 == 1 {
                return;
            }
            assert!(Instant::now() < deadline, "no transaction waits");
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_claim_and_a_delete_end_in_the_published_deadlock_on_the_index() {
        let mut server = Server::start().await.unwrap();
        let name = server.create_database().await.unwrap();
        let options = server.options(Some(&name));
        let table = MariaDb::new(options.clone(), Method::Pessimistic(Pessimistic::FIVE_TRIES));
        let table = table.await.unwrap();
        let bodies = (0..ROWS).map(|number| body::write(Content { number, due_ns: 0 }));
        table.fill(&bodies.collect::<Vec<Body>>()).await.unwrap();
        table.filled().await.unwrap();
        let open = async || Session::open(Conn::new(options.clone()).await.unwrap()).await.unwrap();
        let (mut deletes, mut claims) = (open().await, open().await);
        let first = deletes.look(Lock::None, 1).await.unwrap().remove(0);
        assert!(deletes.take(&first).await.unwrap());

        // The delete has the row by its key; the claim comes by the index and waits for the row;
        // then the delete wants the entry in the index.
        deletes.begin().await.unwrap();
        deletes.fetch(first.id).await.unwrap();
        claims.begin().await.unwrap();
        let claim = tokio::spawn(async move { claims.look(Lock::Wait, 1).await });
        let mut beside = Conn::new(options.clone()).await.unwrap();
        wait_for_a_waiter(&mut beside).await;
        let deleted = deletes.delete(first.id).await;
        let claimed = claim.await.unwrap();
        let lost =
            [matches!(deleted, Err(Failure::Deadlock)), matches!(claimed, Err(Failure::Deadlock))];
        assert_eq!(lost.iter().filter(|lost| **lost).count(), 1, "{deleted:?} {claimed:?}");
        assert_eq!(table.counted().await.unwrap().deadlocks, Some(1));
    }
}
