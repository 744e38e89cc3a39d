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

/// The window of an id.
#[derive(Debug)]
struct Window {
    end: Timestamp,
    /// When it began.
    sent_at: Timestamp,
    /// The message that was sent first.
    first: MessageId,
}

/// Ids with their windows.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    seen: BTreeMap<Key, Window>,
    by_end: BTreeSet<(Timestamp, Key)>,
    /// The message that was remembered last.
    last: MessageId,
    /// What the newest step of a purge has ended: windows of messages up to this one that were
    /// sent until then (S8.4).
    ended: Option<(Timestamp, MessageId)>,
}

impl Remembered {
    /// The first message with this key, if its window is still open. A step of a purge does not end
    /// the window of a message that is there still.
    pub(super) fn first(
        &self,
        key: &Key,
        now: Timestamp,
        is_there: impl Fn(MessageId) -> bool,
    ) -> Option<MessageId> {
        let window = self.seen.get(key).filter(|window| now < window.end)?;
        let ended = self
            .ended
            .is_some_and(|(sent_at, last)| window.sent_at <= sent_at && window.first <= last);
        (!ended || is_there(window.first)).then_some(window.first)
    }

    /// Opens the window of a message that is sent now.
    pub(super) fn remember(&mut self, key: Key, now: Timestamp, end: Timestamp, id: MessageId) {
        let window = Window { end, sent_at: now, first: id };
        if let Some(old) = self.seen.insert(key.clone(), window) {
            self.by_end.remove(&(old.end, key.clone()));
        }
        self.by_end.insert((end, key));
        self.last = id;
    }

    /// Ends the windows of all messages known so far that were sent until a moment. Costs the same
    /// however many there are; [`Remembered::forget_next`] removes them in their time.
    pub(super) fn forget_sent(&mut self, until: Timestamp) {
        if self.ended.is_none_or(|(before, _)| before <= until) {
            self.ended = Some((until, self.last));
        }
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
