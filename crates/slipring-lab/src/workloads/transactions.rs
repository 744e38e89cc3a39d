//! Single sends inside users' transactions: a send by SQL beside a plain INSERT of the same row,
//! by itself and inside a function.
//!
//! ```text
//!   connection 1 … n:  INSERT plain | SELECT plain_send(…) | SELECT slipring.send(…)
//!                      (a transaction each)
//!   with business:     BEGIN; INSERT business; one of the above; COMMIT
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use tokio::task::JoinSet;
use tokio_postgres::Client;

use super::{Answer, Settings, Work};
use crate::body::{self, Content};
use crate::ledger::Checks;
use crate::stats::Latencies;
use crate::targets::Kind;
use crate::targets::postgres::{connect, url};
use crate::time::monotonic_ns;

#[derive(Default)]
struct Meter {
    next: AtomicU64,
    done: AtomicU64,
    measuring: AtomicBool,
    stop: AtomicBool,
}

/// What is made before, what a transaction runs, and how to count what is there in the end.
struct Statements {
    make: &'static str,
    send: &'static str,
    count: &'static str,
}

impl Statements {
    fn of(kind: Kind) -> Result<Statements> {
        match kind {
            Kind::PgInsertIndexed => Ok(Statements {
                make: include_str!("../../queries/plain_table.sql"),
                send: include_str!("../../queries/plain_insert.sql"),
                count: "SELECT count(*) FROM plain",
            }),
            Kind::PgInsertByFunction => Ok(Statements {
                make: concat!(
                    include_str!("../../queries/plain_table.sql"),
                    include_str!("../../queries/plain_function.sql")
                ),
                send: "SELECT plain_send($1)",
                count: "SELECT count(*) FROM plain",
            }),
            Kind::Sql => Ok(Statements {
                make: "SELECT slipring.create_queue('transactions')",
                send: "SELECT slipring.send('transactions', $1::bytea)",
                count: "SELECT ready FROM slipring.stats('transactions')",
            }),
            other => bail!("{other:?} does not send inside a user's transaction"),
        }
    }
}

/// Runs it; see the file's head for the shape. What was committed must be there, no more and no
/// less.
pub async fn run(settings: &Settings) -> Result<Answer> {
    let statements = Statements::of(settings.target)?;
    let url = url(settings)?;
    let admin = connect(url).await?;
    admin.batch_execute(include_str!("../../queries/business_table.sql")).await?;
    admin.batch_execute(statements.make).await?;
    let meter = Arc::new(Meter::default());
    let mut callers = JoinSet::new();
    for _ in 0..settings.callers {
        let client = connect(url).await?;
        let business = settings.work == Work::Business;
        callers.spawn(call(client, statements.send, business, Arc::clone(&meter)));
    }
    tokio::time::sleep(settings.warmup()).await;
    let (before, begun) = (meter.done.load(Ordering::Relaxed), Instant::now());
    meter.measuring.store(true, Ordering::Relaxed);
    tokio::time::sleep(settings.measured()).await;
    let messages = meter.done.load(Ordering::Relaxed) - before;
    let seconds = begun.elapsed().as_secs_f64();
    meter.stop.store(true, Ordering::Relaxed);
    let mut latencies = Latencies::new()?;
    while let Some(ended) = callers.join_next().await {
        latencies.merge(&ended.context("a caller panicked")??)?;
    }
    let sent = meter.done.load(Ordering::Relaxed);
    let there: i64 = admin.query_one(statements.count, &[]).await?.try_get(0)?;
    if u64::try_from(there) != Ok(sent) {
        bail!("{sent} messages were committed, and {there} are there");
    }
    let checks = Checks { sent, ..Checks::default() };
    let mut found = Answer::new(messages, seconds, checks);
    found.latency("transaction", &latencies);
    Ok(found)
}

async fn call(
    client: Client,
    send: &'static str,
    business: bool,
    meter: Arc<Meter>,
) -> Result<Latencies> {
    let send = client.prepare(send).await?;
    let row = client.prepare(include_str!("../../queries/business_insert.sql")).await?;
    let mut latencies = Latencies::new()?;
    while !meter.stop.load(Ordering::Relaxed) {
        let number = meter.next.fetch_add(1, Ordering::Relaxed);
        let begun = monotonic_ns();
        let body = body::write(Content { number, due_ns: begun });
        if business {
            client.batch_execute("BEGIN").await?;
            client.execute(&row, &[&i64::try_from(number)?]).await?;
        }
        client.execute(&send, &[&body.as_slice()]).await?;
        if business {
            client.batch_execute("COMMIT").await?;
        }
        meter.done.fetch_add(1, Ordering::Relaxed);
        if meter.measuring.load(Ordering::Relaxed) {
            latencies.add(monotonic_ns() - begun);
        }
    }
    Ok(latencies)
}
