//! The groups of FIFO queues (S7.3, S7.7): which may give messages, which, and in what order.
//!
//! A group's row says where it stands in the line, if it may give something, so that a receive
//! finds the first open groups without walking past others. Changes to messages only note their
//! group; the row is brought up to date once, before the next look.

use rusqlite::params;
use slipring::{MessageState, QueueId};

use crate::fault::Outcome;
use crate::item::{ItemHead, state_number};
use crate::picture::Picture;
use crate::position::{from_sql, to_sql};
use crate::statements::Query;
use crate::writer::Writer;

/// A message that a group may give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GroupMessage {
    pub(crate) id: u64,
    pub(crate) attempts: u32,
}

impl Writer<'_> {
    /// The first groups of the line.
    pub(crate) fn open_groups(&mut self, queue: QueueId, limit: u64) -> Outcome<Vec<i64>> {
        let values = [to_sql(queue.0), to_sql(limit)];
        Ok(self.db.all(Query::OpenGroups, values, |row| row.get(0))?)
    }

    /// What a group gives: its first messages, up to the first that is leased or delayed, or that
    /// `admits` turns away. No row behind that one is read.
    pub(crate) fn open_messages(
        &mut self,
        group: i64,
        limit: u64,
        mut admits: impl FnMut(&GroupMessage) -> bool,
    ) -> Outcome<Vec<GroupMessage>> {
        let ready = state_number(MessageState::Ready);
        let mut statement = self.db.get(Query::MessagesOfGroup)?;
        let mut rows = statement.query([group, to_sql(limit)])?;
        let mut open = Vec::new();
        while let Some(row) = rows.next()? {
            let message = GroupMessage { id: from_sql(row.get(0)?), attempts: row.get(2)? };
            if row.get::<_, i64>(1)? != ready || !admits(&message) {
                break;
            }
            open.push(message);
        }
        Ok(open)
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
        for (group, served) in std::mem::take(&mut picture.touched_groups) {
            let first = self.db.first(Query::FirstOfGroup, [group], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
            })?;
            let Some((id, sent, state)) = first else {
                self.db.execute(Query::DeleteGroup, [group])?;
                continue;
            };
            let ready = state == state_number(MessageState::Ready);
            let values = params![group, to_sql(served), ready, sent, id];
            self.db.execute(Query::SetGroup, values)?;
        }
        Ok(())
    }
}
