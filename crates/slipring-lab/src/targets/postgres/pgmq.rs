//! pgmq by its own functions: send_batch, read_with_poll, delete. Its SQL must be installed in
//! the database; `crate::peers` takes it from the published crate.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio_postgres::{Client, Statement};

use super::{connect, count, texts, url};
use crate::body::Body;
use crate::targets::{Caller, Look, Target};
use crate::workloads::Settings;

/// A database with pgmq in it.
pub struct Pgmq(String);

impl Target for Pgmq {
    type Caller = PgmqCaller;

    async fn start(settings: &Settings, _: &Path) -> Result<Pgmq> {
        Ok(Pgmq(url(settings)?.to_owned()))
    }

    async fn caller(&self, queue: &str) -> Result<PgmqCaller> {
        let client = connect(&self.0).await?;
        let create = include_str!("../../../queries/pgmq_create.sql");
        client.execute(create, &[&queue]).await.context("making a queue")?;
        Ok(PgmqCaller {
            send: client.prepare(include_str!("../../../queries/pgmq_send.sql")).await?,
            read: client.prepare(include_str!("../../../queries/pgmq_read.sql")).await?,
            delete: client.prepare(include_str!("../../../queries/pgmq_delete.sql")).await?,
            client,
            queue: queue.to_owned(),
            held: Vec::new(),
        })
    }
}

/// One function call and one transaction per call.
pub struct PgmqCaller {
    client: Client,
    send: Statement,
    read: Statement,
    delete: Statement,
    queue: String,
    held: Vec<i64>,
}

impl Caller for PgmqCaller {
    async fn send(&mut self, bodies: &[Body]) -> Result<()> {
        // A body holds nothing that JSON would escape.
        let json = texts(bodies)?.iter().map(|text| format!("\"{text}\"")).collect::<Vec<_>>();
        let row = self.client.query_one(&self.send, &[&self.queue, &json]).await?;
        if count(row.try_get(0)?) != Some(bodies.len() as u64) {
            bail!("{} messages were sent, and not all taken", bodies.len());
        }
        Ok(())
    }

    async fn receive(&mut self, up_to: usize, wait: Duration, look: Look<'_>) -> Result<usize> {
        let up_to = i32::try_from(up_to).context("a receive of more than 2^31 messages")?;
        let seconds = i32::try_from(wait.as_secs()).context("a wait of more than 2^31 seconds")?;
        let rows = self.client.query(&self.read, &[&self.queue, &up_to, &seconds]).await?;
        for row in &rows {
            self.held.push(row.try_get(0)?);
            look(row.try_get::<_, &str>(1)?.as_bytes())?;
        }
        Ok(rows.len())
    }

    async fn ack(&mut self) -> Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        let row = self.client.query_one(&self.delete, &[&self.queue, &self.held]).await?;
        if count(row.try_get(0)?) != Some(self.held.len() as u64) {
            bail!("not all of {} messages were deleted", self.held.len());
        }
        self.held.clear();
        Ok(())
    }

    async fn count(&mut self) -> Result<Option<u64>> {
        let held = include_str!("../../../queries/pgmq_count.sql");
        Ok(count(self.client.query_one(held, &[&self.queue]).await?.try_get(0)?))
    }
}
