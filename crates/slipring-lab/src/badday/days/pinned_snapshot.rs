//! A transaction stays open: one that only reads pins the oldest snapshot, one that has written
//! keeps its rows from being decided. The rows `held_snapshot` and `writing_transaction` measure
//! the same over minutes and at full load.

use anyhow::{Context, Result};
use tokio_postgres::Client;

use crate::badday::day::{About, Day};
use crate::badday::stage::Stage;
use crate::run::held::Held;
use crate::targets::Kind;

/// Five hundred messages a second to each queue, by tens.
const BY_TENS: (f64, usize) = (50.0, 10);
const CONTENDERS: &[Kind] = &[Kind::Sql, Kind::SkipLocked];

/// A transaction that only reads.
#[derive(Default)]
pub struct Reader(Option<Client>);

/// A transaction that has written.
#[derive(Default)]
pub struct Writer(Option<Client>);

async fn open(held: Held, stage: &Stage<'_>) -> Result<Option<Client>> {
    let session = stage.session().await?;
    let statements = held.statements().context("nothing to hold open")?;
    session.batch_execute(statements).await.context("opening a transaction to hold")?;
    Ok(Some(session))
}

async fn close(session: &mut Option<Client>) -> Result<()> {
    let session = session.take().context("no transaction was begun")?;
    session.batch_execute("COMMIT").await.context("a transaction that was held open")
}

impl Day for Reader {
    const ABOUT: About = About {
        name: "pinned-snapshot-reader",
        what: "a transaction that only reads holds its snapshot open",
        contenders: CONTENDERS,
        stall_ms_max: 500.0,
        recovery_s_max: 2.0,
        load: BY_TENS,
    };

    async fn strike(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        self.0 = open(Held::Reader, stage).await?;
        Ok(())
    }

    async fn relent(&mut self, _: &mut Stage<'_>) -> Result<()> {
        close(&mut self.0).await
    }
}

impl Day for Writer {
    const ABOUT: About = About {
        name: "pinned-snapshot-writer",
        what: "a transaction that has written stays open",
        ..Reader::ABOUT
    };

    async fn strike(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        self.0 = open(Held::Writer, stage).await?;
        Ok(())
    }

    async fn relent(&mut self, _: &mut Stage<'_>) -> Result<()> {
        close(&mut self.0).await
    }
}
