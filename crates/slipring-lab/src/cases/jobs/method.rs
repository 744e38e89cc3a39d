//! How a worker claims from a table of jobs: the published methods, over any database.

use std::future::Future;
use std::sync::Arc;

use anyhow::Result;
use slipring::{Randomness, SeededRandomness};

use super::claims::{Tally, Worker};
use crate::targets::Look;

/// A job that is reserved for longer runs again, in seconds: what the published runs had.
pub const EXPIRY_SECONDS: i64 = 4;

/// A way to claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// The first available row is locked, marked as reserved, and deleted after the work.
    Pessimistic(Pessimistic),
    /// So many available rows are read without a lock; one of them, picked at random, is taken if
    /// its version has not changed.
    Optimistic {
        /// Rows that are read; the published runs had 1, or one for each worker.
        window: i64,
    },
}

/// What differs between the pessimistic methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pessimistic {
    /// A delete that ends in a deadlock is tried so often before the job is left to run again.
    pub tries: u32,
    /// The row is read and locked before it is deleted, as the original did.
    pub fetch: bool,
    /// The row is marked before it is deleted; a marked row that comes again is deleted and not
    /// run.
    pub mark: bool,
    /// The table has the index on the queue's name.
    pub index: bool,
    /// Rows that others have locked are passed over.
    pub skip_locked: bool,
}

impl Pessimistic {
    /// The fastest of the published ones: five tries, no read before the delete.
    pub const FIVE_TRIES: Pessimistic =
        Pessimistic { tries: 5, fetch: false, mark: false, index: true, skip_locked: false };
}

impl Method {
    /// Whether the table has the index on the queue's name.
    pub fn index(self) -> bool {
        !matches!(self, Method::Pessimistic(Pessimistic { index: false, .. }))
    }
}

/// How the rows that are read are locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// Not at all.
    None,
    /// For an update; what others have locked is waited for.
    Wait,
    /// For an update; what others have locked is passed over.
    Skip,
}

/// A row of the table of jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its key, in the order of sends.
    pub id: i64,
    /// The job.
    pub payload: String,
    /// Raised by each optimistic claim.
    pub version: i64,
    /// It was executed, and is to be deleted.
    pub marked: bool,
}

/// Why a statement did not do what it was for.
#[derive(Debug)]
pub enum Failure {
    /// The database ended the transaction as one of a deadlock.
    Deadlock,
    /// Another connection wrote, or has written since this one's snapshot.
    Refused,
    /// Anything else.
    Other(anyhow::Error),
}

/// What a statement answers.
pub type Answer<T> = Result<T, Failure>;

/// A connection to a database with the table of jobs, with the statements of its dialect.
pub trait Connection: Send + 'static {
    /// Begins a transaction.
    fn begin(&mut self) -> impl Future<Output = Answer<()>> + Send;
    /// Commits it.
    fn commit(&mut self) -> impl Future<Output = Answer<()>> + Send;
    /// Undoes it, if one is open.
    fn roll_back(&mut self) -> impl Future<Output = Answer<()>> + Send;
    /// Reads up to so many of the first available rows, locked or not.
    fn look(&mut self, lock: Lock, up_to: i64) -> impl Future<Output = Answer<Vec<Row>>> + Send;
    /// Marks a locked row as reserved.
    fn reserve(&mut self, row: &Row) -> impl Future<Output = Answer<()>> + Send;
    /// Marks a row as reserved if its version has not changed; answers whether it did.
    fn take(&mut self, row: &Row) -> impl Future<Output = Answer<bool>> + Send;
    /// Reads and locks a row by its key.
    fn fetch(&mut self, id: i64) -> impl Future<Output = Answer<()>> + Send;
    /// Marks a row as executed.
    fn mark(&mut self, id: i64) -> impl Future<Output = Answer<()>> + Send;
    /// Deletes a row; answers how many there were.
    fn delete(&mut self, id: i64) -> impl Future<Output = Answer<usize>> + Send;
}

/// A worker on a table.
pub struct TableWorker<C> {
    connection: C,
    method: Method,
    choices: SeededRandomness,
    held: Option<i64>,
    tally: Arc<Tally>,
}

impl<C: Connection> TableWorker<C> {
    /// A worker that holds nothing yet.
    pub fn new(connection: C, method: Method, seed: u64, tally: &Arc<Tally>) -> TableWorker<C> {
        let choices = SeededRandomness::new(seed);
        TableWorker { connection, method, choices, held: None, tally: Arc::clone(tally) }
    }

