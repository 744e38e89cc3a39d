//! The simulator: events in order of time, and what workers, turns and hogs do in them.
//!
//! Cores are in `cores.rs`, what is waited for in `latches.rs`, `disks.rs` and `combining.rs`.
//! Nothing here asks the clock or the system's randomness: the same program, seed and number of
//! workers give the same run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use anyhow::{Result, bail};
use slipring::{Randomness, SeededRandomness};

use super::combining::Gathering;
use super::cores::Cores;
use super::disks::{Disk, LogDisk};
use super::latches::LatchState;
use super::model::{Model, Spread};
use super::outcome::{Outcome, WorkerCounts};
use super::program::{Op, Program};
use crate::stats::Latencies;

/// A run ends with an error after so many events; it bounds what a model can cost.
const EVENTS_MAX: u64 = 4_000_000_000;

/// What happens at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A core has done what it was to do; `epoch` tells whether that still holds.
    Done { core: u32, epoch: u32 },
    /// A worker can run.
    Ready(u32),
    /// A log has flushed.
    Flushed(u32),
    /// A worker's page has been read.
    WasRead { disk: u32, worker: u32 },
}

/// What an entity is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Does the model's steps.
    Worker,
    /// Does the turns of a combiner.
    Turn(usize),
    /// Uses its core and nothing else.
    Hog,
}

/// What a worker waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waiting {
    Nothing,
    Latch(usize),
    Log(usize),
}

/// How far an entity got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// The step is done; go on with the next.
    Next,
    /// It needs a core, for what its `left_ns` says.
    Works,
    /// It waits; when it runs again the step is done.
    Waits,
    /// It waits; when it runs again it tries the step again.
    Tries,
}

/// Someone who uses cores.
#[derive(Debug)]
pub(super) struct Entity {
    pub(super) role: Role,
    pub(super) step: usize,
    pub(super) core: usize,
    /// What the present step still needs of a core.
    pub(super) left_ns: u64,
    /// When it was given its core last.
    pub(super) slice_ns: u64,
    pub(super) waiting: Waiting,
    pub(super) since_ns: u64,
    /// Latches and shards that it holds.
    pub(super) holds: Vec<(usize, usize)>,
    /// Whether it was woken for a latch that it must still take.
    pub(super) woken: bool,
    began_ns: u64,
    /// For a turn: whose calls it does, and how much they are.
    pub(super) calls: Vec<usize>,
    pub(super) units: u64,
    pub(super) counts: WorkerCounts,
}

/// All of it.
pub(super) struct World<'p> {
    pub(super) program: &'p Program,
    pub(super) now_ns: u64,
    sequence: u64,
    agenda: BinaryHeap<Reverse<(u64, u64, Event)>>,
    pub(super) entities: Vec<Entity>,
    pub(super) cores: Cores,
    pub(super) latches: Vec<LatchState>,
    pub(super) logs: Vec<LogDisk>,
    pub(super) disks: Vec<Disk>,
    pub(super) combiners: Vec<Gathering>,
    randomness: SeededRandomness,
    taken: u64,
    done: u64,
    operations: u64,
    latencies: Latencies,
}

/// Simulates a model with so many workers.
///
/// # Errors
/// When the model makes no sense, or stops for ever.
pub fn simulate(model: &Model, workers: usize) -> Result<Outcome> {
    let program = Program::of(model, workers)?;
    World::new(model, &program, workers)?.run(model, workers)
}

