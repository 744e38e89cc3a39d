//! Administration.

use std::sync::Arc;

use async_trait::async_trait;
use slipring::{
    AdminStore, ChosenMove, Error, ErrorKind, MessageId, MoveRequest, ObstacleAges, Obstacles,
    PeekFilter, Peeked, QueueId, QueueInfo, QueueName, QueueSettings, QueueStats, ReceiptKey,
    Reconfigured, Timestamp,
};
use tokio_postgres::types::Type;

use crate::fault::garbled;
use crate::patience::within;
use crate::queries::{self, Query};
use crate::rows::{count_to_sql, number, queue, queue_to_sql, refusal, to_sql, value};
use crate::seats::Seat;
use crate::session::Param;
use crate::store::PostgresStore;
use crate::{catalog, inspect, obstacles, schema};

/// Calls about a message whose queue is not known share the seats of this number, which no queue
/// has.
const NO_QUEUE: QueueId = QueueId(0);

impl PostgresStore {
    /// The number in the only row that a statement answers.
    async fn number(&self, seat: Seat, query: &Query, params: &[Param<'_>]) -> Result<u64, Error> {
        let row = self.session.row_of(seat, query, params).await?;
        number(&row.ok_or_else(|| garbled("no row"))?, 0)
    }

    async fn can_serve(&self) -> Result<(), Error> {
        let row = self.session.row_of(Seat::Kept, &queries::CHECK, &[]).await?;
        let row = row.ok_or_else(|| garbled("no row"))?;
        let unavailable = |text| Err(Error::new(ErrorKind::StorageUnavailable, text));
        schema::check_version(value::<Option<i64>>(&row, 0)?.unwrap_or(0))?;
        if value::<Option<&str>>(&row, 4)? != Some(schema::digest()) {
            return unavailable(
                "the functions in the database are those of another build: start the server of \
                 the program that has migrated, or run `slipring migrate` by this one",
            );
        }
        if value(&row, 1)? || value(&row, 2)? {
            // The address may lead to another server by now.
            self.session.forget_idle();
        }
        if value(&row, 1)? {
            return unavailable("the server has become a standby: connect to the primary");
        }
        if value(&row, 2)? {
            return unavailable("transactions of this user or database are read-only");
        }
        if !value::<bool>(&row, 3)? {
            return unavailable(
                "the user has lost its rights: grant it the role that owns the schema",
            );
        }
        self.session.check_room().await
    }
}

#[async_trait]
impl AdminStore for PostgresStore {
    async fn receipt_key(&self) -> Result<ReceiptKey, Error> {
        Ok(self.key.clone())
    }

    async fn create_queue(
        &self,
        name: &QueueName,
        settings: &QueueSettings,
        now: Timestamp,
    ) -> Result<(QueueInfo, bool), Error> {
        catalog::create_queue(&self.session, name, settings, now).await
    }

    async fn configure(
        &self,
        queue: QueueId,
        settings: &QueueSettings,
        now: Timestamp,
    ) -> Result<QueueInfo, Error> {
        match catalog::configure(&self.session, queue, None, settings, now).await? {
            Reconfigured::Done(info) | Reconfigured::Others(info) => Ok(info),
        }
    }

    async fn reconfigure(
        &self,
        queue: QueueId,
        seen: Timestamp,
        settings: &QueueSettings,
        now: Timestamp,
    ) -> Result<Reconfigured, Error> {
        catalog::configure(&self.session, queue, Some(seen), settings, now).await
    }