    /// Locks the first available row and marks it as reserved, in one transaction. A row that is
    /// marked as executed is deleted instead.
    async fn lock_and_reserve(&mut self, lock: Lock) -> Answer<Option<Row>> {
        loop {
            self.connection.begin().await?;
            let Some(row) = self.connection.look(lock, 1).await?.pop() else {
                self.connection.commit().await?;
                return Ok(None);
            };
            Tally::add(&self.tally.rounds, 1);
            if !row.marked {
                self.connection.reserve(&row).await?;
                self.connection.commit().await?;
                return Ok(Some(row));
            }
            let gone = self.connection.delete(row.id).await?;
            self.connection.commit().await?;
            Tally::add(&self.tally.gone, gone);
        }
    }

    /// Reads a window of rows and takes one of them, until one was taken or there is none.
    async fn read_and_take(&mut self, window: i64) -> Answer<Option<Row>> {
        loop {
            let mut rows = self.connection.look(Lock::None, window).await?;
            if rows.is_empty() {
                return Ok(None);
            }
            Tally::add(&self.tally.rounds, 1);
            let pick = (self.choices.unit() * rows.len() as f64) as usize;
            let row = rows.swap_remove(pick.min(rows.len() - 1));
            if self.connection.take(&row).await? {
                return Ok(Some(row));
            }
        }
    }

    async fn claim_once(&mut self) -> Answer<Option<Row>> {
        match self.method {
            Method::Optimistic { window } => self.read_and_take(window).await,
            Method::Pessimistic(how) => {
                self.lock_and_reserve(if how.skip_locked { Lock::Skip } else { Lock::Wait }).await
            }
        }
    }

    /// Deletes the row; a delete without more statements needs no transaction of its own.
    async fn delete_once(&mut self, id: i64, fetch: bool) -> Answer<usize> {
        if !fetch {
            return self.connection.delete(id).await;
        }
        self.connection.begin().await?;
        self.connection.fetch(id).await?;
        let gone = self.connection.delete(id).await?;
        self.connection.commit().await?;
        Ok(gone)
    }

    /// Counts a failure that is none of the database's, and undoes the transaction.
    async fn failed(&mut self, failure: Failure, deadlocks: Deadlocks) -> Result<()> {
        let tally = Arc::clone(&self.tally);
        match failure {
            Failure::Deadlock => Tally::add(deadlocks(&tally), 1),
            Failure::Refused => Tally::add(&tally.refused, 1),
            Failure::Other(error) => return Err(error),
        }
        match self.connection.roll_back().await {
            Err(Failure::Other(error)) => Err(error),
            _ => Ok(()),
        }
    }
}

/// Which count a deadlock belongs to.
type Deadlocks = fn(&Tally) -> &std::sync::atomic::AtomicU64;

impl<C: Connection> Worker for TableWorker<C> {
    /// A claim that ends in a deadlock is tried again at once. The original waited for seconds
    /// then.
    async fn claim(&mut self, _: usize, run: Look<'_>) -> Result<usize> {
        loop {
            match self.claim_once().await {
                Ok(None) => return Ok(0),
                Ok(Some(row)) => {
                    Tally::add(&self.tally.claims, 1);
                    self.held = Some(row.id);
                    run(row.payload.as_bytes())?;
                    return Ok(1);
                }
                Err(failure) => self.failed(failure, |tally| &tally.claim_deadlocks).await?,
            }
        }
    }

    async fn finish(&mut self) -> Result<()> {
        let Some(id) = self.held.take() else { return Ok(()) };
        let (tries, fetch, mark) = match self.method {
            Method::Optimistic { .. } => (1, false, false),
            Method::Pessimistic(how) => (how.tries, how.fetch, how.mark),
        };
        if mark && let Err(failure) = self.connection.mark(id).await {
            self.failed(failure, |tally| &tally.delete_deadlocks).await?;
        }
        for _ in 0..tries {
            match self.delete_once(id, fetch).await {
                Ok(gone) => {
                    Tally::add(&self.tally.gone, gone);
                    return Ok(());
                }
                Err(failure) => self.failed(failure, |tally| &tally.delete_deadlocks).await?,
            }
        }
        Tally::add(&self.tally.lost_deletes, 1);
        Ok(())
    }
}
