//! `cargo xtask test`: every check of the project as named steps, in order, until one fails.

use std::time::{Duration, Instant};

use crate::process::{self, Outcome};
use crate::repository::Repository;
use crate::{clients, readme, schema, setup, tidy};

/// One step: its name, what it shows, and what it does.
struct Step {
    name: &'static str,
    what: &'static str,
    run: fn(&Repository) -> Outcome,
}

/// The second run over PostgreSQL replays so many random sequences, a third of the first.
const MODEL_CASES: (&str, &str) = ("SLIPRING_MODEL_CASES", "8");

const WARNINGS_ARE_ERRORS: &str = "-Dwarnings";
/// How often the crash test kills the server here; `--rounds N` of the lab runs more.
const CRASH_ROUNDS: &str = "100";
const CRASH_ROUNDS_POSTGRES: &str = "20";

/// Both protocols, and both at once.
const QUICK_CLIENTS: [&str; 3] = ["boto3", "greenstalk", "crossing"];

const STEPS: [Step; 13] = [
    Step {
        name: "set-up",
        what: "install what is missing: PostgreSQL, beanstalkd, Python, Node.js, Go, the clients",
        run: setup::run,
    },
    Step {
        name: "fmt",
        what: "the code is formatted",
        run: |repository| cargo(repository, &["fmt", "--all", "--check"]),
    },
    Step { name: "tidy", what: "the house rules", run: |repository| tidy::run(repository.root()) },
    Step {
        name: "clippy",
        what: "no lint is broken",
        run: |repository| {
            let lint = ["clippy", "--workspace", "--all-targets", "--", WARNINGS_ARE_ERRORS];
            cargo(repository, &lint)
        },
    },
    Step {
        name: "schema",
        what: "the committed schema is the migrated one",
        run: |repository| schema::run(repository, schema::Mode::Compare),
    },
    Step {
        name: "tests",
        what: "unit tests, conformance of all stores, wire transcripts, model, faults",
        run: |repository| cargo(repository, &["test", "--workspace", "--no-fail-fast"]),
    },
    Step {
        name: "postgres",
        what: "the PostgreSQL store once more: the newest PostgreSQL, the suite through PgBouncer",
        run: |repository| {
            let newest = setup::postgres::Newest::copied(repository)?;
            let mut test = repository.tests(&repository.test_names("slipring-postgres")?);
            test.env("SLIPRING_TEST_POOLER", "1");
            if std::env::var_os(MODEL_CASES.0).is_none() {
                test.env(MODEL_CASES.0, MODEL_CASES.1);
            }
            process::run(test.env("SLIPRING_POSTGRES_BIN", newest.programs()))
        },
    },
    Step {
        name: "docs",
        what: "the API documentation builds",
        run: |repository| {
            let mut doc = repository.cargo(&["doc", "--workspace", "--no-deps"]);
            process::run(doc.env("RUSTDOCFLAGS", WARNINGS_ARE_ERRORS))
        },
    },
    Step {
        name: "release",
        what: "the binary and the lab, built once for the steps below",
        run: |repository| repository.lab().map(drop),
    },
    Step {
        name: "lab",
        what: "smoke sizes of the lab's workloads",
        run: |repository| {
            lab(repository, &["run", "foundation", "--smoke"])?;
            lab(repository, &["run", "postgres", "--smoke"])
        },
    },
    Step {
        name: "crash",
        what: "kill -9 of the real server, and of PostgreSQL, under load, then the loss checker",
        run: |repository| {
            lab(repository, &["crash", "--rounds", CRASH_ROUNDS])?;
            let postgres = ["--store", "postgres", "--servers", "2", "--strike", "any"];
            let rounds = ["crash", "--rounds", CRASH_ROUNDS_POSTGRES];
            lab(repository, &[&rounds[..], &postgres].concat())
        },
    },
    Step {
        name: "clients",
        what: "unmodified foreign clients, the quickest of them over PostgreSQL as well",
        run: |repository| {
            clients::run(repository, &[], clients::Storage::Sqlite)?;
            let quick = QUICK_CLIENTS.map(str::to_owned);
            clients::run(repository, &quick, clients::Storage::Postgres)
        },
    },
    Step { name: "readme", what: "the examples of README.md as printed", run: readme::run },
];

/// Which steps to run.
#[derive(Default)]
pub struct Selection {
    pub only: Vec<String>,
    pub skip: Vec<String>,
}

impl Selection {
    fn takes(&self, step: &Step) -> bool {
        let names = |list: &[String]| list.iter().any(|name| name == step.name);
        (self.only.is_empty() || names(&self.only)) && !names(&self.skip)
    }

    fn check(&self) -> Outcome {
        let mut names = self.only.iter().chain(&self.skip);
        match names.find(|name| !STEPS.iter().any(|step| step.name == name.as_str())) {
            Some(unknown) => Err(format!("no step is called `{unknown}`; see --list")),
            None => Ok(()),
        }
    }
}

/// Prints the names of the steps.
pub fn list() {
    for step in &STEPS {
        println!("{:<8} {}", step.name, step.what);
    }
}

/// Runs the selected steps up to the first that fails, then says what each took.
///
/// The last line is `N passed, N failed`.
pub fn run(repository: &Repository, selection: &Selection) -> Outcome {
    selection.check()?;
    let started = Instant::now();
    let mut done = Vec::new();
    let mut failure = None;
    for step in STEPS.iter().filter(|step| selection.takes(step)) {
        println!("\n=== {}: {}", step.name, step.what);
        let begun = Instant::now();
        let outcome = (step.run)(repository);
        done.push((step.name, begun.elapsed(), outcome.is_ok()));
        if let Err(message) = outcome {
            failure = Some((step.name, message));
            break;
        }
    }
    println!("\n=== summary");
    for (name, took, passed) in &done {
        println!("{name:<8} {:<6} {}", if *passed { "ok" } else { "FAILED" }, minutes(*took));
    }
    println!("total           {}", minutes(started.elapsed()));
    let failed = usize::from(failure.is_some());
    if let Some((name, message)) = &failure {
        println!("\nstep `{name}` failed: {message}");
        println!("again, this step alone: cargo xtask test --only {name}");
    }
    println!("{} passed, {failed} failed", done.len() - failed);
    // The summary has said it all, and its last line is to stay the last.
    failure.map_or(Ok(()), |_| Err(String::new()))
}

fn minutes(took: Duration) -> String {
    format!("{:>3} min {:>4.1} s", took.as_secs() / 60, took.as_secs_f64() % 60.0)
}

fn cargo(repository: &Repository, arguments: &[&str]) -> Outcome {
    process::run(&mut repository.cargo(arguments))
}

fn lab(repository: &Repository, arguments: &[&str]) -> Outcome {
    process::run(repository.lab()?.args(arguments))
}
