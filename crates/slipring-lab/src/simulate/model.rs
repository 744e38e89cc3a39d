//! A model as data: what runs, on which cores, what it waits for. Read from TOML or JSON, or made
//! in Rust. `program.rs` turns it into what the simulator runs.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

/// Most workers, turns and hogs together.
pub const WORKERS_MAX: usize = 100_000;
/// Most operations of one run.
pub const OPERATIONS_MAX: u64 = 1_000_000_000;

/// Workers that do the same steps again and again until all operations are done. Times are in
/// microseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// What it is called.
    pub name: String,
    /// What it stands for, in a sentence or two; printed with its results.
    #[serde(default)]
    pub about: String,
    /// The same seed gives the same run.
    #[serde(default = "one")]
    pub seed: u64,
    /// How often the steps are done, by all workers together; each takes the next when it is free.
    pub operations: u64,
    /// What one operation counts as, such as the messages in a call.
    #[serde(default = "single")]
    pub units: f64,
    /// How many workers; one run for each number.
    pub workers: Vec<usize>,
    /// How many cores; as many as workers when it is left out.
    #[serde(default)]
    pub cores: Option<usize>,
    /// So many cores, from the first on, have a program beside the workers that never stops.
    #[serde(default)]
    pub hogs: usize,
    /// How a core is shared.
    pub scheduler: Scheduler,
    /// Things that one worker has at a time, by name.
    #[serde(default)]
    pub latches: BTreeMap<String, Latch>,
    /// Logs that are flushed, by name.
    #[serde(default)]
    pub logs: BTreeMap<String, Log>,
    /// Sets of pages, by name.
    #[serde(default)]
    pub pages: BTreeMap<String, Pages>,
    /// Combiners, by name.
    #[serde(default)]
    pub combiners: BTreeMap<String, Combiner>,
    /// What a worker does.
    pub steps: Vec<Step>,
}

/// How a core is shared by those that can run on it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Scheduler {
    /// A worker stays on its core and runs until it waits, or yields at the end of a step when its
    /// quantum is over and it holds no latch.
    Cooperative {
        /// The quantum.
        #[serde(default = "quantum")]
        quantum_us: f64,
        /// What a change from one worker to another costs the core.
        #[serde(default)]
        switch_us: f64,
    },
    /// A worker is interrupted at the end of its slice; one that wakes may interrupt another.
    Preemptive {
        /// The slice.
        #[serde(default = "slice")]
        slice_us: f64,
        /// A worker that has just begun is left alone for so long by those that wake.
        #[serde(default)]
        granularity_us: f64,
        /// What a change from one worker to another costs the core.
        #[serde(default)]
        switch_us: f64,
        /// Workers stay on the core of their number; otherwise they go to one that is free.
        #[serde(default)]
        pinned: bool,
    },
}

/// Who gets a latch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// First come, first served: it is handed to the first who waits, even while that one sleeps.
    #[default]
    Fifo,
    /// Who is there first takes it; one who sleeps is woken, and tries again.
    Barging,
}

/// Which part of a sharded latch a worker takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pick {
    /// Any.
    #[default]
    Random,
    /// The one of its number.
    Worker,
    /// The last one, as who appends does.
    Last,
}

/// A latch, or several of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latch {
    /// Who gets it.
    #[serde(default)]
    pub order: Order,
    /// How many parts it is divided into.
    #[serde(default = "some")]
    pub shards: usize,
    /// Which part a worker takes.
    #[serde(default)]
    pub pick: Pick,
    /// From the release to the moment when the next one, which slept, can run.
    #[serde(default)]
    pub wake_us: f64,
    /// How much longer that takes for each further one that waits.
    #[serde(default)]
    pub wake_us_per_waiter: f64,
}

/// A log on a disk that does one flush at a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// What a flush takes.
    pub flush_us: f64,
    /// A flush is for all that wait when it begins; otherwise each has one of its own.
    #[serde(default = "yes")]
    pub group: bool,
    /// From the end of a flush to the moment when one who waited can run.
    #[serde(default)]
    pub wake_us: f64,
}

/// Pages that are taken one at a time, and may have to be read first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pages {
    /// How many.
    pub count: usize,
    /// Which one a worker takes.
    #[serde(default)]
    pub pick: Pick,
    /// From the release of a page to the moment when the next one can run.
    #[serde(default)]
    pub wake_us: f64,
    /// Of 100 uses, how many must read the page first.
    #[serde(default)]
    pub miss_percent: f64,
    /// What reading takes.
    #[serde(default)]
    pub read_us: f64,
    /// So many are read at a time.
    #[serde(default = "some")]
    pub reads_at_a_time: usize,
}

/// Gathers the calls that wait at the same time into one turn (flat combining).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Combiner {
    /// Turns at a time.
    #[serde(default = "some")]
    pub turns: usize,
    /// A turn takes no further calls when it has so many units; one call at least.
    pub units_max: u64,
    /// From a call to the moment when a turn that had nothing to do can run. With 0 the caller
    /// itself does it (flat combining), above 0 it is a thread of its own.
    #[serde(default)]
    pub wake_us: f64,
    /// From the end of a turn to the moment when one of its callers can run.
    #[serde(default)]
    pub answer_us: f64,
    /// What a turn does.
    pub turn: Vec<Step>,
}

/// How the work of a step differs from one time to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    /// Always the same.
    #[default]
    Fixed,
    /// From nothing to twice as much, all equally likely.
    Uniform,
    /// Exponential, with this mean.
    Exponential,
}

