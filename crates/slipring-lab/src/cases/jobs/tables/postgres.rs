//! The table of jobs on PostgreSQL. Autovacuum is at its defaults; the table is analyzed once it
//! is filled, for no plan should depend on when autovacuum comes by.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tokio::task::AbortHandle;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Statement};

use super::{QUEUE, expired, now};
use crate::body::Body;
use crate::cases::jobs::claims::{Counted, Jobs, Tally};
use crate::cases::jobs::method::{Answer, Connection, Failure, Lock, Method, Row, TableWorker};
use crate::targets::postgres::connect;

/// Between two looks who waits for a lock.
const SAMPLE_EVERY: Duration = Duration::from_millis(20);
/// How long the connections of workers may outlive them.
const GONE_WITHIN: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// The table in a database of its own.
pub struct Postgres {
    url: String,
    method: Method,
    admin: Client,
    samples: Arc<Samples>,
    sampler: AbortHandle,
}

/// Who waited for a lock, over all looks at which a statement ran.
#[derive(Default)]
struct Samples {
    looks: AtomicU64,
    waiting: AtomicU64,
}

impl Postgres {
    /// Makes the table in the database at `url`, and begins to look who waits there.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn new(url: &str, method: Method) -> Result<Postgres> {
        let admin = connect(url).await?;
        let table = include_str!("../../../../queries/jobs/postgres/table.sql");
        admin.batch_execute(table).await.context("making the table of jobs")?;
        if method.index() {
            let index = include_str!("../../../../queries/jobs/postgres/index.sql");
            admin.batch_execute(index).await.context("making its index")?;
        }
        let samples = Arc::new(Samples::default());
        let sampler = connect(url).await?;
        let look = sampler.prepare(include_str!("../../../../queries/jobs/postgres/waiting.sql"));
        let look = look.await?;
        let found = Arc::clone(&samples);
        let task = tokio::spawn(async move {
            while let Ok(row) = sampler.query_one(&look, &[]).await {
                let (waiting, active): (i64, i64) = (row.get(0), row.get(1));
                if active > 0 {
                    found.looks.fetch_add(1, Ordering::Relaxed);
                    found.waiting.fetch_add(waiting.unsigned_abs(), Ordering::Relaxed);
                }
                tokio::time::sleep(SAMPLE_EVERY).await;
            }
        });
        let sampler = task.abort_handle();
        Ok(Postgres { url: url.to_owned(), method, admin, samples, sampler })
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.sampler.abort();
    }
}

impl Jobs for Postgres {
    type Worker = TableWorker<Session>;

    async fn fill(&self, bodies: &[Body]) -> Result<()> {
        let payloads = bodies.iter().map(|body| Ok(std::str::from_utf8(body)?));
        let payloads = payloads.collect::<Result<Vec<&str>>>()?;
        let fill = include_str!("../../../../queries/jobs/postgres/fill.sql");
        self.admin.execute(fill, &[&QUEUE, &seconds(now()), &payloads]).await?;
        Ok(())
    }

    async fn filled(&self) -> Result<()> {
        Ok(self.admin.batch_execute("ANALYZE jobs").await?)
    }

    async fn worker(&self, seed: u64, tally: &Arc<Tally>) -> Result<TableWorker<Session>> {
        let session = Session::open(connect(&self.url).await?).await?;
        Ok(TableWorker::new(session, self.method, seed, tally))
    }

    async fn counted(&self) -> Result<Counted> {
        // The sampler stays connected.
        let deadlocks = deadlocks(&self.admin, 1).await?;
        let looks = self.samples.looks.load(Ordering::Relaxed);
        let waiting = self.samples.waiting.load(Ordering::Relaxed);
        Ok(Counted {
            deadlocks: Some(deadlocks),
            lock_waits: None,
            waiting_mean: (looks > 0).then(|| waiting as f64 / looks as f64),
        })
    }
}

