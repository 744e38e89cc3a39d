//! Room for large bodies that are still arriving, shared by all connections (S12.3).
//!
//! Without it, many connections that each announce a large body and then stall could hold as much
//! memory as they like.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bodies up to this size arrive without asking; they are bounded by the number of connections.
const FREE_BYTES: usize = 16 * 1024;

/// Permits are counted in this unit, as a semaphore counts in `u32`.
const UNIT_BYTES: usize = 1024;

/// The shared room.
pub(crate) struct Budget(Arc<Semaphore>);

/// Room taken for one body; given back when dropped.
pub(crate) struct Room {
    _permit: OwnedSemaphorePermit,
}

impl Budget {
    /// Room for `bytes`, but at least for one body of `body_bytes_max`.
    pub(crate) fn new(bytes: usize, body_bytes_max: usize) -> Budget {
        let units = bytes.max(body_bytes_max).div_ceil(UNIT_BYTES);
        Budget(Arc::new(Semaphore::new(units.min(Semaphore::MAX_PERMITS))))
    }

    /// Whether a body of this size has to ask for room at all.
    pub(crate) fn concerns(body_bytes: usize) -> bool {
        body_bytes > FREE_BYTES
    }

    /// Room for a body, if there is any now.
    pub(crate) fn take(&self, body_bytes: usize) -> Option<Room> {
        let units = u32::try_from(body_bytes.div_ceil(UNIT_BYTES)).ok()?;
        let permit = Arc::clone(&self.0).try_acquire_many_owned(units).ok()?;
        Some(Room { _permit: permit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_taken_until_there_is_none_and_given_back() {
        let budget = Budget::new(100 * 1024, 64 * 1024);
        let first = budget.take(64 * 1024);
        assert!(first.is_some());
        assert!(budget.take(64 * 1024).is_none());
        assert!(budget.take(36 * 1024).is_some());
        drop(first);
        assert!(budget.take(64 * 1024).is_some());
    }

    #[test]
    fn one_body_of_the_largest_size_always_fits() {
        assert!(Budget::new(1, 1 << 30).take(1 << 30).is_some());
    }
}
