//! The deduplication ids that one queue remembers (S8).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::clock::Timestamp;
use crate::message::{MessageId, NewMessage};
use crate::queue::{DedupScope, QueueSettings};

/// A deduplication id, with the group where the scope is the group.
pub(super) type Key = (Option<Arc<str>>, Arc<str>);

/// What a message is known by; `None` when it has no deduplication id, or the window no length.
pub(super) fn key(message: &NewMessage, settings: &QueueSettings) -> Option<Key> {
    let id = message.dedup_id.clone().filter(|_| !settings.dedup_window.is_zero())?;
    let group = match settings.dedup_scope {
        DedupScope::Queue => None,
        DedupScope::Group => Some(message.group.clone().unwrap_or_default()),
    };
    Some((group, id))
}

/// Ids with the message that was sent first and the end of the window.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    seen: BTreeMap<Key, (Timestamp, MessageId)>,
    by_end: BTreeSet<(Timestamp, Key)>,
}

impl Remembered {
    /// The first message with this key, if its window is still open.
    pub(super) fn first(&self, key: &Key, now: Timestamp) -> Option<MessageId> {
        self.seen.get(key).filter(|(end, _)| now < *end).map(|(_, id)| *id)
    }

    /// Opens a window.
    pub(super) fn remember(&mut self, key: Key, end: Timestamp, id: MessageId) {
        if let Some((old_end, _)) = self.seen.insert(key.clone(), (end, id)) {
            self.by_end.remove(&(old_end, key.clone()));
        }
        self.by_end.insert((end, key));
    }

    /// When the next window closes.
    pub(super) fn next_end(&self) -> Option<Timestamp> {
        self.by_end.first().map(|(end, _)| *end)
    }

    /// Forgets the window that closes next.
    pub(super) fn forget_next(&mut self) {
        if let Some((_, key)) = self.by_end.pop_first() {
            self.seen.remove(&key);
        }
    }
}