impl<'p> World<'p> {
    fn new(model: &Model, program: &'p Program, workers: usize) -> Result<World<'p>> {
        let cores = model.cores_for(workers);
        let mut world = World {
            program,
            now_ns: 0,
            sequence: 0,
            agenda: BinaryHeap::new(),
            entities: Vec::new(),
            cores: Cores::new(&model.scheduler, cores)?,
            latches: program.latches.iter().map(LatchState::new).collect(),
            logs: program.logs.iter().map(LogDisk::new).collect(),
            disks: program.disks.iter().map(Disk::new).collect(),
            combiners: program.combiners.iter().map(Gathering::new).collect(),
            randomness: SeededRandomness::new(model.seed ^ workers as u64),
            taken: 0,
            done: 0,
            operations: model.operations,
            latencies: Latencies::new()?,
        };
        for number in 0..workers {
            world.add(Role::Worker, number % cores);
        }
        for (combiner, plan) in program.combiners.iter().enumerate() {
            for turn in 0..plan.turns {
                let id = world.add(Role::Turn(combiner), turn % cores);
                world.entities[id].step = usize::MAX;
                world.combiners[combiner].idle.push(id);
            }
        }
        for core in 0..model.hogs {
            world.add(Role::Hog, core);
        }
        Ok(world)
    }

    fn add(&mut self, role: Role, core: usize) -> usize {
        self.entities.push(Entity {
            role,
            step: 0,
            core,
            left_ns: 0,
            slice_ns: 0,
            waiting: Waiting::Nothing,
            since_ns: 0,
            holds: Vec::new(),
            woken: false,
            began_ns: 0,
            calls: Vec::new(),
            units: 0,
            counts: WorkerCounts::default(),
        });
        self.entities.len() - 1
    }

    fn run(mut self, model: &Model, workers: usize) -> Result<Outcome> {
        for id in 0..self.entities.len() {
            let starts = match self.entities[id].role {
                Role::Worker => self.begin(id),
                Role::Turn(_) => false,
                Role::Hog => true,
            };
            if starts {
                self.at(0, Event::Ready(id as u32));
            }
        }
        let mut events = 0;
        while self.done < self.operations {
            let Some(Reverse((at, _, event))) = self.agenda.pop() else {
                bail!("{} of {} operations are done, and all wait", self.done, self.operations);
            };
            events += 1;
            if events > EVENTS_MAX {
                bail!("the model needs more than {EVENTS_MAX} events; use fewer operations");
            }
            self.now_ns = at;
            match event {
                Event::Done { core, epoch } => self.core_done(core as usize, epoch),
                Event::Ready(id) => self.place(id as usize),
                Event::Flushed(log) => self.flushed(log as usize),
                Event::WasRead { disk, worker } => self.was_read(disk as usize, worker as usize),
            }
        }
        Ok(Outcome {
            workers,
            cores: self.cores.count(),
            elapsed_ns: self.now_ns,
            operations: self.done,
            units: self.done as f64 * model.units,
            events,
            busy_ns: self.cores.busy_ns,
            latches: self.latches.into_iter().map(|latch| latch.counts).collect(),
            logs: self.logs.into_iter().map(|log| log.counts).collect(),
            combiners: self.combiners.into_iter().map(|combiner| combiner.counts).collect(),
            by_worker: self.entities[..workers].iter().map(|worker| worker.counts).collect(),
            latencies: self.latencies.percentiles(),
        })
    }

    /// Puts an event on the agenda.
    pub(super) fn at(&mut self, at_ns: u64, event: Event) {
        self.sequence += 1;
        self.agenda.push(Reverse((at_ns, self.sequence, event)));
    }

    /// Lets an entity run after a time.
    pub(super) fn ready_after(&mut self, id: usize, ns: u64) {
        self.at(self.now_ns + ns, Event::Ready(id as u32));
    }

    /// A number from 0 to 1.
    pub(super) fn unit(&self) -> f64 {
        self.randomness.unit()
    }

    /// Takes the next operation, if there is one.
    fn begin(&mut self, id: usize) -> bool {
        if self.taken == self.operations {
            return false;
        }
        self.taken += 1;
        let worker = &mut self.entities[id];
        (worker.step, worker.began_ns) = (0, self.now_ns);
        true
    }

    /// Goes through the steps of an entity until it needs a core or waits.
    pub(super) fn go_on(&mut self, id: usize) -> Progress {
        loop {
            let entity = &self.entities[id];
            let step = match entity.role {
                Role::Hog => {
                    self.entities[id].left_ns = self.cores.slice_ns();
                    return Progress::Works;
                }
                Role::Worker => self.program.steps.get(entity.step),
                Role::Turn(combiner) => self.program.combiners[combiner].turn.get(entity.step),
            };
            let progress = match step {
                Some(op) => self.perform(id, *op),
                None if self.end_of_steps(id) => continue,
                None => return Progress::Waits,
            };
            match progress {
                Progress::Next => self.entities[id].step += 1,
                Progress::Works | Progress::Waits => {
                    self.entities[id].step += 1;
                    return progress;
                }
                Progress::Tries => return progress,
            }
        }
    }

    /// An operation or a turn is done; answers whether there is another one.
    fn end_of_steps(&mut self, id: usize) -> bool {
        if let Role::Turn(combiner) = self.entities[id].role {
            return self.next_turn(id, combiner);
        }
        self.done += 1;
        let worker = &mut self.entities[id];
        worker.counts.operations += 1;
        self.latencies.add(self.now_ns - worker.began_ns);
        self.begin(id)
    }

    fn perform(&mut self, id: usize, op: Op) -> Progress {
        match op {
            Op::Work { ns, ns_per_unit, ns_per_call, spread } => {
                let entity = &self.entities[id];
                let (units, calls) = (entity.units as f64, entity.calls.len() as f64);
                let mean = ns + ns_per_unit * units + ns_per_call * calls;
                let work = match spread {
                    Spread::Fixed => mean,
                    Spread::Uniform => mean * 2.0 * self.unit(),
                    Spread::Exponential => -mean * (1.0 - self.unit()).ln(),
                };
                self.entities[id].left_ns = work.round() as u64;
                if self.entities[id].left_ns == 0 { Progress::Next } else { Progress::Works }
            }
            Op::Sleep { ns, tick_ns } => {
                let end = self.now_ns + ns;
                let end = if tick_ns == 0 { end } else { end.next_multiple_of(tick_ns) };
                self.at(end, Event::Ready(id as u32));
                Progress::Waits
            }
            Op::Acquire(latch) => self.acquire(id, latch),
            Op::Release(latch) => {
                self.release(id, latch);
                Progress::Next
            }
            Op::Flush(log) => self.flush(id, log),
            Op::Read(disk) => self.read(id, disk),
            Op::Combine { combiner, units } => self.combine(id, combiner, units),
        }
    }
}
