//! Making the log last that an earlier process has left, before anything is written behind it.
//!
//! A flush that fails leaves pages of the log that the operating system still shows but takes for
//! written: no later flush writes them. A process that opens the file would recover them, write
//! behind them and flush; after a loss of power the log would end before them, and what was
//! answered since would be gone with them. So the same bytes are written once more and flushed.
//!
//! While the write lock is held no process adds to the log, begins it anew or cuts it, and the
//! bytes are the same, so it matters to no reader. Between two steps the log may begin anew, which
//! is seen by its header: what the new round has is written once more then.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use slipring::Error;

use crate::fault::{Fault, Outcome, poisoned, storage_error};
use crate::open::{beside, unreadable};
use crate::sound::{FRAME_HEADER_BYTES, LOG_HEADER_BYTES, read_whole};
use crate::writer::Core;

/// A step writes so many frames, which takes less than a millisecond.
const STEP_FRAMES: u32 = 64;
/// What SQLite takes as the size of a page.
const PAGE_SIZES: std::ops::RangeInclusive<usize> = 512..=65536;

/// How much of a log has been written once more.
pub(crate) struct OldLog<F> {
    file: F,
    /// The header of the round of the log that is written; `None` before the first step.
    header: Option<[u8; LOG_HEADER_BYTES]>,
    /// Up to where it is written.
    done: u64,
    /// Where the round ended at its first step; what comes later its writers flush themselves.
    end: u64,
    frame: Vec<u8>,
}

/// Writes the log of a file that no other process has open once more, and flushes it.
///
/// # Errors
/// When the log cannot be read, written or flushed; storage errors.
pub(crate) fn keep_alone(path: &Path, connection: &Connection) -> Result<(), Error> {
    let Some(mut log) = open(path)? else { return Ok(()) };
    let lock = Transaction::new_unchecked(connection, TransactionBehavior::Immediate);
    let lock = lock.map_err(storage_error)?;
    while log.step().map_err(unreadable)? {}
    flush(&log)?;
    lock.rollback().map_err(storage_error)
}

/// As [`keep_alone`] for a file that other processes write, which wait for a step at most.
///
/// # Errors
/// As [`keep_alone`].
pub(crate) fn keep_beside_others(path: &Path, core: &mut Core) -> Outcome<()> {
    let Some(mut log) = open(path)? else { return Ok(()) };
    while core.alone(|_| log.step().map_err(|error| Fault::Refused(unreadable(error))))? {}
    Ok(flush(&log)?)
}

/// The log of a database that a connection has open; `None` when there is none.
fn open(path: &Path) -> Result<Option<OldLog<File>>, Error> {
    match OpenOptions::new().read(true).write(true).open(beside(path, "-wal")) {
        Ok(file) => Ok(Some(OldLog::new(file))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(error)),
    }
}

fn flush(log: &OldLog<File>) -> Result<(), Error> {
    log.file.sync_data().map_err(|error| poisoned(&error.to_string()))
}

impl<F: Read + Write + Seek> OldLog<F> {
    fn new(file: F) -> OldLog<F> {
        OldLog { file, header: None, done: 0, end: 0, frame: Vec::new() }
    }

    /// Writes a part once more, to be called under the write lock; answers whether there is more.
    fn step(&mut self) -> io::Result<bool> {
        let mut header = [0; LOG_HEADER_BYTES];
        self.file.seek(SeekFrom::Start(0))?;
        if !read_whole(&mut self.file, &mut header)? {
            return Ok(false);
        }
        if self.header != Some(header) {
            let page_bytes = header[8..].first_chunk().map_or(0, |n| u32::from_be_bytes(*n));
            let page_bytes = page_bytes as usize;
            if !PAGE_SIZES.contains(&page_bytes) {
                // Bytes that SQLite takes for no log either.
                return Ok(false);
            }
            self.file.seek(SeekFrom::Start(0))?;
            self.file.write_all(&header)?;
            self.header = Some(header);
            self.end = self.file.seek(SeekFrom::End(0))?;
            self.done = LOG_HEADER_BYTES as u64;
            self.frame = vec![0; FRAME_HEADER_BYTES + page_bytes];
        }
        for _ in 0..STEP_FRAMES {
            if self.done >= self.end {
                return Ok(false);
            }
            self.file.seek(SeekFrom::Start(self.done))?;
            if !read_whole(&mut self.file, &mut self.frame)? {
                return Ok(false);
            }
            // Frames of before the log began anew have other salts.
            if self.frame[8..16] != header[16..24] {
                return Ok(false);
            }
            self.file.seek(SeekFrom::Start(self.done))?;
            self.file.write_all(&self.frame)?;
            self.done += self.frame.len() as u64;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
