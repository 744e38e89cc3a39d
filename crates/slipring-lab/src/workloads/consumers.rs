//! Consumers by SQL alone: receive and ack in one transaction, from a queue that was filled before.
//!
//! ```text
//!   fill:         ▒▒▒▒▒▒▒▒ messages
//!   consumer 1…n: BEGIN; receive; ack; COMMIT        (a connection each, until the time is over)
//!   idle:         BEGIN; receive …                   (where there is one: open all the time)
//! ```
//!
//! Where the queue runs low before the time is over, what was measured until then counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tokio::task::JoinSet;
use tokio_postgres::{Client, Row, Statement};

use super::closed_loop::{self, Load, Step, Until};
use super::{Answer, Settings, Work};
use crate::body;
use crate::ledger::{Ledger, MESSAGES_MAX};
use crate::stats::Latencies;
use crate::targets::postgres::{connect, url};
use crate::targets::{Kind, Target};
use crate::time::monotonic_ns;

const QUEUE: &str = "consumers";
const OTHER: &str = "elsewhere";
/// How many messages the idle consumer holds.
const IDLE: i32 = 10;
/// Between two looks at the clock.
const TICK: Duration = Duration::from_millis(20);

/// How a consumer receives and acks; where the receive takes messages out, there is no ack.
struct Statements {
    receive: &'static str,
    ack: Option<&'static str>,
}

impl Statements {
    fn of(work: Work, kind: Kind) -> Result<Statements> {
        match kind {
            Kind::Pgmq if work == Work::ConsumersPop => Ok(Statements {
                receive: include_str!("../../queries/consumer_pgmq_pop.sql"),
                ack: None,
            }),
            _ if work == Work::ConsumersPop => bail!("{kind:?} has no call that receives and acks"),
            Kind::Sql => Ok(Statements {
                receive: include_str!("../../queries/consumer_sql.sql"),
                ack: Some(include_str!("../../queries/sql_ack.sql")),
            }),
            Kind::SkipLocked => Ok(Statements {
                receive: include_str!("../../queries/consumer_skip_locked.sql"),
                ack: None,
            }),
            Kind::Pgmq => Ok(Statements {
                receive: include_str!("../../queries/consumer_pgmq.sql"),
                ack: Some(include_str!("../../queries/pgmq_delete.sql")),
            }),
            other => bail!("{other:?} has no consumers that receive and ack in a transaction"),
        }
    }
}

/// What consumers and clock share.
#[derive(Default)]
struct Meter {
    done: AtomicU64,
    measuring: AtomicBool,
    stop: AtomicBool,
    /// When a consumer last committed, and the longest time without, of the measured time.
    last_ns: AtomicU64,
    stall_max_ns: AtomicU64,
}

impl Meter {
    fn committed(&self, messages: u64, at_ns: u64) {
        let last = self.last_ns.fetch_max(at_ns, Ordering::Relaxed);
        if self.measuring.load(Ordering::Relaxed) {
            self.stall_max_ns.fetch_max(at_ns.saturating_sub(last), Ordering::Relaxed);
        }
        self.done.fetch_add(messages, Ordering::Relaxed);
    }
}

/// Runs it; see the file's head for the shape. No message may come twice, and when drained none
/// may be missing.
pub async fn run<T: Target>(settings: &Settings, target: &T) -> Result<Answer> {
    let statements = Statements::of(settings.work, settings.target)?;
    let ledger = Arc::new(Ledger::new(0, MESSAGES_MAX / 16));
    fill(target, QUEUE, settings.messages, &ledger).await?;
    let idle = idle(settings, target, &statements).await?;
    let meter = Arc::new(Meter::default());
    let mut callers = JoinSet::new();
    for _ in 0..settings.callers {
        let consumer = Consumer::new(settings, &statements).await?;
        callers.spawn(consumer.consume(Arc::clone(&meter), Arc::clone(&ledger)));
    }
    let low = settings.messages.saturating_sub((settings.callers * settings.batch * 2) as u64);
    until(settings.warmup(), &meter, low).await;
    let (before, begun) = (meter.done.load(Ordering::Relaxed), Instant::now());
    meter.last_ns.store(monotonic_ns(), Ordering::Relaxed);
    meter.measuring.store(true, Ordering::Relaxed);
    until(settings.measured(), &meter, low).await;
    // A stall that has not ended counts too.
    meter.committed(0, monotonic_ns());
    let messages = meter.done.load(Ordering::Relaxed) - before;
    let seconds = begun.elapsed().as_secs_f64();
    meter.measuring.store(false, Ordering::Relaxed);
    meter.stop.store(true, Ordering::Relaxed);
    let mut latencies = Latencies::new()?;
    while let Some(ended) = callers.join_next().await {
        latencies.merge(&ended.context("a consumer panicked")??)?;
    }
    if let Some(idle) = idle {
        idle.batch_execute("ROLLBACK").await?;
    }
    let mut checks = ledger.checks();
    if settings.drain {
        closed_loop::drain(target, QUEUE, 100, &ledger).await?;
        checks = ledger.final_checks();
    }
    let mut found = Answer::new(messages, seconds, checks);
    found.latency("transaction", &latencies);
    let stall_ms = meter.stall_max_ns.load(Ordering::Relaxed) as f64 / 1e6;
    found.figures.insert("stall_max_ms".to_owned(), stall_ms);
    Ok(found)
}

