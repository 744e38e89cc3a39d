//! Callers that wait on an empty queue again and again, and what their waits took.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use tokio::runtime::Runtime;

use super::contender::{Contender, Place};
use super::interrupt;
use crate::stats::Latencies;
use crate::time::monotonic_ns;

/// Up to so many callers are threads of the operating system, as published; more are tasks on the
/// threads of tokio, and then those of every contender are.
pub const THREADS_MAX: usize = 300;
/// Histograms that many callers share, so that ten thousand do not have one each.
const STRIPES: usize = 16;
/// How often a run looks for an interruption.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The stack of a caller's thread in bytes.
const STACK_BYTES: usize = 512 << 10;

/// What the callers of one load are.
pub fn callers_are(count: usize) -> &'static str {
    if count > THREADS_MAX { "tasks" } else { "threads" }
}

/// What callers share, and where they count.
pub struct Tally {
    stripes: Vec<Mutex<Latencies>>,
    early: AtomicU64,
    found: AtomicU64,
    next: AtomicUsize,
}

/// What a load took.
#[derive(Clone)]
pub struct Counted {
    /// Time beyond the time-out.
    pub overhead: Latencies,
    /// Waits that ended before their time.
    pub early: u64,
    /// Messages that came from an empty queue.
    pub found: u64,
}

impl Counted {
    /// Nothing yet.
    ///
    /// # Errors
    /// None in practice; the histogram checks its precision.
    pub fn new() -> Result<Counted> {
        Ok(Counted { overhead: Latencies::new()?, early: 0, found: 0 })
    }

    /// Adds another one.
    ///
    /// # Errors
    /// None in practice; the histogram checks that it may grow.
    pub fn merge(&mut self, other: &Counted) -> Result<()> {
        self.early += other.early;
        self.found += other.found;
        self.overhead.merge(&other.overhead)
    }
}

impl Tally {
    /// No waits yet.
    ///
    /// # Errors
    /// None in practice; the histogram checks its precision.
    pub fn new() -> Result<Tally> {
        let stripes = (0..STRIPES).map(|_| Ok(Mutex::new(Latencies::new()?)));
        Ok(Tally {
            stripes: stripes.collect::<Result<_>>()?,
            early: AtomicU64::new(0),
            found: AtomicU64::new(0),
            next: AtomicUsize::new(0),
        })
    }

    /// The place of a caller among those who share histograms.
    pub fn stripe(&self) -> usize {
        self.next.fetch_add(1, Ordering::Relaxed) % STRIPES
    }

    /// Counts a latency.
    pub fn add(&self, stripe: usize, ns: u64) {
        if let Some(latencies) = self.stripes.get(stripe) {
            latencies.lock().unwrap_or_else(PoisonError::into_inner).add(ns);
        }
    }

    /// What was counted so far.
    ///
    /// # Errors
    /// As [`Counted::merge`].
    pub fn counted(&self) -> Result<Counted> {
        let mut counted = Counted::new()?;
        for stripe in &self.stripes {
            counted.overhead.merge(&stripe.lock().unwrap_or_else(PoisonError::into_inner))?;
        }
        counted.early = self.early.load(Ordering::Relaxed);
        counted.found = self.found.load(Ordering::Relaxed);
        Ok(counted)
    }
}

/// Waits of one caller, one after the other.
#[derive(Clone)]
pub struct Waiting {
    /// What is driven.
    pub contender: Arc<Contender>,
    /// The queue.
    pub place: Place,
    /// The time-out; zero for a receive that does not wait.
    pub time_out: Duration,
    /// So many waits at most.
    pub repetitions: u32,
    /// Where they are counted.
    pub tally: Arc<Tally>,
    /// Ends the load early.
    pub end: Arc<AtomicBool>,
}

