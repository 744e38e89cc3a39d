//! Cores and how they are shared.

use std::collections::{BTreeSet, VecDeque};

use anyhow::Result;

use super::model::Scheduler;
use super::program::nanoseconds;
use super::world::{Event, Progress, Role, World};

/// All cores of a run.
pub(super) struct Cores {
    cores: Vec<Core>,
    rules: Rules,
    idle: BTreeSet<usize>,
    /// Entities that could run and have no core.
    queued: usize,
    /// Time that workers and turns ran.
    pub(super) busy_ns: u64,
}

#[derive(Default)]
struct Core {
    running: Option<usize>,
    queue: VecDeque<usize>,
    epoch: u32,
    began_ns: u64,
    /// Who ran last.
    last: Option<usize>,
}

/// A scheduler with nanoseconds.
#[derive(Clone, Copy)]
struct Rules {
    cooperative: bool,
    pinned: bool,
    slice_ns: u64,
    granularity_ns: u64,
    switch_ns: u64,
}

impl Cores {
    pub(super) fn new(scheduler: &Scheduler, count: usize) -> Result<Cores> {
        let rules = match *scheduler {
            Scheduler::Cooperative { quantum_us, switch_us } => Rules {
                cooperative: true,
                pinned: true,
                slice_ns: nanoseconds("quantum_us", quantum_us)?.max(1),
                granularity_ns: 0,
                switch_ns: nanoseconds("switch_us", switch_us)?,
            },
            Scheduler::Preemptive { slice_us, granularity_us, switch_us, pinned } => Rules {
                cooperative: false,
                pinned,
                slice_ns: nanoseconds("slice_us", slice_us)?.max(1),
                granularity_ns: nanoseconds("granularity_us", granularity_us)?,
                switch_ns: nanoseconds("switch_us", switch_us)?,
            },
        };
        let cores = std::iter::repeat_with(Core::default).take(count).collect();
        Ok(Cores { cores, rules, idle: (0..count).collect(), queued: 0, busy_ns: 0 })
    }

    pub(super) fn count(&self) -> usize {
        self.cores.len()
    }

    /// A quantum or a slice.
    pub(super) fn slice_ns(&self) -> u64 {
        self.rules.slice_ns
    }

    /// Takes the next one for a core from its queue, or from the longest one where that is allowed.
    fn next(&mut self, core: usize) -> Option<usize> {
        if self.queued == 0 {
            return None;
        }
        let from = if !self.cores[core].queue.is_empty() || self.rules.pinned {
            core
        } else {
            let lengths = self.cores.iter().map(|core| core.queue.len()).enumerate();
            lengths.rev().max_by_key(|(_, length)| *length)?.0
        };
        let next = self.cores[from].queue.pop_front()?;
        self.queued -= 1;
        Some(next)
    }

    fn wait(&mut self, core: usize, id: usize) {
        self.cores[core].queue.push_back(id);
        self.queued += 1;
    }
}

