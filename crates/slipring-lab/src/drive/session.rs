//! One run: its steps, the driver's own cost, and the tables before and after.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use tokio::runtime::Runtime;

use super::crew::{self, Progress, Step};
use super::operation::{Empty, Maker};
use super::options::Options;
use super::report::{Report, StepReport};
use super::schedule::{Pace, Until};
use super::stop::Stop;
use super::sweep::Sweep;
use crate::ledger::{Ledger, MESSAGES_MAX};
use crate::run::condition::number;
use crate::waits::classes::{self, Class, Source};
use crate::waits::counters::Counters;
use crate::waits::server::Server;
use crate::waits::{BESIDE_EVERY, Beside, Observation, flame};

/// How long the empty operation is measured; longer at low rates, so that there are some.
const EMPTY_SECONDS: f64 = 0.2;
const EMPTY_SECONDS_MAX: f64 = 1.0;
const EMPTY_OPERATIONS: f64 = 20.0;

/// The statistics of a backend that has just ended are there within this.
const SETTLE: Duration = Duration::from_millis(200);

/// A run in the making.
pub struct Session<'a> {
    /// What was asked for.
    pub options: &'a Options,
    /// Ends it early.
    pub stop: &'a Stop,
    /// Of whatever is not done by a driving thread.
    pub runtime: &'a Runtime,
    /// What it found so far.
    pub report: Report,
}

/// Tables of a moment.
struct Look {
    classes: Option<Vec<Class>>,
    counters: Option<Counters>,
    at: Instant,
}

/// Where the tables come from.
pub struct Watched {
    /// Our wait classes.
    pub classes: Source,
    /// The PostgreSQL whose counters are read.
    pub url: Option<String>,
}

