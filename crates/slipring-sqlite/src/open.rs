//! Opening a file that was found sound: settings of connections, bringing an older schema up to
//! date.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use slipring::{Error, ErrorKind};

use crate::fault::{self, storage_error};
use crate::holders;
use crate::migrate;
use crate::old_log;
use crate::options::SqliteOptions;
use crate::place;
use crate::sound;

/// "slip" in ASCII; marks the file as ours (`PRAGMA application_id`).
pub(crate) const APPLICATION_ID: i64 = 0x736c_6970;

/// The size of a page of the file.
pub(crate) const PAGE_BYTES: u64 = 4096;

/// The path with something added to its last part.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Opens the writing connection; creates the file if need be. Nothing is changed in a file that is
/// there before [`ready`].
///
/// # Errors
/// `StorageTooNew` and `StorageCorrupt` for files that are refused; nothing is changed in them.
pub(crate) fn writing(path: &Path, options: &SqliteOptions) -> Result<Connection, Error> {
    let open = || {
        sound::check_header(path)?;
        place::make_private(path).map_err(unreadable)?;
        let connection = open_writing(path, options).map_err(storage_error)?;
        sound::check_database(&connection, path)?;
        Ok(connection)
    };
    open().map_err(|error| fault::at(error, path))
}

fn open_writing(path: &Path, options: &SqliteOptions) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    // The log of a file that is refused is not copied into it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    keep_plans(&connection)?;
    connection.busy_timeout(options.busy_timeout)?;
    Ok(connection)
}

/// Plans are made without a look at bound values: SQLite looks at that of a `LIMIT`, and would
/// make the plan anew whenever another one is bound, which was a twentieth of the time of a lone
/// message.
pub(crate) fn keep_plans(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

/// Makes a connection from [`writing`] ready to write: settings, the schema brought up to date. The
/// `only` process looks at the file first and makes its log last.
///
/// # Errors
/// `StorageTooNew` and `StorageCorrupt` as before, for what has become of the file meanwhile;
/// `StorageUnavailable` when it is not the `only` process and the others are of an older version;
/// storage errors.
pub(crate) fn ready(
    connection: &mut Connection,
    path: &Path,
    options: &SqliteOptions,
    only: bool,
) -> Result<(), Error> {
    let mut steps = || {
        if only {
            // A process that has the file open has found it sound.
            sound::check_whole(connection)?;
            old_log::keep_alone(path, connection)?;
        }
        mark(connection, path)?;
        configure(connection, options).map_err(storage_error)?;
        if !only {
            migrate::check_done(connection)?;
        }
        migrate::up(connection, options)?;
        let copy_again = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
        connection.set_db_config(copy_again, false).map_err(storage_error)?;
        sync_folder(path).map_err(unreadable)
    };
    steps().map_err(|error| fault::at(error, path))
}

/// Marks a file with nothing in it as ours.
fn mark(connection: &Connection, path: &Path) -> Result<(), Error> {
    if !sound::check_database(connection, path)? {
        return Ok(());
    }
    connection.pragma_update(None, "page_size", PAGE_BYTES as i64).map_err(storage_error)?;
    // Looked at again under the write lock: others may open the file at the same moment.
    let text = include_str!("../queries/begin_read.sql");
    connection.execute_batch(text).map_err(storage_error)?;
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let marked = || {
        // It belongs to the layout, so that only a file without pages takes it; it is also what
        // takes the write lock, for it writes the first page.
        connection.pragma_update(None, "auto_vacuum", "incremental")?;
        // Within a transaction that writes, a file with nothing in it has its first page.
        if (number("page_count")?, number("application_id")?) == (1, 0) {
            connection.pragma_update(None, "application_id", APPLICATION_ID)?;
        }
        connection.execute_batch(include_str!("../queries/commit.sql"))
    };
    marked().map_err(storage_error)?;
    sound::check_database(connection, path).map(drop)
}

fn configure(connection: &Connection, options: &SqliteOptions) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "wal")?;
    // The writer flushes by itself after transactions that need it; see docs/decisions/0003.
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "cache_size", -kibibytes(options.cache_bytes))?;
    connection.pragma_update(None, "temp_store", "memory")?;
    if let Some(bytes) = options.file_bytes_max {
        let pages = i64::try_from(bytes / PAGE_BYTES).unwrap_or(i64::MAX);
        connection.pragma_update(None, "max_page_count", pages)?;
    }
    Ok(())
}

/// Opens a connection that only copies the log into the file.
///
/// # Errors
/// Storage errors.
pub(crate) fn copying(path: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.pragma_update(None, "synchronous", "normal")?;
        connection.pragma_update(None, "wal_autocheckpoint", 0)?;
        // It does not wait: what is left for now is copied the next time.
        connection.busy_timeout(std::time::Duration::ZERO)?;
        Ok(connection)
    };
    open().map_err(|error| fault::at(storage_error(error), path))
}

/// Opens a connection that only reads.
pub(crate) fn reading(path: &Path, options: &SqliteOptions) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || {
        let connection = Connection::open_with_flags(path, flags)?;
        keep_plans(&connection)?;
        connection.busy_timeout(options.busy_timeout)?;
        connection.pragma_update(None, "cache_size", -kibibytes(options.cache_bytes / 8))?;
        Ok(connection)
    };
    open().map_err(|error| fault::at(storage_error(error), path))
}

fn kibibytes(bytes: u64) -> i64 {
    i64::try_from(bytes / 1024).unwrap_or(i64::MAX)
}

/// Makes the names of new files in the folder last.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// The error of a lock file that could not be had.
pub(crate) fn taken(error: io::Error, path: &Path) -> Error {
    let text = match error.kind() {
        io::ErrorKind::WouldBlock => {
            "another process is opening the file or rewriting it: try again when it is done"
                .to_owned()
        }
        io::ErrorKind::ResourceBusy => format!(
            "the lock file (the one with -lock at the end of its name) was removed while {} had \
             the file open: end that process, and open the file then",
            holders::users(place::identity(&beside(path, "-wal")).ok())
        ),
        _ => return unreadable(error),
    };
    Error::new(ErrorKind::StorageUnavailable, text)
}

pub(crate) fn unreadable(error: io::Error) -> Error {
    Error::new(
        ErrorKind::StorageUnavailable,
        "the file cannot be opened: check that its folder exists and the permissions of both",
    )
    .caused_by(error)
}
