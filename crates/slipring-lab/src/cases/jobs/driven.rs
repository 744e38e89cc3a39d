//! What the lab drives elsewhere too, as a queue of jobs: our engine, our server and the original
//! beanstalkd by the wire, our SQL functions, and the table claimed with SKIP LOCKED in batches.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tokio::sync::Mutex;

use super::claims::{Jobs, Tally, Worker};
use crate::body::Body;
use crate::targets::{Caller, Look, Target};

/// The queue of the jobs.
const QUEUE: &str = "jobs";

/// A target that has started.
pub struct Driven<T: Target> {
    target: T,
    filler: Mutex<T::Caller>,
}

impl<T: Target> Driven<T> {
    /// Of a target with nothing in it.
    ///
    /// # Errors
    /// When the target refuses.
    pub async fn new(target: T) -> Result<Driven<T>> {
        let filler = Mutex::new(target.caller(QUEUE).await?);
        Ok(Driven { target, filler })
    }
}

impl<T: Target> Jobs for Driven<T> {
    type Worker = DrivenWorker<T::Caller>;

    async fn fill(&self, bodies: &[Body]) -> Result<()> {
        self.filler.lock().await.send(bodies).await
    }

    async fn worker(&self, _: u64, tally: &Arc<Tally>) -> Result<DrivenWorker<T::Caller>> {
        let caller = self.target.caller(QUEUE).await?;
        Ok(DrivenWorker { caller, held: 0, tally: Arc::clone(tally) })
    }

    async fn end(self) -> Result<()> {
        drop(self.filler);
        self.target.stop().await.map(|_| ())
    }
}

/// A caller of a target.
pub struct DrivenWorker<C: Caller> {
    caller: C,
    held: usize,
    tally: Arc<Tally>,
}

impl<C: Caller> Worker for DrivenWorker<C> {
    async fn claim(&mut self, up_to: usize, run: Look<'_>) -> Result<usize> {
        self.held = self.caller.receive(up_to, Duration::ZERO, run).await?;
        Tally::add(&self.tally.claims, self.held);
        Tally::add(&self.tally.rounds, self.held);
        Ok(self.held)
    }

    /// The caller fails when an ack is refused, so that all are gone when it does not.
    async fn finish(&mut self) -> Result<()> {
        self.caller.ack().await?;
        Tally::add(&self.tally.gone, self.held);
        Ok(())
    }
}
