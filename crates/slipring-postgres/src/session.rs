//! One statement against the database: a connection from the pool, the time limit, and sending it
//! again where that is safe.
//!
//! A statement is a transaction of its own. Where a pooler may give each transaction another
//! session it is unnamed, so that nothing is kept on a connection; where connections lead straight
//! to the server (see `straight`) it is prepared once for each.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deadpool_postgres::{
    Manager, ManagerConfig, Object, Pool, QueueMode, RecyclingMethod, Runtime,
};
use futures::TryStreamExt;
use slipring::clock::monotonic_ns;
use slipring::{Error, ErrorKind, Retry, WaitClass, Waits};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Row, RowStream};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::address::Address;
use crate::fault::{self, Fate, closed, pool_error, storage_error};
use crate::options::PostgresOptions;
use crate::patience::within;
use crate::queries::{Effect, Query, WRITE_SOMETHING};
use crate::straight;

/// A statement that others stood in the way of is sent so often.
const TRIES_MAX: u32 = 10;
/// Of fewer connections than this none is spared for waiting.
const SPARE_FROM: usize = 4;

/// A parameter and its type. Types are given, so the server is not asked for them first.
pub(crate) type Param<'a> = (&'a (dyn ToSql + Sync), Type);

/// What reaches the database.
pub(crate) struct Session {
    pool: Pool,
    connector: MakeRustlsConnect,
    shown: String,
    user: String,
    statement_timeout: Duration,
    connection_wait: Arc<WaitClass>,
    statement_wait: Arc<WaitClass>,
    /// The last write found no room.
    full: AtomicBool,
    /// Statements are kept on connections.
    prepares: AtomicBool,
}

/// Why one attempt failed.
enum Failure {
    /// It did not reach the server.
    Unsent(Error),
    Database {
        error: tokio_postgres::Error,
        completed: bool,
    },
    TimedOut,
}

