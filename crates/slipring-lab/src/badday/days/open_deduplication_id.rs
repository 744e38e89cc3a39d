//! A producer sends by SQL with a deduplication id, and leaves its transaction open. Senders of the
//! same id wait or are refused; no other call waits (S10.4).

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::task::{JoinHandle, JoinSet};
use tokio_postgres::Client;

use crate::badday::admin;
use crate::badday::day::{About, Day, SINGLE};
use crate::badday::open::{self, Calls, Open, PATIENCE, Seen, UNFELT_MS};
use crate::badday::stage::Stage;
use crate::run::condition::Condition;
use crate::targets::Kind;

/// The others by SQL: who sends the same id waits for the end of the transaction.
#[derive(Default)]
pub struct BySql {
    open: Option<Open>,
    first: i64,
    second: i64,
    same: Option<JoinHandle<Result<i64>>>,
    different: Arc<Calls>,
    tasks: JoinSet<Result<()>>,
    seen: Seen,
}

/// The others by the server: it does not wait for the id, and says that it is to be sent later.
#[derive(Default)]
pub struct ByServer {
    open: Option<Open>,
    same: Arc<Calls>,
    different: Arc<Calls>,
    tasks: JoinSet<Result<()>>,
    seen: Seen,
    duplicates: usize,
}

/// The id of the open transaction.
const ID: &str = "open";
/// Between two sends of one caller.
const PAUSE: Duration = Duration::from_millis(100);
/// So long a server's call takes more that has such an id, and what it sends to the queue in the
/// same call: 0.2 s and 1 ms for the one caller who sends it.
const CALL_MS: f64 = 201.0;

async fn send(session: &Client, id: &str) -> Result<i64> {
    let send = include_str!("../../../queries/open_send_id.sql");
    let (queue, bodies) = (open::queue(), open::bodies(1));
    let body = bodies.first().context("no body")?.as_slice();
    let row = session.query_one(send, &[&queue, &body, &id]).await;
    Ok(row.with_context(|| format!("sending with the id {id:?}"))?.try_get(0)?)
}

/// The transaction that has sent, and the number of its message.
async fn opened(stage: &Stage<'_>) -> Result<(Open, i64)> {
    let open = Open::begin(stage).await?;
    let first = send(&open.session, ID).await?;
    Ok((open, first))
}

/// What a caller found that was to go on; it ends.
fn ended(tasks: &mut JoinSet<Result<()>>) -> Result<()> {
    let ended = tasks.try_join_next();
    tasks.abort_all();
    ended.map_or(Ok(()), |ended| ended.context("a task panicked")?)
}

impl Day for BySql {
    const ABOUT: About = About {
        name: "open-deduplication-id",
        what: "a send by SQL with a deduplication id stays open in its transaction; others by SQL",
        contenders: &[Kind::Sql],
        stall_ms_max: UNFELT_MS,
        recovery_s_max: 2.0,
        load: SINGLE,
    };

    async fn prepare(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        open::create(&stage.session().await?, &open::queue()).await
    }

    async fn strike(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let (open, first) = opened(stage).await?;
        let (same, different) = (stage.session().await?, stage.session().await?);
        self.same = Some(tokio::spawn(async move { send(&same, ID).await }));
        open.awaited(stage).await?;
        let calls = Arc::clone(&self.different);
        self.tasks.spawn(async move {
            for number in 0u64.. {
                calls.count(send(&different, &format!("other-{number}"))).await?;
                tokio::time::sleep(PAUSE).await;
            }
            Ok(())
        });
        (self.open, self.first) = (Some(open), first);
        Ok(())
    }

    async fn relent(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let sent = || self.different.answered() > 0.0;
        open::until("a send with another id", sent).await?;
        ended(&mut self.tasks)?;
        let same = self.same.take().context("no send of the same id was begun")?;
        if same.is_finished() {
            bail!("a send of the same id did not wait: {:?}", same.await);
        }
        self.seen = Open::commit(&mut self.open, stage).await?;
        let second = tokio::time::timeout(PATIENCE, same).await;
        self.second = second.context("a send of the same id goes on waiting")???;
        Ok(())
    }

