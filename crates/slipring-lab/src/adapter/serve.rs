//! The frame of an adapter: it opens its system, inserts, works and samples until it is told to
//! end, and then ends in time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::runtime::Builder;

use super::bench::Bench;
use super::environment::Offer;
use super::pace::{Credit, Orders, Rate};
use super::producer::{Pace, Producer};
use super::samples;
use super::system::Intake;
use super::telemetry::{Descriptor, Telemetry};
use crate::interrupt::interrupted;

/// How long the database may be away when the adapter starts.
const OPEN_MAX: Duration = Duration::from_secs(30);
const OPEN_AGAIN: Duration = Duration::from_millis(500);
/// The end takes at most so long in all: 4 s of the 5 s that the contract gives.
const DRAIN_MAX: Duration = Duration::from_millis(2500);
const CLOSE_MAX: Duration = Duration::from_secs(1);
const WRITE_MAX: Duration = Duration::from_millis(500);

/// Runs `part` in a runtime of its own, with a signal to end that is told by `bench.stop`.
///
/// # Errors
/// Those of `part`.
pub fn run(bench: Bench, part: impl AsyncFnOnce(Arc<Bench>) -> Result<()>) -> Result<()> {
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let bench = Arc::new(bench);
    let ran = runtime.block_on(async {
        let (stop, log) = (bench.stop.clone(), Arc::clone(&bench.log));
        tokio::spawn(async move {
            let reason = interrupted().await;
            log.note(&format!("{reason:#}"));
            stop.cancel();
        });
        part(bench).await
    });
    // What still waits for the database ends with the process.
    runtime.shutdown_background();
    ran
}

/// Opens what may be away for a moment, as `away` says of an error; nothing where the run is over
/// before.
///
/// # Errors
/// When it is no error of a database that is away, or the database stays away.
pub async fn open<O>(
    bench: &Bench,
    away: impl Fn(&anyhow::Error) -> bool,
    opening: impl AsyncFn() -> Result<O>,
) -> Result<Option<O>> {
    let (deadline, mut said) = (Instant::now() + OPEN_MAX, false);
    loop {
        let opened = tokio::select! {
            biased;
            () = bench.stop.cancelled() => return Ok(None),
            opened = opening() => opened,
        };
        let error = match opened {
            Ok(opened) => return Ok(Some(opened)),
            Err(error) => error,
        };
        if !away(&error) || Instant::now() > deadline {
            return Err(error.context("opening DATABASE_URL"));
        }
        if !std::mem::replace(&mut said, true) {
            let text = format!("the database is not there, trying for {OPEN_MAX:?}: {error:#}");
            bench.log.note(&text);
        }
        tokio::time::sleep(OPEN_AGAIN).await;
    }
}

/// Inserts and samples beside `workers` until the end is told; then ends within 4 s, whatever the
/// database does. `workers` ends by itself when the run is over.
///
/// # Errors
/// When stdin or stdout cannot be used.
pub async fn serve<S: Intake>(
    system: Arc<S>,
    bench: Arc<Bench>,
    descriptor: Descriptor,
    workers: impl Future<Output = ()> + Send + 'static,
) -> Result<()> {
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
        next: environment.first_job,
    };
    let parts = [
        tokio::spawn(producer.run()),
        tokio::spawn(workers),
        tokio::spawn(samples::run(Arc::clone(&system), Arc::clone(&bench), lines)),
    ];
    bench.stop.cancelled().await;
    let ended = tokio::time::timeout(DRAIN_MAX, futures::future::join_all(parts)).await;
    if ended.is_err() {
        bench.log.note("what was under way is left to its leases");
    }
    if tokio::time::timeout(CLOSE_MAX, system.stop()).await.is_err() {
        bench.log.note("the system did not end in time");
    }
    telemetry.end(WRITE_MAX)
}