    async fn delete_queue(&self, queue: QueueId) -> Result<(), Error> {
        let id = queue_to_sql(queue);
        let params: [Param<'_>; 1] = [(&id, Type::INT4)];
        self.session.rows_of(Seat::Queue(queue), &queries::DELETE_QUEUE, &params).await.map(drop)
    }

    async fn queues(&self) -> Result<Vec<Arc<QueueInfo>>, Error> {
        self.listed.queues(&self.session).await
    }

    async fn stats(&self, queue: QueueId, now: Timestamp) -> Result<QueueStats, Error> {
        inspect::stats(&self.session, queue, now).await
    }

    async fn obstacles(&self, ages: &ObstacleAges, now: Timestamp) -> Result<Obstacles, Error> {
        obstacles::find(&self.session, ages, now).await
    }

    async fn peek(
        &self,
        queue: QueueId,
        filter: PeekFilter,
        now: Timestamp,
    ) -> Result<Vec<Peeked>, Error> {
        inspect::peek(&self.session, queue, filter, now).await
    }

    async fn lookup(&self, message: MessageId, now: Timestamp) -> Result<Option<Peeked>, Error> {
        inspect::lookup(&self.session, message, now).await
    }

    async fn cancel(&self, message: MessageId, now: Timestamp) -> Result<QueueId, Error> {
        let (id, now) = (to_sql(message.0), to_sql(now.as_millis()));
        let params: [Param<'_>; 2] = [(&id, Type::INT8), (&now, Type::INT8)];
        self.number(Seat::Queue(NO_QUEUE), &queries::CANCEL, &params).await.map(QueueId)
    }

    async fn kick(&self, queue: QueueId, limit: u32, now: Timestamp) -> Result<u64, Error> {
        let (id, limit) = (queue_to_sql(queue), count_to_sql(limit));
        let now = to_sql(now.as_millis());
        let params: [Param<'_>; 3] = [(&id, Type::INT4), (&limit, Type::INT4), (&now, Type::INT8)];
        self.number(Seat::Queue(queue), &queries::KICK, &params).await
    }

    async fn kick_message(&self, message: MessageId, now: Timestamp) -> Result<QueueId, Error> {
        let (id, now) = (to_sql(message.0), to_sql(now.as_millis()));
        let params: [Param<'_>; 2] = [(&id, Type::INT8), (&now, Type::INT8)];
        self.number(Seat::Queue(NO_QUEUE), &queries::KICK_MESSAGE, &params).await.map(QueueId)
    }

    async fn purge(&self, queue: QueueId, limit: u32, sent_until: Timestamp) -> Result<u64, Error> {
        let (id, limit) = (queue_to_sql(queue), count_to_sql(limit));
        let until = to_sql(sent_until.as_millis());
        let params: [Param<'_>; 3] =
            [(&id, Type::INT4), (&limit, Type::INT4), (&until, Type::INT8)];
        self.number(Seat::Queue(queue), &queries::PURGE, &params).await
    }

    async fn move_messages(
        &self,
        request: MoveRequest,
        now: Timestamp,
    ) -> Result<Vec<(QueueId, u64)>, Error> {
        let source = queue_to_sql(request.source);
        let target = request.target.map(queue_to_sql);
        let (limit, now) = (count_to_sql(request.limit), to_sql(now.as_millis()));
        let params: [Param<'_>; 4] = [
            (&source, Type::INT4),
            (&target, Type::INT4),
            (&limit, Type::INT4),
            (&now, Type::INT8),
        ];
        let rows = self
            .session
            .rows_of(Seat::Queue(request.source), &queries::MOVE_MESSAGES, &params)
            .await?;
        rows.iter().map(|row| Ok((queue(row, 0)?, number(row, 1)?))).collect()
    }

    async fn move_chosen(
        &self,
        request: &ChosenMove,
        now: Timestamp,
    ) -> Result<Vec<Result<QueueId, Error>>, Error> {
        let source = queue_to_sql(request.source);
        let target = request.target.map(queue_to_sql);
        let messages: Vec<i64> = request.messages.iter().map(|id| to_sql(id.0)).collect();
        let now = to_sql(now.as_millis());
        let params: [Param<'_>; 4] = [
            (&source, Type::INT4),
            (&target, Type::INT4),
            (&messages, Type::INT8_ARRAY),
            (&now, Type::INT8),
        ];
        let seat = Seat::Queue(request.source);
        let rows = self.session.rows_of(seat, &queries::MOVE_CHOSEN, &params).await?;
        let answer = |row| match refusal(row, 1)? {
            Some(error) => Ok(Err(error)),
            None => queue(row, 0).map(Ok),
        };
        rows.iter().map(answer).collect()
    }

    async fn check(&self) -> Result<(), Error> {
        self.session.check_open()?;
        let answer = within(self.check_timeout, self.can_serve()).await;
        answer.unwrap_or_else(|| {
            let text = "the database does not answer in time";
            let error = Error::new(ErrorKind::StorageUnavailable, text);
            Err(self.session.located(error).during("check"))
        })
    }

    async fn close(&self) -> Result<(), Error> {
        let ended = match self.session.check_open() {
            Ok(()) => self.end_sessions().await,
            Err(_) => Ok(()),
        };
        self.session.close();
        ended
    }
}
