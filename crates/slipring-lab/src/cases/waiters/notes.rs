//! What a reader must know to read the figures of the case.

use super::contender::Kind;
use super::found::Found;
use super::load::THREADS_MAX;
use super::published;
use super::sizes::Sizes;

/// How it was measured.
const FIXED: [&str; 6] = [
    "the published figures stand in the tables without their time-out",
    "the baseline takes its latch for the registration of a waiter, its time-out, a message and \
     the end of a transaction; under it, it walks the list of the queue's waiters from the first, \
     and nothing else; its messages lie in our in-memory store, its time-outs are timers of tokio",
    "a waiting receive of ours takes a lock of its queue and one of its shard of timers; queues A \
     and B share a shard, which is the worst case; SQLite is at durability full",
    "processor time is that of the whole process: the load, the engine and the system calls",
    "in the tables of wait classes while callers wait on A, acquisitions are counted per wait of \
     the one caller on B: the work of A is in them",
    "wait classes: the longest wait is that since the contender was started",
];

/// All notes.
pub fn all(found: &Found, sizes: &Sizes) -> Vec<String> {
    let mut notes = vec![format!(
        "callers are threads of the operating system up to {THREADS_MAX}, as published, and tasks \
         beyond; each runs until it has waited 1,000 times or {} s are over, in {} rounds",
        sizes.seconds, sizes.rounds
    )];
    notes.extend(FIXED.map(str::to_owned));
    if let Some(last) = published::TABLE.last() {
        let threads = last.threads as f64;
        notes.push(format!(
            "published: {} threads made {:.1} waits per ms, which is the limit of the whole \
             instance; with three acquisitions each, the latch is held and handed on in {:.0} µs",
            last.threads,
            threads / last.p50_ms,
            last.p50_ms * 1000.0 / threads / 3.0
        ));
    }
    let most = sizes.most();
    if let Some(runs) = found.storm(Kind::OneLatch, most, 0, 10) {
        let held_ns = runs.latch_use().held_ns as f64;
        notes.push(format!(
            "here the latch of {most} waiters is held for {:.2} µs at a time and is in use for \
             {:.1} % of the time; idle receives on the same queue make its list longer, and so the \
             walks under the latch",
            held_ns / runs.latch().acquisitions as f64 / 1e3,
            held_ns / runs.seconds() / 1e7
        ));
    }
    notes
}
