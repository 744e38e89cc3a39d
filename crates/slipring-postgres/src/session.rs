//! One statement against the database: a connection from the pool, the time limit, and sending it
//! again where that is safe.
//!
//! A statement is a transaction of its own. Where a pooler may give each transaction another
//! session it is unnamed, so that nothing is kept on a connection; where connections lead straight
//! to the server (see `straight`) it is prepared once for each.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use deadpool_postgres::{
    Manager, ManagerConfig, Object, Pool, QueueMode, RecyclingMethod, Runtime,
};
use slipring::clock::monotonic_ns;
use slipring::{Error, ErrorKind, Retry};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::address::Address;
use crate::classes::Classes;
use crate::fault::{self, Fate, closed, storage_error};
use crate::hosts::Hosts;
use crate::options::PostgresOptions;
use crate::patience::{LOCK_WAIT_MAX, LOCK_WAIT_MIN, Patience, within};
use crate::queries::{Effect, Query, WRITE_SOMETHING};
use crate::seats::{Seat, Seats, Taken};
use crate::statement::{Failure, Waiting, run};
use crate::straight;

mod attempt;

/// A statement that others stood in the way of is sent so often.
const TRIES_MAX: u32 = 10;
/// Of fewer connections than this none is spared for waiting.
const SPARE_FROM: usize = 4;
/// Between two tries of a statement that waits for somebody's lock, when no connection waits.
const PAUSE_MIN: Duration = Duration::from_millis(5);
const PAUSE_MAX: Duration = Duration::from_millis(200);

/// A parameter and its type. Types are given, so the server is not asked for them first.
pub(crate) type Param<'a> = (&'a (dyn ToSql + Sync), Type);

/// What reaches the database.
pub(crate) struct Session {
    pool: Pool,
    seats: Seats,
    connect_timeout: Duration,
    connector: MakeRustlsConnect,
    shown: String,
    user: String,
    statement_timeout: Duration,
    classes: Classes,
    /// The last write found no room.
    full: AtomicBool,
    /// Statements are kept on connections.
    prepares: AtomicBool,
    /// When connections were let go that led to where nothing can be written.
    forgot_ns: AtomicU64,
}

/// Why a statement failed after all its tries.
enum Failed {
    /// Somebody held a lock that it needs for as long as it had patience. It was rolled back.
    Busy(Error),
    Otherwise(Error),
}

impl Session {
    /// Gets ready to connect; connects to nothing yet.
    pub(crate) fn new(address: &Address, options: &PostgresOptions) -> Result<Session, Error> {
        let (protection, root) = address.protection();
        let connector = protection.connector(root)?;
        let config = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let hosts = Hosts::new(connector.clone());
        let manager = Manager::from_connect(address.config(options), hosts, config);
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
        Ok(Session {
            pool,
            seats: Seats::of(options.connections.max(1)),
            connect_timeout: options.connect_timeout,
            connector,
            shown: address.to_string(),
            user: address.user().to_owned(),
            statement_timeout: options.statement_timeout,
            classes: Classes::new(&options.waits),
            full: AtomicBool::new(false),
            prepares: AtomicBool::new(false),
            forgot_ns: AtomicU64::new(0),
        })
    }

    /// Keeps statements on connections if the address says so or leads straight to a server.
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

    /// What calls wait for.
    pub(crate) fn classes(&self) -> &Classes {
        &self.classes
    }

    /// Whether statements are kept on connections now.
    pub(crate) fn prepares(&self) -> bool {
        self.prepares.load(Ordering::Relaxed)
    }

    /// How long a statement may take.
    pub(crate) fn statement_timeout(&self) -> Duration {
        self.statement_timeout
    }

