//! The contract of loads, each verb of which is left with a thread and waited for.

use async_trait::async_trait;
use slipring::{
    Error, LoadId, LoadInfo, LoadPart, LoadStore, NewMessage, PartInfo, QueueId, Timestamp,
};

use crate::ring::{Load, Owner};
use crate::store::SqliteStore;
use crate::writer::Writer;

#[async_trait]
impl LoadStore for SqliteStore {
    async fn begin_load(&self, queue: QueueId, now: Timestamp) -> Result<LoadInfo, Error> {
        let work = move |writer: &mut Writer<'_>| writer.begin_load(queue, now);
        self.write("begin_load", (queue, 1), work).await
    }

    async fn append_load(&self, part: LoadPart) -> Result<bool, Error> {
        let bytes = part.messages.iter().map(NewMessage::size_bytes).sum();
        // A load takes turns with its queue and all others.
        let owner = Owner::Queue(QueueId(part.load.0));
        let load = Load::of(owner, part.messages.len()).writing(bytes);
        self.write("append_load", load, move |writer| writer.append_load(&part)).await
    }

    async fn publish_load(
        &self,
        load: LoadId,
        messages: u64,
        now: Timestamp,
    ) -> Result<LoadInfo, Error> {
        let work = move |writer: &mut Writer<'_>| writer.publish_load(load, messages, now);
        self.write("publish_load", (QueueId(load.0), 1), work).await
    }

    async fn abandon_load(&self, load: LoadId) -> Result<(), Error> {
        let work = move |writer: &mut Writer<'_>| writer.abandon_load(load);
        self.write("abandon_load", (QueueId(load.0), 1), work).await
    }

    async fn loads(&self) -> Result<Vec<LoadInfo>, Error> {
        self.read("loads", |reader| reader.loads()).await
    }

    async fn load_parts(
        &self,
        load: LoadId,
        from: u32,
        limit: u32,
    ) -> Result<Vec<PartInfo>, Error> {
        self.read("load_parts", move |reader| reader.parts(load, from, limit)).await
    }
}
