//! The order of a FIFO queue: which group may give messages, and which (S7.3, S7.7).
//!
//! A group gives its ready messages in the order of sending, up to the first that is leased or
//! delayed. The groups that have something to give stand in a line.

use std::collections::btree_map::BTreeMap;
use std::collections::btree_set::BTreeSet;
use std::sync::Arc;

use crate::lifecycle::State;
use crate::message::MessageId;

use super::stored::Stored;

/// A place in the line. One that was served has the newest message of the store at that moment and
/// its turn, so that it is behind all that was sent by then, to whichever queue; another has its
/// own first message and no turn.
type Place = (MessageId, u64);

/// The groups of one FIFO queue that have messages which are not parked.
#[derive(Debug, Default)]
pub(super) struct Groups {
    groups: BTreeMap<Arc<str>, Group>,
    /// Groups that may give something, in the order of their places.
    line: BTreeMap<Place, Arc<str>>,
    turns: u64,
}

#[derive(Debug, Default)]
struct Group {
    ready: BTreeSet<MessageId>,
    /// Messages that are leased or delayed.
    waiting: BTreeSet<MessageId>,
    served: Place,
    /// The group's key in [`Groups::line`].
    shown: Option<Place>,
}

impl Groups {
    /// Takes note of a message in its present state.
    pub(super) fn put(&mut self, stored: &Stored) {
        self.change(stored, |group, id| match stored.state {
            State::Ready => drop(group.ready.insert(id)),
            State::Leased | State::Delayed => drop(group.waiting.insert(id)),
            State::Parked => {}
        });
        self.left(stored);
    }

    /// Undoes [`Groups::put`]; the message must not have changed since. The group keeps its place
    /// until [`Groups::left`].
    pub(super) fn take(&mut self, stored: &Stored) {
        self.change(stored, |group, id| match stored.state {
            State::Ready => drop(group.ready.remove(&id)),
            State::Leased | State::Delayed => drop(group.waiting.remove(&id)),
            State::Parked => {}
        });
    }

    /// Forgets the group of a message if nothing is left of it.
    pub(super) fn left(&mut self, stored: &Stored) {
        let name = name_of(stored);
        if self.groups.get(&name).is_some_and(|group| group.first().is_none()) {
            self.groups.remove(&name);
        }
    }

    /// Sends the group of a message that was given to the back of the line; `newest` is
    /// the newest message of the store.
    pub(super) fn served(&mut self, stored: &Stored, newest: MessageId) {
        self.turns += 1;
        let place = (newest, self.turns);
        self.change(stored, |group, _| group.served = place);
    }

    /// What each group may give, in the order of the line.
    pub(super) fn in_line(&self) -> impl Iterator<Item = impl Iterator<Item = MessageId>> {
        self.line.values().filter_map(|name| self.groups.get(name)).map(Group::open)
    }

    fn change(&mut self, stored: &Stored, change: impl FnOnce(&mut Group, MessageId)) {
        let name = name_of(stored);
        let group = self.groups.entry(Arc::clone(&name)).or_default();
        change(group, stored.message.id);
        let place = group.place();
        if place != group.shown {
            if let Some(old) = std::mem::replace(&mut group.shown, place) {
                self.line.remove(&old);
            }
            if let Some(new) = place {
                self.line.insert(new, name);
            }
        }
    }
}

fn name_of(stored: &Stored) -> Arc<str> {
    stored.message.group.clone().unwrap_or_default()
}

impl Group {
    fn first(&self) -> Option<MessageId> {
        self.ready.first().into_iter().chain(self.waiting.first()).min().copied()
    }

    /// Where the group stands in the line; `None` when it gives nothing.
    fn place(&self) -> Option<Place> {
        let first = *self.ready.first()?;
        let open = self.waiting.first().is_none_or(|waiting| first < *waiting);
        open.then(|| self.served.max((first, 0)))
    }

    fn open(&self) -> impl Iterator<Item = MessageId> {
        let held = self.waiting.first().copied();
        self.ready.iter().copied().take_while(move |id| held.is_none_or(|held| *id < held))
    }
}
