//! Slipring on the same work: messages of the same size, durable, through an engine in this
//! process. What callers ask for at the same time is written together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use slipring::lifecycle::Settlement;
use slipring::{Engine, EngineOptions, NewMessage, Queue, QueueSettings, ReceiveRequest, Store};
use slipring_postgres::{Address, PostgresOptions, PostgresStore};
use slipring_sqlite::{SqliteOptions, SqliteStore};
use tokio::runtime::Handle;

use super::contest::Measured;
use super::drive::{Length, Phase};
use super::ledger::{Ledger, Wrong};
use super::slots::{number_of, write_message};

/// Messages of one receive while a queue is emptied after a step.
const DRAIN_BATCH: u32 = 10_000;
/// A receive of a cycle finds what was sent within this.
const WAIT: Duration = Duration::from_secs(5);

/// An engine over a store.
pub struct Ours {
    engine: Engine,
    queue: Queue,
    runtime: Handle,
    steps: i64,
    wrong: Wrong,
    stop: Arc<AtomicBool>,
}

/// A step of ours.
#[derive(Debug, Clone, Copy)]
pub struct Calls {
    /// Callers at a time.
    pub callers: usize,
    /// Messages of each call.
    pub batch: usize,
    /// Pushes or full cycles.
    pub phase: Phase,
    /// How long.
    pub length: Length,
}

impl Ours {
    /// Over a file.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub async fn on_file(path: &std::path::Path, stop: Arc<AtomicBool>) -> Result<Ours> {
        let options = EngineOptions::default();
        let sqlite = SqliteOptions { waits: options.waits.clone(), ..SqliteOptions::default() };
        let path = path.to_owned();
        let open = tokio::task::spawn_blocking(move || SqliteStore::open(path, sqlite));
        let store: Arc<dyn Store> = open.await.context("opening the store")??;
        Ours::over(store, options, stop).await
    }

    /// Over a database of PostgreSQL.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub async fn on_postgres(url: &str, stop: Arc<AtomicBool>) -> Result<Ours> {
        let options = EngineOptions::default();
        let address: Address = url.parse().map_err(anyhow::Error::msg)?;
        let postgres =
            PostgresOptions { waits: options.waits.clone(), ..PostgresOptions::default() };
        let store: Arc<dyn Store> = PostgresStore::open(&address, postgres).await?;
        Ours::over(store, options, stop).await
    }

    async fn over(
        store: Arc<dyn Store>,
        options: EngineOptions,
        stop: Arc<AtomicBool>,
    ) -> Result<Ours> {
        let engine = Engine::open(store, options).await?;
        let queue = engine.queue_or_create("ring", &QueueSettings::default()).await?;
        let runtime = Handle::current();
        Ok(Ours { engine, queue, runtime, steps: 0, wrong: Wrong::default(), stop })
    }

    /// Runs a step, empties the queue and accounts for all messages.
    ///
    /// # Errors
    /// When the engine fails, or the run was interrupted.
    pub fn step(&mut self, calls: Calls) -> Result<Measured> {
        let Length::Time { warmup, measured } = calls.length else {
            bail!("ours is driven for a time");
        };
        self.steps += 1;
        let begin = Instant::now();
        let (from, until) = (begin + warmup, begin + warmup + measured);
        let runtime = self.runtime.clone();
        runtime.block_on(async {
            let tasks: Vec<_> = (0..calls.callers)
                .map(|caller| {
                    let number = (self.steps << 40) + ((caller as i64) << 28);
                    let caller = Caller {
                        queue: self.queue.clone(),
                        calls,
                        number,
                        message: String::new(),
                        stop: Arc::clone(&self.stop),
                        counted: 0,
                        pushed: Vec::new(),
                        popped: Vec::new(),
                    };
                    tokio::spawn(caller.run(from, until))
                })
                .collect();
            let (mut ledger, mut counted, mut operations) = (Ledger::new(0), 0, 0);
            for task in tasks {
                let caller = task.await.context("a caller of ours")??;
                ledger.note(&caller.pushed, &caller.popped);
                counted += caller.counted;
                operations += caller.pushed.len() as u64;
            }
            let left = self.drain().await?;
            self.wrong += ledger.check(&left);
            if self.stop.load(Ordering::Relaxed) {
                bail!("interrupted");
            }
            let rate = counted as f64 / measured.as_secs_f64();
            Ok(Measured { rate, operations, ..Measured::default() })
        })
    }

    /// What was wrong in the whole run.
    pub fn finish(&self) -> Wrong {
        self.runtime.block_on(self.engine.shutdown());
        self.wrong
    }

    /// Takes out all that is left.
    async fn drain(&self) -> Result<Vec<(i64, i64)>> {
        let mut left = Vec::new();
        loop {
            let deliveries = self.queue.receive(ReceiveRequest::up_to(DRAIN_BATCH)).await?;
            if deliveries.is_empty() {
                return Ok(left);
            }
            let mut entries = Vec::with_capacity(deliveries.len());
            for delivery in deliveries {
                let number = number_of(std::str::from_utf8(&delivery.message.body)?)?;
                left.push((number, number));
                entries.push((delivery.receipt, Settlement::Ack));
            }
            for answer in self.queue.settle(entries).await? {
                answer?;
            }
        }
    }
}

