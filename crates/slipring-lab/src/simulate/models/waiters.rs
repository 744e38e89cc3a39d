//! The first published case as a model: every change of the list of waiters takes one latch of the
//! whole instance, and time-outs of 10 ms end at ticks of the clock, all at once.
//!
//! What was published: P50 of 15, 15, 22, 32 and 51 ms and a mean wait of 0, 0.36, 3.59, 5.76 and
//! 9.44 ms for the latch at 1, 10, 100, 200 and 300 threads.

use super::super::model::{Latch, Model, Order, Pick, Scheduler, Step};

/// Threads, published P50 in milliseconds, published mean wait in milliseconds.
pub const PUBLISHED: [(usize, f64, f64); 5] =
    [(1, 15.0, 0.0), (10, 15.0, 0.36), (100, 22.0, 3.59), (200, 32.0, 5.76), (300, 51.0, 9.44)];

/// From one holder to the next, chosen: the published waits are about 36 µs × the threads.
const HELD_US: f64 = 36.0;
/// Changes of the list in one wait-receive, chosen: registration, time-out, end.
const CHANGES: usize = 3;
const TIMEOUT_US: f64 = 10_000.0;
/// The tick of the clock.
const TICK_US: f64 = 15_625.0;
const CORES: usize = 8;

/// What the model takes for granted, one sentence each.
pub fn assumptions() -> Vec<String> {
    vec![format!(
        "waiters: chosen, since it was not published: {HELD_US} µs from one holder of the latch to \
         the next, {CHANGES} changes of the list for each wait, {CORES} cores; time-outs of 10 ms \
         end at ticks of {TICK_US} µs, which the published 15 ms of a single thread say"
    )]
}

/// Threads that wait with a time-out of 10 ms, with one latch or one for each of so many queues.
pub fn waits(latches: usize) -> Model {
    let mut steps = vec![Step::Sleep { us: TIMEOUT_US, tick_us: TICK_US }];
    steps.extend((0..CHANGES).flat_map(|_| Step::held("waiters", HELD_US)));
    let latch = Latch {
        order: Order::Fifo,
        shards: latches,
        pick: Pick::Worker,
        wake_us: 0.0,
        wake_us_per_waiter: 0.0,
    };
    Model {
        name: "one map of waiters".to_owned(),
        about: "wait-receives on an empty queue, each with a time-out of 10 ms".to_owned(),
        seed: 1,
        operations: 20_000,
        units: 1.0,
        workers: PUBLISHED.iter().map(|(threads, _, _)| *threads).collect(),
        cores: Some(CORES),
        hogs: 0,
        scheduler: Scheduler::Cooperative { quantum_us: 4000.0, switch_us: 0.0 },
        latches: [("waiters".to_owned(), latch)].into(),
        logs: [].into(),
        pages: [].into(),
        combiners: [].into(),
        steps,
    }
}
