//! The command line of `drive`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};

use super::crew::THREADS_MAX;
use super::messages::Verb;
use super::schedule::{Pace, Until};
use super::statement::Parameter;
use super::sweep::{Search, Sweep};
use crate::targets::Kind;
use crate::targets::postgres::URL_VARIABLE;

/// Longest step in seconds.
const SECONDS_MAX: f64 = 86_400.0;
/// Highest rate, operations per second.
const RATE_MAX: f64 = 1e9;
/// Where a search begins, operations per second.
const SEARCH_FROM: f64 = 1000.0;

/// What is done over and over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Action {
    /// Nothing: shows what the driver itself can do.
    Noop,
    /// Send a batch.
    Send,
    /// Receive a batch without waiting.
    Receive,
    /// Receive a batch and wait for it.
    WaitReceive,
    /// Ack a batch.
    Ack,
    /// Send, receive and ack a batch.
    Cycle,
    /// Execute a statement of your own, prepared, on PostgreSQL or SQLite.
    Sql,
}

impl Action {
    /// What is done with messages, if that is what it does.
    pub fn verb(self) -> Option<Verb> {
        match self {
            Action::Noop | Action::Sql => None,
            Action::Send => Some(Verb::Send),
            Action::Receive => Some(Verb::Receive),
            Action::WaitReceive => Some(Verb::WaitReceive),
            Action::Ack => Some(Verb::Ack),
            Action::Cycle => Some(Verb::Cycle),
        }
    }
}

/// What is driven, and how.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// What is done over and over.
    #[arg(value_enum, required_unless_present = "smoke")]
    pub action: Option<Action>,
    /// `sql`: the statement.
    pub statement: Option<String>,
    /// `sql`: a value for each parameter of the statement, in their order: n (the number of the
    /// turn), thread, random:LOW..HIGH, =TEXT.
    #[arg(long = "param", value_name = "VALUE")]
    pub parameters: Vec<Parameter>,
    /// What the lab starts and drives; without an address it is `store`.
    #[arg(long, value_enum)]
    pub target: Option<Kind>,
    /// A PostgreSQL of yours, postgres://user@host:port/database. Queues need the target `postgres`
    /// (the default with it) or another one that is inside PostgreSQL.
    #[arg(long, env = URL_VARIABLE, hide_env_values = true)]
    pub url: Option<String>,
    /// A server of yours that speaks the beanstalkd protocol, host:port.
    #[arg(long, value_name = "HOST:PORT")]
    pub tube: Option<String>,
    /// A server of yours that speaks the SQS protocol over plain HTTP and asks for no signature,
    /// http://host:port.
    #[arg(long, value_name = "URL")]
    pub sqs: Option<String>,
    /// An SQLite file of yours; for queues it is a store of ours, made if need be.
    #[arg(long, value_name = "PATH")]
    pub file: Option<PathBuf>,
    /// The queue. What it holds of others is received and acked like what the run has sent.
    #[arg(long, default_value = "slipring-lab-drive")]
    pub queue: String,
    /// Threads, each with a connection and one operation at a time.
    #[arg(long, default_value_t = 4)]
    pub threads: usize,
    /// Messages of one operation.
    #[arg(long, default_value_t = 1)]
    pub batch: usize,
    /// `wait-receive`: how long it waits; whole seconds by a wire protocol.
    #[arg(long, default_value = "10ms", value_parser = humantime::parse_duration)]
    pub wait: Duration,
    /// Messages that are sent to the queue before.
    #[arg(long, default_value_t = 0)]
    pub fill: u64,
    /// Operations of each thread, in place of a time.
    #[arg(long, conflicts_with = "search")]
    pub repeat: Option<u64>,
    /// Measured seconds of each step.
    #[arg(long, default_value_t = 5.0)]
    pub seconds: f64,
    /// Seconds before each step that are not measured.
    #[arg(long, default_value_t = 0.5)]
    pub warmup: f64,
    /// Open loop: operations per second that are due, one step for each rate. Without it each
    /// thread starts the next operation when the last one is answered.
    #[arg(long, value_delimiter = ',')]
    pub rate: Vec<f64>,
    /// Search for the highest rate that is sustained, from --rate or 1,000 on.
    #[arg(long)]
    pub search: bool,
    /// The search backs off when more than this share of the operations starts late, in percent.
    #[arg(long, default_value_t = 1.0)]
    pub late_limit: f64,
    /// `/metrics` of the Slipring server that is driven, for its wait table.
    #[arg(long, value_name = "URL")]
    pub metrics: Option<String>,
    /// The token that it asks for.
    #[arg(long, value_name = "TOKEN", env = "SLIPRING_ADMIN_TOKEN", hide_env_values = true)]
    pub metrics_token: Option<String>,
    /// Draw a flame graph of waiting: of our wait classes, and of the sessions of the PostgreSQL,
    /// which are looked at every 50 ms.
    #[arg(long)]
    pub waits: bool,
    /// Of random parameters.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Write all figures with histograms to this file.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the figures to this file, a line for each step.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Keep tables, plots and raw data in a dated folder inside this one; otherwise they go to
    /// target/lab/drive.
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Fail when a check is missed.
    #[arg(long)]
    pub strict: bool,
    /// Tiny sizes on all kinds of targets, all answers checked; the figures mean nothing.
    #[arg(long)]
    pub smoke: bool,
}

