//! Deadlines queue by queue: passes over one queue in short turns, and which queues have something
//! to do at all (S5.6).

use slipring::store::{Deadline, Deadlines, Pass};
use slipring::{QueueId, Timestamp};

use crate::fault::Outcome;
use crate::passes::{PASS_MESSAGES_MAX, Tally};
use crate::position::{from_sql, to_sql};
use crate::reader::Reader;
use crate::room::{LAPSES_LEAVE, Room};
use crate::slots::Delays;
use crate::statements::{Query, Statements};
use crate::writer::Writer;

/// A part of the deadlines looks at so many queues, or lanes.
const PART: usize = 256;
/// Places from this one on are lanes, those below are queues.
const LANES: u64 = 1 << 62;

impl Writer<'_> {
    /// Makes ready what is due in a queue, and announces the end of its pause.
    pub(crate) fn due_in(&mut self, queue: QueueId, now: Timestamp) -> Outcome<Pass> {
        self.memory.saw(now);
        let Some(picture) = self.picture(queue)? else { return Ok(Pass::default()) };
        let mut tally = Tally::default();
        let paused_until = picture.lock().info.settings.paused_until;
        match paused_until.map(Timestamp::as_millis) {
            Some(until) => self.end_pause(queue, until, now, &mut tally)?,
            None => drop(self.memory.announced.remove(&queue)),
        }
        let mut room = Room::new(PASS_MESSAGES_MAX);
        self.make_ready(queue, now, &mut room, &mut tally)?;
        Ok(tally.into_pass(now))
    }

    /// Ends the leases of a queue whose deadline has passed.
    pub(crate) fn expire_in(&mut self, queue: QueueId, now: Timestamp) -> Outcome<Pass> {
        self.memory.saw(now);
        let Some(picture) = self.picture(queue)? else { return Ok(Pass::default()) };
        let lanes: Vec<u64> = {
            let picture = picture.lock();
            let leased = picture.lanes.iter().filter(|lane| lane.leased > 0);
            leased.map(|lane| lane.id).collect()
        };
        let may_grow = self.lapses_may_grow()?;
        let mut tally = Tally::default();
        let mut room = Room::new(may_grow);
        let mut next = None;
        for lane in lanes {
            let of_lane = self.lapse_lane(lane, &mut room, now, &mut tally)?;
            next = [next, of_lane].into_iter().flatten().min();
        }
        room.admit(PASS_MESSAGES_MAX - may_grow);
        self.lapse_items(queue, &mut room, now, &mut tally)?;
        tally.lapsed(next, may_grow, now)?;
        Ok(tally.into_pass(now))
    }

    /// Says once for the pause of a queue, when it has ended, that the queue gives messages again.
    pub(crate) fn end_pause(
        &mut self,
        queue: QueueId,
        until_ms: u64,
        now: Timestamp,
        tally: &mut Tally,
    ) -> Outcome<()> {
        if until_ms > now.as_millis() {
            tally.next_at(Some(until_ms));
        } else if self.memory.announced.insert(queue, until_ms) != Some(until_ms)
            && let Some(picture) = self.picture(queue)?
        {
            self.memory.told.push(queue);
            tally.ready(queue, picture.lock().ready());
        }
        Ok(())
    }

    /// How many messages may leave the log: each is larger than before, by less than a page.
    pub(crate) fn lapses_may_grow(&self) -> Outcome<u64> {
        Ok(self.spare_pages(LAPSES_LEAVE)?.unwrap_or(0).min(PASS_MESSAGES_MAX))
    }

    /// Ends the leases of a lane that have lapsed, as far as there is room; answers when the next
    /// one lapses.
    pub(crate) fn lapse_lane(
        &mut self,
        lane: u64,
        room: &mut Room,
        now: Timestamp,
        tally: &mut Tally,
    ) -> Outcome<Option<u64>> {
        let lapsed = [to_sql(lane), to_sql(now.as_millis())];
        while room.is_left() {
            let first = self.db.first(Query::LapsedLease, lapsed, |row| row.get::<_, i64>(0))?;
            let Some(first) = first.map(from_sql) else { break };
            self.lapse_lease(first, room, now, tally)?;
        }
        moment_of(&self.db, Query::NextLapse, lane)
    }
}

impl Reader<'_> {
    /// A part of the deadlines of all queues: first those of rows, then those of the log.
    pub(crate) fn deadlines(&mut self, from: u64) -> Outcome<Deadlines> {
        let mut part = Deadlines { queues: Vec::new(), next: Some(from) };
        let mut looked = 0;
        while looked < PART {
            let Some(place) = part.next else { break };
            part.next = match place.checked_sub(LANES) {
                None => self.deadline_of_rows(place, &mut part)?,
                Some(lane) => self.deadline_of_log(lane, &mut part)?,
            };
            looked += 1;
        }
        Ok(part)
    }

    /// Adds the deadlines of the first queue from a place on; answers where to go on.
    fn deadline_of_rows(&mut self, from: u64, part: &mut Deadlines) -> Outcome<Option<u64>> {
        let Some(queue) = next_queue_of_items(&self.db, from)? else { return Ok(Some(LANES)) };
        let due = Delays::of(&self.db, queue)?.next().map(Timestamp::from_millis);
        let lapse = moment_of(&self.db, Query::NextItemLapse, queue.0)?;
        let lapse = lapse.map(Timestamp::from_millis);
        if due.is_some() || lapse.is_some() {
            part.queues.push(Deadline { queue, due, lapse });
        }
        Ok(Some(queue.0.saturating_add(1).min(LANES)))
    }

    /// Adds the deadline of the first lane from a number on; answers where to go on.
    fn deadline_of_log(&mut self, from: u64, part: &mut Deadlines) -> Outcome<Option<u64>> {
        let Some(lane) = next_lane_of_leases(&self.db, from)? else { return Ok(None) };
        let queue =
            self.db.first(Query::QueueOfLane, [to_sql(lane)], |row| row.get::<_, i64>(0))?;
        let lapse = moment_of(&self.db, Query::NextLapse, lane)?.map(Timestamp::from_millis);
        if let Some(queue) = queue.map(|id| QueueId(from_sql(id))) {
            part.queues.push(Deadline { queue, due: None, lapse });
        }
        Ok(Some(LANES + lane + 1))
    }
}

/// The first queue that has rows, from a number on.
pub(crate) fn next_queue_of_items(db: &Statements<'_>, from: u64) -> Outcome<Option<QueueId>> {
    let found = db.first(Query::NextQueueOfItems, [to_sql(from)], |row| row.get::<_, i64>(0))?;
    Ok(found.map(|id| QueueId(from_sql(id))))
}

/// The first lane that has leases, from a number on.
pub(crate) fn next_lane_of_leases(db: &Statements<'_>, from: u64) -> Outcome<Option<u64>> {
    let found = db.first(Query::NextLaneOfLeases, [to_sql(from)], |row| row.get::<_, i64>(0))?;
    Ok(found.map(from_sql))
}

/// The one moment that a query finds of a queue or a lane.
pub(crate) fn moment_of(db: &Statements<'_>, query: Query, of: u64) -> Outcome<Option<u64>> {
    let found = db.first(query, [to_sql(of)], |row| row.get::<_, Option<i64>>(0))?;
    Ok(found.flatten().map(from_sql))
}
