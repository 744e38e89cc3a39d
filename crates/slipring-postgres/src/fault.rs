//! What can go wrong between the store and its database, and what the caller is told.

use std::error::Error as _;

use deadpool_postgres::{PoolError, TimeoutType};
use serde_json::Value;
use slipring::{Error, ErrorKind, MessageId, Retry};
use tokio_postgres::error::{DbError, Severity, SqlState};

/// What errors may carry as facts; the names are the core's.
const FACTS: [&str; 15] = [
    "queue",
    "message",
    "limit",
    "limit_value",
    "asked",
    "setting",
    "settings",
    "index",
    "fence",
    "state",
    "group",
    "version",
    "value",
    "load",
    "part",
];

/// The kind behind a SQLSTATE of ours (`SR001` and so on).
fn own_kind(code: &str) -> Option<ErrorKind> {
    Some(match code {
        "SR001" => ErrorKind::QueueNotFound,
        "SR002" => ErrorKind::QueueExists,
        "SR003" => ErrorKind::MessageGone,
        "SR004" => ErrorKind::LeaseLost,
        "SR005" => ErrorKind::ReceiptInvalid,
        "SR006" => ErrorKind::LimitExceeded,
        "SR007" => ErrorKind::Invalid,
        "SR008" => ErrorKind::WrongState,
        "SR009" => ErrorKind::LoadGone,
        "SR010" => ErrorKind::StorageUnavailable,
        _ => return None,
    })
}

/// The kind with a name, as functions answer it for one entry.
fn kind_named(name: &str) -> ErrorKind {
    ErrorKind::ALL.into_iter().find(|kind| kind.name() == name).unwrap_or(ErrorKind::Internal)
}

/// The error that a function answered for one entry.
pub(crate) fn entry_error(kind: &str, message: &str, facts: Option<&Value>) -> Error {
    with_facts(Error::new(kind_named(kind), message), facts)
}

fn with_facts(mut error: Error, facts: Option<&Value>) -> Error {
    let Some(Value::Object(facts)) = facts else { return error };
    for name in FACTS {
        error = match facts.get(name) {
            Some(Value::String(text)) => error.with(name, text),
            Some(Value::Null) | None => error,
            Some(other) => error.with(name, other),
        };
    }
    error
}

/// The error for a statement that failed, or a connection that could not be made.
pub(crate) fn storage_error(error: tokio_postgres::Error) -> Error {
    if let Some(db) = error.as_db_error() {
        if let Some(kind) = own_kind(db.code().code()) {
            let facts = db.detail().and_then(|detail| serde_json::from_str(detail).ok());
            return with_facts(Error::new(kind, db.message()), facts.as_ref());
        }
        let (kind, text) = explain(db);
        return Error::new(kind, format!("{text} ({}: {})", db.code().code(), db.message()));
    }
    let text = if error.is_closed() {
        "the connection to the database was lost"
    } else if error.source().is_some_and(|cause| cause.to_string() == "password missing") {
        "the server asks for a password: set PGPASSWORD"
    } else if is_about_a_certificate(&error) {
        "the server's certificate is not accepted: check sslrootcert and, with \
         sslmode=verify-full, that the address names the host as the certificate does"
    } else {
        "the database does not answer: check host, port and sslmode of the address, and that \
         PostgreSQL runs there"
    };
    Error::new(ErrorKind::StorageUnavailable, text).caused_by(error)
}

/// Whether an encrypted connection failed because of who the server says it is.
fn is_about_a_certificate(error: &tokio_postgres::Error) -> bool {
    let mut cause = error.source();
    while let Some(this) = cause {
        let inner = this.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        let tls = match inner {
            Some(inner) => inner.downcast_ref::<rustls::Error>(),
            None => this.downcast_ref::<rustls::Error>(),
        };
        if let Some(rustls::Error::InvalidCertificate(_)) = tls {
            return true;
        }
        cause = this.source();
    }
    false
}

fn explain(db: &DbError) -> (ErrorKind, &'static str) {
    let code = db.code();
    let unavailable = |text| (ErrorKind::StorageUnavailable, text);
    if *code == SqlState::DISK_FULL {
        let text = "the database's disk is full: free some space and try again";
        return (ErrorKind::StorageFull, text);
    }
    if *code == SqlState::INVALID_PASSWORD || *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION
    {
        return unavailable("the database refuses this user: check user and password");
    }
    if *code == SqlState::UNDEFINED_DATABASE {
        return unavailable("there is no such database: create it, or correct the address");
    }
    if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        return unavailable(
            "the user lacks rights: connect as the owner of the schema slipring, or grant the \
             owner's role to this user",
        );
    }
    if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
        return unavailable(
            "the database is read-only, a standby perhaps: connect to the primary server",
        );
    }
    if *code == SqlState::TOO_MANY_CONNECTIONS {
        return unavailable(
            "the server takes no more connections: lower `connections` in the address, or raise \
             max_connections",
        );
    }
    if missing_schema(code) {
        return unavailable(
            "the schema slipring is not there or not of this version: run `slipring migrate`, or \
             start the server of the program that has migrated",
        );
    }
    match code.code() {
        "40001" | "40P01" | "55P03" => unavailable("other transactions stood in the way"),
        "57014" => unavailable("the statement took too long and was cancelled"),
        "57P01" | "57P02" | "57P03" => unavailable("the server is stopping or starting"),
        "57P05" | "25P03" | "25P04" => unavailable(
            "the server has ended the session: look at idle_session_timeout, \
             idle_in_transaction_session_timeout and transaction_timeout of the user",
        ),
        ISOLATION_LOST => unavailable(
            "transactions of the session are not READ COMMITTED: set \
             default_transaction_isolation to 'read committed' for the user, and look for who sets \
             it in sessions of the pooler",
        ),
        "53200" => unavailable("the server is out of memory"),
        "XX001" | "XX002" => {
            (ErrorKind::StorageCorrupt, "the database is damaged: restore it from a backup")
        }
        "54000" => (ErrorKind::LimitExceeded, "more than PostgreSQL can hold in one value"),
        other if other.starts_with("08") || other.starts_with("53") || other.starts_with("58") => {
            unavailable("the server cannot serve at the moment")
        }
        _ => (ErrorKind::Internal, "PostgreSQL refused a statement of the store"),
    }
}

