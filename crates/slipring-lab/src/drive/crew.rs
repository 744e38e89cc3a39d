//! The threads of one step. Each does one operation at a time; in an open loop, whichever is free
//! takes the next that is due.
//!
//! ```text
//!   due times │ │ │ │ │ ─▶ next free thread: wait until due ─▶ operation ─▶ tally
//!            1/rate apart            (late when none is free)
//! ```

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, mpsc};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use nix::time::{ClockId, clock_gettime};

use super::operation::{Failure, Interrupt, Maker, Operation, Turn};
use super::schedule::{Pace, Schedule, Until};
use super::stop::Stop;
use super::tally::{Done, Figures, Tally};
use crate::time::monotonic_ns;

/// Threads of one step at most.
pub const THREADS_MAX: usize = 4096;
/// Operations hold little on the stack; the default of 2 MiB would be much for so many threads.
const STACK_BYTES: usize = 1 << 20;
/// Between the moment that all threads are ready and the first due time.
const HEAD_START_NS: u64 = 5_000_000;
/// How long the end of a step waits for answers.
const GRACE: Duration = Duration::from_secs(10);
/// How often the progress is looked at, and how late a stop is noticed at most.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A shorter wait is not worth a sleep.
const SPIN_NS: u64 = 3_000;
/// The kernel may let a sleep be longer by this.
const TIMER_SLACK_NS: u64 = 1;

/// What one step is.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// Threads.
    pub threads: usize,
    /// How operations follow each other.
    pub pace: Pace,
    /// When it ends.
    pub until: Until,
    /// How long an operation may rightly take without an answer.
    pub patience: Duration,
}

/// How far a step is.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Operations done.
    pub operations: u64,
    /// Time since its begin in nanoseconds.
    pub elapsed_ns: u64,
}

/// A count on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Count(AtomicU64);

/// What all threads of a step share.
struct Shared<'a> {
    stop: &'a Stop,
    step: Step,
    /// Set when all threads are ready; holds nothing when one of them failed.
    begin: OnceLock<Option<Schedule>>,
    next: AtomicU64,
    counts: Vec<Count>,
    interrupts: Mutex<Vec<Interrupt>>,
}

/// Runs a step. When the target goes away, `stop` says so and the figures are those until then.
///
/// # Errors
/// When an operation cannot be made.
pub fn run<M: Maker>(
    maker: &M,
    step: Step,
    stop: &Stop,
    mut show: impl FnMut(Progress),
) -> Result<Figures> {
    let shared = Shared {
        stop,
        step,
        begin: OnceLock::new(),
        next: AtomicU64::new(0),
        counts: std::iter::repeat_with(Count::default).take(step.threads).collect(),
        interrupts: Mutex::default(),
    };
    let (tallies, ended_ns) = std::thread::scope(|scope| {
        let (ready, answers) = mpsc::channel();
        let mut threads = Vec::with_capacity(step.threads);
        for number in 0..step.threads {
            let (shared, ready) = (&shared, ready.clone());
            let builder = std::thread::Builder::new().name(format!("drive-{number}"));
            let spawned = builder
                .stack_size(STACK_BYTES)
                .spawn_scoped(scope, move || work(maker, number, shared, &ready));
            match spawned {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    // Those that are there wait for this word; they must not wait for ever.
                    let _ = shared.begin.set(None);
                    let what = format!("starting thread {number} of {}", step.threads);
                    return Err(anyhow!(error).context(what));
                }
            }
        }
        drop(ready);
        // A thread that ends without a word has panicked: the channel is closed then.
        let made: Result<Vec<()>> = (0..step.threads)
            .map(|_| answers.recv().context("a thread panicked").flatten())
            .collect();
        if let Err(error) = made {
            let _ = shared.begin.set(None);
            return Err(error);
        }
        let begin_ns = monotonic_ns() + HEAD_START_NS;
        let schedule = Schedule::new(begin_ns, step.pace, step.until, step.threads as u64);
        let _ = shared.begin.set(Some(schedule));
        watch(&shared, &schedule, &threads, &mut show);
        let planned_ns = schedule.end_ns.unwrap_or(u64::MAX).min(monotonic_ns());
        let ended_ns = stop.moment_ns().map_or(planned_ns, |stop_ns| stop_ns.min(planned_ns));
        let joined = threads.into_iter().map(|thread| {
            thread.join().map_err(|_| anyhow!("a driving thread panicked")).flatten()
        });
        Ok((joined.collect::<Result<Vec<Tally>>>()?, ended_ns))
    })?;
    let Some(Some(schedule)) = shared.begin.get() else { return Err(anyhow!("no step began")) };
    let mut all = Tally::new()?;
    for tally in tallies {
        all.merge(tally)?;
    }
    Ok(all.figures(schedule, step.threads, ended_ns))
}

