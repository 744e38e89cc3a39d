//! Rows that are not as the store writes rows, however they came: what fails for one of them sets
//! them aside and goes on with the others. Nothing is looked at before something has failed.

use std::time::Duration;

use slipring::{Error, ErrorKind, QueueId, Retry, Timestamp};
use tokio_postgres::types::Type;

use crate::patience::Patience;
use crate::queries;
use crate::rows::{number, queue_to_sql, to_sql, value};
use crate::session::{Param, Session};

/// For the lock of the queue it is tried for so long.
const PATIENCE: Patience = Patience::of(Duration::from_secs(2));

/// Sets rows aside that were in the way of a call of a queue; answers whether there were any, so
/// that the call may be made again. `error` is what it failed with, undone.
pub(crate) async fn clears(
    session: &Session,
    queue: QueueId,
    now: Timestamp,
    error: &Error,
) -> bool {
    // What may have taken effect is not done again.
    if !may_be_a_row(error) || error.retry() == Retry::Unknown {
        return false;
    }
    match set_aside(session, queue, now).await {
        Ok(rows) => rows > 0,
        Err(error) => {
            tracing::warn!(%queue, %error, "rows that are in the way cannot be set aside");
            false
        }
    }
}

/// Whether an error may come from a row that is not as the store writes rows.
pub(crate) fn may_be_a_row(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Internal | ErrorKind::StorageCorrupt)
}

/// Sets rows of a queue aside; answers how many.
async fn set_aside(session: &Session, queue: QueueId, now: Timestamp) -> Result<usize, Error> {
    let (id, at) = (queue_to_sql(queue), to_sql(now.as_millis()));
    let params: [Param<'_>; 2] = [(&id, Type::INT4), (&at, Type::INT8)];
    let rows = session.turn(&queries::SET_ASIDE, &params, PATIENCE).await?.unwrap_or_default();
    for row in &rows {
        let (kind, why): (&str, &str) = (value(row, 0)?, value(row, 1)?);
        let messages = number(row, 2)?;
        tracing::warn!(
            %queue, kind, why, messages,
            "a row is not as the store writes rows and was set aside: slipring.findings() shows it"
        );
    }
    Ok(rows.len())
}
