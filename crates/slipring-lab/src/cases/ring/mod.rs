//! Case 3: the Disruptor's ring as a table. A queue table whose pushes all go to the right edge,
//! the ring of ready-made slots that replaced it, and its two repairs, each on three databases;
//! and ours on the same work.

mod checks;
mod contest;
mod drive;
mod figures;
mod ledger;
mod mariadb;
mod ours;
mod postgres;
mod published;
mod report;
mod slots;
mod sqlite;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::cases::Options;
use crate::findings::Findings;
use crate::run::cluster::Cluster;
use crate::run::progress;
use crate::{folder, mariadb as server};

use contest::{Contest, Durability, Measured, On, Step};
use drive::{Length, Phase};
use ledger::Wrong;
use ours::{Calls, Ours};
use slots::{Design, Ring};

/// Threads of the published runs and between.
const THREADS: [usize; 7] = [1, 2, 4, 8, 14, 20, 22];
const SMOKE_THREADS: [usize; 1] = [4];
/// Slots of the published ring. Half of them have a message, so that pushes and pops find work.
const RING: Ring = Ring { slots: 2_000_000, backlog: 1_000_000, cache: 1000 };
const SMOKE_RING: Ring = Ring { slots: 2000, backlog: 1000, cache: 10 };
/// Operations of one thread in a step that counts pages.
const COUNTED: u64 = 3000;
const SMOKE_COUNTED: u64 = 200;
/// Ours beside single calls of so many threads: many callers, and batches. Callers, messages.
const MANY_CALLERS: (usize, usize) = (1024, 1);
const BATCHES: (usize, usize) = (4, 1000);

/// A database of the case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Database {
    /// A file, by rusqlite.
    Sqlite,
    /// A cluster of the run's own.
    Postgres,
    /// A server of the run's own.
    MariaDb,
}

impl Database {
    /// All of them.
    pub const ALL: [Database; 3] = [Database::Sqlite, Database::Postgres, Database::MariaDb];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Database::Sqlite => "SQLite",
            Database::Postgres => "PostgreSQL",
            Database::MariaDb => "MariaDB",
        }
    }
}

/// Who has done a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contender {
    /// A published design.
    Baseline(Design, Durability),
    /// Ours, durable: callers and messages of each call.
    Ours(usize, usize),
}

/// One figure.
#[derive(Debug, Clone)]
pub struct Figure {
    /// On which database.
    pub database: Database,
    /// Whose.
    pub contender: Contender,
    /// Threads of a baseline; for ours, callers.
    pub threads: usize,
    /// What was done.
    pub phase: Phase,
    /// Whether it was a step that counts pages.
    pub counted: Option<u64>,
    /// What came of it.
    pub measured: Measured,
}

/// All that was found.
#[derive(Debug, Default)]
pub struct Found {
    /// The figures.
    pub figures: Vec<Figure>,
    /// What was wrong with the messages of a contest, by its name.
    pub wrong: Vec<(String, Wrong)>,
    /// Settings of the servers, and contenders that are absent.
    pub notes: Vec<String>,
    /// Designs that failed on a database; they are not run again.
    pub failed: Vec<(Database, Design)>,
    /// Why not everything was run.
    pub incomplete: Option<String>,
}

impl Found {
    /// A server that was started, or a note why there is none.
    fn or_absent<T>(&mut self, database: Database, started: Result<T>) -> Option<T> {
        match started {
            Ok(server) => Some(server),
            Err(error) => {
                self.notes.push(format!("{} is absent: {error:#}", database.name()));
                None
            }
        }
    }
}

/// The sizes of a run.
struct Sizes {
    ring: Ring,
    threads: &'static [usize],
    length: Length,
    counted: u64,
    smoke: bool,
}

/// Runs the case. What fails is told in the findings, which are then incomplete.
///
/// # Errors
/// When it cannot begin.
pub fn run(options: &Options) -> Result<Findings> {
    let data = folder::data()?;
    let mut findings = Findings::new("case-3", "the Disruptor's ring as a table", &data);
    let seconds = options.seconds(0.5, 0.05);
    let measured = Duration::try_from_secs_f64(seconds).context("--seconds is no time")?;
    let sizes = Sizes {
        ring: if options.smoke { SMOKE_RING } else { RING },
        threads: if options.smoke { &SMOKE_THREADS } else { &THREADS },
        length: Length::Time { warmup: measured / 5, measured },
        counted: if options.smoke { SMOKE_COUNTED } else { COUNTED },
        smoke: options.smoke,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let stop = Arc::new(AtomicBool::new(false));
    let _inside = runtime.enter();
    let interrupted = Arc::clone(&stop);
    runtime.spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            interrupted.store(true, Ordering::Relaxed);
        }
    });
    let mut found = Found::default();
    if let Err(error) = investigate(&runtime, &sizes, &data, &stop, &mut found) {
        found.incomplete.get_or_insert(format!("{error:#}"));
    }
    if stop.load(Ordering::Relaxed) {
        found.incomplete = Some("it was interrupted".to_owned());
    }
    report::write(&mut findings, &found, &sizes.ring);
    Ok(findings)
}

