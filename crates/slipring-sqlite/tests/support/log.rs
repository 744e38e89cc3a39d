//! SQLite's write-ahead log, taken apart: what a copy of it into the file does, done by hand.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use std::os::unix::fs::FileExt;

pub const PAGE_BYTES: usize = 4096;
const HEADER_BYTES: usize = 32;
const FRAME_BYTES: usize = 24 + PAGE_BYTES;

/// The log of a database.
pub fn path(folder: &Path) -> PathBuf {
    folder.join("slipring.db-wal")
}

/// The newest content of each page in the log, in the order in which a copy writes them.
pub fn pages(folder: &Path) -> BTreeMap<u32, Vec<u8>> {
    let log = std::fs::read(path(folder)).expect("there is a log");
    let (header, frames) = log.split_at(HEADER_BYTES);
    let mut pages = BTreeMap::new();
    let mut changed = Vec::new();
    for frame in frames.chunks_exact(FRAME_BYTES) {
        if frame[8..16] != header[16..24] {
            break;
        }
        let number = |at: usize| u32::from_be_bytes(frame[at..at + 4].try_into().unwrap());
        changed.push((number(0), frame[24..].to_vec()));
        // The last of a transaction says how many pages the file then has.
        if number(4) > 0 {
            pages.extend(changed.drain(..));
        }
    }
    pages
}

/// Copies the first `count` pages into the file, as a copy that was killed has.
pub fn copy_some(folder: &Path, count: usize) {
    let file = OpenOptions::new().write(true).open(folder.join("slipring.db")).unwrap();
    for (number, page) in pages(folder).into_iter().take(count) {
        file.write_all_at(&page, (u64::from(number) - 1) * PAGE_BYTES as u64).unwrap();
    }
}
