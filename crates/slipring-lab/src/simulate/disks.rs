//! Logs that are flushed and pages that are read.

use std::collections::VecDeque;

use super::outcome::Counts;
use super::program::{DiskPlan, LogPlan};
use super::world::{Event, Progress, Waiting, World};

/// The disk of a log: one flush at a time.
pub(super) struct LogDisk {
    waiting: VecDeque<usize>,
    /// For whom the flush under way is; nothing when there is none.
    flushing: Vec<usize>,
    pub(super) counts: Counts,
}

impl LogDisk {
    pub(super) fn new(plan: &LogPlan) -> LogDisk {
        let (waiting, flushing) = (VecDeque::new(), Vec::new());
        LogDisk { waiting, flushing, counts: Counts::of(&plan.name) }
    }
}

/// A disk that pages are read from.
pub(super) struct Disk {
    reading: usize,
    waiting: VecDeque<usize>,
}

impl Disk {
    pub(super) fn new(_: &DiskPlan) -> Disk {
        Disk { reading: 0, waiting: VecDeque::new() }
    }
}

impl World<'_> {
    /// Waits for a flush that begins from now on.
    pub(super) fn flush(&mut self, id: usize, log: usize) -> Progress {
        let state = &mut self.logs[log];
        state.counts.requests += 1;
        state.waiting.push_back(id);
        let entity = &mut self.entities[id];
        (entity.since_ns, entity.waiting) = (self.now_ns, Waiting::Log(log));
        if state.flushing.is_empty() {
            self.begin_flush(log);
        }
        Progress::Waits
    }

    fn begin_flush(&mut self, log: usize) {
        let plan = &self.program.logs[log];
        let state = &mut self.logs[log];
        let together = if plan.group { state.waiting.len() } else { 1 };
        let together = together.min(state.waiting.len());
        if together == 0 {
            return;
        }
        state.flushing.extend(state.waiting.drain(..together));
        state.counts.acquisitions += 1;
        let end = self.now_ns + plan.flush_ns;
        self.at(end, Event::Flushed(log as u32));
    }

    /// A flush is done.
    pub(super) fn flushed(&mut self, log: usize) {
        let wake_ns = self.program.logs[log].wake_ns;
        let served = std::mem::take(&mut self.logs[log].flushing);
        for &id in &served {
            self.ready_after(id, wake_ns);
        }
        // The list is kept for the next flush, so that none has to be made.
        let mut served = served;
        served.clear();
        self.logs[log].flushing = served;
        self.begin_flush(log);
    }

    /// Reads a page, if it is not there.
    pub(super) fn read(&mut self, id: usize, disk: usize) -> Progress {
        let plan = &self.program.disks[disk];
        if plan.miss == 0.0 || self.unit() >= plan.miss {
            return Progress::Next;
        }
        self.disks[disk].waiting.push_back(id);
        self.begin_reads(disk);
        Progress::Waits
    }

    fn begin_reads(&mut self, disk: usize) {
        let plan = &self.program.disks[disk];
        while self.disks[disk].reading < plan.at_a_time
            && let Some(worker) = self.disks[disk].waiting.pop_front()
        {
            self.disks[disk].reading += 1;
            let (at, worker) = (self.now_ns + plan.read_ns, worker as u32);
            self.at(at, Event::WasRead { disk: disk as u32, worker });
        }
    }

    /// A page is there.
    pub(super) fn was_read(&mut self, disk: usize, worker: usize) {
        self.disks[disk].reading -= 1;
        self.begin_reads(disk);
        self.place(worker);
    }
}
