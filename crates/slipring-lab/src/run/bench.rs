//! One measurement: a fresh folder or database, a driver on it, work, and what that cost.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::databases::Databases;
use super::held::{Held, Transaction};
use super::others;
use super::progress;
use super::report::RowReport;
use super::rounds::{ContenderReport, Round, WindowReport};
use crate::driver::process;
use crate::driver::protocol::{Answer, Ready};
use crate::driver::{Driver, Step};
use crate::peers::Peers;
use crate::process::{Usage, machine_cpu_seconds};
use crate::rows::{Contender, Row, Sizes};
use crate::workloads::{self, Settings, Work};

/// For making a schema, and for ending.
const PATIENCE: Duration = Duration::from_secs(120);
/// A work has at most so many phases of its seconds.
const PHASES_MAX: f64 = 12.0;
/// A queue is filled at least so fast.
const FILLED_PER_SECOND: f64 = 20_000.0;

/// The figure that says how many percent of one processor were busy with what is none of ours:
/// above a few, other programs disturbed the measurement.
pub const OTHERS: &str = "other_programs_cpu_percent";

/// Where measurements are made.
pub struct Bench<'a> {
    sizes: Sizes,
    only: &'a [String],
    databases: Option<Databases>,
    peers: Peers,
}

/// A database of the measurement.
type Inside<'a> = (&'a Databases, &'a str);