/// Shows how far the step is until all threads have ended; cuts off operations without an answer.
fn watch<T>(
    shared: &Shared<'_>,
    schedule: &Schedule,
    threads: &[std::thread::ScopedJoinHandle<'_, T>],
    show: &mut impl FnMut(Progress),
) {
    let patience_ns = (shared.step.patience + GRACE).as_nanos() as u64;
    while !threads.iter().all(|thread| thread.is_finished()) {
        let operations = shared.counts.iter().map(|count| count.0.load(Ordering::Relaxed)).sum();
        let now_ns = monotonic_ns();
        show(Progress { operations, elapsed_ns: now_ns.saturating_sub(schedule.begin_ns) });
        if schedule.end_ns.is_some_and(|end_ns| now_ns > end_ns + patience_ns) {
            let limit = shared.step.patience + GRACE;
            shared.stop.because(format!("operations had no answer {limit:?} after the end"));
        }
        if shared.stop.is_set() {
            let interrupts = shared.interrupts.lock().unwrap_or_else(PoisonError::into_inner);
            interrupts.iter().for_each(|interrupt| interrupt());
        }
        std::thread::sleep(LOOK_EVERY.min(Duration::from_millis(20)));
    }
}

/// A thread: makes its operation, waits for the others, and works.
fn work<M: Maker>(
    maker: &M,
    number: usize,
    shared: &Shared<'_>,
    ready: &mpsc::Sender<Result<()>>,
) -> Result<Tally> {
    // Without it sleeps end some 50 µs late; that is the kernel's default, and no error.
    let _ = nix::sys::prctl::set_timerslack(TIMER_SLACK_NS);
    let all = async {
        let made = tokio::select! {
            made = maker.make(number) => made,
            () = shared.stop.told() => Err(anyhow!(shared.stop.reason().unwrap_or_default())),
        };
        let mut operation = match made {
            Ok(operation) => operation,
            Err(error) => {
                // The other side waits for one word of each thread.
                let _ = ready.send(Err(error));
                return Tally::new();
            }
        };
        shared.can_be_interrupted(operation.interrupt());
        let _ = ready.send(Ok(()));
        let Some(schedule) = *shared.begin.wait() else { return Tally::new() };
        let tally = repeat(&mut operation, number, &schedule, shared).await?;
        if !shared.stop.is_set()
            && let Err(error) = operation.finish().await
        {
            shared.stop.because(format!("the target failed: {error:#}"));
        }
        Ok(tally)
    };
    match maker.runtime() {
        Some(runtime) => runtime.block_on(all),
        None => {
            let mut own = tokio::runtime::Builder::new_current_thread();
            own.enable_all().build().context("starting a thread's runtime")?.block_on(all)
        }
    }
}

/// The turns of one thread.
async fn repeat<O: Operation>(
    operation: &mut O,
    thread: usize,
    schedule: &Schedule,
    shared: &Shared<'_>,
) -> Result<Tally> {
    let mut tally = Tally::new()?;
    let mut cut = std::pin::pin!(shared.stop.told());
    let (cpu_ns, mut turns) = (thread_cpu_ns(), 0);
    while !shared.stop.is_set() {
        let prepared = tokio::select! {
            biased;
            prepared = operation.prepare() => prepared,
            () = &mut cut => break,
        };
        if let Err(error) = prepared {
            shared.gone(&error);
            break;
        }
        let Some((number, due_ns)) = shared.take(schedule, thread, turns) else { break };
        let Some(begun_ns) = wait_until(due_ns, schedule, shared.stop) else { break };
        turns += 1;
        tally.started += 1;
        let answer = tokio::select! {
            biased;
            answer = operation.once(Turn { number }) => answer,
            () = &mut cut => {
                tally.unanswered += 1;
                break;
            }
        };
        let ended_ns = monotonic_ns();
        match answer {
            Ok(items) => {
                let due_ns = if schedule.rate.is_some() { due_ns } else { begun_ns };
                tally.note(schedule, Done { due_ns, begun_ns, ended_ns, items });
            }
            // What was interrupted was not refused.
            Err(_) if shared.stop.is_set() => tally.unanswered += 1,
            Err(Failure::Refused(why)) => tally.fail(why),
            Err(Failure::Gone(error)) => {
                tally.unanswered += 1;
                shared.gone(&error);
            }
        }
        shared.counts[thread].0.store(turns, Ordering::Relaxed);
    }
    tally.cpu_ns = thread_cpu_ns().saturating_sub(cpu_ns);
    Ok(tally)
}

impl Shared<'_> {
    /// The next operation of a thread with its due time; nothing when there are no more.
    fn take(&self, schedule: &Schedule, thread: usize, turns: u64) -> Option<(u64, u64)> {
        if schedule.rate.is_some() {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            return Some((number, schedule.due_ns(number)?));
        }
        if let Until::Repetitions(each) = self.step.until
            && turns >= each
        {
            return None;
        }
        // Threads take turns at the numbers without a count that they share.
        Some((turns * self.step.threads as u64 + thread as u64, schedule.begin_ns))
    }

    fn can_be_interrupted(&self, interrupt: Option<Interrupt>) {
        self.interrupts.lock().unwrap_or_else(PoisonError::into_inner).extend(interrupt);
    }

    /// Ends the run, for the target has gone.
    fn gone(&self, error: &anyhow::Error) {
        self.stop.because(format!("the target failed: {error:#}"));
    }
}

/// Blocks the thread until a due time; answers the time then, nothing when the step ends before.
fn wait_until(due_ns: u64, schedule: &Schedule, stop: &Stop) -> Option<u64> {
    loop {
        let now_ns = monotonic_ns();
        if schedule.end_ns.is_some_and(|end_ns| now_ns >= end_ns) || stop.is_set() {
            return None;
        }
        let Some(left_ns) = due_ns.checked_sub(now_ns).filter(|left_ns| *left_ns > 0) else {
            return Some(now_ns);
        };
        if left_ns > SPIN_NS {
            std::thread::sleep(Duration::from_nanos(left_ns).min(LOOK_EVERY));
        } else {
            std::hint::spin_loop();
        }
    }
}

/// Processor time of this thread.
fn thread_cpu_ns() -> u64 {
    // The clock is there on every Linux; were it not, the cost would show as zero.
    let Ok(time) = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID) else { return 0 };
    let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec()).unwrap_or(0)
}
