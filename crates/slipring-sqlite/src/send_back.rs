//! Sending messages back to the queues they were dead-lettered from, in steps.
//!
//! The steps go round by the names of these queues. Most of them may be no more, which costs a look
//! for each; so a step goes on where the one before has ended, and a redrive is over when a whole
//! round has found nothing.

use std::collections::BTreeMap;

use rusqlite::params;
use slipring::{MessageState, QueueId, QueueName};

use crate::bulk::Moved;
use crate::fault::Outcome;
use crate::item::state_number;
use crate::picture::Picture;
use crate::position::{from_sql, to_sql};
use crate::room::Room;
use crate::statements::Query;
use crate::writer::Writer;

/// How far the round over the names is.
#[derive(Debug, Default, Clone)]
pub(crate) struct SendingBack {
    /// Names up to this have been looked at.
    after: String,
    /// After this name nothing was found to move.
    since: String,
    /// Whether it has begun anew with the first name since then.
    wrapped: bool,
}

impl Writer<'_> {
    /// A redrive begins: it looks at all names, wherever an earlier one has ended.
    pub(crate) fn begin_sending_back(&mut self, source: QueueId) {
        if let Some(place) = self.memory.sending_back.get_mut(&source) {
            (place.since, place.wrapped) = (place.after.clone(), false);
        }
    }

    /// Sends each message back to the queue it was dead-lettered from, where that is still there.
    pub(crate) fn send_back(&mut self, source: &mut Picture, limit: u32) -> Outcome<Moved> {
        let mut place = self.memory.sending_back.remove(&source.id()).unwrap_or_default();
        let mut to = BTreeMap::new();
        let mut room = Room::new(u64::from(limit));
        while room.is_left() && room.look() {
            let values = params![to_sql(source.id().0), place.after];
            let name = self.db.first(Query::NextSource, values, |row| row.get::<_, String>(0))?;
            let name = name.filter(|name| !place.wrapped || *name <= place.since);
            let Some(name) = name else {
                if place.wrapped || place.since.is_empty() {
                    return Ok(Moved { to: to.into_iter().collect(), more: false });
                }
                (place.after, place.wrapped) = (String::new(), true);
                continue;
            };
            if let Some((target, moved)) = self.send_back_to(&name, source, &mut room)? {
                *to.entry(target).or_default() += moved;
                // Only a round from here on says that nothing is left.
                (place.since, place.wrapped) = (name.clone(), false);
            }
            if room.is_left() {
                place.after = name;
            }
        }
        self.memory.sending_back.insert(source.id(), place);
        let to: Vec<_> = to.into_iter().collect();
        Ok(Moved { more: to.is_empty(), to })
    }

    /// The same for those of one queue; answers which it is and how many went, if any did.
    fn send_back_to(
        &mut self,
        name: &str,
        source: &mut Picture,
        room: &mut Room,
    ) -> Outcome<Option<(QueueId, u64)>> {
        let Ok(queue) = QueueName::new(name) else { return Ok(None) };
        let target = self.queue_named(&queue)?.filter(|id| *id != source.id());
        let Some(target) = target.map_or(Ok(None), |id| self.picture(id))? else { return Ok(None) };
        let target = &mut *target.lock();
        let mut moved = 0;
        for state in [MessageState::Ready, MessageState::Parked] {
            let most = to_sql(room.messages());
            let values = params![to_sql(source.id().0), name, state_number(state), most];
            let ids = self.db.all(Query::ItemsOfSource, values, |row| row.get::<_, i64>(0))?;
            for id in ids {
                if !room.is_left() {
                    break;
                }
                self.move_row(source, target, from_sql(id), room)?;
                moved += 1;
            }
        }
        Ok((moved > 0).then(|| (target.id(), moved)))
    }
}

#[cfg(test)]
mod tests;
