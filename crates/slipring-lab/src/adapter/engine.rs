//! The system `slipring`: our engine in this process, over the PostgreSQL store. It also makes the
//! queues of the system `slipring-sql` and does there what a server does beside users of SQL.

use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use futures::future::try_join_all;
use slipring::lifecycle::Settlement;
use slipring::{
    Backoff, Delivery, Engine, EngineOptions, Error, ErrorKind, NewMessage, Queue, QueueName,
    QueueSettings, Receipt, ReceiveRequest,
};
use slipring_postgres::{Address, PostgresOptions, PostgresStore};

use super::environment::Environment;
use super::job::Job;
use super::system::{Claimed, Depths, Feeder, Finished, Intake, Outcome, System, Verdict};

/// How long a receive waits for a first message.
const WAIT: Duration = Duration::from_secs(1);
/// What failed comes again after 1 s, then 2 s and so on, up to a minute; half of it by chance.
const BACKOFF: Backoff =
    Backoff::Exponential { base: Duration::from_secs(1), max: Duration::from_secs(60) };

/// The queues' names, as many as asked for.
pub fn queue_names(queues: usize) -> Vec<String> {
    match queues {
        1 => vec!["bench".to_owned()],
        _ => (0..queues).map(|number| format!("bench-{number}")).collect(),
    }
}

/// The name of the queue for dead letters.
pub const DEAD_LETTERS: &str = "bench-dead";

/// An engine with the queues of the benchmark.
pub struct Native {
    engine: Engine,
    queues: Vec<Queue>,
    lease: Duration,
}

impl Native {
    /// Opens the store, brings an empty database up to date, and makes the queues. Where a job
    /// that fails for good can only be given back, `attempts_max` is 1.
    ///
    /// # Errors
    /// When the database is not reached, or has another schema.
    pub async fn open(environment: &Environment, attempts_max: u32) -> Result<Native> {
        let address: Address = environment.database_url.parse().map_err(anyhow::Error::msg)?;
        let options = EngineOptions::default();
        let store = PostgresOptions { waits: options.waits.clone(), ..PostgresOptions::default() };
        let store = PostgresStore::open(&address, store).await?;
        let engine = Engine::open(store, options).await?;
        let mut settings = QueueSettings {
            visibility_timeout: environment.lease,
            max_attempts: Some(attempts_max),
            backoff: BACKOFF,
            ..QueueSettings::default()
        };
        if environment.dead_letters {
            settings.dead_letter = Some(QueueName::new(DEAD_LETTERS)?);
        }
        let mut queues = Vec::with_capacity(environment.queues);
        for name in queue_names(environment.queues) {
            queues.push(queue(&engine, &name, &settings).await?);
        }
        if environment.dead_letters {
            queue(&engine, DEAD_LETTERS, &QueueSettings::default()).await?;
        }
        Ok(Native { engine, queues, lease: environment.lease })
    }
}

/// A queue with these settings, whatever it had before.
async fn queue(engine: &Engine, name: &str, settings: &QueueSettings) -> Result<Queue> {
    let queue = engine.queue_or_create(name, settings).await?;
    if queue.info().settings != *settings {
        queue.configure(settings.clone()).await?;
    }
    Ok(queue)
}

impl Intake for Native {
    async fn send(&self, queue: usize, jobs: &[(u32, Bytes)]) -> Result<()> {
        let queue = self.queues.get(queue).context("a queue that was not made")?;
        let message =
            |(priority, body): &(u32, Bytes)| NewMessage::new(body.clone()).priority(*priority);
        queue.send_batch(jobs.iter().map(message).collect()).await?;
        Ok(())
    }

    async fn depths(&self) -> Result<Depths> {
        let mut depths = Depths::default();
        for stats in try_join_all(self.queues.iter().map(Queue::stats)).await? {
            depths.ready += stats.ready;
            depths.running += stats.leased;
            depths.retryable += stats.delayed;
        }
        Ok(depths)
    }

    async fn stop(&self) {
        self.engine.shutdown().await;
    }
}

impl System for Native {
    type Receipt = Receipt;
    type Feeder = NativeFeeder;

    fn feeders(&self) -> Vec<NativeFeeder> {
        let feeder = |(number, queue): (usize, &Queue)| NativeFeeder {
            queue: queue.clone(),
            number,
            lease: self.lease,
        };
        self.queues.iter().enumerate().map(feeder).collect()
    }

    async fn settle(
        &self,
        _settler: usize,
        finished: &[Finished<Receipt>],
    ) -> Result<Vec<Verdict>> {
        let mut verdicts = vec![Verdict::Again; finished.len()];
        let calls = self.queues.iter().enumerate().map(async |(number, queue)| {
            let of_it = finished.iter().enumerate().filter(|(_, f)| f.claimed.queue == number);
            let (places, entries): (Vec<usize>, Vec<_>) =
                of_it.map(|(at, f)| (at, (f.claimed.receipt, settlement(f.outcome)))).unzip();
            if entries.is_empty() {
                return Ok(Vec::new());
            }
            let answers = queue.settle(entries).await?;
            Ok::<_, Error>(places.into_iter().zip(answers).collect())
        });
        for (at, answer) in try_join_all(calls).await?.into_iter().flatten() {
            if let Some(verdict) = verdicts.get_mut(at) {
                *verdict = answer.map_or_else(|error| verdict_of(&error), |_| Verdict::Settled);
            }
        }
        Ok(verdicts)
    }
}

fn settlement(outcome: Outcome) -> Settlement {
    match outcome {
        Outcome::Done => Settlement::Ack,
        Outcome::Retry => Settlement::Nack { delay: None, priority: None, reason: None },
        Outcome::GiveUp => Settlement::DeadLetter { reason: None },
        Outcome::HandBack => Settlement::HandBack,
    }
}

fn verdict_of(error: &Error) -> Verdict {
    match error.kind() {
        ErrorKind::MessageGone => Verdict::Gone,
        ErrorKind::StorageUnavailable | ErrorKind::StorageFull => Verdict::Again,
        _ => Verdict::Lost,
    }
}

/// Receives from one queue. One receive over all queues would keep the order between them, which
/// the benchmark does not ask for, at the price of many small hand-outs.
pub struct NativeFeeder {
    queue: Queue,
    number: usize,
    lease: Duration,
}

impl Feeder for NativeFeeder {
    type Receipt = Receipt;

    async fn receive(&mut self, up_to: u32) -> Result<Vec<Claimed<Receipt>>> {
        let request = ReceiveRequest::up_to(up_to).wait(WAIT).lease(self.lease);
        let number = self.number;
        let claimed = |delivery: Delivery| Claimed {
            receipt: delivery.receipt,
            queue: number,
            job: Job::of(&delivery.message.body),
            priority: delivery.message.priority.0,
            attempts: delivery.message.attempts,
        };
        Ok(self.queue.receive(request).await?.into_iter().map(claimed).collect())
    }

    fn pause(&self) -> Duration {
        Duration::ZERO
    }
}
