//! Loads: messages in lanes of their own, which belong to no queue until the load is published
//! (S15). The publication gives the lanes to the queue; no row of a message is touched.
//!
//! What an ended load leaves is cleared away like a deleted queue, in steps.

use rusqlite::{Row, params};
use slipring::load::{self, PRIORITIES_MAX};
use slipring::{
    Durability, Error, LoadId, LoadInfo, LoadPart, LoadState, NewMessage, PartInfo, QueueId,
    Timestamp,
};

use crate::append::{ROW_BYTES_MAX, too_large};
use crate::fault::{Fault, Outcome};
use crate::image;
use crate::lane::Lane;
use crate::passes::Tally;
use crate::position::{from_sql, to_sql};
use crate::reader::Reader;
use crate::room::no_room;
use crate::statements::{Query, Statements};
use crate::writer::Writer;

/// Most loads that one pass of pruning ends.
const PASS_LOADS_MAX: usize = 64;
/// A publication removes so many more lanes than it adds, of loads that were drained.
const OUTLIVED_MORE: usize = 64;

/// Under which number the lanes of a load stand.
fn owner(load: LoadId) -> QueueId {
    QueueId(load.0)
}

fn read_load(row: &Row<'_>) -> rusqlite::Result<LoadInfo> {
    let number = |at: usize| row.get::<_, i64>(at).map(from_sql);
    Ok(LoadInfo {
        id: LoadId(number(0)?),
        queue: QueueId(number(1)?),
        state: if number(2)? == 0 { LoadState::Open } else { LoadState::Published },
        parts: number(3)?,
        messages: number(4)?,
        bytes: number(5)?,
        begun_at: Timestamp::from_millis(number(6)?),
        touched_at: Timestamp::from_millis(number(7)?),
    })
}

fn known(db: &Statements<'_>, id: LoadId) -> Outcome<LoadInfo> {
    let found = db.first(Query::Load, [to_sql(id.0)], read_load)?;
    Ok(found.ok_or_else(|| load::gone(id))?)
}

fn open(db: &Statements<'_>, id: LoadId) -> Outcome<LoadInfo> {
    let info = known(db, id)?;
    match info.state {
        LoadState::Open => Ok(info),
        LoadState::Published => Err(load::published(id).into()),
    }
}

/// The lane of a load for a message, the last of those of its priority.
fn lane_of(lanes: &[Lane], message: &NewMessage) -> Option<usize> {
    lanes.iter().rposition(|lane| lane.priority == Some(message.priority) && lane.has_room())
}

/// A checksum is any number of 64 bits.
fn checksum_to_sql(checksum: u64) -> i64 {
    i64::from_ne_bytes(checksum.to_ne_bytes())
}

fn checksum_from_sql(stored: i64) -> u64 {
    u64::from_ne_bytes(stored.to_ne_bytes())
}

