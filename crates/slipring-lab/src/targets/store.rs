//! Our engine in this process, over the SQLite store, the PostgreSQL store or the in-memory one.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::{Bytes, BytesMut};
use slipring::lifecycle::Settlement;
use slipring::stores::MemoryStore;
use slipring::{
    Engine, EngineOptions, NewMessage, Queue, QueueSettings, Receipt, ReceiveRequest,
    SystemRandomness,
};
use slipring_postgres::{Address, PostgresOptions, PostgresStore};
use slipring_sqlite::{SqliteOptions, SqliteStore};

use super::postgres::url;
use super::{Caller, Kind, Look, Target, Wait};
use crate::body::{BODY_BYTES, Body};
use crate::workloads::Settings;

/// An engine with its store.
pub struct Store(Engine);

impl Target for Store {
    type Caller = StoreCaller;

    async fn start(settings: &Settings, folder: &Path) -> Result<Store> {
        let options = EngineOptions::default();
        let store: Arc<dyn slipring::Store> = match settings.target {
            Kind::Store => open_sqlite(&folder.join("slipring.db"), &options).await?,
            Kind::Postgres => open_postgres(url(settings)?, &options).await?,
            Kind::Memory => {
                MemoryStore::with_randomness(Arc::new(SystemRandomness), &options.waits)
            }
            kind => bail!("{kind:?} is not a store"),
        };
        Ok(Store(Engine::open(store, options).await?))
    }

    async fn caller(&self, queue: &str) -> Result<StoreCaller> {
        let queue = self.0.queue_or_create(queue, &QueueSettings::default()).await?;
        Ok(StoreCaller { queue, held: Vec::new() })
    }

    async fn stop(self) -> Result<Vec<Wait>> {
        let waits = self.0.waits();
        self.0.shutdown().await;
        let line = |wait: slipring::WaitSnapshot| Wait {
            name: wait.name.to_owned(),
            acquisitions: wait.acquisitions,
            contended: wait.contended,
            total_ns: wait.total_ns,
            max_ns: wait.max_ns,
            p95_ns: wait.p95_ns,
        };
        Ok(waits.into_iter().map(line).collect())
    }
}

async fn open_sqlite(path: &Path, options: &EngineOptions) -> Result<Arc<dyn slipring::Store>> {
    let sqlite = SqliteOptions { waits: options.waits.clone(), ..SqliteOptions::default() };
    let path = path.to_owned();
    let open = tokio::task::spawn_blocking(move || SqliteStore::open(path, sqlite));
    Ok(open.await.context("opening the store")??)
}

async fn open_postgres(url: &str, options: &EngineOptions) -> Result<Arc<dyn slipring::Store>> {
    let address: Address = url.parse().map_err(anyhow::Error::msg)?;
    let options = PostgresOptions { waits: options.waits.clone(), ..PostgresOptions::default() };
    Ok(PostgresStore::open(&address, options).await?)
}

/// A caller of one queue.
pub struct StoreCaller {
    queue: Queue,
    held: Vec<Receipt>,
}

impl Caller for StoreCaller {
    async fn send(&mut self, bodies: &[Body]) -> Result<()> {
        if let [body] = bodies {
            let sent = self.queue.send(NewMessage::new(Bytes::copy_from_slice(body))).await?;
            return if sent.duplicate { bail!("a send was taken for a duplicate") } else { Ok(()) };
        }
        // One allocation for the batch; each message refers to its part of it.
        let mut all = BytesMut::from(bodies.as_flattened()).freeze();
        let messages = bodies.iter().map(|_| NewMessage::new(all.split_to(BODY_BYTES))).collect();
        let sent = self.queue.send_batch(messages).await?;
        if sent.len() != bodies.len() {
            bail!("{} of {} messages were taken", sent.len(), bodies.len());
        }
        Ok(())
    }

    async fn receive(&mut self, up_to: usize, wait: Duration, look: Look<'_>) -> Result<usize> {
        let up_to = u32::try_from(up_to).context("a receive of more than 2^32 messages")?;
        let request = ReceiveRequest::up_to(up_to).wait(wait);
        let deliveries = self.queue.receive(request).await?;
        for delivery in &deliveries {
            look(&delivery.message.body)?;
            self.held.push(delivery.receipt);
        }
        Ok(deliveries.len())
    }

    async fn ack(&mut self) -> Result<()> {
        if let [receipt] = self.held.as_slice() {
            let receipt = *receipt;
            self.held.clear();
            return Ok(self.queue.ack(&receipt).await?);
        }
        let entries = self.held.drain(..).map(|receipt| (receipt, Settlement::Ack)).collect();
        for answer in self.queue.settle(entries).await? {
            answer?;
        }
        Ok(())
    }

    async fn give_back(&mut self, delay: Duration) -> Result<()> {
        let how = Settlement::Nack { delay: Some(delay), priority: None };
        let entries = self.held.drain(..).map(|receipt| (receipt, how)).collect();
        for answer in self.queue.settle(entries).await? {
            answer?;
        }
        Ok(())
    }

    async fn ack_but(&mut self, failed: &[usize]) -> Result<()> {
        let back = Settlement::Nack { delay: Some(Duration::ZERO), priority: None };
        let entries = self.held.drain(..).enumerate().map(|(at, receipt)| {
            (receipt, if failed.contains(&at) { back } else { Settlement::Ack })
        });
        for answer in self.queue.settle(entries.collect()).await? {
            answer?;
        }
        Ok(())
    }

    async fn count(&mut self) -> Result<Option<u64>> {
        Ok(Some(self.queue.stats().await?.total()))
    }
}