/// Starts the servers, runs all steps by turns, and stops them.
fn investigate(
    runtime: &tokio::runtime::Runtime,
    sizes: &Sizes,
    data: &Path,
    stop: &Arc<AtomicBool>,
    found: &mut Found,
) -> Result<()> {
    progress("starting the servers");
    let files = tempfile::TempDir::with_prefix_in("ring-", data)?;
    let (ring, smoke) = (sizes.ring, sizes.smoke);
    let cluster = runtime.block_on(Cluster::open(None));
    let cluster = found.or_absent(Database::Postgres, cluster);
    let server = runtime.block_on(server::Server::start());
    let server = found.or_absent(Database::MariaDb, server);
    let mut ours = Vec::new();
    let sqlite = sqlite::Sqlite::new(files.path(), ring);
    let mut contests: Contests<'_> =
        vec![(Database::Sqlite, Box::new(On::new(sqlite, ring, smoke, Arc::clone(stop))?))];
    let path = files.path().join("slipring.db");
    let file = runtime.block_on(Ours::on_file(&path, Arc::clone(stop)))?;
    ours.push((Database::Sqlite, file));
    if let Some(cluster) = &cluster {
        let (on, own) = runtime.block_on(async {
            let admin = cluster.admin().await?;
            found.notes.push(format!("PostgreSQL: {}", postgres::settings(&admin).await?));
            let url = cluster.url(&cluster.create_database(&admin).await?);
            let own = Ours::on_postgres(&url, Arc::clone(stop)).await?;
            anyhow::Ok((postgres::Postgres::new(cluster, ring).await?, own))
        })?;
        ours.push((Database::Postgres, own));
        let contest = On::new(on, ring, smoke, Arc::clone(stop))?;
        contests.push((Database::Postgres, Box::new(contest)));
    }
    if let Some(server) = server {
        found.notes.push(format!("MariaDB: {}", runtime.block_on(server.settings())?));
        let on = mariadb::MariaDb::new(server, ring);
        let contest = On::new(on, ring, smoke, Arc::clone(stop))?;
        contests.push((Database::MariaDb, Box::new(contest)));
    }
    let ran = steps(sizes, &mut contests, &mut ours, stop, found);
    account(&mut contests, &ours, found);
    progress("");
    ran
}

/// Accounts for all messages of all contests.
fn account(contests: &mut Contests<'_>, ours: &[(Database, Ours)], found: &mut Found) {
    for (database, ours) in ours {
        found.wrong.push((format!("Slipring on {}", database.name()), ours.finish()));
    }
    for (database, contest) in contests {
        progress(&format!("{}: accounting for all messages", database.name()));
        match contest.finish() {
            Ok(wrong) => found.wrong.push((database.name().to_owned(), wrong)),
            Err(error) => {
                let why = format!("{}: {error:#}", database.name());
                found.incomplete.get_or_insert(why);
            }
        }
    }
}

type Contests<'a> = Vec<(Database, Box<dyn Contest + 'a>)>;

/// All steps: the counting ones, then by number of threads, each time all contenders by turns.
fn steps(
    sizes: &Sizes,
    contests: &mut Contests<'_>,
    ours: &mut [(Database, Ours)],
    stop: &AtomicBool,
    found: &mut Found,
) -> Result<()> {
    for design in Design::ALL {
        for phase in [Phase::Push, Phase::Pop] {
            let length = Length::Operations(sizes.counted);
            let durability = Durability::Delayed;
            let step = Step { design, durability, threads: 1, phase, length };
            baselines(contests, step, Some(sizes.counted), stop, found)?;
        }
    }
    for &threads in sizes.threads {
        for phase in [Phase::Push, Phase::Cycle] {
            for durability in [Durability::Full, Durability::Delayed] {
                for design in Design::ALL {
                    let length = sizes.length;
                    let step = Step { design, durability, threads, phase, length };
                    baselines(contests, step, None, stop, found)?;
                }
            }
            for &(callers, batch) in &[(threads, 1), MANY_CALLERS, BATCHES] {
                let calls = Calls { callers, batch, phase, length: sizes.length };
                by_ours(ours, calls, threads, found)?;
            }
        }
    }
    Ok(())
}

/// One step on each database. A design that fails is not run again there, and the others go on.
fn baselines(
    contests: &mut Contests<'_>,
    step: Step,
    counted: Option<u64>,
    stop: &AtomicBool,
    found: &mut Found,
) -> Result<()> {
    let Step { design, durability, threads, phase, .. } = step;
    for (database, contest) in contests.iter_mut() {
        if found.failed.contains(&(*database, design)) {
            continue;
        }
        let name = design.name();
        progress(&format!("{}: {name}, {threads} threads", database.name()));
        let measured = contest.step(step);
        if stop.load(Ordering::Relaxed) {
            bail!("interrupted");
        }
        match measured {
            Ok(measured) => found.figures.push(Figure {
                database: *database,
                contender: Contender::Baseline(design, durability),
                threads,
                phase,
                counted,
                measured,
            }),
            Err(error) => {
                let why = format!("{}, {name}, {threads} threads: {error:#}", database.name());
                found.notes.push(format!("failed, and not run again: {why}"));
                found.failed.push((*database, design));
                found.incomplete.get_or_insert(why);
            }
        }
    }
    Ok(())
}

/// One step of ours on each of its stores.
fn by_ours(
    ours: &mut [(Database, Ours)],
    calls: Calls,
    threads: usize,
    found: &mut Found,
) -> Result<()> {
    for (database, ours) in ours {
        progress(&format!("Slipring on {}, {} callers", database.name(), calls.callers));
        let measured = ours.step(calls);
        let measured = measured.with_context(|| format!("Slipring on {}", database.name()))?;
        found.figures.push(Figure {
            database: *database,
            contender: Contender::Ours(calls.callers, calls.batch),
            threads,
            phase: calls.phase,
            counted: None,
            measured,
        });
    }
    Ok(())
}
