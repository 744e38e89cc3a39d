//! The load as it is measured here: one FIFO latch, a combiner and the engine, by turns.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::cores;
use super::extents::{self, Discipline, Load, Loaded, RECORDS_PER_EXTENT};
use super::send_path::{self, Sent};
use crate::interrupt::Interrupt;
use crate::process;
use crate::workloads::temporary_folder;
use anyhow::{Context, Result, anyhow};

/// How much is measured.
#[derive(Debug, Clone)]
pub struct Sizes {
    /// Records of a load.
    pub records: u64,
    /// Messages sent through the engine in a run.
    pub messages: u64,
    /// Numbers of workers and callers.
    pub workers: Vec<usize>,
    /// How often each is measured.
    pub rounds: usize,
}

impl Sizes {
    /// A million records, or few.
    pub fn of(smoke: bool, workers: &[usize]) -> Sizes {
        let workers = workers.to_vec();
        if smoke {
            Sizes { records: 64_000, messages: 128_000, workers, rounds: 1 }
        } else {
            Sizes { records: 1_000_000, messages: 1_000_000, workers, rounds: 3 }
        }
    }

    /// Extents of a load.
    pub fn extents(&self) -> u32 {
        u32::try_from(self.records.div_ceil(RECORDS_PER_EXTENT as u64)).unwrap_or(u32::MAX)
    }
}

/// Loads of each kind in a round.
const LOADS: usize = 3;

/// The fastest run of each kind and number of workers: the one that other programs disturbed least.
#[derive(Debug, Default)]
pub struct Measured {
    /// Extents of a load.
    pub extents: u32,
    /// With one latch.
    pub latch: BTreeMap<usize, Loaded>,
    /// With a combiner.
    pub combiner: BTreeMap<usize, Loaded>,
    /// With nothing shared.
    pub apart: BTreeMap<usize, Loaded>,
    /// Through the engine.
    pub sent: BTreeMap<usize, Sent>,
    /// From the release of the latch to the moment when one that slept has it, in nanoseconds.
    pub wake_ns: f64,
    /// What waking a thread costs the one who wakes it, in nanoseconds.
    pub unpark_ns: f64,
    /// What other programs used meanwhile, in percent of one processor.
    pub others_percent: f64,
}

impl Measured {
    /// Forgets the runs with other numbers of workers.
    pub fn keep_only(&mut self, workers: &[usize]) {
        self.latch.retain(|number, _| workers.contains(number));
        self.combiner.retain(|number, _| workers.contains(number));
        self.apart.retain(|number, _| workers.contains(number));
        self.sent.retain(|number, _| workers.contains(number));
    }
}

/// Measures all, by turns. What was measured until an error is in `measured`.
///
/// # Errors
/// When a load fails, its answer is wrong, or the run is to end.
pub fn measure(sizes: &Sizes, stop: &Interrupt, measured: &mut Measured) -> Result<()> {
    measured.extents = sizes.extents();
    (measured.wake_ns, measured.unpark_ns) = (f64::INFINITY, f64::INFINITY);
    let others = Others::from_now()?;
    for round in 0..sizes.rounds {
        measured.wake_ns = measured.wake_ns.min(wake_ns()?);
        measured.unpark_ns = measured.unpark_ns.min(unpark_ns());
        for &workers in &sizes.workers {
            let mut kinds = [Discipline::Latch, Discipline::Combiner, Discipline::Apart];
            kinds.rotate_left(round % 3);
            // A load is short beside a run of the engine, so there is time for more of them.
            for discipline in kinds.into_iter().cycle().take(LOADS * kinds.len()) {
                stop.check()?;
                let load = Load { discipline, workers, extents: sizes.extents(), hog: false };
                let loaded = load_once(load)?;
                let best = match discipline {
                    Discipline::Latch => &mut measured.latch,
                    Discipline::Combiner => &mut measured.combiner,
                    Discipline::Apart => &mut measured.apart,
                };
                keep_faster(best, workers, loaded, |loaded| loaded.seconds);
            }
            stop.check()?;
            let sent = send_path::run(workers, RECORDS_PER_EXTENT, sizes.messages)
                .with_context(|| format!("the send path with {workers} callers"))?;
            keep_faster(&mut measured.sent, workers, sent, |sent| sent.seconds);
        }
    }
    measured.others_percent = others.percent()?;
    Ok(())
}

