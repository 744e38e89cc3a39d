//! The loads of the second case as they are measured here, as models whose costs were measured.

use super::super::model::{Combiner, Latch, Log, Model, Order, Pick, Scheduler, Step};
use crate::cases::bulk::extents::{PAGES, RECORDS_PER_EXTENT};

/// What the load of extents costs on this machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatchCosts {
    /// Filling an extent, with nothing shared and one worker, in microseconds.
    pub extent_us: f64,
    /// How much longer that takes while other cores work too; 1 for no longer.
    pub together: f64,
    /// Under the latch, for one record, in microseconds.
    pub hold_us: f64,
    /// From a release to the moment when a worker that slept runs, in microseconds.
    pub wake_us: f64,
    /// What a call of the system costs that writes many records, beside the first, for each.
    pub more_us: f64,
}

/// What a call of the send path costs on this machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SendCosts {
    /// Messages in a call.
    pub batch: usize,
    /// Processor time of a call outside of the writing thread, in microseconds.
    pub caller_us: f64,
    /// Processor time of the writing thread for a call, in microseconds.
    pub write_us: f64,
    /// A flush, in microseconds.
    pub flush_us: f64,
    /// What one call takes beyond all that: threads that wake one another, in microseconds.
    pub wakes_us: f64,
}

/// Most messages in a transaction of the SQLite store: 1 MiB of bodies of 100 bytes.
const TRANSACTION_MESSAGES_MAX: u64 = 10_485;

/// A kernel that shares cores in slices of so many microseconds, measured in ticks of 250 a second.
pub const SLICE_US: f64 = 4000.0;

/// The scheduler of this kernel.
pub fn kernel() -> Scheduler {
    Scheduler::Preemptive { slice_us: SLICE_US, granularity_us: 0.0, switch_us: 0.0, pinned: false }
}

/// A design of the log that the load of extents goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Design {
    /// One latch, first come first served.
    Fifo,
    /// One latch that who is there first takes.
    Barging,
    /// Eight latches, each worker takes any.
    Sharded,
    /// A combiner.
    Combining,
}

impl Design {
    /// What tables call it.
    pub fn name(self) -> &'static str {
        match self {
            Design::Fifo => "FIFO latch",
            Design::Barging => "barging latch",
            Design::Sharded => "8 latches",
            Design::Combining => "combining",
        }
    }
}

fn model(name: &str, cores: Option<usize>, steps: Vec<Step>) -> Model {
    Model {
        name: name.to_owned(),
        about: String::new(),
        seed: 1,
        operations: 1,
        units: RECORDS_PER_EXTENT as f64,
        workers: vec![1],
        cores,
        hogs: 0,
        scheduler: kernel(),
        latches: [].into(),
        logs: [].into(),
        pages: [].into(),
        combiners: [].into(),
        steps,
    }
}

/// The load of extents; `together` says whether cores disturb one another as they do here.
pub fn extents(costs: &LatchCosts, design: Design, cores: usize, together: bool) -> Model {
    let slower = if together { costs.together } else { 1.0 };
    let mut steps = Vec::new();
    for _ in 0..PAGES {
        steps.push(Step::work(costs.extent_us * slower / f64::from(PAGES)));
        match design {
            Design::Combining => {
                steps.push(Step::Combine { combiner: "log".to_owned(), units: 1 });
            }
            _ => steps.extend(Step::held("log", costs.hold_us * slower)),
        }
    }
    let mut model = model("load of extents", Some(cores), steps);
    if design == Design::Combining {
        let turn = vec![Step::Work {
            us: (costs.hold_us - costs.more_us).max(0.0),
            us_per_unit: costs.more_us,
            us_per_call: 0.0,
            us_per_worker: 0.0,
            spread: super::super::model::Spread::Fixed,
        }];
        let combiner =
            Combiner { turns: 1, units_max: 1 << 20, wake_us: 0.0, answer_us: costs.wake_us, turn };
        model.combiners.insert("log".to_owned(), combiner);
        return model;
    }
    let latch = Latch {
        order: if design == Design::Barging { Order::Barging } else { Order::Fifo },
        shards: if design == Design::Sharded { 8 } else { 1 },
        pick: Pick::Random,
        wake_us: costs.wake_us,
        wake_us_per_waiter: 0.0,
    };
    model.latches.insert("log".to_owned(), latch);
    model
}

