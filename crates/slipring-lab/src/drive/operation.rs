//! What a thread does over and over, and what it can come to.

use std::future::Future;
use std::sync::Arc;

use anyhow::Result;
use tokio::runtime::Handle;

use crate::body::Body;
use crate::ledger::Ledger;
use crate::workloads::closed_loop::fill;

/// One turn of an operation.
#[derive(Debug, Clone, Copy)]
pub struct Turn {
    /// Unique within a step, from 0.
    pub number: u64,
}

/// What an operation came to instead of an answer.
#[derive(Debug)]
pub enum Failure {
    /// It was refused; the next one may be answered.
    Refused(String),
    /// The target has gone or does not do what it must: the run ends.
    Gone(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::Gone(error.into())
    }
}

/// Ends a blocking operation from another thread.
pub type Interrupt = Box<dyn Fn() + Send + Sync>;

/// One thread's operation, with its connection.
pub trait Operation {
    /// Gets ready for the next turn; it is not measured, but the thread is not free meanwhile.
    ///
    /// # Errors
    /// When the target has gone.
    fn prepare(&mut self) -> impl Future<Output = Result<()>> {
        async { Ok(()) }
    }

    /// Does it once; answers the number of messages or rows.
    ///
    /// # Errors
    /// See [`Failure`].
    fn once(&mut self, turn: Turn) -> impl Future<Output = Result<u64, Failure>>;

    /// Leaves the target as it was found where that can be: acks what is held.
    ///
    /// # Errors
    /// When the target has gone.
    fn finish(&mut self) -> impl Future<Output = Result<()>> {
        async { Ok(()) }
    }

    /// What ends a call that blocks its thread; nothing for an operation that awaits.
    fn interrupt(&self) -> Option<Interrupt> {
        None
    }
}

/// Makes an operation for each thread.
pub trait Maker: Sync {
    /// What it makes.
    type Operation: Operation;

    /// The runtime that threads work in; without one, each thread has its own.
    fn runtime(&self) -> Option<&Handle> {
        None
    }

    /// Makes the operation of a thread, on that thread.
    ///
    /// # Errors
    /// When the target refuses.
    fn make(&self, thread: usize) -> impl Future<Output = Result<Self::Operation>>;
}

/// The empty operation: it makes ready the messages that another would send, and sends none. What
/// it costs is what the driver costs.
#[derive(Debug, Clone)]
pub struct Empty {
    /// Messages of each turn; 0 for operations that send none.
    pub batch: usize,
    /// Gives out their numbers.
    pub ledger: Arc<Ledger>,
}

impl Maker for Empty {
    type Operation = EmptyOperation;

    async fn make(&self, _: usize) -> Result<EmptyOperation> {
        Ok(EmptyOperation { settings: self.clone(), bodies: Vec::new() })
    }
}

/// See [`Empty`].
#[derive(Debug)]
pub struct EmptyOperation {
    settings: Empty,
    bodies: Vec<Body>,
}

impl Operation for EmptyOperation {
    async fn prepare(&mut self) -> Result<()> {
        match self.settings.batch {
            0 => Ok(()),
            batch => fill(&mut self.bodies, batch, &self.settings.ledger),
        }
    }

    async fn once(&mut self, _: Turn) -> Result<u64, Failure> {
        std::hint::black_box(&self.bodies);
        Ok(1)
    }
}
