//! Our own driver: this program started anew with `driver`, for every target that is written in
//! Rust here; and the same for one work that is given on the command line, by `workload`.

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::protocol::{Answer, Line, Ready, Window};
use crate::process::Usage;
use crate::targets::postgres::{Pgmq, Pgq, SkipLocked, Sql, Table, URL_VARIABLE, url};
use crate::targets::{
    Kind, Nats, RabbitMq, RawFile, RawSqlite, Redis, SqsServer, Store, Target, TubeServer,
};
use crate::workloads::{self, Settings, Work};
use crate::{body, slow_disk};

/// What a driver is started with; the rest of the settings comes with each work.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// What is driven.
    #[arg(long, value_enum)]
    target: Kind,
    /// The database, which no other run uses.
    #[arg(long, env = URL_VARIABLE)]
    postgres: Option<String>,
    /// Folder for the data, kept; otherwise a temporary one, removed.
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Bytes of each body.
    #[arg(long, default_value_t = body::BODY_BYTES)]
    body: usize,
    /// A flush takes at least so many microseconds.
    #[arg(long, default_value_t = 0)]
    flush_us: u64,
}

/// Where the work comes from.
enum Source {
    /// Lines of JSON on stdin.
    Lines,
    /// These settings, until they are taken.
    Given(Option<Box<Settings>>),
}

impl Source {
    async fn next(&mut self) -> Result<Option<Settings>> {
        let Source::Lines = self else {
            let Source::Given(settings) = self else { return Ok(None) };
            return Ok(settings.take().map(|settings| *settings));
        };
        let read = || {
            let mut line = String::new();
            std::io::stdin().lock().read_line(&mut line).map(|length| (length > 0).then_some(line))
        };
        let Some(line) = tokio::task::spawn_blocking(read).await?? else { return Ok(None) };
        serde_json::from_str(&line).map(Some).with_context(|| format!("not work: {line:?}"))
    }

    /// The answer as this source wants it: a program merges histograms, people read percentiles.
    fn answered(&self, answer: Answer) -> Result<Answer> {
        match self {
            Source::Lines => Ok(answer),
            Source::Given(_) => match answer.wrong() {
                Some(wrong) => bail!("{wrong}"),
                None => Ok(answer.in_percentiles()),
            },
        }
    }
}

/// Serves until the input ends.
///
/// # Errors
/// When the target does not start, or the input is no line of the protocol. Work that fails is
/// answered with a line, and ends the driver.
pub fn run(options: &Options) -> Result<()> {
    let mut settings = Settings::new(Work::Cycle, options.target);
    settings.postgres.clone_from(&options.postgres);
    settings.folder.clone_from(&options.folder);
    (settings.body, settings.flush_us) = (options.body, options.flush_us);
    start(&settings, Source::Lines)
}

/// Runs one workload in this process and prints the lines that a driver answers.
///
/// # Errors
/// When the settings make no sense, the target fails, or an answer is not as it must be.
pub fn once(settings: &Settings) -> Result<()> {
    start(settings, Source::Given(Some(Box::new(settings.clone()))))
}

fn start(settings: &Settings, source: Source) -> Result<()> {
    settings.check()?;
    let kind = settings.target;
    if kind.has_driver() {
        let name = kind.name();
        bail!("{name} has a driver of its own: slipring-lab run postgres --contender {name}");
    }
    if kind.in_postgres() {
        url(settings)?;
    }
    let temporary;
    let folder = match &settings.folder {
        Some(folder) => {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("making {}", folder.display()))?;
            folder.as_path()
        }
        None => {
            temporary = workloads::temporary_folder()?;
            temporary.path()
        }
    };
    slow_disk::check(settings.flush_us, folder)?;
    let runtime = runtime(kind)?;
    match kind {
        Kind::RawFile => runtime.block_on(serve::<RawFile>(settings, folder, source)),
        Kind::RawSqlite => runtime.block_on(serve::<RawSqlite>(settings, folder, source)),
        Kind::Store | Kind::Memory | Kind::Postgres => {
            runtime.block_on(serve::<Store>(settings, folder, source))
        }
        Kind::SlipringSqs
        | Kind::SlipringSqsMemory
        | Kind::Moto
        | Kind::Elasticmq
        | Kind::ElasticmqFile => runtime.block_on(serve::<SqsServer>(settings, folder, source)),
        Kind::SlipringBeanstalkd
        | Kind::PostgresServer
        | Kind::Beanstalkd
        | Kind::BeanstalkdLate
        | Kind::BeanstalkdMemory => runtime.block_on(serve::<TubeServer>(settings, folder, source)),
        Kind::PgCopy
        | Kind::PgCopyIndexed
        | Kind::PgInsert
        | Kind::PgInsertIndexed
        | Kind::PgInsertByFunction => runtime.block_on(serve::<Table>(settings, folder, source)),
        Kind::Sql => runtime.block_on(serve::<Sql>(settings, folder, source)),
        Kind::SkipLocked => runtime.block_on(serve::<SkipLocked>(settings, folder, source)),
        Kind::Pgmq => runtime.block_on(serve::<Pgmq>(settings, folder, source)),
        Kind::Pgq => runtime.block_on(serve::<Pgq>(settings, folder, source)),
        Kind::Redis => runtime.block_on(serve::<Redis>(settings, folder, source)),
        Kind::Nats => runtime.block_on(serve::<Nats>(settings, folder, source)),
        Kind::RabbitMq => runtime.block_on(serve::<RabbitMq>(settings, folder, source)),
        Kind::GraphileWorker | Kind::River | Kind::PgBoss | Kind::Awa => {
            bail!("{} has a driver of its own", kind.name())
        }
    }
}

