//! The figures of the case as tables and plots.

use super::checks::{self, PAGE_LATCHES};
use super::contest::Durability;
use super::drive::Phase;
use super::figures::{batches, counted, many, samples, store_for, store_name, unit};
use super::published;
use super::slots::{Design, Ring};
use super::{Contender, Database, Found};
use crate::findings::{Axis, Findings, Plot, Series, Table};
use crate::run::condition::number;

/// What sessions of PostgreSQL wait for, in the words of `pg_stat_activity`, in columns.
const ACTIVITIES: [(&str, &[&str]); 6] = [
    ("CPU", &["CPU"]),
    ("flush of the log", &["IO:WALSync", "IO:WALWrite", "LWLock:WALWrite"]),
    ("insertion into the log", &["LWLock:WALInsert"]),
    ("latch of a page", PAGE_LATCHES),
    ("lock of a row", &["Lock:tuple", "Lock:transactionid"]),
    ("reading a page", &["IO:DataFileRead"]),
];
/// Writes all that was found.
pub fn write(findings: &mut Findings, found: &Found, ring: &Ring) {
    findings.incomplete.clone_from(&found.incomplete);
    findings.tables.push(published::table());
    let threads = found.threads();
    for database in found.databases() {
        for phase in [Phase::Push, Phase::Cycle] {
            for durability in [Durability::Full, Durability::Delayed] {
                let table = rates(found, database, phase, durability, &threads);
                findings.tables.push(table);
            }
        }
        findings.plots.push(plot(found, database, &threads));
    }
    findings.tables.push(ours(found));
    findings.tables.push(beside(found, &threads));
    findings.tables.push(pages(found));
    findings.tables.push(waits(found));
    findings.tables.push(activity(found));
    findings.tables.push(correctness(found));
    checks::notes(findings, found, ring);
    checks::conditions(findings, found);
}

fn rates(
    found: &Found,
    database: Database,
    phase: Phase,
    durability: Durability,
    threads: &[usize],
) -> Table {
    let title = format!("{}, {}: {} by threads", database.name(), durability.name(), unit(phase));
    let heads: Vec<String> = threads.iter().map(usize::to_string).collect();
    let mut columns = vec!["design"];
    columns.extend(heads.iter().map(String::as_str));
    let mut table = Table::new(&title, &columns);
    let mut row = |name: &str, contender: &dyn Fn(usize) -> Contender| {
        let cell = |threads: &usize| {
            let rate = found.rate(database, contender(*threads), phase, *threads);
            rate.map_or("-".to_owned(), number)
        };
        table.row(std::iter::once(name.to_owned()).chain(threads.iter().map(cell)));
    };
    for design in Design::ALL {
        row(design.name(), &|_| Contender::Baseline(design, durability));
    }
    if durability == Durability::Full && store_for(database) == database {
        row("Slipring, single calls", &|threads| Contender::Ours(threads, 1));
        row("Slipring, 1,024 callers", &|_| many());
        row("Slipring, batches of 1,000", &|_| batches());
    }
    table
}

fn plot(found: &Found, database: Database, threads: &[usize]) -> Plot {
    let line = |name: String, on: Database, contender: &dyn Fn(usize) -> Contender| {
        let point = |threads: &usize| {
            let rate = found.rate(on, contender(*threads), Phase::Push, *threads)?;
            Some((*threads as f64, rate))
        };
        Series { name, points: threads.iter().filter_map(point).collect() }
    };
    let mut series = Vec::new();
    for durability in [Durability::Full, Durability::Delayed] {
        for design in Design::ALL {
            let name = format!("{}, {}", design.name(), durability.name());
            series.push(line(name, database, &|_| Contender::Baseline(design, durability)));
        }
    }
    let store = store_for(database);
    let name = |what: &str| format!("Slipring, {}, durable, {what}", store_name(store));
    series.push(line(name("single calls"), store, &|threads| Contender::Ours(threads, 1)));
    series.push(line(name("1,024 callers"), store, &|_| many()));
    series.push(line(name("batches of 1,000"), store, &|_| batches()));
    Plot {
        name: format!("pushes-{}", database.name().to_lowercase()),
        title: format!("{}: pushes/s by threads", database.name()),
        x: Axis::linear("threads"),
        y: Axis::logarithmic("pushes/s"),
        series,
    }
}

fn ours(found: &Found) -> Table {
    let columns = ["store", "calls", "pushes/s", "from", "to", "full cycles/s", "from", "to"];
    let mut table = Table::new("Slipring, durable: median of all rounds", &columns);
    for store in [Database::Sqlite, Database::Postgres] {
        for (name, contender) in
            [("single calls of 1,024 callers", many()), ("4 callers, batches of 1,000", batches())]
        {
            let mut cells = vec![store_name(store).to_owned(), name.to_owned()];
            for phase in [Phase::Push, Phase::Cycle] {
                match found.summary(store, contender, phase) {
                    Some(summary) => cells
                        .extend([summary.median, summary.min, summary.max].into_iter().map(number)),
                    None => cells.extend(std::iter::repeat_n("-".to_owned(), 3)),
                }
            }
            table.row(cells);
        }
    }
    table
}