/// One step of a worker or of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Uses a core.
    Work {
        /// For so long.
        us: f64,
        /// In a turn, so much more for each unit that it takes.
        #[serde(default)]
        us_per_unit: f64,
        /// In a turn, so much more for each call that it takes.
        #[serde(default)]
        us_per_call: f64,
        /// So much more for each other worker of the run, as where all step over what the others
        /// hold.
        #[serde(default)]
        us_per_worker: f64,
        /// How it differs.
        #[serde(default)]
        spread: Spread,
    },
    /// Waits without using a core.
    Sleep {
        /// For so long.
        us: f64,
        /// Sleeps end at multiples of this only, as where a clock ticks; 0 for at once.
        #[serde(default)]
        tick_us: f64,
    },
    /// Takes a latch.
    Acquire {
        /// Its name.
        latch: String,
    },
    /// Gives it back.
    Release {
        /// Its name.
        latch: String,
    },
    /// Waits until all it has written is on disk.
    Flush {
        /// The name of the log.
        log: String,
    },
    /// Takes a page, reads it if need be, works on it and gives it back.
    Page {
        /// The name of the pages.
        pages: String,
        /// The work.
        us: f64,
    },
    /// Leaves a call for a combiner and waits for the answer.
    Combine {
        /// Its name.
        combiner: String,
        /// How much it brings.
        #[serde(default = "one")]
        units: u64,
    },
}

fn one() -> u64 {
    1
}

fn some() -> usize {
    1
}

fn single() -> f64 {
    1.0
}

fn yes() -> bool {
    true
}

fn quantum() -> f64 {
    4000.0
}

fn slice() -> f64 {
    3000.0
}

impl Step {
    /// Work that is always the same.
    pub fn work(us: f64) -> Step {
        Step::spread_work(us, Spread::Fixed)
    }

    /// Work that differs.
    pub fn spread_work(us: f64, spread: Spread) -> Step {
        Step::Work { us, us_per_unit: 0.0, us_per_call: 0.0, us_per_worker: 0.0, spread }
    }

    /// A latch is taken, held for some work and given back.
    pub fn held(latch: &str, us: f64) -> [Step; 3] {
        let latch = latch.to_owned();
        [Step::Acquire { latch: latch.clone() }, Step::work(us), Step::Release { latch }]
    }
}

impl Model {
    /// Reads one; a name that ends in `.json` is JSON, all else TOML.
    ///
    /// # Errors
    /// When it cannot be read or is no model; the error says where.
    pub fn read(path: &Path) -> Result<Model> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("reading the model {}", path.display()))?;
        let json = path.extension().is_some_and(|ending| ending == "json");
        Model::parse(&text, json).with_context(|| format!("the model {}", path.display()))
    }

    /// Reads one from its text.
    ///
    /// # Errors
    /// As [`Model::read`].
    pub fn parse(text: &str, json: bool) -> Result<Model> {
        let model: Model = if json {
            serde_json::from_str(text).context("not the JSON of a model")?
        } else {
            toml::from_str(text).context("not the TOML of a model")?
        };
        model.check()?;
        Ok(model)
    }

    /// How many cores a run with so many workers has.
    pub fn cores_for(&self, workers: usize) -> usize {
        self.cores.unwrap_or(workers)
    }

    /// Whether its numbers make sense; names and the order of steps are checked when it is
    /// compiled.
    ///
    /// # Errors
    /// What is wrong, the value and the limit.
    pub fn check(&self) -> Result<()> {
        if !(1..=OPERATIONS_MAX).contains(&self.operations) {
            bail!("operations is {}; it must be 1 to {OPERATIONS_MAX}", self.operations);
        }
        if self.workers.is_empty() {
            bail!("workers is empty; give at least one number, such as [1, 2, 4]");
        }
        let turns = self.combiners.values().map(|combiner| combiner.turns);
        let turns = turns.fold(0, usize::saturating_add);
        for &workers in &self.workers {
            let cores = self.cores_for(workers);
            if workers == 0 || cores == 0 {
                bail!("workers and cores are at least 1");
            }
            let all = workers.saturating_add(turns).saturating_add(self.hogs);
            if all > WORKERS_MAX || cores > WORKERS_MAX {
                bail!("{all} workers, turns and hogs on {cores} cores; at most {WORKERS_MAX}");
            }
            if self.hogs > cores {
                bail!("{} hogs for {cores} cores; one for each core at most", self.hogs);
            }
        }
        if !(self.units > 0.0 && self.units.is_finite()) {
            bail!("units is {}; it must be above 0", self.units);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub const EXAMPLE: &str = include_str!("../../models/log_latch.toml");

    #[test]
    fn the_example_is_a_model_and_is_the_same_as_json() {
        let model = Model::parse(EXAMPLE, false).unwrap();
        assert!(!model.latches.is_empty() && !model.steps.is_empty());
        let json = serde_json::to_string(&model).unwrap();
        assert_eq!(Model::parse(&json, true).unwrap(), model);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_value_and_the_limit() {
        let model = Model::parse(EXAMPLE, false).unwrap();
        let error = |model: Model| model.check().unwrap_err().to_string();
        assert!(error(Model { operations: 0, ..model.clone() }).contains("it must be 1 to"));
        assert!(error(Model { workers: vec![0], ..model.clone() }).contains("at least 1"));
        assert!(error(Model { workers: Vec::new(), ..model.clone() }).contains("at least one"));
        assert!(error(Model { hogs: 5, cores: Some(4), ..model.clone() }).contains("5 hogs"));
        let unknown = EXAMPLE.replace("wake_us", "wakeup_us");
        let error = format!("{:#}", Model::parse(&unknown, false).unwrap_err());
        assert!(error.contains("wakeup_us"), "{error}");
    }
}
