//! The troubles of the scenarios.

use std::time::Duration;

use anyhow::{Context, Result};
use tokio::task::AbortHandle;
use tokio_postgres::{Client, SimpleQueryMessage};

use super::stage::Stage;
use crate::targets::postgres::connect_as;
use crate::time::wall_ms;

/// So many times the load.
const MORE_LOAD: f64 = 1.5;
/// Sessions that read, and the time between two scans of one.
const READERS: usize = 4;
const SCAN_AGAIN: Duration = Duration::from_millis(100);
/// Between two rounds of ending sessions, in milliseconds.
const TERMINATE_EVERY_MS: u64 = 500;
/// Connections that are held.
const IDLE_CONNECTIONS: usize = 300;
/// How often a replica is killed in its phase, and how long it is down each time.
const KILLS: u64 = 6;
const DOWN_MS: u64 = 1000;

/// A trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stress {
    /// A session holds a transaction with an id.
    IdleInTransaction,
    /// Sessions at REPEATABLE READ scan the declared tables.
    ActiveReaders,
    /// More jobs are offered.
    MoreLoad,
    /// PostgreSQL is stopped, and started again after half of the phase.
    DatabaseRestart,
    /// Sessions are ended again and again.
    BackendsTerminated,
    /// Others hold connections.
    IdleConnections,
    /// The first replica is killed, and started again after the phase.
    ReplicaKilled,
    /// The first replica is killed and started again and again.
    ReplicaKilledAgain,
}

/// What goes on until it is dropped.
#[derive(Default)]
pub struct Held {
    sessions: Vec<Client>,
    readers: Vec<AbortHandle>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.readers.iter().for_each(AbortHandle::abort);
    }
}

impl Stress {
    /// So many times the offered rate is offered under it.
    pub fn load(self) -> f64 {
        if self == Stress::MoreLoad { MORE_LOAD } else { 1.0 }
    }

    /// Makes the trouble, and lets it go on until a moment; it goes on after that as long as what
    /// is answered.
    ///
    /// # Errors
    /// When it cannot be made, or an adapter ends by itself.
    pub async fn make(self, stage: &mut Stage<'_>, until_ms: u64) -> Result<Held> {
        let mut held = Held::default();
        match self {
            Stress::IdleInTransaction => {
                let session = stage.session().await?;
                session.batch_execute(include_str!("../../queries/benchmark_hold_id.sql")).await?;
                held.sessions.push(session);
            }
            Stress::ActiveReaders => {
                for _ in 0..READERS {
                    let reading = read(stage.url(), stage.tables.clone());
                    held.readers.push(tokio::spawn(reading).abort_handle());
                }
            }
            Stress::MoreLoad => stage.load(self.load()),
            Stress::DatabaseRestart => {
                stage.place.cluster.stop()?;
                let now = wall_ms();
                stage.wait_until(now + until_ms.saturating_sub(now) / 2).await?;
                stage.place.cluster.restart().await?;
            }
            Stress::BackendsTerminated => terminate(stage, until_ms).await?,
            Stress::IdleConnections => hold(stage, &mut held).await,
            Stress::ReplicaKilled => stage.kill(0)?,
            Stress::ReplicaKilledAgain => kill_again(stage, until_ms).await?,
        }
        stage.wait_until(until_ms).await?;
        Ok(held)
    }

    /// Ends the trouble; whatever is down is started again.
    ///
    /// # Errors
    /// When something does not start.
    pub async fn relent(self, stage: &mut Stage<'_>, held: Held) -> Result<()> {
        drop(held);
        match self {
            Stress::MoreLoad => stage.load(1.0),
            Stress::ReplicaKilled => stage.start(0).await?,
            _ => {}
        }
        Ok(())
    }
}

/// Scans all tables again and again in one transaction, which begins anew when it fails.
async fn read(url: String, tables: Vec<String>) {
    loop {
        if let Ok(client) = connect_as(&url, "slipring-lab benchmark").await {
            // A table may have gone, or been emptied in a way that an old snapshot does not see.
            let _ = scan(&client, &tables).await;
        }
        tokio::time::sleep(SCAN_AGAIN).await;
    }
}

async fn scan(client: &Client, tables: &[String]) -> Result<()> {
    client.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ").await?;
    loop {
        for table in tables {
            let (schema, name) = table.split_once('.').context("a table without a schema")?;
            let [schema, name] = [schema, name].map(|part| part.replace('"', "\"\""));
            let scan = format!("SELECT count(*) FROM \"{schema}\".\"{name}\"");
            let _rows: Vec<SimpleQueryMessage> = client.simple_query(&scan).await?;
        }
        tokio::time::sleep(SCAN_AGAIN).await;
    }
}

/// Ends sessions until a moment.
async fn terminate(stage: &mut Stage<'_>, until_ms: u64) -> Result<()> {
    let admin = stage.place.cluster.admin().await?;
    let (statement, database) =
        (include_str!("../../queries/benchmark_terminate.sql"), stage.database().to_owned());
    let mut ended = 0;
    let mut at = wall_ms();
    while at < until_ms {
        let row = admin.query_one(statement, &[&database]).await.context("ending sessions")?;
        ended += row.try_get::<_, i64>(0)?;
        at += TERMINATE_EVERY_MS;
        stage.wait_until(at.min(until_ms)).await?;
    }
    stage.notes.push(format!("{ended} sessions were ended"));
    Ok(())
}

/// Takes connections, as many as there are to have.
async fn hold(stage: &mut Stage<'_>, held: &mut Held) {
    while held.sessions.len() < IDLE_CONNECTIONS {
        match stage.session().await {
            Ok(session) => held.sessions.push(session),
            Err(_) => break,
        }
    }
    stage.notes.push(format!("{} connections were held", held.sessions.len()));
}

/// Kills the first replica and starts it again, evenly until a moment.
async fn kill_again(stage: &mut Stage<'_>, until_ms: u64) -> Result<()> {
    let begun = wall_ms();
    let period = until_ms.saturating_sub(begun) / KILLS;
    for kill in 1..=KILLS {
        let (at, down) = (begun + kill * period, DOWN_MS.min(period / 4));
        stage.wait_until(at.saturating_sub(down)).await?;
        stage.kill(0)?;
        stage.wait_until(at).await?;
        stage.start(0).await?;
    }
    Ok(())
}
