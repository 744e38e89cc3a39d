//! What case 4 runs by turns: the ten published rows built anew, the same methods on SQLite,
//! SKIP LOCKED, beanstalkd, the real Laravel queue, and ours.

use super::method::{Method, Pessimistic};
use crate::targets::Kind;

/// Jobs that a worker claims at a time where batches are compared.
pub const BATCH: usize = 100;

/// One of the things that are run by turns.
#[derive(Debug, Clone, PartialEq)]
pub struct Contender {
    /// Its name.
    pub name: String,
    /// Which picture it is drawn in.
    pub group: Group,
    /// What is run.
    pub what: What,
    /// Jobs that a worker claims at a time.
    pub up_to: usize,
    /// Jobs/s that were published for the same method on two machines, A and B.
    pub published: Option<(f64, f64)>,
}

/// What is run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum What {
    /// A published method over a table.
    Table(Database, Method),
    /// What the lab drives elsewhere too.
    Target(Kind),
    /// Laravel's queue, with its database driver or its beanstalkd driver.
    Laravel(Backend),
}

/// A database with a table of jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Database {
    /// The throw-away server.
    Postgres,
    /// The throw-away server.
    MariaDb,
    /// A file.
    Sqlite,
}

impl Database {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Database::Postgres => "PostgreSQL",
            Database::MariaDb => "MariaDB",
            Database::Sqlite => "SQLite",
        }
    }

    fn group(self) -> Group {
        match self {
            Database::Postgres => Group::Postgres,
            Database::MariaDb => Group::MariaDb,
            Database::Sqlite => Group::Sqlite,
        }
    }
}

/// What is behind Laravel's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// Its database driver.
    Database(Database),
    /// Its beanstalkd driver and the original.
    Beanstalkd,
    /// Its beanstalkd driver and our server, over a file.
    Slipring,
}

/// Contenders that are drawn in one picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Tables on MariaDB.
    MariaDb,
    /// Tables on PostgreSQL.
    Postgres,
    /// Tables on SQLite.
    Sqlite,
    /// One job at a time: beanstalkd and ours.
    Servers,
    /// The same in batches.
    Batches,
    /// Laravel.
    Laravel,
}

impl Group {
    /// All of them, with the name of the picture and its title.
    pub const ALL: [(Group, &str, &str); 6] = [
        (Group::MariaDb, "mariadb", "displacement of jobs, a table on MariaDB"),
        (Group::Postgres, "postgres", "displacement of jobs, a table on PostgreSQL"),
        (Group::Sqlite, "sqlite", "displacement of jobs, a table on SQLite"),
        (Group::Servers, "servers", "displacement of jobs, claimed one at a time"),
        (Group::Batches, "batches", "displacement of jobs, claimed in batches of 100"),
        (Group::Laravel, "laravel", "displacement of jobs, Laravel's queue"),
    ];
}

/// A published method with its figures, in jobs/s on the machines A and B.
struct Published {
    name: &'static str,
    method: Method,
    mysql: (f64, f64),
    postgres: (f64, f64),
}

/// The published methods by the names of the publication.
fn published(workers: i64) -> [Published; 5] {
    let row = |name, method, mysql, postgres| Published { name, method, mysql, postgres };
    let five = Pessimistic::FIVE_TRIES;
    let marked = Pessimistic { tries: 1, mark: true, ..five };
    let no_index = Pessimistic { index: false, ..five };
    let window = |window| Method::Optimistic { window };
    let of = Method::Pessimistic;
    [
        row("pessimistic, 5 delete tries", of(five), (190.47, 452.04), (206.39, 273.13)),
        row("pessimistic, delete mark", of(marked), (155.87, 347.82), (184.03, 332.50)),
        row("pessimistic, no index", of(no_index), (92.29, 171.61), (142.65, 263.86)),
        row("optimistic, window 1", window(1), (90.33, 386.42), (54.1, 180.41)),
        row("optimistic, window N", window(workers), (210.06, 644.52), (201.06, 468.33)),
    ]
}

/// The best published row, in jobs/s.
pub fn best_published() -> f64 {
    let rows = published(1).into_iter().flat_map(|row| [row.mysql, row.postgres]);
    rows.map(|(a, b)| a.max(b)).fold(0.0, f64::max)
}

/// All contenders for so many workers.
pub fn all(workers: usize) -> Vec<Contender> {
    let mut all = tables(i64::try_from(workers).unwrap_or(i64::MAX));
    all.extend(servers());
    let laravel = [
        ("Laravel on MariaDB", Backend::Database(Database::MariaDb)),
        ("Laravel on PostgreSQL", Backend::Database(Database::Postgres)),
        ("Laravel on SQLite", Backend::Database(Database::Sqlite)),
        (LARAVEL_ON_BEANSTALKD, Backend::Beanstalkd),
        (LARAVEL_ON_OURS, Backend::Slipring),
    ];
    all.extend(laravel.map(|(name, backend)| Contender {
        name: name.to_owned(),
        group: Group::Laravel,
        what: What::Laravel(backend),
        up_to: 1,
        published: None,
    }));
    all
}

