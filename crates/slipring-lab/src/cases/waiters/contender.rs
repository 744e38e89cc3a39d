//! What the case compares: the published design, and our engine over two stores. All run in this
//! process, so that the load costs each the same.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use slipring::stores::MemoryStore;
use slipring::{
    Delivery, Engine, EngineOptions, NewMessage, Queue, QueueId, QueueSettings, ReceiveRequest,
    SystemRandomness, WaitSnapshot,
};
use slipring_sqlite::{SqliteOptions, SqliteStore};

use super::one_latch::{Held as HeldByOneLatch, LatchUse, OneLatch};

/// Which contender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// The published design: one map of waiters under one latch, over our in-memory store.
    OneLatch,
    /// Our engine over the in-memory store.
    Memory,
    /// Our engine over the SQLite store, `synchronous=FULL`.
    Sqlite,
}

impl Kind {
    /// All, in the order of the tables.
    pub const ALL: [Kind; 3] = [Kind::OneLatch, Kind::Memory, Kind::Sqlite];

    /// What tables and plots call it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::OneLatch => "one latch",
            Kind::Memory => "ours, memory",
            Kind::Sqlite => "ours, SQLite",
        }
    }
}

/// One of the two queues of the case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The busy queue.
    A,
    /// The quiet one.
    B,
}

/// A message in the hands of its receiver.
pub enum Held {
    /// From the published design.
    OneLatch(HeldByOneLatch),
    /// From ours.
    Ours(Box<Delivery>),
}

impl Held {
    /// The body of the message.
    pub fn body(&self) -> &[u8] {
        match self {
            Held::OneLatch(held) => &held.delivery.message.body,
            Held::Ours(delivery) => &delivery.message.body,
        }
    }
}

/// A running contender with the queues A and B.
pub enum Contender {
    /// The published design.
    OneLatch {
        /// The engine.
        engine: OneLatch,
        /// Its queues A and B.
        queues: [QueueId; 2],
    },
    /// Ours.
    Ours {
        /// The engine.
        engine: Engine,
        /// Its queues A and B.
        queues: [Queue; 2],
    },
}

impl Contender {
    /// Starts one; a file goes into `folder`.
    ///
    /// # Errors
    /// When the store does not open.
    pub async fn open(kind: Kind, folder: &Path) -> Result<Contender> {
        let options = EngineOptions::default();
        let store: Arc<dyn slipring::Store> = match kind {
            Kind::OneLatch => {
                let engine = OneLatch::new();
                let queues = [engine.create_queue("a").await?, engine.create_queue("b").await?];
                return Ok(Contender::OneLatch { engine, queues });
            }
            Kind::Memory => {
                MemoryStore::with_randomness(Arc::new(SystemRandomness), &options.waits)
            }
            Kind::Sqlite => {
                let sqlite = SqliteOptions { waits: options.waits.clone(), ..<_>::default() };
                let path = folder.join("slipring.db");
                let open = tokio::task::spawn_blocking(move || SqliteStore::open(path, sqlite));
                open.await.context("opening the store")??
            }
        };
        let shards = options.timer_shards as u64;
        let engine = Engine::open(store, options).await?;
        let queues = neighbours(&engine, shards).await?;
        Ok(Contender::Ours { engine, queues })
    }

    /// Receives one message, and waits for it at most for `wait`.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn receive(&self, place: Place, wait: Duration) -> Result<Option<Held>> {
        match self {
            Contender::OneLatch { engine, queues } => {
                Ok(engine.receive(queues[place as usize], wait).await?.map(Held::OneLatch))
            }
            Contender::Ours { queues, .. } => {
                let request = ReceiveRequest::up_to(1).wait(wait);
                let list = queues[place as usize].receive(request).await?;
                Ok(list.into_iter().next().map(|delivery| Held::Ours(Box::new(delivery))))
            }
        }
    }

    /// Sends one message. It is as durable as the contender can make it when this returns.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn send(&self, place: Place, body: &[u8]) -> Result<()> {
        let body = Bytes::copy_from_slice(body);
        match self {
            Contender::OneLatch { engine, queues } => {
                engine.send(queues[place as usize], body).await
            }
            Contender::Ours { queues, .. } => {
                queues[place as usize].send(NewMessage::new(body)).await?;
                Ok(())
            }
        }
    }

    /// Removes a message that was received from `place`.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn ack(&self, place: Place, held: Held) -> Result<()> {
        match (self, held) {
            (Contender::OneLatch { engine, .. }, Held::OneLatch(held)) => engine.ack(held).await,
            (Contender::Ours { queues, .. }, Held::Ours(delivery)) => {
                Ok(queues[place as usize].ack(&delivery.receipt).await?)
            }
            _ => anyhow::bail!("a message of another contender"),
        }
    }

    /// How many receives wait on a queue.
    pub async fn waiting(&self, place: Place) -> usize {
        match self {
            Contender::OneLatch { engine, queues } => engine.waiting(queues[place as usize]).await,
            Contender::Ours { queues, .. } => queues[place as usize].waiting(),
        }
    }

    /// The wait table at this moment.
    pub fn waits(&self) -> Vec<WaitSnapshot> {
        match self {
            Contender::OneLatch { engine, .. } => engine.waits(),
            Contender::Ours { engine, .. } => engine.waits(),
        }
    }

    /// How the latch of the published design was used so far; ours has none.
    pub async fn latch_use(&self) -> Option<LatchUse> {
        match self {
            Contender::OneLatch { engine, .. } => Some(engine.latch_use().await),
            Contender::Ours { .. } => None,
        }
    }

    /// Stops it.
    pub async fn close(&self) {
        if let Contender::Ours { engine, .. } = self {
            engine.shutdown().await;
        }
    }
}

/// The queues A and B as the worst pair there is: both have their timers in the same shard.
async fn neighbours(engine: &Engine, shards: u64) -> Result<[Queue; 2]> {
    let settings = QueueSettings::default();
    let busy = engine.queue_or_create("a", &settings).await?;
    for number in 0..2 * shards {
        let quiet = engine.queue_or_create(&format!("b-{number}"), &settings).await?;
        if quiet.id().0 % shards == busy.id().0 % shards {
            return Ok([busy, quiet]);
        }
    }
    anyhow::bail!("no two of {} queues share a shard of timers", 2 * shards + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_contender_sends_receives_and_acks_and_counts_its_waits() {
        for kind in Kind::ALL {
            let folder = tempfile::tempdir().unwrap();
            let contender = Contender::open(kind, folder.path()).await.unwrap();
            contender.send(Place::B, b"x").await.unwrap();
            assert!(contender.receive(Place::A, Duration::ZERO).await.unwrap().is_none());
            let held = contender.receive(Place::B, Duration::from_secs(9)).await.unwrap();
            let held = held.expect("the message that was sent");
            assert_eq!(held.body(), b"x");
            contender.ack(Place::B, held).await.unwrap();
            assert!(contender.receive(Place::B, Duration::ZERO).await.unwrap().is_none());
            assert!(contender.waits().iter().any(|wait| wait.acquisitions > 0));
            assert_eq!(contender.waiting(Place::B).await, 0);
            contender.close().await;
        }
    }
}