/// The deadlocks that the server has ended in the client's database, once at most so many others
/// are connected to it: a client tells the server what it counted as it goes.
///
/// # Errors
/// When the database fails.
pub async fn deadlocks(client: &Client, others_max: i64) -> Result<u64> {
    let sessions = include_str!("../../../../queries/jobs/postgres/sessions.sql");
    let deadline = Instant::now() + GONE_WITHIN;
    while client.query_one(sessions, &[]).await?.try_get::<_, i64>(0)? > others_max {
        if Instant::now() > deadline {
            bail!("workers of a run are still connected {GONE_WITHIN:?} after its end");
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    let deadlocks = include_str!("../../../../queries/jobs/postgres/deadlocks.sql");
    Ok(client.query_one(deadlocks, &[]).await?.try_get::<_, i64>(0)?.unsigned_abs())
}

/// The table has times as 32 bits, as the framework makes it.
fn seconds(seconds: i64) -> i32 {
    i32::try_from(seconds).unwrap_or(i32::MAX)
}

/// A connection with its prepared statements.
pub struct Session {
    client: Client,
    look: [Statement; 3],
    reserve: Statement,
    take: Statement,
    fetch: Statement,
    mark: Statement,
    delete: Statement,
}

impl Session {
    async fn open(client: Client) -> Result<Session> {
        let look = [
            client.prepare(include_str!("../../../../queries/jobs/postgres/look.sql")).await?,
            client
                .prepare(include_str!("../../../../queries/jobs/postgres/look_locked.sql"))
                .await?,
            client
                .prepare(include_str!("../../../../queries/jobs/postgres/look_skip_locked.sql"))
                .await?,
        ];
        let reserve = include_str!("../../../../queries/jobs/postgres/reserve.sql");
        Ok(Session {
            look,
            reserve: client.prepare(reserve).await?,
            take: client
                .prepare(include_str!("../../../../queries/jobs/postgres/take.sql"))
                .await?,
            fetch: client
                .prepare(include_str!("../../../../queries/jobs/postgres/fetch.sql"))
                .await?,
            mark: client
                .prepare(include_str!("../../../../queries/jobs/postgres/mark.sql"))
                .await?,
            delete: client
                .prepare(include_str!("../../../../queries/jobs/postgres/delete.sql"))
                .await?,
            client,
        })
    }
}

/// Tells a deadlock from other errors.
fn failure(error: tokio_postgres::Error) -> Failure {
    match error.code() {
        Some(code) if *code == SqlState::T_R_DEADLOCK_DETECTED => Failure::Deadlock,
        Some(code) if *code == SqlState::T_R_SERIALIZATION_FAILURE => Failure::Refused,
        _ => Failure::Other(error.into()),
    }
}

impl Connection for Session {
    async fn begin(&mut self) -> Answer<()> {
        self.client.batch_execute("BEGIN").await.map_err(failure)
    }

    async fn commit(&mut self) -> Answer<()> {
        self.client.batch_execute("COMMIT").await.map_err(failure)
    }

    async fn roll_back(&mut self) -> Answer<()> {
        self.client.batch_execute("ROLLBACK").await.map_err(failure)
    }

    async fn look(&mut self, lock: Lock, up_to: i64) -> Answer<Vec<Row>> {
        let [plain, wait, skip] = &self.look;
        let statement = match lock {
            Lock::None => plain,
            Lock::Wait => wait,
            Lock::Skip => skip,
        };
        let now = now();
        let (now, expired) = (seconds(now), seconds(expired(now)));
        let rows = self.client.query(statement, &[&QUEUE, &now, &expired, &up_to]).await;
        let row = |row: tokio_postgres::Row| -> Result<Row, tokio_postgres::Error> {
            Ok(Row {
                id: row.try_get(0)?,
                payload: row.try_get(1)?,
                version: row.try_get::<_, i32>(2)?.into(),
                marked: row.try_get::<_, i16>(3)? != 0,
            })
        };
        let rows = rows.map_err(failure)?.into_iter().map(row);
        rows.collect::<Result<Vec<Row>, _>>().map_err(failure)
    }

    async fn reserve(&mut self, row: &Row) -> Answer<()> {
        let changed = self.client.execute(&self.reserve, &[&seconds(now()), &row.id]).await;
        changed.map(|_| ()).map_err(failure)
    }

    async fn take(&mut self, row: &Row) -> Answer<bool> {
        let version = i32::try_from(row.version).unwrap_or(i32::MAX);
        let taken = self.client.execute(&self.take, &[&seconds(now()), &row.id, &version]).await;
        taken.map(|rows| rows == 1).map_err(failure)
    }

    async fn fetch(&mut self, id: i64) -> Answer<()> {
        self.client.query(&self.fetch, &[&id]).await.map(|_| ()).map_err(failure)
    }

    async fn mark(&mut self, id: i64) -> Answer<()> {
        self.client.execute(&self.mark, &[&id]).await.map(|_| ()).map_err(failure)
    }

    async fn delete(&mut self, id: i64) -> Answer<usize> {
        let gone = self.client.execute(&self.delete, &[&id]).await;
        gone.map(|rows| usize::from(rows > 0)).map_err(failure)
    }
}
