//! The second published case as a model: a parallel insert whose every log record needs one latch,
//! first come first served, on schedulers that cooperate with a quantum of 4 ms.
//!
//! What was published: 347,435 acquisitions, three for each extent of 64 KB; 150 of them in a
//! quantum with one worker by the faster query, 84 by the slower one; the time falls to about 8
//! workers and rises after; at 16 to 24 nearly every acquisition waits; with a busy query on the
//! scheduler of one worker 141,162 ms at 8 workers and 82,245 ms at 16, up to 30 times as slow.

use super::super::model::{Latch, Model, Order, Pick, Scheduler, Spread, Step};

/// Acquisitions of the published load.
pub const ACQUISITIONS: u64 = 347_435;
/// Acquisitions for each extent.
pub const PER_EXTENT: u64 = 3;
/// Acquisitions in a quantum with one worker, by the faster query and by the slower one.
pub const PER_QUANTUM: [f64; 2] = [150.0, 84.0];
/// The quantum in milliseconds.
pub const QUANTUM_MS: f64 = 4.0;

/// One of the two runs with a busy query.
pub struct Floor {
    /// How many workers.
    pub workers: usize,
    /// Acquisitions by the worker beside the busy query.
    pub acquisitions: f64,
    /// Of those, the part that waited.
    pub waited: f64,
    /// Milliseconds that were seen.
    pub seen_ms: f64,
}

impl Floor {
    /// Acquisitions by the worker × quantum × the part that waited, in milliseconds.
    pub fn ms(&self) -> f64 {
        self.acquisitions * QUANTUM_MS * self.waited
    }
}

/// The two runs.
pub const FLOORS: [Floor; 2] = [
    Floor { workers: 8, acquisitions: 39_961.0, waited: 33.0 / 36.0, seen_ms: 141_162.0 },
    Floor { workers: 16, acquisitions: 20_968.0, waited: 35.0 / 36.0, seen_ms: 82_245.0 },
];

/// Work under the latch, chosen (see [`assumptions`]).
const HOLD_US: f64 = 3.0;
/// From a release to the moment when the next worker runs, chosen.
const WAKE_US: f64 = 3.0;
/// How much longer that takes for each further worker that waits, chosen.
const WAKE_US_PER_WAITER: f64 = 0.05;

/// What the model takes for granted, one sentence each.
pub fn assumptions() -> Vec<String> {
    vec![
        format!(
            "published: {ACQUISITIONS} acquisitions, 3 for each extent; {} and {} in a quantum of \
             {QUANTUM_MS} ms with one worker",
            PER_QUANTUM[0], PER_QUANTUM[1]
        ),
        format!(
            "chosen, since it was not published: {HOLD_US} µs of work under the latch; {WAKE_US} \
             µs from a release to the moment when a worker that slept runs, and \
             {WAKE_US_PER_WAITER} µs more for each further one that waits; they were fitted to \
             the shape of the curve and the two runs with a busy query, and serve all runs alike"
        ),
        "the work between two acquisitions is exponential, for rows and pages differ; a worker \
         stays on a scheduler of its own and yields between two steps and with empty hands"
            .to_owned(),
    ]
}

/// The load with so many latches in a quantum, a part of it only.
///
/// `hogs` busy queries run on the first schedulers.
pub fn load(per_quantum: f64, hogs: usize, part: f64) -> Model {
    let extents = (ACQUISITIONS as f64 * part / PER_EXTENT as f64).round();
    let mut steps = Vec::new();
    for _ in 0..PER_EXTENT {
        let work = QUANTUM_MS * 1000.0 / per_quantum - HOLD_US;
        steps.push(Step::spread_work(work, Spread::Exponential));
        steps.extend(Step::held("log", HOLD_US));
    }
    let latch = Latch {
        order: Order::Fifo,
        shards: 1,
        pick: Pick::Random,
        wake_us: WAKE_US,
        wake_us_per_waiter: WAKE_US_PER_WAITER,
    };
    Model {
        name: "one log latch".to_owned(),
        about: "a parallel insert whose log records need one latch".to_owned(),
        seed: 1,
        operations: extents.max(1.0) as u64,
        units: PER_EXTENT as f64,
        workers: vec![1, 2, 4, 6, 8, 10, 12, 16, 20, 24],
        cores: None,
        hogs,
        scheduler: Scheduler::Cooperative { quantum_us: QUANTUM_MS * 1000.0, switch_us: 0.0 },
        latches: [("log".to_owned(), latch)].into(),
        logs: [].into(),
        pages: [].into(),
        combiners: [].into(),
        steps,
    }
}
