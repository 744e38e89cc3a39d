//! A statement on one connection: sending it, reading its rows, giving it up.

use std::time::Duration;

use deadpool_postgres::Object;
use futures::TryStreamExt;
use slipring::Error;
use tokio_postgres::types::Type;
use tokio_postgres::{Row, RowStream};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::patience::within;
use crate::queries::{Effect, Query};
use crate::seats::Taken;
use crate::session::Param;

/// Why one attempt failed.
pub(crate) enum Failure {
    /// It did not reach the server.
    Unsent(Error),
    Database {
        error: tokio_postgres::Error,
        completed: bool,
    },
    TimedOut,
}

/// A statement that waits in the server. Dropping it gives the statement up if it only reads, and
/// lets one that writes go on, unless its connection was taken out before. No other call gets the
/// connection, or its seat, before the statement has ended: it would wait behind it.
pub(crate) struct Waiting<'a> {
    pub(crate) connection: Option<Object>,
    seat: Option<Taken>,
    connector: &'a MakeRustlsConnect,
    reads: bool,
    limit: Duration,
}

impl<'a> Waiting<'a> {
    pub(crate) fn new(
        connection: Object,
        seat: Taken,
        connector: &'a MakeRustlsConnect,
        query: &Query,
        limit: Duration,
    ) -> Waiting<'a> {
        let reads = query.effect == Effect::Reads;
        Waiting { connection: Some(connection), seat: Some(seat), connector, reads, limit }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        match self.connection.take() {
            Some(connection) if self.reads => give_up(connection, self.connector),
            Some(connection) => {
                await_end(connection, self.seat.take(), self.connector.clone(), self.limit);
            }
            None => {}
        }
    }
}

/// Keeps a connection and its seat until what it does has ended, or for so long.
fn await_end(
    connection: Object,
    seat: Option<Taken>,
    connector: MakeRustlsConnect,
    limit: Duration,
) {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else {
        return drop(Object::take(connection));
    };
    runtime.spawn(async move {
        // It is answered behind the statement.
        if within(limit, connection.batch_execute("")).await.is_none() {
            give_up(connection, &connector);
        }
        drop(seat);
    });
}

/// Ends what a connection is doing. Whether the server hears it or not, it is not used again.
pub(crate) fn give_up(connection: Object, connector: &MakeRustlsConnect) {
    let (cancel, connector) = (connection.cancel_token(), connector.clone());
    drop(Object::take(connection));
    // Without a runtime the server notices the closed connection when the statement is over.
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move { cancel.cancel_query(connector).await });
    }
}

/// Sends a statement and reads its rows.
pub(crate) async fn run(
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
