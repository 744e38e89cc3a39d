//! The cases, one file per subject.

use crate::case::Case;

mod ack;
mod claim;
mod send;

/// Every case, by subject.
pub fn all() -> impl Iterator<Item = &'static Case> {
    [send::CASES, claim::CASES, ack::CASES].into_iter().flatten()
}
