//! Operations on a queue, by any target that has callers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::runtime::Handle;

use super::operation::{Failure, Maker, Operation, Turn};
use super::stop::Stop;
use crate::body::{self, Body};
use crate::ledger::Ledger;
use crate::targets::{Caller, Target};
use crate::workloads::closed_loop::{PATIENCE, fill};

/// Messages of one send while a queue is filled.
const FILL_BATCH: usize = 1000;

/// What is done with messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Send a batch.
    Send,
    /// Receive a batch without waiting; it is acked before the next turn, which is not measured.
    Receive,
    /// The same, and wait for the first message.
    WaitReceive,
    /// Ack a batch; it is sent and received before the turn, which is not measured.
    Ack,
    /// Send a batch, receive as much, ack it.
    Cycle,
}

impl Verb {
    /// Whether messages are made for each turn.
    pub fn sends(self) -> bool {
        matches!(self, Verb::Send | Verb::Ack | Verb::Cycle)
    }
}

/// Messages that came and were not sent by this run.
#[derive(Debug, Default)]
pub struct Strangers {
    /// By an earlier run of the lab.
    pub earlier: AtomicU64,
    /// By others.
    pub foreign: AtomicU64,
}

/// Makes the operations of one run on one queue.
pub struct Messages<'a, T> {
    /// What is driven.
    pub target: &'a T,
    /// Its runtime, where it works in this process.
    pub runtime: Option<Handle>,
    /// The queue.
    pub queue: &'a str,
    /// What is done.
    pub verb: Verb,
    /// Messages of each turn.
    pub batch: usize,
    /// How long [`Verb::WaitReceive`] waits.
    pub wait: Duration,
    /// What was sent and what came back.
    pub ledger: Arc<Ledger>,
    /// What others had sent.
    pub strangers: Arc<Strangers>,
    /// When the run began: what was due before is of an earlier one.
    pub since_ns: u64,
}

impl<T: Target> Messages<'_, T> {
    /// Sends so many messages to the queue, before anything is measured.
    ///
    /// # Errors
    /// When the target refuses, or `stop` ends the run.
    pub async fn fill(&self, messages: u64, stop: &Stop) -> Result<()> {
        let mut caller = self.target.caller(self.queue).await?;
        let (mut left, mut bodies) = (messages, Vec::new());
        while left > 0 {
            if let Some(why) = stop.reason() {
                bail!("{why} while the queue was filled; {left} messages were to come");
            }
            let batch = left.min(FILL_BATCH as u64);
            fill(&mut bodies, batch as usize, &self.ledger)?;
            caller.send(&bodies).await.context("filling the queue")?;
            left -= batch;
        }
        Ok(())
    }
}

impl<T: Target> Maker for Messages<'_, T> {
    type Operation = MessageOperation<T::Caller>;

    fn runtime(&self) -> Option<&Handle> {
        self.runtime.as_ref()
    }

    async fn make(&self, _: usize) -> Result<MessageOperation<T::Caller>> {
        let caller = self.target.caller(self.queue).await?;
        Ok(MessageOperation {
            caller,
            verb: self.verb,
            batch: self.batch,
            wait: self.wait,
            bodies: Vec::with_capacity(self.batch),
            holds: false,
            check: Check {
                ledger: Arc::clone(&self.ledger),
                strangers: Arc::clone(&self.strangers),
                since_ns: self.since_ns,
            },
        })
    }
}

/// What is done with each body that comes.
struct Check {
    ledger: Arc<Ledger>,
    strangers: Arc<Strangers>,
    since_ns: u64,
}

impl Check {
    fn look(&self, bytes: &[u8]) -> Result<()> {
        match body::read(bytes) {
            Ok(content) if content.due_ns >= self.since_ns => self.ledger.note(content.number),
            Ok(_) => {
                self.strangers.earlier.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            Err(_) => {
                self.strangers.foreign.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
        }
    }
}

/// A caller with what it does.
pub struct MessageOperation<C> {
    caller: C,
    verb: Verb,
    batch: usize,
    wait: Duration,
    bodies: Vec<Body>,
    /// Whether messages were received that are not acked yet.
    holds: bool,
    check: Check,
}

impl<C: Caller> MessageOperation<C> {
    async fn receive(&mut self, wait: Duration) -> Result<u64> {
        let check = &self.check;
        let mut look = |bytes: &[u8]| check.look(bytes);
        let count = self.caller.receive(self.batch, wait, &mut look).await?;
        self.holds = count > 0;
        Ok(count as u64)
    }

    async fn receive_some(&mut self) -> Result<u64> {
        match self.receive(PATIENCE).await? {
            0 => bail!("a receive got nothing within {PATIENCE:?} from a queue that held messages"),
            count => Ok(count),
        }
    }

    async fn ack(&mut self) -> Result<()> {
        self.holds = false;
        self.caller.ack().await
    }
}

impl<C: Caller> Operation for MessageOperation<C> {
    async fn prepare(&mut self) -> Result<()> {
        if self.holds {
            self.ack().await?;
        }
        if self.verb.sends() {
            fill(&mut self.bodies, self.batch, &self.check.ledger)?;
        }
        if self.verb == Verb::Ack {
            self.caller.send(&self.bodies).await?;
            self.receive_some().await?;
        }
        Ok(())
    }

    async fn once(&mut self, _: Turn) -> Result<u64, Failure> {
        match self.verb {
            Verb::Send => {
                self.caller.send(&self.bodies).await?;
                Ok(self.batch as u64)
            }
            Verb::Receive => Ok(self.receive(Duration::ZERO).await?),
            Verb::WaitReceive => Ok(self.receive(self.wait).await?),
            Verb::Ack => {
                self.ack().await?;
                Ok(self.batch as u64)
            }
            Verb::Cycle => {
                self.caller.send(&self.bodies).await?;
                let count = self.receive_some().await?;
                self.ack().await?;
                Ok(count)
            }
        }
    }

    async fn finish(&mut self) -> Result<()> {
        if self.holds { self.ack().await } else { Ok(()) }
    }
}
