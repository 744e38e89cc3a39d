//! A disk that takes pages for written which it has lost, and opening a file that has a log.

use std::io::Cursor;
use std::time::{Duration, SystemTime};

use slipring_conformance::verbs::{at, claim, plain, send};

use super::*;
use crate::{SqliteOptions, SqliteStore};

const BLOCK: usize = 4096;

/// A file as the operating system shows it, and as it is on disk.
struct Disk {
    shown: Cursor<Vec<u8>>,
    stored: Vec<u8>,
    /// Blocks that the next flush writes.
    dirty: Vec<bool>,
}

impl Disk {
    /// The blocks from one on have been lost by a flush that failed, and are not dirty.
    fn lost_from(shown: &[u8], block: usize) -> Disk {
        let mut stored = shown.to_vec();
        stored[block * BLOCK..].fill(0);
        let dirty = vec![false; shown.len().div_ceil(BLOCK)];
        Disk { shown: Cursor::new(shown.to_vec()), stored, dirty }
    }

    fn flush(&mut self) {
        let shown = self.shown.get_ref().chunks(BLOCK);
        for ((shown, stored), dirty) in shown.zip(self.stored.chunks_mut(BLOCK)).zip(&self.dirty) {
            if *dirty {
                stored.copy_from_slice(shown);
            }
        }
        self.dirty.fill(false);
    }
}

impl Read for Disk {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.shown.read(into)
    }
}

impl Seek for Disk {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.shown.seek(to)
    }
}

impl Write for Disk {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        let first = self.shown.position() as usize;
        let count = self.shown.write(from)?;
        self.dirty[first / BLOCK..=(first + count - 1) / BLOCK].fill(true);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn store(folder: &tempfile::TempDir) -> std::sync::Arc<SqliteStore> {
    SqliteStore::open(folder.path().join("a.db"), SqliteOptions::default()).unwrap()
}

/// The log of a store with messages, longer than one step.
async fn log_of(folder: &tempfile::TempDir) -> Vec<u8> {
    let store = store(folder);
    let queue = plain(&store).await;
    for _ in 0..20 {
        send(&store, queue, &["x"; 500]).await;
    }
    std::fs::read(folder.path().join("a.db-wal")).unwrap()
}

/// Where the frames of a round of a log end.
fn end_of(log: &[u8]) -> usize {
    let frames = log[LOG_HEADER_BYTES..].chunks_exact(FRAME_HEADER_BYTES + BLOCK);
    let of_round = frames.take_while(|frame| frame[8..16] == log[16..24]).count();
    LOG_HEADER_BYTES + of_round * (FRAME_HEADER_BYTES + BLOCK)
}

#[tokio::test]
async fn what_an_earlier_flush_has_lost_is_on_disk_afterwards() {
    // S1.1
    let folder = tempfile::tempdir().unwrap();
    let bytes = log_of(&folder).await;
    let end = end_of(&bytes);
    assert!(end > BLOCK * STEP_FRAMES as usize, "it takes more than one step");
    for lost_from in [0, 1, 7] {
        let mut log = OldLog::new(Disk::lost_from(&bytes, lost_from));
        log.file.flush();
        assert_ne!(log.file.stored[..end], bytes[..end], "a flush alone writes nothing");
        while log.step().unwrap() {}
        log.file.flush();
        assert!(log.file.stored[..end] == bytes[..end], "lost from block {lost_from}");
        assert!(*log.file.shown.get_ref() == bytes, "what others see is not changed");
    }
}

#[tokio::test]
async fn a_log_that_begins_anew_between_two_steps_is_written_from_its_beginning() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = log_of(&folder).await;
    let mut log = OldLog::new(Disk::lost_from(&bytes, 0));
    assert!(log.step().unwrap());
    // Another process has begun it anew with one frame, which has its salts.
    let frame = LOG_HEADER_BYTES..LOG_HEADER_BYTES + FRAME_HEADER_BYTES + BLOCK;
    let shown = log.file.shown.get_mut();
    shown[16..24].fill(0xab);
    shown[frame.clone()].fill(0xab);
    log.file.dirty.fill(false);
    assert!(!log.step().unwrap());
    log.file.flush();
    let shown = log.file.shown.get_ref();
    assert_eq!(log.file.stored[..frame.end], shown[..frame.end]);
    assert!(shown[frame.end..] == bytes[frame.end..]);
}

#[test]
fn what_is_no_log_is_left_as_it_is() {
    for bytes in [vec![], vec![1; 31], vec![0; 3 * BLOCK], vec![0xff; 3 * BLOCK]] {
        let mut log = OldLog::new(Disk::lost_from(&bytes, 0));
        assert!(!log.step().unwrap());
        assert!(log.file.dirty.iter().all(|dirty| !dirty));
    }
}

/// Opens a file, and answers whether its log was written.
fn writes_log(folder: &tempfile::TempDir) -> bool {
    let log = File::options().write(true).open(folder.path().join("a.db-wal")).unwrap();
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    log.set_modified(long_ago).unwrap();
    let _store = store(folder);
    log.metadata().unwrap().modified().unwrap() > long_ago
}

#[tokio::test]
async fn a_log_that_is_there_is_written_once_more_by_each_process_that_opens_the_file() {
    // S1.1
    let folder = tempfile::tempdir().unwrap();
    let first = store(&folder);
    let queue = plain(&first).await;
    send(&first, queue, &["a"]).await;
    assert!(writes_log(&folder), "beside another process");
    // As a process leaves it that was killed; the one above has cut it at its end.
    send(&first, queue, &["b"]).await;
    let killed = tempfile::tempdir().unwrap();
    for name in ["a.db", "a.db-wal"] {
        std::fs::copy(folder.path().join(name), killed.path().join(name)).unwrap();
    }
    assert!(writes_log(&killed), "alone");
    let again = store(&killed);
    assert_eq!(claim(&again, queue, 9, at(0)).await.len(), 2);
}
