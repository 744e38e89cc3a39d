//! The loads of a [`FaultyStore`] pass through.

use async_trait::async_trait;
use slipring::{Error, LoadId, LoadInfo, LoadPart, LoadStore, PartInfo, QueueId, Timestamp};

use super::FaultyStore;

#[async_trait]
impl LoadStore for FaultyStore {
    async fn begin_load(&self, queue: QueueId, now: Timestamp) -> Result<LoadInfo, Error> {
        self.inner.begin_load(queue, now).await
    }

    async fn append_load(&self, part: LoadPart) -> Result<bool, Error> {
        self.inner.append_load(part).await
    }

    async fn publish_load(
        &self,
        load: LoadId,
        messages: u64,
        now: Timestamp,
    ) -> Result<LoadInfo, Error> {
        self.inner.publish_load(load, messages, now).await
    }

    async fn abandon_load(&self, load: LoadId) -> Result<(), Error> {
        self.inner.abandon_load(load).await
    }

    async fn loads(&self) -> Result<Vec<LoadInfo>, Error> {
        self.inner.loads().await
    }

    async fn load_parts(
        &self,
        load: LoadId,
        from: u32,
        limit: u32,
    ) -> Result<Vec<PartInfo>, Error> {
        self.inner.load_parts(load, from, limit).await
    }
}
