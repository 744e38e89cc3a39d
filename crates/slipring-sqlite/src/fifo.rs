//! The groups of FIFO queues (S7.3): which may give a message, and which.
//!
//! A group's row says what it may give next, so that a receive finds free groups in order without
//! walking past locked ones. Changes to messages only note their group; the row is brought up to
//! date once, before anybody looks.

use std::collections::BTreeSet;

use rusqlite::{Row, params};
use slipring::{MessageState, QueueId};

use crate::fault::Outcome;
use crate::item::{ItemHead, state_number};
use crate::picture::Picture;
use crate::position::{from_sql, to_sql};
use crate::statements::Query;
use crate::writer::Writer;

/// A message that an open group may give, ordered by when it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GroupPlace {
    sent: u64,
    pub(crate) id: u64,
    group: i64,
    pub(crate) attempts: u32,
}

impl GroupPlace {
    fn read(row: &Row<'_>) -> rusqlite::Result<GroupPlace> {
        Ok(GroupPlace {
            sent: from_sql(row.get(0)?),
            id: from_sql(row.get(1)?),
            group: row.get(2)?,
            attempts: row.get(3)?,
        })
    }
}

impl Writer<'_> {
    /// The next messages of the first open groups of a queue, one of each.
    pub(crate) fn open_groups(
        &mut self,
        queue: QueueId,
        limit: u64,
    ) -> Outcome<BTreeSet<GroupPlace>> {
        let values = [to_sql(queue.0), to_sql(limit)];
        Ok(self.db.all(Query::OpenGroups, values, GroupPlace::read)?.into_iter().collect())
    }

    /// What a group gives after a message, up to the first that is delayed.
    pub(crate) fn follower(&mut self, place: &GroupPlace) -> Outcome<Option<GroupPlace>> {
        let values = [place.group, to_sql(place.sent), to_sql(place.id)];
        let next = self.db.first(Query::NextOfGroup, values, |row| {
            Ok((GroupPlace::read(row)?, row.get::<_, i64>(4)?))
        })?;
        let ready = state_number(MessageState::Ready);
        Ok(next.filter(|(_, state)| *state == ready).map(|(place, _)| place))
    }

    /// Puts a row that is not parked into its group, if its queue has groups. The empty name
    /// stands for none (S7.4).
    pub(crate) fn enter_group(
        &mut self,
        picture: &Picture,
        head: &mut ItemHead,
        name: Option<&str>,
    ) -> Outcome<()> {
        if !picture.fifo() || head.state == MessageState::Parked {
            return Ok(());
        }
        let values = params![to_sql(picture.id().0), name.unwrap_or("")];
        let known = self.db.first(Query::GroupByName, values, |row| row.get(0))?;
        head.fifo_group = match known {
            Some(group) => Some(group),
            None => self.db.first(Query::AddGroup, values, |row| row.get(0))?,
        };
        Ok(())
    }

    /// Brings the rows of all touched groups up to date.
    pub(crate) fn write_back_groups(&mut self, picture: &mut Picture) -> Outcome<()> {
        for (group, change) in std::mem::take(&mut picture.touched_groups) {
            let first = self.db.first(Query::FirstOfGroup, [group], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
            })?;
            let Some((id, sent, state)) = first else {
                self.db.execute(Query::DeleteGroup, [group])?;
                continue;
            };
            let ready = state == state_number(MessageState::Ready);
            self.db.execute(Query::SetGroup, params![group, change, ready, sent, id])?;
        }
        Ok(())
    }
}
