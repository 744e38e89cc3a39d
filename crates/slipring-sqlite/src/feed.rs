//! The ready messages of a queue in hand-out order (S7.1): the log and the rows, merged.
//!
//! A feed reads ahead in chunks and changes nothing; who takes a message from it must take it out
//! of the queue too.

use std::collections::VecDeque;

use rusqlite::params;
use slipring::{MessageState, Priority, QueueId};

use crate::fault::{Fault, Outcome};
use crate::item::{LogMessage, read_log_message, state_number};
use crate::picture::Picture;
use crate::position::{from_sql, to_sql};
use crate::statements::{Query, Statements};

/// Most messages that are read ahead.
const CHUNK_MESSAGES: u64 = 2048;
/// Reading ahead stops after so many bytes of bodies.
const CHUNK_BYTES: u64 = 8 << 20;

/// The next message of a feed.
#[derive(Debug)]
pub(crate) enum Next {
    /// A message of the log, from the lane at its cursor.
    Log(LogMessage),
    /// A row.
    Item(ItemPlace),
}

/// Where a row stands among the ready ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ItemPlace {
    turn: u64,
    sent: u64,
    pub(crate) id: u64,
    attempts: u32,
}

/// See the head of this file.
pub(crate) struct Feed {
    queue: QueueId,
    /// How many messages are still wanted; bounds reading ahead.
    wanted: u64,
    log: VecDeque<LogMessage>,
    items: VecDeque<ItemPlace>,
    /// The last row that was read, where the next chunk begins.
    last_item: Option<ItemPlace>,
    items_end: bool,
}

impl Feed {
    /// A feed from which at most `wanted` messages are taken.
    pub(crate) fn new(picture: &Picture, wanted: u64) -> Feed {
        Feed {
            queue: picture.id(),
            wanted,
            log: VecDeque::new(),
            items: VecDeque::new(),
            last_item: None,
            items_end: picture.items.ready == 0,
        }
    }

    /// The failed attempts of the next message; `None` when there is none.
    pub(crate) fn peek(&mut self, db: &Statements<'_>, picture: &Picture) -> Outcome<Option<u32>> {
        self.fill(db, picture)?;
        Ok(match (self.items.front(), self.log.front()) {
            (Some(item), log) if self.item_first(item, log) => Some(item.attempts),
            (_, Some(_)) => Some(0),
            (_, None) => None,
        })
    }

    /// The turn and stamp of the next message, as far as it was read.
    pub(crate) fn place(&self) -> Option<(u64, u64)> {
        let item = self.items.front().map(|item| (item.turn, item.sent));
        let log = self.log.front().map(|log| (u64::from(log.message.priority.0), log.sent));
        [item, log].into_iter().flatten().min()
    }

    /// Takes the message that [`Feed::peek`] spoke of.
    pub(crate) fn take(&mut self) -> Option<Next> {
        self.wanted = self.wanted.saturating_sub(1);
        match (self.items.front(), self.log.front()) {
            (Some(item), log) if self.item_first(item, log) => {
                self.items.pop_front().map(Next::Item)
            }
            _ => self.log.pop_front().map(Next::Log),
        }
    }

    fn item_first(&self, item: &ItemPlace, log: Option<&LogMessage>) -> bool {
        log.is_none_or(|log| {
            let turn = u64::from(log.message.priority.0);
            (item.turn, item.sent) < (turn, log.sent)
        })
    }

    fn fill(&mut self, db: &Statements<'_>, picture: &Picture) -> Outcome<()> {
        if self.items.is_empty() && !self.items_end {
            self.read_items(db)?;
        }
        if self.log.is_empty()
            && let Some(lane) = picture.first_ready()
        {
            let limit = self.wanted.clamp(1, CHUNK_MESSAGES.min(lane.ready()));
            let bounds = [lane.cursor(), lane.tail(), limit];
            let priority = lane.priority.unwrap_or(Priority(0));
            read_log(db, bounds, priority, CHUNK_BYTES, &mut self.log)?;
            if self.log.is_empty() {
                let text = format!("lane {} has no message after its cursor", lane.id);
                return Err(Fault::Damaged(text));
            }
        }
        Ok(())
    }

    fn read_items(&mut self, db: &Statements<'_>) -> Outcome<()> {
        let limit = self.wanted.clamp(1, CHUNK_MESSAGES);
        let (turn, sent, id) = self
            .last_item
            .map_or((-1, 0, 0), |last| (to_sql(last.turn), to_sql(last.sent), to_sql(last.id)));
        let ready = state_number(MessageState::Ready);
        let values = params![to_sql(self.queue.0), ready, turn, sent, id, to_sql(limit)];
        let places = db.all(Query::ItemsInOrder, values, |row| {
            Ok(ItemPlace {
                turn: from_sql(row.get(0)?),
                sent: from_sql(row.get(1)?),
                id: from_sql(row.get(2)?),
                attempts: row.get(3)?,
            })
        })?;
        self.items_end = (places.len() as u64) < limit;
        self.last_item = places.last().copied().or(self.last_item);
        self.items.extend(places);
        Ok(())
    }
}

/// Reads messages of the log after the first of `bounds` up to the second, at most as many as the
/// third, and stops after `bytes_max` of bodies.
pub(crate) fn read_log(
    db: &Statements<'_>,
    bounds: [u64; 3],
    priority: Priority,
    bytes_max: u64,
    into: &mut VecDeque<LogMessage>,
) -> Outcome<()> {
    let mut statement = db.get(Query::LogAfter)?;
    let mut rows = statement.query(bounds.map(to_sql))?;
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        let message = read_log_message(row, priority)?;
        bytes += message.bytes;
        into.push_back(message);
        if bytes >= bytes_max {
            break;
        }
    }
    Ok(())
}
