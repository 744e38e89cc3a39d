//! `run postgres`: every row of PostgreSQL's speed table in one run, ours, the raw limits and the
//! peers by turns, each in a fresh database of one PostgreSQL.

pub mod cluster;
mod conditions;
mod contenders;
mod driver;
mod measure;
mod meter;
mod protocol;
mod report;
mod rows;
pub mod serve;
mod table;
mod work;

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

use crate::targets::server;
use crate::{folder, run};

use cluster::Cluster;
use measure::Bench;
use report::{Details, Report};

/// What of the table is run, and how.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    run: run::Options,
    /// Only contenders of these names, such as `ours` or `river`.
    #[arg(long)]
    contender: Vec<String>,
    /// How long transactions are held open.
    #[arg(long)]
    minutes: Option<f64>,
    /// Measure inside this PostgreSQL instead of starting one; its user must be allowed to make
    /// databases.
    #[arg(long)]
    postgres: Option<String>,
}

/// Sizes of one run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sizes {
    /// Tiny sizes and no foreign peers.
    pub smoke: bool,
    /// Rounds of each row.
    pub rounds: usize,
    /// Measured seconds of each round.
    pub seconds: f64,
    /// How long transactions are held open.
    pub minutes: f64,
}

/// The windows of a row in which a transaction is held open.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// Windows before it is opened.
    pub before: usize,
    /// Windows while it is open.
    pub during: usize,
    /// Windows after it was closed.
    pub after: usize,
    /// The length of each in seconds.
    pub seconds: f64,
}

impl Plan {
    /// All windows.
    pub fn windows(&self) -> usize {
        self.before + self.during + self.after
    }
}

impl Sizes {
    fn of(options: &Options) -> Sizes {
        let smoke = options.run.smoke;
        Sizes {
            smoke,
            rounds: options.run.rounds.unwrap_or(if smoke { 1 } else { 3 }).max(1),
            seconds: options.run.seconds.unwrap_or(if smoke { 0.2 } else { 60.0 }),
            minutes: options.minutes.unwrap_or(if smoke { 0.02 } else { 15.0 }),
        }
    }

    /// How the time that a transaction is held open is cut into windows.
    pub fn plan(&self) -> Plan {
        let (before, during, after) = if self.smoke { (1, 3, 1) } else { (2, 15, 3) };
        Plan { before, during, after, seconds: self.minutes * 60.0 / f64::from(during as u8) }
    }
}

/// Runs the rows and prints the table.
///
/// # Errors
/// When ours fails or answers wrongly, after the other rows were run; with `--strict`, also when
/// a row misses its target. A peer that fails is reported, and fails nothing.
pub fn run(options: &Options) -> Result<()> {
    let sizes = Sizes::of(options);
    let rows = rows::all();
    options.run.check_rows(&rows.iter().map(|row| row.name).collect::<Vec<_>>())?;
    let named = |name: &String| {
        rows.iter()
            .any(|row| (row.contenders)(sizes).iter().any(|contender| contender.name == *name))
    };
    if let Some(unknown) = options.contender.iter().find(|name| !named(name)) {
        bail!("no contender of this run is called {unknown:?}");
    }
    server::build()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let folder = folder::data()?;
    let (report, failed) = runtime.block_on(async {
        let cluster = Cluster::open(options.postgres.as_deref()).await?;
        let mut bench = Bench::new(&cluster, sizes, &options.contender).await?;
        let details = Details { settings: bench.settings().await?, sizes };
        let mut report = Report::new(&folder, details);
        print!("{}", table::head(&report));
        let mut failed = Vec::new();
        for row in rows.iter().filter(|row| options.run.asks_for(row.name)) {
            let (measured, trouble) = bench.row(row).await?;
            print!("{}", table::row(&measured));
            if let Some(trouble) = trouble {
                println!("  FAILED: {trouble}");
                failed.push(row.name);
            }
            report.rows.push(measured);
        }
        anyhow::Ok((report, failed))
    })?;
    print!("{}", report.summary());
    options.run.end(("postgres", &report), &table::text(&report), &failed, &folder)
}

/// Prints the names of rows.
pub fn list() {
    for row in rows::all() {
        println!("{:<20} {}", row.name, row.what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::Peer;

    #[test]
    fn every_row_has_a_name_of_its_own_and_sides_with_names_of_their_own() {
        for smoke in [true, false] {
            let sizes = Sizes { smoke, rounds: 1, seconds: 0.1, minutes: 1.0 };
            let rows = rows::all();
            for row in &rows {
                assert_eq!(rows.iter().filter(|other| other.name == row.name).count(), 1);
                let contenders = (row.contenders)(sizes);
                assert!(contenders.iter().any(contenders::Contender::is_ours), "{}", row.name);
                for contender in &contenders {
                    let same =
                        contenders.iter().filter(|other| other.name == contender.name).count();
                    assert_eq!(same, 1, "{} {}", row.name, contender.name);
                }
            }
        }
    }

    #[test]
    fn a_smoke_run_needs_no_foreign_peer() {
        let sizes = Sizes { smoke: true, rounds: 1, seconds: 0.1, minutes: 0.1 };
        for row in rows::all() {
            let foreign = |contender: &contenders::Contender| {
                Peer::ALL.iter().any(|p| p.name() == contender.name)
            };
            assert!(!(row.contenders)(sizes).iter().any(foreign), "{}", row.name);
        }
    }

    #[test]
    fn what_was_not_measured_meets_no_target() {
        for row in rows::all() {
            for condition in (row.conditions)(&[]) {
                assert!(!condition.pass, "{}: {condition:?}", row.name);
            }
        }
    }
}
