//! Administration: what changes something goes to the writer, what looks goes to a reader.

use std::sync::Arc;

use async_trait::async_trait;
use slipring::clock::millis_ceil;
use slipring::{
    AdminStore, ChosenMove, Error, MessageId, MoveRequest, Obstacle, ObstacleAges, ObstacleKind,
    Obstacles, PeekFilter, Peeked, QueueId, QueueInfo, QueueName, QueueSettings, QueueStats,
    ReceiptKey, Reconfigured, StoreSpace, Timestamp,
};

use crate::bulk::STEP_MESSAGES_MAX;
use crate::holders;
use crate::space;
use crate::store::SqliteStore;
use crate::writer::Writer;

/// The statistics of so many queues are one look; others come between two of them.
const STATS_MAX: usize = 100;
/// So many readers are named.
const READERS_MAX: usize = 100;

impl SqliteStore {
    /// Who reads a state of the file at this moment, with the size of the log, and for how long
    /// the log has been held back if this process has met that.
    fn log_held_back(&self) -> Vec<Obstacle> {
        let held = self.driver().checkpoints.held_for();
        let bytes = Some(space::log_bytes(self.path()));
        let obstacle = |pid: Option<u32>, name: Option<String>| Obstacle {
            pid,
            name,
            for_ms: held.map(millis_ceil),
            bytes,
            ..Obstacle::new(ObstacleKind::LogHeldBack)
        };
        let readers = holders::reading(self.driver().log.place.index());
        // A process of another container has no number here.
        let unknown = held.filter(|_| readers.is_empty()).map(|_| obstacle(None, None));
        let known = readers.into_iter().map(|(pid, name)| obstacle(Some(pid), name));
        known.chain(unknown).take(READERS_MAX).collect()
    }
}

#[async_trait]
impl AdminStore for SqliteStore {
    async fn receipt_key(&self) -> Result<ReceiptKey, Error> {
        Ok(self.key().clone())
    }

    async fn create_queue(
        &self,
        name: &QueueName,
        settings: &QueueSettings,
        now: Timestamp,
    ) -> Result<(QueueInfo, bool), Error> {
        let (name, settings) = (name.clone(), settings.clone());
        let work = move |writer: &mut Writer<'_>| writer.create_queue(&name, &settings, now);
        self.write("create_queue", 1, work).await
    }

    async fn configure(
        &self,
        queue: QueueId,
        settings: &QueueSettings,
        now: Timestamp,
    ) -> Result<QueueInfo, Error> {
        let settings = settings.clone();
        self.write("configure", (queue, 1), move |writer| writer.configure(queue, &settings, now))
            .await
    }

    async fn reconfigure(
        &self,
        queue: QueueId,
        seen: Timestamp,
        settings: &QueueSettings,
        now: Timestamp,
    ) -> Result<Reconfigured, Error> {
        let settings = settings.clone();
        let work = move |writer: &mut Writer<'_>| writer.reconfigure(queue, seen, &settings, now);
        self.write("reconfigure", (queue, 1), work).await
    }

    async fn delete_queue(&self, queue: QueueId) -> Result<(), Error> {
        self.write("delete_queue", (queue, 1), move |writer| writer.delete_queue(queue)).await
    }

    async fn delete_if_empty(&self, queue: QueueId, seen: Timestamp) -> Result<bool, Error> {
        let delete = move |writer: &mut Writer<'_>| writer.delete_if_empty(queue, seen);
        self.write("delete_if_empty", (queue, 1), delete).await
    }

    async fn queues(&self) -> Result<Vec<Arc<QueueInfo>>, Error> {
        self.read("queues", |reader| reader.queues()).await
    }

    async fn stats(&self, queue: QueueId, _now: Timestamp) -> Result<QueueStats, Error> {
        self.read("stats", move |reader| reader.stats(queue)).await
    }

    async fn stats_of(
        &self,
        queues: &[QueueId],
        _now: Timestamp,
    ) -> Result<Vec<Result<QueueStats, Error>>, Error> {
        let mut all = Vec::with_capacity(queues.len());
        for part in queues.chunks(STATS_MAX) {
            let part = part.to_vec();
            all.extend(self.read("stats", move |reader| reader.stats_of(&part)).await?);
        }
        Ok(all)
    }

