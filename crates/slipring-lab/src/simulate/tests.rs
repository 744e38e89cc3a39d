//! The simulator against what can be worked out by hand, and against what was published.

use super::model::{Combiner, Latch, Log, Model, Order, Pages, Pick, Scheduler, Spread, Step};
use super::models::published::{FLOORS, PER_QUANTUM, load};
use super::models::waiters;
use super::outcome::Outcome;
use super::world::simulate;
use crate::findings::Findings;

fn model(cores: usize, steps: Vec<Step>) -> Model {
    Model {
        name: "test".into(),
        about: String::new(),
        seed: 1,
        operations: 1000,
        units: 1.0,
        workers: vec![1],
        cores: Some(cores),
        hogs: 0,
        scheduler: Scheduler::Cooperative { quantum_us: 4000.0, switch_us: 0.0 },
        latches: [].into(),
        logs: [].into(),
        pages: [].into(),
        combiners: [].into(),
        steps,
    }
}

fn latch(order: Order, wake_us: f64) -> Latch {
    Latch { order, shards: 1, pick: Pick::Random, wake_us, wake_us_per_waiter: 0.0 }
}

fn latched(order: Order, wake_us: f64, work_us: f64, hold_us: f64, cores: usize) -> Model {
    let mut steps = vec![Step::work(work_us)];
    steps.extend(Step::held("latch", hold_us));
    let mut model = model(cores, steps);
    model.latches.insert("latch".into(), latch(order, wake_us));
    model
}

fn preemptive(slice_us: f64, granularity_us: f64) -> Scheduler {
    Scheduler::Preemptive { slice_us, granularity_us, switch_us: 0.0, pinned: true }
}

fn run(model: &Model, workers: usize) -> Outcome {
    let outcome = simulate(model, workers).unwrap();
    assert_eq!(outcome.operations, model.operations);
    outcome
}