impl Session {
    /// Gets ready to connect; connects to nothing yet.
    pub(crate) fn new(address: &Address, options: &PostgresOptions) -> Result<Session, Error> {
        let (protection, root) = address.protection();
        let connector = protection.connector(root)?;
        let config = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(address.config(options), connector.clone(), config);
        let pool = Pool::builder(manager)
            .max_size(options.connections.max(1))
            // The last one used is the one whose functions are compiled and cached.
            .queue_mode(QueueMode::Lifo)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(options.connect_timeout))
            .create_timeout(Some(options.connect_timeout))
            .build();
        let pool = pool.map_err(|error| {
            Error::new(ErrorKind::Internal, "the pool of connections cannot be made")
                .caused_by(error)
        })?;
        let waits: &Waits = &options.waits;
        Ok(Session {
            pool,
            connector,
            shown: address.to_string(),
            user: address.user().to_owned(),
            statement_timeout: options.statement_timeout,
            connection_wait: waits.class("postgres.connection"),
            statement_wait: waits.class("postgres.statement"),
            full: AtomicBool::new(false),
            prepares: AtomicBool::new(false),
        })
    }

    /// From now on, keeps statements on connections if the address says so or leads straight to a
    /// server.
    pub(crate) async fn choose_statements(&self, address: &Address, options: &PostgresOptions) {
        let prepares = match address.prepares() {
            Some(prepares) => prepares,
            None => {
                let config = address.config(options);
                straight::leads_straight(&config, &self.connector, options.connect_timeout).await
            }
        };
        self.prepares.store(prepares, Ordering::Relaxed);
    }

    /// Whether statements are kept on connections now.
    pub(crate) fn prepares(&self) -> bool {
        self.prepares.load(Ordering::Relaxed)
    }

    /// The address for people.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// Runs a statement and answers its rows.
    pub(crate) async fn rows(
        &self,
        query: &Query,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, Error> {
        let answer = self.tried(query, params).await;
        if query.effect == Effect::Writes {
            match &answer {
                Ok(_) => self.full.store(false, Ordering::Relaxed),
                Err(error) if error.kind() == ErrorKind::StorageFull => {
                    self.full.store(true, Ordering::Relaxed);
                }
                Err(_) => {}
            }
        }
        answer.map_err(|error| self.located(error).during(query.operation))
    }

    /// Runs a statement that answers at most one row.
    pub(crate) async fn row(
        &self,
        query: &Query,
        params: &[Param<'_>],
    ) -> Result<Option<Row>, Error> {
        Ok(self.rows(query, params).await?.into_iter().next())
    }

    /// Runs a statement that waits in the server; dropping the future ends it. It is not sent
    /// again. Answers whether it gave a row.
    pub(crate) async fn wait(&self, query: &Query, params: &[Param<'_>]) -> Result<bool, Error> {
        let connection = self.connection().await?;
        let mut waiting = Waiting { connection: Some(connection), connector: &self.connector };
        let Some(connection) = &waiting.connection else { return Ok(false) };
        let statement = run(connection, query.text, params, self.prepares());
        match within(self.statement_timeout, statement).await {
            Some(answer) => {
                waiting.connection = None;
                let error = match answer {
                    Ok(rows) => return Ok(!rows.is_empty()),
                    Err(Failure::Database { error, .. }) => {
                        self.note_unprepared(&error);
                        storage_error(error)
                    }
                    Err(Failure::Unsent(error)) => error,
                    Err(Failure::TimedOut) => self.timed_out(Retry::Later),
                };
                Err(self.located(error).during(query.operation))
            }
            None => Err(self.timed_out(Retry::Later).during(query.operation)),
        }
    }

    /// Whether a connection may be taken for long without calls missing it.
    pub(crate) fn can_spare_a_connection(&self) -> bool {
        let pool = self.pool.status();
        pool.max_size >= SPARE_FROM && pool.waiting == 0
    }

    /// After a write that found no room: whether there is some again.
    pub(crate) async fn check_room(&self) -> Result<(), Error> {
        match self.full.load(Ordering::Relaxed) {
            true => self.rows(&WRITE_SOMETHING, &[]).await.map(drop),
            false => Ok(()),
        }
    }

    /// A connection for a transaction of several statements.
    pub(crate) async fn connection(&self) -> Result<Object, Error> {
        let began = monotonic_ns();
        let connection = self.pool.get().await.map_err(pool_error);
        self.connection_wait.waited(monotonic_ns().saturating_sub(began));
        connection.map_err(|error| self.located(error))
    }

    /// Lets every connection go; calls after it are refused.
    pub(crate) fn close(&self) {
        self.pool.close();
    }

    /// The error with the address, if it is about the database rather than the call.
    pub(crate) fn located(&self, error: Error) -> Error {
        match error.kind() {
            ErrorKind::StorageFull
            | ErrorKind::StorageCorrupt
            | ErrorKind::StorageTooNew
            | ErrorKind::StorageUnavailable
            | ErrorKind::Internal => error.with("database", &self.shown).with("user", &self.user),
            _ => error,
        }
    }

    async fn tried(&self, query: &Query, params: &[Param<'_>]) -> Result<Vec<Row>, Error> {
        let mut tries = 1;
        loop {
            let failure = match self.attempt(query, params).await {
                Ok(rows) => return Ok(rows),
                Err(failure) => failure,
            };
            let reads = query.effect == Effect::Reads;
            let unknown = if reads { Retry::Later } else { Retry::Unknown };
            let (fate, error) = match failure {
                Failure::Unsent(error) => return Err(error),
                Failure::TimedOut => return Err(self.timed_out(unknown)),
                Failure::Database { error, completed } => (fault::fate(&error, completed), error),
            };
            let unprepared = self.note_unprepared(&error);
            let again = unprepared || fate == Fate::Again || (reads && fate == Fate::Unknown);
            if again && tries < TRIES_MAX {
                tries += 1;
                continue;
            }
            let error = storage_error(error);
            return Err(match fate {
                Fate::Unknown => error.with_retry(unknown),
                Fate::Again | Fate::Undone => error,
            });
        }
    }

    /// Whether a statement failed because it was kept on a connection; none will be from now on.
    fn note_unprepared(&self, error: &tokio_postgres::Error) -> bool {
        let unprepared = fault::is_about_preparing(error);
        if unprepared {
            self.prepares.store(false, Ordering::Relaxed);
        }
        unprepared
    }

    async fn attempt(&self, query: &Query, params: &[Param<'_>]) -> Result<Vec<Row>, Failure> {
        let connection = loop {
            let began = monotonic_ns();
            let connection = self.pool.get().await;
            self.connection_wait.waited(monotonic_ns().saturating_sub(began));
            let connection = connection.map_err(|error| Failure::Unsent(pool_error(error)))?;
            // One that broke since it was checked is left to the pool to throw away.
            if !connection.is_closed() {
                break connection;
            }
        };
        let began = monotonic_ns();
        let prepares = self.prepares();
        let statement = run(&connection, query.text, params, prepares);
        let answer = within(self.statement_timeout, statement).await;
        self.statement_wait.waited(monotonic_ns().saturating_sub(began));
        match answer {
            Some(answer) => answer,
            None => {
                give_up(connection, &self.connector);
                Err(Failure::TimedOut)
            }
        }
    }

    fn timed_out(&self, retry: Retry) -> Error {
        fault::timed_out(self.statement_timeout.as_secs_f32(), retry)
    }

    /// Refuses calls after the end.
    pub(crate) fn check_open(&self) -> Result<(), Error> {
        if self.pool.is_closed() { Err(closed()) } else { Ok(()) }
    }
}

/// A statement that waits in the server. Dropping it gives the statement up, unless its connection
/// was taken out before.
struct Waiting<'a> {
    connection: Option<Object>,
    connector: &'a MakeRustlsConnect,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            give_up(connection, self.connector);
        }
    }
}

/// Ends what a connection is doing. Whether the server hears it or not, it is not used again.
fn give_up(connection: Object, connector: &MakeRustlsConnect) {
    let (cancel, connector) = (connection.cancel_token(), connector.clone());
    drop(Object::take(connection));
    // Without a runtime the server notices the closed connection when the statement is over.
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move { cancel.cancel_query(connector).await });
    }
}

async fn run(
    connection: &Object,
    text: &str,
    params: &[Param<'_>],
    prepares: bool,
) -> Result<Vec<Row>, Failure> {
    let undone = |error| Failure::Database { error, completed: false };
    let stream: RowStream = if prepares {
        let types: Vec<Type> = params.iter().map(|(_, kind)| kind.clone()).collect();
        let statement = connection.prepare_typed_cached(text, &types).await.map_err(undone)?;
        let values = params.iter().map(|(value, _)| *value);
        connection.query_raw(&statement, values).await.map_err(undone)?
    } else {
        let params = params.iter().map(|(value, kind)| (*value, kind.clone()));
        connection.query_typed_raw(text, params).await.map_err(undone)?
    };
    futures::pin_mut!(stream);
    let mut rows = Vec::new();
    loop {
        match stream.try_next().await {
            Ok(Some(row)) => rows.push(row),
            Ok(None) => return Ok(rows),
            Err(error) => {
                let completed = stream.rows_affected().is_some();
                return Err(Failure::Database { error, completed });
            }
        }
    }
}
