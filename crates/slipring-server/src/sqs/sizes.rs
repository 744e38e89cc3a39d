//! How large the messages of a queue have been of late, to know what a receive may bring.

use std::sync::atomic::{AtomicU64, Ordering};

use slipring::{Delivery, QueueId};

/// Queues whose numbers are equal in this share a place; it is a guess in any case.
const PLACES: usize = 256;

/// The sizes by queue.
#[derive(Debug)]
pub(super) struct Sizes([AtomicU64; PLACES]);

impl Default for Sizes {
    fn default() -> Sizes {
        Sizes(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl Sizes {
    fn of(&self, queue: QueueId) -> &AtomicU64 {
        &self.0[(queue.0 % PLACES as u64) as usize]
    }

    /// The bytes that so many messages of a queue may have.
    pub(super) fn expected(&self, queue: QueueId, messages: u32) -> usize {
        let bytes = self.of(queue).load(Ordering::Relaxed).saturating_mul(u64::from(messages));
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// Notes what a receive has brought, and answers its bytes. Small messages after large ones
    /// make the guess smaller step by step.
    pub(super) fn note(&self, queue: QueueId, deliveries: &[Delivery]) -> usize {
        let bytes: usize = deliveries.iter().map(|delivery| delivery.message.body.len()).sum();
        if !deliveries.is_empty() {
            let (place, mean) = (self.of(queue), (bytes / deliveries.len()) as u64);
            let before = place.load(Ordering::Relaxed);
            place.store(mean.max(before - before / 8), Ordering::Relaxed);
        }
        bytes
    }
}
