//! The load of the second case: workers fill extents of 64 KB with records, and enter each in three
//! allocation pages, which is one log record each.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use slipring::{WaitSnapshot, Waits};

use super::combining_log::CombiningLog;
use super::cores::{self, Hog};
use super::fifo_latch::FifoLatch;
use super::log::{LogFile, Record, record};
use crate::body::{self, BODY_BYTES, Content};
use crate::time::monotonic_ns;

/// Bytes of an extent.
pub const EXTENT_BYTES: usize = 64 << 10;
/// Records of 100 bytes in an extent of eight pages, with what a page needs for itself.
pub const RECORDS_PER_EXTENT: usize = 640;
/// Allocation pages that an extent is entered in, as published.
pub const PAGES: u8 = 3;

/// Who may write the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discipline {
    /// One latch, first come first served.
    Latch,
    /// A combiner.
    Combiner,
    /// Each worker has a log of its own: what the work costs with nothing shared.
    Apart,
}

/// One run of the load.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    pub discipline: Discipline,
    pub workers: usize,
    pub extents: u32,
    /// A busy thread on the core of the first worker; all workers are pinned then.
    pub hog: bool,
}

/// What a run took.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// From the first record to the last, without the flush at the end.
    pub seconds: f64,
    /// Acquisitions of the log, and how many of the appends waited for how long.
    pub log: WaitSnapshot,
    /// For a combiner: each append's wait for its turn.
    pub appends: WaitSnapshot,
    /// Of the time under the latch, the mean in nanoseconds.
    pub hold_ns: f64,
}

/// The log as the discipline wants it.
enum Log {
    Latch(FifoLatch<LogFile>),
    Combiner(CombiningLog),
    Apart,
}

/// Runs the load in a folder and checks what was written.
///
/// # Errors
/// When a file cannot be written, or the log is not as it must be.
pub fn run(load: Load, folder: &Path) -> Result<Loaded> {
    let waits = Waits::new();
    let (class, appends) = (waits.class("log"), waits.class("appends"));
    let file = LogFile::create(&folder.join("log"))?;
    let (log, spare) = match load.discipline {
        Discipline::Latch => (Log::Latch(FifoLatch::new(class, file)), None),
        Discipline::Combiner => {
            (Log::Combiner(CombiningLog::new(class, waits.class("appends"), file)), None)
        }
        Discipline::Apart => (Log::Apart, Some(file)),
    };
    let next = AtomicU32::new(0);
    let start = Barrier::new(load.workers + 1);
    let _hog = load.hog.then(Hog::start).transpose()?;
    let (log_of_all, next, start_of_all) = (&log, &next, &start);
    let (seconds, workers) = thread::scope(|scope| {
        let threads: Vec<_> = (0..load.workers)
            .map(|number| {
                scope.spawn(move || {
                    let ready = Worker::new(number, load, folder);
                    start_of_all.wait();
                    ready?.fill(load, log_of_all, next)
                })
            })
            .collect();
        start.wait();
        let begun = Instant::now();
        let workers: Vec<Result<Worker>> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err(anyhow!("a worker panicked"))))
            .collect();
        (begun.elapsed().as_secs_f64(), workers)
    });
    let workers = workers.into_iter().collect::<Result<Vec<_>>>()?;
    let file = match log {
        Log::Latch(latch) => Some(latch.into_inner()),
        Log::Combiner(combiner) => Some(combiner.into_inner()),
        Log::Apart => None,
    };
    if let Some(file) = file {
        file.flush()?;
        file.check(load.extents, PAGES)?;
    }
    drop(spare);
    let records: u64 = workers.iter().map(|worker| worker.records).sum();
    let held_ns: u64 = workers.iter().map(|worker| worker.held_ns).sum();
    workers.iter().try_for_each(|worker| worker.check(folder))?;
    let expected = u64::from(load.extents) * u64::from(PAGES);
    anyhow::ensure!(records == expected, "{records} log records for {expected}");
    Ok(Loaded {
        seconds,
        log: waits.class("log").snapshot(),
        appends: appends.snapshot(),
        hold_ns: held_ns as f64 / records.max(1) as f64,
    })
}

/// A worker with the file that its extents go to.
struct Worker {
    number: u32,
    data: File,
    extents: u32,
    records: u64,
    held_ns: u64,
}

