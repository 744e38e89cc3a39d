//! Removing what is old: by retention, by purge, and deduplication windows that have closed.
use slipring::store::Pass;
use slipring::{QueueId, Timestamp};

use crate::fault::Outcome;
use crate::lane::Lane;
use crate::passes::Tally;
use crate::picture::Picture;
use crate::position::{SEQ_MAX, from_sql, position, seq_of, stamp_at, stamp_ms, to_sql};
use crate::room::Room;
use crate::statements::Query;
use crate::writer::Writer;

/// Most messages that one pass removes.
const PASS_MESSAGES_MAX: u64 = 2000;
/// Most queues that one pass looks at.
const PASS_QUEUES_MAX: i64 = 64;
/// Most deduplication windows that one pass forgets.
const PASS_DEDUP_MAX: u64 = 250;
/// So many messages or bytes are removed before the time is looked at.
const PIECE_MESSAGES_MAX: u64 = 128;
const PIECE_BYTES: u64 = 128 << 10;
/// While something grows old all the time, passes are at least so far apart.
const PASS_EVERY_MS: u64 = 1000;

/// A round over the queues that have a retention, in steps.
#[derive(Debug, Default)]
pub(crate) struct Round {
    /// The last queue that was looked at.
    after: u64,
    /// The queue behind it that was looked at in part, and the first lane that was left; `u64::MAX`
    /// when only its rows were.
    within: Option<(QueueId, u64)>,
    /// The first moment at which something grows too old, of the queues looked at.
    next: Option<u64>,
}

/// What a pass of pruning has done.
pub(crate) struct Pruned {
    pub(crate) pass: Pass,
    /// The queue in which it has ended for want of room.
    pub(crate) more_in: Option<QueueId>,
}

/// A purge that goes on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Purge {
    sent_until_ms: u64,
    /// What its first step has decided for all of them: it removes what has a stamp before this.
    sent_before: u64,
}