impl<'a> Bench<'a> {
    /// A place for measurements, with PostgreSQL for contenders that are inside one: of all
    /// contenders, or only of those named.
    pub fn new(sizes: Sizes, only: &'a [String], databases: Option<Databases>) -> Bench<'a> {
        Bench { sizes, only, databases, peers: Peers::default() }
    }

    /// The contenders of a row that are asked for; `kept` is a folder that is kept between rounds.
    pub fn contenders(sizes: Sizes, only: &[String], row: &Row, kept: &Path) -> Vec<Contender> {
        let mut contenders = (row.contenders)(sizes, kept);
        let asked = |name: &str| only.is_empty() || only.iter().any(|n| n == name);
        contenders.retain(|contender| asked(contender.name));
        contenders
    }

    /// Runs the contenders of a row by turns, into `report`, which has what was measured until
    /// then at any moment. Answers the trouble of what may have none beside the figures; a
    /// contender in trouble is not run again.
    ///
    /// # Errors
    /// When the machine refuses folders.
    pub async fn row(&mut self, row: &Row, report: &mut RowReport) -> Result<Option<String>> {
        let kept = workloads::temporary_folder()?;
        let contenders = Bench::contenders(self.sizes, self.only, row, kept.path());
        report.contenders = contenders.iter().map(|one| ContenderReport::new(one.name)).collect();
        for (round, at) in turns(contenders.len(), self.sizes.rounds.min(row.rounds_max)) {
            let (Some(contender), Some(found)) =
                (contenders.get(at), report.contenders.get_mut(at))
            else {
                continue;
            };
            if found.trouble.is_some() {
                continue;
            }
            progress(&format!("{}, {}, round {} …", row.name, contender.name, round + 1));
            let measured = self.measure(contender, row.held, &mut found.unfinished).await;
            match measured {
                Ok((ready, measured)) => found.add(ready, measured),
                Err(error) => found.trouble = Some(one_line(&error)),
            }
        }
        progress("");
        report.conditions = (row.conditions)(&report.contenders);
        // What comes from elsewhere may be absent; a smoke run needs nothing that may.
        let counts = |one: &Contender| self.sizes.smoke || !one.settings.target.is_foreign();
        let own = contenders.iter().zip(&report.contenders).filter(|(one, _)| counts(one));
        let mut troubles = own
            .filter_map(|(one, found)| Some(format!("{}: {}", one.name, found.trouble.as_ref()?)));
        Ok(troubles.next())
    }

    /// Removes what was kept for several measurements.
    ///
    /// # Errors
    /// When PostgreSQL fails.
    pub async fn close(self) -> Result<()> {
        match self.databases {
            None => Ok(()),
            Some(databases) => databases.close().await,
        }
    }

    /// Measures; the windows are in `told` at any moment, and not in what is answered.
    async fn measure(
        &mut self,
        contender: &Contender,
        held: Held,
        told: &mut Vec<WindowReport>,
    ) -> Result<(Ready, Round)> {
        let temporary = workloads::temporary_folder()?;
        let mut settings = contender.settings.clone();
        let folder = settings.folder.get_or_insert_with(|| temporary.path().join("data"));
        std::fs::create_dir_all(&*folder).context("making a folder for data")?;
        let errors = temporary.path().join("stderr");
        if !settings.target.in_postgres() {
            self.peers.prepare(settings.target, None).await?;
            let command = process::own(&settings)?;
            return self.drive((command, &errors), &settings, (held, told), None).await;
        }
        let databases = self.databases.as_ref().context("there is no PostgreSQL")?;
        let prepared = self.peers.prepare(settings.target, Some(databases.postgres())).await?;
        let database = databases.create(settings.others).await?;
        settings.postgres = Some(databases.url(&database));
        let inside = Some((databases, database.as_str()));
        let found = async {
            let command = databases.driver(&settings, &prepared).await?;
            self.drive((command, &errors), &settings, (held, told), inside).await
        };
        let found = found.await;
        databases.remove(&database).await?;
        let (mut ready, round) = found?;
        ready.version = prepared.version.unwrap_or(ready.version);
        Ok((ready, round))
    }

    async fn drive(
        &self,
        (command, errors): (Command, &Path),
        settings: &Settings,
        (held, told): (Held, &mut Vec<WindowReport>),
        inside: Option<Inside<'_>>,
    ) -> Result<(Ready, Round)> {
        let clock = Processors::now(inside)?;
        let mut driver = Driver::start(command, errors, PATIENCE).await?;
        let mut ready = driver.ready.clone();
        if ready.durability.is_empty() {
            settings.target.durability().clone_into(&mut ready.durability);
        }
        let mut meter = None;
        if let Some((databases, database)) = inside {
            if matches!(settings.work, Work::Queues | Work::Idle) {
                prepare(&mut driver, settings, Work::MakeQueues).await?;
                if settings.work == Work::Idle {
                    // What a first wait in a queue costs is not what waiting costs.
                    let short = Settings { seconds: settings.warmup, ..settings.clone() };
                    prepare(&mut driver, &short, Work::Idle).await?;
                }
                let still = settings.work == Work::Idle && !self.sizes.smoke;
                databases.clean_up(database, still).await?;
            }
            meter = Some(databases.meter(database).await?);
        }
        let mut round = self.work(&mut driver, settings, inside, (held, told)).await?;
        if let Some((databases, database)) = inside.filter(|_| settings.others > 0) {
            others::check(&databases.url(database)).await?;
        }
        // A driver in another language does not say what it used itself.
        round.answer.load = round.answer.load.or(driver.usage().ok());
        let paused = match &meter {
            None => None,
            Some(meter) => Some(meter.pause().await?),
        };
        round.waits = driver.end(PATIENCE).await?;
        if let (Some(meter), Some(paused)) = (meter, paused) {
            round.cost = Some(meter.end(paused).await?);
        }
        let others = clock.others_percent(&round.answer, inside)?;
        round.answer.figures.extend(others.map(|others| (OTHERS.to_owned(), others)));
        Ok((ready, round))
    }

    /// Gives the driver its work, and holds beside it what is to be held.
    async fn work(
        &self,
        driver: &mut Driver,
        settings: &Settings,
        inside: Option<Inside<'_>>,
        (held, told): (Held, &mut Vec<WindowReport>),
    ) -> Result<Round> {
        let url = inside.map(|(databases, database)| databases.url(database)).unwrap_or_default();
        let mut held = Transaction::new(held, url, self.sizes.plan());
        driver.give(settings).await?;
        let answer = loop {
            let window = match driver.step(limit(settings)).await? {
                Step::Done(answer) => break answer,
                Step::Window(window) => window,
            };
            let tables = match inside {
                None => None,
                Some((databases, database)) => Some(databases.tables(database).await?),
            };
            told.push(WindowReport {
                phase: held.phase(),
                window,
                dead_rows: tables.as_ref().map(|tables| tables.dead_rows()),
                bytes: tables.as_ref().map(|tables| tables.bytes),
            });
            held.window_over().await?;
        };
        // The folder is gone when this is read.
        let settings = Settings { folder: None, ..settings.clone() };
        Ok(Round { settings, answer, waits: Vec::new(), cost: None, windows: Vec::new() })
    }
}

/// Lets the driver do what some rows have done before they are measured.
async fn prepare(driver: &mut Driver, settings: &Settings, work: Work) -> Result<()> {
    driver.give(&Settings { work, ..settings.clone() }).await?;
    match driver.step(limit(settings)).await? {
        Step::Done(_) => Ok(()),
        Step::Window(window) => bail!("a window before the measurement: {window:?}"),
    }
}

/// How long a driver may say nothing: windows are told one by one.
fn limit(settings: &Settings) -> Duration {
    let fill = settings.messages as f64 / FILLED_PER_SECOND;
    let phases = PHASES_MAX * (settings.warmup + settings.seconds);
    PATIENCE + Duration::from_secs_f64(fill + phases)
}

/// Rounds in which each of so many contenders is run once: the round, and who has its turn. The
/// first one of each round changes, so that none always runs in the wake of the same other.
pub fn turns(contenders: usize, rounds: usize) -> impl Iterator<Item = (usize, usize)> {
    let round = move |round| (0..contenders).map(move |turn| (round, (turn + round) % contenders));
    (0..rounds).flat_map(round)
}

/// An error with its causes, on one line.
fn one_line(error: &anyhow::Error) -> String {
    format!("{error:#}").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What the processors of the machine had done at a moment.
struct Processors {
    at: Instant,
    all_seconds: f64,
    /// Of PostgreSQL, where the target is inside one that was started here.
    postgres_seconds: Option<f64>,
}

impl Processors {
    fn now(inside: Option<Inside<'_>>) -> Result<Processors> {
        Ok(Processors {
            at: Instant::now(),
            all_seconds: machine_cpu_seconds()?,
            postgres_seconds: inside.and_then(|(databases, _)| databases.cpu_seconds()),
        })
    }

    /// How many percent of one processor other programs used since then, where it is known what
    /// PostgreSQL used.
    fn others_percent(&self, answer: &Answer, inside: Option<Inside<'_>>) -> Result<Option<f64>> {
        let now = Processors::now(inside)?;
        let postgres = match inside {
            None => Some(0.0),
            Some(_) => {
                now.postgres_seconds.zip(self.postgres_seconds).map(|(now, then)| now - then)
            }
        };
        let cpu = |usage: Option<Usage>| usage.map_or(0.0, |usage| usage.cpu_seconds);
        let own = cpu(answer.load) + cpu(answer.server);
        let all = now.all_seconds - self.all_seconds;
        let percent = |postgres: f64| {
            (all - own - postgres).max(0.0) / now.at.duration_since(self.at).as_secs_f64() * 100.0
        };
        Ok(postgres.map(percent))
    }
}

#[cfg(test)]
mod tests {
    use super::turns;

    #[test]
    fn each_contender_has_a_turn_in_each_round_and_another_one_begins() {
        let found: Vec<_> = turns(3, 2).collect();
        assert_eq!(found, [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (1, 0)]);
        assert_eq!(turns(0, 5).count(), 0);
    }
}
