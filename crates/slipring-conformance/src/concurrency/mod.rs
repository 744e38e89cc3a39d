//! Many tasks at once on one store, checked for loss, invention, double leases and deadlock.

mod ledger;
mod races;
mod worker;

use std::sync::Arc;

use slipring::{QueueName, SeededRandomness};

use crate::bench::{Bench, s, settings};
use crate::case::{Case, case};

use ledger::Ledger;
use worker::Worker;

/// The concurrency cases.
pub fn all() -> impl Iterator<Item = &'static Case> {
    CASES.iter().chain(races::CASES)
}

const CASES: &[Case] = &[case!(
    nothing_is_lost_or_invented_and_no_two_hold_a_message,
    threads 4,
    "S2.1", "S3.1", "S3.2", "S4.1", "S6.3", "S7.3"
)];

const ROUNDS: u64 = 4;
const SENDERS: u64 = 2;
const WORKERS: u64 = 3;
const UNITS: u64 = 25;

async fn nothing_is_lost_or_invented_and_no_two_hold_a_message(b: Bench) {
    for round in 0..ROUNDS {
        check(b.another().await, round * 1000).await;
    }
}

async fn check(b: Bench, first_seed: u64) {
    let dead = b.named("dead", settings(|_| {})).await;
    let failing = settings(|to| {
        to.max_attempts = Some(3);
        to.dead_letter = QueueName::new("dead").ok();
    });
    let queues =
        [b.plain().await, b.queue(settings(|to| to.fifo = true)).await, b.queue(failing).await];
    let ledger = Arc::new(Ledger::default());
    let mut tasks = Vec::new();
    for (nth, queue) in queues.iter().chain([&dead]).enumerate() {
        for task in 0..SENDERS + WORKERS {
            let seed = first_seed + nth as u64 * 100 + task;
            let worker = Worker {
                bench: b.clone(),
                queue: queue.clone(),
                ledger: Arc::clone(&ledger),
                random: SeededRandomness::new(seed),
            };
            if task >= SENDERS {
                tasks.push(tokio::spawn(worker.receive(u64::from(task == SENDERS))));
            } else if queue.id != dead.id {
                tasks.push(tokio::spawn(worker.send(seed, UNITS)));
            }
        }
    }
    for task in tasks {
        task.await.expect("no task panics");
    }
    // Everything that is left lapses, and can be received and acked.
    b.pass(s(10_000)).await;
    for queue in queues.iter().chain([&dead]) {
        queue.kick(100_000).await;
        for body in queue.drain().await {
            ledger.drained(&body);
        }
        queue.holds(0, 0, 0, 0).await;
    }
    ledger.check_end(SENDERS * UNITS * 3 * 3);
}
