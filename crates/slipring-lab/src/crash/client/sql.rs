//! The crash test's operations by the SQL functions of the PostgreSQL store: each in a transaction
//! of the session's own, of which some are rolled back.

use anyhow::{Context, Result};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client as Connection, Error, Transaction};

use super::{Client, Failure, Places};
use crate::crash::history::{Delivery, Entry, Sending};
use crate::crash::payload;
use crate::crash::queues::{self, LEASE_MAX_MS, LEASE_MS, Rules};
use crate::targets::postgres::connect;

/// A connection.
pub struct SqlClient {
    connection: Connection,
    transactions: u64,
    stays: bool,
}

/// Of so many transactions one is rolled back when all its work is done.
const ROLLED_BACK_EVERY: u64 = 8;
const RECEIVED_MAX: i32 = 10;
/// What lies before a lost lease: no message of that number, or a newer hand-out.
const LEASE_LOST: [&str; 2] = ["SR003", "SR004"];

/// An ended connection leaves it open what was done. Whatever else PostgreSQL refuses, a deadlock
/// too, it must not refuse.
fn failure(error: Error) -> Failure {
    if error.is_closed() {
        return Failure::Away(error.to_string());
    }
    let away = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
    ];
    match error.code() {
        Some(code) if away.contains(code) => Failure::Away(error.to_string()),
        Some(code) if LEASE_LOST.contains(&code.code()) => Failure::Refused(error.to_string()),
        _ => Failure::Broken(error.into()),
    }
}

fn milliseconds(duration_ms: u64) -> Result<i64, Failure> {
    Ok(i64::try_from(duration_ms).context("a duration beyond 2^63 ms")?)
}

impl SqlClient {
    async fn begin(&mut self) -> Result<(Transaction<'_>, bool), Failure> {
        self.transactions += 1;
        let stays = self.stays || !self.transactions.is_multiple_of(ROLLED_BACK_EVERY);
        Ok((self.connection.transaction().await.map_err(failure)?, stays))
    }
}

/// Commits what is to stay, and takes back the rest.
async fn end(transaction: Transaction<'_>, stays: bool) -> Result<(), Failure> {
    if stays {
        return transaction.commit().await.map_err(failure);
    }
    transaction.rollback().await.map_err(failure)?;
    Err(Failure::Withdrawn)
}

impl Client for SqlClient {
    const STRICT: bool = true;
    const SESSION: bool = false;
    const EXTENDED_MS: u64 = LEASE_MAX_MS;

    async fn open(places: &Places) -> Result<SqlClient> {
        let address = places.database.as_deref().context("no database to speak SQL to")?;
        Ok(SqlClient { connection: connect(address).await?, transactions: 0, stays: false })
    }

    fn stay(&mut self) {
        self.stays = true;
    }

    fn queues() -> Vec<&'static Rules> {
        queues::ALL.iter().collect()
    }

    async fn send(&mut self, queue: &Rules, messages: &mut [Sending]) -> Result<(), Failure> {
        let (transaction, stays) = self.begin().await?;
        let send = include_str!("../../../queries/crash_send.sql");
        for message in messages.iter_mut() {
            let delay_ms = milliseconds(message.delay_ms)?;
            let body = payload::written(&message.body).into_bytes();
            let row = transaction
                .query_one(send, &[&queue.name, &body, &delay_ms, &message.group, &message.dedup])
                .await
                .map_err(failure)?;
            message.id = Some(row.try_get::<_, i64>(0).map_err(failure)?.to_string());
        }
        end(transaction, stays).await
    }

    /// SQL does not wait for messages.
    async fn receive(&mut self, queue: &Rules, _: u32) -> Result<Vec<Delivery>, Failure> {
        let (transaction, stays) = self.begin().await?;
        let receive = include_str!("../../../queries/crash_receive.sql");
        let lease_ms = milliseconds(LEASE_MS)?;
        let rows = transaction
            .query(receive, &[&queue.name, &RECEIVED_MAX, &lease_ms])
            .await
            .map_err(failure)?;
        let mut deliveries = Vec::new();
        for row in rows {
            let body: Vec<u8> = row.try_get(1).map_err(failure)?;
            let attempts: i64 = row.try_get(2).map_err(failure)?;
            deliveries.push(Delivery {
                body: payload::read(&body, None)?,
                receipt: row.try_get(0).map_err(failure)?,
                count: u32::try_from(attempts).ok(),
                lease_ms: LEASE_MS,
                session: false,
                answered_ns: None,
            });
        }
        end(transaction, stays).await?;
        Ok(deliveries)
    }

    /// All of them or none.
    async fn ack(&mut self, _: &Rules, entries: &mut [Entry]) -> Result<(), Failure> {
        let (transaction, stays) = self.begin().await?;
        let receipts: Vec<&str> = entries.iter().map(|entry| &*entry.receipt).collect();
        let ack = include_str!("../../../queries/sql_ack.sql");
        transaction.execute(ack, &[&receipts]).await.map_err(failure)?;
        end(transaction, stays).await?;
        entries.iter_mut().for_each(|entry| entry.done = true);
        Ok(())
    }

    async fn nack(&mut self, _: &Rules, entry: &Entry, delay_ms: u64) -> Result<(), Failure> {
        let (transaction, stays) = self.begin().await?;
        let nack = include_str!("../../../queries/crash_nack.sql");
        let delay_ms = milliseconds(delay_ms)?;
        transaction.execute(nack, &[&entry.receipt, &delay_ms]).await.map_err(failure)?;
        end(transaction, stays).await
    }

    async fn extend(&mut self, _: &Rules, entry: &Entry) -> Result<(), Failure> {
        let (transaction, stays) = self.begin().await?;
        let extend = include_str!("../../../queries/crash_extend.sql");
        let lease_ms = milliseconds(Self::EXTENDED_MS)?;
        transaction.execute(extend, &[&entry.receipt, &lease_ms]).await.map_err(failure)?;
        end(transaction, stays).await
    }
}