impl World<'_> {
    /// An entity can run: it gets a core, or waits for one.
    pub(super) fn place(&mut self, id: usize) {
        let rules = self.cores.rules;
        let own = self.entities[id].core;
        let idle = &self.cores.idle;
        let free = if idle.contains(&own) || rules.pinned || self.entities[id].role == Role::Hog {
            own
        } else {
            idle.first().copied().unwrap_or(own)
        };
        self.entities[id].core = free;
        self.cores.wait(free, id);
        match self.cores.cores[free].running {
            None => self.dispatch(free),
            Some(running) if !rules.cooperative => self.preempt(free, running),
            Some(_) => {}
        }
    }

    /// Puts an entity before all others on the core of one that is about to wait.
    pub(super) fn goes_on_as(&mut self, id: usize, other: usize) {
        let core = self.entities[id].core;
        self.entities[other].core = core;
        let at = &mut self.cores.cores[core];
        at.queue.push_front(other);
        at.last = Some(other);
        self.cores.queued += 1;
    }

    /// One that woke interrupts the one that runs, unless that one has only begun.
    fn preempt(&mut self, core: usize, running: usize) {
        let entity = &self.entities[running];
        if self.now_ns - entity.slice_ns < self.cores.rules.granularity_ns.max(1) {
            return;
        }
        self.stop_clock(core, running);
        // The one that woke goes first; the one interrupted goes to the end.
        self.cores.queued += 1;
        let at = &mut self.cores.cores[core];
        let woken = at.queue.pop_back();
        at.queue.push_back(running);
        if let Some(woken) = woken {
            at.queue.push_front(woken);
        }
        at.running = None;
        self.dispatch(core);
    }

    /// Counts what a core has done since its clock was started.
    fn stop_clock(&mut self, core: usize, id: usize) {
        let at = &mut self.cores.cores[core];
        let ran = self.now_ns - at.began_ns;
        at.epoch = at.epoch.wrapping_add(1);
        let entity = &mut self.entities[id];
        entity.left_ns = entity.left_ns.saturating_sub(ran);
        if entity.role != Role::Hog {
            self.cores.busy_ns += ran;
        }
    }

    /// A core has done what it was to do.
    pub(super) fn core_done(&mut self, core: usize, epoch: u32) {
        let at = &self.cores.cores[core];
        let Some(id) = at.running.filter(|_| at.epoch == epoch) else { return };
        self.stop_clock(core, id);
        self.dispatch(core);
    }

    /// Gives a core to whoever is next, and lets that one go on until its clock runs.
    fn dispatch(&mut self, core: usize) {
        loop {
            let Some(id) = self.cores.cores[core].running.or_else(|| self.take_up(core)) else {
                self.cores.idle.insert(core);
                return;
            };
            if self.gives_way(core, id) {
                self.cores.wait(core, id);
                self.cores.cores[core].running = None;
                continue;
            }
            if self.entities[id].left_ns == 0
                && matches!(self.go_on(id), Progress::Waits | Progress::Tries)
            {
                self.cores.cores[core].running = None;
                continue;
            }
            let (rules, entity) = (self.cores.rules, &self.entities[id]);
            let used = self.now_ns - entity.slice_ns;
            let chunk = if rules.cooperative {
                entity.left_ns
            } else {
                entity.left_ns.min(rules.slice_ns.saturating_sub(used).max(1))
            };
            let at = &mut self.cores.cores[core];
            at.began_ns = self.now_ns;
            let event = Event::Done { core: core as u32, epoch: at.epoch };
            self.at(self.now_ns + chunk, event);
            return;
        }
    }

    /// Gives a core to the next one; nothing if there is none.
    fn take_up(&mut self, core: usize) -> Option<usize> {
        let id = self.cores.next(core)?;
        self.cores.idle.remove(&core);
        let switch_ns = self.cores.rules.switch_ns;
        let at = &mut self.cores.cores[core];
        at.running = Some(id);
        let switched = at.last != Some(id);
        at.last = Some(id);
        let entity = &mut self.entities[id];
        (entity.core, entity.slice_ns) = (core, self.now_ns);
        if switched {
            entity.left_ns += switch_ns;
        }
        self.wait_is_over(id);
        Some(id)
    }

    /// Whether one gives its core to the next in the queue; begins another slice if not.
    fn gives_way(&mut self, core: usize, id: usize) -> bool {
        let rules = self.cores.rules;
        let entity = &mut self.entities[id];
        if self.now_ns - entity.slice_ns < rules.slice_ns {
            return false;
        }
        // Who cooperates does so between two steps, and with empty hands.
        if rules.cooperative && (entity.left_ns > 0 || !entity.holds.is_empty()) {
            return false;
        }
        entity.slice_ns = self.now_ns;
        !self.cores.cores[core].queue.is_empty()
    }
}