/// Whether the code says that a part of the schema is not there.
pub(crate) fn missing_schema(code: &SqlState) -> bool {
    [
        SqlState::INVALID_SCHEMA_NAME,
        SqlState::UNDEFINED_TABLE,
        SqlState::UNDEFINED_FUNCTION,
        SqlState::UNDEFINED_COLUMN,
    ]
    .contains(code)
}

/// Whether a statement was not begun because what was prepared is not there, stands for something
/// else, or answers in another form since a migration.
pub(crate) fn is_about_preparing(error: &tokio_postgres::Error) -> bool {
    let Some(db) = error.as_db_error() else { return false };
    match db.code().code() {
        "26000" | "42P05" => true,
        "0A000" => db.routine() == Some("RevalidateCachedQuery"),
        _ => false,
    }
}

/// What is known of a call that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It was rolled back, or never began, for a reason that is over by now.
    Again,
    /// It was rolled back: the connection leads to a server that takes no writes, or has settings
    /// that the store cannot work with. Another connection may do it.
    Elsewhere,
    /// It was rolled back, for it had waited long enough for somebody's lock.
    Busy,
    /// It was rolled back, or never began.
    Undone,
    /// Its commit may have gone through.
    Unknown,
}

/// The transaction is of another isolation level, see functions/store/isolation_kept.sql.
const ISOLATION_LOST: &str = "25001";

/// Whether the server refuses another connection because it has as many as it may have.
pub(crate) fn takes_no_more(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|db| *db.code() == SqlState::TOO_MANY_CONNECTIONS)
}

/// What became of a statement that failed. `completed` says that the server had reported it done,
/// so that its commit was on the way.
pub(crate) fn fate(error: &tokio_postgres::Error, completed: bool) -> Fate {
    let Some(db) = error.as_db_error() else { return Fate::Unknown };
    let dying =
        matches!(db.parsed_severity(), Some(Severity::Fatal | Severity::Panic)) && completed;
    // Class 08 is what poolers say about a server they lost sight of.
    if dying || db.code().code().starts_with("08") {
        return Fate::Unknown;
    }
    match db.code().code() {
        "40001" | "40P01" | "57P01" | "57P02" | "57P05" => Fate::Again,
        "25006" | ISOLATION_LOST => Fate::Elsewhere,
        "55P03" => Fate::Busy,
        _ => Fate::Undone,
    }
}

/// The error for a connection that could not be had.
pub(crate) fn pool_error(error: PoolError) -> Error {
    let unavailable = |text| Error::new(ErrorKind::StorageUnavailable, text);
    match error {
        PoolError::Backend(error) => storage_error(error),
        PoolError::Closed => closed(),
        PoolError::Timeout(TimeoutType::Wait) => all_busy(),
        PoolError::Timeout(_) => {
            unavailable("the database did not answer in time: check host and port of the address")
        }
        other => Error::new(ErrorKind::Internal, "no connection could be had").caused_by(other),
    }
}

/// The error for a call that no connection could be had for in time.
pub(crate) fn all_busy() -> Error {
    let text = "all connections to the database that the call may use are busy: raise \
                `connections` in the address, or look for what holds locks";
    Error::new(ErrorKind::StorageUnavailable, text)
}

/// The error for a statement that was given up.
pub(crate) fn timed_out(seconds: f32, retry: Retry) -> Error {
    let text = format!(
        "the database has not answered for {seconds} s and the statement was cancelled; raise \
         `statement_timeout` in the address if it needs longer"
    );
    Error::new(ErrorKind::StorageUnavailable, text).with_retry(retry)
}

/// The error for calls after the store was closed.
pub(crate) fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the PostgreSQL store has been closed")
}

/// The error for an answer of another form than the functions give.
pub(crate) fn garbled(what: impl std::fmt::Display) -> Error {
    let text = format!(
        "the database answered in an unexpected form ({what}): its functions are of another \
         version; run `slipring migrate`"
    );
    Error::new(ErrorKind::Internal, text)
}

/// The error for a message that has left its queue (S3.5).
pub(crate) fn gone(id: MessageId) -> Error {
    Error::new(ErrorKind::MessageGone, format!("message {id} is not in the queue any more"))
        .with("message", id)
}

/// The error for a receipt that names another queue than the call.
pub(crate) fn foreign(id: MessageId) -> Error {
    Error::new(ErrorKind::ReceiptInvalid, format!("the receipt of message {id} is another queue's"))
        .with("message", id)
}
