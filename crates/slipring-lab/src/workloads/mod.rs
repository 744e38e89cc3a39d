//! Workloads, named by the shape of their traffic. Each checks what came back, and each has a
//! smoke size. One workload runs in one process, so that memory and time are its own.

mod backlog;
mod beside;
pub mod closed_loop;
mod connection_end_beside;
mod cycle;
mod neighbours;
mod open_loop;
mod ping_pong;
mod poison;
mod prober;
mod purge_beside;
mod retention_beside;
mod send;
mod several;
mod storm;
mod waiters;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::body::BODY_BYTES;
use crate::ledger::Checks;
use crate::process::Usage;
use crate::slow_disk;
use crate::stats::Percentiles;
use crate::targets::postgres::{Pgmq, Pgq, SkipLocked, Sql, Table, URL_VARIABLE};
use crate::targets::{Kind, RawFile, RawSqlite, SqsServer, Store, Target, TubeServer, Wait};

/// What kind of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Shape {
    /// Callers send as fast as they can.
    Send,
    /// Callers send, receive and ack as fast as they can.
    Cycle,
    /// A queue is filled, then cycled.
    Backlog,
    /// Many receives wait on many queues, then single messages wake them.
    Waiters,
    /// Pairs hand one message back and forth over two queues.
    PingPong,
    /// A slow prober on a quiet queue, alone and beside a busy queue.
    Neighbours,
    /// Callers receive from several queues, of which one is full and then all have some.
    Several,
    /// Messages sent on a schedule that does not wait for answers.
    OpenLoop,
    /// Very many delays that end at once in one queue, beside two others.
    Storm,
    /// A slow prober on a quiet queue, alone and beside a purge of large messages.
    PurgeBeside,
    /// A slow prober on a quiet queue, alone and beside the end of a connection that holds very
    /// many messages.
    ConnectionEndBeside,
    /// A slow prober on a quiet queue, alone and beside large messages that grow too old.
    RetentionBeside,
    /// Messages that always fail, given back at once, among good ones.
    Poison,
}

/// One run of one workload on one target.
#[derive(Debug, Clone, Serialize, Deserialize, clap::Args)]
pub struct Settings {
    /// The shape of the traffic.
    #[arg(value_enum)]
    pub shape: Shape,
    /// What is driven.
    #[arg(long, value_enum, default_value = "store")]
    pub target: Kind,
    /// How many callers (waiters, pairs, busy neighbours) at a time.
    #[arg(long, default_value_t = 4)]
    pub callers: usize,
    /// Messages in one call; by the beanstalkd protocol, commands in flight.
    #[arg(long, default_value_t = 1000)]
    pub batch: usize,
    /// Measured seconds (of each phase).
    #[arg(long, default_value_t = 2.0)]
    pub seconds: f64,
    /// Seconds before, not measured.
    #[arg(long, default_value_t = 0.5)]
    pub warmup: f64,
    /// Bytes of each body, from 100 on; only for an engine in this process.
    #[arg(long, default_value_t = BODY_BYTES)]
    #[serde(default = "plain_body")]
    pub body: usize,
    /// `backlog`, `several`, `poison` and those `beside` something: messages to fill the queue
    /// with; `storm`: delays that end at once.
    #[arg(long, default_value_t = 100_000)]
    pub messages: u64,
    /// `poison`: messages that always fail.
    #[arg(long, default_value_t = 1)]
    #[serde(default)]
    pub poisons: usize,
    /// `waiters`: queues they wait on; `neighbours`: busy queues; `several`: queues each caller
    /// receives from.
    #[arg(long, default_value_t = 10)]
    pub queues: usize,
    /// Messages per second of `open_loop`, and of the slow senders of `waiters`, `neighbours` and
    /// `storm`.
    #[arg(long, default_value_t = 100.0)]
    pub rate: f64,
    /// A flush takes at least so many microseconds; 0 for the disk as it is. For a run by hand the
    /// library that does it must be preloaded; the error says how.
    #[arg(long, default_value_t = 0)]
    #[serde(default)]
    pub flush_us: u64,
    /// Receive everything at the end and check that nothing is missing.
    #[arg(long)]
    pub drain: bool,
    /// Folder for the data, kept; otherwise a temporary one, removed.
    #[arg(long)]
    pub folder: Option<PathBuf>,
    /// The database of a target inside PostgreSQL; nobody else uses it, and the run leaves its
    /// tables there.
    #[arg(long, env = URL_VARIABLE)]
    #[serde(default, skip_serializing)]
    pub postgres: Option<String>,
}

