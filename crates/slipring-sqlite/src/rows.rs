//! The table `item`: adding, changing and removing rows, with the counts and groups that follow
//! from it. Nothing else writes to it.

use std::ops::Range;

use rusqlite::params;
use slipring::{MessageState, NewMessage, Priority, QueueName};

use crate::fault::{Fault, Outcome};
use crate::item::{ItemHead, attempts_to_sql, headers_to_sql, state_number};
use crate::lease::first_fence;
use crate::picture::Picture;
use crate::position::to_sql;
use crate::slots::slot_turn;
use crate::statements::Query;
use crate::writer::Writer;

/// What messages of the log become when they leave it for the table `item`.
#[derive(Debug, Clone)]
pub(crate) struct Leaving {
    pub(crate) state: MessageState,
    /// As [`ItemHead::until_ms`].
    pub(crate) until_ms: u64,
    pub(crate) priority: Priority,
    pub(crate) attempts: u32,
    /// As [`ItemHead::earlier_attempts`].
    pub(crate) earlier_attempts: u32,
    pub(crate) fence: u64,
    pub(crate) first_received_ms: Option<u64>,
    pub(crate) delay_ms: u64,
    pub(crate) session: bool,
    pub(crate) source: Option<QueueName>,
}

impl Leaving {
    /// Ready after a first hand-out at a moment.
    pub(crate) fn ready(priority: Priority, attempts: u32, leased_ms: u64) -> Leaving {
        Leaving {
            state: MessageState::Ready,
            until_ms: 0,
            priority,
            attempts,
            earlier_attempts: 0,
            fence: first_fence(leased_ms),
            first_received_ms: Some(leased_ms),
            delay_ms: 0,
            session: false,
            source: None,
        }
    }

    /// Ready, and never handed out.
    pub(crate) fn fresh(priority: Priority) -> Leaving {
        Leaving { fence: 0, first_received_ms: None, ..Leaving::ready(priority, 0, 0) }
    }
}

