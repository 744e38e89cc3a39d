//! The queue that everybody writes first: a table, claimed with UPDATE … FOR UPDATE SKIP LOCKED
//! and acked with DELETE; batched, indexed, autovacuum at its defaults.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio_postgres::{Client, Statement};

use super::claim::claim;
use super::{bytes, connect, count, url};
use crate::body::Body;
use crate::targets::{Caller, Look, Target};
use crate::workloads::Settings;

/// The table.
pub struct SkipLocked(String);

impl Target for SkipLocked {
    type Caller = SkipLockedCaller;

    async fn start(settings: &Settings, _: &Path) -> Result<SkipLocked> {
        let url = url(settings)?.to_owned();
        let table = include_str!("../../../queries/skip_locked_table.sql");
        connect(&url).await?.batch_execute(table).await?;
        Ok(SkipLocked(url))
    }

    async fn caller(&self, queue: &str) -> Result<SkipLockedCaller> {
        let client = connect(&self.0).await?;
        Ok(SkipLockedCaller {
            send: client.prepare(include_str!("../../../queries/skip_locked_send.sql")).await?,
            claim: client.prepare(include_str!("../../../queries/skip_locked_claim.sql")).await?,
            ack: client.prepare(include_str!("../../../queries/skip_locked_ack.sql")).await?,
            client,
            queue: queue.to_owned(),
            held: Vec::new(),
        })
    }
}

/// One statement and one transaction per call.
pub struct SkipLockedCaller {
    client: Client,
    send: Statement,
    claim: Statement,
    ack: Statement,
    queue: String,
    held: Vec<i64>,
}

impl Caller for SkipLockedCaller {
    async fn send(&mut self, bodies: &[Body]) -> Result<()> {
        let taken = self.client.execute(&self.send, &[&self.queue, &bytes(bodies)]).await?;
        if taken != bodies.len() as u64 {
            bail!("{taken} of {} rows were taken", bodies.len());
        }
        Ok(())
    }

    async fn receive(&mut self, up_to: usize, wait: Duration, look: Look<'_>) -> Result<usize> {
        let up_to = i64::try_from(up_to).context("a receive of more than 2^63 messages")?;
        let statement = (&self.client, &self.claim);
        claim(statement, &[&self.queue, &up_to], wait, look, &mut self.held).await
    }

    async fn ack(&mut self) -> Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        let deleted = self.client.execute(&self.ack, &[&self.held]).await?;
        if deleted != self.held.len() as u64 {
            bail!("{deleted} of {} rows were deleted", self.held.len());
        }
        self.held.clear();
        Ok(())
    }

    async fn is_cut(&mut self) -> bool {
        self.client.is_closed()
    }

    async fn give_back(&mut self, _: Duration) -> Result<()> {
        let give_back = include_str!("../../../queries/skip_locked_give_back.sql");
        self.client.execute(give_back, &[&self.held]).await?;
        self.held.clear();
        Ok(())
    }

    async fn count(&mut self) -> Result<Option<u64>> {
        let held = include_str!("../../../queries/skip_locked_count.sql");
        Ok(count(self.client.query_one(held, &[&self.queue]).await?.try_get(0)?))
    }
}
