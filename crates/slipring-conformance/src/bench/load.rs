//! A load of the store under test, with short verbs.

use slipring::{Error, LoadId, LoadInfo, LoadPart, LoadState, NewMessage, PartInfo, QueueId};

use super::{Bench, QueueBench, Sendable, m};

/// A load of the store under test. Calls that a case does not expect to fail panic.
pub(crate) struct Load {
    bench: Bench,
    id: LoadId,
}

impl Load {
    pub(crate) async fn begin(queue: &QueueBench, bench: &Bench) -> Load {
        let info = try_begin(bench, queue.id).await.expect("a load can be begun");
        assert_eq!((info.queue, info.state), (queue.id, LoadState::Open));
        Load { bench: bench.clone(), id: info.id }
    }

    /// The same load through another handle.
    pub(crate) fn on(&self, bench: &Bench) -> Load {
        Load { bench: bench.clone(), id: self.id }
    }

    pub(crate) async fn try_append(
        &self,
        part: u32,
        messages: Vec<NewMessage>,
    ) -> Result<bool, Error> {
        // What it is made of is the caller's business.
        let checksum = messages.iter().map(NewMessage::size_bytes).sum();
        let now = self.bench.now();
        let part = LoadPart { load: self.id, part, checksum, now, messages };
        self.bench.store().append_load(part).await
    }

    pub(crate) async fn append<M: Sendable>(
        &self,
        part: u32,
        messages: impl IntoIterator<Item = M>,
    ) {
        let messages = messages.into_iter().map(Sendable::message).collect();
        assert!(self.try_append(part, messages).await.expect("the part is taken"));
    }

    pub(crate) async fn try_publish(&self, messages: u64) -> Result<LoadInfo, Error> {
        self.bench.store().publish_load(self.id, messages, self.bench.now()).await
    }

    pub(crate) async fn publish(&self, messages: u64) {
        let info = self.try_publish(messages).await.expect("the load can be published");
        assert_eq!((info.state, info.messages), (LoadState::Published, messages));
    }

    pub(crate) async fn abandon(&self) -> Result<(), Error> {
        self.bench.store().abandon_load(self.id).await
    }

    pub(crate) async fn parts(&self, from: u32, limit: u32) -> Vec<PartInfo> {
        let parts = self.bench.store().load_parts(self.id, from, limit).await;
        parts.expect("the parts can be looked at")
    }

    pub(crate) async fn info(&self) -> Option<LoadInfo> {
        let loads = self.bench.store().loads().await.expect("loads can be looked at");
        loads.into_iter().find(|load| load.id == self.id)
    }
}

/// Begins a load for a queue.
pub(crate) async fn try_begin(bench: &Bench, queue: QueueId) -> Result<LoadInfo, Error> {
    bench.store().begin_load(queue, bench.now()).await
}

/// So many messages with numbers from one on, five bytes each.
pub(crate) fn numbered(from: u32, count: u32) -> Vec<NewMessage> {
    (from..from + count).map(|n| m(&format!("{n:05}"))).collect()
}

/// Their texts.
pub(crate) fn texts(from: u32, count: u32) -> Vec<String> {
    (from..from + count).map(|n| format!("{n:05}")).collect()
}
