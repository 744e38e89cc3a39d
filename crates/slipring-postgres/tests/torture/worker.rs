//! One worker by SQL: transactions of every kind, chosen by a seed, that send, receive, ack and
//! nack, and end in every way.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use slipring::{Randomness, SeededRandomness};
use tokio_postgres::{Client, Error};

use super::ledger::Ledger;

/// The queues: the second keeps the order of groups, the third shares its tables.
pub const QUEUES: [&str; 3] = ["plain", "fifo", "shared"];
/// What a transaction may fail with: another was first, or a lease has lapsed, and the message was
/// acked or handed out since.
pub const REFUSED: [&str; 3] = ["40001", "SR003", "SR004"];
const ISOLATION: [&str; 3] = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];
/// With more messages than this to come, workers receive rather than send.
const OUTSTANDING_MAX: usize = 600;

/// What the workers share.
#[derive(Default)]
pub struct Common {
    pub ledger: Ledger,
    /// Nothing more is sent, and what is received is acked.
    pub ending: AtomicBool,
    /// The queues are empty.
    pub over: AtomicBool,
    /// The SQLSTATEs with which transactions failed, and how often.
    pub refused: Mutex<BTreeMap<String, u64>>,
}

/// The seconds of a lease that is meant to last.
const LEASE: u64 = 5;

/// A worker with its session and its choices.
pub struct Worker {
    pub common: Arc<Common>,
    client: Client,
    random: SeededRandomness,
    name: String,
    next: u64,
}

/// What a receive was handed: receipts and bodies, one for one.
type Handed = (Vec<String>, Vec<String>);

