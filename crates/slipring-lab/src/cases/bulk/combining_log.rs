//! The same log behind a combiner: workers leave their records in a list, and the one who finds
//! no writer at work writes all that wait at once, as the engine does with sends.
//!
//! In the engine the turn is a task that any thread can run; here the worker who has the turn keeps
//! it while others wait, so that the log never waits for one that sleeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};

use anyhow::Result;
use parking_lot::Mutex;
use slipring::WaitClass;
use slipring::clock::monotonic_ns;

use super::log::{LogFile, Record};

/// A log whose writers combine.
#[derive(Debug)]
pub struct CombiningLog {
    /// Counts a turn as an acquisition.
    turns: Arc<WaitClass>,
    /// Counts the wait of each record for its turn.
    records: Arc<WaitClass>,
    list: Mutex<List>,
    /// Only who has the turn locks this, so it is never waited for.
    log: Mutex<LogFile>,
}

#[derive(Debug, Default)]
struct List {
    calls: Vec<Call>,
    writing: bool,
    /// What went wrong; nothing is written after it.
    failed: Option<String>,
}

#[derive(Debug)]
struct Call {
    record: Record,
    since_ns: u64,
    slot: Arc<Slot>,
}

#[derive(Debug)]
struct Slot {
    done: AtomicBool,
    thread: Thread,
}

impl CombiningLog {
    /// A combiner before `log`.
    pub fn new(turns: Arc<WaitClass>, records: Arc<WaitClass>, log: LogFile) -> CombiningLog {
        CombiningLog { turns, records, list: Mutex::default(), log: Mutex::new(log) }
    }

    /// Appends a record; returns when it is written.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn append(&self, record: Record) -> Result<()> {
        let slot = Arc::new(Slot { done: AtomicBool::new(false), thread: thread::current() });
        let leads = {
            let mut list = self.list.lock();
            let call = Call { record, since_ns: monotonic_ns(), slot: Arc::clone(&slot) };
            list.calls.push(call);
            !std::mem::replace(&mut list.writing, true)
        };
        if leads {
            self.write_all_that_wait();
        }
        while !slot.done.load(Ordering::Acquire) {
            thread::park();
        }
        self.list.lock().failed.as_ref().map_or(Ok(()), |why| Err(anyhow::anyhow!("{why}")))
    }

    fn write_all_that_wait(&self) {
        let mut calls = Vec::new();
        let mut bytes = Vec::new();
        loop {
            {
                let mut list = self.list.lock();
                if list.calls.is_empty() {
                    list.writing = false;
                    return;
                }
                std::mem::swap(&mut list.calls, &mut calls);
            }
            self.turns.passed();
            let now_ns = monotonic_ns();
            bytes.clear();
            for (place, call) in calls.iter().enumerate() {
                if place == 0 {
                    self.records.passed();
                } else {
                    self.records.waited(now_ns.saturating_sub(call.since_ns));
                }
                bytes.extend_from_slice(&call.record);
            }
            if let Err(error) = self.log.lock().append(&bytes) {
                self.list.lock().failed = Some(format!("{error:#}"));
            }
            for call in calls.drain(..) {
                call.slot.done.store(true, Ordering::Release);
                call.slot.thread.unpark();
            }
        }
    }

    /// The log, when no caller can append any more.
    pub fn into_inner(self) -> LogFile {
        self.log.into_inner()
    }
}