impl Writer<'_> {
    /// Removes messages whose retention is over and forgets closed deduplication windows. A step
    /// of it, which began at the moment `since_ns` of the process.
    pub(crate) fn prune(&mut self, now: Timestamp, since_ns: u64) -> Outcome<Pruned> {
        let mut tally = Tally::default();
        self.memory.saw(now);
        // Another process may have deleted a queue, or clearing one away may have failed.
        self.memory.clearing = true;
        let queues = self.db.all(
            Query::QueuesWithRetention,
            [to_sql(self.memory.prune.after), PASS_QUEUES_MAX],
            |row| Ok((QueueId(from_sql(row.get(0)?)), from_sql(row.get(1)?))),
        )?;
        let mut room = Room::since(PASS_MESSAGES_MAX, since_ns);
        let mut round_over = (queues.len() as i64) < PASS_QUEUES_MAX;
        let mut more_in = None;
        for (queue, retention_ms) in queues {
            let whole = room.is_left()
                && room.look()
                && self.prune_queue(queue, retention_ms, &mut room, now, &mut tally)?;
            if !whole {
                more_in = Some(queue);
                round_over = false;
                break;
            }
            self.memory.prune.after = queue.0;
        }
        let ended = |tally: Tally| Ok(Pruned { pass: tally.into_pass(now), more_in });
        if !round_over {
            tally.next_at(Some(now.as_millis()));
            return ended(tally);
        }
        let values = [to_sql(now.as_millis()), to_sql(PASS_DEDUP_MAX)];
        let forgotten = self.db.execute(Query::ForgetDedup, values)? as u64;
        if forgotten == PASS_DEDUP_MAX {
            tally.next_at(Some(now.as_millis()));
            return ended(tally);
        }
        self.prune_loads(now, &mut tally)?;
        self.memory.prune.after = 0;
        let next_dedup = self.moment(Query::NextDedupEnd)?;
        let next = [self.memory.prune.next.take(), next_dedup].into_iter().flatten().min();
        tally.next_at(next.map(|ms| ms.max(now.as_millis() + PASS_EVERY_MS)));
        ended(tally)
    }

    /// Goes on with a queue while there is room and time; answers whether all of it was seen.
    fn prune_queue(
        &mut self,
        queue: QueueId,
        retention_ms: u64,
        room: &mut Room,
        now: Timestamp,
        tally: &mut Tally,
    ) -> Outcome<bool> {
        let Some(picture) = self.picture(queue)? else { return Ok(true) };
        let picture = &mut *picture.lock();
        let within = self.memory.prune.within.take().filter(|(of, _)| *of == queue);
        let old = now.as_millis().checked_sub(retention_ms);
        let sent_before = old.map_or(0, |sent_until| stamp_at(sent_until.saturating_add(1)));
        let mut lanes: Vec<u64> = picture.lanes.iter().map(|lane| lane.id).collect();
        lanes.retain(|lane| within.is_none_or(|(_, from)| *lane >= from));
        lanes.sort_unstable();
        self.note(picture);
        let (mut removed, mut left_at) = (0, None);
        for lane in lanes {
            let whole = room.is_left() && room.look() && {
                removed += self.remove_old_of_lane(picture, lane, sent_before, room)?;
                room.is_left()
            };
            if !whole {
                left_at = Some(lane);
                break;
            }
            let oldest = self.oldest_of_log_ms(picture, lane)?;
            self.grows_old(oldest, retention_ms);
        }
        if left_at.is_none() {
            removed += self.remove_old_items(picture, sent_before, room)?;
            if !room.is_left() {
                left_at = Some(u64::MAX);
            }
        }
        tally.removed += removed;
        tally.ready(queue, removed);
        if let Some(lane) = left_at {
            self.memory.prune.within = Some((queue, lane));
            return Ok(false);
        }
        let of_queue = [to_sql(queue.0)];
        let oldest = self.db.first(Query::OldestItem, of_queue, |row| row.get(0))?;
        self.grows_old(oldest.flatten().map(|sent| stamp_ms(from_sql(sent))), retention_ms);
        Ok(true)
    }

    /// Takes note of when a message that was sent at `sent_ms` is too old.
    fn grows_old(&mut self, sent_ms: Option<u64>, retention_ms: u64) {
        let known = self.memory.prune.next;
        let next = sent_ms.map(|sent_ms| sent_ms.saturating_add(retention_ms));
        self.memory.prune.next = [known, next].into_iter().flatten().min();
    }

    /// When the first message of a lane was sent.
    fn oldest_of_log_ms(&mut self, picture: &Picture, id: u64) -> Outcome<Option<u64>> {
        let holds = |lane: &Lane| lane.id == id && lane.ready() + lane.leased > 0;
        if !picture.lanes.iter().any(holds) {
            return Ok(None);
        }
        let range = [to_sql(position(id, 0)), to_sql(position(id, SEQ_MAX))];
        let first = self.db.first(Query::OldestOfLog, range, |row| row.get::<_, i64>(0))?;
        Ok(first.map(|sent| stamp_ms(from_sql(sent))))
    }

    /// A step of a purge: removes messages in any state that were sent at or before a moment;
    /// answers how many, 0 at the end.
    pub(crate) fn purge(
        &mut self,
        queue: QueueId,
        limit: u32,
        sent_until: Timestamp,
    ) -> Outcome<u64> {
        let picture = self.live(queue)?;
        let picture = &mut *picture.lock();
        self.promise(picture.info.settings.durability);
        let sent_before = self.purge_bound(picture, sent_until.as_millis())?;
        self.forget_ids(picture, sent_before, sent_until)?;
        let mut room = Room::new(u64::from(limit));
        let removed = self.remove_old(picture, sent_before, &mut room)?;
        if removed == 0 {
            self.memory.purges.remove(&queue);
        }
        Ok(removed)
    }

    /// Ends the windows of what was sent so far and before a stamp (S8.4), by one row however many
    /// there are. What is sent later in the same millisecond has a stamp of its own.
    fn forget_ids(
        &mut self,
        picture: &mut Picture,
        sent_before: u64,
        sent_until: Timestamp,
    ) -> Outcome<()> {
        let until_ms = sent_until.as_millis().min(self.memory.clock_ms);
        let so_far = self.last_stamp().saturating_add(1).max(stamp_at(until_ms));
        let ids_from = so_far.min(sent_before);
        if ids_from > picture.ids_from {
            self.db.execute(Query::SetIdsFrom, [to_sql(picture.id().0), to_sql(ids_from)])?;
            picture.ids_from = ids_from;
            self.sent_before(ids_from);
        }
        Ok(())
    }

    /// The first stamp that a purge leaves. When the clock was set back before the file was
    /// opened, stamps are ahead of it until it has caught up. What is in the queue at the first
    /// step was then sent before the purge, whatever its stamp says; later sends have later stamps.
    fn purge_bound(&mut self, picture: &Picture, sent_until_ms: u64) -> Outcome<u64> {
        let queue = picture.id();
        let known = self.memory.purges.get(&queue);
        if let Some(purge) = known.filter(|purge| purge.sent_until_ms == sent_until_ms) {
            return Ok(purge.sent_before);
        }
        let item = self
            .db
            .first(Query::NewestItem, [to_sql(queue.0)], |row| row.get::<_, Option<i64>>(0))?;
        let lanes = picture.lanes.iter().map(|lane| lane.last_sent).max();
        let newest = lanes.unwrap_or(0).max(item.flatten().map_or(0, from_sql));
        let ahead = stamp_ms(newest) > self.memory.clock_ms.max(sent_until_ms);
        let sent_before = match ahead {
            true => newest.saturating_add(1),
            false => stamp_at(sent_until_ms.saturating_add(1)),
        };
        self.memory.purges.insert(queue, Purge { sent_until_ms, sent_before });
        Ok(sent_before)
    }

    /// Removes messages in any state that were sent before a stamp, as far as there is room;
    /// answers how many.
    fn remove_old(
        &mut self,
        picture: &mut Picture,
        sent_before: u64,
        room: &mut Room,
    ) -> Outcome<u64> {
        self.note(picture);
        let mut removed = 0;
        let lanes: Vec<u64> = picture.lanes.iter().map(|lane| lane.id).collect();
        for lane in lanes {
            removed += self.remove_old_of_lane(picture, lane, sent_before, room)?;
        }
        Ok(removed + self.remove_old_items(picture, sent_before, room)?)
    }

    fn remove_old_of_lane(
        &mut self,
        picture: &mut Picture,
        lane: u64,
        sent_before: u64,
        room: &mut Room,
    ) -> Outcome<u64> {
        let mut removed = 0;
        while room.is_left() {
            let piece = self.remove_from_lane(picture, lane, sent_before, room)?;
            removed += piece;
            if piece == 0 {
                break;
            }
        }
        Ok(removed)
    }

    fn remove_old_items(
        &mut self,
        picture: &mut Picture,
        sent_before: u64,
        room: &mut Room,
    ) -> Outcome<u64> {
        let mut removed = 0;
        while room.is_left() {
            let limit = room.messages().min(PIECE_MESSAGES_MAX);
            let values = [to_sql(picture.id().0), to_sql(sent_before), to_sql(limit)];
            let ids = self.db.all(Query::ItemsBefore, values, |row| row.get::<_, i64>(0))?;
            if ids.is_empty() {
                break;
            }
            for id in ids {
                if room.is_left()
                    && let Some(head) = self.item_head(from_sql(id))?
                {
                    self.delete_item(picture, &head)?;
                    room.take(head.bytes);
                    removed += 1;
                }
            }
        }
        Ok(removed)
    }

    /// Removes a piece from the head of a lane, leased messages first, as they come first.
    fn remove_from_lane(
        &mut self,
        picture: &mut Picture,
        id: u64,
        sent_before: u64,
        room: &mut Room,
    ) -> Outcome<u64> {
        let Some(lane) = picture.lane(id).filter(|lane| lane.ready() + lane.leased > 0) else {
            return Ok(0);
        };
        let cursor_seq = lane.cursor_seq;
        let old = self.oldest_of_lane(id, sent_before, room)?;
        let (Some((first, ..)), Some((last, ..))) = (old.first(), old.last()) else {
            return Ok(0);
        };
        let (first, last) = (*first, *last);
        for (at, bytes, bytes_sum) in &old {
            if seq_of(*at) > cursor_seq {
                if let Some(lane) = picture.lane(id) {
                    lane.pass(seq_of(*at), *bytes, *bytes_sum);
                }
            } else if let Some(lease) = self.lease_over(picture, *at)? {
                self.end_lease_of(picture, lease, *at)?;
            }
        }
        self.delete_from_log(first, last, old.len() as u64)?;
        Ok(old.len() as u64)
    }

    /// The first messages of a lane that were sent before a stamp, a piece of them: position,
    /// bytes, and bytes with all before. A lane is in the order of sending, so the look ends at the
    /// first later one.
    pub(crate) fn oldest_of_lane(
        &mut self,
        id: u64,
        sent_before: u64,
        room: &mut Room,
    ) -> Outcome<Vec<(u64, u64, u64)>> {
        let limit = room.messages().min(PIECE_MESSAGES_MAX);
        let mut statement = self.db.get(Query::LogSums)?;
        let bounds = [position(id, 0), position(id, SEQ_MAX), limit].map(to_sql);
        let mut rows = statement.query(bounds)?;
        let (mut old, mut bytes) = (Vec::new(), 0);
        while bytes < PIECE_BYTES
            && let Some(row) = rows.next()?
        {
            let number = |at: usize| row.get::<_, i64>(at).map(from_sql);
            if number(3)? >= sent_before {
                break;
            }
            let message = (number(0)?, number(1)?, number(2)?);
            bytes += message.1;
            room.take(message.1);
            old.push(message);
        }
        Ok(old)
    }
}