impl Writer<'_> {
    /// Begins a load.
    pub(crate) fn begin_load(&mut self, queue: QueueId, now: Timestamp) -> Outcome<LoadInfo> {
        let picture = self.live(queue)?;
        let info = std::sync::Arc::clone(&picture.lock().info);
        let named = |error: Error| error.with("queue", &info.name);
        load::check_queue(&info.settings).map_err(named)?;
        let open = self.db.first(Query::OpenLoads, [to_sql(queue.0)], |row| row.get(0))?;
        let open = from_sql(open.unwrap_or(0));
        if open >= load::OPEN_MAX as u64 {
            return Err(named(load::too_many(open)).into());
        }
        self.promise(Durability::Full);
        let id = self.db.first(Query::TakeQueueId, (), |row| row.get::<_, i64>(0))?;
        let id = LoadId(from_sql(id.ok_or(Fault::UsedUp("queue numbers"))?));
        let values = [id.0, queue.0, now.as_millis()];
        self.db.execute(Query::AddLoad, values.map(to_sql))?;
        known(&self.db, id)
    }

    /// Appends a part to a load; answers whether it was not there.
    pub(crate) fn append_load(&mut self, part: &LoadPart) -> Outcome<bool> {
        let info = open(&self.db, part.load)?;
        let picture = self.live(info.queue)?;
        let queue = std::sync::Arc::clone(&picture.lock().info);
        let named = |error: Error| Fault::Refused(error.with("queue", &queue.name));
        self.promise(queue.settings.durability);
        let key = [to_sql(part.load.0), i64::from(part.part)];
        let there = self.db.first(Query::Part, key, |row| Ok((row.get(0)?, row.get(1)?)))?;
        let count = part.messages.len() as u64;
        if let Some(there) = there {
            let same = there == (to_sql(count), checksum_to_sql(part.checksum));
            let other = || named(load::other_part(part.load, part.part));
            return if same { Ok(false) } else { Err(other()) };
        }
        load::check_part(&part.messages, &queue.settings).map_err(named)?;
        if let Some(refusal) = too_large(&part.messages, ROW_BYTES_MAX) {
            return Err(named(refusal));
        }
        let lanes = image::lanes(&self.db, owner(part.load))?;
        check_priorities(&lanes, &part.messages).map_err(named)?;
        let bytes = self.append_to_lanes(part, lanes)?;
        if !self.leaves_room(bytes)? {
            return Err(no_room());
        }
        let values = params![key[0], key[1], to_sql(count), checksum_to_sql(part.checksum)];
        self.db.execute(Query::AddPart, values)?;
        self.set_load(LoadInfo {
            parts: info.parts + 1,
            messages: info.messages + count,
            bytes: info.bytes + bytes,
            touched_at: part.now,
            ..info
        })?;
        Ok(true)
    }

    /// Writes the messages of a part to lanes of its load; answers how many bytes they have.
    fn append_to_lanes(&mut self, part: &LoadPart, mut lanes: Vec<Lane>) -> Outcome<u64> {
        let mut total = 0;
        let mut at = None;
        for message in &part.messages {
            let fits = |at: &usize| {
                lanes
                    .get(*at)
                    .is_some_and(|lane| lane.priority == Some(message.priority) && lane.has_room())
            };
            let place = match at.filter(fits).or_else(|| lane_of(&lanes, message)) {
                Some(place) => place,
                None => {
                    lanes.push(self.new_lane(owner(part.load), Some(message.priority))?);
                    lanes.len() - 1
                }
            };
            at = Some(place);
            let Some(lane) = lanes.get_mut(place) else { continue };
            let (sent, bytes) = (self.stamp(part.now, lane.last_sent), message.size_bytes());
            let id = lane.append(bytes, sent);
            total += bytes;
            let bytes_sum = lane.tail_bytes;
            self.insert_into_log(id, sent, bytes_sum, message)?;
        }
        Ok(total)
    }

    fn set_load(&mut self, info: LoadInfo) -> Outcome<()> {
        let state = u64::from(info.state == LoadState::Published);
        let touched_ms = info.touched_at.as_millis();
        let values = [info.id.0, state, info.parts, info.messages, info.bytes, touched_ms];
        self.db.execute(Query::SetLoad, values.map(to_sql))?;
        Ok(())
    }

    /// Makes all messages of a load ready.
    pub(crate) fn publish_load(
        &mut self,
        id: LoadId,
        messages: u64,
        now: Timestamp,
    ) -> Outcome<LoadInfo> {
        let info = known(&self.db, id)?;
        if info.messages != messages {
            return Err(load::other_count(id, info.messages, messages).into());
        }
        // Also what is published already must not be told before it is flushed.
        let picture = self.live(info.queue)?;
        let picture = &mut *picture.lock();
        self.promise(picture.info.settings.durability);
        if info.state == LoadState::Published {
            return Ok(info);
        }
        let settings = &picture.info.settings;
        for (limit, most, asked) in [
            ("messages_max", settings.messages_max, picture.total() + info.messages),
            ("bytes_max", settings.bytes_max, picture.bytes() + info.bytes),
        ] {
            if let Some(most) = most.filter(|most| asked > *most) {
                let error = Error::limit(limit, most, asked).with("load", id);
                return Err(error.with("queue", &picture.info.name).into());
            }
        }
        let lanes = image::lanes(&self.db, owner(id))?;
        let outlived_max = lanes.len() + OUTLIVED_MORE;
        for lane in lanes {
            self.sent_before(lane.last_sent);
            picture.add_lane(lane);
        }
        let outlived = picture.take_outlived_lanes(outlived_max);
        self.delete_lanes(&outlived)?;
        self.forget_flushes();
        self.db.execute(Query::PublishLanes, [to_sql(id.0), to_sql(info.queue.0)])?;
        let info = LoadInfo { state: LoadState::Published, touched_at: now, ..info };
        self.set_load(info)?;
        self.leave_load(id, now)?;
        Ok(info)
    }

    /// Ends an open load.
    pub(crate) fn abandon_load(&mut self, id: LoadId) -> Outcome<()> {
        let info = open(&self.db, id)?;
        self.promise(Durability::Full);
        self.db.execute(Query::DeleteLoad, [to_sql(id.0)])?;
        self.leave_load(id, info.begun_at)
    }

    /// Leaves what a load has to [`Writer::clear_away`].
    fn leave_load(&mut self, id: LoadId, now: Timestamp) -> Outcome<()> {
        self.db.execute(Query::LeaveLoad, [to_sql(id.0), to_sql(now.as_millis())])?;
        self.memory.clearing = true;
        Ok(())
    }

    /// Ends the loads of a queue that is deleted.
    pub(crate) fn end_loads_of(&mut self, queue: QueueId) -> Outcome<()> {
        let of_queue = [to_sql(queue.0)];
        while let Some(id) = self.db.first(Query::OpenLoad, of_queue, |row| row.get(0))? {
            self.abandon_load(LoadId(from_sql(id)))?;
        }
        self.db.execute(Query::DeleteLoads, of_queue)?;
        Ok(())
    }

    /// Ends open loads that nobody goes on with, and forgets published ones, some at a time.
    pub(crate) fn prune_loads(&mut self, now: Timestamp, tally: &mut Tally) -> Outcome<()> {
        for _ in 0..PASS_LOADS_MAX {
            let oldest = self.db.first(Query::OldLoad, (), |row| {
                let number = |at: usize| row.get::<_, i64>(at).map(from_sql);
                Ok((LoadId(number(0)?), number(1)?, Timestamp::from_millis(number(2)?)))
            })?;
            let Some((id, state, touched_at)) = oldest else { return Ok(()) };
            let over_at = touched_at.after(load::KEPT);
            if over_at > now {
                tally.next_at(Some(over_at.as_millis()));
                return Ok(());
            }
            match state {
                0 => self.abandon_load(id)?,
                _ => drop(self.db.execute(Query::DeleteLoad, [to_sql(id.0)])?),
            }
        }
        tally.next_at(Some(now.as_millis()));
        Ok(())
    }
}

