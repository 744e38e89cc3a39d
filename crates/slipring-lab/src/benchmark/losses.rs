//! What became of the jobs, by the ledgers of all processes of a turn: whether each whose insert
//! was answered was worked on.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::adapter::ledger::{DONE, RECORD_BYTES, SENT};

/// The first job of a process has this number times that of the process, counted from 0, so that
/// no two processes give a number twice.
pub const JOBS_EACH: u64 = 1 << 40;

/// What the ledgers say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Losses {
    /// Jobs whose insert was answered.
    pub sent: u64,
    /// Of these, those that were never worked on.
    pub lost: u64,
    /// Work that was done again.
    pub again: u64,
    /// Jobs that were worked on though their insert was not answered, or its answer not noted.
    pub unsure: u64,
}

/// What is known of one job.
#[derive(Debug, Clone, Copy, Default)]
struct Job {
    sent: bool,
    done: u64,
}

impl Losses {
    /// Reads all files of a folder. A record that was being written when its process ended is left
    /// out.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn read(folder: &Path) -> Result<Losses> {
        let mut jobs: BTreeMap<u64, Vec<Job>> = BTreeMap::new();
        for entry in std::fs::read_dir(folder).context("reading the ledgers")? {
            for record in std::fs::read(entry?.path())?.chunks_exact(RECORD_BYTES) {
                let Some((kind, number)) = record.split_first() else { continue };
                let number = u64::from_le_bytes(number.try_into().unwrap_or_default());
                let of_process = jobs.entry(number / JOBS_EACH).or_default();
                let at = usize::try_from(number % JOBS_EACH)?;
                if of_process.len() <= at {
                    of_process.resize(at + 1, Job::default());
                }
                if let Some(job) = of_process.get_mut(at) {
                    job.sent |= *kind == SENT;
                    job.done += u64::from(*kind == DONE);
                }
            }
        }
        let mut losses = Losses::default();
        for job in jobs.values().flatten() {
            losses.sent += u64::from(job.sent);
            losses.lost += u64::from(job.sent && job.done == 0);
            losses.again += job.done.saturating_sub(1);
            losses.unsure += u64::from(!job.sent && job.done > 0);
        }
        Ok(losses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u8, number: u64) -> Vec<u8> {
        [&[kind][..], &number.to_le_bytes()].concat()
    }

    #[test]
    fn a_lost_a_repeated_and_an_unsure_job_are_seen_across_processes() {
        let folder = tempfile::tempdir().unwrap();
        let first = [record(SENT, 0), record(SENT, 1), record(SENT, 2), record(DONE, 0)];
        let second = JOBS_EACH;
        let mut other = [
            record(SENT, second),
            record(DONE, 1),
            record(DONE, 1),
            record(DONE, second),
            record(DONE, second + 7),
        ]
        .concat();
        // Cut in the middle of a record.
        other.extend([DONE, 2, 0, 0]);
        std::fs::write(folder.path().join("0"), first.concat()).unwrap();
        std::fs::write(folder.path().join("1"), other).unwrap();
        let losses = Losses::read(folder.path()).unwrap();
        assert_eq!(losses, Losses { sent: 4, lost: 1, again: 1, unsure: 1 });
    }

    #[test]
    fn nothing_sent_is_nothing_lost() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Losses::read(folder.path()).unwrap(), Losses::default());
    }
}
