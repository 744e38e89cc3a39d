//! Whether a file is a store of ours, of a version we know, and sound. Nothing here changes it.
//!
//! A file that was killed in the middle of a copy of its log names pages that only the log has, so
//! only SQLite with the log sees it whole. But SQLite also rolls a broken-off change of another
//! program back when it is asked anything. So the first look, at the header as it stands, is for
//! what must not be touched, and all else is asked of an ordinary connection.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use slipring::{Error, ErrorKind};

use crate::fault::storage_error;
use crate::migrate;
use crate::open::{APPLICATION_ID, beside, unreadable};

/// Files up to so many bytes are read as a whole when they are opened.
const WHOLE_BYTES_MAX: u64 = 64 << 20;
/// Where SQLite keeps its locks; the page there is never written.
const LOCK_BYTE: u64 = 0x4000_0000;
pub(crate) const LOG_HEADER_BYTES: usize = 32;
pub(crate) const FRAME_HEADER_BYTES: usize = 24;

/// Looks at the header of a file as it stands, without locks, the log, or a recovery. This goes
/// through SQLite too, since closing a file of its own would drop the locks that another store of
/// this process has on it.
///
/// # Errors
/// `StorageTooNew` and `StorageCorrupt` for what must not be touched.
pub(crate) fn check_header(path: &Path) -> Result<(), Error> {
    // The log first: another process may make the file between the two looks, but never the log
    // before the file.
    let log_bytes = length(&beside(path, "-wal"))?;
    if length(path)? == 0 {
        return if log_bytes == 0 { Ok(()) } else { Err(log_alone()) };
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let numbers = || {
        let connection = Connection::open_with_flags(immutable(path), flags)?;
        // SQLite then takes the header as it is, also where it names pages that only the log has.
        connection.pragma_update(None, "writable_schema", true)?;
        identity(&connection)
    };
    let (application_id, user_version) = numbers().map_err(storage_error)?;
    check_identity(application_id, user_version)
}

/// Looks at the file as SQLite sees it, log included. True when there is nothing in it yet.
///
/// # Errors
/// `StorageTooNew` and `StorageCorrupt` for files that are refused; storage errors.
pub(crate) fn check_database(connection: &Connection, path: &Path) -> Result<bool, Error> {
    let look = connection.unchecked_transaction().map_err(storage_error)?;
    let number = |name| small_number(&look, name);
    let pages = number("page_count").map_err(|error| damaged(error, path))?;
    if pages == 0 {
        return Ok(true);
    }
    let (application_id, user_version) = identity(&look).map_err(storage_error)?;
    check_identity(application_id, user_version)?;
    let page_bytes = number("page_size").map_err(storage_error)?;
    check_pages(path, pages, page_bytes)?;
    look.commit().map_err(storage_error)?;
    Ok(false)
}

/// Reads a file of up to 64 MiB as a whole, and checks what SQLite can check of it.
///
/// # Errors
/// `StorageCorrupt` with the first thing that is wrong; storage errors.
pub(crate) fn check_whole(connection: &Connection) -> Result<(), Error> {
    let number = |name| small_number(connection, name).map_err(storage_error);
    let bytes = number("page_count")? * number("page_size")?;
    if bytes > WHOLE_BYTES_MAX {
        return Ok(());
    }
    let said = connection.query_row("PRAGMA integrity_check(1)", (), |row| row.get(0));
    let said: String = said.map_err(storage_error)?;
    if said == "ok" {
        return Ok(());
    }
    let text = format!("the file is damaged ({}): restore it from a backup", said.trim());
    Err(Error::new(ErrorKind::StorageCorrupt, text))
}

fn small_number(connection: &Connection, name: &str) -> rusqlite::Result<u64> {
    connection.pragma_query_value(None, name, |row| row.get::<_, u32>(0)).map(u64::from)
}

fn identity(connection: &Connection) -> rusqlite::Result<(i64, i64)> {
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    Ok((number("application_id")?, number("user_version")?))
}

fn check_identity(application_id: i64, user_version: i64) -> Result<(), Error> {
    if application_id != APPLICATION_ID {
        let text = "the file is a SQLite database of another program; nothing in it was changed";
        return Err(Error::new(ErrorKind::StorageCorrupt, text));
    }
    migrate::check_version(user_version)
}

/// Each page must be in the file or in the log; SQLite would read one that is in neither as zeros.
fn check_pages(path: &Path, pages: u64, page_bytes: u64) -> Result<(), Error> {
    let in_file = || Ok::<u64, Error>(length(path)? / page_bytes);
    if in_file()? >= pages {
        return Ok(());
    }
    let in_log = log_pages(&beside(path, "-wal"), page_bytes).map_err(unreadable)?;
    // Another process may have copied some of the log meanwhile.
    let mut rest = in_file()? + 1..=pages;
    let lock_page = LOCK_BYTE / page_bytes + 1;
    match rest.find(|page| *page != lock_page && !in_log.contains(page)) {
        None => Ok(()),
        Some(page) => {
            let text = format!(
                "the file is damaged: page {page} of {pages} is neither in it nor in its log \
                 (the file with -wal at the end of its name): put the log that belongs to it \
                 back, or restore both from a backup"
            );
            Err(Error::new(ErrorKind::StorageCorrupt, text))
        }
    }
}

/// The pages in a log. SQLite takes no locks on the log, so closing a handle on it drops none.
fn log_pages(log: &Path, page_bytes: u64) -> io::Result<HashSet<u64>> {
    let mut pages = HashSet::new();
    let mut log = File::open(log)?;
    let mut header = [0; LOG_HEADER_BYTES];
    let mut frame = [0; FRAME_HEADER_BYTES];
    if !read_whole(&mut log, &mut header)? {
        return Ok(pages);
    }
    while read_whole(&mut log, &mut frame)? {
        // Frames of before the log began anew have other salts.
        if frame.get(8..16) != header.get(16..24) {
            break;
        }
        let number = frame.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
        pages.insert(u64::from(number));
        log.seek(SeekFrom::Current(i64::try_from(page_bytes).unwrap_or(i64::MAX)))?;
    }
    Ok(pages)
}

/// Fills a buffer; false at the end of the file.
pub(crate) fn read_whole(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// The length of a file; 0 when there is none.
fn length(path: &Path) -> Result<u64, Error> {
    match std::fs::metadata(path) {
        Ok(file) => Ok(file.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(unreadable(error)),
    }
}

/// SQLite would remove the log.
fn log_alone() -> Error {
    let text = "the file is empty or missing, but its log (the file with -wal at the end of its \
                name) is there: put the file back, or remove the log to begin anew";
    Error::new(ErrorKind::StorageCorrupt, text)
}

/// What a failure to read the first page is told as: a header that names more than there is may
/// only lack its log.
fn damaged(error: rusqlite::Error, path: &Path) -> Error {
    let error = storage_error(error);
    if error.kind() != ErrorKind::StorageCorrupt || length(&beside(path, "-wal")).unwrap_or(0) > 0 {
        return error;
    }
    let text = "the file is damaged, or lacks its log (the file with -wal at the end of its name): \
                put the log back, or restore the file from a backup";
    Error::new(ErrorKind::StorageCorrupt, text).caused_by(error)
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
