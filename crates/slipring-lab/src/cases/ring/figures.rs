//! The figures of the case: looked up by whose they are, and brought together.

use super::contest::Durability;
use super::drive::Phase;
use super::slots::Design;
use super::{BATCHES, Contender, Database, Figure, Found, MANY_CALLERS};
use crate::stats::Summary;

impl Found {
    /// The steps of a contender that are no counting ones.
    pub fn of(
        &self,
        database: Database,
        contender: Contender,
        phase: Phase,
    ) -> impl Iterator<Item = &Figure> {
        self.figures.iter().filter(move |figure| {
            figure.counted.is_none()
                && figure.database == database
                && figure.contender == contender
                && figure.phase == phase
        })
    }

    /// The rate of a step.
    pub fn rate(
        &self,
        database: Database,
        contender: Contender,
        phase: Phase,
        threads: usize,
    ) -> Option<f64> {
        let mut figures = self.of(database, contender, phase);
        Some(figures.find(|figure| figure.threads == threads)?.measured.rate)
    }

    /// The rates of all steps of a contender.
    pub fn summary(
        &self,
        database: Database,
        contender: Contender,
        phase: Phase,
    ) -> Option<Summary> {
        let rates = self.of(database, contender, phase).map(|figure| figure.measured.rate);
        Summary::of(&rates.collect::<Vec<_>>())
    }

    /// The best rate of a baseline, of any design, durability and number of threads.
    pub fn best_baseline(&self, database: Database, phase: Phase) -> f64 {
        let figures = self.figures.iter().filter(|figure| {
            figure.counted.is_none()
                && figure.database == database
                && figure.phase == phase
                && matches!(figure.contender, Contender::Baseline(..))
        });
        figures.map(|figure| figure.measured.rate).fold(f64::NAN, f64::max)
    }

    /// The numbers of threads that were run.
    pub fn threads(&self) -> Vec<usize> {
        let figures = self.figures.iter().filter(|figure| figure.counted.is_none());
        let mut threads: Vec<usize> = figures.map(|figure| figure.threads).collect();
        threads.sort_unstable();
        threads.dedup();
        threads
    }

    /// Whether there is any figure of a database.
    pub fn has(&self, database: Database) -> bool {
        self.figures.iter().any(|figure| figure.database == database)
    }

    /// The databases of which there are figures.
    pub fn databases(&self) -> impl Iterator<Item = Database> {
        Database::ALL.into_iter().filter(|database| self.has(*database))
    }
}

/// Our store on a database, or where there is none the file store beside it.
pub fn store_for(database: Database) -> Database {
    match database {
        Database::MariaDb => Database::Sqlite,
        own => own,
    }
}

/// What our store is called.
pub fn store_name(store: Database) -> &'static str {
    if store == Database::Sqlite { "file store" } else { "PostgreSQL store" }
}

/// Ours with many callers.
pub fn many() -> Contender {
    Contender::Ours(MANY_CALLERS.0, MANY_CALLERS.1)
}

/// Ours with batches.
pub fn batches() -> Contender {
    Contender::Ours(BATCHES.0, BATCHES.1)
}

/// What is counted per second.
pub fn unit(phase: Phase) -> &'static str {
    if phase == Phase::Push { "pushes/s" } else { "full cycles/s" }
}

/// The step that counts pages, of a design on a database.
pub fn counted(found: &Found, on: Database, design: Design, phase: Phase) -> Option<(f64, f64)> {
    let figure = found.figures.iter().find(|figure| {
        figure.database == on
            && figure.phase == phase
            && figure.contender == Contender::Baseline(design, Durability::Delayed)
            && figure.counted.is_some()
    })?;
    let operations = figure.measured.operations.max(1) as f64;
    let changed = figure.measured.changed as f64 * 1000.0 / operations;
    Some((figure.measured.pages as f64 / operations, changed))
}

/// Samples of sessions of PostgreSQL in a state, over all steps of a design.
pub fn samples(found: &Found, design: Design, durability: Durability, names: &[&str]) -> u64 {
    let baseline = Contender::Baseline(design, durability);
    let figures = [Phase::Push, Phase::Cycle]
        .into_iter()
        .flat_map(|phase| found.of(Database::Postgres, baseline, phase));
    let counts = figures.flat_map(|figure| &figure.measured.activity);
    counts.filter(|(name, _)| names.contains(&name.as_str())).map(|(_, count)| count).sum()
}
