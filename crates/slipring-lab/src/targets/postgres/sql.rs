//! Our interface for users of SQL, with a server beside it as users have one: it moves what is
//! delayed, ends leases and retires tables.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio_postgres::{Client, Statement};

use super::claim::claim;
use super::{bytes, connect, count, url};
use crate::body::Body;
use crate::targets::{Caller, Kind, Look, Store, Target, Wait};
use crate::workloads::Settings;

/// A database with our schema, and the engine beside it.
pub struct Sql {
    url: String,
    engine: Store,
}

impl Target for Sql {
    type Caller = SqlCaller;

    async fn start(settings: &Settings, folder: &Path) -> Result<Sql> {
        let own = Settings { target: Kind::Postgres, ..settings.clone() };
        let engine = Store::start(&own, folder).await?;
        Ok(Sql { url: url(settings)?.to_owned(), engine })
    }

    async fn caller(&self, queue: &str) -> Result<SqlCaller> {
        let client = connect(&self.url).await?;
        let create = include_str!("../../../queries/sql_create_queue.sql");
        client.execute(create, &[&queue]).await.context("making a queue")?;
        Ok(SqlCaller {
            send: client.prepare(include_str!("../../../queries/sql_send.sql")).await?,
            send_batch: client.prepare(include_str!("../../../queries/sql_send_batch.sql")).await?,
            receive: client.prepare(include_str!("../../../queries/sql_receive.sql")).await?,
            ack: client.prepare(include_str!("../../../queries/sql_ack.sql")).await?,
            client,
            queue: queue.to_owned(),
            held: Vec::new(),
        })
    }

    async fn stop(self) -> Result<Vec<Wait>> {
        self.engine.stop().await
    }
}

/// One statement and one transaction per call.
pub struct SqlCaller {
    client: Client,
    send: Statement,
    send_batch: Statement,
    receive: Statement,
    ack: Statement,
    queue: String,
    held: Vec<String>,
}

impl Caller for SqlCaller {
    async fn send(&mut self, bodies: &[Body]) -> Result<()> {
        if let [body] = bodies {
            self.client.execute(&self.send, &[&self.queue, &body.as_slice()]).await?;
            return Ok(());
        }
        let row = self.client.query_one(&self.send_batch, &[&self.queue, &bytes(bodies)]).await?;
        if usize::try_from(row.try_get::<_, i32>(0)?) != Ok(bodies.len()) {
            bail!("{} messages were sent, and not all taken", bodies.len());
        }
        Ok(())
    }

    async fn receive(&mut self, up_to: usize, wait: Duration, look: Look<'_>) -> Result<usize> {
        let up_to = i32::try_from(up_to).context("a receive of more than 2^31 messages")?;
        let statement = (&self.client, &self.receive);
        claim(statement, &[&self.queue, &up_to], wait, look, &mut self.held).await
    }

    async fn ack(&mut self) -> Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        let row = self.client.query_one(&self.ack, &[&self.held]).await.context("acking by SQL")?;
        if count(row.try_get(0)?) != Some(self.held.len() as u64) {
            bail!("not all of {} receipts were acked", self.held.len());
        }
        self.held.clear();
        Ok(())
    }

    async fn send_delayed(&mut self, bodies: &[Body], delay: Duration) -> Result<()> {
        let send = include_str!("../../../queries/sql_send_delayed.sql");
        let (all, millis) = (bytes(bodies), millis(delay)?);
        let row = self.client.query_one(send, &[&self.queue, &all, &millis]).await?;
        if usize::try_from(row.try_get::<_, i32>(0)?) != Ok(bodies.len()) {
            bail!("{} messages were sent with a delay, and not all taken", bodies.len());
        }
        Ok(())
    }

    async fn is_cut(&mut self) -> bool {
        self.client.is_closed()
    }

    async fn give_back(&mut self, delay: Duration) -> Result<()> {
        let nack = include_str!("../../../queries/sql_nack.sql");
        let nacked = self.client.execute(nack, &[&self.held, &millis(delay)?]).await;
        nacked.context("a nack by SQL")?;
        self.held.clear();
        Ok(())
    }
}

/// A delay as a parameter.
fn millis(delay: Duration) -> Result<i64> {
    i64::try_from(delay.as_millis()).context("a delay of more than 2^63 ms")
}
