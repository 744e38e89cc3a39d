//! The bounded passes over deadlines: what is due, what has lapsed.

use std::collections::BTreeMap;

use slipring::lifecycle::{self, Next};
use slipring::store::{Pass, Settled};
use slipring::{QueueId, Timestamp};

use crate::claim::no_lane;
use crate::deadlines::{moment_of, next_lane_of_leases, next_queue_of_items};
use crate::fault::Outcome;
use crate::item::ItemHead;
use crate::lease::{Lease, Terms};
use crate::picture::Picture;
use crate::position::{from_sql, lane_of, to_sql};
use crate::room::{Room, no_room};
use crate::rows::Leaving;
use crate::settle::{dead_letter, enter, enter_item};
use crate::slots::Delays;
use crate::statements::Query;
use crate::writer::{Shared, Writer};

/// Most messages that one pass handles; bounds how long other calls wait behind it.
pub(crate) const PASS_MESSAGES_MAX: u64 = 1000;

/// Messages that leave the log together have no more bytes than this, unless it is one message:
/// for a moment they stand in both tables.
const PIECE_BYTES_MAX: u64 = 16 << 10;
/// What counts for each of them beside its own bytes.
const ROW_BYTES: u64 = 100;

/// What a pass has done so far.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    ready: BTreeMap<QueueId, u64>,
    pub(crate) removed: u64,
    next: Option<u64>,
}

impl Tally {
    pub(crate) fn ready(&mut self, queue: QueueId, messages: u64) {
        if messages > 0 {
            *self.ready.entry(queue).or_default() += messages;
        }
    }

    /// There is something to do at a moment.
    pub(crate) fn next_at(&mut self, ms: Option<u64>) {
        self.next = [self.next, ms].into_iter().flatten().min();
    }

    fn settled(&mut self, of: &Picture, settled: Settled) {
        match settled {
            Settled::Ready => self.ready(of.id(), 1),
            Settled::DeadLettered(target) => {
                self.ready(target, 1);
                self.ready(of.id(), 1);
            }
            Settled::Parked => {
                self.removed += 1;
                self.ready(of.id(), 1);
            }
            Settled::Done | Settled::Delayed(_) => {}
        }
    }

    /// After leases have ended: `next` is when the next one of the log lapses.
    pub(crate) fn lapsed(
        &mut self,
        next: Option<u64>,
        may_grow: u64,
        now: Timestamp,
    ) -> Outcome<()> {
        let more = next.is_some_and(|at| at <= now.as_millis());
        if may_grow == 0 && self.ready.is_empty() && more {
            return Err(no_room());
        }
        self.next_at(next);
        Ok(())
    }

    pub(crate) fn into_pass(self, now: Timestamp) -> Pass {
        Pass {
            ready: self.ready.into_iter().collect(),
            removed: self.removed,
            next: self.next.map(|ms| Timestamp::from_millis(ms).max(now)),
        }
    }
}

