//! What the tasks know together: who sent, holds and acked what.

use std::collections::HashMap;

use parking_lot::Mutex;
use slipring::{Clock, Fence, Timestamp};

/// The history of every message, by its body.
#[derive(Debug, Default)]
pub(super) struct Ledger(Mutex<HashMap<String, Entry>>);

#[derive(Debug, Default)]
struct Entry {
    accepted: bool,
    newest: Fence,
    /// Nobody else may hold the message before this moment.
    held_until: Timestamp,
    /// The fence of an acknowledged ack.
    acked: Option<Fence>,
    /// An ack was at least asked for.
    acking: bool,
}

impl Ledger {
    /// A send of the message begins.
    pub(super) fn sending(&self, body: &str) {
        let before = self.0.lock().insert(body.to_owned(), Entry::default());
        assert!(before.is_none(), "bodies are unique");
    }

    /// A send was acknowledged.
    pub(super) fn accepted(&self, body: &str) {
        self.edit(body, |entry| entry.accepted = true);
    }

    /// A message was received.
    pub(super) fn received(&self, body: &str, fence: Fence, until: Timestamp, clock: &dyn Clock) {
        self.edit(body, |entry| {
            // Read under the lock, so that it is not before the lapse of what is written there.
            let now = clock.now();
            assert_ne!(fence, entry.newest, "{body}: no fence comes twice (S3.2)");
            if let Some(acked) = entry.acked {
                assert!(fence < acked, "{body} was handed out after an ack of {acked} (S4.1)");
            }
            if fence > entry.newest {
                assert!(entry.held_until <= now, "{body} has two valid leases (S3.1)");
                (entry.newest, entry.held_until) = (fence, until);
            } else {
                // Somebody else was faster to write down a later hand-out.
                assert!(until <= now, "{body} was handed out while it was held (S3.1)");
            }
        });
    }

    /// The holder asks for the end of its lease; from now on another may get the message.
    pub(super) fn settling(&self, body: &str, fence: Fence, ack: bool) {
        self.edit(body, |entry| {
            entry.acking |= ack;
            if entry.newest == fence {
                entry.held_until = Timestamp::default();
            }
        });
    }

    /// The lease was prolonged.
    pub(super) fn extended(&self, body: &str, fence: Fence, until: Timestamp) {
        self.edit(body, |entry| {
            if entry.newest == fence {
                entry.held_until = entry.held_until.max(until);
            }
        });
    }

    /// An ack was acknowledged.
    pub(super) fn acked(&self, body: &str, fence: Fence) {
        self.edit(body, |entry| {
            assert_eq!(entry.acked, None, "{body} was acked twice (S4.1)");
            assert!(entry.newest <= fence, "{body} was acked with an old fence (S3.4)");
            entry.acked = Some(fence);
        });
    }

    /// A FIFO message was received: every earlier one of its group must be done with.
    pub(super) fn in_turn(&self, earlier: impl Iterator<Item = String>, body: &str) {
        let entries = self.0.lock();
        for other in earlier {
            let waits = entries.get(&other).is_some_and(|entry| entry.accepted && !entry.acking);
            assert!(!waits, "{body} came before {other} of its group (S7.3)");
        }
    }

    /// A message was still there at the end and is gone now.
    pub(super) fn drained(&self, body: &str) {
        self.edit(body, |entry| {
            assert_eq!(entry.acked, None, "{body} came back after its ack (S4.1)");
            entry.acked = Some(Fence(u64::MAX));
        });
    }

    /// Everything that was accepted is done with.
    pub(super) fn check_end(&self, accepted: u64) {
        let entries = self.0.lock();
        let lost: Vec<_> =
            entries.iter().filter(|(_, e)| e.accepted && e.acked.is_none()).collect();
        assert!(lost.is_empty(), "lost (S2.1): {lost:?}");
        assert_eq!(entries.values().filter(|entry| entry.accepted).count() as u64, accepted);
    }

    fn edit(&self, body: &str, edit: impl FnOnce(&mut Entry)) {
        let mut entries = self.0.lock();
        edit(entries.get_mut(body).unwrap_or_else(|| panic!("{body} was never sent")));
    }
}
