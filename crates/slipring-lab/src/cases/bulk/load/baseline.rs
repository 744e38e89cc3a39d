//! What a load is measured against: one transaction that holds all rows.

use std::path::Path;

use anyhow::{Result, ensure};
use futures::SinkExt;
use rusqlite::Connection;

use crate::targets::postgres::connect;
use crate::time::monotonic_ns;

/// How large the body of a message, or of a row, is.
pub(super) const BODY_BYTES: usize = 100;
/// Rows that go to COPY at once.
const COPY_ROWS: u32 = 1000;

/// The body with a number.
pub(super) fn body(number: u32) -> Vec<u8> {
    let mut body = format!("{number:010}").into_bytes();
    body.resize(BODY_BYTES, b'x');
    body
}

/// Seconds since a moment of this process.
pub(super) fn seconds_since(since_ns: u64) -> f64 {
    monotonic_ns().saturating_sub(since_ns) as f64 / 1e9
}

/// What a baseline takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Baseline {
    /// All rows in one transaction.
    pub(super) seconds: f64,
    /// The same rows once more, out of that table into another by one statement: what a publication
    /// costs that copies rows which were staged.
    pub(super) copied_seconds: f64,
}

/// All rows by one prepared statement in one transaction.
pub(super) fn one_insert(folder: &Path, messages: u32) -> Result<Baseline> {
    let mut connection = Connection::open(folder.join("bare.db"))?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.execute("create table message (id integer primary key, body blob)", [])?;
    let bodies: Vec<Vec<u8>> = (0..messages).map(body).collect();
    let since_ns = monotonic_ns();
    let transaction = connection.transaction()?;
    {
        let mut insert = transaction.prepare("insert into message (body) values (?)")?;
        for body in &bodies {
            insert.execute([body])?;
        }
    }
    transaction.commit()?;
    let seconds = seconds_since(since_ns);
    connection.execute("create table published (id integer primary key, body blob)", [])?;
    let since_ns = monotonic_ns();
    connection.execute("insert into published (body) select body from message order by id", [])?;
    Ok(Baseline { seconds, copied_seconds: seconds_since(since_ns) })
}

/// All rows by one COPY into a table with a primary key.
pub(super) async fn one_copy(url: &str, messages: u32) -> Result<Baseline> {
    let client = connect(url).await?;
    client.batch_execute("DROP TABLE IF EXISTS indexed").await?;
    client.batch_execute(include_str!("../../../../queries/indexed_table.sql")).await?;
    let mut text: Vec<bytes::Bytes> = Vec::new();
    for first in (0..messages).step_by(COPY_ROWS as usize) {
        let mut rows = Vec::with_capacity(COPY_ROWS as usize * (BODY_BYTES + 1));
        for number in first..messages.min(first + COPY_ROWS) {
            rows.extend(body(number));
            rows.push(b'\n');
        }
        text.push(rows.into());
    }
    let since_ns = monotonic_ns();
    let sink = client.copy_in(include_str!("../../../../queries/load_copy.sql")).await?;
    futures::pin_mut!(sink);
    for rows in text {
        sink.feed(rows).await?;
    }
    let copied = sink.finish().await?;
    ensure!(copied == u64::from(messages), "{copied} of {messages} rows were copied");
    let seconds = seconds_since(since_ns);
    client.batch_execute("DROP TABLE IF EXISTS published").await?;
    client.batch_execute("CREATE TABLE published (LIKE indexed INCLUDING ALL)").await?;
    let since_ns = monotonic_ns();
    client.execute(include_str!("../../../../queries/load_staged.sql"), &[]).await?;
    Ok(Baseline { seconds, copied_seconds: seconds_since(since_ns) })
}