/// Ours and the best durable baseline at the same number of single callers.
fn beside(found: &Found, threads: &[usize]) -> Table {
    let heads: Vec<String> = threads.iter().map(usize::to_string).collect();
    let mut columns = vec!["store", "figure"];
    columns.extend(heads.iter().map(String::as_str));
    let title = "Slipring with single calls / best durable baseline, by threads and callers";
    let mut table = Table::new(title, &columns);
    for store in [Database::Sqlite, Database::Postgres] {
        for phase in [Phase::Push, Phase::Cycle] {
            let cell = |threads: &usize| {
                let best = Design::ALL.into_iter().filter_map(|design| {
                    let baseline = Contender::Baseline(design, Durability::Full);
                    found.rate(store, baseline, phase, *threads)
                });
                let best = best.fold(f64::NAN, f64::max);
                let own = found.rate(store, Contender::Ours(*threads, 1), phase, *threads);
                own.map_or("-".to_owned(), |own| format!("{:.2}", own / best))
            };
            let names = [store.name().to_owned(), unit(phase).to_owned()];
            table.row(names.into_iter().chain(threads.iter().map(cell)));
        }
    }
    table
}

fn pages(found: &Found) -> Table {
    let columns =
        ["design", "pages per push", "different per 1,000", "pages per pop", "different per 1,000"];
    let title = "pages touched by one thread: PostgreSQL looked at in the table and its index, \
                 MariaDB looked at, SQLite written; and how many different pages were changed";
    let mut table = Table::new(title, &columns);
    for database in found.databases() {
        for design in Design::ALL {
            let mut cells = vec![format!("{}, {}", database.name(), design.name())];
            for phase in [Phase::Push, Phase::Pop] {
                match counted(found, database, design, phase) {
                    Some((pages, changed)) => {
                        cells.extend([format!("{pages:.2}"), format!("{changed:.0}")]);
                    }
                    None => cells.extend(["-".to_owned(), "-".to_owned()]),
                }
            }
            table.row(cells);
        }
    }
    table
}

fn waits(found: &Found) -> Table {
    let columns = ["design", "operations", "lock waits per 1,000", "slot waits per 1,000"];
    let title = "waits in all steps: SQLite counts a connection that finds the file locked, \
                 MariaDB a wait for a row and a lost deadlock; PostgreSQL is in the next table";
    let mut table = Table::new(title, &columns);
    for database in found.databases() {
        for design in Design::ALL {
            for durability in [Durability::Full, Durability::Delayed] {
                let (mut operations, mut locks, mut slots) = (0, 0, 0);
                for phase in [Phase::Push, Phase::Cycle] {
                    let baseline = Contender::Baseline(design, durability);
                    for figure in found.of(database, baseline, phase) {
                        operations += figure.measured.operations;
                        locks += figure.measured.lock_waits;
                        slots += figure.measured.slot_waits;
                    }
                }
                let per_1000 =
                    |waits: u64| format!("{:.2}", waits as f64 * 1000.0 / operations.max(1) as f64);
                let sampled = database == Database::Postgres;
                let locks = if sampled { "-".to_owned() } else { per_1000(locks) };
                let name = format!("{}, {}, {}", database.name(), design.name(), durability.name());
                table.row([name, number(operations as f64), locks, per_1000(slots)]);
            }
        }
    }
    table
}

fn activity(found: &Found) -> Table {
    let mut columns = vec!["design"];
    columns.extend(ACTIVITIES.iter().map(|(name, _)| *name));
    let title = "PostgreSQL: what sessions were doing, samples every 20 ms over all steps";
    let mut table = Table::new(title, &columns);
    for design in Design::ALL {
        for durability in [Durability::Full, Durability::Delayed] {
            let cells = ACTIVITIES
                .iter()
                .map(|(_, names)| number(samples(found, design, durability, names) as f64));
            let name = format!("{}, {}", design.name(), durability.name());
            table.row(std::iter::once(name).chain(cells));
        }
    }
    table
}

fn correctness(found: &Found) -> Table {
    let columns = ["who", "lost", "doubled", "mixed up"];
    let mut table = Table::new("messages in the whole run, all of them accounted for", &columns);
    for (name, wrong) in &found.wrong {
        let counts = [wrong.lost, wrong.doubled, wrong.mixed].map(|count| count.to_string());
        table.row(std::iter::once(name.clone()).chain(counts));
    }
    table
}
