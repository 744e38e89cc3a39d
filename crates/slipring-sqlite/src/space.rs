//! The room that the store takes and has, for those who watch it.

use std::fs;
use std::path::Path;

use nix::sys::statvfs::statvfs;
use slipring::StoreSpace;

use crate::fault::Outcome;
use crate::open::{PAGE_BYTES, beside};
use crate::position::from_sql;
use crate::reader::Reader;
use crate::statements::Query;

/// The room of the store in a file. What the system does not tell is not known.
pub(crate) fn of(reader: &mut Reader<'_>, path: &Path) -> Outcome<StoreSpace> {
    let free = reader.db.first(Query::FreePages, (), |row| row.get::<_, i64>(0))?;
    Ok(StoreSpace {
        file: bytes_of(path),
        file_free: free.map(|pages| from_sql(pages) * PAGE_BYTES),
        log: Some(log_bytes(path)),
        disk_free: volume(path).map(|(free, _)| free),
    })
}

/// The size of the log; there is none while nobody has written.
pub(crate) fn log_bytes(path: &Path) -> u64 {
    bytes_of(&beside(path, "-wal")).unwrap_or(0)
}

/// Bytes that are free on the disk that a file is on, and those of all of it.
pub(crate) fn volume(path: &Path) -> Option<(u64, u64)> {
    let disk = statvfs(path).ok()?;
    // Their types differ between systems.
    #[allow(clippy::useless_conversion)]
    let [free, all] = [u64::from(disk.blocks_available()), u64::from(disk.blocks())];
    let bytes = disk.fragment_size();
    Some((free.saturating_mul(bytes), all.saturating_mul(bytes)))
}

fn bytes_of(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|file| file.len())
}