impl Writer<'_> {
    /// Makes ready what is due in any queue, and announces the ends of pauses.
    pub(crate) fn due(&mut self, now: Timestamp) -> Outcome<Pass> {
        let mut tally = Tally::default();
        self.memory.saw(now);
        self.end_pauses(now, &mut tally)?;
        let mut room = Room::new(PASS_MESSAGES_MAX);
        let mut from = 0;
        while let Some(queue) = next_queue_of_items(&self.db, from)? {
            from = queue.0.saturating_add(1);
            self.make_ready(queue, now, &mut room, &mut tally)?;
        }
        Ok(tally.into_pass(now))
    }

    /// Opens a slot of a queue if it is time, and makes ready what is due, as far as there is room.
    pub(crate) fn make_ready(
        &mut self,
        queue: QueueId,
        now: Timestamp,
        room: &mut Room,
        tally: &mut Tally,
    ) -> Outcome<()> {
        let opened = self.open_in_time(queue, now, room.messages())?;
        room.give_up(opened);
        for id in self.ids(Query::DueItems, queue, now)? {
            if !room.is_left() {
                break;
            }
            let Some((mut head, picture)) = self.timed_item(id, room)? else { continue };
            let picture = &mut *picture.lock();
            let ready = Next::Ready { attempts: head.attempts };
            self.change_item(picture, &mut head, |head| {
                enter_item(head, ready, now);
            })?;
            tally.ready(head.queue, 1);
        }
        let delays = Delays::of(&self.db, queue)?;
        tally.next_at(delays.next_after(now.as_millis(), opened));
        Ok(())
    }

    /// Says once for each pause that has ended that its queue gives messages again.
    fn end_pauses(&mut self, now: Timestamp, tally: &mut Tally) -> Outcome<()> {
        let pauses = self.db.all(Query::Pauses, (), |row| {
            Ok((QueueId(from_sql(row.get(0)?)), from_sql(row.get(1)?)))
        })?;
        self.memory.announced.retain(|queue, _| pauses.iter().any(|(paused, _)| paused == queue));
        for (queue, until) in pauses {
            self.end_pause(queue, until, now, tally)?;
        }
        Ok(())
    }

    /// Ends leases of any queue whose deadline has passed.
    pub(crate) fn expire(&mut self, now: Timestamp) -> Outcome<Pass> {
        let mut tally = Tally::default();
        self.memory.saw(now);
        let may_grow = self.lapses_may_grow()?;
        let mut room = Room::new(may_grow);
        let (mut from, mut next) = (0, None);
        while let Some(lane) = next_lane_of_leases(&self.db, from)? {
            from = lane.saturating_add(1);
            let of_lane = self.lapse_lane(lane, &mut room, now, &mut tally)?;
            next = [next, of_lane].into_iter().flatten().min();
        }
        // A row whose lease lapses does not grow.
        room.admit(PASS_MESSAGES_MAX - may_grow);
        let mut from = 0;
        while let Some(queue) = next_queue_of_items(&self.db, from)? {
            from = queue.0.saturating_add(1);
            self.lapse_items(queue, &mut room, now, &mut tally)?;
        }
        tally.lapsed(next, may_grow, now)?;
        Ok(tally.into_pass(now))
    }

    /// Ends the leases of rows of a queue that have lapsed, as far as there is room.
    pub(crate) fn lapse_items(
        &mut self,
        queue: QueueId,
        room: &mut Room,
        now: Timestamp,
        tally: &mut Tally,
    ) -> Outcome<()> {
        for id in self.ids(Query::LapsedItems, queue, now)? {
            if !room.is_left() {
                break;
            }
            let Some((mut head, picture)) = self.timed_item(id, room)? else { continue };
            let picture = &mut *picture.lock();
            self.keep_lapse(&head, now)?;
            let settled = match lifecycle::lapse(head.attempts, &picture.info.settings) {
                Next::DeadLetter => self.give_up(picture, &mut head)?,
                next => {
                    let mut settled = Settled::Ready;
                    self.change_item(picture, &mut head, |head| {
                        settled = enter_item(head, next, now);
                    })?;
                    settled
                }
            };
            tally.settled(picture, settled);
        }
        tally.next_at(moment_of(&self.db, Query::NextItemLapse, queue.0)?);
        Ok(())
    }

    /// A row whose time has come, with its queue. A row of a deleted queue is removed, ahead of
    /// the rest of that queue: every pass would find it again, before those of other queues.
    fn timed_item(&mut self, id: u64, room: &mut Room) -> Outcome<Option<(ItemHead, Shared)>> {
        let Some(head) = self.item_head(id)? else { return Ok(None) };
        room.take(head.bytes);
        if let Some(picture) = self.picture(head.queue)? {
            return Ok(Some((head, picture)));
        }
        self.db.execute(Query::DeleteItem, [to_sql(id)])?;
        self.memory.clearing = true;
        Ok(None)
    }

    /// Ends what a lease still covers, as far as there is room.
    pub(crate) fn lapse_lease(
        &mut self,
        first: u64,
        room: &mut Room,
        now: Timestamp,
        tally: &mut Tally,
    ) -> Outcome<()> {
        let queue = self.db.first(Query::QueueOfLane, [to_sql(lane_of(first))], |row| {
            row.get::<_, i64>(0).map(from_sql)
        })?;
        let picture = queue.map_or(Ok(None), |queue| self.picture(QueueId(queue)))?;
        let Some(picture) = picture else {
            // Its queue was deleted; the messages follow.
            self.db.execute(Query::DeleteLease, [to_sql(first)])?;
            self.memory.clearing = true;
            room.take(0);
            return Ok(());
        };
        let picture = &mut *picture.lock();
        self.note(picture);
        self.lease_over(picture, first)?;
        let Some(lease) = picture.leases.remove(&first) else { return Err(no_lane(first)) };
        self.db.execute(Query::DeleteLease, [to_sql(first)])?;
        let fits = |(_, bytes): &(u64, u64)| {
            let fits = room.is_left();
            room.take(*bytes);
            fits
        };
        let lapsing: Vec<_> = lease.messages().take_while(fits).collect();
        if let Some((after, _)) = lease.messages().nth(lapsing.len()) {
            let rest = lease.part(after, lease.last, lease.terms());
            rest.map_or(Ok(()), |rest| self.add_lease(picture, rest))?;
        }
        self.lapse_messages(picture, &lapsing, &lease, now, tally)
    }

    fn lapse_messages(
        &mut self,
        picture: &mut Picture,
        lapsing: &[(u64, u64)],
        lease: &Lease,
        now: Timestamp,
        tally: &mut Tally,
    ) -> Outcome<()> {
        let Terms { leased_ms, .. } = lease.terms();
        let lane = picture.lane(lane_of(lease.first)).ok_or_else(|| no_lane(lease.first))?;
        lapsing.iter().for_each(|(_, bytes)| lane.end_lease(*bytes));
        let mut leaving = Leaving::ready(lane.priority.unwrap_or_default(), 1, leased_ms);
        let next = lifecycle::lapse(1, &picture.info.settings);
        let target = match next {
            Next::DeadLetter => self.dead_letter_queue(picture)?,
            _ => None,
        };
        let settled = match &target {
            Some(target) => {
                leaving = dead_letter(leaving, picture);
                Settled::DeadLettered(target.lock().id())
            }
            None => enter(&mut leaving, next, now),
        };
        for range in runs(lapsing, target.as_ref().is_some_and(|to| to.lock().fifo())) {
            let positions = range.0..range.0 + range.1;
            match &target {
                Some(target) => {
                    self.log_to_items(&mut target.lock(), positions, range.2, &leaving)?
                }
                None => self.log_to_items(picture, positions, range.2, &leaving)?,
            };
            (0..range.1).for_each(|_| tally.settled(picture, settled));
        }
        Ok(())
    }

    /// The first rows of a queue that a query finds up to a moment.
    fn ids(&mut self, query: Query, queue: QueueId, now: Timestamp) -> Outcome<Vec<u64>> {
        let values = [to_sql(queue.0), to_sql(now.as_millis()), to_sql(PASS_MESSAGES_MAX)];
        Ok(self.db.all(query, values, |row| row.get::<_, i64>(0).map(from_sql))?)
    }

    /// The one moment that a query finds.
    pub(crate) fn moment(&mut self, query: Query) -> Outcome<Option<u64>> {
        let found = self.db.first(query, (), |row| row.get::<_, Option<i64>>(0))?;
        Ok(found.flatten().map(from_sql))
    }
}