/// What other programs use of the processors.
struct Others {
    since: Instant,
    before: f64,
}

impl Others {
    fn from_now() -> Result<Others> {
        Ok(Others { since: Instant::now(), before: Others::seconds()? })
    }

    /// Processor time of all programs but this one, so far.
    fn seconds() -> Result<f64> {
        Ok(process::machine_cpu_seconds()? - process::Usage::own()?.cpu_seconds)
    }

    fn percent(&self) -> Result<f64> {
        let used = Others::seconds()? - self.before;
        Ok(used / self.since.elapsed().as_secs_f64() * 100.0)
    }
}

fn keep_faster<T>(best: &mut BTreeMap<usize, T>, workers: usize, new: T, seconds: fn(&T) -> f64) {
    match best.get(&workers) {
        Some(old) if seconds(old) <= seconds(&new) => {}
        _ => {
            best.insert(workers, new);
        }
    }
}

/// Runs a load in a folder of its own, which is removed.
///
/// # Errors
/// As [`extents::run`].
pub fn load_once(load: Load) -> Result<Loaded> {
    let folder = temporary_folder()?;
    extents::run(load, folder.path()).with_context(|| format!("{load:?}"))
}

/// Two threads on cores of their own that wake one another by turns and sleep between; answers the
/// median of half a round.
fn wake_ns() -> Result<f64> {
    const TIMES: usize = 1000;
    let turn = AtomicUsize::new(0);
    let sleep_until = |wanted: usize| {
        while turn.load(Ordering::Acquire) < wanted {
            std::thread::park();
        }
    };
    cores::on_own_core(0, || {
        let here = std::thread::current();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let pinned = cores::pin(1);
                for round in 0..TIMES {
                    sleep_until(2 * round + 1);
                    turn.store(2 * round + 2, Ordering::Release);
                    here.unpark();
                }
                pinned
            });
            let mut taken = Vec::with_capacity(TIMES);
            for round in 0..TIMES {
                let begun = Instant::now();
                turn.store(2 * round + 1, Ordering::Release);
                other.thread().unpark();
                sleep_until(2 * round + 2);
                taken.push(begun.elapsed().as_nanos() as f64 / 2.0);
            }
            other.join().unwrap_or_else(|_| Err(anyhow!("a thread panicked")))?;
            taken.sort_by(f64::total_cmp);
            taken.get(TIMES / 2).copied().context("no wake was measured")
        })
    })
}

/// Wakes a thread that sleeps, again and again; answers the median.
fn unpark_ns() -> f64 {
    const TIMES: usize = 200;
    /// After so long a thread that has said it will sleep sleeps.
    const ASLEEP: Duration = Duration::from_micros(100);
    let stop = AtomicBool::new(false);
    let woken = AtomicUsize::new(0);
    let mut taken = std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            while !stop.load(Ordering::Acquire) {
                std::thread::park();
                woken.fetch_add(1, Ordering::Release);
            }
        });
        let mut taken = Vec::with_capacity(TIMES);
        for _ in 0..TIMES {
            let before = woken.load(Ordering::Acquire);
            std::thread::sleep(ASLEEP);
            let begun = Instant::now();
            sleeper.thread().unpark();
            taken.push(begun.elapsed().as_nanos() as f64);
            while woken.load(Ordering::Acquire) == before {
                std::thread::yield_now();
            }
        }
        stop.store(true, Ordering::Release);
        sleeper.thread().unpark();
        taken
    });
    taken.sort_by(f64::total_cmp);
    taken.get(TIMES / 2).copied().unwrap_or(f64::INFINITY)
}
