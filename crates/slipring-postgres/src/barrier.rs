//! Between the functions of one build and those of another no transaction is open.

use std::time::Duration;

use slipring::clock::monotonic_ns;
use slipring::{Error, ErrorKind, Retry};
use tokio_postgres::Transaction;
use tokio_postgres::error::SqlState;

use crate::fault::{garbled, storage_error};
use crate::queries;
use crate::rows::value;

/// Locks the table of the queues; as a step of a migration it may be given to `psql`.
pub(crate) const BARRIER: &str = include_str!("../queries/barrier.sql");

/// Between two tries calls have time for what they waited with.
const PAUSE: Duration = Duration::from_secs(1);

/// Waits, at most for `limit`, until no other transaction is open that has called the store, and
/// keeps new ones waiting until `transaction` ends. Each try holds up other calls for two seconds.
///
/// # Errors
/// `StorageUnavailable` with those who are open still; storage errors.
pub(crate) async fn hold(transaction: &Transaction<'_>, limit: Duration) -> Result<(), Error> {
    let began = monotonic_ns();
    loop {
        transaction.batch_execute("SAVEPOINT barrier").await.map_err(storage_error)?;
        let Err(error) = transaction.batch_execute(BARRIER).await else { return Ok(()) };
        if error.code() != Some(&SqlState::LOCK_NOT_AVAILABLE) {
            return Err(storage_error(error).with("step", "the barrier"));
        }
        transaction.batch_execute("ROLLBACK TO barrier").await.map_err(storage_error)?;
        if Duration::from_nanos(monotonic_ns().saturating_sub(began)) >= limit {
            return Err(still_open(transaction).await?);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn still_open(transaction: &Transaction<'_>) -> Result<Error, Error> {
    let rows = transaction.query_typed(queries::BARRIER_HOLDERS.text, &[]).await;
    let rows = rows.map_err(storage_error)?;
    let row = rows.first().ok_or_else(|| garbled("no row"))?;
    let holders: &str = value(row, 0)?;
    let text = format!(
        "transactions that have used the store are open still: {holders}; nothing is changed, \
         try again when they have ended"
    );
    Ok(Error::new(ErrorKind::StorageUnavailable, text).with_retry(Retry::Later))
}