/// Neighbouring messages together, up to [`PIECE_BYTES_MAX`], or one by one: where each run
/// begins, how many messages and bytes it has.
fn runs(messages: &[(u64, u64)], one_by_one: bool) -> Vec<(u64, u64, u64)> {
    let mut runs: Vec<(u64, u64, u64)> = Vec::new();
    for (position, bytes) in messages {
        let continues = |run: &&mut (u64, u64, u64)| {
            let next = run.0 + run.1 == *position;
            let bytes = run.2.saturating_add(*bytes) + (run.1 + 1) * ROW_BYTES;
            next && !one_by_one && bytes <= PIECE_BYTES_MAX
        };
        match runs.last_mut().filter(continues) {
            Some(run) => {
                run.1 += 1;
                run.2 += bytes;
            }
            None => runs.push((*position, 1, *bytes)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};

    use slipring::store::Store;
    use slipring::{AdminStore, QueueName, QueueSettings};

    use super::*;
    use crate::fault::Fault;
    use crate::{SqliteOptions, SqliteStore};

    #[test]
    fn neighbours_leave_together() {
        let messages = [(1, 10), (2, 10), (4, 5), (5, 5), (9, 1)];
        assert_eq!(runs(&messages, false), [(1, 2, 20), (4, 2, 10), (9, 1, 1)]);
        assert_eq!(runs(&messages, true).len(), 5);
        let half = PIECE_BYTES_MAX / 2 - ROW_BYTES;
        let large = [(1, half), (2, half), (3, 1), (4, 2 * half + 1), (5, 1)];
        assert_eq!(
            runs(&large, false),
            [(1, 2, 2 * half), (3, 1, 1), (4, 1, 2 * half + 1), (5, 1, 1)]
        );
    }

    #[tokio::test]
    async fn the_end_of_a_pause_is_told_again_when_the_transaction_was_undone() {
        // S14.3, S2.4
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let store = SqliteStore::open(path, SqliteOptions::default()).unwrap();
        let at = Timestamp::from_millis;
        let paused = QueueSettings { paused_until: Some(at(5)), ..QueueSettings::default() };
        let name = QueueName::new("q").unwrap();
        let (queue, _) = store.create_queue(&name, &paused, at(1)).await.unwrap();
        let batch = slipring::store::AppendBatch {
            queue: queue.id,
            now: at(2),
            messages: vec![slipring::NewMessage::new("a")],
            units: vec![1],
        };
        store.append(batch).await.unwrap();
        // The first call keeps the writing thread until the two others wait, so that these share
        // the next transaction. It is too large to be run by its caller, which is this test.
        let (go, wait) = mpsc::channel::<()>();
        let running = Arc::new(tokio::sync::Notify::new());
        let runs = Arc::clone(&running);
        let holds = store.write("holds", crate::store::PASS_WEIGHT, move |_| {
            runs.notify_one();
            // Whether told or left alone, it is over.
            let _ = wait.recv();
            Ok(())
        });
        let fails =
            |_: &mut Writer<'_>| -> Outcome<()> { Err(Fault::Damaged("on purpose".to_owned())) };
        let fails = store.write("fails", 1, fails);
        let both = async {
            running.notified().await;
            tokio::join!(store.due(at(10)), fails, async move { drop(go) })
        };
        let (held, (pass, failed, ())) = tokio::join!(holds, both);
        held.unwrap();
        failed.unwrap_err();
        assert_eq!(pass.unwrap().ready, [(queue.id, 1)]);
        assert!(store.due(at(11)).await.unwrap().ready.is_empty(), "it is told once");
    }
}
