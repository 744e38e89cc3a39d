//! Lengthening the log ahead of the writer.
//!
//! A flush of what was written over old bytes of a file writes just those. A flush of a file that
//! has grown must also make the new length last, which on a journalling file system takes a write
//! to its journal, and waits for what other programs have in it. So the log grows by a step of
//! zeros once in a while, in place of a little with every transaction. SQLite reads the log up to
//! the first frame whose salt and checksum are not those of the log: zeros behind it mean nothing
//! to it, as does what an earlier round has left there.
//!
//! The step is taken within a transaction that changes nothing: while the write lock is held no
//! process adds to the log or cuts it.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::open::PAGE_BYTES;

/// How much the log grows at a time: a flush of so much takes about a millisecond.
const STEP_BYTES: u64 = 256 << 10;
/// The log grows when less than so much is left; a transaction of small messages writes less.
const LEFT_BYTES: u64 = 64 << 10;
/// What SQLite writes before each page of the log.
const FRAME_HEAD_BYTES: u64 = 24;

/// How far the log reaches ahead of the writer.
pub(crate) struct Ahead {
    /// Up to where there are bytes to write over, as far as is known.
    length: AtomicU64,
    /// The log is not lengthened beyond this.
    most: u64,
}

impl Ahead {
    /// Lengthens up to the size at which the log begins anew.
    pub(crate) fn new(most: u64) -> Ahead {
        Ahead { length: AtomicU64::new(0), most }
    }

    /// Whether a log of so many pages is to be lengthened.
    pub(crate) fn is_short(&self, pages: u64) -> bool {
        let used = pages.saturating_mul(PAGE_BYTES + FRAME_HEAD_BYTES);
        let length = self.length.load(Ordering::Relaxed);
        pages > 0 && length < self.most && used.saturating_add(LEFT_BYTES) > length
    }

    /// The log may have been cut.
    pub(crate) fn forget(&self) {
        self.length.store(0, Ordering::Relaxed);
    }

    /// Adds a step to the log, unless it is long enough; to be called under SQLite's write lock.
    /// What does not fit on the disk is given back, and not tried again until the log was cut.
    ///
    /// # Errors
    /// When the log cannot be lengthened; it is as it was then.
    pub(crate) fn lengthen(&self, mut log: &File, pages: u64) -> io::Result<()> {
        let before = log.metadata()?.len();
        self.length.store(before, Ordering::Relaxed);
        if !self.is_short(pages) {
            return Ok(());
        }
        let step = vec![0; usize::try_from(STEP_BYTES).unwrap_or(0)];
        let written = log.seek(SeekFrom::Start(before)).and_then(|_| log.write_all(&step));
        let length = if written.is_ok() { before + STEP_BYTES } else { u64::MAX };
        self.length.store(length, Ordering::Relaxed);
        match written {
            Ok(()) => Ok(()),
            Err(error) => log.set_len(before).and(Err(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(pages: u64) -> u64 {
        pages * (PAGE_BYTES + FRAME_HEAD_BYTES)
    }

    #[test]
    fn a_log_is_lengthened_by_steps_before_the_writer_reaches_its_end() {
        let file = tempfile::tempfile().unwrap();
        let ahead = Ahead::new(1 << 20);
        assert!(!ahead.is_short(0), "an empty log has no head yet");
        let (mut pages, mut steps) = (0, 0);
        while frames(pages) < 900_000 {
            pages += 5;
            (&file).seek(SeekFrom::Start(frames(pages))).unwrap();
            (&file).write_all(&[7; 100]).unwrap();
            if ahead.is_short(pages) {
                ahead.lengthen(&file, pages).unwrap();
                steps += 1;
            }
            assert!(file.metadata().unwrap().len() > frames(pages) + LEFT_BYTES);
        }
        assert!((4..=5).contains(&steps), "{steps}");
    }

    #[test]
    fn a_log_that_is_long_enough_is_left_alone() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(5 << 20).unwrap();
        let ahead = Ahead::new(1 << 20);
        assert!(ahead.is_short(1), "it is not known yet");
        ahead.lengthen(&file, 1).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 5 << 20);
        assert!(!ahead.is_short(1));
        ahead.forget();
        assert!(ahead.is_short(1));
    }
}