    /// The address for people.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// Runs a statement that is about no queue and answers its rows.
    pub(crate) async fn rows(
        &self,
        query: &Query,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, Error> {
        self.rows_of(Seat::Other, query, params).await
    }

    /// Runs a statement that answers at most one row, about no queue.
    pub(crate) async fn row(
        &self,
        query: &Query,
        params: &[Param<'_>],
    ) -> Result<Option<Row>, Error> {
        self.row_of(Seat::Other, query, params).await
    }

    /// Runs a statement on a connection of a share and answers its rows.
    pub(crate) async fn rows_of(
        &self,
        seat: Seat,
        query: &Query,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, Error> {
        match self.noted(seat, query, params, Patience::of(self.statement_timeout)).await {
            Ok((rows, _)) => Ok(rows),
            Err(Failed::Busy(error) | Failed::Otherwise(error)) => Err(error),
        }
    }

    /// Runs a statement that answers at most one row, on a connection of a share.
    pub(crate) async fn row_of(
        &self,
        seat: Seat,
        query: &Query,
        params: &[Param<'_>],
    ) -> Result<Option<Row>, Error> {
        Ok(self.rows_of(seat, query, params).await?.into_iter().next())
    }

    /// Runs a statement that can come again; `None` where somebody held a lock that it needs for
    /// longer than `patience`, and than the first wait for it. Nothing is changed then.
    pub(crate) async fn turn(
        &self,
        query: &Query,
        params: &[Param<'_>],
        patience: Patience,
    ) -> Result<Option<Vec<Row>>, Error> {
        let answer = self.timed_turn(Seat::Other, query, params, patience).await?;
        Ok(answer.map(|(rows, _)| rows))
    }

    /// As [`Session::turn`], on a connection of a share; answers also how long the last try took,
    /// beyond its wait for a lock.
    pub(crate) async fn timed_turn(
        &self,
        seat: Seat,
        query: &Query,
        params: &[Param<'_>],
        patience: Patience,
    ) -> Result<Option<(Vec<Row>, Duration)>, Error> {
        match self.noted(seat, query, params, patience).await {
            Ok(answer) => Ok(Some(answer)),
            Err(Failed::Busy(_)) => Ok(None),
            Err(Failed::Otherwise(error)) => Err(error),
        }
    }

    /// Runs a statement, and notes whether a write has found room.
    async fn noted(
        &self,
        seat: Seat,
        query: &Query,
        params: &[Param<'_>],
        patience: Patience,
    ) -> Result<(Vec<Row>, Duration), Failed> {
        let answer = self.tried(seat, query, params, patience).await;
        if query.effect != Effect::Reads {
            match &answer {
                Ok(_) => self.full.store(false, Ordering::Relaxed),
                Err(Failed::Otherwise(error)) if error.kind() == ErrorKind::StorageFull => {
                    self.full.store(true, Ordering::Relaxed);
                }
                Err(_) => {}
            }
        }
        let located = |error| self.located(error).during(query.operation);
        answer.map_err(|failed| match failed {
            Failed::Busy(error) => Failed::Busy(located(error)),
            Failed::Otherwise(error) => Failed::Otherwise(located(error)),
        })
    }

    /// Runs a statement that waits in the server; dropping the future ends it. It is not sent
    /// again. Answers whether it gave a row.
    pub(crate) async fn wait(
        &self,
        seat: Taken,
        query: &Query,
        params: &[Param<'_>],
    ) -> Result<bool, Error> {
        let connection = self.connection_for(Some(query)).await?;
        let mut waiting =
            Waiting::new(connection, seat, &self.connector, query, self.statement_timeout);
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

    /// A seat for long, if calls do not miss it.
    pub(crate) fn spare(&self) -> Option<Taken> {
        let pool = self.pool.status();
        let spare = pool.max_size >= SPARE_FROM && pool.waiting == 0;
        spare.then(|| self.seats.try_take()).flatten()
    }

    /// After a write that found no room: whether there is some again.
    pub(crate) async fn check_room(&self) -> Result<(), Error> {
        match self.full.load(Ordering::Relaxed) {
            true => self.rows_of(Seat::Kept, &WRITE_SOMETHING, &[]).await.map(drop),
            false => Ok(()),
        }
    }

    /// A connection for a transaction of several statements.
    pub(crate) async fn connection(&self) -> Result<Object, Error> {
        self.connection_for(None).await
    }

    async fn connection_for(&self, query: Option<&Query>) -> Result<Object, Error> {
        let began = monotonic_ns();
        let connection = self.pooled(began).await;
        self.classes.connected(query, began);
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

    async fn tried(
        &self,
        seat: Seat,
        query: &Query,
        params: &[Param<'_>],
        patience: Patience,
    ) -> Result<(Vec<Row>, Duration), Failed> {
        let began = monotonic_ns();
        let mut tries = 1;
        let mut pause = PAUSE_MIN;
        let elapsed = || Duration::from_nanos(monotonic_ns().saturating_sub(began));
        // Well before the statement is given up.
        let longest = LOCK_WAIT_MAX.min(self.statement_timeout / 2);
        let mut lock_wait = patience.first.min(longest).max(LOCK_WAIT_MIN);
        loop {
            let try_began = monotonic_ns();
            let failure = match self.in_turn(seat, query, params, lock_wait, began).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let reads = query.effect == Effect::Reads;
            let unknown = if reads { Retry::Later } else { Retry::Unknown };
            let (fate, error) = match failure {
                Failure::Unsent(error) => return Err(Failed::Otherwise(error)),
                Failure::TimedOut => return Err(Failed::Otherwise(self.timed_out(unknown))),
                Failure::Database { error, completed } => (fault::fate(&error, completed), error),
            };
            if fate == Fate::Busy {
                if elapsed() >= patience.whole {
                    self.classes.held(query, try_began);
                    return Err(Failed::Busy(storage_error(error)));
                }
                tokio::time::sleep(pause).await;
                self.classes.held(query, try_began);
                pause = (pause * 2).min(PAUSE_MAX);
                let left = patience.whole.saturating_sub(elapsed());
                lock_wait = (lock_wait * 2).min(longest).min(left).max(LOCK_WAIT_MIN);
                continue;
            }
            let unprepared = self.note_unprepared(&error);
            let again = unprepared || fate == Fate::Again || (reads && fate == Fate::Unknown);
            let elsewhere = fate == Fate::Elsewhere && tries == 1;
            if elsewhere || again && tries < TRIES_MAX {
                tries += 1;
                continue;
            }
            let error = storage_error(error);
            return Err(Failed::Otherwise(match fate {
                Fate::Unknown => error.with_retry(unknown),
                Fate::Again | Fate::Elsewhere | Fate::Busy | Fate::Undone => error,
            }));
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

    fn timed_out(&self, retry: Retry) -> Error {
        fault::timed_out(self.statement_timeout.as_secs_f32(), retry)
    }

    /// Refuses calls after the end.
    pub(crate) fn check_open(&self) -> Result<(), Error> {
        if self.pool.is_closed() { Err(closed()) } else { Ok(()) }
    }
}