impl Settings {
    /// A run with the defaults of the command line.
    pub fn new(shape: Shape, target: Kind) -> Settings {
        Settings {
            shape,
            target,
            callers: 4,
            batch: 1000,
            seconds: 2.0,
            warmup: 0.5,
            body: BODY_BYTES,
            messages: 100_000,
            poisons: 1,
            queues: 10,
            rate: 100.0,
            flush_us: 0,
            drain: false,
            folder: None,
            postgres: None,
        }
    }
}

/// What runs of older reports had.
fn plain_body() -> usize {
    BODY_BYTES
}

/// What a run found.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Outcome {
    /// What was run.
    pub settings: Settings,
    /// What an acknowledged send survives.
    pub durability: String,
    /// Messages (round trips for `ping_pong`) per second of the measured time.
    pub rate: f64,
    /// Further figures by name, with their unit in the name.
    pub figures: BTreeMap<String, f64>,
    /// Latencies by name.
    pub latencies: BTreeMap<String, Percentiles>,
    /// The checked result.
    pub checks: Checks,
    /// Memory and processor time of this process: the load and, in-process, the target.
    pub load: Usage,
    /// Those of the target's process, where it is another.
    pub server: Option<Usage>,
    /// The target's wait table, where it has one.
    pub waits: Vec<Wait>,
}

/// What a workload hands back; the rest of an [`Outcome`] is the same for all.
#[derive(Debug, Default)]
pub struct Found {
    /// Messages (round trips for `ping_pong`) per second of the measured time.
    pub rate: f64,
    /// Further figures by name, with their unit in the name.
    pub figures: BTreeMap<String, f64>,
    /// Latencies by name.
    pub latencies: BTreeMap<String, Percentiles>,
    /// The checked result.
    pub checks: Checks,
}

/// Runs a workload in this process.
///
/// # Errors
/// When the target fails, or an answer is not as it must be.
pub fn run(settings: &Settings) -> Result<Outcome> {
    if settings.callers == 0 || settings.batch == 0 || settings.queues == 0 {
        bail!("callers, batch and queues are at least 1");
    }
    let in_process = matches!(settings.target, Kind::Store | Kind::Memory);
    if settings.body < BODY_BYTES || (settings.body > BODY_BYTES && !in_process) {
        bail!("a body has {BODY_BYTES} bytes, or more for an engine in this process");
    }
    if !settings.rate.is_finite() || settings.rate <= 0.0 {
        bail!("the rate is a number above 0, not {}", settings.rate);
    }
    let temporary;
    let folder = match &settings.folder {
        Some(folder) => {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("making {}", folder.display()))?;
            folder.as_path()
        }
        None => {
            temporary = temporary_folder()?;
            temporary.path()
        }
    };
    slow_disk::check(settings.flush_us, folder)?;
    let runtime = runtime(settings.target)?;
    match settings.target {
        Kind::RawFile => runtime.block_on(on::<RawFile>(settings, folder)),
        Kind::RawSqlite => runtime.block_on(on::<RawSqlite>(settings, folder)),
        Kind::Store | Kind::Memory | Kind::Postgres => {
            runtime.block_on(on::<Store>(settings, folder))
        }
        Kind::SlipringSqs => runtime.block_on(on::<SqsServer>(settings, folder)),
        Kind::SlipringBeanstalkd
        | Kind::PostgresServer
        | Kind::Beanstalkd
        | Kind::BeanstalkdLate
        | Kind::BeanstalkdMemory => runtime.block_on(on::<TubeServer>(settings, folder)),
        Kind::PgCopy
        | Kind::PgCopyIndexed
        | Kind::PgInsert
        | Kind::PgInsertIndexed
        | Kind::PgInsertByFunction => runtime.block_on(on::<Table>(settings, folder)),
        Kind::Sql => runtime.block_on(on::<Sql>(settings, folder)),
        Kind::SkipLocked => runtime.block_on(on::<SkipLocked>(settings, folder)),
        Kind::Pgmq => runtime.block_on(on::<Pgmq>(settings, folder)),
        Kind::Pgq => runtime.block_on(on::<Pgq>(settings, folder)),
    }
}