/// Refuses messages that would give a load more priorities than it may have.
fn check_priorities(lanes: &[Lane], messages: &[NewMessage]) -> Result<(), Error> {
    let mut all: Vec<_> = lanes.iter().filter_map(|lane| lane.priority).collect();
    all.dedup();
    for (index, message) in messages.iter().enumerate() {
        if all.last() == Some(&message.priority) || all.contains(&message.priority) {
            continue;
        }
        if all.len() >= PRIORITIES_MAX {
            return Err(load::too_many_priorities(index));
        }
        all.push(message.priority);
    }
    Ok(())
}

impl Reader<'_> {
    /// All loads.
    pub(crate) fn loads(&mut self) -> Outcome<Vec<LoadInfo>> {
        Ok(self.db.all(Query::Loads, (), read_load)?)
    }

    /// The parts of an open load from a number on.
    pub(crate) fn parts(&mut self, id: LoadId, from: u32, limit: u32) -> Outcome<Vec<PartInfo>> {
        open(&self.db, id)?;
        let values = [to_sql(id.0), i64::from(from), i64::from(limit)];
        let parts = self.db.all(Query::Parts, values, |row| {
            Ok(PartInfo {
                part: row.get(0)?,
                messages: from_sql(row.get(1)?),
                checksum: checksum_from_sql(row.get(2)?),
            })
        })?;
        Ok(parts)
    }
}
