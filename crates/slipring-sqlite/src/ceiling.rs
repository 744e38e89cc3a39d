//! The limit that the system puts on the size of this process's files (`ulimit -f`). A program
//! that ignores SIGXFSZ sees it as a failed write.

use crate::fault::Fault;
use crate::options::SqliteOptions;
use crate::place::Place;

/// A file this close to the limit has reached it: a transaction writes so much at least when it
/// begins a new part of the file.
const NEAR_BYTES: u64 = 1 << 20;
/// The log is copied before it has such a part of the limit, so that it never reaches it.
const LOG_PART: u64 = 4;

/// The limit in bytes; `None` where there is none.
fn bytes_max() -> Option<u64> {
    #[cfg(unix)]
    {
        use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
        let (soft, _) = getrlimit(Resource::RLIMIT_FSIZE).ok()?;
        (soft != RLIM_INFINITY).then_some(soft)
    }
    #[cfg(not(unix))]
    None
}

/// The options with the limit in force: the file is bounded by it, and so is the log.
pub(crate) fn within(options: &SqliteOptions) -> SqliteOptions {
    let mut options = options.clone();
    if let Some(bytes) = bytes_max() {
        let own = options.file_bytes_max.unwrap_or(u64::MAX);
        options.file_bytes_max = Some(own.min(bytes));
        options.checkpoint_bytes = options.checkpoint_bytes.min(bytes / LOG_PART);
    }
    options
}

/// The same fault, or that there is no room where a write failed because of the limit.
pub(crate) fn told(fault: Fault, place: &Place) -> Fault {
    const IOERR_WRITE: i32 = rusqlite::ffi::SQLITE_IOERR_WRITE;
    let failed = match &fault {
        Fault::Storage(rusqlite::Error::SqliteFailure(error, _)) => error.extended_code,
        _ => return fault,
    };
    let reached = |bytes| place.bytes_max().saturating_add(NEAR_BYTES) > bytes;
    if failed != IOERR_WRITE || !bytes_max().is_some_and(reached) {
        return fault;
    }
    let text = "the limit on the size of the process's files (ulimit -f) is reached".to_owned();
    let full = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_FULL);
    Fault::Storage(rusqlite::Error::SqliteFailure(full, Some(text)))
}