impl Options {
    /// Checks what clap cannot.
    ///
    /// # Errors
    /// For values that make no sense, or no sense together.
    pub fn check(&self) -> Result<()> {
        let within =
            |name: &str, value: f64, low: f64, high: f64| match (low..=high).contains(&value) {
                true => Ok(()),
                false => bail!("--{name} is {value}; it lies between {low} and {high}"),
            };
        within("threads", self.threads as f64, 1.0, THREADS_MAX as f64)?;
        within("batch", self.batch as f64, 1.0, 100_000.0)?;
        within("seconds", self.seconds, 0.01, SECONDS_MAX)?;
        within("warmup", self.warmup, 0.0, SECONDS_MAX)?;
        within("late-limit", self.late_limit, 0.0, 100.0)?;
        for rate in &self.rate {
            within("rate", *rate, 0.1, RATE_MAX)?;
        }
        if self.repeat == Some(0) {
            bail!("--repeat is 0; each thread does at least one operation");
        }
        let action = self.action.unwrap_or(Action::Noop);
        let addresses = [
            ("--url", self.url.is_some()),
            ("--tube", self.tube.is_some()),
            ("--sqs", self.sqs.is_some()),
            ("--file", self.file.is_some()),
        ];
        let given: Vec<&str> =
            addresses.iter().filter(|(_, is)| *is).map(|(name, _)| *name).collect();
        if given.len() > 1 {
            bail!("{} are given; a run has one target", given.join(" and "));
        }
        if let Some(target) =
            self.target.filter(|_| self.tube.is_some() || self.sqs.is_some() || self.file.is_some())
        {
            bail!("--target {target:?} is given together with {}; a run has one target", given[0]);
        }
        if self.url.is_some() && self.target.is_some_and(|target| !target.in_postgres()) {
            bail!("--target {:?} is not inside the PostgreSQL of --url", self.target);
        }
        if self.statement.is_some() != (action == Action::Sql) {
            bail!("a statement belongs to `sql`: slipring-lab drive sql \"SELECT 1\" --url URL");
        }
        if action == Action::Sql && self.url.is_none() && self.file.is_none() {
            bail!("`sql` needs the database: --url postgres://… or --file PATH.db");
        }
        self.check_wait(action)
    }

    fn check_wait(&self, action: Action) -> Result<()> {
        let in_process = self.file.is_some()
            || self.url.is_some()
            || matches!(self.target, Some(Kind::Store | Kind::Memory | Kind::Postgres));
        let by_wire =
            !in_process && (self.target.is_some() || self.tube.is_some() || self.sqs.is_some());
        if action == Action::WaitReceive && by_wire && self.wait.subsec_nanos() != 0 {
            bail!("--wait is {:?}; by a wire protocol a receive waits whole seconds", self.wait);
        }
        Ok(())
    }

    /// When each step ends.
    pub fn until(&self) -> Until {
        let ns = |seconds: f64| (seconds * 1e9) as u64;
        match self.repeat {
            Some(each) => Until::Repetitions(each),
            None => Until::Over { warmup_ns: ns(self.warmup), measured_ns: ns(self.seconds) },
        }
    }

    /// The rates; nothing for a closed loop.
    pub fn sweep(&self) -> Option<Sweep> {
        if self.search {
            let first = self.rate.first().copied().unwrap_or(SEARCH_FROM);
            return Some(Sweep::Search(Search::new(first, self.late_limit / 100.0)));
        }
        (!self.rate.is_empty()).then(|| Sweep::list(self.rate.clone()))
    }

    /// How operations follow each other at a rate of the sweep.
    pub fn pace(rate: Option<f64>) -> Pace {
        rate.map_or(Pace::Closed, Pace::Open)
    }

    /// What a run does, in one line.
    pub fn title(&self) -> String {
        let action = self.action.unwrap_or(Action::Noop);
        let what = match action {
            Action::Sql => format!("sql {:?}", self.statement.as_deref().unwrap_or_default()),
            Action::Noop => "noop".to_owned(),
            _ => format!("{action:?} of {} messages on {}", self.batch, self.target_name()),
        };
        format!("{what} by {} threads", self.threads)
    }

    /// What is driven.
    pub fn target_name(&self) -> String {
        if let Some(file) = &self.file {
            return file.display().to_string();
        }
        if let Some(address) = self.tube.as_ref().or(self.sqs.as_ref()) {
            return address.clone();
        }
        match (self.target, &self.url) {
            (Some(kind), _) => format!("{kind:?}"),
            (None, Some(_)) => "a PostgreSQL at an address".to_owned(),
            (None, None) => "Store".to_owned(),
        }
    }
}
