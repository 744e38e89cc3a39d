//! The system `slipring-sql`: our functions for users of SQL, on connections of its own. The engine
//! beside it is the server that such users need: it ends delays and leases and rotates the tables.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use futures::future::try_join_all;
use slipring_postgres::Address;
use tokio::sync::Mutex;
use tokio_postgres::Client;

use super::engine::{Native, queue_names};
use super::environment::Environment;
use super::job::Job;
use super::session::{Session, Sessions};
use super::system::{
    Claimed, Depths, Feeder, Finished, Intake, Outcome, SETTLERS, System, Verdict,
};

/// Between two looks that found nothing: from the first to the last of a row of them.
const PAUSE_MIN: Duration = Duration::from_millis(2);
const PAUSE_MAX: Duration = Duration::from_millis(10);

const SEND: [&str; 1] = [include_str!("../../queries/adapter_send.sql")];
const RECEIVE: [&str; 1] = [include_str!("../../queries/adapter_receive.sql")];
const SETTLE: [&str; 2] =
    [include_str!("../../queries/sql_ack.sql"), include_str!("../../queries/adapter_nack.sql")];
const STATS: [&str; 1] = [include_str!("../../queries/adapter_stats.sql")];

/// The queues, as users of SQL see them.
pub struct BySql {
    beside: Native,
    address: Address,
    names: Vec<String>,
    lease: Duration,
    senders: Sessions,
    settlers: Vec<Mutex<Session>>,
    looker: Mutex<Session>,
}

impl BySql {
    /// The queues of an engine that runs beside.
    ///
    /// # Errors
    /// When the address is none.
    pub fn new(environment: &Environment, beside: Native) -> Result<BySql> {
        let address: Address = environment.database_url.parse().map_err(anyhow::Error::msg)?;
        let session = |texts| Mutex::new(Session::new(&address, texts));
        Ok(BySql {
            beside,
            names: queue_names(environment.queues),
            lease: environment.lease,
            senders: Sessions::new(&address, &SEND),
            settlers: (0..SETTLERS).map(|_| session(&SETTLE)).collect(),
            looker: session(&STATS),
            address,
        })
    }
}

impl Intake for BySql {
    async fn send(&self, queue: usize, jobs: &[(u32, Bytes)]) -> Result<()> {
        let name = self.names.get(queue).context("a queue that was not made")?;
        let mut by_priority: BTreeMap<u32, Vec<&[u8]>> = BTreeMap::new();
        for (priority, body) in jobs {
            by_priority.entry(*priority).or_default().push(body);
        }
        let mut session = self.senders.free().await;
        let (client, statement) = session.statement(0).await?;
        let transaction = client.transaction().await?;
        for (priority, bodies) in by_priority {
            let parameters = (name, &bodies, i64::from(priority));
            let row = transaction
                .query_one(&statement, &[&parameters.0, &parameters.1, &parameters.2])
                .await?;
            if usize::try_from(row.try_get::<_, i32>(0)?) != Ok(bodies.len()) {
                bail!("{} jobs were sent, and not all taken", bodies.len());
            }
        }
        Ok(transaction.commit().await?)
    }

    async fn depths(&self) -> Result<Depths> {
        let mut session = self.looker.lock().await;
        let (client, statement) = session.statement(0).await?;
        let client: &Client = client;
        let names: Vec<[&(dyn tokio_postgres::types::ToSql + Sync); 1]> =
            self.names.iter().map(|name| [name as _]).collect();
        let looks = names.iter().map(|name| client.query_one(&statement, name));
        let mut depths = Depths::default();
        for row in try_join_all(looks).await? {
            let count =
                |at: usize| -> Result<u64> { Ok(u64::try_from(row.try_get::<_, i64>(at)?)?) };
            depths.ready += count(0)?;
            depths.running += count(1)?;
            depths.retryable += count(2)?;
        }
        Ok(depths)
    }

    async fn stop(&self) {
        self.beside.stop().await;
    }
}

impl System for BySql {
    type Receipt = String;
    type Feeder = SqlFeeder;

    fn feeders(&self) -> Vec<SqlFeeder> {
        let feeder = |(queue, name): (usize, &String)| SqlFeeder {
            session: Session::new(&self.address, &RECEIVE),
            queue,
            name: name.clone(),
            lease_ms: i64::try_from(self.lease.as_millis()).unwrap_or(i64::MAX),
            pause: PAUSE_MIN,
        };
        self.names.iter().enumerate().map(feeder).collect()
    }

