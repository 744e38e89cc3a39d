//! Which jobs were inserted and which were worked on, one record each in a file, so that a loss is
//! seen exactly. A record that was written survives the end of the process, also by SIGKILL.
//!
//! An insert is noted after it was answered, work before its ack is sent: whatever moment ends the
//! process, a job that was noted as inserted and is then acked is noted as worked on.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use parking_lot::Mutex;

use super::log::Log;

/// Bytes of a record: its kind, then the number of the job, the lowest byte first.
pub const RECORD_BYTES: usize = 9;
/// The kind of a job whose insert was answered.
pub const SENT: u8 = b's';
/// The kind of a job whose work has ended well.
pub const DONE: u8 = b'd';

/// A ledger, or none.
#[derive(Debug)]
pub struct Ledger(Option<Mutex<File>>);

impl Ledger {
    /// Goes on with the ledger at a path; writes nothing where there is no path.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn open(path: Option<&Path>) -> Result<Ledger> {
        let Some(path) = path else { return Ok(Ledger(None)) };
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.with_context(|| format!("opening the ledger {}", path.display()))?;
        Ok(Ledger(Some(Mutex::new(file))))
    }

    /// The inserts of these jobs were answered.
    pub fn sent(&self, numbers: &[u64], log: &Log) {
        self.write(SENT, numbers.iter().copied(), log);
    }

    /// The work on these jobs has ended, and their acks are not sent yet.
    pub fn done(&self, numbers: impl Iterator<Item = u64>, log: &Log) {
        self.write(DONE, numbers, log);
    }

    fn write(&self, kind: u8, numbers: impl Iterator<Item = u64>, log: &Log) {
        let Some(file) = &self.0 else { return };
        let records: Vec<u8> =
            numbers.flat_map(|number| [kind].into_iter().chain(number.to_le_bytes())).collect();
        if let Err(error) = file.lock().write_all(&records) {
            log.failed("a line in the ledger", &error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_job_has_a_record_and_a_ledger_goes_on_where_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let (path, log) = (folder.path().join("ledger"), Log::default());
        Ledger::open(Some(&path)).unwrap().sent(&[1, u64::MAX], &log);
        Ledger::open(Some(&path)).unwrap().done([1].into_iter(), &log);
        let written = std::fs::read(&path).unwrap();
        let records: Vec<(u8, u64)> = written
            .chunks(RECORD_BYTES)
            .map(|record| (record[0], u64::from_le_bytes(record[1..].try_into().unwrap())))
            .collect();
        assert_eq!(records, [(SENT, 1), (SENT, u64::MAX), (DONE, 1)]);
    }

    #[test]
    fn without_a_path_nothing_is_written() {
        let ledger = Ledger::open(None).unwrap();
        ledger.sent(&[1], &Log::default());
        assert!(ledger.0.is_none());
    }
}
