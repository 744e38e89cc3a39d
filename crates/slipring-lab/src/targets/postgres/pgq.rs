//! PgQ (the Debian package) by its own functions: events in, whole batches out. A batch has one
//! outcome, its events have none; one consumer takes all batches. Ticks are made ten times a
//! second, as its daemon would with its period lowered for latency.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tokio::task::AbortHandle;
use tokio_postgres::{Client, Statement};

use super::{connect, count, texts, url};
use crate::body::Body;
use crate::targets::{Caller, Look, Target};
use crate::workloads::Settings;

const CONSUMER: &str = "lab";
const TICK: Duration = Duration::from_millis(100);
/// Between two looks for a batch.
const POLL: Duration = Duration::from_millis(10);

/// A database with the extension in it, and a task that ticks.
pub struct Pgq {
    url: String,
    ticker: AbortHandle,
}

impl Target for Pgq {
    type Caller = PgqCaller;

    async fn start(settings: &Settings, _: &Path) -> Result<Pgq> {
        let url = url(settings)?.to_owned();
        let client = connect(&url).await?;
        let create = client.batch_execute("CREATE EXTENSION IF NOT EXISTS pgq").await;
        create.context("absent: install the Debian package postgresql-NN-pgq3")?;
        let ticker = tokio::spawn(async move {
            while client.query("SELECT pgq.ticker()", &[]).await.is_ok() {
                tokio::time::sleep(TICK).await;
            }
        });
        Ok(Pgq { url, ticker: ticker.abort_handle() })
    }

    async fn caller(&self, queue: &str) -> Result<PgqCaller> {
        let client = connect(&self.url).await?;
        if client.query_one("SELECT pgq.create_queue($1)", &[&queue]).await?.get::<_, i32>(0) == 1 {
            for (name, value) in
                [("ticker_max_lag", "100 milliseconds"), ("ticker_max_count", "500")]
            {
                let set = "SELECT pgq.set_queue_config($1, $2, $3)";
                client.execute(set, &[&queue, &name, &value]).await?;
            }
            client.execute("SELECT pgq.register_consumer($1, $2)", &[&queue, &CONSUMER]).await?;
        }
        Ok(PgqCaller {
            send: client.prepare(include_str!("../../../queries/pgq_send.sql")).await?,
            next: client.prepare("SELECT pgq.next_batch($1, $2)").await?,
            events: client.prepare(include_str!("../../../queries/pgq_events.sql")).await?,
            client,
            queue: queue.to_owned(),
            batch: None,
        })
    }

    fn receivers(&self, _: usize) -> usize {
        1
    }
}

impl Drop for Pgq {
    fn drop(&mut self) {
        self.ticker.abort();
    }
}

/// A sender, or the one consumer.
pub struct PgqCaller {
    client: Client,
    send: Statement,
    next: Statement,
    events: Statement,
    queue: String,
    batch: Option<i64>,
}

impl Caller for PgqCaller {
    async fn send(&mut self, bodies: &[Body]) -> Result<()> {
        let row = self.client.query_one(&self.send, &[&self.queue, &texts(bodies)?]).await?;
        if count(row.try_get(0)?) != Some(bodies.len() as u64) {
            bail!("{} events were sent, and not all taken", bodies.len());
        }
        Ok(())
    }

    /// The number of events of a batch is PgQ's to choose, not `up_to`.
    async fn receive(&mut self, _: usize, wait: Duration, look: Look<'_>) -> Result<usize> {
        let deadline = Instant::now() + wait;
        loop {
            let row = self.client.query_one(&self.next, &[&self.queue, &CONSUMER]).await?;
            if let Some(batch) = row.try_get::<_, Option<i64>>(0)? {
                self.batch = Some(batch);
                let rows = self.client.query(&self.events, &[&batch]).await?;
                for row in &rows {
                    look(row.try_get::<_, &str>(0)?.as_bytes())?;
                }
                if !rows.is_empty() {
                    return Ok(rows.len());
                }
                self.ack().await?;
                continue;
            }
            if Instant::now() >= deadline {
                return Ok(0);
            }
            tokio::time::sleep(POLL).await;
        }
    }

    async fn ack(&mut self) -> Result<()> {
        let Some(batch) = self.batch.take() else { return Ok(()) };
        let finished = self.client.execute("SELECT pgq.finish_batch($1)", &[&batch]).await;
        finished.context("finishing a batch").map(|_| ())
    }
}
