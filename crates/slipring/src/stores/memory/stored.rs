//! A message as the memory store keeps it, and the indexes that order messages by state.

use std::collections::{BTreeMap, BTreeSet};

use crate::clock::Timestamp;
use crate::deal::Standing;
use crate::failures::FailedAttempt;
use crate::lease::Fence;
use crate::lifecycle::{Held, State};
use crate::message::{Message, MessageId, Priority};

use super::groups::Groups;

/// A message with its state.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) message: Message,
    pub(super) state: State,
    /// When a delay ends or a lease lapses; without meaning in other states.
    pub(super) until: Timestamp,
    /// The newest hand-out; kept through moves, so that no fence ever comes again (S3.2).
    pub(super) fence: Fence,
    /// [`crate::NewMessage::size_bytes`] when it was sent.
    pub(super) bytes: u64,
    /// Its last failures, which go with it wherever it goes (S6.8).
    pub(super) failures: Vec<FailedAttempt>,
}

impl Stored {
    pub(super) fn held(&self) -> Held {
        Held {
            state: self.state,
            fence: self.fence,
            deadline: self.until,
            attempts: self.message.attempts,
        }
    }
}

/// Messages by priority and order of sending.
pub(super) type InOrder = BTreeMap<Priority, BTreeSet<MessageId>>;

/// The messages of one queue, ordered within their states. Every message is in exactly one of the
/// four orders; in a FIFO queue also in its group.
#[derive(Debug, Default)]
pub(super) struct Orders {
    /// By the number of their standing; those of FIFO queues are all in the first.
    pub(super) ready: [InOrder; 3],
    pub(super) delayed: BTreeSet<(Timestamp, MessageId)>,
    pub(super) leased: BTreeSet<(Timestamp, MessageId)>,
    pub(super) parked: BTreeSet<(Priority, MessageId)>,
    pub(super) ready_count: u64,
    pub(super) urgent_count: u64,
    /// Of FIFO queues only.
    groups: Option<Groups>,
}

impl Orders {
    pub(super) fn new(fifo: bool) -> Orders {
        Orders { groups: fifo.then(Groups::default), ..Orders::default() }
    }

    /// Adds a message to the order of its state.
    pub(super) fn put(&mut self, stored: &Stored) {
        let (id, rank) = (stored.message.id, self.rank(stored));
        match stored.state {
            State::Ready => {
                self.ready[self.standing(stored)].entry(rank).or_default().insert(id);
                self.ready_count += 1;
                self.urgent_count += u64::from(is_urgent(stored));
            }
            State::Delayed => drop(self.delayed.insert((stored.until, id))),
            State::Leased => drop(self.leased.insert((stored.until, id))),
            State::Parked => drop(self.parked.insert((rank, id))),
        }
        if let Some(groups) = &mut self.groups {
            groups.put(stored);
        }
    }

    /// Takes note that a message has left the queue, after [`Orders::take`].
    pub(super) fn left(&mut self, stored: &Stored) {
        if let Some(groups) = &mut self.groups {
            groups.left(stored);
        }
    }

    /// Undoes [`Orders::put`]; the message must not have changed since.
    pub(super) fn take(&mut self, stored: &Stored) {
        let (id, rank) = (stored.message.id, self.rank(stored));
        match stored.state {
            State::Ready => {
                let order = &mut self.ready[self.standing(stored)];
                if let Some(same_rank) = order.get_mut(&rank) {
                    same_rank.remove(&id);
                    if same_rank.is_empty() {
                        order.remove(&rank);
                    }
                }
                self.ready_count -= 1;
                self.urgent_count -= u64::from(is_urgent(stored));
            }
            State::Delayed => drop(self.delayed.remove(&(stored.until, id))),
            State::Leased => drop(self.leased.remove(&(stored.until, id))),
            State::Parked => drop(self.parked.remove(&(rank, id))),
        }
        if let Some(groups) = &mut self.groups {
            groups.take(stored);
        }
    }

    /// The groups of a FIFO queue.
    pub(super) fn groups(&self) -> Option<&Groups> {
        self.groups.as_ref()
    }

    /// The groups of a FIFO queue, to note which gave something.
    pub(super) fn groups_mut(&mut self) -> Option<&mut Groups> {
        self.groups.as_mut()
    }

    /// The message that a receive of one would get (S7.1, S7.7).
    pub(super) fn first_claimable(&self) -> Option<MessageId> {
        match &self.groups {
            Some(groups) => groups.in_line().next().and_then(|mut group| group.next()),
            None => Standing::ALL.into_iter().find_map(|standing| self.ready_of(standing).next()),
        }
    }

    /// Whether there is something that a receive may get.
    pub(super) fn any_claimable(&self) -> bool {
        match &self.groups {
            Some(_) => self.first_claimable().is_some(),
            None => self.ready_count > 0,
        }
    }

    /// The ready messages of one standing in hand-out order (S7.1).
    pub(super) fn ready_of(&self, standing: Standing) -> impl Iterator<Item = MessageId> + '_ {
        self.ready[standing as usize].values().flatten().copied()
    }

    /// All ready messages by priority and order of sending, those of blocked groups too.
    pub(super) fn ready_in_order(&self) -> impl Iterator<Item = MessageId> + '_ {
        let mut orders = self.ready.each_ref().map(|order| {
            order.iter().flat_map(|(rank, ids)| ids.iter().map(|id| (*rank, *id))).peekable()
        });
        std::iter::from_fn(move || {
            let firsts = orders.iter_mut().filter_map(|order| Some((*order.peek()?, order)));
            let (_, order) = firsts.min_by_key(|(first, _)| *first)?;
            order.next().map(|(_, id)| id)
        })
    }

    /// The ready message that was sent first; costs a step for each priority in use.
    pub(super) fn oldest_ready(&self) -> Option<MessageId> {
        let firsts = self.ready.iter().flat_map(BTreeMap::values);
        firsts.filter_map(|same_rank| same_rank.first().copied()).min()
    }

    fn standing(&self, stored: &Stored) -> usize {
        if self.groups.is_some() { 0 } else { Standing::of(stored.message.attempts) as usize }
    }

    /// Priority does not apply in a FIFO queue (S7.4).
    fn rank(&self, stored: &Stored) -> Priority {
        if self.groups.is_some() { Priority(0) } else { stored.message.priority }
    }
}

fn is_urgent(stored: &Stored) -> bool {
    stored.message.priority < Priority::URGENT_BELOW
}