    async fn settle(&self, settler: usize, finished: &[Finished<String>]) -> Result<Vec<Verdict>> {
        let settler = self.settlers.get(settler).context("a settler that is not there")?;
        let mut session = settler.lock().await;
        let mut verdicts = vec![Verdict::Again; finished.len()];
        for outcome in [Outcome::Done, Outcome::Retry, Outcome::GiveUp, Outcome::HandBack] {
            let of_it = finished.iter().enumerate().filter(|(_, f)| f.outcome == outcome);
            let (places, receipts): (Vec<usize>, Vec<&str>) =
                of_it.map(|(at, f)| (at, f.claimed.receipt.as_str())).unzip();
            if receipts.is_empty() {
                continue;
            }
            let answers = match outcome {
                Outcome::Done => ack(&mut session, &receipts).await?,
                Outcome::Retry | Outcome::GiveUp => nack(&mut session, &receipts, None).await?,
                Outcome::HandBack => nack(&mut session, &receipts, Some(0)).await?,
            };
            for (at, answer) in places.into_iter().zip(answers) {
                if let Some(verdict) = verdicts.get_mut(at) {
                    *verdict = answer;
                }
            }
        }
        Ok(verdicts)
    }
}

/// Acks all; where one of them is refused, each by itself.
async fn ack(session: &mut Session, receipts: &[&str]) -> Result<Vec<Verdict>> {
    let (client, statement) = session.statement(0).await?;
    let refused = match client.query_one(&statement, &[&receipts]).await {
        Ok(_) => return Ok(vec![Verdict::Settled; receipts.len()]),
        Err(error) => error,
    };
    let Some(verdict) = refusal(&refused) else { return Err(refused.into()) };
    if receipts.len() == 1 {
        return Ok(vec![verdict]);
    }
    let mut verdicts = Vec::with_capacity(receipts.len());
    for receipt in receipts {
        let one = [*receipt];
        verdicts.push(match client.query_one(&statement, &[&one.as_slice()]).await {
            Ok(_) => Verdict::Settled,
            // What was acked until then is found gone when it is tried again.
            Err(error) => refusal(&error).ok_or(error)?,
        });
    }
    Ok(verdicts)
}

/// What a refusal of a single ack means; nothing where it says nothing about the message.
fn refusal(error: &tokio_postgres::Error) -> Option<Verdict> {
    match error.code()?.code() {
        "SR003" => Some(Verdict::Gone),
        "SR001" | "SR004" | "SR005" => Some(Verdict::Lost),
        _ => None,
    }
}

async fn nack(
    session: &mut Session,
    receipts: &[&str],
    delay_ms: Option<i64>,
) -> Result<Vec<Verdict>> {
    let (client, statement) = session.statement(1).await?;
    let row = client.query_one(&statement, &[&receipts, &delay_ms]).await?;
    let answers: Vec<String> = row.try_get(0)?;
    let verdict = |answer: &String| match answer.as_str() {
        "lease_lost" => Verdict::Lost,
        "message_gone" => Verdict::Gone,
        _ => Verdict::Settled,
    };
    Ok(answers.iter().map(verdict).collect())
}

/// Receives from one queue.
pub struct SqlFeeder {
    session: Session,
    queue: usize,
    name: String,
    lease_ms: i64,
    pause: Duration,
}

impl Feeder for SqlFeeder {
    type Receipt = String;

    async fn receive(&mut self, up_to: u32) -> Result<Vec<Claimed<String>>> {
        let up_to = i32::try_from(up_to)?;
        let (client, statement) = self.session.statement(0).await?;
        let rows = client.query(&statement, &[&self.name, &up_to, &self.lease_ms]).await?;
        self.pause = match rows.is_empty() {
            true => (self.pause * 2).min(PAUSE_MAX),
            false => PAUSE_MIN,
        };
        let queue = self.queue;
        let claimed = rows.iter().map(|row| -> Result<Claimed<String>> {
            Ok(Claimed {
                receipt: row.try_get(0)?,
                queue,
                job: Job::of(row.try_get(1)?),
                priority: u32::try_from(row.try_get::<_, i64>(2)?)?,
                attempts: u32::try_from(row.try_get::<_, i64>(3)?)?,
            })
        });
        claimed.collect()
    }

    fn pause(&self) -> Duration {
        self.pause
    }
}
