//! The ready messages of a standard queue: the log and the rows, the first of each standing
//! (S7.1, S11.1). Which comes next is for `slipring::deal` to say.
//!
//! A feed reads ahead in chunks and changes nothing; who takes a message from it must take it out
//! of the queue too.

use std::collections::VecDeque;

use rusqlite::params;
use slipring::deal::{FAILING_SHARE, First, Heads, Standing};
use slipring::{MessageState, Priority, QueueId};

use crate::fault::{Fault, Outcome};
use crate::item::{LogMessage, read_log_message, standing_turns, state_number};
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
    /// By the number of their standing.
    items: [Places; 3],
}

/// The rows of one standing.
#[derive(Default)]
struct Places {
    ahead: VecDeque<ItemPlace>,
    /// The last row that was read, where the next chunk begins.
    last: Option<ItemPlace>,
    end: bool,
}

impl ItemPlace {
    fn first(&self) -> First<u64> {
        First { priority: self.priority(), place: self.sent, attempts: self.attempts }
    }

    fn priority(&self) -> Priority {
        crate::item::priority_of(self.turn)
    }
}

impl Feed {
    /// A feed from which at most `wanted` messages are taken.
    pub(crate) fn new(picture: &Picture, wanted: u64) -> Feed {
        let end = picture.items.ready == 0;
        let items = Standing::ALL.map(|_| Places { end, ..Places::default() });
        Feed { queue: picture.id(), wanted, log: VecDeque::new(), items }
    }

    /// The first message of each standing; the order among those of a priority is when they were
    /// sent.
    pub(crate) fn heads(&mut self, db: &Statements<'_>, picture: &Picture) -> Outcome<Heads<u64>> {
        self.fill(db, picture)?;
        let mut heads =
            self.items.each_ref().map(|items| items.ahead.front().map(ItemPlace::first));
        if let (Some(log), [untried, ..]) = (self.log.front(), &mut heads)
            && !self.item_first()
        {
            let priority = log.message.priority;
            *untried = Some(First { priority, place: log.sent, attempts: 0 });
        }
        Ok(heads)
    }

    /// Takes the first message of a standing.
    pub(crate) fn take(&mut self, standing: Standing) -> Option<Next> {
        self.wanted = self.wanted.saturating_sub(1);
        if standing == Standing::Untried && !self.item_first() {
            return self.log.pop_front().map(Next::Log);
        }
        self.items.get_mut(standing as usize)?.ahead.pop_front().map(Next::Item)
    }

    /// Takes the next message by priority and order of sending alone.
    pub(crate) fn take_in_order(
        &mut self,
        db: &Statements<'_>,
        picture: &Picture,
    ) -> Outcome<Option<Next>> {
        let heads = self.heads(db, picture)?;
        let firsts = Standing::ALL.into_iter().zip(heads);
        let best = firsts
            .filter_map(|(standing, first)| first.map(|first| (standing, first)))
            .min_by_key(|(_, first)| (first.priority, first.place));
        Ok(best.and_then(|(standing, _)| self.take(standing)))
    }

    /// Whether the first untried message is a row.
    fn item_first(&self) -> bool {
        let [untried, ..] = &self.items;
        match (untried.ahead.front(), self.log.front()) {
            (Some(item), Some(log)) => {
                (item.priority(), item.sent) < (log.message.priority, log.sent)
            }
            (item, _) => item.is_some(),
        }
    }

    fn fill(&mut self, db: &Statements<'_>, picture: &Picture) -> Outcome<()> {
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
        let mut others = !self.log.is_empty();
        for standing in Standing::ALL {
            // Beside others, of a few failing ones at most is there any use.
            let share = match standing == Standing::Failing && others {
                true => u64::from(FAILING_SHARE),
                false => 1,
            };
            let limit = (self.wanted / share).clamp(1, CHUNK_MESSAGES);
            let Some(items) = self.items.get_mut(standing as usize) else { continue };
            if items.ahead.is_empty() && !items.end {
                items.read(db, self.queue, standing, limit)?;
            }
            others |= !items.ahead.is_empty();
        }
        Ok(())
    }
}

impl Places {
    fn read(
        &mut self,
        db: &Statements<'_>,
        queue: QueueId,
        standing: Standing,
        limit: u64,
    ) -> Outcome<()> {
        let (first, last) = standing_turns(standing);
        let (turn, sent, id) = self.last.map_or((first, -1, -1), |last| {
            (to_sql(last.turn), to_sql(last.sent), to_sql(last.id))
        });
        let ready = state_number(MessageState::Ready);
        let values = params![to_sql(queue.0), ready, turn, sent, id, last, to_sql(limit)];
        let places = db.all(Query::ItemsInOrder, values, |row| {
            Ok(ItemPlace {
                turn: from_sql(row.get(0)?),
                sent: from_sql(row.get(1)?),
                id: from_sql(row.get(2)?),
                attempts: row.get(3)?,
            })
        })?;
        self.end = (places.len() as u64) < limit;
        self.last = places.last().copied().or(self.last);
        self.ahead.extend(places);
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