async fn fill<T: Target>(target: &T, queue: &str, to: u64, ledger: &Arc<Ledger>) -> Result<()> {
    let load = Load { callers: 1, batch: 1000, step: Step::Send, until: Until::Sent(to) };
    closed_loop::run(load, target, queue, ledger).await.map(drop)
}

/// A consumer that stays in its transaction with what it has received, if there is to be one.
async fn idle<T: Target>(
    settings: &Settings,
    target: &T,
    statements: &Statements,
) -> Result<Option<Client>> {
    let queue = match settings.work {
        Work::ConsumersBesideIdle => QUEUE,
        Work::ConsumersBesideIdleElsewhere => OTHER,
        _ => return Ok(None),
    };
    if queue == OTHER {
        let count = u64::try_from(IDLE)?;
        fill(target, OTHER, count, &Arc::new(Ledger::new(0, count))).await?;
    }
    let client = connect(url(settings)?).await?;
    client.batch_execute("BEGIN").await?;
    if client.query(statements.receive, &[&queue, &IDLE]).await?.is_empty() {
        bail!("the idle consumer was handed nothing");
    }
    Ok(Some(client))
}

/// Returns after this time, or when so many messages are done.
async fn until(time: Duration, meter: &Meter, low: u64) {
    let begun = Instant::now();
    while begun.elapsed() < time && meter.done.load(Ordering::Relaxed) < low {
        tokio::time::sleep(TICK.min(time)).await;
    }
}

/// A consumer with its connection.
struct Consumer {
    client: Client,
    kind: Kind,
    batch: i32,
    receive: Statement,
    ack: Option<Statement>,
}

impl Consumer {
    async fn new(settings: &Settings, statements: &Statements) -> Result<Consumer> {
        let client = connect(url(settings)?).await?;
        let ack = match statements.ack {
            Some(ack) => Some(client.prepare(ack).await?),
            None => None,
        };
        let receive = client.prepare(statements.receive).await?;
        let batch = i32::try_from(settings.batch)?;
        Ok(Consumer { client, kind: settings.target, batch, receive, ack })
    }

    async fn consume(self, meter: Arc<Meter>, ledger: Arc<Ledger>) -> Result<Latencies> {
        let mut latencies = Latencies::new()?;
        while !meter.stop.load(Ordering::Relaxed) {
            let begun = monotonic_ns();
            self.client.batch_execute("BEGIN").await?;
            let rows = self.client.query(&self.receive, &[&QUEUE, &self.batch]).await?;
            self.ack(&rows).await?;
            self.client.batch_execute("COMMIT").await?;
            for row in &rows {
                ledger.note(body::read(row.try_get(1)?)?.number)?;
            }
            let ended = monotonic_ns();
            if rows.is_empty() {
                continue;
            }
            meter.committed(rows.len() as u64, ended);
            if meter.measuring.load(Ordering::Relaxed) {
                latencies.add(ended - begun);
            }
        }
        Ok(latencies)
    }

    async fn ack(&self, rows: &[Row]) -> Result<()> {
        let Some(ack) = self.ack.as_ref().filter(|_| !rows.is_empty()) else { return Ok(()) };
        let acked: i64 = if self.kind == Kind::Sql {
            let receipts = ids::<String>(rows)?;
            self.client.query_one(ack, &[&receipts]).await?.try_get(0)?
        } else {
            let numbers = ids::<i64>(rows)?;
            self.client.query_one(ack, &[&QUEUE, &numbers]).await?.try_get(0)?
        };
        if usize::try_from(acked) != Ok(rows.len()) {
            bail!("{acked} of {} messages were acked", rows.len());
        }
        Ok(())
    }
}

/// What the messages are acked by.
fn ids<A: tokio_postgres::types::FromSqlOwned>(rows: &[Row]) -> Result<Vec<A>> {
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_stall_is_that_of_the_measured_time() {
        let meter = Meter::default();
        meter.committed(1, 1_000);
        meter.committed(1, 9_000);
        assert_eq!(meter.stall_max_ns.load(Ordering::Relaxed), 0);
        meter.measuring.store(true, Ordering::Relaxed);
        meter.committed(2, 9_500);
        meter.committed(0, 9_700);
        assert_eq!(meter.stall_max_ns.load(Ordering::Relaxed), 500);
        assert_eq!(meter.done.load(Ordering::Relaxed), 4);
    }

    #[test]
    fn what_has_no_such_consumers_says_so() {
        assert!(Statements::of(Work::Consumers, Kind::Memory).is_err());
        assert!(Statements::of(Work::ConsumersPop, Kind::Sql).is_err());
        assert!(Statements::of(Work::Consumers, Kind::SkipLocked).unwrap().ack.is_none());
        assert!(Statements::of(Work::Consumers, Kind::Pgmq).unwrap().ack.is_some());
        assert!(Statements::of(Work::ConsumersPop, Kind::Pgmq).unwrap().ack.is_none());
    }
}
