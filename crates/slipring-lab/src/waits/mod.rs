//! `waits`: what a PostgreSQL server and a Slipring server wait for, sampled for some seconds:
//! sessions by wait and caller, who blocks whom, what pins the oldest snapshot, I/O, dead rows, the
//! rate of the WAL, our own wait classes, and a flame graph of waiting.

mod blocking;
mod caller;
pub mod classes;
pub mod counters;
mod dead_rows;
pub mod flame;
mod horizon;
mod observation;
mod profile;
mod sampler;
pub mod server;
mod session;
mod smoke;

use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use indicatif::ProgressBar;

use crate::drive::Stop;
use crate::targets::postgres::URL_VARIABLE;
use classes::{Metrics, Source};
pub use observation::Observation;
pub use smoke::smoke;

/// Between two looks beside a run.
pub const BESIDE_EVERY: Duration = Duration::from_millis(50);

/// What is looked at.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The PostgreSQL, postgres://user@host:port/database. Any user may look; one with the role
    /// pg_monitor sees everything.
    #[arg(long, env = URL_VARIABLE, hide_env_values = true)]
    pub url: Option<String>,
    /// `/metrics` of a Slipring server, http://host:port/metrics.
    #[arg(long, value_name = "URL")]
    pub metrics: Option<String>,
    /// The token that it asks for.
    #[arg(long, value_name = "TOKEN", env = "SLIPRING_ADMIN_TOKEN", hide_env_values = true)]
    pub metrics_token: Option<String>,
    /// For how long, in seconds.
    #[arg(long, default_value_t = 10.0)]
    pub seconds: f64,
    /// Milliseconds between two looks at the sessions.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(20..=1000))]
    pub every_ms: u64,
    /// Keep tables, plots, the flame graph and raw data in a dated folder inside this one;
    /// otherwise they go to target/lab/waits.
    #[arg(long)]
    pub out: Option<PathBuf>,
}

/// Looks at what the options name, and prints what it saw.
///
/// # Errors
/// When nothing could be seen, or the run ended early. What was seen until then is printed and
/// kept before.
pub fn run(options: &Options) -> Result<()> {
    if options.url.is_none() && options.metrics.is_none() {
        bail!("nothing to look at: give --url postgres://…, --metrics http://host:port, or both");
    }
    if !(0.1..=86_400.0).contains(&options.seconds) {
        bail!("--seconds is {}; it lies between 0.1 and 86400", options.seconds);
    }
    let source = match &options.metrics {
        Some(address) => {
            let token = options.metrics_token.as_deref();
            Source::Metrics(Metrics::new(address, token)?)
        }
        None => Source::Nothing,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("starting the runtime")?;
    let stop = Stop::default();
    let observed = runtime.block_on(async {
        stop.on_signals().context("catching signals")?;
        observe(options, &source, &stop).await
    })?;
    let findings = observed.findings()?;
    let folder = findings.show(options.out.as_deref())?;
    flame::keep(&observed.folded(), &folder, "waits")?;
    match findings.incomplete {
        Some(why) => bail!("the run is incomplete: {why}"),
        None => Ok(()),
    }
}

/// Looks for as long as the options say.
///
/// # Errors
/// When not even the first look was possible.
async fn observe(options: &Options, source: &Source, stop: &Stop) -> Result<Observation> {
    let every = Duration::from_millis(options.every_ms);
    let length = Duration::from_secs_f64(options.seconds);
    let bar = observation::bar(length);
    let made = Observation::make(options.url.as_deref(), source, (every, length), stop, &bar).await;
    bar.finish_and_clear();
    made
}

/// An observation of a PostgreSQL beside a run, on a thread of its own, until it is ended.
pub struct Beside {
    end: Stop,
    thread: JoinHandle<Result<Observation>>,
}

impl Beside {
    /// Begins.
    pub fn begin(url: &str) -> Beside {
        let (end, url) = (Stop::default(), url.to_owned());
        let stop = end.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let bar = ProgressBar::hidden();
            let times = (BESIDE_EVERY, Duration::MAX);
            let made = Observation::make(Some(&url), &Source::Nothing, times, &stop, &bar);
            runtime.context("starting the runtime")?.block_on(made)
        });
        Beside { end, thread }
    }

    /// Ends, and answers what was seen.
    ///
    /// # Errors
    /// When not even the first look was possible.
    pub fn end(self) -> Result<Observation> {
        self.end.because("the run has ended");
        self.thread.join().map_err(|_| anyhow!("the observation panicked")).flatten()
    }
}