    async fn check(&mut self, _: &mut Stage<'_>) -> Result<Vec<Condition>> {
        let (sent, longest_ms) = (self.different.answered(), self.different.longest_ms());
        let one = f64::from(u8::from(self.second == self.first));
        let text = "answered with the first message's number after its end".to_owned();
        let own = vec![
            self.seen.waited("waiting for it then, to send the same id"),
            Condition::at_least(text, "sends", one, 1.0),
            Condition::at_least("sends with other ids".to_owned(), "messages", sent, 1.0),
            Condition::at_most("longest send with another id", "ms", longest_ms, UNFELT_MS),
        ];
        Ok([self.seen.conditions(0), own].concat())
    }
}

/// Sends by the server; answers whether it was a duplicate, or nothing when it is to be sent later.
async fn post(address: &str, id: &str) -> Result<Option<bool>> {
    let path = format!("/v1/queues/{}/messages", open::queue());
    let bodies = open::bodies(1);
    let body = std::str::from_utf8(bodies.first().context("no body")?)?;
    let message = serde_json::json!({"body": body, "priority": 0, "dedup_id": id});
    let request = serde_json::json!({"messages": [message]});
    let (status, answer) = admin::post(address, &path, &request).await?;
    let fact = |name: &str| answer.pointer(name).cloned().unwrap_or_default();
    match (fact("/kind").as_str(), fact("/retry").as_str(), fact("/sent/0/duplicate").as_bool()) {
        (_, _, Some(duplicate)) if status == 200 => Ok(Some(duplicate)),
        (Some("storage_unavailable"), Some("later"), _) => Ok(None),
        _ => bail!("a send with the id {id:?} was answered {status}: {answer}"),
    }
}

impl Day for ByServer {
    const ABOUT: About = About {
        name: "open-deduplication-id-server",
        what: "a send by SQL with a deduplication id stays open; the server is sent that id too",
        contenders: &[Kind::PostgresServer],
        stall_ms_max: UNFELT_MS + CALL_MS,
        ..BySql::ABOUT
    };

    async fn prepare(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        open::create(&stage.session().await?, &open::queue()).await
    }

    async fn strike(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let (open, _) = opened(stage).await?;
        self.open = Some(open);
        let (same, different) = (Arc::clone(&self.same), Arc::clone(&self.different));
        let address = stage.addresses().admin.clone();
        let other = address.clone();
        self.tasks.spawn(async move {
            loop {
                if let Some(duplicate) = same.count(post(&address, ID)).await? {
                    bail!("a send of the same id was taken, as a duplicate: {duplicate}");
                }
                tokio::time::sleep(PAUSE).await;
            }
        });
        self.tasks.spawn(async move {
            for number in 0u64.. {
                let id = format!("other-{number}");
                if different.count(post(&other, &id)).await? != Some(false) {
                    bail!("a send with the id {id:?} was not taken");
                }
                tokio::time::sleep(PAUSE).await;
            }
            Ok(())
        });
        Ok(())
    }

    async fn relent(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let answered = || self.same.answered() > 0.0 && self.different.answered() > 0.0;
        open::until("an answer of the server to both senders", answered).await?;
        ended(&mut self.tasks)?;
        self.seen = Open::commit(&mut self.open, stage).await?;
        let after = post(&stage.addresses().admin, ID).await?;
        self.duplicates = usize::from(after == Some(true));
        Ok(())
    }

    async fn check(&mut self, _: &mut Stage<'_>) -> Result<Vec<Condition>> {
        let (same, different) = (&self.same, &self.different);
        let refused = "sends of the same id, to be sent again later".to_owned();
        let duplicate = "answered as a duplicate after its end".to_owned();
        let longest = |what: &str, calls: &Calls| {
            let text = format!("longest send with {what}");
            Condition::at_most(&text, "ms", calls.longest_ms(), UNFELT_MS + CALL_MS)
        };
        let (one, sent) = (self.duplicates as f64, different.answered());
        let own = vec![
            Condition::at_least(refused, "sends", same.answered(), 1.0),
            longest("the same id", same),
            Condition::at_least("sends with other ids".to_owned(), "messages", sent, 1.0),
            longest("another id", different),
            Condition::at_least(duplicate, "sends", one, 1.0),
        ];
        Ok([self.seen.conditions(0), own].concat())
    }
}