impl Writer<'_> {
    /// The row of a message.
    pub(crate) fn item_head(&mut self, id: u64) -> Outcome<Option<ItemHead>> {
        Ok(self.db.first(Query::ItemHead, [to_sql(id)], ItemHead::read_whole)?)
    }

    /// Adds the row of a message that is sent, in the slot that begins at a moment, if in one.
    pub(crate) fn add_item(
        &mut self,
        picture: &mut Picture,
        mut head: ItemHead,
        sent: u64,
        message: &NewMessage,
        slot: Option<u64>,
    ) -> Outcome<()> {
        self.enter_group(picture, &mut head, message.group.as_deref())?;
        let values = params![
            to_sql(head.id),
            to_sql(head.queue.0),
            state_number(head.state),
            slot.map_or_else(|| head.turn(picture.fifo()), slot_turn),
            to_sql(sent),
            head.priority.0,
            to_sql(head.delay_ms),
            head.lease_ms.map(to_sql),
            to_sql(head.bytes),
            head.fifo_group,
            message.group.as_deref(),
            message.dedup_id.as_deref(),
            headers_to_sql(message.headers.as_ref()),
            message.body.as_ref(),
            slot.map(|_| to_sql(head.until_ms)),
        ];
        self.db.execute(Query::AddItem, values)?;
        self.note(picture);
        picture.count_in(&head);
        Ok(())
    }

    /// Moves messages of the log at `positions` into rows of the queue of `into`. The caller
    /// accounts for what leaves the lane. `bytes` is what they have together.
    pub(crate) fn log_to_items(
        &mut self,
        into: &mut Picture,
        positions: Range<u64>,
        bytes: u64,
        leaving: &Leaving,
    ) -> Outcome<u64> {
        let (first, last) = (positions.start, positions.end - 1);
        self.note(into);
        let mut head = ItemHead {
            id: first,
            queue: into.id(),
            state: leaving.state,
            until_ms: leaving.until_ms,
            priority: leaving.priority,
            attempts: leaving.attempts,
            earlier_attempts: leaving.earlier_attempts,
            fence: leaving.fence,
            first_received_ms: leaving.first_received_ms,
            delay_ms: leaving.delay_ms,
            lease_ms: None,
            session: leaving.session,
            bytes,
            fifo_group: None,
            source: leaving.source.clone(),
            failed: false,
        };
        if into.fifo() {
            if first != last {
                return Err(Fault::Damaged("groups are entered one by one".to_owned()));
            }
            let group: Option<Option<String>> =
                self.db.first(Query::GroupOfLog, [to_sql(first)], |row| row.get(0))?;
            self.enter_group(into, &mut head, group.flatten().as_deref())?;
        }
        let values = params![
            to_sql(first),
            to_sql(last),
            to_sql(head.queue.0),
            state_number(head.state),
            head.turn(into.fifo()),
            head.priority.0,
            attempts_to_sql(head.attempts, head.earlier_attempts),
            to_sql(head.fence),
            head.first_received_ms.map(to_sql),
            to_sql(head.delay_ms),
            head.session,
            head.fifo_group,
            head.source.as_ref().map(QueueName::as_str),
        ];
        let moved = self.db.execute(Query::LogToItems, values)? as u64;
        self.delete_from_log(first, last, moved)?;
        match into.fifo() {
            true => into.count_in(&head),
            false => into.count_in_many(head.state, head.priority, moved, bytes),
        }
        Ok(moved)
    }

    /// Removes the messages of the log from one position to another, of which there are `count`.
    pub(crate) fn delete_from_log(&mut self, first: u64, last: u64, count: u64) -> Outcome<()> {
        let deleted = self.db.execute(Query::DeleteFromLog, [to_sql(first), to_sql(last)])? as u64;
        if deleted != count {
            let text = format!("{count} messages at {first} to {last} are {deleted}");
            return Err(Fault::Damaged(text));
        }
        Ok(())
    }

    /// Changes a row; its queue stays the same.
    pub(crate) fn change_item(
        &mut self,
        picture: &mut Picture,
        head: &mut ItemHead,
        change: impl FnOnce(&mut ItemHead),
    ) -> Outcome<()> {
        self.note(picture);
        picture.count_out(head);
        change(head);
        self.regroup(picture, head)?;
        self.write_item(picture, head)
    }

    /// Moves a row to another queue.
    pub(crate) fn move_item(
        &mut self,
        from: &mut Picture,
        into: &mut Picture,
        head: &mut ItemHead,
        change: impl FnOnce(&mut ItemHead),
    ) -> Outcome<()> {
        self.note(from);
        self.note(into);
        from.count_out(head);
        change(head);
        head.queue = into.id();
        head.fifo_group = None;
        self.regroup(into, head)?;
        self.write_item(into, head)
    }

    fn write_item(&mut self, picture: &mut Picture, head: &ItemHead) -> Outcome<()> {
        let values = params![
            to_sql(head.id),
            to_sql(head.queue.0),
            state_number(head.state),
            head.turn(picture.fifo()),
            head.priority.0,
            attempts_to_sql(head.attempts, head.earlier_attempts),
            to_sql(head.fence),
            head.first_received_ms.map(to_sql),
            to_sql(head.delay_ms),
            head.session,
            head.fifo_group,
            head.source.as_ref().map(QueueName::as_str),
        ];
        self.db.execute(Query::SetItem, values)?;
        picture.count_in(head);
        Ok(())
    }

    /// Removes a row for good.
    pub(crate) fn delete_item(&mut self, picture: &mut Picture, head: &ItemHead) -> Outcome<()> {
        self.note(picture);
        self.db.execute(Query::DeleteItem, [to_sql(head.id)])?;
        picture.count_out(head);
        Ok(())
    }

    /// Enters or leaves a group as the state of a row demands; parked rows are in none.
    fn regroup(&mut self, picture: &mut Picture, head: &mut ItemHead) -> Outcome<()> {
        if head.state == MessageState::Parked {
            head.fifo_group = None;
        } else if picture.fifo() && head.fifo_group.is_none() {
            let group: Option<Option<String>> =
                self.db.first(Query::GroupOfItem, [to_sql(head.id)], |row| row.get(0))?;
            self.enter_group(picture, head, group.flatten().as_deref())?;
        }
        Ok(())
    }
}
