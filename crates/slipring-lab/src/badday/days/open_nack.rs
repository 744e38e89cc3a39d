//! A consumer gives back by SQL one of several messages that it has received, and leaves its
//! transaction open, which has the queue's lock.
//!
//! Senders, receivers and acks by SQL do without the lock: the others use that queue. What a server
//! hands out and settles needs it: there the transaction has two queues of its own, one with a
//! limit, callers of the server crowd at both, and the others use their neighbours. In the queue
//! without a limit sends go on; in the other one they stand in line.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::task::{JoinHandle, JoinSet};
use tokio_postgres::Client;

use crate::badday::day::{About, Day, SINGLE};
use crate::badday::open::{self, Calls, Open, Seen, UNFELT_MS};
use crate::badday::stage::Stage;
use crate::body;
use crate::run::condition::Condition;
use crate::targets::{Caller, Kind, Target, TubeServer};

/// See the file's head.
#[derive(Default)]
pub struct OpenNack {
    open: Option<Open>,
    /// Of each queue, what was received of it.
    receipts: Vec<Vec<String>>,
    outcomes: Vec<String>,
    seen: Seen,
    /// An ack of another message of the same receive, and its time before the transaction ended.
    ack: Option<JoinHandle<Result<()>>>,
    ack_ms: f64,
    acks: Arc<Calls>,
    crowd: Crowd,
}

/// Callers of the server at the queues whose locks are held.
#[derive(Default)]
struct Crowd {
    plain: Vec<Arc<Calls>>,
    limited: Vec<Arc<Calls>>,
    tasks: JoinSet<()>,
    /// Answered sends to the queue with a limit, before the transaction ended and some time after.
    in_line: f64,
    after: f64,
    plain_ms: f64,
}

const PLAIN: &str = "held";
const LIMITED: &str = "held-limited";
/// Messages that are received of each queue.
const RECEIVED: usize = 5;
/// Senders, and as many receivers, at each queue.
const CALLERS: usize = 8;
const PAUSE: Duration = Duration::from_millis(20);

fn queues(stage: &Stage<'_>) -> Vec<String> {
    match stage.kind {
        Kind::Sql => vec![open::queue()],
        _ => vec![PLAIN.to_owned(), LIMITED.to_owned()],
    }
}

/// Sends some messages to a queue and receives them.
async fn received(session: &Client, queue: &str) -> Result<Vec<String>> {
    let send = include_str!("../../../queries/sql_send.sql");
    let receive = include_str!("../../../queries/open_receive.sql");
    for body in open::bodies(RECEIVED as u64) {
        session.execute(send, &[&queue, &body.as_slice()]).await.context("sending by SQL")?;
    }
    let mut receipts = Vec::new();
    while receipts.len() < RECEIVED {
        let rows = session.query(receive, &[&queue, &(RECEIVED as i32)]).await;
        let rows = rows.context("receiving by SQL")?;
        if rows.is_empty() {
            bail!("{} of {RECEIVED} messages came", receipts.len());
        }
        for row in rows {
            receipts.push(row.try_get(0)?);
        }
    }
    Ok(receipts)
}

async fn ack(session: &Client, receipts: &[String]) -> Result<()> {
    let ack = include_str!("../../../queries/sql_ack.sql");
    session.execute(ack, &[&receipts]).await.context("acking by SQL")?;
    Ok(())
}

impl Crowd {
    /// Callers come to both queues.
    async fn come(&mut self, stage: &Stage<'_>) -> Result<()> {
        for (queue, calls) in [(PLAIN, &mut self.plain), (LIMITED, &mut self.limited)] {
            for _ in 0..CALLERS {
                let own = Calls::new();
                calls.push(Arc::clone(&own));
                let sender = stage.tubes().caller(queue).await?;
                self.tasks.spawn(sends(sender, own));
                let receiver = stage.tubes().caller(queue).await?;
                self.tasks.spawn(receives(receiver));
            }
        }
        Ok(())
    }

    fn answered(calls: &[Arc<Calls>]) -> f64 {
        calls.iter().map(|calls| calls.answered()).sum()
    }

    /// What was seen before the end of the transaction.
    fn look(&mut self) {
        self.in_line = Crowd::answered(&self.limited);
        self.plain_ms = self.plain.iter().map(|calls| calls.longest_ms()).fold(0.0, f64::max);
    }