    async fn space(&self) -> Result<StoreSpace, Error> {
        let path = self.path().to_owned();
        self.read("space", move |reader| space::of(reader, &path)).await
    }

    async fn obstacles(&self, _ages: &ObstacleAges, _now: Timestamp) -> Result<Obstacles, Error> {
        Ok(Obstacles { found: self.log_held_back(), ..Obstacles::default() })
    }

    async fn peek(
        &self,
        queue: QueueId,
        filter: PeekFilter,
        _now: Timestamp,
    ) -> Result<Vec<Peeked>, Error> {
        self.read("peek", move |reader| reader.peek(queue, filter)).await
    }

    async fn lookup(&self, message: MessageId, _now: Timestamp) -> Result<Option<Peeked>, Error> {
        self.read("lookup", move |reader| reader.lookup(message)).await
    }

    async fn cancel(&self, message: MessageId, _now: Timestamp) -> Result<QueueId, Error> {
        self.write("cancel", 1, move |writer| writer.cancel(message)).await
    }

    async fn kick(&self, queue: QueueId, limit: u32, now: Timestamp) -> Result<u64, Error> {
        let (mut total, mut kind) = (0, None);
        loop {
            let left = limit.saturating_sub(u32::try_from(total).unwrap_or(u32::MAX));
            let step = left.min(STEP_MESSAGES_MAX);
            let work = move |writer: &mut Writer<'_>| writer.kick(queue, step, kind, now);
            let done = self.write("kick", (queue, step as usize), work).await?;
            total += done.kicked;
            kind = Some(done.kind);
            let whole = done.kicked == u64::from(step) && left > step;
            if !whole && !done.more {
                return Ok(total);
            }
        }
    }

    async fn kick_message(&self, message: MessageId, now: Timestamp) -> Result<QueueId, Error> {
        self.write("kick_message", 1, move |writer| writer.kick_message(message, now)).await
    }

    async fn purge(&self, queue: QueueId, limit: u32, sent_until: Timestamp) -> Result<u64, Error> {
        let limit = limit.min(STEP_MESSAGES_MAX);
        self.fetch(queue).await;
        let work = move |writer: &mut Writer<'_>| writer.purge(queue, limit, sent_until);
        self.write("purge", (queue, limit as usize), work).await
    }

    async fn move_messages(
        &self,
        request: MoveRequest,
        _now: Timestamp,
    ) -> Result<Vec<(QueueId, u64)>, Error> {
        let weight = request.limit.min(STEP_MESSAGES_MAX) as usize;
        let load = (request.source, weight);
        let mut first = true;
        loop {
            let work = move |writer: &mut Writer<'_>| {
                if first {
                    writer.begin_sending_back(request.source);
                }
                writer.move_messages(&request)
            };
            let moved = self.write("move_messages", load, work).await?;
            if !moved.more {
                return Ok(moved.to);
            }
            first = false;
        }
    }

    async fn move_chosen(
        &self,
        request: &ChosenMove,
        _now: Timestamp,
    ) -> Result<Vec<Result<QueueId, Error>>, Error> {
        let count = request.messages.len();
        let request = Arc::new(request.clone());
        let mut answers = Vec::with_capacity(count);
        loop {
            let (from, request) = (answers.len(), Arc::clone(&request));
            let load = (request.source, count - from);
            let work = move |writer: &mut Writer<'_>| writer.move_chosen(&request, from);
            match self.write("move_chosen", load, work).await {
                Ok(step) => answers.extend(step),
                Err(error) if answers.is_empty() => return Err(error),
                Err(error) => answers.resize_with(count, || Err(error.clone())),
            }
            if answers.len() >= count {
                return Ok(answers);
            }
        }
    }

    async fn check(&self) -> Result<(), Error> {
        self.driver().log.check()?;
        self.probe().await
    }

    async fn close(&self) -> Result<(), Error> {
        self.shut_down().await;
        self.driver().log.check()
    }
}
