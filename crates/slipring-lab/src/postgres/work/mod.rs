//! The work of our own driver that the workloads of other tables do not have.

pub mod paced;
pub mod queues;
pub mod stream;
pub mod transactions;
pub mod wake;

use crate::ledger::Checks;

use super::protocol::{Answer, Spread};
use super::serve::named;

/// An answer of one latency.
fn answer(
    (messages, seconds): (u64, f64),
    checks: Checks,
    (name, spread): (&str, Spread),
) -> Answer {
    Answer {
        messages,
        seconds,
        sent: checks.sent,
        received: checks.received,
        duplicates: checks.duplicates,
        missing: checks.missing,
        latencies: named(name, spread),
        ..Answer::default()
    }
}
