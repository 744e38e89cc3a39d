//! What the adapter needs of a system: inserts and a look at the depths, and of one that does not
//! run handlers itself also hand-outs and settlements.

use std::future::Future;
use std::time::Duration;

use anyhow::Result;
use bytes::Bytes;

use super::job::Job;

/// Settlements are done by so many tasks, so that one batch is under way while another is flushed.
pub const SETTLERS: usize = 2;

/// A job that is handed out.
#[derive(Debug, Clone)]
pub struct Claimed<R> {
    /// What settles it.
    pub receipt: R,
    /// Its queue, from 0.
    pub queue: usize,
    /// What its body says; nothing where it is of another sender.
    pub job: Option<Job>,
    /// Its priority.
    pub priority: u32,
    /// Deliveries, this one included.
    pub attempts: u32,
}

/// What becomes of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Acked.
    Done,
    /// Failed, to come again.
    Retry,
    /// Failed for good.
    GiveUp,
    /// Its work was never begun.
    HandBack,
}

/// A job whose work has ended.
#[derive(Debug, Clone)]
pub struct Finished<R> {
    /// The job.
    pub claimed: Claimed<R>,
    /// What becomes of it.
    pub outcome: Outcome,
}

/// The answer to a settlement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It has taken effect.
    Settled,
    /// The job is not in its queue any more.
    Gone,
    /// The lease was over.
    Lost,
    /// It is not known, or has not taken effect: settle it again.
    Again,
}

/// How many jobs are where, in all queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Depths {
    /// Ready, not claimed.
    pub ready: u64,
    /// Under a lease.
    pub running: u64,
    /// Waiting for another attempt. The adapter sends nothing with a delay.
    pub retryable: u64,
}

/// What takes jobs.
pub trait Intake: Send + Sync + 'static {
    /// Inserts jobs into a queue, each with its priority, all or none.
    ///
    /// # Errors
    /// When they are not inserted, or it is not known.
    fn send(&self, queue: usize, jobs: &[(u32, Bytes)]) -> impl Future<Output = Result<()>> + Send;

    /// How many jobs are where.
    ///
    /// # Errors
    /// When the database does not answer.
    fn depths(&self) -> impl Future<Output = Result<Depths>> + Send;

    /// Ends what runs in this process.
    fn stop(&self) -> impl Future<Output = ()> + Send;
}

/// What takes jobs and hands them out; handlers are ours.
pub trait System: Intake {
    /// What settles a job.
    type Receipt: Clone + Send + Sync + 'static;
    /// What hands out jobs.
    type Feeder: Feeder<Receipt = Self::Receipt>;

    /// Those that hand out jobs, one for each queue.
    fn feeders(&self) -> Vec<Self::Feeder>;

    /// Settles jobs and answers for each; `settler` is the number of the task, below [`SETTLERS`].
    ///
    /// # Errors
    /// When it is known of none, or nothing has taken effect.
    fn settle(
        &self,
        settler: usize,
        finished: &[Finished<Self::Receipt>],
    ) -> impl Future<Output = Result<Vec<Verdict>>> + Send;
}

/// Hands out jobs.
pub trait Feeder: Send + 'static {
    /// What settles a job.
    type Receipt;

    /// At most so many jobs; none where nothing was ready for a moment.
    ///
    /// # Errors
    /// When the database does not answer.
    fn receive(
        &mut self,
        up_to: u32,
    ) -> impl Future<Output = Result<Vec<Claimed<Self::Receipt>>>> + Send;

    /// How long to wait after a receive that has found nothing.
    fn pause(&self) -> Duration;
}
