//! `adapter`: Slipring under the public benchmark of queues on PostgreSQL. One process that runs
//! until it is told to end: the environment says what to do, lines of JSON on stdout say what
//! happens, logs go to stderr.
//! `docs/lab/adapter.md` has the contract's side and ours.

mod engine;
mod environment;
mod job;
mod log;
mod manifest;
mod pace;
mod producer;
mod samples;
mod session;
mod sql;
mod system;
mod tally;
mod telemetry;
mod window;
mod workers;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

use self::engine::Native;
use self::environment::{Environment, FailMode, Offer};
use self::log::Log;
use self::manifest::Kind;
use self::pace::{Credit, Orders, Rate};
use self::producer::{Pace, Producer};
use self::sql::BySql;
use self::system::System;
use self::tally::Tally;
use self::telemetry::{Descriptor, Telemetry};
use crate::interrupt::interrupted;

/// How long the database may be away when the adapter starts.
const OPEN_MAX: Duration = Duration::from_secs(30);
const OPEN_AGAIN: Duration = Duration::from_millis(500);
/// The end takes at most so long in all: 4 s of the 5 s that the contract gives.
const DRAIN_MAX: Duration = Duration::from_millis(2500);
const CLOSE_MAX: Duration = Duration::from_secs(1);
const WRITE_MAX: Duration = Duration::from_millis(500);

/// Which system, and whether only to say what the harness has to know of it.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The system that is measured.
    #[arg(long, value_enum, env = "SLIPRING_LAB_SYSTEM", default_value = "slipring")]
    system: Kind,
    /// Print the adapter.json of the system, and end.
    #[arg(long)]
    adapter_json: bool,
}

/// What all parts of a running adapter share.
#[derive(Debug)]
struct Bench {
    /// The system's name.
    system: &'static str,
    environment: Environment,
    tally: Tally,
    log: Arc<Log>,
    /// Cancelled when the run is over.
    stop: CancellationToken,
}

/// Runs the adapter until SIGTERM.
///
/// # Errors
/// When a variable is wrong, the database is not there, or stdout is closed.
pub fn run(options: &Options) -> Result<()> {
    if options.adapter_json {
        print!("{}", manifest::text(options.system)?);
        return Ok(());
    }
    let environment = Environment::read(&|name| std::env::var(name).ok())?;
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let ran = runtime.block_on(start(options.system, environment));
    // What still waits for the database ends with the process.
    runtime.shutdown_background();
    ran
}

async fn start(kind: Kind, environment: Environment) -> Result<()> {
    let (stop, log) = (CancellationToken::new(), Arc::new(Log::default()));
    let told = (stop.clone(), Arc::clone(&log));
    tokio::spawn(async move {
        let (stop, log) = told;
        let reason = interrupted().await;
        log.note(&format!("{reason:#}"));
        stop.cancel();
    });
    if environment.aging {
        log.note("PRIORITY_AGING_MS is set; priorities of Slipring do not age");
    }
    let opened = tokio::select! {
        biased;
        () = stop.cancelled() => return Ok(()),
        opened = open(kind, &environment, &log) => opened,
    };
    let (native, descriptor) = opened?;
    let tally = Tally::new(environment.rate)?;
    let bench = Arc::new(Bench { system: kind.name(), environment, tally, log, stop });
    match kind {
        Kind::Slipring => serve(Arc::new(native), bench, descriptor).await,
        Kind::SlipringSql => {
            let by_sql = BySql::new(&bench.environment, native)?;
            serve(Arc::new(by_sql), bench, descriptor).await
        }
    }
}

/// Opens the database, which may be away for a moment.
async fn open(kind: Kind, environment: &Environment, log: &Log) -> Result<(Native, Descriptor)> {
    // By SQL a job that fails for good can only be given back: its attempts have to be used up.
    let only_nack = kind == Kind::SlipringSql && environment.fail_mode == FailMode::Always;
    let attempts_max = if only_nack { 1 } else { environment.attempts_max };
    let (deadline, mut said) = (Instant::now() + OPEN_MAX, false);
    loop {
        let opened = async {
            let native = Native::open(environment, attempts_max).await?;
            Ok((native, manifest::descriptor(kind, environment).await?))
        };
        let error: anyhow::Error = match opened.await {
            Ok(opened) => return Ok(opened),
            Err(error) => error,
        };
        let away = error.downcast_ref::<slipring::Error>();
        let away = away.is_some_and(|e| e.kind() == slipring::ErrorKind::StorageUnavailable);
        if !away || Instant::now() > deadline {
            return Err(error.context("opening DATABASE_URL"));
        }
        if !std::mem::replace(&mut said, true) {
            log.note(&format!("the database is not there, trying for {OPEN_MAX:?}: {error:#}"));
        }
        tokio::time::sleep(OPEN_AGAIN).await;
    }
}

/// Runs until the end is told; then ends within 4 s, whatever the database does.
async fn serve<S: System>(system: Arc<S>, bench: Arc<Bench>, descriptor: Descriptor) -> Result<()> {
    let telemetry = Telemetry::to(std::io::stdout(), bench.stop.clone())?;
    let lines = telemetry.lines();
    lines.say(serde_json::to_string(&descriptor).context("writing the descriptor")?);
    let environment = &bench.environment;
    let pace = match environment.offer {
        Offer::Harness => {
            let stdin = std::io::BufReader::new(std::io::stdin());
            Pace::Harness(Orders::read(stdin, Arc::clone(&bench.log))?)
        }
        Offer::OwnPace => Pace::Own(Credit::default(), Instant::now()),
        Offer::Depth(target) => Pace::Depth(target, None),
    };
    let producer = Producer {
        system: Arc::clone(&system),
        bench: Arc::clone(&bench),
        pace,
        rate: Rate::new(environment.rate, environment.rate_file.clone()),
        next: 0,
    };
    let parts = [
        tokio::spawn(producer.run()),
        tokio::spawn(workers::run(Arc::clone(&system), Arc::clone(&bench))),
        tokio::spawn(samples::run(Arc::clone(&system), Arc::clone(&bench), lines)),
    ];
    bench.stop.cancelled().await;
    let ended = tokio::time::timeout(DRAIN_MAX, futures::future::join_all(parts)).await;
    if ended.is_err() {
        bench.log.note("what was under way is left to its leases");
    }
    if tokio::time::timeout(CLOSE_MAX, system.stop()).await.is_err() {
        bench.log.note("the engine did not end in time");
    }
    telemetry.end(WRITE_MAX)
}
