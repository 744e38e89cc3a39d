//! The loss checker: linear passes over a finished and drained history.
//!
//! An operation takes effect at some moment between its invocation and its answer. A pass reports
//! only what is wrong whatever those moments were; what *may* have been right is let pass.

mod attempts;
mod counts;
mod dead_letter;
mod dedup;
mod early;
mod facts;
mod gone;
mod lease;
mod loss;
mod order;
mod parked;
mod settled;

use std::fmt;

use super::history::Event;

pub use counts::Counts;
pub use facts::Facts;

/// Something that must not happen, and did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The property that does not hold.
    pub property: &'static str,
    /// Which messages, and when.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.property, self.what)
    }
}

/// What the checker says about a history.
#[derive(Debug)]
pub struct Verdict {
    /// How much there was to check.
    pub counts: Counts,
    /// What was wrong.
    pub violations: Vec<Violation>,
}

/// Checks a whole history, its events ordered by time.
pub fn check(events: &[Event]) -> Verdict {
    let facts = Facts::of(events);
    let passes = [
        loss::check,
        gone::check,
        lease::check,
        order::check,
        early::check,
        dedup::check,
        attempts::check,
        dead_letter::check,
        parked::check,
    ];
    let mut violations = facts.malformed.clone();
    violations.extend(passes.iter().flat_map(|pass| pass(&facts)));
    Verdict { counts: facts.counts(), violations }
}

/// Milliseconds as the nanoseconds of a history.
fn ns(milliseconds: u64) -> u64 {
    milliseconds * 1_000_000
}

/// A server counts time in whole milliseconds, and cuts off the rest at both ends of a span.
const CLOCK_STEP_NS: u64 = 2_000_000;

#[cfg(test)]
mod scenario;
