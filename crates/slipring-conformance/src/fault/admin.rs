//! Administration through the wrapper: a few verbs can fail, the others pass through.

use std::sync::Arc;

use async_trait::async_trait;
use slipring::{
    AdminStore, ChosenMove, Error, MessageId, MoveRequest, ObstacleAges, Obstacles, PeekFilter,
    Peeked, QueueId, QueueInfo, QueueName, QueueSettings, QueueStats, ReceiptKey, Reconfigured,
    StoreSpace, Timestamp,
};

use super::{FaultyStore, Verb};

#[async_trait]
impl AdminStore for FaultyStore {
    async fn receipt_key(&self) -> Result<ReceiptKey, Error> {
        self.inner.receipt_key().await
    }

    async fn create_queue(
        &self,
        name: &QueueName,
        settings: &QueueSettings,
        now: Timestamp,
    ) -> Result<(QueueInfo, bool), Error> {
        self.inner.create_queue(name, settings, now).await
    }

    async fn configure(
        &self,
        queue: QueueId,
        settings: &QueueSettings,
        now: Timestamp,
    ) -> Result<QueueInfo, Error> {
        self.inner.configure(queue, settings, now).await
    }

    async fn reconfigure(
        &self,
        queue: QueueId,
        seen: Timestamp,
        settings: &QueueSettings,
        now: Timestamp,
    ) -> Result<Reconfigured, Error> {
        self.inner.reconfigure(queue, seen, settings, now).await
    }

    async fn delete_queue(&self, queue: QueueId) -> Result<(), Error> {
        self.through(Verb::DeleteQueue, self.inner.delete_queue(queue)).await
    }

    async fn delete_if_empty(&self, queue: QueueId, seen: Timestamp) -> Result<bool, Error> {
        self.through(Verb::DeleteQueue, self.inner.delete_if_empty(queue, seen)).await
    }

    async fn queues(&self) -> Result<Vec<Arc<QueueInfo>>, Error> {
        self.inner.queues().await
    }

    async fn stats(&self, queue: QueueId, now: Timestamp) -> Result<QueueStats, Error> {
        self.through(Verb::Stats, self.inner.stats(queue, now)).await
    }

    async fn space(&self) -> Result<StoreSpace, Error> {
        self.inner.space().await
    }

    async fn obstacles(&self, ages: &ObstacleAges, now: Timestamp) -> Result<Obstacles, Error> {
        self.inner.obstacles(ages, now).await
    }

    async fn peek(
        &self,
        queue: QueueId,
        filter: PeekFilter,
        now: Timestamp,
    ) -> Result<Vec<Peeked>, Error> {
        self.inner.peek(queue, filter, now).await
    }

    async fn lookup(&self, message: MessageId, now: Timestamp) -> Result<Option<Peeked>, Error> {
        self.through(Verb::Lookup, self.inner.lookup(message, now)).await
    }

    async fn cancel(&self, message: MessageId, now: Timestamp) -> Result<QueueId, Error> {
        self.inner.cancel(message, now).await
    }

    async fn kick(&self, queue: QueueId, limit: u32, now: Timestamp) -> Result<u64, Error> {
        self.through(Verb::Kick, self.inner.kick(queue, limit, now)).await
    }

    async fn kick_message(&self, message: MessageId, now: Timestamp) -> Result<QueueId, Error> {
        self.inner.kick_message(message, now).await
    }

    async fn purge(&self, queue: QueueId, limit: u32, sent_until: Timestamp) -> Result<u64, Error> {
        self.through(Verb::Purge, self.inner.purge(queue, limit, sent_until)).await
    }

    async fn move_messages(
        &self,
        request: MoveRequest,
        now: Timestamp,
    ) -> Result<Vec<(QueueId, u64)>, Error> {
        self.through(Verb::MoveMessages, self.inner.move_messages(request, now)).await
    }

    async fn move_chosen(
        &self,
        request: &ChosenMove,
        now: Timestamp,
    ) -> Result<Vec<Result<QueueId, Error>>, Error> {
        self.through(Verb::MoveChosen, self.inner.move_chosen(request, now)).await
    }

    async fn check(&self) -> Result<(), Error> {
        self.through(Verb::Check, self.inner.check()).await
    }

    async fn close(&self) -> Result<(), Error> {
        self.inner.close().await
    }
}
