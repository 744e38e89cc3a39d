//! The order of a FIFO queue: which group may give a message, and which (S7.3).
//!
//! A group gives its ready messages in the order of sending, up to the first that is delayed. It
//! gives nothing while one of its messages is leased or waits for a retry.

use std::collections::btree_map::{BTreeMap, Iter};
use std::collections::btree_set::BTreeSet;
use std::iter::Peekable;
use std::ops::Bound;
use std::sync::Arc;

use crate::lifecycle::State;
use crate::message::MessageId;

use super::stored::Stored;

/// The groups of one FIFO queue that have messages which are not parked.
#[derive(Debug, Default)]
pub(super) struct Groups {
    groups: BTreeMap<Arc<str>, Group>,
    /// The next message of every group that may give one.
    open: BTreeMap<MessageId, Arc<str>>,
}

#[derive(Debug, Default)]
struct Group {
    ready: BTreeSet<MessageId>,
    delayed: BTreeSet<MessageId>,
    /// How many messages are leased or wait for a retry.
    blocking: usize,
    /// The group's key in [`Groups::open`].
    shown: Option<MessageId>,
}

impl Groups {
    /// Takes note of a message in its present state.
    pub(super) fn put(&mut self, stored: &Stored) {
        self.change(stored, |group, id| match stored.state {
            State::Ready => drop(group.ready.insert(id)),
            State::Leased => group.blocking += 1,
            State::Delayed => {
                group.delayed.insert(id);
                group.blocking += usize::from(stored.retried());
            }
            State::Parked => {}
        });
    }

    /// Undoes [`Groups::put`]; the message must not have changed since.
    pub(super) fn take(&mut self, stored: &Stored) {
        self.change(stored, |group, id| match stored.state {
            State::Ready => drop(group.ready.remove(&id)),
            State::Leased => group.blocking = group.blocking.saturating_sub(1),
            State::Delayed => {
                group.delayed.remove(&id);
                group.blocking = group.blocking.saturating_sub(usize::from(stored.retried()));
            }
            State::Parked => {}
        });
    }

    /// What one receive may get, in order: it may take several messages of one group.
    pub(super) fn in_order(&self) -> InOrder<'_> {
        InOrder {
            groups: &self.groups,
            heads: self.open.iter().peekable(),
            followers: BTreeMap::new(),
        }
    }

    fn change(&mut self, stored: &Stored, change: impl FnOnce(&mut Group, MessageId)) {
        let name = stored.message.group.clone().unwrap_or_default();
        let group = self.groups.entry(Arc::clone(&name)).or_default();
        change(group, stored.message.id);
        let head = if group.blocking == 0 { group.first_from(Bound::Unbounded) } else { None };
        if head != group.shown {
            if let Some(old) = std::mem::replace(&mut group.shown, head) {
                self.open.remove(&old);
            }
            if let Some(new) = head {
                self.open.insert(new, Arc::clone(&name));
            }
        }
        if group.blocking == 0 && group.ready.is_empty() && group.delayed.is_empty() {
            self.groups.remove(&name);
        }
    }
}

impl Group {
    fn first_from(&self, from: Bound<MessageId>) -> Option<MessageId> {
        let first = *self.ready.range((from, Bound::Unbounded)).next()?;
        self.delayed.first().is_none_or(|delayed| first < *delayed).then_some(first)
    }
}

/// Messages of open groups by number; see [`Groups::in_order`].
pub(super) struct InOrder<'a> {
    groups: &'a BTreeMap<Arc<str>, Group>,
    heads: Peekable<Iter<'a, MessageId, Arc<str>>>,
    /// The next messages of groups that have given one already.
    followers: BTreeMap<MessageId, &'a Group>,
}

impl Iterator for InOrder<'_> {
    type Item = MessageId;

    fn next(&mut self) -> Option<MessageId> {
        let head = self.heads.peek().map(|(id, _)| **id);
        let follower = self.followers.first_key_value().map(|(id, _)| *id);
        let (id, group) = match (head, follower) {
            (Some(head), follower) if follower.is_none_or(|follower| head < follower) => {
                let (_, name) = self.heads.next()?;
                (head, self.groups.get(name)?)
            }
            _ => self.followers.pop_first()?,
        };
        if let Some(next) = group.first_from(Bound::Excluded(id)) {
            self.followers.insert(next, group);
        }
        Some(id)
    }
}