impl Session<'_> {
    /// Runs all steps of an operation, with a look at the tables before and after. When it ends
    /// early, the report holds what was measured until then and says why.
    ///
    /// # Errors
    /// When not even the first step could begin.
    pub fn measure<M: Maker>(&mut self, maker: &M, watched: &Watched) -> Result<()> {
        let before = self.look(watched);
        let url = watched.url.as_deref().filter(|_| self.options.waits);
        let beside = url.map(Beside::begin);
        let ended = self.steps(maker);
        if let Some(beside) = beside {
            self.sessions(beside.end());
        }
        if let Err(error) = ended {
            if self.report.steps.is_empty() {
                return Err(error);
            }
            self.stop.because(format!("{error:#}"));
        }
        self.report.incomplete = self.stop.reason();
        if watched.url.is_some() {
            std::thread::sleep(SETTLE);
        }
        let after = self.look(watched);
        self.compare(before, after);
        if self.options.waits {
            let every_ns = BESIDE_EVERY.as_nanos() as u64;
            self.report.stacks.extend(flame::of_classes(&self.report.waits, every_ns));
        }
        Ok(())
    }

    fn steps<M: Maker>(&mut self, maker: &M) -> Result<()> {
        let mut sweep = self.options.sweep();
        let mut rate = sweep.as_mut().and_then(Sweep::first);
        let batch = match self.options.action.and_then(super::options::Action::verb) {
            Some(verb) if verb.sends() => self.options.batch,
            _ => 0,
        };
        let empty = Empty { batch, ledger: Arc::new(Ledger::new(0, MESSAGES_MAX)) };
        let own_us = self.own_cost(&empty)?;
        loop {
            let step = Step {
                threads: self.options.threads,
                pace: Options::pace(rate),
                until: self.options.until(),
                patience: self.options.wait,
            };
            let paced_us = self.paced_cost(&empty, step)?;
            let bar = Bar::new(self.options, rate);
            let figures = crew::run(maker, step, self.stop, |progress| bar.show(progress))?;
            drop(bar);
            let seen = figures.seen();
            self.report.steps.push(StepReport { figures, own_us, paced_us });
            if self.stop.is_set() {
                return Ok(());
            }
            rate = sweep.as_mut().and_then(|sweep| sweep.after(&seen));
            if rate.is_none() {
                break;
            }
        }
        if let Some(Sweep::Search(search)) = sweep {
            self.report.sustained = search.best();
            if search.best().is_none() {
                self.report.notes.push("no rate was sustained that was tried".to_owned());
            }
        }
        Ok(())
    }

    /// Processor time of an empty operation in microseconds, in a closed loop of one thread; more
    /// would only wait for processors.
    fn own_cost(&self, empty: &Empty) -> Result<f64> {
        self.empty(empty, 1, Pace::Closed, EMPTY_SECONDS)
    }

    /// The same at the rate of a step, with the sleeps until its due times; nothing for a closed
    /// loop.
    fn paced_cost(&self, empty: &Empty, step: Step) -> Result<Option<f64>> {
        let Pace::Open(rate) = step.pace else { return Ok(None) };
        let seconds = (EMPTY_OPERATIONS / rate).clamp(EMPTY_SECONDS, EMPTY_SECONDS_MAX);
        self.empty(empty, step.threads, step.pace, seconds).map(Some)
    }

    fn empty(&self, empty: &Empty, threads: usize, pace: Pace, seconds: f64) -> Result<f64> {
        let measured_ns = (seconds * 1e9) as u64;
        let until = Until::Over { warmup_ns: 0, measured_ns };
        let step = Step { threads, pace, until, patience: Duration::ZERO };
        Ok(crew::run(empty, step, self.stop, |_| {})?.cpu_us)
    }

    /// Reads the tables; what cannot be read is told in a note.
    fn look(&mut self, watched: &Watched) -> Look {
        let classes = watched.classes.read().map_err(|error| {
            self.report.notes.push(format!("no wait table: {error:#}"));
        });
        let counters = watched.url.as_ref().and_then(|url| {
            let read = async {
                let server = Server::open(url).await?;
                Counters::read(&server.client, server.version).await
            };
            let read = self.runtime.block_on(read);
            let told = |error| {
                self.report.notes.push(format!("no counters of PostgreSQL: {error:#}"));
            };
            read.map_err(told).ok()
        });
        Look { classes: classes.ok(), counters, at: Instant::now() }
    }

    /// Enters what the sessions of PostgreSQL waited for.
    fn sessions(&mut self, seen: Result<Observation>) {
        match seen {
            Ok(seen) => {
                self.report.sessions = seen.session_tables();
                self.report.stacks = seen.folded();
                self.report.notes.extend(seen.notes());
            }
            Err(error) => self.report.notes.push(format!("sessions were not seen: {error:#}")),
        }
    }

    fn compare(&mut self, before: Look, after: Look) {
        if let (Some(then), Some(now)) = (&before.classes, &after.classes) {
            match classes::difference(then, now) {
                Ok(waits) => self.report.waits = waits,
                Err(error) => self.report.notes.push(format!("no wait table: {error:#}")),
            }
        }
        if let (Some(then), Some(now)) = (&before.counters, &after.counters) {
            self.report.counters = now.since(then);
            self.report.counters_seconds = after.at.duration_since(before.at).as_secs_f64();
            self.report.notes.extend(now.unseen.iter().map(|view| format!("not seen: {view}")));
        }
    }
}

/// Shows on a terminal how far a step is; elsewhere it says nothing. It vanishes when dropped.
struct Bar {
    bar: ProgressBar,
    repeats: bool,
}

impl Bar {
    fn new(options: &Options, rate: Option<f64>) -> Bar {
        let length = match options.repeat {
            Some(each) => each.saturating_mul(options.threads as u64),
            None => ((options.warmup + options.seconds) * 1000.0) as u64,
        };
        let bar = ProgressBar::new(length);
        if let Ok(style) = ProgressStyle::with_template("{prefix} [{bar:30}] {percent:>3}% {msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_prefix(rate.map_or("closed loop".to_owned(), |rate| format!("{}/s", number(rate))));
        Bar { bar, repeats: options.repeat.is_some() }
    }

    fn show(&self, progress: Progress) {
        let position =
            if self.repeats { progress.operations } else { progress.elapsed_ns / 1_000_000 };
        self.bar.set_position(position);
        let seconds = progress.elapsed_ns as f64 / 1e9;
        if seconds > 0.0 {
            let rate = progress.operations as f64 / seconds;
            self.bar.set_message(format!("{} operations/s", number(rate)));
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
