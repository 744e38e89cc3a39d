//! Pictures and the file: reading a queue's picture, writing back what is ahead, new lanes.

use std::sync::Arc;

use rusqlite::{Row, params};
use slipring::deal::PassedOver;
use slipring::{Priority, QueueId, QueueInfo, QueueName, QueueSettings, Timestamp};

use crate::fault::{Fault, Outcome};
use crate::lane::Lane;
use crate::picture::{ItemCount, Picture};
use crate::position::{LANE_MAX, SEQ_MAX, from_sql, position, seq_of, to_sql};
use crate::statements::{Query, Statements};
use crate::writer::Writer;

/// Most lanes that are kept of deleted queues.
const FREE_LANES_MAX: u64 = 1024;

/// A row of the table `queue`, its settings still as text.
pub(crate) struct QueueRow {
    id: QueueId,
    name: String,
    settings: String,
    created_ms: u64,
    modified_ms: u64,
}

impl QueueRow {
    /// Reads the columns of `queries/queue.sql`.
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<QueueRow> {
        Ok(QueueRow {
            id: QueueId(from_sql(row.get(0)?)),
            name: row.get(1)?,
            settings: row.get(2)?,
            created_ms: from_sql(row.get(3)?),
            modified_ms: from_sql(row.get(4)?),
        })
    }

    /// The queue with its settings.
    pub(crate) fn info(&self) -> Outcome<QueueInfo> {
        let damaged = |what: String| Fault::Damaged(format!("queue {}: {what}", self.id));
        let settings: QueueSettings =
            serde_json::from_str(&self.settings).map_err(|error| damaged(error.to_string()))?;
        Ok(QueueInfo {
            id: self.id,
            name: QueueName::new(&self.name).map_err(|error| damaged(error.to_string()))?,
            settings,
            created_at: Timestamp::from_millis(self.created_ms),
            modified_at: Timestamp::from_millis(self.modified_ms),
        })
    }
}

/// Settings as the file keeps them.
pub(crate) fn settings_to_sql(settings: &QueueSettings) -> Outcome<String> {
    serde_json::to_string(settings).map_err(|error| Fault::Damaged(error.to_string()))
}

/// Reads the counts of a queue's items.
pub(crate) fn item_count(db: &Statements<'_>, queue: QueueId) -> Outcome<ItemCount> {
    let count = db.first(Query::ItemCount, [to_sql(queue.0)], |row| {
        let number = |at: usize| row.get::<_, i64>(at).map(from_sql);
        Ok(ItemCount {
            ready: number(0)?,
            urgent: number(1)?,
            delayed: number(2)?,
            leased: number(3)?,
            parked: number(4)?,
            bytes: number(5)?,
            passed_over: PassedOver::new(row.get(6)?),
        })
    })?;
    Ok(count.unwrap_or_default())
}

/// Reads the lanes of a queue, by priority and age; costs two look-ups for each.
pub(crate) fn lanes(db: &Statements<'_>, queue: QueueId) -> Outcome<Vec<Lane>> {
    let mut lanes = db.all(Query::LanesOfQueue, [to_sql(queue.0)], read_lane)?;
    for lane in &mut lanes {
        let range = [to_sql(position(lane.id, 0)), to_sql(position(lane.id, SEQ_MAX))];
        let last = db.first(Query::LastOfLog, range, |row| {
            let number = |at: usize| row.get::<_, i64>(at).map(from_sql);
            Ok((number(0)?, number(1)?, number(2)?))
        })?;
        if let Some((last, sent, bytes_sum)) = last {
            lane.last_sent = sent;
            if seq_of(last) > lane.tail_seq {
                lane.tail_seq = seq_of(last);
                lane.tail_bytes = bytes_sum;
            }
        }
        let sent = db.first(Query::LastItem, range, |row| row.get::<_, i64>(0).map(from_sql))?;
        lane.last_sent = lane.last_sent.max(sent.unwrap_or(0));
    }
    Ok(lanes)
}

fn read_lane(row: &Row<'_>) -> rusqlite::Result<Lane> {
    let number = |at: usize| row.get::<_, i64>(at).map(from_sql);
    let priority: Option<u32> = row.get(1)?;
    Ok(Lane {
        id: number(0)?,
        priority: priority.map(Priority),
        tail_seq: number(2)?,
        tail_bytes: number(3)?,
        cursor_seq: number(4)?,
        cursor_bytes: number(5)?,
        holes: number(6)?,
        hole_bytes: number(7)?,
        leased: number(8)?,
        leased_bytes: number(9)?,
        last_sent: 0,
        dirty: false,
    })
}

