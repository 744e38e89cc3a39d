//! `adapter`: a queue under the public benchmark of queues on PostgreSQL. One process that runs
//! until it is told to end: the environment says what to do, lines of JSON on stdout say what
//! happens, logs go to stderr.
//! `docs/lab/adapter.md` has the contract's side and ours.
//!
//! All but the systems themselves is the same for each of them, also for those that run handlers
//! of their own: `peers/awa` is built from these files too.

mod bench;
mod engine;
mod environment;
mod job;
pub mod ledger;
mod log;
mod manifest;
mod pace;
mod pgmq;
mod producer;
mod samples;
mod serve;
mod session;
mod skip_locked;
mod sql;
mod system;
mod tally;
mod telemetry;
mod window;
mod work;
mod workers;

use std::sync::Arc;

use anyhow::Result;

use self::bench::Bench;
use self::engine::Native;
use self::environment::{Environment, FailMode};
pub use self::manifest::Kind;
use self::pgmq::Pgmq;
use self::skip_locked::SkipLocked;
use self::sql::BySql;
use self::system::System;
use self::telemetry::Descriptor;

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

/// Runs the adapter until SIGTERM.
///
/// # Errors
/// When a variable is wrong, the database is not there, or stdout is closed.
pub fn run(options: &Options) -> Result<()> {
    let kind = options.system;
    if options.adapter_json {
        print!("{}", manifest::text(kind)?);
        return Ok(());
    }
    let environment = Environment::read(&|name| std::env::var(name).ok())?;
    serve::run(Bench::new(kind.name(), environment)?, async |bench| start(kind, bench).await)
}

/// A system that is open.
enum Opened {
    Slipring(Native),
    SlipringSql(BySql),
    Pgmq(Pgmq),
    SkipLocked(SkipLocked),
}

async fn start(kind: Kind, bench: Arc<Bench>) -> Result<()> {
    let environment = &bench.environment;
    if environment.aging {
        bench.log.note("PRIORITY_AGING_MS is set; priorities do not age here");
    }
    let opening = async || {
        let opened = open(kind, environment).await?;
        Ok((opened, manifest::descriptor(kind, environment).await?))
    };
    let Some((opened, descriptor)) = serve::open(&bench, is_away, opening).await? else {
        return Ok(());
    };
    match opened {
        Opened::Slipring(system) => serve(system, bench, descriptor).await,
        Opened::SlipringSql(system) => serve(system, bench, descriptor).await,
        Opened::Pgmq(system) => serve(system, bench, descriptor).await,
        Opened::SkipLocked(system) => serve(system, bench, descriptor).await,
    }
}

async fn open(kind: Kind, environment: &Environment) -> Result<Opened> {
    Ok(match kind {
        Kind::Slipring => {
            Opened::Slipring(Native::open(environment, environment.attempts_max).await?)
        }
        Kind::SlipringSql => {
            // By SQL a job that fails for good can only be given back: its attempts have to be
            // used up.
            let always = environment.fail_mode == FailMode::Always;
            let attempts_max = if always { 1 } else { environment.attempts_max };
            let beside = Native::open(environment, attempts_max).await?;
            Opened::SlipringSql(BySql::new(environment, beside)?)
        }
        Kind::Pgmq => Opened::Pgmq(Pgmq::open(environment).await?),
        Kind::SkipLocked => Opened::SkipLocked(SkipLocked::open(environment).await?),
    })
}

fn is_away(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<slipring::Error>();
    error.is_some_and(|error| error.kind() == slipring::ErrorKind::StorageUnavailable)
}

async fn serve<S: System>(system: S, bench: Arc<Bench>, descriptor: Descriptor) -> Result<()> {
    let system = Arc::new(system);
    let workers = workers::run(Arc::clone(&system), Arc::clone(&bench));
    serve::serve(system, bench, descriptor, workers).await
}