/// A target in this process, and one that is driven by a client of PostgreSQL, gets all processors;
/// a load generator by wire gets one thread, for that costs the server on the same machine the
/// least.
///
/// # Errors
/// When the machine gives no threads.
pub fn runtime(target: Kind) -> Result<tokio::runtime::Runtime> {
    let by_wire = target == Kind::PostgresServer;
    let mut builder = if target.in_process() || target.in_postgres() && !by_wire {
        tokio::runtime::Builder::new_multi_thread()
    } else {
        tokio::runtime::Builder::new_current_thread()
    };
    builder.enable_all().build().context("starting the runtime")
}

async fn serve<T: Target>(settings: &Settings, folder: &Path, mut source: Source) -> Result<()> {
    let target = T::start(settings, folder).await?;
    let kind = settings.target;
    let durability = kind.durability().to_owned();
    let version = kind.version(settings.postgres.as_deref()).await?;
    say(&Line::Ready(Ready { version, how: kind.how().to_owned(), durability }))?;
    let for_people = matches!(source, Source::Given(_));
    let tell = |window: Window| {
        say(&Line::Window(if for_people { window.in_percentiles() } else { window }))
    };
    let mut failed = None;
    while let Some(given) = source.next().await? {
        // What the target was started with is the same for all its work.
        let Settings { target: kind, postgres, body, .. } = settings.clone();
        let given = Settings { target: kind, postgres, body, ..given };
        let found = async {
            given.check()?;
            let mut answer = workloads::drive(&given, &target, folder, &tell).await?;
            (answer.load, answer.server) = (Some(Usage::own()?), target.usage()?);
            source.answered(answer)
        };
        match (found.await, &source) {
            (Ok(answer), _) => say(&Line::Done(answer))?,
            (Err(error), Source::Lines) => {
                say(&Line::Failed(format!("{error:#}")))?;
                break;
            }
            (Err(error), Source::Given(_)) => {
                failed = Some(error);
                break;
            }
        }
    }
    let stopped = target.stop().await;
    if let Some(error) = failed {
        return Err(error);
    }
    let waits = stopped?;
    if waits.is_empty() { Ok(()) } else { say(&Line::Waits(waits)) }
}

/// Says one line.
fn say(line: &Line) -> Result<()> {
    let mut text = serde_json::to_string(line)?;
    text.push('\n');
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush().context("answering")
}

#[cfg(test)]
mod tests {
    use tokio::runtime::RuntimeFlavor;

    use super::*;

    #[test]
    fn a_load_by_wire_has_one_thread_whatever_is_under_the_server() {
        for kind in [Kind::SlipringBeanstalkd, Kind::PostgresServer, Kind::Beanstalkd] {
            let flavor = runtime(kind).unwrap().handle().runtime_flavor();
            assert_eq!(flavor, RuntimeFlavor::CurrentThread, "{kind:?}");
        }
        for kind in [Kind::Store, Kind::Postgres, Kind::Sql, Kind::SkipLocked, Kind::Pgmq] {
            let flavor = runtime(kind).unwrap().handle().runtime_flavor();
            assert_eq!(flavor, RuntimeFlavor::MultiThread, "{kind:?}");
        }
    }
}
