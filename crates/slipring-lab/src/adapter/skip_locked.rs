//! The system `skip-locked`: the table that everybody writes first. A claim marks rows, an ack
//! deletes them, a job that failed is ready again at once, and once a second what was claimed too
//! long ago is made ready again. It has no priorities and no dead letters.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bytes::Bytes;
use slipring_postgres::Address;
use tokio::sync::Mutex;

use super::engine::queue_names;
use super::environment::{Environment, PRIORITY_DEFAULT};
use super::job::Job;
use super::session::{Session, Sessions};
use super::system::{
    Claimed, Depths, Feeder, Finished, Intake, Outcome, SETTLERS, System, Verdict,
};

/// Between two looks that found nothing.
const PAUSE: Duration = Duration::from_millis(10);
/// Between two looks for claims that are over.
const EXPIRE_EVERY: Duration = Duration::from_secs(1);

const SEND: [&str; 1] = [include_str!("../../queries/skip_locked_send.sql")];
const CLAIM: [&str; 2] = [
    include_str!("../../queries/skip_locked_claim.sql"),
    include_str!("../../queries/adapter_skip_locked_expire.sql"),
];
const SETTLE: [&str; 2] = [
    include_str!("../../queries/skip_locked_ack.sql"),
    include_str!("../../queries/skip_locked_give_back.sql"),
];
const DEPTH: [&str; 1] = [include_str!("../../queries/adapter_skip_locked_depth.sql")];

/// A table that is a queue.
pub struct SkipLocked {
    address: Address,
    names: Vec<String>,
    senders: Sessions,
    settlers: Vec<Mutex<Session>>,
    looker: Mutex<Session>,
}

impl SkipLocked {
    /// Makes the table, where it is not there yet.
    ///
    /// # Errors
    /// When the database is not reached.
    pub async fn open(environment: &Environment) -> Result<SkipLocked> {
        let address: Address = environment.database_url.parse().map_err(anyhow::Error::msg)?;
        let client = address.connect("slipring-lab adapter").await?;
        client.batch_execute(include_str!("../../queries/skip_locked_table.sql")).await?;
        let session = |texts| Mutex::new(Session::new(&address, texts));
        Ok(SkipLocked {
            names: queue_names(environment.queues),
            senders: Sessions::new(&address, &SEND),
            settlers: (0..SETTLERS).map(|_| session(&SETTLE)).collect(),
            looker: session(&DEPTH),
            address,
        })
    }
}

impl Intake for SkipLocked {
    async fn send(&self, queue: usize, jobs: &[(u32, Bytes)]) -> Result<()> {
        let name = self.names.get(queue).context("a queue that was not made")?;
        let bodies: Vec<&[u8]> = jobs.iter().map(|(_, body)| body.as_ref()).collect();
        let mut session = self.senders.free().await;
        let (client, statement) = session.statement(0).await?;
        client.execute(&statement, &[name, &bodies]).await?;
        Ok(())
    }

    async fn depths(&self) -> Result<Depths> {
        let mut session = self.looker.lock().await;
        let (client, statement) = session.statement(0).await?;
        let row = client.query_one(&statement, &[]).await?;
        Ok(Depths {
            ready: u64::try_from(row.try_get::<_, i64>(0)?)?,
            running: u64::try_from(row.try_get::<_, i64>(1)?)?,
            retryable: 0,
        })
    }

    async fn stop(&self) {}
}

impl System for SkipLocked {
    type Receipt = i64;
    type Feeder = SkipLockedFeeder;

    fn feeders(&self) -> Vec<SkipLockedFeeder> {
        let feeder = |(queue, name): (usize, &String)| SkipLockedFeeder {
            session: Session::new(&self.address, &CLAIM),
            queue,
            name: name.clone(),
            expired_at: Instant::now(),
        };
        self.names.iter().enumerate().map(feeder).collect()
    }

    /// Whoever holds a row's number settles it: nothing tells that the claim was over, or the row
    /// gone.
    async fn settle(&self, settler: usize, finished: &[Finished<i64>]) -> Result<Vec<Verdict>> {
        let settler = self.settlers.get(settler).context("a settler that is not there")?;
        let mut session = settler.lock().await;
        let ends = |outcome| matches!(outcome, Outcome::Done | Outcome::GiveUp);
        for (at, ended) in [true, false].into_iter().enumerate() {
            let of_it = finished.iter().filter(|f| ends(f.outcome) == ended);
            let ids: Vec<i64> = of_it.map(|f| f.claimed.receipt).collect();
            if ids.is_empty() {
                continue;
            }
            let (client, statement) = session.statement(at).await?;
            client.execute(&statement, &[&ids]).await?;
        }
        Ok(vec![Verdict::Settled; finished.len()])
    }
}

/// Claims from one queue.
pub struct SkipLockedFeeder {
    session: Session,
    queue: usize,
    name: String,
    expired_at: Instant,
}

impl Feeder for SkipLockedFeeder {
    type Receipt = i64;

    async fn receive(&mut self, up_to: u32) -> Result<Vec<Claimed<i64>>> {
        if self.expired_at.elapsed() > EXPIRE_EVERY {
            let (client, statement) = self.session.statement(1).await?;
            client.execute(&statement, &[&self.name]).await?;
            self.expired_at = Instant::now();
        }
        let (client, statement) = self.session.statement(0).await?;
        let rows = client.query(&statement, &[&self.name, &i64::from(up_to)]).await?;
        let queue = self.queue;
        let claimed = rows.iter().map(|row| -> Result<Claimed<i64>> {
            Ok(Claimed {
                receipt: row.try_get(0)?,
                queue,
                job: Job::of(row.try_get(1)?),
                priority: PRIORITY_DEFAULT,
                attempts: u32::try_from(row.try_get::<_, i32>(2)?)?,
            })
        });
        claimed.collect()
    }

    fn pause(&self) -> Duration {
        PAUSE
    }
}
