//! Administration of messages: cancel, kick, redrive.

use rusqlite::params;
use slipring::lifecycle;
use slipring::{
    Durability, Error, ErrorKind, MessageId, MessageState, MoveRequest, QueueId, Timestamp,
};

use crate::claim::no_lane;
use crate::fault::{Fault, Outcome, gone, held};
use crate::feed::{Feed, Next as Ready};
use crate::item::state_number;
use crate::picture::Picture;
use crate::position::{from_sql, lane_of, seq_of, to_sql};
use crate::room::{Room, no_room};
use crate::rows::Leaving;
use crate::settle::{as_new, enter_item};
use crate::slots::next_slot;
use crate::statements::Query;
use crate::writer::{Shared, Writer};

/// Most messages that one step of a bulk operation touches; bounds how long others wait behind
/// it.
pub(crate) const STEP_MESSAGES_MAX: u32 = 1000;

/// What a step of a kick has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kick {
    pub(crate) kicked: u64,
    pub(crate) kind: Kicked,
    /// Whether it has ended before its limit although there is more.
    pub(crate) more: bool,
}

/// Which messages a kick takes: decided by its first step, for all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kicked {
    Parked,
    Delayed,
}

/// What a step of a redrive has done.
#[derive(Debug, Default)]
pub(crate) struct Moved {
    /// How many messages went where.
    pub(crate) to: Vec<(QueueId, u64)>,
    /// Whether it has ended without a message although there may be one.
    pub(crate) more: bool,
}