impl Writer<'_> {
    /// Reads a queue's picture; `None` when there is no such queue.
    pub(crate) fn load_picture(&mut self, queue: QueueId) -> Outcome<Option<Picture>> {
        let Some(row) = self.db.first(Query::Queue, [to_sql(queue.0)], QueueRow::read)? else {
            return Ok(None);
        };
        let info = row.info()?;
        let lanes = lanes(&self.db, queue)?;
        let ids_from = self.db.first(Query::IdsFrom, [to_sql(queue.0)], |row| row.get(0))?;
        let ids_from = ids_from.map_or(0, from_sql);
        // What is sent from here on is neither old nor forgotten.
        self.sent_before(lanes.iter().map(|lane| lane.last_sent).max().unwrap_or(0));
        self.sent_before(ids_from);
        Ok(Some(Picture {
            info: Arc::new(info),
            lanes,
            last_lane: 0,
            leases: std::collections::BTreeMap::new(),
            items: item_count(&self.db, queue)?,
            log_head: None,
            items_dirty: false,
            touched_groups: std::collections::BTreeMap::new(),
            far_from: None,
            ids_from,
            noted: false,
        }))
    }

    /// Writes the counts and lanes that are ahead of the file.
    pub(crate) fn write_back_picture(&mut self, picture: &mut Picture) -> Outcome<()> {
        if std::mem::take(&mut picture.items_dirty) {
            let ItemCount { ready, urgent, delayed, leased, parked, bytes, passed_over } =
                picture.items;
            let id = picture.id().0;
            let passed_over = u64::from(passed_over.number());
            let counts = [id, ready, urgent, delayed, leased, parked, bytes, passed_over];
            self.db.execute(Query::SetItemCount, counts.map(to_sql))?;
        }
        for lane in picture.lanes.iter_mut().filter(|lane| lane.dirty) {
            lane.dirty = false;
            let numbers = [
                lane.id,
                lane.tail_seq,
                lane.tail_bytes,
                lane.cursor_seq,
                lane.cursor_bytes,
                lane.holes,
                lane.hole_bytes,
                lane.leased,
                lane.leased_bytes,
            ];
            self.db.execute(Query::SetLane, numbers.map(to_sql))?;
        }
        Ok(())
    }

    /// Where in [`Picture::lanes`] the next message of a priority gets its number: the lane of
    /// that priority, or the one for all others when there are too many.
    pub(crate) fn lane_for(
        &mut self,
        picture: &mut Picture,
        priority: Option<Priority>,
    ) -> Outcome<usize> {
        let known = picture.youngest(priority);
        if let Some(at) = known.filter(|at| picture.lanes.get(*at).is_some_and(Lane::has_room)) {
            return Ok(at);
        }
        if known.is_none() && priority.is_some() && !picture.may_add_lane() {
            let Some(mut empty) = picture.take_empty_lane() else {
                return self.lane_for(picture, None);
            };
            if empty.has_room() {
                let values = params![to_sql(empty.id), priority.map(|p| i64::from(p.0))];
                self.db.execute(Query::RelabelLane, values)?;
                // Its row alone shows the tail now.
                (empty.priority, empty.dirty) = (priority, true);
                return Ok(picture.add_lane(empty));
            }
            self.delete_lanes(&[empty])?;
        }
        // One that follows another of its priority is younger, which its number shows.
        let left =
            if known.is_none() { self.take_free_lane(picture.id(), priority)? } else { None };
        let lane = left.map_or_else(|| self.new_lane(picture.id(), priority), Ok)?;
        Ok(picture.add_lane(lane))
    }

    /// Takes a lane that a deleted queue has left, if there is one.
    fn take_free_lane(
        &mut self,
        owner: QueueId,
        priority: Option<Priority>,
    ) -> Outcome<Option<Lane>> {
        let values = params![to_sql(owner.0), priority.map(|p| i64::from(p.0))];
        self.db
            .first(Query::TakeFreeLane, values, |row| {
                let (id, seq) = (from_sql(row.get(0)?), from_sql(row.get(1)?));
                Ok(Lane { tail_seq: seq, cursor_seq: seq, ..Lane::new(id, priority) })
            })
            .map_err(Fault::Storage)
    }

    /// Leaves an empty lane of a deleted queue to the next that needs one, so that queues that come
    /// and go do not use up the lanes; of few only, and not of one that is soon full.
    pub(crate) fn leave_lane(&mut self, id: u64) -> Outcome<()> {
        let kept = self.db.first(Query::FreeLanes, (), |row| row.get(0).map(from_sql))?;
        let tail = self.db.first(Query::LaneTail, [to_sql(id)], |row| row.get(0).map(from_sql))?;
        let keep = kept.unwrap_or(0) < FREE_LANES_MAX && tail.is_some_and(|seq| seq < SEQ_MAX / 2);
        self.db.execute(if keep { Query::FreeLane } else { Query::DeleteLane }, [to_sql(id)])?;
        Ok(())
    }

    /// Removes lanes without messages.
    pub(crate) fn delete_lanes(&mut self, empty: &[Lane]) -> Outcome<()> {
        for lane in empty {
            self.db.execute(Query::DeleteLane, [to_sql(lane.id)])?;
        }
        // Messages that left them keep their numbers, which show no longer when they were sent.
        if empty.is_empty() { Ok(()) } else { self.leave_last_stamp() }
    }

    /// Makes a lane of an owner: a queue, or what has the place of one.
    pub(crate) fn new_lane(&mut self, owner: QueueId, priority: Option<Priority>) -> Outcome<Lane> {
        let id = self.db.first(Query::TakeLaneId, (), |row| row.get::<_, i64>(0).map(from_sql))?;
        let id = id.filter(|id| *id <= LANE_MAX).ok_or(Fault::UsedUp("lanes"))?;
        let values = params![to_sql(id), to_sql(owner.0), priority.map(|p| i64::from(p.0))];
        self.db.execute(Query::AddLane, values)?;
        Ok(Lane::new(id, priority))
    }
}
