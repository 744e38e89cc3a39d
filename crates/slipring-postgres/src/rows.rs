//! Values of a row, by position. What has another form than expected comes of functions of
//! another version.

use bytes::Bytes;
use serde_json::Value;
use slipring::{Error, QueueId, Timestamp};
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use crate::fault::{entry_error, garbled};

/// The value at a position.
pub(crate) fn value<'r, T: FromSql<'r>>(row: &'r Row, at: usize) -> Result<T, Error> {
    row.try_get(at).map_err(|error| garbled(format!("column {at}: {error}")))
}

/// A number that is never negative.
pub(crate) fn number(row: &Row, at: usize) -> Result<u64, Error> {
    positive(value(row, at)?)
}

/// A number that may be missing.
pub(crate) fn maybe_number(row: &Row, at: usize) -> Result<Option<u64>, Error> {
    value::<Option<i64>>(row, at)?.map(positive).transpose()
}

/// A moment.
pub(crate) fn moment(row: &Row, at: usize) -> Result<Timestamp, Error> {
    number(row, at).map(Timestamp::from_millis)
}

/// A moment that may be missing.
pub(crate) fn maybe_moment(row: &Row, at: usize) -> Result<Option<Timestamp>, Error> {
    Ok(maybe_number(row, at)?.map(Timestamp::from_millis))
}

/// A queue's number.
pub(crate) fn queue(row: &Row, at: usize) -> Result<QueueId, Error> {
    number(row, at).map(QueueId)
}

/// Bytes, copied once.
pub(crate) fn bytes(row: &Row, at: usize) -> Result<Bytes, Error> {
    value::<&[u8]>(row, at).map(Bytes::copy_from_slice)
}

/// The error that stands in three columns from a position on: kind, message, facts.
pub(crate) fn refusal(row: &Row, at: usize) -> Result<Option<Error>, Error> {
    let Some(kind) = value::<Option<&str>>(row, at)? else { return Ok(None) };
    let message: Option<&str> = value(row, at + 1)?;
    let facts: Option<Value> = value(row, at + 2)?;
    Ok(Some(entry_error(kind, message.unwrap_or(kind), facts.as_ref())))
}

/// A number that came from PostgreSQL and is never negative.
pub(crate) fn positive(number: i64) -> Result<u64, Error> {
    u64::try_from(number).map_err(|_| garbled(format!("{number} below zero")))
}

/// A number as PostgreSQL has it; larger ones become the largest.
pub(crate) fn to_sql(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A queue's number as PostgreSQL has it; one that no queue has stays one that no queue has.
pub(crate) fn queue_to_sql(queue: QueueId) -> i32 {
    i32::try_from(queue.0).unwrap_or(-1)
}

/// A count as PostgreSQL has it.
pub(crate) fn count_to_sql(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
