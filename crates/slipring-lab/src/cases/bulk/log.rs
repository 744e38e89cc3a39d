//! The log of the load: a file to which a record is appended for each allocation, and the check
//! that each record is there once.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// Bytes of a record: what, of which extent, by which worker, and filler.
pub const RECORD_BYTES: usize = 64;
/// A record.
pub type Record = [u8; RECORD_BYTES];

/// The record that an extent was entered in one of the allocation pages.
pub fn record(page: u8, extent: u32, worker: u32) -> Record {
    let mut record = [page; RECORD_BYTES];
    record[4..8].copy_from_slice(&extent.to_le_bytes());
    record[8..12].copy_from_slice(&worker.to_le_bytes());
    record
}

/// An open log.
#[derive(Debug)]
pub struct LogFile {
    file: File,
    path: PathBuf,
}

impl LogFile {
    /// An empty log.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(path: &Path) -> Result<LogFile> {
        let file = File::create(path).with_context(|| format!("making {}", path.display()))?;
        Ok(LogFile { file, path: path.to_owned() })
    }

    /// Appends records.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn append(&mut self, records: &[u8]) -> Result<()> {
        self.file.write_all(records).context("writing the log")
    }

    /// Makes it last.
    ///
    /// # Errors
    /// When it cannot be flushed.
    pub fn flush(&self) -> Result<()> {
        self.file.sync_data().context("flushing the log")
    }

    /// Checks that the log holds one record of each page for each of so many extents.
    ///
    /// # Errors
    /// What is missing or there twice.
    pub fn check(self, extents: u32, pages: u8) -> Result<()> {
        let bytes = std::fs::read(&self.path).context("reading the log back")?;
        let mut seen = vec![0_u8; extents as usize * usize::from(pages)];
        for record in bytes.chunks(RECORD_BYTES) {
            let extent = record.get(4..8).and_then(|bytes| bytes.try_into().ok());
            let extent = extent.map(u32::from_le_bytes).context("half a record")?;
            let page = usize::from(record[0]);
            let at = extent as usize * usize::from(pages) + page;
            match seen.get_mut(at).filter(|_| page < usize::from(pages)) {
                Some(count) => *count += 1,
                None => bail!("a record of page {page} of extent {extent}, which is not there"),
            }
        }
        match seen.iter().position(|count| *count != 1) {
            Some(at) => bail!("record {at} is in the log {} times and not once", seen[at]),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_is_missing_or_there_twice_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let with = |records: &[Record]| {
            let mut log = LogFile::create(&path).unwrap();
            records.iter().for_each(|record| log.append(record).unwrap());
            log.check(2, 1)
        };
        let (first, second) = (record(0, 0, 7), record(0, 1, 7));
        with(&[second, first]).unwrap();
        assert!(with(&[first]).unwrap_err().to_string().contains("0 times"));
        assert!(with(&[first, second, first]).unwrap_err().to_string().contains("2 times"));
        assert!(with(&[record(0, 2, 7)]).unwrap_err().to_string().contains("not there"));
    }
}
