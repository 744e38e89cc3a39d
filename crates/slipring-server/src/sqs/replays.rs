//! ReceiveRequestAttemptId: what a receive of a FIFO queue gave, for a client that lost the
//! answer and asks again.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use slipring::{Delivery, QueueId, Timestamp};

/// So long an attempt is remembered.
const WINDOW: Duration = Duration::from_secs(300);

/// Most attempts remembered, and most bytes of their messages; the oldest go first.
const KEPT_MAX: usize = 1_000;
const BYTES_MAX: usize = 64 << 20;

/// The latest attempts.
#[derive(Debug, Default)]
pub(super) struct Replays(Mutex<Attempts>);

#[derive(Debug, Default)]
struct Attempts {
    by_id: BTreeMap<(QueueId, String), Attempt>,
    bytes: usize,
}

#[derive(Debug)]
struct Attempt {
    at: Timestamp,
    bytes: usize,
    deliveries: Vec<Delivery>,
}

impl Attempts {
    fn forget(&mut self, key: &(QueueId, String)) {
        if let Some(gone) = self.by_id.remove(key) {
            self.bytes -= gone.bytes;
        }
    }
}

impl Replays {
    /// What the attempt gave, if it is remembered. It stays so: who asks may go away, or be told of
    /// a failure, and asks again.
    pub(super) fn find(&self, queue: QueueId, id: &str, now: Timestamp) -> Option<Vec<Delivery>> {
        let attempts = self.0.lock();
        let attempt = attempts.by_id.get(&(queue, id.to_string()))?;
        (now < attempt.at.after(WINDOW)).then(|| attempt.deliveries.clone())
    }

    /// Remembers what an attempt gave, in place of what it gave before.
    pub(super) fn keep(&self, queue: QueueId, id: &str, deliveries: &[Delivery], now: Timestamp) {
        let bytes = deliveries.iter().map(|delivery| delivery.message.body.len()).sum();
        if bytes > BYTES_MAX || deliveries.is_empty() {
            return;
        }
        let key = (queue, id.to_string());
        let mut attempts = self.0.lock();
        attempts.forget(&key);
        while attempts.by_id.len() >= KEPT_MAX || attempts.bytes + bytes > BYTES_MAX {
            let oldest = attempts.by_id.iter().min_by_key(|(_, attempt)| attempt.at);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else { break };
            attempts.forget(&oldest);
        }
        attempts.bytes += bytes;
        let attempt = Attempt { at: now, bytes, deliveries: deliveries.to_vec() };
        attempts.by_id.insert(key, attempt);
    }
}
