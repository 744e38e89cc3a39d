//! `cargo xtask clients`: unmodified foreign clients against the release binary.
//!
//! Every client runs, also after another failed; the table at the end counts them.

mod counts;
mod programs;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::cluster::Cluster;
use crate::failing;
use crate::process::Outcome;
use crate::repository::Repository;
use crate::server::Server;
use crate::setup::python::{Environment, OLD_BOTO3, TODAY};
use crate::setup::{debian, go, java, node};
use counts::Count;

/// Where the servers under test keep their messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// A SQLite file.
    Sqlite,
    /// A database of a throw-away PostgreSQL.
    Postgres,
}

impl Storage {
    /// The kind with a name; a file where none is named.
    pub fn named(name: Option<&str>) -> Outcome<Storage> {
        match name {
            None | Some("sqlite") => Ok(Storage::Sqlite),
            Some("postgres") => Ok(Storage::Postgres),
            Some(other) => Err(format!("no store is called `{other}`; use sqlite or postgres")),
        }
    }
}

/// A foreign client: what it is called, and how it is run.
struct Client {
    name: &'static str,
    what: &'static str,
    program: Program,
}

/// The kinds of test programs, with the file that holds the tests where there are several.
enum Program {
    Moto,
    Pytest(&'static Environment, &'static str),
    Node(&'static str),
    /// The tests that fivebeans ships.
    Fivebeans,
    /// A Go module below `tests/clients`.
    Go(&'static str),
    Java,
    Php(&'static str),
}

const BOTO3_TESTS: &str = "test_boto3*.py";

const CLIENTS: [Client; 17] = [
    client("moto", "the SQS tests that moto ships", Program::Moto),
    client("boto3", "the AWS SDK for Python", Program::Pytest(&TODAY, BOTO3_TESTS)),
    client(
        "boto3-query",
        "an older one, which speaks the query protocol",
        Program::Pytest(&OLD_BOTO3, BOTO3_TESTS),
    ),
    client(
        "aws-sdk-js",
        "the AWS SDK for JavaScript v3, which checks digests",
        Program::Node("aws_sdk.test.mjs"),
    ),
    client("aws-sdk-go", "the AWS SDK for Go v2", Program::Go("go/sqs")),
    client("aws-sdk-java", "the AWS SDK for Java v2", Program::Java),
    client(
        "celery",
        "tasks of Celery, by kombu's SQS transport",
        Program::Pytest(&TODAY, "test_celery.py"),
    ),
    client("dramatiq", "actors, by dramatiq-sqs", Program::Pytest(&TODAY, "test_dramatiq.py")),
    client("sqs-consumer", "consumers in Node.js", Program::Node("sqs_consumer.test.mjs")),
    client(
        "greenstalk",
        "a beanstalkd client for Python",
        Program::Pytest(&TODAY, "test_greenstalk.py"),
    ),
    client("pystalk", "a beanstalkd client for Python", Program::Pytest(&TODAY, "test_pystalk.py")),
    client("jackd", "a beanstalkd client for Node.js", Program::Node("jackd.test.mjs")),
    client("fivebeans", "a beanstalkd client for Node.js, by its own tests", Program::Fivebeans),
    client("go-beanstalk", "a beanstalkd client for Go", Program::Go("go")),
    client("laravel", "Laravel's queue over Pheanstalk, in PHP", Program::Php("laravel_queue.php")),
    client(
        "crossing",
        "one queue, both protocols: boto3 and greenstalk",
        Program::Pytest(&TODAY, "test_crossing.py"),
    ),
    client(
        "drop-in",
        "`slipring beanstalkd` in the place of beanstalkd",
        Program::Pytest(&TODAY, "test_drop_in.py"),
    ),
];

const fn client(name: &'static str, what: &'static str, program: Program) -> Client {
    Client { name, what, program }
}

impl Program {
    /// Installs what the program needs.
    fn set_up(&self, repository: &Repository) -> Outcome {
        match self {
            Program::Moto => TODAY.set_up(repository),
            Program::Pytest(environment, _) => environment.set_up(repository),
            Program::Node(_) | Program::Fivebeans => node::run(repository),
            Program::Go(_) => go::run(repository),
            Program::Java => java::run(repository),
            Program::Php(_) => debian::run(&[&debian::PHP]),
        }
    }

    fn run(&self, bench: &Bench<'_>) -> Outcome<Count> {
        match self {
            Program::Moto => programs::moto(bench),
            Program::Pytest(environment, files) => programs::pytest(bench, environment, files),
            Program::Node(file) => programs::node(bench, file),
            Program::Fivebeans => programs::fivebeans(bench),
            Program::Go(module) => programs::go(bench, module),
            Program::Java => programs::java(bench),
            Program::Php(file) => programs::php(bench, file),
        }
    }
}

/// What a client's program may use.
struct Bench<'a> {
    repository: &'a Repository,
    name: &'static str,
    binary: PathBuf,
    /// Empty at the start of each client.
    folder: PathBuf,
    /// Where stores are databases and no files.
    cluster: Option<&'a Cluster>,
}

impl Bench<'_> {
    /// A server with a store of its own.
    fn server(&self) -> Outcome<Server> {
        let store = match self.cluster {
            Some(cluster) => cluster.database(self.name)?,
            None => format!("sqlite:{}", self.folder.join("slipring.db").display()),
        };
        Server::start(&self.binary, &store, &self.log("server"))
    }

    fn log(&self, of: &str) -> PathBuf {
        self.folder.join(format!("{of}.log"))
    }
}

/// How one client went.
struct Report {
    name: &'static str,
    what: &'static str,
    took: Duration,
    outcome: Outcome<Count>,
    /// The names of its tests that failed.
    failing: Vec<String>,
}

/// Clients whose tests are about the server's own files.
const FILES_ONLY: [&str; 1] = ["drop-in"];

/// Runs the clients called `only`, or all when it is empty; fails when one of them failed.
pub fn run(repository: &Repository, only: &[String], store: Storage) -> Outcome {
    if let Some(unknown) = only.iter().find(|name| !CLIENTS.iter().any(|c| c.name == **name)) {
        let names: Vec<&str> = CLIENTS.iter().map(|client| client.name).collect();
        return Err(format!("no client is called `{unknown}`; there are: {}", names.join(", ")));
    }
    let chosen = CLIENTS.iter().filter(|c| only.is_empty() || only.iter().any(|n| n == c.name));
    if store == Storage::Postgres && only.iter().any(|name| FILES_ONLY.contains(&name.as_str())) {
        return Err(format!("without --store postgres: {} tests files", FILES_ONLY.join(", ")));
    }
    let fits = |c: &&Client| store == Storage::Sqlite || !FILES_ONLY.contains(&c.name);
    let cluster = match store {
        Storage::Sqlite => None,
        Storage::Postgres => Some(Cluster::start(repository)?),
    };
    let binary = repository.release_binary()?;
    let mut reports = Vec::new();
    for client in chosen.filter(fits) {
        println!("--- {}: {}", client.name, client.what);
        let started = Instant::now();
        let outcome = run_one(repository, client, &binary, cluster.as_ref());
        if let Err(message) = &outcome {
            println!("{message}");
        }
        let failing = match &outcome {
            Ok(count) if count.is_clean() => Vec::new(),
            _ => failing_tests(repository, client.name),
        };
        let (name, what, took) = (client.name, client.what, started.elapsed());
        reports.push(Report { name, what, took, outcome, failing });
    }
    summarise(&reports)
}

/// The names of the tests that failed, from what a client's tests have written.
fn failing_tests(repository: &Repository, name: &str) -> Vec<String> {
    let read = |path: PathBuf| std::fs::read(path).map_err(|error| error.to_string());
    let output = repository.scratch(&format!("runs/{name}/output.log")).and_then(read);
    // Without output it did not come so far.
    failing::of_client(&String::from_utf8_lossy(&output.unwrap_or_default()))
}

fn run_one(
    repository: &Repository,
    client: &Client,
    binary: &Path,
    cluster: Option<&Cluster>,
) -> Outcome<Count> {
    client.program.set_up(repository)?;
    let folder = repository.emptied(&format!("runs/{}", client.name))?;
    let binary = binary.to_path_buf();
    let bench = Bench { repository, name: client.name, binary, folder, cluster };
    client.program.run(&bench)
}

/// Prints one line for each client; fails when one of them failed.
fn summarise(reports: &[Report]) -> Outcome {
    println!();
    let mut failed = Vec::new();
    let mut tests = Vec::new();
    for Report { name, what, took, outcome, failing } in reports {
        let words = match outcome {
            Ok(count) => count.to_string(),
            Err(_) => "could not be run to its end".to_owned(),
        };
        println!("{name:<13} {words:<46} {:>6.1} s  {what}", took.as_secs_f64());
        if !outcome.as_ref().is_ok_and(Count::is_clean) {
            failed.push(*name);
            tests.extend(failing.iter().map(|test| format!("{name}: {test}")));
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    let clients = failed.join(", ");
    let message = format!("foreign clients failed: {clients}; their output is above");
    Err(failing::with_names(message, &tests))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(outcome: Outcome<Count>) -> Report {
        let failing = vec!["test_c".to_owned()];
        Report { name: "a", what: "b", took: Duration::from_secs(1), outcome, failing }
    }

    #[test]
    fn a_client_that_passed_nothing_or_failed_something_fails_the_run() {
        let clean = Count { passed: 3, failed: 0, excluded: 1 };
        assert!(summarise(&[report(Ok(clean))]).is_ok());
        let error = summarise(&[report(Ok(Count { failed: 1, ..clean }))]).unwrap_err();
        assert!(error.ends_with("\n    a: test_c"), "{error}");
        assert!(summarise(&[report(Ok(Count { passed: 0, ..clean }))]).is_err());
        assert!(summarise(&[report(Err("no server".to_owned()))]).is_err());
    }

    #[test]
    fn an_unknown_client_is_refused_before_anything_is_built() {
        let bunny = ["bunny".to_owned()];
        let error = run(&Repository::find(), &bunny, Storage::Sqlite).unwrap_err();
        let files = ["drop-in".to_owned()];
        assert!(run(&Repository::find(), &files, Storage::Postgres).is_err());
        assert!(error.contains("`bunny`") && error.contains("greenstalk"), "{error}");
        assert!(Storage::named(Some("bunny")).unwrap_err().contains("`bunny`"));
    }
}
