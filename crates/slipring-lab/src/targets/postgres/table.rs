//! The limits of PostgreSQL: COPY and multi-row INSERT into a bare table and into one with an
//! index. They only take sends.

use std::pin::pin;
use std::time::Duration;

use anyhow::{Result, bail};
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Statement};

use super::{bytes, connect, count, url};
use crate::body::Body;
use crate::targets::{Caller, Kind, Look, Target};
use crate::workloads::Settings;

/// One table.
pub struct Table {
    url: String,
    kind: Kind,
}

impl Table {
    /// The statements that make the table, fill it and count it.
    fn statements(kind: Kind) -> Result<[&'static str; 3]> {
        let (bare, indexed) = (
            include_str!("../../../queries/bare_table.sql"),
            include_str!("../../../queries/indexed_table.sql"),
        );
        Ok(match kind {
            Kind::PgCopy => [bare, "COPY bare (body) FROM STDIN (FORMAT binary)", BARE_COUNT],
            Kind::PgCopyIndexed => {
                [indexed, "COPY indexed (body) FROM STDIN (FORMAT binary)", INDEXED_COUNT]
            }
            Kind::PgInsert => [bare, include_str!("../../../queries/bare_insert.sql"), BARE_COUNT],
            Kind::PgInsertIndexed | Kind::PgInsertByFunction => {
                [indexed, include_str!("../../../queries/indexed_insert.sql"), INDEXED_COUNT]
            }
            _ => bail!("{kind:?} is not a raw table"),
        })
    }
}

const BARE_COUNT: &str = "SELECT count(*) FROM bare";
const INDEXED_COUNT: &str = "SELECT count(*) FROM indexed";

impl Target for Table {
    type Caller = TableCaller;

    async fn start(settings: &Settings, _: &std::path::Path) -> Result<Table> {
        let (url, kind) = (url(settings)?.to_owned(), settings.target);
        let [table, ..] = Table::statements(kind)?;
        connect(&url).await?.batch_execute(table).await?;
        Ok(Table { url, kind })
    }

    async fn caller(&self, _: &str) -> Result<TableCaller> {
        if self.kind == Kind::PgInsertByFunction {
            bail!("a function that inserts is only driven by single sends in transactions");
        }
        let client = connect(&self.url).await?;
        let [_, fill, count] = Table::statements(self.kind)?;
        let insert = match self.kind {
            Kind::PgCopy | Kind::PgCopyIndexed => None,
            _ => Some(client.prepare(fill).await?),
        };
        Ok(TableCaller { client, insert, copy: fill, count })
    }
}

/// One transaction per call.
pub struct TableCaller {
    client: Client,
    insert: Option<Statement>,
    copy: &'static str,
    count: &'static str,
}

impl Caller for TableCaller {
    async fn send(&mut self, bodies: &[Body]) -> Result<()> {
        let taken = if let Some(insert) = &self.insert {
            self.client.execute(insert, &[&bytes(bodies)]).await?
        } else {
            let sink = self.client.copy_in(self.copy).await?;
            let mut writer = pin!(BinaryCopyInWriter::new(sink, &[Type::BYTEA]));
            for body in bodies {
                writer.as_mut().write(&[&body.as_slice()]).await?;
            }
            writer.finish().await?
        };
        if taken != bodies.len() as u64 {
            bail!("{taken} of {} rows were taken", bodies.len());
        }
        Ok(())
    }

    async fn receive(&mut self, _: usize, _: Duration, _: Look<'_>) -> Result<usize> {
        bail!("a raw table only takes sends");
    }

    async fn ack(&mut self) -> Result<()> {
        bail!("a raw table only takes sends");
    }

    async fn count(&mut self) -> Result<Option<u64>> {
        Ok(count(self.client.query_one(self.count, &[]).await?.try_get(0)?))
    }
}
