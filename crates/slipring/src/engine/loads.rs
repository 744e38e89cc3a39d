//! Bulk loads of a queue (S15): begun, appended to by any number of callers, published or
//! abandoned.

use std::fmt;

use crate::error::Error;
use crate::load::{self, LoadId, LoadInfo, LoadPart, PartInfo};
use crate::message::NewMessage;

use super::queue::Queue;

/// A load of a queue. Cheap to clone; many may append at the same time. Dropping it leaves the
/// load as it is.
#[derive(Clone)]
pub struct Load {
    queue: Queue,
    id: LoadId,
}

impl fmt::Debug for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Load").field("queue", &self.queue).field("id", &self.id).finish()
    }
}

impl Queue {
    /// Begins a load.
    ///
    /// # Errors
    /// `Invalid` for a FIFO queue and one with a delay, `LimitExceeded` when too many loads of the
    /// queue are open, `QueueNotFound`, storage errors.
    pub async fn begin_load(&self) -> Result<Load, Error> {
        let services = &self.engine.services;
        let begun = services.store.begin_load(self.core.id, services.clock.now()).await;
        let info = begun.map_err(|e| self.named(e, "begin_load"))?;
        Ok(Load { queue: self.clone(), id: info.id })
    }

    /// A load of this queue that was begun before, to go on with it.
    ///
    /// # Errors
    /// `LoadGone` when there is no such load of this queue, storage errors.
    pub async fn load(&self, id: LoadId) -> Result<(Load, LoadInfo), Error> {
        let loads = self.engine.services.store.loads().await;
        let loads = loads.map_err(|e| self.named(e, "loads"))?;
        let found = loads.into_iter().find(|load| load.id == id && load.queue == self.core.id);
        let info = found.ok_or_else(|| self.named(load::gone(id), "load"))?;
        Ok((Load { queue: self.clone(), id }, info))
    }

    /// The loads of this queue that are open, or were published in the last 24 hours.
    ///
    /// # Errors
    /// Storage errors.
    pub async fn loads(&self) -> Result<Vec<LoadInfo>, Error> {
        let loads = self.engine.services.store.loads().await;
        let mut loads = loads.map_err(|e| self.named(e, "loads"))?;
        loads.retain(|load| load.queue == self.core.id);
        Ok(loads)
    }
}

impl Load {
    /// The load's number.
    pub fn id(&self) -> LoadId {
        self.id
    }

    /// Appends a part, whole or not at all; see [`crate::LoadStore::append_load`].
    ///
    /// # Errors
    /// As there; the context names the index of a bad message.
    pub async fn append(
        &self,
        part: u32,
        checksum: u64,
        messages: Vec<NewMessage>,
    ) -> Result<bool, Error> {
        let services = &self.queue.engine.services;
        for (index, message) in messages.iter().enumerate() {
            let checked = services.limits.check_message(message, &self.queue.info().settings);
            checked.map_err(|e| self.queue.named(e.with("index", index), "append_load"))?;
        }
        let now = services.clock.now();
        let part = LoadPart { load: self.id, part, checksum, now, messages };
        let appended = services.store.append_load(part).await;
        appended.map_err(|e| self.queue.named(e, "append_load"))
    }

    /// Makes all messages of the load ready at one moment, of which there have to be so many.
    ///
    /// # Errors
    /// As [`crate::LoadStore::publish_load`]; nothing is ready then, unless the error's retry is
    /// `Unknown`.
    pub async fn publish(&self, messages: u64) -> Result<LoadInfo, Error> {
        let Load { queue, id } = self.clone();
        let call = async move {
            let services = &queue.engine.services;
            let now = services.clock.now();
            let published = services.store.publish_load(id, messages, now).await;
            let info = published.map_err(|e| queue.named(e, "publish_load"))?;
            // One that was published before stays as it is.
            if info.touched_at == now {
                queue.core.counts.sent(info.messages);
            }
            queue.core.receives.notify(info.messages);
            Ok(info)
        };
        self.queue.engine.to_the_end(call).await
    }

    /// Ends the load, of which nothing is left.
    ///
    /// # Errors
    /// `LoadGone`, `WrongState` when it is published, storage errors.
    pub async fn abandon(&self) -> Result<(), Error> {
        let abandoned = self.queue.engine.services.store.abandon_load(self.id).await;
        abandoned.map_err(|e| self.queue.named(e, "abandon_load"))
    }

    /// The parts that were appended, from a number on, at most `limit`, in their order.
    ///
    /// # Errors
    /// As [`crate::LoadStore::load_parts`].
    pub async fn parts(&self, from: u32, limit: u32) -> Result<Vec<PartInfo>, Error> {
        let parts = self.queue.engine.services.store.load_parts(self.id, from, limit).await;
        parts.map_err(|e| self.queue.named(e, "load_parts"))
    }
}