fn near(seen: f64, expected: f64, percent: f64) {
    let off = (seen / expected - 1.0).abs() * 100.0;
    assert!(off <= percent, "{seen} is {off:.2} % off {expected}");
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_one_does_not() {
    let mut model = latched(Order::Fifo, 3.0, 20.0, 3.0, 4);
    model.steps[0] = Step::spread_work(20.0, Spread::Exponential);
    assert_eq!(run(&model, 4), run(&model, 4));
    let other = Model { seed: 2, ..model.clone() };
    assert_ne!(run(&model, 4).elapsed_ns, run(&other, 4).elapsed_ns);
}

#[test]
fn work_is_shared_by_cores_and_no_more_than_they_are() {
    let model = |cores| model(cores, vec![Step::work(100.0)]);
    near(run(&model(1), 4).elapsed_ms(), 100.0, 1.0);
    let four = run(&model(4), 4);
    near(four.elapsed_ms(), 25.0, 1.0);
    near(four.busy_share(), 1.0, 1.0);
    let sliced = Model { scheduler: preemptive(1000.0, 0.0), ..model(2) };
    near(run(&sliced, 4).elapsed_ms(), 50.0, 1.0);
}

#[test]
fn work_of_each_spread_has_its_mean() {
    for spread in [Spread::Fixed, Spread::Uniform, Spread::Exponential] {
        let model = Model { operations: 20_000, ..model(1, vec![Step::spread_work(50.0, spread)]) };
        near(run(&model, 1).elapsed_ms(), 1000.0, 3.0);
    }
}

#[test]
fn a_full_latch_takes_what_its_holders_and_their_wakes_take() {
    let outcome = run(&latched(Order::Fifo, 3.0, 10.0, 2.0, 8), 8);
    near(outcome.elapsed_ms(), 5.0, 1.0);
    let counts = &outcome.latches[0];
    assert_eq!((counts.requests, counts.acquisitions), (1000, 1000));
    assert!(counts.contended > 980, "{counts:?}");
    // Eight in the line, so each waits for seven others.
    near(counts.wait_ms_mean(), 0.040 - 0.012, 3.0);
}

#[test]
fn who_barges_does_not_wait_for_one_that_sleeps() {
    let fifo = run(&latched(Order::Fifo, 50.0, 10.0, 2.0, 4), 4);
    let barging = run(&latched(Order::Barging, 50.0, 10.0, 2.0, 4), 4);
    assert!(barging.elapsed_ns * 3 < fifo.elapsed_ns, "{barging:?} {fifo:?}");
    let counts = &barging.latches[0];
    assert_eq!((counts.requests, counts.acquisitions), (1000, 1000));
}

#[test]
fn beside_a_hog_each_turn_of_a_fifo_latch_takes_a_quantum() {
    let model = Model { hogs: 1, ..latched(Order::Fifo, 3.0, 20.0, 3.0, 8) };
    let outcome = run(&model, 8);
    let waits = outcome.by_worker[0].contended as f64;
    near(outcome.elapsed_ms(), waits * 4.0, 3.0);
    assert!(waits > 80.0, "{outcome:?}");
    // A kernel that lets those that wake go first does not show it.
    let kernel = Model { scheduler: preemptive(4000.0, 0.0), ..model };
    assert!(run(&kernel, 8).elapsed_ms() * 20.0 < outcome.elapsed_ms());
}

#[test]
fn a_combiner_does_all_calls_that_wait_in_one_turn_and_no_hog_stops_it() {
    let steps = vec![Step::work(10.0), Step::Combine { combiner: "log".into(), units: 1 }];
    let combiner = Combiner {
        turns: 1,
        units_max: 100,
        wake_us: 0.0,
        answer_us: 0.0,
        turn: vec![Step::work(10.0)],
    };
    let mut model = model(8, steps);
    model.combiners.insert("log".into(), combiner);
    let outcome = run(&model, 8);
    let counts = &outcome.combiners[0];
    assert_eq!(counts.requests, 1000);
    assert!(counts.acquisitions < 300, "{counts:?}");
    let beside = run(&Model { hogs: 1, ..model.clone() }, 8);
    let latch = run(&Model { hogs: 1, ..latched(Order::Fifo, 0.0, 10.0, 10.0, 8) }, 8);
    assert!(beside.elapsed_ns * 10 < latch.elapsed_ns, "{beside:?} {latch:?}");
}

#[test]
fn a_turn_takes_no_more_than_its_bound() {
    let steps = vec![Step::Combine { combiner: "log".into(), units: 10 }];
    let turn = vec![Step::Work {
        us: 5.0,
        us_per_unit: 1.0,
        us_per_call: 2.0,
        us_per_worker: 0.0,
        spread: Spread::Fixed,
    }];
    let combiner = Combiner { turns: 1, units_max: 20, wake_us: 1.0, answer_us: 0.0, turn };
    let mut model = model(4, steps);
    model.combiners.insert("log".into(), combiner);
    let outcome = run(&model, 4);
    let turns = outcome.combiners[0].acquisitions as f64;
    assert!(turns >= 500.0, "{outcome:?}");
    // Each turn 5 µs, each unit 1 µs, each call 2 µs.
    near(outcome.elapsed_ms(), (5.0 * turns + 12.0 * 1000.0) / 1000.0, 1.0);
}

#[test]
fn a_flush_serves_all_that_wait_unless_each_has_its_own() {
    let with = |group| {
        let mut model = model(8, vec![Step::Flush { log: "disk".into() }]);
        let log = Log { flush_us: 100.0, group, wake_us: 0.0 };
        model.logs.insert("disk".into(), log);
        run(&model, 8)
    };
    near(with(false).elapsed_ms(), 100.0, 1.0);
    // One alone, then seven and one by turns.
    let group = with(true);
    near(group.elapsed_ms(), 1000.0 / 8.0 * 2.0 / 10.0, 3.0);
    near(group.logs[0].acquisitions as f64, 250.0, 3.0);
}

#[test]
fn pages_are_read_when_they_are_missed_and_the_last_one_is_fought_for() {
    let with = |pick, miss_percent| {
        let mut model = model(8, vec![Step::Page { pages: "table".into(), us: 10.0 }]);
        let pages = Pages {
            count: 64,
            pick,
            wake_us: 0.0,
            miss_percent,
            read_us: 100.0,
            reads_at_a_time: 2,
        };
        model.pages.insert("table".into(), pages);
        run(&model, 8)
    };
    near(with(Pick::Worker, 0.0).elapsed_ms(), 1.25, 1.0);
    near(with(Pick::Last, 0.0).elapsed_ms(), 10.0, 1.0);
    near(with(Pick::Worker, 100.0).elapsed_ms(), 50.0, 1.0);
}

#[test]
fn sleeps_end_at_ticks() {
    let steps = vec![Step::Sleep { us: 10_000.0, tick_us: 15_625.0 }];
    let model = Model { operations: 10, ..model(1, steps) };
    near(run(&model, 1).elapsed_ms(), 156.25, 0.01);
}

#[test]
fn the_published_floors_and_the_shape_of_the_curve_come_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut findings = Findings::new("test", "test", folder.path());
    super::published::compare(true, 1, &mut findings).unwrap();
    assert_eq!(findings.missed(), 0, "{}", findings.text());
    assert_eq!(findings.conditions.len(), 12);
    let first = &FLOORS[0];
    near(first.ms(), 146_523.0, 0.01);
    let slow = run(&load(PER_QUANTUM[1], 0, 0.1), 1);
    near(slow.latches[0].acquisitions as f64 * 4.0 / slow.elapsed_ms(), 84.0, 2.0);
}

#[test]
fn the_published_waits_for_the_map_of_waiters_come_out() {
    for (threads, _, wait_ms) in &waiters::PUBLISHED[2..] {
        let outcome = run(&waiters::waits(1), *threads);
        near(outcome.latches[0].wait_ms_mean(), *wait_ms, 35.0);
    }
}

#[test]
fn every_model_that_is_shipped_runs() {
    for (name, text) in [
        ("log_latch", include_str!("../../models/log_latch.toml")),
        ("skip_locked", include_str!("../../models/skip_locked.toml")),
        ("right_edge", include_str!("../../models/right_edge.toml")),
    ] {
        let model = Model { operations: 200, ..Model::parse(text, false).unwrap() };
        for &workers in &model.workers {
            assert!(simulate(&model, workers).unwrap().rate() > 0.0, "{name}");
        }
    }
}