/// One caller.
struct Caller {
    queue: Queue,
    calls: Calls,
    number: i64,
    message: String,
    stop: Arc<AtomicBool>,
    counted: u64,
    pushed: Vec<i64>,
    popped: Vec<i64>,
}

impl Caller {
    async fn run(mut self, from: Instant, until: Instant) -> Result<Caller> {
        while Instant::now() < until && !self.stop.load(Ordering::Relaxed) {
            self.push().await?;
            if self.calls.phase == Phase::Cycle {
                self.pop().await?;
            }
            let now = Instant::now();
            if now >= from && now <= until {
                self.counted += self.calls.batch as u64;
            }
        }
        Ok(self)
    }

    fn next(&mut self) -> NewMessage {
        write_message(&mut self.message, self.number);
        self.pushed.push(self.number);
        self.number += 1;
        NewMessage::new(bytes::Bytes::copy_from_slice(self.message.as_bytes()))
    }

    async fn push(&mut self) -> Result<()> {
        if self.calls.batch == 1 {
            let message = self.next();
            self.queue.send(message).await?;
            return Ok(());
        }
        let messages: Vec<NewMessage> = (0..self.calls.batch).map(|_| self.next()).collect();
        let sent = self.queue.send_batch(messages).await?;
        if sent.len() != self.calls.batch {
            bail!("{} of {} messages were taken", sent.len(), self.calls.batch);
        }
        Ok(())
    }

    /// Receives and acks as many messages as it pushed.
    async fn pop(&mut self) -> Result<()> {
        let mut missing = self.calls.batch;
        while missing > 0 {
            let request = ReceiveRequest::up_to(u32::try_from(missing)?).wait(WAIT);
            let deliveries = self.queue.receive(request).await?;
            if deliveries.is_empty() {
                bail!("{missing} messages of a cycle were not received within {WAIT:?}");
            }
            missing -= deliveries.len().min(missing);
            for delivery in &deliveries {
                let body = std::str::from_utf8(&delivery.message.body)?;
                self.popped.push(number_of(body)?);
            }
            if let [delivery] = deliveries.as_slice() {
                self.queue.ack(&delivery.receipt).await?;
                continue;
            }
            let entries = deliveries.iter().map(|d| (d.receipt, Settlement::Ack)).collect();
            for answer in self.queue.settle(entries).await? {
                answer?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_ours_account_for_all_their_messages() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let _inside = runtime.enter();
        let folder = tempfile::tempdir().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let path = folder.path().join("ours.db");
        let mut ours = runtime.block_on(Ours::on_file(&path, stop)).unwrap();
        let measured = Duration::from_millis(200);
        let length = Length::Time { warmup: Duration::ZERO, measured };
        for (phase, batch) in [(Phase::Push, 1), (Phase::Cycle, 1), (Phase::Cycle, 10)] {
            let step = ours.step(Calls { callers: 3, batch, phase, length }).unwrap();
            assert!(step.operations > 0, "{step:?}");
        }
        assert_eq!(ours.finish(), Wrong::default());
    }
}
