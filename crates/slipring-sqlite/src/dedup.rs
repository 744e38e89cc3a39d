//! The deduplication ids that a queue remembers (S8).

use std::collections::HashMap;

use rusqlite::params;
use slipring::{DedupScope, MessageId, NewMessage, QueueSettings, Timestamp};

use crate::fault::Outcome;
use crate::picture::Picture;
use crate::position::{from_sql, lane_of, to_sql};
use crate::statements::Query;
use crate::writer::Writer;

/// What a send does with one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plan {
    Store,
    /// A message stored before has the same deduplication id.
    Seen(MessageId),
    /// So has an earlier message of the same unit: the n-th that is stored.
    Twin(usize),
}

/// A deduplication id with its scope, as the file keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    scope: String,
    id: String,
}

/// What a message is known by; `None` when it has no deduplication id, or the window no length.
pub(crate) fn key(message: &NewMessage, settings: &QueueSettings) -> Option<Key> {
    let id = message.dedup_id.as_deref().filter(|_| !settings.dedup_window.is_zero())?.to_owned();
    let scope = match settings.dedup_scope {
        DedupScope::Queue => String::new(),
        DedupScope::Group => format!(":{}", message.group.as_deref().unwrap_or("")),
    };
    Some(Key { scope, id })
}

/// The messages of a unit that are stored, to find those that repeat one.
#[derive(Default)]
pub(crate) struct Twins {
    known: HashMap<Key, usize>,
    count: usize,
}

impl Twins {
    /// The plan for a message without deduplication id.
    pub(crate) fn stored(&mut self) -> Plan {
        self.count += 1;
        Plan::Store
    }

    /// The plan for a message with a deduplication id that the file does not know.
    pub(crate) fn stored_as(&mut self, key: Key) -> Plan {
        if let Some(nth) = self.known.get(&key) {
            return Plan::Twin(*nth);
        }
        self.known.insert(key, self.count);
        self.stored()
    }
}

impl Writer<'_> {
    /// The first message with this key, if its window is still open. A purge has ended that of what
    /// was sent before it; but a step of a purge does not of what it leaves.
    pub(crate) fn first_with(
        &mut self,
        picture: &Picture,
        key: &Key,
        now: Timestamp,
    ) -> Outcome<Option<MessageId>> {
        let (queue, from) = (to_sql(picture.id().0), to_sql(picture.ids_from));
        let values = params![queue, key.scope, key.id, to_sql(now.as_millis()), from];
        let read = |row: &rusqlite::Row<'_>| Ok((from_sql(row.get(0)?), row.get::<_, bool>(1)?));
        let Some((id, ended)) = self.db.first(Query::DedupFirst, values, read)? else {
            return Ok(None);
        };
        let counts = !ended || self.is_there(picture, id)?;
        Ok(counts.then_some(MessageId(id)))
    }

    /// Whether a message is in a queue, be it ready, leased, delayed or parked.
    fn is_there(&mut self, picture: &Picture, id: u64) -> Outcome<bool> {
        if let Some(head) = self.item_head(id)? {
            return Ok(head.queue == picture.id());
        }
        let Some(lane) = picture.lanes.iter().find(|lane| lane.id == lane_of(id)) else {
            return Ok(false);
        };
        if self.log_bytes(id)?.is_none() {
            return Ok(false);
        }
        let leased = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
        Ok(id > lane.cursor() || self.db.first(Query::LeaseAt, [to_sql(id)], leased)?.is_some())
    }

    /// Opens the window of a message that was just stored, so that its stamp is the last.
    pub(crate) fn remember(
        &mut self,
        picture: &Picture,
        message: &NewMessage,
        id: MessageId,
        now: Timestamp,
    ) -> Outcome<()> {
        let settings = &picture.info.settings;
        let Some(key) = key(message, settings) else { return Ok(()) };
        let end = now.after(settings.dedup_window);
        let (queue, until, sent) =
            (to_sql(picture.id().0), to_sql(end.as_millis()), to_sql(self.last_stamp()));
        let values = params![queue, key.scope, key.id, to_sql(id.0), until, sent];
        self.db.execute(Query::DedupRemember, values)?;
        Ok(())
    }
}
