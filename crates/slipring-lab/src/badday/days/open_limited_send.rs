//! A producer sends by SQL to a queue with a limit of messages, and leaves its transaction open: it
//! keeps no lock, so sends to that queue and receives from it do not wait (S10.4).

use anyhow::{Context, Result};

use crate::badday::day::{About, Day, SINGLE};
use crate::badday::open::{self, Open, Seen, UNFELT_MS};
use crate::badday::stage::Stage;
use crate::run::condition::Condition;
use crate::targets::Kind;

/// See the file's head.
#[derive(Default)]
pub struct OpenLimitedSend {
    open: Option<Open>,
    limit: i64,
    seen: Seen,
}

impl Day for OpenLimitedSend {
    const ABOUT: About = About {
        name: "open-limited-send",
        what: "a send by SQL to a queue with messages_max stays open in its transaction",
        contenders: &[Kind::Sql, Kind::PostgresServer],
        stall_ms_max: UNFELT_MS,
        recovery_s_max: 2.0,
        load: SINGLE,
    };

    async fn prepare(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let (session, queue) = (stage.session().await?, open::queue());
        open::create(&session, &queue).await?;
        self.limit = open::limit(&session, &queue).await?;
        Ok(())
    }

    async fn strike(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let open = Open::begin(stage).await?;
        let (send, queue) = (include_str!("../../../queries/sql_send.sql"), open::queue());
        for body in open::bodies(1) {
            let sent = open.session.execute(send, &[&queue, &body.as_slice()]).await;
            sent.context("sending in a transaction")?;
        }
        self.open = Some(open);
        Ok(())
    }

    async fn relent(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        self.seen = Open::commit(&mut self.open, stage).await?;
        Ok(())
    }

    async fn check(&mut self, _: &mut Stage<'_>) -> Result<Vec<Condition>> {
        let text = "limit of the queue".to_owned();
        let limited = Condition::at_least(text, "messages", self.limit as f64, 1.0);
        Ok([vec![limited], self.seen.conditions(0)].concat())
    }
}