impl Worker {
    fn new(number: usize, load: Load, folder: &Path) -> Result<Worker> {
        if load.hog {
            cores::pin(number)?;
        }
        let path = folder.join(format!("data-{number}"));
        let data = File::create(&path).with_context(|| format!("making {}", path.display()))?;
        Ok(Worker { number: number as u32, data, extents: 0, records: 0, held_ns: 0 })
    }

    fn fill(mut self, load: Load, log: &Log, next: &AtomicU32) -> Result<Worker> {
        let mut bytes = vec![0; EXTENT_BYTES];
        let mut own = Vec::new();
        loop {
            let extent = next.fetch_add(1, Ordering::Relaxed);
            if extent >= load.extents {
                return Ok(self);
            }
            // As published, the three entries come at different moments of the filling.
            let part = RECORDS_PER_EXTENT / usize::from(PAGES);
            for page in 0..PAGES {
                let from = part * usize::from(page);
                let to = if page + 1 == PAGES { RECORDS_PER_EXTENT } else { from + part };
                write_records(&mut bytes, extent, from..to);
                self.enter(log, &mut own, record(page, extent, self.number))?;
            }
            self.data.write_all(&bytes).context("writing an extent")?;
            self.extents += 1;
        }
    }

    fn enter(&mut self, log: &Log, own: &mut Vec<u8>, record: Record) -> Result<()> {
        self.records += 1;
        match log {
            Log::Latch(latch) => {
                let mut held = latch.acquire();
                let since_ns = monotonic_ns();
                let written = held.with(|log| log.append(&record));
                self.held_ns += monotonic_ns().saturating_sub(since_ns);
                written.unwrap_or(Ok(()))
            }
            Log::Combiner(log) => log.append(record),
            Log::Apart => {
                own.clear();
                own.extend_from_slice(&record);
                Ok(())
            }
        }
    }

    /// Checks that each extent it wrote holds the records of one extent, and takes the file away.
    fn check(&self, folder: &Path) -> Result<()> {
        let path = folder.join(format!("data-{}", self.number));
        let bytes = std::fs::read(&path).context("reading extents back")?;
        anyhow::ensure!(bytes.len() == self.extents as usize * EXTENT_BYTES, "half an extent");
        for extent in bytes.chunks_exact(EXTENT_BYTES) {
            let mut bodies = extent.chunks_exact(BODY_BYTES).take(RECORDS_PER_EXTENT);
            let first = body::read(bodies.next().unwrap_or_default())?.number;
            for (place, bytes) in bodies.enumerate() {
                let number = body::read(bytes)?.number;
                anyhow::ensure!(number == first + place as u64 + 1, "record {number} is misplaced");
            }
        }
        std::fs::remove_file(&path).context("removing extents")
    }
}

fn write_records(bytes: &mut [u8], extent: u32, records: std::ops::Range<usize>) {
    let first = u64::from(extent) * RECORDS_PER_EXTENT as u64;
    for place in records {
        let at = place * BODY_BYTES;
        let content = Content { number: first + place as u64, due_ns: 0 };
        if let Some(room) = bytes.get_mut(at..at + BODY_BYTES) {
            room.copy_from_slice(&body::write(content));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_discipline_writes_each_record_once() {
        for discipline in [Discipline::Latch, Discipline::Combiner, Discipline::Apart] {
            let folder = tempfile::tempdir().unwrap();
            let load = Load { discipline, workers: 4, extents: 40, hog: false };
            let loaded = run(load, folder.path()).unwrap();
            let asked = match discipline {
                Discipline::Latch => loaded.log.acquisitions,
                Discipline::Combiner => loaded.appends.acquisitions,
                Discipline::Apart => 120,
            };
            assert_eq!(asked, 120, "{discipline:?}");
            assert!(loaded.log.acquisitions <= 120, "{discipline:?}");
        }
    }

    #[test]
    fn a_busy_thread_beside_the_first_worker_changes_no_answer() {
        let folder = tempfile::tempdir().unwrap();
        let discipline = Discipline::Latch;
        let load = Load { discipline, workers: 2, extents: 5, hog: true };
        assert_eq!(run(load, folder.path()).unwrap().log.acquisitions, 15);
    }
}
