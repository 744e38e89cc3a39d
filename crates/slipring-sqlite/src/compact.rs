//! Writing a file anew without its free pages, for a file that no program has open.

use std::io;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use slipring::{Error, ErrorKind};

use crate::fault::{self, storage_error};
use crate::holders;
use crate::old_log;
use crate::open::{self, beside, unreadable};
use crate::options::SqliteOptions;
use crate::place::{self, identity};

/// What compacting a file has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compacted {
    /// Bytes of the file and its log before.
    pub before_bytes: u64,
    /// Bytes of the file and its log now.
    pub after_bytes: u64,
}

/// Writes a file anew without its free pages; from then on it gives space back by itself while it
/// is idle. Takes room for a copy of what is in it, in the folder for temporary files
/// (`SQLITE_TMPDIR`, else `/var/tmp`) and beside the file. Blocks until it is done; a kill at any
/// moment leaves the file as it was or as it will be.
///
/// # Errors
/// `StorageUnavailable` when the file is not there or another process has it open, which is named
/// then; `StorageFull` when there is no room for the copy; those of opening a store.
pub fn compact(path: &Path, options: &SqliteOptions) -> Result<Compacted, Error> {
    let path = &path.canonicalize().map_err(|error| fault::at(unreadable(error), path))?;
    let at_path = |error| fault::at(error, path);
    // Held to the end: no other process gets in.
    let (_lock, only) = place::lock(path, Duration::ZERO).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => at_path(in_use(&beside(path, "-lock"))),
        io::ErrorKind::ResourceBusy => at_path(in_use(&beside(path, "-wal"))),
        _ => at_path(unreadable(error)),
    })?;
    if !only {
        return Err(at_path(in_use(&beside(path, "-lock"))));
    }
    let before_bytes = bytes(path);
    let connection = open::writing(path, options)?;
    old_log::keep_alone(path, &connection).map_err(at_path)?;
    let rewritten = rewrite(&connection);
    // Also the part of the copy in the log for which there was no room in the end.
    let cut = connection.query_row("PRAGMA wal_checkpoint(truncate)", (), |row| row.get(0));
    let cut = rewritten.and(cut);
    let busy: i64 = cut.map_err(|error| at_path(storage_error(error)))?;
    if busy != 0 {
        let error = in_use(&beside(path, "-shm"));
        return Err(at_path(error.with("done", "the space comes back when it has ended")));
    }
    drop(connection);
    Ok(Compacted { before_bytes, after_bytes: bytes(path) })
}

fn rewrite(connection: &Connection) -> rusqlite::Result<()> {
    // The copy is as large as what is in the file, which may be more than there is memory.
    connection.pragma_update(None, "temp_store", "file")?;
    connection.pragma_update(None, "auto_vacuum", "incremental")?;
    // Rows keep their numbers, for every table that has some names them.
    connection.execute_batch("VACUUM")
}

fn bytes(path: &Path) -> u64 {
    let of = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
    of(path) + of(&beside(path, "-wal"))
}

/// The error for a file that is open elsewhere, which locks of another one show.
fn in_use(lock: &Path) -> Error {
    let holders = holders::users(identity(lock).ok());
    let text = format!(
        "{holders} has the file open: a running server gives space back by itself while it is \
         idle; stop it to compact the file at once"
    );
    Error::new(ErrorKind::StorageUnavailable, text).with("held_by", holders)
}
