//! What is driven: raw loops that show what the machine can do, our store, our server, and peers.

mod elasticmq;
mod kind;
mod logged;
mod moto;
pub mod nats;
pub mod postgres;
pub mod rabbitmq;
mod raw_file;
mod raw_sqlite;
pub mod redis;
pub mod server;
mod sqs;
mod store;
#[cfg(test)]
mod tests;
mod tube;

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::body::Body;
use crate::process::Usage;
use crate::waits::classes::Source;
use crate::workloads::Settings;

pub use kind::Kind;
pub use nats::Nats;
pub use rabbitmq::RabbitMq;
pub use raw_file::RawFile;
pub use raw_sqlite::RawSqlite;
pub use redis::Redis;
pub use sqs::SqsServer;
pub use store::Store;
pub use tube::TubeServer;

/// A running target.
pub trait Target: Sized + Send + Sync + 'static {
    /// What one caller holds.
    type Caller: Caller;

    /// Starts the target that `settings` name, with its data in `folder` or in their database.
    ///
    /// # Errors
    /// When it does not start.
    fn start(settings: &Settings, folder: &Path) -> impl Future<Output = Result<Self>> + Send;

    /// A caller of one queue, which is made if need be.
    ///
    /// # Errors
    /// When the target refuses.
    fn caller(&self, queue: &str) -> impl Future<Output = Result<Self::Caller>> + Send;

    /// A caller that sends to several queues in turn and receives from all of them.
    ///
    /// # Errors
    /// When the target refuses, or is not driven this way.
    fn caller_of(&self, _queues: &[String]) -> impl Future<Output = Result<Self::Caller>> + Send {
        async { anyhow::bail!("this target is not driven over several queues") }
    }

    /// How many of so many callers may receive from one queue at a time.
    fn receivers(&self, callers: usize) -> usize {
        callers
    }

    /// Memory and processor time of the target's process, where it is one of its own.
    ///
    /// # Errors
    /// When the process is gone.
    fn usage(&self) -> Result<Option<Usage>> {
        Ok(None)
    }

    /// Where the wait classes of the running target are read.
    ///
    /// # Errors
    /// None in practice; an address is checked.
    fn waits(&self) -> Result<Source> {
        Ok(Source::Nothing)
    }

    /// Stops the target; answers its wait table, where it has one.
    ///
    /// # Errors
    /// When it does not stop cleanly.
    fn stop(self) -> impl Future<Output = Result<Vec<Wait>>> + Send {
        async { Ok(Vec::new()) }
    }
}

/// What a caller does with each body it was handed.
pub type Look<'a> = &'a mut (dyn FnMut(&[u8]) -> Result<()> + Send);

/// One caller with its connection. It checks the answers it gets, and remembers what it holds.
pub trait Caller: Send + 'static {
    /// Sends `bodies` in one trip where the target has such a thing, else pipelined.
    ///
    /// # Errors
    /// When a message was not taken.
    fn send(&mut self, bodies: &[Body]) -> impl Future<Output = Result<()>> + Send;

    /// Receives up to `up_to` messages, shows each to `look`, and holds them. Answers how many;
    /// zero when `wait` (whole seconds; SQS allows 20) is over.
    ///
    /// # Errors
    /// When the target fails or `look` does.
    fn receive(
        &mut self,
        up_to: usize,
        wait: Duration,
        look: Look<'_>,
    ) -> impl Future<Output = Result<usize>> + Send;

    /// Acks all it holds.
    ///
    /// # Errors
    /// When an ack is refused.
    fn ack(&mut self) -> impl Future<Output = Result<()>> + Send;

    /// Gives back all it holds as failed; it comes again after `delay`, at once where the target
    /// knows no delays.
    ///
    /// # Errors
    /// When the target refuses, or is not driven this way.
    fn give_back(&mut self, _delay: Duration) -> impl Future<Output = Result<()>> + Send {
        async { anyhow::bail!("this target is not driven with failures") }
    }

    /// Sends `bodies` as [`Caller::send`] does; they are ready after `delay`.
    ///
    /// # Errors
    /// When a message was not taken, or the target is not driven this way.
    fn send_delayed(
        &mut self,
        _bodies: &[Body],
        _delay: Duration,
    ) -> impl Future<Output = Result<()>> + Send {
        async { anyhow::bail!("this target is not driven with delays") }
    }

    /// Removes all messages of the queue; answers how many.
    ///
    /// # Errors
    /// When the target refuses, or is not driven this way.
    fn purge(&mut self) -> impl Future<Output = Result<u64>> + Send {
        async { anyhow::bail!("this target is not driven with purges") }
    }

    /// Removes what was sent to the queue longer ago than this, from now on.
    ///
    /// # Errors
    /// When the target refuses, or is not driven this way.
    fn keep_for(&mut self, _retention: Duration) -> impl Future<Output = Result<()>> + Send {
        async { anyhow::bail!("this target is not driven with a retention") }
    }

    /// Whether its connection is known to be cut: no ack that is asked for from now on by it can
    /// have an effect.
    fn is_cut(&mut self) -> impl Future<Output = bool> + Send {
        async { false }
    }

    /// Goes away with all it holds, as a client does whose connection ends. It does not wait until
    /// that is back in the queue.
    ///
    /// # Errors
    /// When the target fails.
    fn end(self) -> impl Future<Output = Result<()>> + Send
    where
        Self: Sized,
    {
        async { Ok(()) }
    }

    /// Acks all it holds, but those at the places `failed` of what it received, which it gives back
    /// as failed, to come again at once.
    ///
    /// # Errors
    /// When the target refuses, or is not driven this way.
    fn ack_but(&mut self, _failed: &[usize]) -> impl Future<Output = Result<()>> + Send {
        async { anyhow::bail!("this target is not driven with failures") }
    }

    /// How many messages of the queue are under a lease, where the target can tell.
    ///
    /// # Errors
    /// When the target fails.
    fn leased(&mut self) -> impl Future<Output = Result<Option<u64>>> + Send {
        async { Ok(None) }
    }

    /// How many messages the queue holds in any state, where the target can tell.
    ///
    /// # Errors
    /// When the target fails.
    fn count(&mut self) -> impl Future<Output = Result<Option<u64>>> + Send {
        async { Ok(None) }
    }
}

/// One line of a wait table.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Wait {
    /// The wait class.
    pub name: String,
    /// How often the thing was taken.
    pub acquisitions: u64,
    /// How often it had to be waited for.
    pub contended: u64,
    /// Time waited in all, in nanoseconds.
    pub total_ns: u64,
    /// The longest wait, in nanoseconds.
    pub max_ns: u64,
    /// 95 of 100 contended waits were at most so long, in nanoseconds.
    pub p95_ns: u64,
}
