//! One caller on the quiet queue B, alone and beside callers on the busy queue A, by turns.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Result;
use tokio::runtime::Runtime;

use super::contender::{Contender, Kind, Place};
use super::idlers::Idlers;
use super::interrupt;
use super::load::{Callers, Counted, Tally, Waiting};
use super::storm::END_WITHIN;
use super::waits::{self, WaitTable};

/// What happens on both queues.
#[derive(Debug, Clone, Copy)]
pub struct Beside {
    /// Callers on queue A, where they are beside.
    pub callers: usize,
    /// Receives that wait on queue A all the time, in both cases.
    pub idle: usize,
    /// The time-out of each wait on either queue.
    pub time_out: Duration,
    /// Waits and receives on queue B in each window, at most.
    pub repetitions: u32,
    /// Seconds of a window, at most.
    pub seconds: f64,
    /// Windows of either case.
    pub windows: usize,
}

/// What queue B saw in one case, a window after the other.
#[derive(Default)]
pub struct Seen {
    /// Its waits.
    pub waits: Vec<Counted>,
    /// Its receives that do not wait.
    pub plain: Vec<Counted>,
}

/// What queue B saw.
#[derive(Default)]
pub struct Neighbour {
    /// While nothing happened on queue A.
    pub alone: Seen,
    /// While callers waited on queue A.
    pub beside: Seen,
    /// What the wait classes counted while there were callers on both.
    pub classes: WaitTable,
}

/// Runs it on a contender that is started for it.
///
/// # Errors
/// Those of the engine.
pub fn run(runtime: &Runtime, kind: Kind, beside: &Beside, folder: &Path) -> Result<Neighbour> {
    let folder = tempfile::tempdir_in(folder)?;
    let contender = Arc::new(runtime.block_on(Contender::open(kind, folder.path()))?);
    let idlers = runtime.block_on(Idlers::start(&contender, beside.idle))?;
    let mut seen = Neighbour::default();
    for window in 0..2 * beside.windows {
        // Alone, beside, beside, alone, …: neither case has the better place.
        let busy = matches!(window % 4, 1 | 2);
        if interrupt::seen() {
            break;
        }
        if !busy {
            seen.alone.add(&Window { runtime, contender: &contender, beside })?;
            continue;
        }
        let before = contender.waits();
        let (tally, end) = (Arc::new(Tally::new()?), Arc::new(AtomicBool::new(false)));
        let waiting = Waiting {
            contender: Arc::clone(&contender),
            place: Place::A,
            time_out: beside.time_out,
            repetitions: u32::MAX - 1,
            tally,
            end: Arc::clone(&end),
        };
        let callers = Callers::start(runtime, beside.callers, &end, || waiting.clone().run())?;
        seen.beside.add(&Window { runtime, contender: &contender, beside })?;
        waits::add(&mut seen.classes, &waits::between(&before, &contender.waits()));
        callers.finish(END_WITHIN)?;
    }
    runtime.block_on(async {
        idlers.end().await;
        contender.close().await;
    });
    Ok(seen)
}

/// A part of a run, in which one caller drives queue B.
struct Window<'a> {
    runtime: &'a Runtime,
    contender: &'a Arc<Contender>,
    beside: &'a Beside,
}

impl Window<'_> {
    /// One caller's waits on queue B, or with a time-out of zero its plain receives.
    fn drive(&self, time_out: Duration) -> Result<Counted> {
        let (tally, end) = (Arc::new(Tally::new()?), Arc::new(AtomicBool::new(false)));
        let waiting = Waiting {
            contender: Arc::clone(self.contender),
            place: Place::B,
            time_out,
            repetitions: self.beside.repetitions,
            tally: Arc::clone(&tally),
            end: Arc::clone(&end),
        };
        let mut callers = Callers::start(self.runtime, 1, &end, || waiting.clone().run())?;
        callers.wait(Duration::from_secs_f64(self.beside.seconds));
        callers.finish(END_WITHIN)?;
        tally.counted()
    }
}

impl Seen {
    fn add(&mut self, window: &Window<'_>) -> Result<()> {
        self.waits.push(window.drive(window.beside.time_out)?);
        self.plain.push(window.drive(Duration::ZERO)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_b_is_seen_alone_and_beside_queue_a() {
        let runtime = Runtime::new().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let time_out = Duration::from_millis(2);
        let (repetitions, seconds) = (3, 60.0);
        let beside = Beside { callers: 4, idle: 5, time_out, repetitions, seconds, windows: 2 };
        for kind in Kind::ALL {
            let seen = run(&runtime, kind, &beside, folder.path()).unwrap();
            for case in [&seen.alone, &seen.beside] {
                let windows = case.waits.iter().chain(&case.plain);
                let counts: Vec<u64> = windows.map(|w| w.overhead.percentiles().count).collect();
                assert_eq!(counts, [3; 4], "{}", kind.name());
                assert!(case.waits.iter().all(|w| w.early == 0 && w.found == 0));
            }
            assert!(!seen.classes.is_empty());
        }
    }
}
