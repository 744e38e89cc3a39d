//! The errors of statements that PostgreSQL refuses.

use tokio_postgres::Client;
use tokio_postgres::error::DbError;

/// The error of a statement.
///
/// # Panics
///
/// Where it succeeds, or fails otherwise than by the server's word.
pub async fn refusal(client: &Client, sql: &str) -> DbError {
    let Err(error) = client.batch_execute(sql).await else { panic!("{sql} succeeds") };
    error.as_db_error().unwrap_or_else(|| panic!("{sql}: {error:?}")).clone()
}

/// The error of a statement, of the SQLSTATE `code` and with a text that has `says` in it.
///
/// # Panics
///
/// As [`refusal()`], and where it is another error.
pub async fn refused_with(client: &Client, sql: &str, code: &str, says: &str) -> DbError {
    let error = refusal(client, sql).await;
    assert_eq!(error.code().code(), code, "{sql}: {error}");
    assert!(error.message().contains(says), "{sql}: {error}");
    error
}
