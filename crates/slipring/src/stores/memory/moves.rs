//! Moving messages of the memory store between queues: redrive, of all and of chosen ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::admin::{no_way_back, not_free};
use crate::error::{Error, ErrorKind};
use crate::lifecycle::State;
use crate::message::MessageId;
use crate::queue::QueueId;

use super::queue::gone;
use super::stored::Stored;
use super::{MemoryStore, Queue, lock_both};

/// Messages by where they go.
pub(super) type Moves = Vec<(Arc<Queue>, Vec<MessageId>)>;

impl MemoryStore {
    /// The queues that messages are moved between.
    pub(super) fn ends(
        &self,
        source: QueueId,
        target: Option<QueueId>,
    ) -> Result<(Arc<Queue>, Option<Arc<Queue>>), Error> {
        let from = self.queue(source)?;
        if target == Some(source) {
            let text = "source and target are the same queue; name two queues";
            let name = from.lock()?.info.name.clone();
            return Err(Error::new(ErrorKind::Invalid, text).with("queue", name));
        }
        Ok((from, target.map(|id| self.queue(id)).transpose()?))
    }

    /// Moves one chosen message to `target`, or back to where it came from.
    pub(super) fn move_one(
        &self,
        source: &Queue,
        target: Option<&Arc<Queue>>,
        id: MessageId,
    ) -> Result<QueueId, Error> {
        let came_from = {
            let from = source.lock()?;
            let stored = from.messages.get(&id).ok_or_else(|| gone(id))?;
            if !is_movable(stored) {
                return Err(not_free(id, stored.state));
            }
            stored.message.dead_letter_source.clone()
        };
        let homeless = || no_way_back(id, came_from.as_ref());
        let back = || self.named(came_from.as_ref()?).filter(|back| back.id != source.id);
        let target = target.cloned().or_else(back).ok_or_else(homeless)?;
        let (mut from, mut to) = lock_both(source, &target);
        match from.messages.get(&id) {
            None => Err(gone(id)),
            Some(stored) if !is_movable(stored) => Err(not_free(id, stored.state)),
            Some(_) if to.deleted => Err(Error::queue_not_found(&to.info.name)),
            Some(_) => {
                from.move_to(id, &mut to, false);
                Ok(target.id)
            }
        }
    }

    /// The next messages that a redrive takes, by where they go: to `target`, or back to where
    /// each came from.
    pub(super) fn movable(
        &self,
        source: &Queue,
        target: Option<&Arc<Queue>>,
        limit: u32,
    ) -> Result<Moves, Error> {
        // The table of names is not looked at under a queue's lock, so it is copied before.
        let names = if target.is_none() { self.names.read().clone() } else { BTreeMap::new() };
        let state = source.lock()?;
        let parked = state.orders.parked.iter().map(|(_, id)| *id);
        let goes = state.orders.ready_in_order().chain(parked).filter_map(|id| {
            let came_from = || state.messages.get(&id)?.message.dead_letter_source.as_ref();
            let to = target.or_else(|| names.get(came_from()?)).filter(|to| to.id != source.id)?;
            Some((Arc::clone(to), id))
        });
        let mut by_target: BTreeMap<QueueId, (Arc<Queue>, Vec<MessageId>)> = BTreeMap::new();
        for (to, id) in goes.take(limit as usize) {
            by_target.entry(to.id).or_insert_with(|| (to, Vec::new())).1.push(id);
        }
        Ok(by_target.into_values().collect())
    }
}

/// Whether a redrive takes a message.
pub(super) fn is_movable(stored: &Stored) -> bool {
    matches!(stored.state, State::Ready | State::Parked)
}
