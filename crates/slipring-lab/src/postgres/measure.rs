//! One measurement: a fresh database, a driver in it, work, and what that cost.

use std::collections::BTreeMap;
use std::process::Command as Process;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio_postgres::Client;

use super::cluster::Cluster;
use super::contenders::{Contender, Program};
use super::driver::{Driver, Step};
use super::meter::{Meter, Tables, position};
use super::protocol::{Answer, Command, Ready, Work};
use super::report::{ContenderReport, Held, Phase, Round, RowReport};
use super::rows::{Beside, Row};
use super::{Plan, Sizes};
use crate::peers::{Peer, Prepared};
use crate::run::contender::turns;
use crate::run::progress;
use crate::targets::Kind;
use crate::targets::postgres::connect;

/// For making a schema, and for ending.
const PATIENCE: Duration = Duration::from_secs(120);
/// Longer than any duty is put off that comes from having made queues: autovacuum looks once a
/// minute, and tables of ours that were written are left after a minute.
const STILL: Duration = Duration::from_secs(70);
const STILL_WITHIN: Duration = Duration::from_secs(210);

/// Where measurements are made.
pub struct Bench<'a> {
    cluster: &'a Cluster,
    admin: Client,
    sizes: Sizes,
    only: &'a [String],
    folder: tempfile::TempDir,
    peers: BTreeMap<Peer, std::result::Result<Prepared, String>>,
}

impl<'a> Bench<'a> {
    /// A place for measurements inside a PostgreSQL: of all contenders, or only of those named.
    ///
    /// # Errors
    /// When PostgreSQL refuses.
    pub async fn new(cluster: &'a Cluster, sizes: Sizes, only: &'a [String]) -> Result<Bench<'a>> {
        let folder = crate::workloads::temporary_folder()?;
        let admin = cluster.admin().await?;
        Ok(Bench { cluster, admin, sizes, only, folder, peers: BTreeMap::new() })
    }

    /// The settings of PostgreSQL that matter.
    ///
    /// # Errors
    /// When PostgreSQL fails.
    pub async fn settings(&self) -> Result<BTreeMap<String, String>> {
        let rows = self.admin.query(include_str!("../../queries/settings.sql"), &[]).await?;
        rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
    }

    /// Runs the contenders of a row by turns. Answers the trouble of ours beside the figures; a
    /// contender in trouble is not run again.
    ///
    /// # Errors
    /// When PostgreSQL fails.
    pub async fn row(&mut self, row: &Row) -> Result<(RowReport, Option<String>)> {
        let asked = |name: &str| self.only.is_empty() || self.only.iter().any(|n| n == name);
        let mut contenders = (row.contenders)(self.sizes);
        contenders.retain(|contender| asked(contender.name));
        let named = |contender: &Contender| ContenderReport {
            name: contender.name.to_owned(),
            ..ContenderReport::default()
        };
        let mut reports: Vec<ContenderReport> = contenders.iter().map(named).collect();
        let rounds = self.sizes.rounds.min(row.rounds_max);
        for (round, at) in turns(contenders.len(), rounds) {
            let (Some(contender), Some(found)) = (contenders.get(at), reports.get_mut(at)) else {
                continue;
            };
            if found.trouble.is_some() {
                continue;
            }
            progress(&format!("{}, {}, round {} …", row.name, contender.name, round + 1));
            match self.measure(contender, row.beside).await {
                Ok((ready, measured)) => {
                    found.trouble = wrong(&measured.answer);
                    found.ready = ready;
                    found.rounds.push(measured);
                }
                Err(error) => found.trouble = Some(one_line(&error)),
            }
        }
        progress("");
        reports.iter_mut().for_each(ContenderReport::sum_up);
        let conditions = (row.conditions)(&reports);
        let ours = contenders.iter().zip(&reports).filter(|(contender, _)| contender.is_ours());
        let trouble = ours
            .filter_map(|(contender, found)| {
                Some(format!("{}: {}", contender.name, found.trouble.as_ref()?))
            })
            .next();
        let (name, what) = (row.name.to_owned(), row.what.to_owned());
        Ok((RowReport { name, what, conditions, contenders: reports }, trouble))
    }

    async fn measure(&mut self, contender: &Contender, beside: Beside) -> Result<(Ready, Round)> {
        let prepared = match contender.program {
            Program::Own(_) => None,
            Program::Peer(peer) => Some(self.prepared(peer).await?),
        };
        let database = self.cluster.create_database(&self.admin).await?;
        // Pages written for the first time after a checkpoint cost more WAL; this way all
        // contenders begin alike. It takes a right that a given PostgreSQL may not grant.
        let _ = self.admin.batch_execute("CHECKPOINT").await;
        let found = self.measure_in(&database, contender, prepared, beside).await;
        self.cluster.drop_database(&self.admin, &database).await?;
        found
    }

    /// What a peer needs, installed when it is first asked for.
    async fn prepared(&mut self, peer: Peer) -> Result<Prepared> {
        if !self.peers.contains_key(&peer) {
            let prepared = peer.prepare(&self.admin, self.cluster.is_own()).await;
            self.peers.insert(peer, prepared.map_err(|error| format!("absent: {error:#}")));
        }
        let found = self.peers.get(&peer).context("a peer that was not prepared")?;
        found.clone().map_err(anyhow::Error::msg)
    }

    async fn measure_in(
        &self,
        database: &str,
        contender: &Contender,
        prepared: Option<Prepared>,
        beside: Beside,
    ) -> Result<(Ready, Round)> {
        let url = self.cluster.url(database);
        let (process, version) = match (contender.program, prepared) {
            (Program::Own(kind), _) => (own(kind, &url)?, None),
            (Program::Peer(peer), Some(prepared)) => {
                prepared.set_up(&url).await.with_context(|| format!("absent: {}", peer.name()))?;
                let process = match peer.kind() {
                    Some(kind) => own(kind, &url)?,
                    None => prepared.process(&url),
                };
                (process, prepared.version)
            }
            (Program::Peer(peer), None) => anyhow::bail!("{} was not prepared", peer.name()),
        };
        let driver = Driver::start(process, self.folder.path(), PATIENCE).await?;
        let mut ready = driver.ready.clone();
        ready.version = version.unwrap_or(ready.version);
        let round = self.drive(driver, database, &contender.command, beside).await?;
        Ok((ready, round))
    }

    async fn drive(
        &self,
        mut driver: Driver,
        database: &str,
        command: &Command,
        beside: Beside,
    ) -> Result<Round> {
        if command.queues > 1 {
            self.make_queues(&mut driver, database, command).await?;
        }
        let meter = Meter::begin(self.cluster, &self.admin, database).await?;
        let mut held = Transaction::new(self.cluster, database, beside, self.sizes.plan());
        driver.give(command).await?;
        let mut windows = Vec::new();
        let answer = loop {
            match driver.step(limit(command)).await? {
                Step::Done(answer) => break answer,
                Step::Window(window) => {
                    let tables = Tables::of(self.cluster, database).await?;
                    windows.push(Phase {
                        phase: held.phase(),
                        window,
                        dead_rows: tables.dead_rows(),
                        bytes: tables.bytes,
                    });
                    held.window_over().await?;
                }
            }
        };
        let paused = meter.pause().await?;
        driver.end(PATIENCE).await?;
        let cost = meter.end(paused).await?;
        Ok(Round { command: command.clone(), answer, cost, windows })
    }

    /// Makes the queues of some rows, and does now what that leaves to do for autovacuum and the
    /// checkpointer: it is no cost of what is measured.
    async fn make_queues(
        &self,
        driver: &mut Driver,
        database: &str,
        command: &Command,
    ) -> Result<()> {
        driver.give(&Command { work: Work::MakeQueues, ..command.clone() }).await?;
        match driver.step(limit(command)).await? {
            Step::Done(_) => {}
            Step::Window(window) => anyhow::bail!("a window while making queues: {window:?}"),
        }
        let client = connect(&self.cluster.url(database)).await?;
        for statement in ["ANALYZE", "VACUUM"] {
            client.batch_execute(statement).await.context("cleaning up behind new queues")?;
        }
        self.admin.batch_execute("CHECKPOINT").await.ok();
        if command.work == Work::Idle && !self.sizes.smoke {
            self.stillness().await?;
        }
        Ok(())
    }

    /// Waits until nothing has written WAL for longer than duties are put off, or until it is
    /// clear that something always does.
    async fn stillness(&self) -> Result<()> {
        let deadline = Instant::now() + STILL_WITHIN;
        let mut last = (position(&self.admin).await?, Instant::now());
        while last.1.elapsed() < STILL && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let now = position(&self.admin).await?;
            if now != last.0 {
                last = (now, Instant::now());
            }
        }
        Ok(())
    }
}