/// Who writes and flushes in the send path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writing {
    /// The engine over the SQLite store: calls that wait share a transaction and its flush.
    Engine,
    /// Each call takes one latch, first come first served, and writes and flushes under it.
    OwnFlush,
    /// Each call writes under that latch and flushes after it, with all that wait for a flush.
    GroupFlush,
}

impl Writing {
    /// What tables call it.
    pub fn name(self) -> &'static str {
        match self {
            Writing::Engine => "engine, combining",
            Writing::OwnFlush => "FIFO latch, own flush",
            Writing::GroupFlush => "FIFO latch, group flush",
        }
    }
}

/// The send path.
pub fn send_path(costs: &SendCosts, writing: Writing, cores: usize) -> Model {
    let (units, disk) = (costs.batch as u64, "disk".to_owned());
    let flush = Step::Flush { log: disk.clone() };
    let mut steps = vec![Step::work(costs.caller_us)];
    let mut model = model("send path", Some(cores), Vec::new());
    let log = Log { flush_us: costs.flush_us, group: true, wake_us: 0.0 };
    match writing {
        Writing::Engine => {
            steps.push(Step::Combine { combiner: "writer".to_owned(), units });
            let turn = vec![
                Step::Work {
                    us: 0.0,
                    us_per_unit: 0.0,
                    us_per_call: costs.write_us,
                    us_per_worker: 0.0,
                    spread: super::super::model::Spread::Fixed,
                },
                flush,
            ];
            let combiner = Combiner {
                turns: 1,
                units_max: TRANSACTION_MESSAGES_MAX,
                wake_us: costs.wakes_us / 2.0,
                answer_us: costs.wakes_us / 2.0,
                turn,
            };
            model.combiners.insert("writer".to_owned(), combiner);
        }
        Writing::OwnFlush | Writing::GroupFlush => {
            let [take, write, give] = Step::held("writer", costs.write_us);
            if writing == Writing::OwnFlush {
                steps.extend([take, write, flush, give]);
            } else {
                steps.extend([take, write, give, flush]);
            }
            let latch = Latch {
                order: Order::Fifo,
                shards: 1,
                pick: Pick::Random,
                wake_us: costs.wakes_us / 2.0,
                wake_us_per_waiter: 0.0,
            };
            model.latches.insert("writer".to_owned(), latch);
        }
    }
    model.logs.insert(disk, log);
    model.units = costs.batch as f64;
    model.steps = steps;
    model
}

#[cfg(test)]
mod tests {
    use super::super::super::world::simulate;
    use super::*;

    const LATCH: LatchCosts =
        LatchCosts { extent_us: 90.0, together: 1.2, hold_us: 2.0, wake_us: 20.0, more_us: 0.2 };
    const SEND: SendCosts = SendCosts {
        batch: 640,
        caller_us: 300.0,
        write_us: 600.0,
        flush_us: 200.0,
        wakes_us: 40.0,
    };

    fn rate(model: Model, workers: usize) -> f64 {
        simulate(&Model { operations: 2000, ..model }, workers).unwrap().rate()
    }

    #[test]
    fn one_worker_takes_what_its_steps_take() {
        let expected = 640.0 / 96e-6;
        let alone = rate(extents(&LATCH, Design::Fifo, 1, false), 1);
        assert!((alone / expected - 1.0).abs() < 1e-3, "{alone} {expected}");
        let expected = 640.0 / 1140e-6;
        let alone = rate(send_path(&SEND, Writing::Engine, 2), 1);
        assert!((alone / expected - 1.0).abs() < 1e-3, "{alone} {expected}");
    }

    #[test]
    fn on_many_cores_a_combiner_is_faster_than_one_latch_and_so_are_eight() {
        let on = |design| rate(extents(&LATCH, design, 24, false), 24);
        assert!(on(Design::Combining) > 2.0 * on(Design::Fifo));
        assert!(on(Design::Sharded) > 2.0 * on(Design::Fifo));
        let on = |writing| rate(send_path(&SEND, writing, 24), 24);
        assert!(on(Writing::Engine) > on(Writing::GroupFlush));
        assert!(on(Writing::GroupFlush) > on(Writing::OwnFlush));
    }
}
