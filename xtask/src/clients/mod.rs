//! `cargo xtask clients`: unmodified foreign clients against the release binary.
//!
//! Every client runs, also after another failed; the table at the end counts them.

mod counts;
mod programs;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::process::Outcome;
use crate::repository::Repository;
use crate::server::Server;
use crate::setup::{go, node, python};
use counts::Count;

/// A foreign client: what it is called, and how it is run.
struct Client {
    name: &'static str,
    what: &'static str,
    /// Installs what it needs.
    set_up: fn(&Repository) -> Outcome,
    run: fn(&Bench<'_>) -> Outcome<Count>,
}

const CLIENTS: [Client; 9] = [
    Client {
        name: "moto",
        what: "the SQS tests that moto ships",
        set_up: python::run,
        run: programs::moto,
    },
    Client {
        name: "boto3",
        what: "the AWS SDK for Python",
        set_up: python::run,
        run: |bench| programs::pytest(bench, "test_boto3*.py"),
    },
    Client {
        name: "aws-sdk-js",
        what: "the AWS SDK for JavaScript v3, which checks digests",
        set_up: node::run,
        run: |bench| programs::node(bench, "aws_sdk.test.mjs"),
    },
    Client {
        name: "greenstalk",
        what: "a beanstalkd client for Python",
        set_up: python::run,
        run: |bench| programs::pytest(bench, "test_greenstalk.py"),
    },
    Client {
        name: "pystalk",
        what: "a beanstalkd client for Python",
        set_up: python::run,
        run: |bench| programs::pytest(bench, "test_pystalk.py"),
    },
    Client {
        name: "jackd",
        what: "a beanstalkd client for Node.js",
        set_up: node::run,
        run: |bench| programs::node(bench, "jackd.test.mjs"),
    },
    Client {
        name: "go-beanstalk",
        what: "a beanstalkd client for Go",
        set_up: go::run,
        run: programs::go,
    },
    Client {
        name: "crossing",
        what: "one queue, both protocols: boto3 and greenstalk",
        set_up: python::run,
        run: |bench| programs::pytest(bench, "test_crossing.py"),
    },
    Client {
        name: "drop-in",
        what: "`slipring beanstalkd` in the place of beanstalkd",
        set_up: python::run,
        run: |bench| programs::pytest(bench, "test_drop_in.py"),
    },
];

/// What a client's program may use.
struct Bench<'a> {
    repository: &'a Repository,
    name: &'static str,
    binary: PathBuf,
    /// Empty at the start of each client.
    folder: PathBuf,
}

impl Bench<'_> {
    /// A server with a store of its own.
    fn server(&self) -> Outcome<Server> {
        Server::start(&self.binary, &self.folder, &self.log("server"))
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
}

/// Runs the clients called `only`, or all when it is empty; fails when one of them failed.
pub fn run(repository: &Repository, only: &[String]) -> Outcome {
    if let Some(unknown) = only.iter().find(|name| !CLIENTS.iter().any(|c| c.name == **name)) {
        let names: Vec<&str> = CLIENTS.iter().map(|client| client.name).collect();
        return Err(format!("no client is called `{unknown}`; there are: {}", names.join(", ")));
    }
    let chosen = CLIENTS.iter().filter(|c| only.is_empty() || only.iter().any(|n| n == c.name));
    let binary = repository.release_binary()?;
    let mut reports = Vec::new();
    for client in chosen {
        println!("--- {}: {}", client.name, client.what);
        let started = Instant::now();
        let outcome = run_one(repository, client, &binary);
        if let Err(message) = &outcome {
            println!("{message}");
        }
        let (name, what, took) = (client.name, client.what, started.elapsed());
        reports.push(Report { name, what, took, outcome });
    }
    summarise(&reports)
}

fn run_one(repository: &Repository, client: &Client, binary: &Path) -> Outcome<Count> {
    (client.set_up)(repository)?;
    let folder = repository.emptied(&format!("runs/{}", client.name))?;
    let bench = Bench { repository, name: client.name, binary: binary.to_path_buf(), folder };
    (client.run)(&bench)
}

/// Prints one line for each client; fails when one of them failed.
fn summarise(reports: &[Report]) -> Outcome {
    println!();
    let mut failed = Vec::new();
    for Report { name, what, took, outcome } in reports {
        let words = match outcome {
            Ok(count) => count.to_string(),
            Err(_) => "could not be run to its end".to_owned(),
        };
        println!("{name:<13} {words:<46} {:>6.1} s  {what}", took.as_secs_f64());
        if !outcome.as_ref().is_ok_and(Count::is_clean) {
            failed.push(*name);
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(format!("foreign clients failed: {}; their output is above", failed.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(outcome: Outcome<Count>) -> Report {
        Report { name: "a", what: "b", took: Duration::from_secs(1), outcome }
    }

    #[test]
    fn a_client_that_passed_nothing_or_failed_something_fails_the_run() {
        let clean = Count { passed: 3, failed: 0, excluded: 1 };
        assert!(summarise(&[report(Ok(clean))]).is_ok());
        assert!(summarise(&[report(Ok(Count { failed: 1, ..clean }))]).is_err());
        assert!(summarise(&[report(Ok(Count { passed: 0, ..clean }))]).is_err());
        assert!(summarise(&[report(Err("no server".to_owned()))]).is_err());
    }

    #[test]
    fn an_unknown_client_is_refused_before_anything_is_built() {
        let error = run(&Repository::find(), &["bunny".to_owned()]).unwrap_err();
        assert!(error.contains("`bunny`") && error.contains("greenstalk"), "{error}");
    }
}