#[cfg(test)]
mod tests {
    use slipring::store::{AppendBatch, Store};
    use slipring::{AdminStore, NewMessage, QueueName, QueueSettings};

    use super::*;
    use crate::{SqliteOptions, SqliteStore};

    /// A store with a queue in which each message has a priority, and so a lane, of its own.
    async fn store_with(
        messages: u32,
        retention_ms: u64,
    ) -> (std::sync::Arc<SqliteStore>, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let store =
            SqliteStore::open(folder.path().join("a.db"), SqliteOptions::default()).unwrap();
        let retention = Some(std::time::Duration::from_millis(retention_ms));
        let settings = QueueSettings { retention, ..QueueSettings::default() };
        let now = Timestamp::from_millis(1000);
        let name = QueueName::new("q").unwrap();
        let (queue, _) = store.create_queue(&name, &settings, now).await.unwrap();
        let messages: Vec<_> = (0..messages).map(|n| NewMessage::new("a").priority(n)).collect();
        let units = vec![1; messages.len()];
        store.append(AppendBatch { queue: queue.id, now, messages, units }).await.unwrap();
        (store, folder)
    }

    /// Steps without time until a round is over: what they removed, and the next moment.
    async fn steps(store: &SqliteStore, at_ms: u64) -> (Vec<u64>, Option<Timestamp>) {
        let (mut removed, now) = (Vec::new(), Timestamp::from_millis(at_ms));
        loop {
            let step = store.write("prune", 1, move |writer| writer.prune(now, 0)).await.unwrap();
            removed.push(step.pass.removed);
            if step.more_in.is_none() {
                return (removed, step.pass.next);
            }
        }
    }

    #[tokio::test]
    async fn a_step_without_time_left_looks_at_few_lanes_and_the_next_goes_on() {
        let (store, _folder) = store_with(300, 60_000).await;
        let (removed, next) = steps(&store, 2000).await;
        assert!(removed.len() >= 4 && removed.iter().all(|removed| *removed == 0), "{removed:?}");
        assert_eq!(next, Some(Timestamp::from_millis(61_000)));
        let (removed, next) = steps(&store, 62_000).await;
        assert!(removed.iter().all(|removed| *removed <= 64), "{removed:?}");
        assert_eq!((removed.iter().sum::<u64>(), next), (300, None));
    }
}
