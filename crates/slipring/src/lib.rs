//! Slipring: a durable message and job queue on a database.
//!
//! This crate says what a message, a lease and a queue *are*. It holds the types, the pure state
//! machine ([`lifecycle`]), the contract a store fulfils ([`Store`], [`AdminStore`]), the
//! [`Engine`] that combines callers and wakes waiters, the [`Worker`] loop for in-process users,
//! and the in-memory reference store. It knows no database, no HTTP and no wire protocol. The
//! promises are written out in `docs/semantics.md`.
//!
//! ```
//! use slipring::{Engine, EngineOptions, NewMessage, QueueSettings, ReceiveRequest};
//! use slipring::stores::MemoryStore;
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), slipring::Error> {
//! let engine = Engine::open(MemoryStore::shared(), EngineOptions::default()).await?;
//! let queue = engine.create_queue("emails", QueueSettings::default()).await?;
//! queue.send(NewMessage::new("hello")).await?;
//! let deliveries = queue.receive(ReceiveRequest::up_to(1)).await?;
//! queue.ack(&deliveries[0].receipt).await?;
//! engine.shutdown().await;
//! # Ok(()) }
//! ```

pub mod admin;
mod capabilities;
pub mod clock;
pub mod deal;
pub mod engine;
pub mod error;
pub mod failures;
pub mod lease;
pub mod lifecycle;
pub mod limits;
pub mod load;
pub mod message;
pub mod obstacles;
pub mod queue;
pub mod random;
pub mod store;
pub mod stores;
#[doc(hidden)]
pub mod timers;
pub mod waits;
pub mod worker;

pub use admin::{
    AdminStore, ChosenMove, MessageState, MoveRequest, PeekFilter, Peeked, Reconfigured, StoreSpace,
};
pub use clock::{Clock, ManualClock, SystemClock, Timestamp};
pub use engine::{Engine, EngineOptions, Load, Queue, QueueCounts, ReceiveRequest, Several};
pub use error::{Error, ErrorKind, Retry};
pub use failures::{EndedBy, FailedAttempt, Reason};
pub use lease::{Fence, Receipt, ReceiptKey};
pub use limits::Limits;
pub use load::{LoadId, LoadInfo, LoadPart, LoadState, LoadStore, PartInfo};
pub use message::{Delivery, Headers, Message, MessageId, NewMessage, Priority};
pub use obstacles::{Obstacle, ObstacleAges, ObstacleKind, Obstacles};
pub use queue::{
    Backoff, DedupScope, Durability, QueueId, QueueInfo, QueueName, QueueSettings, QueueStats,
};
pub use random::{Randomness, SeededRandomness, SystemRandomness};
pub use store::{Capabilities, Store};
pub use waits::{WaitClass, WaitSnapshot, Waits};
pub use worker::{Worker, WorkerOptions};