impl Worker {
    pub fn new(common: Arc<Common>, client: Client, seed: u64, number: u64) -> Worker {
        let random = SeededRandomness::new(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Worker { common, client, random, name: format!("w{number}"), next: 0 }
    }

    fn below(&self, end: u64) -> u64 {
        (self.random.unit() * end as f64) as u64
    }

    fn one_in(&self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn queue(&self) -> &'static str {
        match self.below(3) {
            0 => QUEUES[1],
            1 => QUEUES[2],
            _ => QUEUES[0],
        }
    }

    /// Works until the queues are empty.
    pub async fn work(mut self) {
        while !self.common.over.load(Ordering::Relaxed) {
            let ending = self.common.ending.load(Ordering::Relaxed);
            let full = self.common.ledger.outstanding() > OUTSTANDING_MAX;
            let done = if ending || full || self.one_in(2) {
                self.consume(ending).await
            } else {
                self.send().await
            };
            if let Err(error) = done {
                let code = error.code().map_or_else(|| error.to_string(), |c| c.code().to_owned());
                if !REFUSED.contains(&code.as_str()) {
                    // Who waited for whom, and in which statement.
                    println!("{}: {error:?}", self.name);
                }
                *self.common.refused.lock().entry(code).or_default() += 1;
                // Outside a transaction it says so, and that is all.
                self.run("ROLLBACK").await.expect("a session can always roll back");
            }
        }
    }

    async fn run(&self, sql: &str) -> Result<(), Error> {
        self.client.batch_execute(sql).await
    }

    async fn begin(&self) -> Result<(), Error> {
        let isolation = ISOLATION[self.below(3) as usize];
        self.run(&format!("BEGIN ISOLATION LEVEL {isolation}")).await
    }

    /// Ends the transaction, by two phases at times; answers whether it has committed.
    async fn end(&mut self) -> Result<bool, Error> {
        // At the end each round that acks nothing would wait for its lease once more.
        let ending = self.common.ending.load(Ordering::Relaxed);
        if !ending && self.one_in(4) {
            self.run("ROLLBACK").await?;
            return Ok(false);
        }
        if ending || !self.one_in(6) {
            return self.run("COMMIT").await.map(|()| true);
        }
        self.next += 1;
        let gid = format!("{}-{}", self.name, self.next);
        self.run(&format!("PREPARE TRANSACTION '{gid}'")).await?;
        let end = if self.one_in(3) { "ROLLBACK" } else { "COMMIT" };
        self.run(&format!("{end} PREPARED '{gid}'")).await?;
        Ok(end == "COMMIT")
    }

    /// Sends some in one transaction, and some in a savepoint that is rolled back.
    async fn send(&mut self) -> Result<(), Error> {
        let (mut kept, mut undone) = (Vec::new(), Vec::new());
        let sent = self.send_some(&mut kept, &mut undone).await;
        let ended = match sent {
            Ok(()) => self.end().await,
            Err(error) => Err(error),
        };
        self.common.ledger.sent(&undone, false);
        self.common.ledger.sent(&kept, matches!(ended, Ok(true)));
        ended.map(drop)
    }

    async fn send_some(
        &mut self,
        kept: &mut Vec<String>,
        undone: &mut Vec<String>,
    ) -> Result<(), Error> {
        self.begin().await?;
        for _ in 0..=self.below(4) {
            self.send_to(kept).await?;
        }
        if self.one_in(3) {
            self.run("SAVEPOINT s").await?;
            self.send_to(undone).await?;
            self.run("ROLLBACK TO s").await?;
            self.common.ledger.sent(undone, false);
            self.send_to(kept).await?;
        }
        Ok(())
    }

    /// Sends one, or several as a batch, to one of the queues.
    async fn send_to(&mut self, sent: &mut Vec<String>) -> Result<(), Error> {
        let queue = self.queue();
        let group = format!("{queue}-{}", self.name);
        let count = if self.one_in(3) { 1 + self.below(12) } else { 1 };
        let bodies: Vec<String> =
            (1..=count).map(|n| format!("{group}:{}", self.next + n)).collect();
        self.next += count;
        bodies.iter().for_each(|body| self.common.ledger.sending(body));
        sent.extend(bodies.iter().cloned());
        let group = if queue == "fifo" { format!("'{group}'") } else { "NULL".to_owned() };
        let call = match &bodies[..] {
            [body] => format!("send('{queue}', '{body}'::text"),
            _ => format!("send_batch('{queue}', '{{{}}}'::text[]", bodies.join(",")),
        };
        self.run(&format!("SELECT slipring.{call}, \"group\" => {group})")).await
    }

    async fn receive(&self, lease: u64) -> Result<Handed, Error> {
        let (queue, n) = (self.queue(), 1 + self.below(12));
        let sql = format!(
            "SELECT receipt, convert_from(body, 'UTF8')
             FROM slipring.receive('{queue}', {n}, '{lease} s')"
        );
        let since = self.common.ledger.moment();
        let rows = self.client.query(&sql, &[]).await?;
        let handed: Handed = rows.iter().map(|row| (row.get(0), row.get(1))).unzip();
        self.common.ledger.received(since, &handed.1, queue == "fifo");
        Ok(handed)
    }

    async fn ack(&self, receipts: &[String]) -> Result<(), Error> {
        self.client.execute("SELECT slipring.ack($1::text[])", &[&receipts]).await.map(drop)
    }

    async fn nack(&self, receipts: &[String]) -> Result<(), Error> {
        self.client.execute("SELECT slipring.nack($1::text[])", &[&receipts]).await.map(drop)
    }

    /// Receives in a transaction, and acks in it, after it, or never. Receives are refused in
    /// other isolation levels than this.
    async fn consume(&mut self, ending: bool) -> Result<(), Error> {
        self.run("BEGIN ISOLATION LEVEL READ COMMITTED").await?;
        let lapses = !ending && self.one_in(12);
        let (receipts, bodies) = self.receive(if lapses { 1 } else { LEASE }).await?;
        if receipts.is_empty() {
            return self.run("COMMIT").await;
        }
        if self.one_in(4) {
            self.run("SAVEPOINT s").await?;
            let (more, _) = self.receive(LEASE).await?;
            if self.one_in(2) {
                self.ack(&more).await?;
            }
            self.run("ROLLBACK TO s").await?;
        }
        let inside = self.below(4);
        if !lapses && inside == 0 {
            self.nack(&receipts).await?;
            return self.end().await.map(drop);
        }
        if !lapses && inside == 1 {
            return self.ack_to_end(&receipts, &bodies).await;
        }
        if !self.end().await? || lapses {
            return Ok(());
        }
        self.begin().await?;
        self.ack_to_end(&receipts, &bodies).await
    }

    /// Acks in the transaction and ends it.
    async fn ack_to_end(&mut self, receipts: &[String], bodies: &[String]) -> Result<(), Error> {
        if self.one_in(4) {
            self.run("SAVEPOINT a").await?;
            self.ack(receipts).await?;
            self.run("ROLLBACK TO a").await?;
        }
        self.ack(receipts).await?;
        self.common.ledger.acking(bodies);
        let ended = self.end().await;
        self.common.ledger.acked(bodies, matches!(ended, Ok(true)));
        ended.map(drop)
    }
}