    /// Waits until a send that stood in line is through.
    async fn through(&mut self) -> Result<()> {
        let answered = || Crowd::answered(&self.limited) - self.in_line;
        open::until("a send to the queue with a limit", || answered() > 0.0).await?;
        self.after = answered();
        self.tasks.abort_all();
        Ok(())
    }
}

type TubeCaller = <TubeServer as Target>::Caller;

/// Sends until it is aborted. A send that the server refuses counts as failed.
async fn sends(mut caller: TubeCaller, calls: Arc<Calls>) {
    loop {
        // Counted, whatever the answer is.
        let _ = calls.count(caller.send(&open::bodies(1))).await;
        tokio::time::sleep(PAUSE).await;
    }
}

/// Receives and acks until it is aborted; that the server refuses it is nothing that is asked.
async fn receives(mut caller: TubeCaller) {
    loop {
        let mut look = |bytes: &[u8]| body::read(bytes).map(drop);
        let received = caller.receive(1, Duration::from_secs(1), &mut look).await;
        if received.is_err() || caller.ack().await.is_err() {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

impl Day for OpenNack {
    const ABOUT: About = About {
        name: "open-nack",
        what: "a nack by SQL of one message of several stays open in its transaction",
        contenders: &[Kind::Sql, Kind::PostgresServer],
        stall_ms_max: UNFELT_MS,
        recovery_s_max: 2.0,
        load: SINGLE,
    };

    async fn prepare(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let session = stage.session().await?;
        for queue in queues(stage) {
            open::create(&session, &queue).await?;
            self.receipts.push(received(&session, &queue).await?);
        }
        if stage.kind != Kind::Sql {
            open::limit(&session, LIMITED).await?;
        }
        Ok(())
    }

    async fn strike(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let open = Open::begin(stage).await?;
        let nack = include_str!("../../../queries/open_nack.sql");
        let back = self.receipts.iter_mut().filter_map(Vec::pop);
        let back: Vec<String> = back.collect();
        let nacked = open.session.query_one(nack, &[&back]).await;
        self.outcomes = nacked.context("giving back in a transaction")?.try_get(0)?;
        self.open = Some(open);
        if stage.kind != Kind::Sql {
            return self.crowd.come(stage).await;
        }
        let receipts: Vec<String> = self.receipts.iter_mut().filter_map(Vec::pop).collect();
        let (session, acks) = (stage.session().await?, Arc::clone(&self.acks));
        let acked = async move { acks.count(ack(&session, &receipts)).await };
        self.ack = Some(tokio::spawn(acked));
        Ok(())
    }

    async fn relent(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        if stage.kind != Kind::Sql {
            let sent = || Crowd::answered(&self.crowd.plain) > 0.0;
            open::until("a send to the queue without a limit", sent).await?;
        }
        self.crowd.look();
        self.ack_ms = self.acks.longest_ms();
        self.seen = Open::commit(&mut self.open, stage).await?;
        if stage.kind != Kind::Sql {
            self.crowd.through().await?;
        }
        if let Some(acked) = self.ack.take() {
            acked.await.context("the acking task panicked")??;
        }
        ack(&stage.session().await?, &self.receipts.concat()).await
    }

    async fn check(&mut self, stage: &mut Stage<'_>) -> Result<Vec<Condition>> {
        let queues = queues(stage).len();
        let ready = self.outcomes.iter().filter(|outcome| *outcome == "ready").count() as f64;
        let text = "given back in the transaction".to_owned();
        let mut conditions = self.seen.conditions(u32::try_from(queues)?);
        conditions.push(Condition::at_least(text, "messages", ready, queues as f64));
        if stage.kind == Kind::Sql {
            let text = "an ack of another message of the same receive";
            conditions.push(Condition::at_most(text, "ms", self.ack_ms, UNFELT_MS));
            return Ok(conditions);
        }
        let crowd = &self.crowd;
        let failed: f64 = crowd.plain.iter().map(|calls| calls.failed()).sum();
        let sent = "sends to its queue meanwhile".to_owned();
        let (plain, line) = (Crowd::answered(&crowd.plain), "sends to its limited queue meanwhile");
        let through = "sends to its limited queue after its end".to_owned();
        conditions.extend([
            Condition::at_least(sent, "messages", plain, 1.0),
            Condition::at_most("refused sends to its queue", "messages", failed, 0.0),
            Condition::at_most("longest send to its queue", "ms", crowd.plain_ms, UNFELT_MS),
            Condition::at_most(line, "messages", crowd.in_line, 0.0),
            Condition::at_least(through, "messages", crowd.after, 1.0),
        ]);
        Ok(conditions)
    }
}
