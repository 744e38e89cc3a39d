//! Queues themselves: creating, configuring, deleting, and clearing away what deleted ones leave.

use std::sync::Arc;

use rusqlite::params;
use slipring::clock::millis_ceil;
use slipring::{
    Durability, Error, ErrorKind, QueueId, QueueInfo, QueueName, QueueSettings, Reconfigured,
    Timestamp,
};

use crate::fault::{Fault, Outcome};
use crate::image::settings_to_sql;
use crate::position::{SEQ_MAX, from_sql, position, seq_of, to_sql};
use crate::room::Room;
use crate::statements::Query;
use crate::writer::Writer;

/// Most rows of a table that one step of clearing away removes.
const CLEAR_ROWS_MAX: u64 = 250;

impl Writer<'_> {
    /// The number of the queue with a name.
    pub(crate) fn queue_named(&mut self, name: &QueueName) -> Outcome<Option<QueueId>> {
        let id =
            self.db.first(Query::QueueIdByName, [name.as_str()], |row| row.get::<_, i64>(0))?;
        Ok(id.map(|id| QueueId(from_sql(id))))
    }

    /// Creates a queue, or answers the one that exists with equal settings (S14.2).
    pub(crate) fn create_queue(
        &mut self,
        name: &QueueName,
        settings: &QueueSettings,
        now: Timestamp,
    ) -> Outcome<(QueueInfo, bool)> {
        self.promise(Durability::Full);
        if let Some(id) = self.queue_named(name)? {
            let known = self.live(id)?;
            let info = QueueInfo::clone(&known.lock().info);
            // As they are written: a duration is rounded up to whole milliseconds.
            if settings_to_sql(&info.settings)? == settings_to_sql(settings)? {
                return Ok((info, false));
            }
            let text = format!("queue {name} exists with other settings");
            return Err(Error::new(ErrorKind::QueueExists, text).with("queue", name).into());
        }
        let id = self.db.first(Query::TakeQueueId, (), |row| row.get::<_, i64>(0))?;
        let id = QueueId(from_sql(id.ok_or(Fault::UsedUp("queue numbers"))?));
        let values = params![
            to_sql(id.0),
            name.as_str(),
            settings_to_sql(settings)?,
            to_sql(now.as_millis()),
            settings.fifo,
            settings.paused,
            settings.paused_until.map(|until| to_sql(until.as_millis())),
            settings.retention.map(|retention| to_sql(millis_ceil(retention))),
        ];
        self.db.execute(Query::AddQueue, values)?;
        let (name, settings) = (name.clone(), settings.clone());
        Ok((QueueInfo { id, name, settings, created_at: now, modified_at: now }, true))
    }

    /// Replaces a queue's settings.
    pub(crate) fn configure(
        &mut self,
        queue: QueueId,
        settings: &QueueSettings,
        now: Timestamp,
    ) -> Outcome<QueueInfo> {
        self.promise(Durability::Full);
        let picture = self.live(queue)?;
        let mut picture = picture.lock();
        if picture.fifo() != settings.fifo {
            let text = "fifo is fixed when a queue is created; make another queue";
            let error = Error::new(ErrorKind::Invalid, text).with("queue", &picture.info.name);
            return Err(error.into());
        }
        let modified_at = picture.info.next_modified_at(now);
        let values = params![
            to_sql(queue.0),
            settings_to_sql(settings)?,
            to_sql(modified_at.as_millis()),
            settings.paused,
            settings.paused_until.map(|until| to_sql(until.as_millis())),
            settings.retention.map(|retention| to_sql(millis_ceil(retention))),
        ];
        self.db.execute(Query::SetQueue, values)?;
        let settings = settings.clone();
        let info = QueueInfo { settings, modified_at, ..QueueInfo::clone(&picture.info) };
        picture.info = Arc::new(info.clone());
        self.memory.announced.remove(&queue);
        Ok(info)
    }

    /// Replaces a queue's settings if they are as old as `seen` says.
    pub(crate) fn reconfigure(
        &mut self,
        queue: QueueId,
        seen: Timestamp,
        settings: &QueueSettings,
        now: Timestamp,
    ) -> Outcome<Reconfigured> {
        let present = QueueInfo::clone(&self.live(queue)?.lock().info);
        if present.modified_at != seen {
            return Ok(Reconfigured::Others(present));
        }
        self.configure(queue, settings, now).map(Reconfigured::Done)
    }

    /// Makes a queue and all that is in it invisible for good; [`Writer::clear_away`] does the
    /// rest.
    pub(crate) fn delete_queue(&mut self, queue: QueueId) -> Outcome<()> {
        self.promise(Durability::Full);
        if self.db.execute(Query::DeleteQueue, [to_sql(queue.0)])? == 0 {
            return Err(Fault::Refused(Error::queue_not_found(queue)));
        }
        self.end_loads_of(queue)?;
        // Its lanes may be given to other queues, which go on with their numbers.
        self.write_back_lanes(queue)?;
        self.forget_picture(queue);
        self.memory.clearing = true;
        Ok(())
    }

    /// Deletes a queue in which there is nothing and whose settings are as old as `seen` says;
    /// answers whether it did.
    pub(crate) fn delete_if_empty(&mut self, queue: QueueId, seen: Timestamp) -> Outcome<bool> {
        let (total, modified_at) = {
            let picture = self.live(queue)?;
            let picture = picture.lock();
            (picture.total(), picture.info.modified_at)
        };
        if total > 0 || modified_at != seen {
            return Ok(false);
        }
        for query in [Query::OpenLoad, Query::RememberedId] {
            if self.db.first(query, [to_sql(queue.0)], |row| row.get::<_, i64>(0))?.is_some() {
                return Ok(false);
            }
        }
        self.delete_queue(queue).map(|()| true)
    }

    /// Removes a bounded part of what deleted queues and ended loads have left; answers whether
    /// there may be more.
    pub(crate) fn clear_away(&mut self) -> Outcome<bool> {
        let queue = self.db.first(Query::DeletedQueue, (), |row| row.get::<_, i64>(0))?;
        queue.map_or(Ok(false), |queue| self.clear_queue(queue).map(|()| true))
    }

    fn clear_queue(&mut self, queue: i64) -> Outcome<()> {
        let mut room = Room::new(CLEAR_ROWS_MAX);
        let lane = self.db.first(Query::LaneOfQueue, [queue], |row| row.get::<_, i64>(0))?;
        if let Some(lane) = lane {
            return self.clear_lane(from_sql(lane), &mut room);
        }
        let first = [queue, i64::MAX, to_sql(CLEAR_ROWS_MAX)];
        let items = self.db.all(Query::ItemSizes, first, |row| {
            Ok((row.get::<_, i64>(0)?, from_sql(row.get(1)?)))
        })?;
        for (id, bytes) in &items {
            if !room.is_left() {
                break;
            }
            self.db.execute(Query::DeleteItem, [id])?;
            room.take(*bytes);
        }
        if !items.is_empty() {
            return Ok(());
        }
        let limited = [queue, to_sql(CLEAR_ROWS_MAX)];
        for query in [Query::ClearGroups, Query::ClearDedup, Query::ClearParts] {
            if self.db.execute(query, limited)? > 0 {
                return Ok(());
            }
        }
        self.db.execute(Query::ClearItemCount, [queue])?;
        self.db.execute(Query::ClearQueue, [queue])?;
        Ok(())
    }

    fn clear_lane(&mut self, lane: u64, room: &mut Room) -> Outcome<()> {
        while room.is_left() {
            let piece = self.oldest_of_lane(lane, u64::MAX, room)?;
            let (Some((first, ..)), Some((last, ..))) = (piece.first(), piece.last()) else {
                let range = [to_sql(position(lane, 0)), to_sql(position(lane, SEQ_MAX))];
                self.db.execute(Query::DeleteLeases, range)?;
                return self.leave_lane(lane);
            };
            self.db.execute(Query::RaiseTail, [to_sql(lane), to_sql(seq_of(*last))])?;
            let range = [to_sql(*first), to_sql(*last)];
            self.db.execute(Query::DeleteLeases, range)?;
            self.db.execute(Query::DeleteFromLog, range)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use slipring::store::AppendBatch;
    use slipring::{NewMessage, QueueSettings};
    use slipring_conformance::verbs::{at, plain, queue, try_send};

    use super::*;
    use crate::{SqliteOptions, SqliteStore};

    fn delayed() -> Vec<NewMessage> {
        vec![NewMessage { delay: Some(Duration::from_secs(60)), ..NewMessage::new("a") }]
    }

    #[tokio::test]
    async fn a_queue_with_the_lane_of_a_deleted_one_gives_no_number_twice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let store = SqliteStore::open(path, SqliteOptions::default()).unwrap();
        let deleted = plain(&store).await;
        let both = move |writer: &mut Writer<'_>| {
            let batch =
                AppendBatch { queue: deleted, now: at(0), messages: delayed(), units: vec![1] };
            let sent = writer.append(&batch)?.remove(0);
            writer.delete_queue(deleted)?;
            Ok(sent)
        };
        let first = store.write("both", 2, both).await.unwrap().unwrap();
        let next = queue(&store, "next", &QueueSettings::default()).await;
        let second = try_send(&store, next, delayed(), at(0)).await.unwrap().remove(0);
        assert_ne!(first.id, second.id);
    }
}
