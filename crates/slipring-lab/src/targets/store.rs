//! Our engine in this process, over the SQLite store, the PostgreSQL store or the in-memory one.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::{Bytes, BytesMut};
use slipring::lifecycle::Settlement;
use slipring::stores::MemoryStore;
use slipring::{
    Engine, EngineOptions, NewMessage, Queue, QueueId, QueueSettings, Receipt, ReceiveRequest,
    Several, SystemRandomness,
};
use slipring_postgres::{Address, PostgresOptions, PostgresStore};
use slipring_sqlite::{SqliteOptions, SqliteStore};

use super::postgres::url;
use super::{Caller, Kind, Look, Target, Wait};
use crate::body::{BODY_BYTES, Body};
use crate::waits::classes::Source;
use crate::workloads::Settings;

/// An engine with its store.
pub struct Store {
    engine: Engine,
    body_bytes: usize,
}

impl Store {
    /// Over the SQLite file at `path`, which is made if need be.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub async fn on_file(path: &Path) -> Result<Store> {
        let options = EngineOptions::default();
        let engine = Engine::open(open_sqlite(path, &options).await?, options).await?;
        Ok(Store { engine, body_bytes: BODY_BYTES })
    }
}

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
        let engine = Engine::open(store, options).await?;
        Ok(Store { engine, body_bytes: settings.body })
    }

    async fn caller(&self, queue: &str) -> Result<StoreCaller> {
        self.caller_of(&[queue.to_owned()]).await
    }

    async fn caller_of(&self, names: &[String]) -> Result<StoreCaller> {
        let mut queues = Vec::with_capacity(names.len());
        for name in names {
            queues.push(self.engine.queue_or_create(name, &QueueSettings::default()).await?);
        }
        let several = self.engine.several(&queues);
        let by_id = (0..).zip(&queues).map(|(at, queue)| (queue.id(), at)).collect();
        let (held, body_bytes) = (Vec::new(), self.body_bytes);
        Ok(StoreCaller { queues, by_id, several, turn: 0, held, body_bytes })
    }

    fn waits(&self) -> Result<Source> {
        Ok(Source::Engine(self.engine.clone()))
    }

    async fn stop(self) -> Result<Vec<Wait>> {
        let waits = self.engine.waits();
        self.engine.shutdown().await;
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

/// A caller of one queue or of several.
pub struct StoreCaller {
    queues: Vec<Queue>,
    by_id: HashMap<QueueId, usize>,
    several: Several,
    /// The queue of the next send.
    turn: usize,
    held: Vec<Receipt>,
    /// What a body is filled up to.
    body_bytes: usize,
}

impl StoreCaller {
    /// Settles all it holds, queue by queue.
    async fn settle(&mut self, how: Settlement) -> Result<()> {
        let mut by_queue: BTreeMap<usize, Vec<(Receipt, Settlement)>> = BTreeMap::new();
        for receipt in self.held.drain(..) {
            let at = *self.by_id.get(&receipt.queue).context("a message of another queue")?;
            by_queue.entry(at).or_default().push((receipt, how.clone()));
        }
        for (at, entries) in by_queue {
            for answer in self.queues[at].settle(entries).await? {
                answer?;
            }
        }
        Ok(())
    }
}

impl Caller for StoreCaller {
    async fn send(&mut self, bodies: &[Body]) -> Result<()> {
        let queue = &self.queues[self.turn];
        self.turn = (self.turn + 1) % self.queues.len();
        if let [body] = bodies {
            let sent = queue.send(NewMessage::new(filled(body, self.body_bytes))).await?;
            return if sent.duplicate { bail!("a send was taken for a duplicate") } else { Ok(()) };
        }
        if self.body_bytes > BODY_BYTES {
            let bodies = bodies.iter().map(|body| filled(body, self.body_bytes));
            queue.send_batch(bodies.map(NewMessage::new).collect()).await?;
            return Ok(());
        }
        // One allocation for the batch; each message refers to its part of it.
        let mut all = BytesMut::from(bodies.as_flattened()).freeze();
        let messages = bodies.iter().map(|_| NewMessage::new(all.split_to(BODY_BYTES))).collect();
        let sent = queue.send_batch(messages).await?;
        if sent.len() != bodies.len() {
            bail!("{} of {} messages were taken", sent.len(), bodies.len());
        }
        Ok(())
    }

    async fn receive(&mut self, up_to: usize, wait: Duration, look: Look<'_>) -> Result<usize> {
        let up_to = u32::try_from(up_to).context("a receive of more than 2^32 messages")?;
        let request = ReceiveRequest::up_to(up_to).wait(wait);
        let deliveries = self.several.receive(request).await?;
        for delivery in &deliveries {
            let body = &delivery.message.body;
            if body.len() != self.body_bytes {
                bail!("a body of {} bytes, not {}", body.len(), self.body_bytes);
            }
            look(body.get(..BODY_BYTES).unwrap_or_default())?;
            self.held.push(delivery.receipt);
        }
        Ok(deliveries.len())
    }

    async fn ack(&mut self) -> Result<()> {
        if let [receipt] = self.held.as_slice() {
            let receipt = *receipt;
            self.held.clear();
            let at = *self.by_id.get(&receipt.queue).context("a message of another queue")?;
            return Ok(self.queues[at].ack(&receipt).await?);
        }
        self.settle(Settlement::Ack).await
    }

    async fn give_back(&mut self, delay: Duration) -> Result<()> {
        self.settle(Settlement::Nack { delay: Some(delay), priority: None, reason: None }).await
    }

    async fn send_delayed(&mut self, bodies: &[Body], delay: Duration) -> Result<()> {
        let message = |body: &Body| NewMessage::new(Bytes::copy_from_slice(body)).delay(delay);
        let sent = self.queues[self.turn].send_batch(bodies.iter().map(message).collect()).await?;
        if sent.len() != bodies.len() {
            bail!("{} of {} messages were taken", sent.len(), bodies.len());
        }
        Ok(())
    }

    async fn purge(&mut self) -> Result<u64> {
        let mut gone = 0;
        for queue in &self.queues {
            gone += queue.purge(|_| {}).await?;
        }
        Ok(gone)
    }

    async fn ack_but(&mut self, failed: &[usize]) -> Result<()> {
        let back = Settlement::Nack { delay: Some(Duration::ZERO), priority: None, reason: None };
        let entries = self.held.drain(..).enumerate().map(|(at, receipt)| {
            (receipt, if failed.contains(&at) { back.clone() } else { Settlement::Ack })
        });
        let [queue] = self.queues.as_slice() else { bail!("failures are driven on one queue") };
        for answer in queue.settle(entries.collect()).await? {
            answer?;
        }
        Ok(())
    }

    async fn keep_for(&mut self, retention: Duration) -> Result<()> {
        for queue in &self.queues {
            let settings = &queue.info().settings;
            let settings = QueueSettings { retention: Some(retention), ..settings.clone() };
            queue.configure(settings).await?;
        }
        Ok(())
    }

    async fn end(mut self) -> Result<()> {
        self.give_back(Duration::ZERO).await
    }

    async fn leased(&mut self) -> Result<Option<u64>> {
        let mut leased = 0;
        for queue in &self.queues {
            leased += queue.stats().await?.leased;
        }
        Ok(Some(leased))
    }

    async fn count(&mut self) -> Result<Option<u64>> {
        let mut total = 0;
        for queue in &self.queues {
            total += queue.stats().await?.total();
        }
        Ok(Some(total))
    }
}

/// A body with zeros behind it up to a length.
fn filled(body: &Body, bytes: usize) -> Bytes {
    if bytes == BODY_BYTES {
        return Bytes::copy_from_slice(body);
    }
    let mut filled = BytesMut::with_capacity(bytes);
    filled.extend_from_slice(body);
    filled.resize(bytes, 0);
    filled.freeze()
}