/// The published methods on each database, the original, and SKIP LOCKED.
fn tables(workers: i64) -> Vec<Contender> {
    let table = |database: Database, name: &str, method, published| Contender {
        name: format!("{} {name}", database.name()),
        group: database.group(),
        what: What::Table(database, method),
        up_to: 1,
        published,
    };
    let mut tables = Vec::new();
    for database in [Database::MariaDb, Database::Postgres] {
        for row in published(workers) {
            let figures = if database == Database::MariaDb { row.mysql } else { row.postgres };
            tables.push(table(database, row.name, row.method, Some(figures)));
        }
        let original = Pessimistic { tries: 1, fetch: true, ..Pessimistic::FIVE_TRIES };
        tables.push(table(database, ORIGINAL, Method::Pessimistic(original), None));
        let skip = Pessimistic { skip_locked: true, ..Pessimistic::FIVE_TRIES };
        tables.push(table(database, "SKIP LOCKED", Method::Pessimistic(skip), None));
    }
    for row in published(workers) {
        tables.push(table(Database::Sqlite, row.name, row.method, None));
    }
    tables
}

/// The name of the variant that ran jobs again.
pub const ORIGINAL: &str = "the original: 1 delete try";
/// Names that the checks ask for.
pub const BEANSTALKD: &str = "beanstalkd -f 0";
/// Our engine in this process, over a file.
pub const ENGINE: &str = "Slipring engine, SQLite";
/// Our server over a file, by the beanstalkd protocol.
pub const SERVER: &str = "Slipring server, SQLite";
/// Laravel's beanstalkd driver and the original.
pub const LARAVEL_ON_BEANSTALKD: &str = "Laravel on beanstalkd";
/// Laravel's beanstalkd driver and our server.
pub const LARAVEL_ON_OURS: &str = "Laravel on Slipring";

/// beanstalkd, ours, and the best that a table does; one job at a time, and in batches.
fn servers() -> Vec<Contender> {
    let mut servers = Vec::new();
    for (group, up_to) in [(Group::Servers, 1), (Group::Batches, BATCH)] {
        let targets = [
            ("PostgreSQL SKIP LOCKED, one statement", What::Target(Kind::SkipLocked)),
            (BEANSTALKD, What::Target(Kind::Beanstalkd)),
            ("beanstalkd -f 50 (its default)", What::Target(Kind::BeanstalkdLate)),
            (ENGINE, What::Target(Kind::Store)),
            (SERVER, What::Target(Kind::SlipringBeanstalkd)),
            ("Slipring server, PostgreSQL", What::Target(Kind::PostgresServer)),
            ("Slipring SQL functions, PostgreSQL", What::Target(Kind::Sql)),
        ];
        servers.extend(targets.map(|(name, what)| Contender {
            name: named(name, up_to),
            group,
            what,
            up_to,
            published: None,
        }));
    }
    servers
}

/// The name of a contender that claims so many jobs at a time.
pub fn named(name: &str, up_to: usize) -> String {
    if up_to == 1 { name.to_owned() } else { format!("{name}, {up_to} at a time") }
}

impl Contender {
    /// Whether it is Slipring, behind whatever client.
    pub fn is_ours(&self) -> bool {
        match self.what {
            What::Target(kind) => matches!(
                kind,
                Kind::Store | Kind::SlipringBeanstalkd | Kind::PostgresServer | Kind::Sql
            ),
            What::Laravel(backend) => backend == Backend::Slipring,
            What::Table(..) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ten_published_rows_are_there_and_every_name_is_of_one_contender() {
        let all = all(10);
        assert_eq!(all.iter().filter(|contender| contender.published.is_some()).count(), 10);
        for contender in &all {
            let same = all.iter().filter(|other| other.name == contender.name);
            assert_eq!(same.count(), 1, "{}", contender.name);
        }
        assert_eq!(best_published(), 644.52);
    }

    #[test]
    fn the_checks_ask_for_contenders_that_are_there() {
        let all = all(10);
        for name in [BEANSTALKD, ENGINE, SERVER] {
            for up_to in [1, BATCH] {
                let found = all.iter().find(|contender| contender.name == named(name, up_to));
                assert_eq!(found.unwrap().up_to, up_to);
            }
        }
        let ours = all.iter().filter(|contender| contender.is_ours());
        assert_eq!(ours.count(), 9);
    }
}
