//! Random operations on the store under test and on a naive model, compared after each step.
//!
//! The model is a list of messages that is searched from one end to the other; nothing in it is
//! clever, and it shares no code with any store or with `slipring::lifecycle`. Where the clauses
//! promise an order, the order is compared as well.
//!
//! A failure is shrunk to a short sequence and printed with its seed. `SLIPRING_MODEL_SEED`
//! repeats a seed; `SLIPRING_MODEL_CASES` sets how many sequences each case runs (by default
//! what the store's [`Factory`](crate::Factory) says).

mod bulk;
mod compare;
mod line;
mod naive;
mod operation;
mod redrive;
mod replay;
mod turns;

use std::env;
use std::fmt::Debug;
use std::str::FromStr;

use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use slipring::{Backoff, DedupScope, QueueName, QueueSettings, Randomness, SystemRandomness};
use tokio::runtime::Handle;

use crate::bench::{Bench, ms, s, settings};
use crate::case::{Case, case};

/// The model cases.
pub const CASES: &[Case] = &[
    case!(
        a_standard_queue_does_what_the_model_does,
        "S2.1",
        "S3.1",
        "S3.7",
        "S4.1",
        "S7.1",
        "S7.2"
    ),
    case!(a_queue_with_dead_letters_does_what_the_model_does, "S6.2", "S6.3", "S6.4", "S11.2"),
    case!(a_fifo_queue_does_what_the_model_does, "S7.3", "S7.4", "S7.7", "S11.3"),
    case!(a_limited_queue_does_what_the_model_does, "S8.1", "S8.4", "S9.1", "S12.2", "S14.4"),
    case!(a_limited_fifo_queue_does_what_the_model_does, "S7.3", "S8.2", "S12.2", "S14.4"),
];

/// The dead-letter queue of every model case.
const DEAD: &str = "dead";

async fn a_standard_queue_does_what_the_model_does(b: Bench) {
    check(b, QueueSettings::default()).await;
}

async fn a_queue_with_dead_letters_does_what_the_model_does(b: Bench) {
    let queue = settings(|to| {
        to.max_attempts = Some(3);
        to.dead_letter = QueueName::new(DEAD).ok();
        to.backoff = Backoff::Fixed { delay: s(4) };
    });
    check(b, queue).await;
}

async fn a_fifo_queue_does_what_the_model_does(b: Bench) {
    let queue = settings(|to| {
        to.fifo = true;
        to.max_attempts = Some(4);
    });
    check(b, queue).await;
}

async fn a_limited_queue_does_what_the_model_does(b: Bench) {
    check(b, settings(limited)).await;
}

async fn a_limited_fifo_queue_does_what_the_model_does(b: Bench) {
    let queue = settings(|to| {
        limited(to);
        to.fifo = true;
        to.dedup_scope = DedupScope::Group;
        to.max_attempts = Some(2);
        to.dead_letter = QueueName::new(DEAD).ok();
    });
    check(b, queue).await;
}

fn limited(to: &mut QueueSettings) {
    to.messages_max = Some(14);
    to.bytes_max = Some(150);
    to.in_flight_max = 5;
    to.dedup_window = s(25);
    // Not whole seconds, for the clock of the model moves by whole seconds: whether a message
    // leaves in the very millisecond is not promised.
    to.retention = Some(ms(90_500));
    to.visibility_timeout = s(12);
}

/// Runs random sequences over a queue with these settings and its dead-letter queue.
async fn check(bench: Bench, queue: QueueSettings) {
    let mut random = [0; 8];
    SystemRandomness.fill(&mut random);
    let seed = setting("SLIPRING_MODEL_SEED").unwrap_or(u64::from_le_bytes(random));
    let cases = setting("SLIPRING_MODEL_CASES").unwrap_or_else(|| bench.model_sequences());
    let handle = Handle::current();
    // The runner is not async: it runs beside the runtime, which goes on driving the store.
    let ran = tokio::task::spawn_blocking(move || {
        let config = Config {
            cases,
            failure_persistence: None,
            // Within the time that a case has: else nothing would be told of the failure.
            max_shrink_iters: 3000,
            max_shrink_time: 120_000,
            ..Config::default()
        };
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let mut runner = TestRunner::new_with_rng(config, random);
        runner.run(&operation::sequence(), |operations| {
            handle.block_on(replay::run(&bench, &queue, &operations))
        })
    });
    match ran.await.expect("the runner does not panic") {
        Ok(()) => {}
        Err(TestError::Abort(why)) => panic!("the runner gave up: {why}"),
        Err(TestError::Fail(why, operations)) => {
            let list: Vec<String> = operations.iter().map(|one| format!("  {one:?}")).collect();
            panic!(
                "store and model differ: {why}\nSLIPRING_MODEL_SEED={seed}\nafter:\n{}",
                list.join("\n")
            );
        }
    }
}

fn setting<T: FromStr<Err: Debug>>(name: &str) -> Option<T> {
    let text = env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|error| panic!("{name}={text} is not a number: {error:?}")))
}
