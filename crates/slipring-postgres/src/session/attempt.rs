//! One try of a statement: a seat, a connection, and the statement on it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use deadpool_postgres::{Object, PoolError};
use slipring::Error;
use slipring::clock::monotonic_ns;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::{PAUSE_MAX, PAUSE_MIN, Param, Session};
use crate::fault::{self, Fate, pool_error};
use crate::patience::{LOCK_WAIT_MIN, within};
use crate::queries::{Effect, Query};
use crate::seats::{Seat, Taken};
use crate::statement::{Failure, Waiting, give_up, run};

/// While no server takes writes, calls that only read keep their connections for so long.
const FORGET_EVERY_NS: u64 = 1_000_000_000;

impl Session {
    /// Sends a statement once. It waits longer than the least for a lock only with a seat for it.
    /// The call began at `began_ns`. Answers also how long the statement took, beyond such a wait.
    pub(super) async fn in_turn(
        &self,
        seat: Seat,
        query: &Query,
        params: &[Param<'_>],
        lock_wait: Duration,
        began_ns: u64,
    ) -> Result<(Vec<Row>, Duration), Failure> {
        let waits = !matches!(query.effect, Effect::Reads | Effect::Writes);
        let patient =
            (waits && lock_wait > LOCK_WAIT_MIN).then(|| self.seats.patient(seat)).flatten();
        let lock_wait = if patient.is_some() { lock_wait } else { LOCK_WAIT_MIN };
        let wait_ms = i32::try_from(lock_wait.as_millis()).unwrap_or(i32::MAX);

        let mut began = monotonic_ns();
        let Some(taken) = self.seats.take(seat, self.connect_timeout).await else {
            self.classes.connected(Some(query), began);
            return Err(Failure::Unsent(fault::all_busy()));
        };
        let connection = loop {
            let connection = self.pooled(began).await;
            self.classes.connected(Some(query), began);
            let connection = connection.map_err(Failure::Unsent)?;
            // One that broke since it was checked is left to the pool to throw away.
            if !connection.is_closed() {
                break connection;
            }
            began = monotonic_ns();
        };
        // Leases begin when the statement does, however long the connection was waited for.
        let waited = Duration::from_nanos(monotonic_ns().saturating_sub(began_ns));
        let waited_ms = i64::try_from(waited.as_millis()).unwrap_or(i64::MAX);
        let more: [Param<'_>; 2] = [(&wait_ms, Type::INT4), (&waited_ms, Type::INT8)];
        let more = match query.effect {
            Effect::Reads | Effect::Writes => &more[..0],
            Effect::WritesInTurn => &more[..1],
            Effect::LeasesInTurn => &more[..],
        };
        let began = monotonic_ns();
        let rows = self.attempt((connection, taken), query, &[params, more].concat()).await?;
        let took = Duration::from_nanos(monotonic_ns().saturating_sub(began));
        Ok((rows, took.saturating_sub(lock_wait)))
    }

    async fn attempt(
        &self,
        (connection, taken): (Object, Taken),
        query: &Query,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, Failure> {
        let began = monotonic_ns();
        let prepares = self.prepares();
        let mut waiting =
            Waiting::new(connection, taken, &self.connector, query, self.statement_timeout);
        let Some(connection) = &waiting.connection else { return Err(Failure::TimedOut) };
        let statement = run(connection, query.text, params, prepares);
        let answer = within(self.statement_timeout, statement).await;
        let fate = match &answer {
            Some(Err(Failure::Database { error, completed })) => {
                Some(fault::fate(error, *completed))
            }
            _ => None,
        };
        // Whoever tries again counts a try that found the queue held.
        if fate != Some(Fate::Busy) {
            self.classes.answered(query, began);
        }
        match (answer, waiting.connection.take()) {
            (None, Some(connection)) => {
                give_up(connection, &self.connector);
                Err(Failure::TimedOut)
            }
            (answer, connection) => {
                if fate == Some(Fate::Elsewhere) {
                    drop(connection.map(Object::take));
                    let (now, last) = (monotonic_ns(), self.forgot_ns.load(Ordering::Relaxed));
                    if last == 0 || now.saturating_sub(last) >= FORGET_EVERY_NS {
                        self.forgot_ns.store(now, Ordering::Relaxed);
                        self.forget_idle();
                    }
                }
                answer.unwrap_or(Err(Failure::TimedOut))
            }
        }
    }

    /// A connection; where the server takes no more of them, one that others give back in time.
    pub(super) async fn pooled(&self, began_ns: u64) -> Result<Object, Error> {
        let mut pause = PAUSE_MIN;
        loop {
            let error = match self.pool.get().await {
                Ok(connection) => return Ok(connection),
                Err(error) => error,
            };
            let waited = Duration::from_nanos(monotonic_ns().saturating_sub(began_ns));
            let full = matches!(&error, PoolError::Backend(error) if fault::takes_no_more(error));
            if !full || self.pool.status().size == 0 || waited >= self.connect_timeout {
                return Err(pool_error(error));
            }
            pause = (pause * 2).min(PAUSE_MAX);
            tokio::time::sleep(pause).await;
        }
    }

    /// Lets the connections go that no call has now: they lead to where nothing can be written, or
    /// have settings that the store cannot work with. New ones may not.
    pub(crate) fn forget_idle(&self) {
        drop(self.pool.retain(|_, _| false));
    }
}
