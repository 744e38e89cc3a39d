//! A consumer receives in a transaction by SQL, and sits idle in it.

use anyhow::{Context, Result};
use tokio_postgres::Client;

use crate::badday::day::{About, Day, SINGLE};
use crate::badday::stage::Stage;
use crate::body::{self, Content};
use crate::run::condition::Condition;
use crate::targets::{Caller, Kind};

/// See the file's head.
#[derive(Default)]
pub struct IdleConsumer {
    session: Option<Client>,
    received: usize,
}

const QUEUE: &str = "idle";
const MESSAGES: u64 = 100;

impl Day for IdleConsumer {
    const ABOUT: About = About {
        name: "idle-consumer",
        what: "a consumer by SQL sits idle in the transaction in which it received",
        contenders: &[Kind::Sql],
        stall_ms_max: 250.0,
        recovery_s_max: 2.0,
        load: SINGLE,
    };

    async fn prepare(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let mut sender = stage.sql_caller(QUEUE).await?;
        let content = |number| body::write(Content { number, due_ns: 0 });
        let bodies: Vec<_> = (0..MESSAGES).map(content).collect();
        sender.send(&bodies).await
    }

    async fn strike(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let session = stage.session().await?;
        session.batch_execute("BEGIN").await.context("beginning a transaction")?;
        let receive = include_str!("../../../queries/sql_receive.sql");
        let rows = session.query(receive, &[&QUEUE, &10i32]).await;
        self.received = rows.context("receiving in a transaction")?.len();
        self.session = Some(session);
        Ok(())
    }

    async fn relent(&mut self, _: &mut Stage<'_>) -> Result<()> {
        let session = self.session.take().context("no transaction was begun")?;
        session.batch_execute("COMMIT").await.context("a transaction that sat idle")
    }

    async fn check(&mut self, _: &mut Stage<'_>) -> Result<Vec<Condition>> {
        let text = "received in the idle transaction".to_owned();
        Ok(vec![Condition::at_least(text, "messages", self.received as f64, 1.0)])
    }
}
