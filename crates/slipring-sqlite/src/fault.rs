//! What can go wrong inside the store, and what the caller is told.

use std::path::Path;

use rusqlite::ErrorCode;
use slipring::{Error, ErrorKind, MessageId, Retry};

/// Why an operation did not go through.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The operation is not allowed; it has changed nothing, and others of its transaction stand.
    Refused(Error),
    /// The file could not be read or written; the transaction is undone.
    Storage(rusqlite::Error),
    /// The file contradicts itself; the transaction is undone.
    Damaged(String),
    /// Numbers of a kind have run out, perhaps half way; the transaction is undone.
    UsedUp(&'static str),
}

/// What an operation inside a transaction answers.
pub(crate) type Outcome<T> = Result<T, Fault>;

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Fault {
        Fault::Storage(error)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Refused(error)
    }
}

impl Fault {
    /// The error that the caller sees.
    pub(crate) fn into_error(self) -> Error {
        match self {
            Fault::Refused(error) => error,
            Fault::Storage(error) => storage_error(error),
            Fault::UsedUp(what) => {
                Error::new(ErrorKind::LimitExceeded, format!("all {what} are used up"))
            }
            Fault::Damaged(what) => Error::new(
                ErrorKind::StorageCorrupt,
                format!("the file contradicts itself: {what}; restore it from a backup"),
            ),
        }
    }

    /// Whether there was no room.
    pub(crate) fn is_full(&self) -> bool {
        let Fault::Storage(error) = self else { return false };
        error.sqlite_error_code() == Some(ErrorCode::DiskFull)
    }

    /// Whether a write that was reported as done may not have reached the disk, so that nothing
    /// may be written after it.
    pub(crate) fn lost_a_flush(&self) -> bool {
        const IOERR_FSYNC: i32 = rusqlite::ffi::SQLITE_IOERR_FSYNC;
        const IOERR_DIR_FSYNC: i32 = rusqlite::ffi::SQLITE_IOERR_DIR_FSYNC;
        match self {
            Fault::Storage(rusqlite::Error::SqliteFailure(error, _)) => {
                matches!(error.extended_code, IOERR_FSYNC | IOERR_DIR_FSYNC)
            }
            _ => false,
        }
    }
}

/// The error for a failed call of SQLite.
pub(crate) fn storage_error(error: rusqlite::Error) -> Error {
    let (kind, text) = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            (ErrorKind::StorageFull, "there is no room left: free some space and try again")
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => (
            ErrorKind::StorageCorrupt,
            "the file is damaged or no SQLite database: restore it from a backup",
        ),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            (ErrorKind::StorageUnavailable, "another process holds the file: try again")
        }
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => (
            ErrorKind::StorageUnavailable,
            "the file cannot be opened for writing: check that its folder exists and the \
             permissions of file and folder",
        ),
        Some(ErrorCode::SystemIoFailure | ErrorCode::OutOfMemory) => {
            (ErrorKind::StorageUnavailable, "the file cannot be read or written")
        }
        Some(ErrorCode::TooBig) => {
            (ErrorKind::LimitExceeded, "a message is larger than the 1 GB that SQLite takes")
        }
        Some(_) => (ErrorKind::Internal, "SQLite refused a statement of the store"),
        None => (ErrorKind::StorageCorrupt, "the file holds a value of an unexpected form"),
    };
    Error::new(kind, text).caused_by(error)
}

/// The same error with the path of the file.
pub(crate) fn at(error: Error, path: &Path) -> Error {
    error.with("file", path.display())
}

/// The error after a flush to disk has failed: what was written since the one before it may be
/// lost, and the operating system does not say what.
pub(crate) fn poisoned(cause: &str) -> Error {
    let text = format!(
        "a flush to disk has failed ({cause}); nothing more is written until the store is opened \
         again"
    );
    Error::new(ErrorKind::StorageUnavailable, text).with_retry(Retry::Unknown)
}

/// The error for calls after the store was closed.
pub(crate) fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the SQLite store has been closed")
}

/// The error for a message that has left its queue (S3.5).
pub(crate) fn gone(id: MessageId) -> Error {
    Error::new(ErrorKind::MessageGone, format!("message {id} is not in the queue any more"))
        .with("message", id)
}

/// The error for a message that is leased.
pub(crate) fn held(id: MessageId) -> Error {
    Error::new(ErrorKind::WrongState, format!("message {id} is under a lease")).with("message", id)
}

/// The error for a receipt that names another queue than the call.
pub(crate) fn foreign(id: MessageId) -> Error {
    Error::new(ErrorKind::ReceiptInvalid, format!("the receipt of message {id} is another queue's"))
        .with("message", id)
}
