//! Our own driver: this program started anew with `postgres-driver`, for every target that is
//! written in Rust here.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::protocol::{Answer, Command, Line, Ready, Spread, Work};
use super::work::{paced, queues, stream, transactions, wake};
use crate::machine;
use crate::targets::postgres::{Pgmq, Pgq, SkipLocked, Sql, Table, connect, version};
use crate::targets::{Kind, Store, Target, TubeServer};
use crate::workloads::{self, Found, Settings, Shape};

/// What a driver is started with.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// What is driven.
    #[arg(long, value_enum)]
    target: Kind,
    /// The database, which nobody else uses.
    #[arg(long, env = crate::targets::postgres::URL_VARIABLE)]
    postgres: String,
}

/// Serves until the input ends.
///
/// # Errors
/// When the target does not start, or the input is no line of the protocol. Work that fails is
/// answered with a line, and ends the driver.
pub fn run(options: &Options) -> Result<()> {
    let mut settings = Settings::new(Shape::Cycle, options.target);
    settings.postgres = Some(options.postgres.clone());
    let folder = workloads::temporary_folder()?;
    let runtime = workloads::runtime(options.target)?;
    match options.target {
        Kind::Postgres => runtime.block_on(serve::<Store>(settings, folder.path())),
        Kind::PostgresServer | Kind::BeanstalkdMemory => {
            runtime.block_on(serve::<TubeServer>(settings, folder.path()))
        }
        Kind::PgCopy
        | Kind::PgCopyIndexed
        | Kind::PgInsert
        | Kind::PgInsertIndexed
        | Kind::PgInsertByFunction => runtime.block_on(serve::<Table>(settings, folder.path())),
        Kind::Sql => runtime.block_on(serve::<Sql>(settings, folder.path())),
        Kind::SkipLocked => runtime.block_on(serve::<SkipLocked>(settings, folder.path())),
        Kind::Pgmq => runtime.block_on(serve::<Pgmq>(settings, folder.path())),
        Kind::Pgq => runtime.block_on(serve::<Pgq>(settings, folder.path())),
        other => bail!("{other:?} is not a target inside PostgreSQL"),
    }
}

async fn serve<T: Target>(settings: Settings, folder: &Path) -> Result<()> {
    let target = T::start(&settings, folder).await?;
    say(&Line::Ready(introduction(&settings).await?))?;
    while let Some(line) = next_line().await? {
        let command: Command =
            serde_json::from_str(&line).with_context(|| format!("not work: {line:?}"))?;
        match work(&command, &settings, &target, folder).await {
            Ok(answer) => say(&Line::Done(answer))?,
            Err(error) => {
                say(&Line::Failed(format!("{error:#}")))?;
                break;
            }
        }
    }
    target.stop().await.map(|_| ())
}

/// Says one line.
///
/// # Errors
/// When nobody reads.
pub fn say(line: &Line) -> Result<()> {
    let mut text = serde_json::to_string(line)?;
    text.push('\n');
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush().context("answering")
}

async fn next_line() -> Result<Option<String>> {
    let read = || {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).map(|length| (length > 0).then_some(line))
    };
    Ok(tokio::task::spawn_blocking(read).await??)
}

async fn introduction(settings: &Settings) -> Result<Ready> {
    let client = connect(settings.postgres.as_deref().unwrap_or_default()).await?;
    let own = version(&client).await?;
    let how = match settings.target {
        Kind::Postgres => "the engine in-process over slipring-postgres",
        Kind::PostgresServer => "slipring serve over slipring-postgres, by the beanstalkd protocol",
        Kind::BeanstalkdMemory => "the original server by the same protocol, keeping nothing",
        Kind::Sql => "slipring.send, send_batch, receive, ack, one connection per caller",
        Kind::PgCopy => "binary COPY into a table without an index",
        Kind::PgCopyIndexed => "binary COPY into a table with a primary key",
        Kind::PgInsert => "INSERT … SELECT unnest into a table without an index",
        Kind::PgInsertIndexed => {
            "INSERT … SELECT unnest into a table with a primary key; single: a prepared INSERT"
        }
        Kind::PgInsertByFunction => "the prepared INSERT inside a PL/pgSQL function of its owner's",
        Kind::SkipLocked => "UPDATE … FOR UPDATE SKIP LOCKED, DELETE; batched, two indexes",
        Kind::Pgmq => "send_batch, read_with_poll, delete of arrays",
        Kind::Pgq => "insert_event by unnest, next_batch, finish_batch; no outcome per message",
        _ => "",
    };
    let version = match settings.target {
        Kind::Postgres | Kind::PostgresServer | Kind::Sql => {
            format!("slipring {}", env!("CARGO_PKG_VERSION"))
        }
        Kind::BeanstalkdMemory => machine::version_of("beanstalkd", "-v"),
        Kind::Pgq => {
            let row = client.query_one("SELECT pgq.version()", &[]).await?;
            format!("PgQ {}", row.try_get::<_, String>(0)?)
        }
        _ => own,
    };
    Ok(Ready { version, how: how.to_owned() })
}

async fn work<T: Target>(
    command: &Command,
    settings: &Settings,
    target: &T,
    folder: &Path,
) -> Result<Answer> {
    let shape = match command.work {
        Work::Send => Shape::Send,
        // Who has one receiver for many senders cannot be cycled caller by caller.
        Work::Cycle if target.receivers(command.callers) == command.callers => Shape::Cycle,
        Work::Cycle => return stream::run(command, target).await,
        Work::Poison => Shape::Poison,
        Work::Paced | Work::Failing => return paced::run(command, target).await,
        Work::Transactions | Work::Business => return transactions::run(command, settings).await,
        Work::Wake => return wake::run(command, target, target).await,
        Work::WakeBySql => {
            let sql = Sql::start(settings, folder).await?;
            let woken = wake::run(command, target, &sql).await;
            sql.stop().await?;
            return woken;
        }
        Work::Commits => return wake::commits(command, target).await,
        Work::MakeQueues => return queues::make(command, target).await,
        Work::Queues => return queues::run(command, target).await,
        Work::Idle => return queues::idle(command, target).await,
    };
    let settings = Settings {
        shape,
        callers: command.callers,
        batch: command.batch,
        poisons: command.poisons,
        messages: if command.drain { 200 } else { 10_000 },
        seconds: command.seconds,
        warmup: command.warmup,
        drain: command.drain,
        ..settings.clone()
    };
    Ok(answer(command, workloads::drive(&settings, target, folder).await?))
}

/// What a workload found, as a driver answers it.
fn answer(command: &Command, found: Found) -> Answer {
    let latencies = found.latencies.into_iter();
    Answer {
        messages: (found.rate * command.seconds).round() as u64,
        seconds: command.seconds,
        sent: found.checks.sent,
        received: found.checks.received,
        duplicates: found.checks.duplicates,
        missing: found.checks.missing,
        latencies: latencies.map(|(name, p)| (name, Spread::Percentiles(p))).collect(),
        figures: found.figures,
        waits: Vec::new(),
    }
}

/// Latencies under one name.
pub fn named(name: &str, spread: Spread) -> BTreeMap<String, Spread> {
    BTreeMap::from([(name.to_owned(), spread)])
}
