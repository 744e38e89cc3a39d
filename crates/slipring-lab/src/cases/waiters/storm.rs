//! The load as published: T callers wait on one empty queue with a short time-out, again and again.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Result;
use tokio::runtime::Runtime;

use super::contender::{Contender, Kind, Place};
use super::idlers::Idlers;
use super::load::{Callers, Counted, Tally, Waiting};
use super::one_latch::LatchUse;
use super::waits::{self, WaitTable};
use crate::time::{monotonic_ns, processor_ns};

/// Callers that do not end within so long have a fault.
pub const END_WITHIN: Duration = Duration::from_secs(60);

/// What the callers of a storm do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Storm {
    /// How many.
    pub callers: usize,
    /// Receives that wait on the same queue all the time, and change nothing.
    pub idle: usize,
    /// The time-out of each wait.
    pub time_out: Duration,
    /// Waits of each caller, at most.
    pub repetitions: u32,
    /// Seconds, at most.
    pub seconds: f64,
}

/// What a storm took.
pub struct Stormed {
    /// The waits.
    pub counted: Counted,
    /// What the wait classes counted meanwhile.
    pub waits: WaitTable,
    /// How the latch of the published design was used.
    pub latch: Option<LatchUse>,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// Processor time of this process meanwhile, in seconds: the load and the engine.
    pub processor_seconds: f64,
}

/// Runs it on a contender that is started for it.
///
/// # Errors
/// Those of the engine.
pub fn run(runtime: &Runtime, kind: Kind, storm: &Storm, folder: &Path) -> Result<Stormed> {
    let folder = tempfile::tempdir_in(folder)?;
    let contender = Arc::new(runtime.block_on(Contender::open(kind, folder.path()))?);
    let (tally, end) = (Arc::new(Tally::new()?), Arc::new(AtomicBool::new(false)));
    let waiting = Waiting {
        contender: Arc::clone(&contender),
        place: Place::A,
        time_out: storm.time_out,
        repetitions: storm.repetitions,
        tally: Arc::clone(&tally),
        end: Arc::clone(&end),
    };
    let idlers = runtime.block_on(Idlers::start(&contender, storm.idle))?;
    let latch_before = runtime.block_on(contender.latch_use());
    let before = contender.waits();
    let (began_ns, processor_began_ns) = (monotonic_ns(), processor_ns());
    let mut callers = Callers::start(runtime, storm.callers, &end, || waiting.clone().run())?;
    callers.wait(Duration::from_secs_f64(storm.seconds));
    callers.finish(END_WITHIN)?;
    let seconds = (monotonic_ns() - began_ns) as f64 / 1e9;
    let processor_seconds = (processor_ns() - processor_began_ns) as f64 / 1e9;
    let waits = waits::between(&before, &contender.waits());
    let latch = runtime.block_on(contender.latch_use()).zip(latch_before);
    let latch = latch.map(|(after, before)| after.since(before));
    runtime.block_on(async {
        idlers.end().await;
        contender.close().await;
    });
    Ok(Stormed { counted: tally.counted()?, waits, latch, seconds, processor_seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wait_of_a_storm_ends_empty_and_not_before_its_time() {
        let runtime = Runtime::new().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let both = |kind| [(kind, 3, 50), (kind, 400, 0)];
        for (kind, callers, idle) in Kind::ALL.into_iter().flat_map(both) {
            let time_out = Duration::from_millis(2);
            let storm = Storm { callers, idle, time_out, repetitions: 4, seconds: 60.0 };
            let stormed = run(&runtime, kind, &storm, folder.path()).unwrap();
            let seen = stormed.counted.overhead.percentiles();
            assert_eq!(seen.count, 4 * callers as u64, "{}", kind.name());
            assert_eq!((stormed.counted.early, stormed.counted.found), (0, 0), "{}", kind.name());
            if kind == Kind::OneLatch {
                // Registration, time-out and commit of each wait, and of the first of each caller.
                let latch = &stormed.waits[super::super::one_latch::LATCH];
                assert!(latch.acquisitions.abs_diff(3 * 5 * callers as u64) <= 1, "{latch:?}");
                let walked = stormed.latch.unwrap().walked;
                assert!(walked >= 2 * 5 * (callers * idle) as u64, "{walked}");
            }
        }
    }
}