impl Writer<'_> {
    /// Removes one message that is not leased; answers its queue.
    pub(crate) fn cancel(&mut self, message: MessageId) -> Outcome<QueueId> {
        let item = self.item_head(message.0)?;
        let picture = match &item {
            Some(head) => self.picture(head.queue)?,
            None => self.picture_of_lane(message)?,
        };
        let picture = picture.ok_or_else(|| Fault::Refused(gone(message)))?;
        let picture = &mut *picture.lock();
        self.promise(picture.info.settings.durability);
        if let Some(head) = item {
            if !lifecycle::free_to_take(head.state) {
                return Err(held(message).into());
            }
            self.delete_item(picture, &head)?;
            return Ok(picture.id());
        }
        let bytes = self.free_in_log(picture, message)?;
        self.note(picture);
        let lane = picture.lane(lane_of(message.0)).ok_or_else(|| no_lane(message.0))?;
        lane.cut_out(bytes);
        self.delete_from_log(message.0, message.0, 1)?;
        Ok(picture.id())
    }

    /// The queue whose lane gave a message its number.
    fn picture_of_lane(&mut self, message: MessageId) -> Outcome<Option<Shared>> {
        let lane = [to_sql(lane_of(message.0))];
        let queue = self.db.first(Query::QueueOfLane, lane, |row| row.get::<_, i64>(0))?;
        queue.map_or(Ok(None), |queue| self.picture(QueueId(from_sql(queue))))
    }

    /// Makes one parked or delayed message ready; answers its queue.
    pub(crate) fn kick_message(&mut self, message: MessageId, now: Timestamp) -> Outcome<QueueId> {
        let refuse = || {
            let text = format!("message {message} is neither parked nor delayed");
            Fault::Refused(Error::new(ErrorKind::WrongState, text).with("message", message))
        };
        let Some(mut head) = self.item_head(message.0)? else {
            let picture = self.picture_of_lane(message)?;
            let there = picture.is_some() && self.log_bytes(message.0)?.is_some();
            return Err(if there { refuse() } else { gone(message).into() });
        };
        let picture = self.picture(head.queue)?.ok_or_else(|| Fault::Refused(gone(message)))?;
        let picture = &mut *picture.lock();
        let next = lifecycle::kick(head.state, head.attempts).ok_or_else(refuse)?;
        self.promise(picture.info.settings.durability);
        self.change_item(picture, &mut head, |head| {
            enter_item(head, next, now);
        })?;
        Ok(picture.id())
    }

    /// Makes some parked messages ready, or delayed ones when none is parked.
    pub(crate) fn kick(
        &mut self,
        queue: QueueId,
        limit: u32,
        kind: Option<Kicked>,
        now: Timestamp,
    ) -> Outcome<Kick> {
        let picture = self.live(queue)?;
        let picture = &mut *picture.lock();
        self.promise(picture.info.settings.durability);
        let kind = kind.unwrap_or(match picture.items.parked {
            0 => Kicked::Delayed,
            _ => Kicked::Parked,
        });
        let state = match kind {
            Kicked::Parked => MessageState::Parked,
            Kicked::Delayed => MessageState::Delayed,
        };
        // Of the delayed those before all slots; after them a slot is opened, and then they go on.
        let slot = match kind {
            Kicked::Parked => None,
            Kicked::Delayed => next_slot(&self.db, queue, 0)?,
        };
        let ids = self.first_items(queue, state, slot, limit)?;
        let mut step = Kick { kicked: 0, kind, more: false };
        let mut room = Room::new(u64::from(limit));
        for id in &ids {
            step.more = !room.is_left();
            if step.more {
                break;
            }
            let Some(mut head) = self.item_head(*id)? else { continue };
            room.take(head.bytes);
            step.kicked += 1;
            let Some(next) = lifecycle::kick(head.state, head.attempts) else { continue };
            self.change_item(picture, &mut head, |head| {
                enter_item(head, next, now);
            })?;
        }
        if let Some(start) = slot.filter(|_| !step.more && ids.len() < limit as usize) {
            picture.far_from = None;
            let mut room = Room::new(u64::from(STEP_MESSAGES_MAX));
            if self.open_slot(queue, start, &mut room)? == 0 && step.kicked == 0 {
                return Err(no_room());
            }
            step.more = true;
        }
        Ok(step)
    }

    /// The first rows of a state, of those whose turn is before a moment.
    fn first_items(
        &mut self,
        queue: QueueId,
        state: MessageState,
        before: Option<u64>,
        limit: u32,
    ) -> Outcome<Vec<u64>> {
        let last = before.map_or(i64::MAX, |before| to_sql(before) - 1);
        let values = params![to_sql(queue.0), state_number(state), last, i64::from(limit)];
        Ok(self.db.all(Query::FirstItems, values, |row| row.get::<_, i64>(0).map(from_sql))?)
    }

    /// Moves ready and parked messages to other queues.
    pub(crate) fn move_messages(&mut self, request: &MoveRequest) -> Outcome<Moved> {
        let source = self.live(request.source)?;
        check_ends(&source, request.target)?;
        self.promise(Durability::Full);
        let limit = request.limit.min(STEP_MESSAGES_MAX);
        let source = &mut *source.lock();
        let Some(target) = request.target else { return self.send_back(source, limit) };
        let target = self.live(target)?;
        let target = &mut *target.lock();
        let mut room = Room::new(u64::from(limit));
        let mut moved = self.move_ready(source, target, limit, &mut room)?;
        let parked = self.first_items(source.id(), MessageState::Parked, None, limit - moved)?;
        for id in parked {
            if !room.is_left() {
                break;
            }
            self.move_row(source, target, id, &mut room)?;
            moved += 1;
        }
        let to = if moved > 0 { vec![(target.id(), u64::from(moved))] } else { Vec::new() };
        Ok(Moved { to, more: false })
    }

    fn move_ready(
        &mut self,
        source: &mut Picture,
        target: &mut Picture,
        limit: u32,
        room: &mut Room,
    ) -> Outcome<u32> {
        let mut feed = Feed::new(source, u64::from(limit));
        for moved in 0..limit {
            if !room.is_left() {
                return Ok(moved);
            }
            match feed.take_in_order(&self.db, source)? {
                Some(Ready::Log(log)) => {
                    let position = log.message.id.0;
                    self.note(source);
                    let lane = source.lane(lane_of(position)).ok_or_else(|| no_lane(position))?;
                    lane.pass(seq_of(position), log.bytes, log.bytes_sum);
                    let leaving = Leaving::fresh(log.message.priority);
                    self.log_to_items(target, position..position + 1, log.bytes, &leaving)?;
                    room.take(log.bytes);
                }
                Some(Ready::Item(place)) => self.move_row(source, target, place.id, room)?,
                None => return Ok(moved),
            }
        }
        Ok(limit)
    }

    pub(crate) fn move_row(
        &mut self,
        source: &mut Picture,
        target: &mut Picture,
        id: u64,
        room: &mut Room,
    ) -> Outcome<()> {
        let head = self.item_head(id)?;
        let mut head = head.ok_or_else(|| Fault::Damaged(format!("item {id} is missing")))?;
        room.take(head.bytes);
        self.move_item(source, target, &mut head, as_new)
    }
}

/// Refuses a move from a queue to itself.
pub(crate) fn check_ends(source: &Shared, target: Option<QueueId>) -> Outcome<()> {
    let source = source.lock();
    if target == Some(source.id()) {
        let text = "source and target are the same queue; name two queues";
        let error = Error::new(ErrorKind::Invalid, text).with("queue", &source.info.name);
        return Err(error.into());
    }
    Ok(())
}
