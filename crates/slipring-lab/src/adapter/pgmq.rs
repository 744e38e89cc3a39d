//! The system `pgmq`: `send_batch`, `read` and `delete` of arrays, as its users call them. A job
//! that failed is made visible again by `set_vt`, one that failed for good goes to the archive.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use slipring_postgres::Address;
use tokio::sync::Mutex;
use tokio_postgres::types::ToSql;

use super::environment::{Environment, PRIORITY_DEFAULT};
use super::job::Job;
use super::session::{Session, Sessions};
use super::system::{
    Claimed, Depths, Feeder, Finished, Intake, Outcome, SETTLERS, System, Verdict,
};

/// Between two looks that found nothing.
const PAUSE: Duration = Duration::from_millis(10);
/// Seconds until a job that failed comes again.
const AGAIN_S: i32 = 1;

const SEND: [&str; 1] = [include_str!("../../queries/pgmq_send.sql")];
const READ: [&str; 1] = [include_str!("../../queries/adapter_pgmq_read.sql")];
const SETTLE: [&str; 3] = [
    include_str!("../../queries/adapter_pgmq_delete.sql"),
    include_str!("../../queries/adapter_pgmq_archive.sql"),
    include_str!("../../queries/adapter_pgmq_give_back.sql"),
];
const DEPTH: [&str; 1] = [include_str!("../../queries/adapter_pgmq_depth.sql")];

/// The names of the queues, as many as asked for.
pub fn queue_names(queues: usize) -> Vec<String> {
    match queues {
        1 => vec!["bench".to_owned()],
        _ => (0..queues).map(|number| format!("bench_{number}")).collect(),
    }
}

/// Queues of pgmq.
pub struct Pgmq {
    address: Address,
    names: Vec<String>,
    lease_s: i32,
    senders: Sessions,
    settlers: Vec<Mutex<Session>>,
    looker: Mutex<Session>,
}

impl Pgmq {
    /// Makes the queues, where they are not there yet.
    ///
    /// # Errors
    /// When the database is not reached, or has no pgmq.
    pub async fn open(environment: &Environment) -> Result<Pgmq> {
        let address: Address = environment.database_url.parse().map_err(anyhow::Error::msg)?;
        let client = address.connect("slipring-lab adapter").await?;
        let names = queue_names(environment.queues);
        for name in &names {
            let create = include_str!("../../queries/pgmq_create.sql");
            client.execute(create, &[name]).await.context("making a queue of pgmq")?;
        }
        let session = |texts| Mutex::new(Session::new(&address, texts));
        Ok(Pgmq {
            names,
            lease_s: i32::try_from(environment.lease.as_millis().div_ceil(1000))?,
            senders: Sessions::new(&address, &SEND),
            settlers: (0..SETTLERS).map(|_| session(&SETTLE)).collect(),
            looker: session(&DEPTH),
            address,
        })
    }
}

impl Intake for Pgmq {
    async fn send(&self, queue: usize, jobs: &[(u32, Bytes)]) -> Result<()> {
        let name = self.names.get(queue).context("a queue that was not made")?;
        // A body holds nothing that JSON would escape.
        let json = |(_, body): &(u32, Bytes)| Ok(format!("\"{}\"", std::str::from_utf8(body)?));
        let bodies = jobs.iter().map(json).collect::<Result<Vec<String>>>()?;
        let mut session = self.senders.free().await;
        let (client, statement) = session.statement(0).await?;
        let row = client.query_one(&statement, &[name, &bodies]).await?;
        if usize::try_from(row.try_get::<_, i64>(0)?) != Ok(jobs.len()) {
            bail!("{} jobs were sent, and not all taken", jobs.len());
        }
        Ok(())
    }

    async fn depths(&self) -> Result<Depths> {
        let mut session = self.looker.lock().await;
        let (client, statement) = session.statement(0).await?;
        let mut depths = Depths::default();
        for name in &self.names {
            let row = client.query_one(&statement, &[name]).await?;
            depths.ready += u64::try_from(row.try_get::<_, i64>(0)?)?;
            // What failed waits like what is worked on: both are invisible for a time.
            depths.running += u64::try_from(row.try_get::<_, i64>(1)?)?;
        }
        Ok(depths)
    }

    async fn stop(&self) {}
}

impl System for Pgmq {
    type Receipt = i64;
    type Feeder = PgmqFeeder;

    fn feeders(&self) -> Vec<PgmqFeeder> {
        let feeder = |(queue, name): (usize, &String)| PgmqFeeder {
            session: Session::new(&self.address, &READ),
            queue,
            name: name.clone(),
            lease_s: self.lease_s,
        };
        self.names.iter().enumerate().map(feeder).collect()
    }

    async fn settle(&self, settler: usize, finished: &[Finished<i64>]) -> Result<Vec<Verdict>> {
        let settler = self.settlers.get(settler).context("a settler that is not there")?;
        let mut session = settler.lock().await;
        let mut verdicts = vec![Verdict::Again; finished.len()];
        for (number, name) in self.names.iter().enumerate() {
            for outcome in [Outcome::Done, Outcome::Retry, Outcome::GiveUp, Outcome::HandBack] {
                let of_it = finished.iter().enumerate();
                let of_it =
                    of_it.filter(|(_, f)| f.claimed.queue == number && f.outcome == outcome);
                let (places, ids): (Vec<usize>, Vec<i64>) =
                    of_it.map(|(at, f)| (at, f.claimed.receipt)).unzip();
                if ids.is_empty() {
                    continue;
                }
                let there = settled(&mut session, name, outcome, &ids).await?;
                for (at, id) in places.into_iter().zip(&ids) {
                    if let Some(verdict) = verdicts.get_mut(at) {
                        let found = there.contains(id);
                        *verdict = if found { Verdict::Settled } else { Verdict::Gone };
                    }
                }
            }
        }
        Ok(verdicts)
    }
}

/// Settles messages of one queue alike; answers the ids of those that were there.
async fn settled(
    session: &mut Session,
    name: &String,
    outcome: Outcome,
    ids: &[i64],
) -> Result<Vec<i64>> {
    let statement_of = match outcome {
        Outcome::Done => 0,
        Outcome::GiveUp => 1,
        Outcome::Retry | Outcome::HandBack => 2,
    };
    let seconds = if outcome == Outcome::Retry { AGAIN_S } else { 0 };
    let (client, statement) = session.statement(statement_of).await?;
    let two: [&(dyn ToSql + Sync); 2] = [name, &ids];
    let three: [&(dyn ToSql + Sync); 3] = [name, &ids, &seconds];
    let parameters = if statement_of == 2 { &three[..] } else { &two[..] };
    let rows = client.query(&statement, parameters).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// Reads from one queue.
pub struct PgmqFeeder {
    session: Session,
    queue: usize,
    name: String,
    lease_s: i32,
}

impl Feeder for PgmqFeeder {
    type Receipt = i64;

    async fn receive(&mut self, up_to: u32) -> Result<Vec<Claimed<i64>>> {
        let up_to = i32::try_from(up_to)?;
        let (client, statement) = self.session.statement(0).await?;
        let rows = client.query(&statement, &[&self.name, &self.lease_s, &up_to]).await?;
        let queue = self.queue;
        let claimed = rows.iter().map(|row| -> Result<Claimed<i64>> {
            Ok(Claimed {
                receipt: row.try_get(0)?,
                queue,
                job: Job::of(row.try_get::<_, &str>(1)?.as_bytes()),
                // It knows none.
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