/// A folder that is removed with its data, inside [`crate::folder::data`].
///
/// # Errors
/// When it cannot be made.
pub fn temporary_folder() -> Result<tempfile::TempDir> {
    tempfile::TempDir::with_prefix_in("run-", crate::folder::data()?)
        .context("making a temporary folder")
}

/// A target in this process gets all processors; a load generator gets one thread, for that costs
/// the server on the same machine the least.
///
/// # Errors
/// When the machine gives no threads.
pub fn runtime(target: Kind) -> Result<tokio::runtime::Runtime> {
    let mut builder = if target.in_process() || target.in_postgres() {
        tokio::runtime::Builder::new_multi_thread()
    } else {
        tokio::runtime::Builder::new_current_thread()
    };
    builder.enable_all().build().context("starting the runtime")
}

async fn on<T: Target>(settings: &Settings, folder: &Path) -> Result<Outcome> {
    let target = T::start(settings, folder).await?;
    let found = drive(settings, &target, folder).await?;
    let server = target.usage()?;
    let waits = target.stop().await?;
    if found.checks.missing > 0 || found.checks.duplicates > 0 {
        bail!("messages were lost or came twice: {:?}", found.checks);
    }
    Ok(Outcome {
        settings: settings.clone(),
        durability: settings.target.durability().to_owned(),
        rate: found.rate,
        figures: found.figures,
        latencies: found.latencies,
        checks: found.checks,
        load: Usage::own()?,
        server,
        waits,
    })
}

/// Runs a workload on a target that has started, and may go on after it.
///
/// # Errors
/// As [`run`].
pub async fn drive<T: Target>(settings: &Settings, target: &T, folder: &Path) -> Result<Found> {
    match settings.shape {
        Shape::Send => send::run(settings, target).await,
        Shape::Cycle => cycle::run(settings, target).await,
        Shape::Backlog => backlog::run(settings, target, folder).await,
        Shape::Waiters => waiters::run(settings, target).await,
        Shape::PingPong => ping_pong::run(settings, target).await,
        Shape::Neighbours => neighbours::run(settings, target).await,
        Shape::Several => several::run(settings, target).await,
        Shape::OpenLoop => open_loop::run(settings, target).await,
        Shape::Storm => storm::run(settings, target).await,
        Shape::PurgeBeside => purge_beside::run(settings, target, folder).await,
        Shape::ConnectionEndBeside => connection_end_beside::run(settings, target).await,
        Shape::RetentionBeside => retention_beside::run(settings, target).await,
        Shape::Poison => poison::run(settings, target).await,
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn every_shape_ends_with_a_checked_result_on_the_in_memory_store() {
        for shape in Shape::value_variants() {
            let mut settings = Settings::new(*shape, Kind::Memory);
            (settings.callers, settings.batch, settings.queues) = (3, 5, 2);
            (settings.seconds, settings.warmup, settings.messages) = (0.1, 0.01, 100);
            settings.drain = true;
            let found = run(&settings).unwrap();
            assert!(found.checks.sent > 0, "{shape:?}: {found:?}");
            assert_eq!(found.checks.sent, found.checks.received, "{shape:?}: {found:?}");
        }
    }

    #[test]
    fn settings_that_make_no_sense_are_refused() {
        let settings = Settings { callers: 0, ..Settings::new(Shape::Send, Kind::Memory) };
        assert!(run(&settings).unwrap_err().to_string().contains("at least 1"));
        let settings = Settings { rate: 0.0, ..Settings::new(Shape::Send, Kind::Memory) };
        assert!(run(&settings).unwrap_err().to_string().contains("rate"));
    }
}
