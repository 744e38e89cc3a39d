//! Opening a file: refusing what is not ours untouched, bringing an older schema up to date,
//! settings of connections.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use slipring::{Error, ErrorKind};

use crate::fault::{self, storage_error};
use crate::migrate;
use crate::options::SqliteOptions;
use crate::place;

/// "slip" in ASCII; marks the file as ours (`PRAGMA application_id`).
const APPLICATION_ID: i64 = 0x736c_6970;

/// The size of a page of the file.
pub(crate) const PAGE_BYTES: u64 = 4096;

/// The path with something added to its last part.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Opens the writing connection; creates the file and migrates it as needed.
///
/// # Errors
/// `StorageTooNew` and `StorageCorrupt` for files that are refused; nothing is changed in them.
pub(crate) fn writing(path: &Path, options: &SqliteOptions) -> Result<Connection, Error> {
    check_header(path).map_err(|error| fault::at(error, path))?;
    place::make_private(path).map_err(|error| fault::at(unreadable(error), path))?;
    let opened = open_writing(path, options).map_err(storage_error);
    let mut connection = opened.map_err(|error| fault::at(error, path))?;
    migrate::up(&mut connection, options).map_err(|error| fault::at(error, path))?;
    sync_folder(path).map_err(|error| fault::at(unreadable(error), path))?;
    Ok(connection)
}

fn open_writing(path: &Path, options: &SqliteOptions) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(options.busy_timeout)?;
    connection.pragma_update(None, "page_size", PAGE_BYTES as i64)?;
    // It belongs to the layout, so that only a file without pages takes it.
    let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
    if pages == 0 {
        connection.pragma_update(None, "auto_vacuum", "incremental")?;
    }
    let known: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if known != APPLICATION_ID {
        connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    connection.pragma_update(None, "journal_mode", "wal")?;
    // The writer flushes by itself after transactions that need it; see docs/decisions/0003.
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "cache_size", -kibibytes(options.cache_bytes))?;
    connection.pragma_update(None, "temp_store", "memory")?;
    if let Some(bytes) = options.file_bytes_max {
        let pages = i64::try_from(bytes / PAGE_BYTES).unwrap_or(i64::MAX);
        connection.pragma_update(None, "max_page_count", pages)?;
    }
    Ok(connection)
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
        // It waits for nobody: what is left for now is copied the next time.
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
        connection.busy_timeout(options.busy_timeout)?;
        connection.pragma_update(None, "cache_size", -kibibytes(options.cache_bytes / 8))?;
        Ok(connection)
    };
    open().map_err(|error| fault::at(storage_error(error), path))
}

fn kibibytes(bytes: u64) -> i64 {
    i64::try_from(bytes / 1024).unwrap_or(i64::MAX)
}

/// Looks at an existing file as it stands, before SQLite may recover or change anything. This
/// goes through SQLite too, since closing a file of its own would drop the locks that another
/// store of this process has on it.
fn check_header(path: &Path) -> Result<(), Error> {
    match std::fs::metadata(path) {
        Ok(file) if file.len() > 0 => {}
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unreadable(error)),
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let numbers = || {
        let connection = Connection::open_with_flags(immutable(path), flags)?;
        let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        Ok((number("application_id")?, number("user_version")?))
    };
    let (application_id, user_version) = numbers().map_err(storage_error)?;
    if application_id != APPLICATION_ID {
        let text = "the file is a SQLite database of another program; nothing in it was changed";
        return Err(Error::new(ErrorKind::StorageCorrupt, text));
    }
    migrate::check_version(user_version)
}

/// The address under which SQLite reads a file without locks, recovery or a log.
fn immutable(path: &Path) -> String {
    let mut address = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                address.push(char::from(*byte));
            }
            _ => address.push_str(&format!("%{byte:02X}")),
        }
    }
    address.push_str("?immutable=1");
    address
}

/// Makes the names of new files in the folder last.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

pub(crate) fn unreadable(error: io::Error) -> Error {
    Error::new(
        ErrorKind::StorageUnavailable,
        "the file cannot be opened: check that its folder exists and the permissions of both",
    )
    .caused_by(error)
}