/// How long a driver may take for one thing, windows counted one by one.
fn limit(command: &Command) -> Duration {
    PATIENCE + Duration::from_secs_f64(3.0 * (command.warmup + command.seconds))
}

/// This program as the driver of one of its targets.
fn own(kind: Kind, url: &str) -> Result<Process> {
    let program = std::env::current_exe().context("finding this program")?;
    let value = clap::ValueEnum::to_possible_value(&kind);
    let name = value.map(|value| value.get_name().to_owned()).unwrap_or_default();
    let mut process = Process::new(program);
    process.args(["postgres-driver", "--target", &name, "--postgres", url]);
    Ok(process)
}

/// What of an answer is not to be believed.
fn wrong(answer: &Answer) -> Option<String> {
    let (missing, twice) = (answer.missing, answer.duplicates);
    (missing > 0 || twice > 0)
        .then(|| format!("of {} messages {missing} did not come, {twice} came twice", answer.sent))
}

/// An error with its causes, on one line.
fn one_line(error: &anyhow::Error) -> String {
    format!("{error:#}").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The transaction that is held open beside some rows.
struct Transaction<'a> {
    cluster: &'a Cluster,
    database: &'a str,
    beside: Beside,
    plan: Plan,
    windows: usize,
    open: Option<Client>,
}

impl<'a> Transaction<'a> {
    fn new(cluster: &'a Cluster, database: &'a str, beside: Beside, plan: Plan) -> Self {
        Transaction { cluster, database, beside, plan, windows: 0, open: None }
    }

    /// What goes on beside the window that is now running.
    fn phase(&self) -> Held {
        match self.windows {
            before if before < self.plan.before => Held::Before,
            during if during < self.plan.before + self.plan.during => Held::During,
            _ => Held::After,
        }
    }

    /// Opens or closes it when its time has come.
    async fn window_over(&mut self) -> Result<()> {
        let before = self.phase();
        self.windows += 1;
        if self.phase() == before || self.beside == Beside::Nothing {
            return Ok(());
        }
        let Some(open) = self.open.take() else {
            let client = connect(&self.cluster.url(self.database)).await?;
            let begin = match self.beside {
                Beside::Writer => {
                    "CREATE TABLE held_open (at timestamptz);
                     BEGIN; INSERT INTO held_open VALUES (now())"
                }
                _ => {
                    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT count(*) FROM pg_class"
                }
            };
            client.batch_execute(begin).await.context("opening a transaction to hold")?;
            self.open = Some(client);
            return Ok(());
        };
        open.batch_execute("COMMIT").await.context("the transaction that was held open")
    }
}