impl Waiting {
    /// Runs it. The first wait is not counted: all callers begin it at the same moment.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn run(self) -> Result<()> {
        let stripe = self.tally.stripe();
        let time_out_ns = u64::try_from(self.time_out.as_nanos()).unwrap_or(u64::MAX);
        for wait in 0..=self.repetitions {
            if self.end.load(Ordering::Relaxed) {
                break;
            }
            let began_ns = monotonic_ns();
            let held = self.contender.receive(self.place, self.time_out).await?;
            let took_ns = monotonic_ns().saturating_sub(began_ns);
            if let Some(held) = held {
                self.tally.found.fetch_add(1, Ordering::Relaxed);
                self.contender.ack(self.place, held).await?;
                continue;
            }
            if took_ns < time_out_ns {
                self.tally.early.fetch_add(1, Ordering::Relaxed);
            }
            if wait > 0 {
                self.tally.add(stripe, took_ns.saturating_sub(time_out_ns));
            }
        }
        Ok(())
    }
}

/// Callers at work.
pub struct Callers {
    done: mpsc::Receiver<Result<()>>,
    threads: Vec<thread::JoinHandle<()>>,
    end: Arc<AtomicBool>,
    /// How many have not told yet that they are done.
    left: usize,
    failed: Option<anyhow::Error>,
}

impl Callers {
    /// Starts `count` callers, each with a call of `make`. They look at `end`.
    ///
    /// # Errors
    /// When a thread does not start; those that did are ended.
    pub fn start<F: Future<Output = Result<()>> + Send + 'static>(
        runtime: &Runtime,
        count: usize,
        end: &Arc<AtomicBool>,
        make: impl Fn() -> F,
    ) -> Result<Callers> {
        let (tell, done) = mpsc::channel();
        let (threads, end, failed) = (Vec::new(), Arc::clone(end), None);
        let mut callers = Callers { done, threads, end, left: count, failed };
        for _ in 0..count {
            let (work, tell) = (make(), tell.clone());
            if count > THREADS_MAX {
                runtime.spawn(async move {
                    // A run that has ended does not listen any more.
                    let _ = tell.send(work.await);
                });
                continue;
            }
            let handle = runtime.handle().clone();
            let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
                let _ = tell.send(handle.block_on(work));
            });
            callers.threads.push(thread.with_context(|| format!("starting {count} threads"))?);
        }
        Ok(callers)
    }

    /// Waits until all are done, the time is over, one fails, or the run is interrupted. True when
    /// all are done.
    pub fn wait(&mut self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        while self.left > 0 && self.failed.is_none() && !interrupt::seen() {
            let left = deadline.saturating_duration_since(Instant::now());
            if !self.hear(left.min(LOOK_EVERY)) && left.is_zero() {
                return false;
            }
        }
        self.left == 0
    }

    /// Whether one has failed.
    pub fn failed(&mut self) -> bool {
        while self.left > 0 && self.hear(Duration::ZERO) {}
        self.failed.is_some()
    }

    /// Hears of one who is done; false when none is within a time.
    fn hear(&mut self, within: Duration) -> bool {
        match self.done.recv_timeout(within) {
            Ok(result) => {
                self.left -= 1;
                if let Err(error) = result {
                    self.failed.get_or_insert(error);
                }
                true
            }
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => {
                self.failed.get_or_insert_with(|| anyhow!("{} callers panicked", self.left));
                self.left = 0;
                false
            }
        }
    }

    /// Ends them, and waits for that at most for `within`.
    ///
    /// # Errors
    /// What the first failed with; when one does not end.
    pub fn finish(mut self, within: Duration) -> Result<()> {
        self.end.store(true, Ordering::Relaxed);
        let deadline = Instant::now() + within;
        while self.left > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if !self.hear(left) && left.is_zero() {
                bail!("{} callers did not end within {within:?}", self.left);
            }
        }
        for thread in self.threads.drain(..) {
            thread.join().map_err(|_| anyhow!("a caller panicked"))?;
        }
        self.failed.take().map_or(Ok(()), Err)
    }
}

impl Drop for Callers {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
    }
}
