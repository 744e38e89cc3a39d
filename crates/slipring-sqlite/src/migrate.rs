//! The schema: numbered steps forward, each in a transaction of its own.

use rusqlite::{Connection, TransactionBehavior};
use slipring::{Error, ErrorKind};

use crate::fault::storage_error;
use crate::options::SqliteOptions;

/// The steps in order; the n-th leads to version n.
const STEPS: &[&str] = &[
    include_str!("../migrations/0001_first.sql"),
    include_str!("../migrations/0002_passes_by_queue.sql"),
    include_str!("../migrations/0003_probe.sql"),
    include_str!("../migrations/0004_queue_changes.sql"),
    include_str!("../migrations/0005_failing.sql"),
    include_str!("../migrations/0006_fifo_line.sql"),
    include_str!("../migrations/0007_far_delays.sql"),
    include_str!("../migrations/0008_lease_sessions.sql"),
    include_str!("../migrations/0009_loads.sql"),
    include_str!("../migrations/0010_failures.sql"),
];

/// The version that this program writes (`PRAGMA user_version`).
pub(crate) const VERSION: i64 = STEPS.len() as i64;

/// Refuses a file that a newer program has written.
pub(crate) fn check_version(found: i64) -> Result<(), Error> {
    if found <= VERSION {
        return Ok(());
    }
    let text = format!(
        "the file has schema version {found}, but this program knows versions up to {VERSION}: \
         use a newer program; nothing in the file was changed"
    );
    let error = Error::new(ErrorKind::StorageTooNew, text);
    Err(error.with("version", found).with("version_max", VERSION))
}

/// Checks that a file which other processes have open needs no step: they would not know of it.
///
/// # Errors
/// `StorageUnavailable` when it does; storage errors.
pub(crate) fn check_done(connection: &Connection) -> Result<(), Error> {
    let version: i64 = connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(storage_error)?;
    if version >= VERSION {
        return Ok(());
    }
    let text = "a process of an older version has the file open: stop it, then start this one, \
                which brings the file up to date";
    let error = Error::new(ErrorKind::StorageUnavailable, text);
    Err(error.with("version", version).with("version_needed", VERSION))
}

/// Brings a file up to the present version; a new file also gets its receipt key.
pub(crate) fn up(connection: &mut Connection, options: &SqliteOptions) -> Result<(), Error> {
    loop {
        // The version is read again under the write lock: two processes may open one file.
        let step = connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let step = step.map_err(storage_error)?;
        let version: i64 = step
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .map_err(storage_error)?;
        check_version(version)?;
        let Some(sql) = usize::try_from(version).ok().and_then(|at| STEPS.get(at)) else {
            return Ok(());
        };
        step.execute_batch(sql).map_err(storage_error)?;
        if version == 0 {
            let mut key = [0; 32];
            options.randomness.fill(&mut key);
            let new = include_str!("../queries/new_store.sql");
            step.execute(new, [key]).map_err(storage_error)?;
        }
        step.pragma_update(None, "user_version", version + 1).map_err(storage_error)?;
        step.commit().map_err(storage_error)?;
    }
}
