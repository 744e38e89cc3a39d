//! The steps of `cargo xtask test`, in order.

use std::path::Path;
use std::process::Command;

use crate::process::{self, Outcome};
use crate::repository::Repository;
use crate::{browser, clients, examples, failing, package, pages, programs, schema, setup, tidy};

/// One step: its name, what it shows, what it does, and the step without which it cannot.
pub struct Step {
    pub name: &'static str,
    pub what: &'static str,
    pub needs: Option<&'static str>,
    /// The step before which it has ended, if those until then run beside it.
    pub until: Option<&'static str>,
    pub run: fn(&Repository) -> Outcome,
}

/// The second run over PostgreSQL replays so many random sequences, a third of the
/// first.
const MODEL_CASES: (&str, &str) = ("SLIPRING_MODEL_CASES", "6");

const POSTGRES: &str = "slipring-postgres";

/// Programs of it that run over one PostgreSQL alone: they are about processes and sessions that
/// end, and neither the version nor shared tables are in their way.
const ONCE: [&str; 4] = ["interrupted", "processes", "crashes", "standby"];

const WARNINGS_ARE_ERRORS: &str = "-Dwarnings";
/// How often the crash test kills the server here; `--rounds N` of the lab runs more.
const CRASH_ROUNDS: &str = "60";
const CRASH_ROUNDS_POSTGRES: &str = "12";

/// Both protocols, and both at once.
const QUICK_CLIENTS: [&str; 3] = ["boto3", "greenstalk", "crossing"];

/// Where the lab keeps what the cases found.
const CASES: [&str; 5] = ["case-1", "case-2", "case-3", "case-4", "case-5"];

/// How long the torture test takes; [`TORTURE`] says otherwise.
const TORTURE_SECONDS: &str = "300";
const TORTURE: &str = "SLIPRING_TORTURE_SECONDS";

/// What stands for a step after the last one.
pub const END: &str = "the end";

pub const STEPS: [Step; 18] = [
    Step {
        name: "set-up",
        what: "install what is missing: databases, servers, languages, the clients",
        needs: None,
        until: Some("deny"),
        run: setup::run,
    },
    Step {
        name: "fmt",
        what: "the code is formatted",
        needs: None,
        until: None,
        run: |repository| cargo(repository, &["fmt", "--all", "--check"]),
    },
    Step {
        name: "tidy",
        what: "the house rules",
        needs: None,
        until: None,
        run: |repository| tidy::run(repository.root()),
    },
    Step {
        name: "clippy",
        what: "no lint is broken",
        needs: None,
        until: None,
        run: |repository| {
            let lint = ["clippy", "--workspace", "--all-targets", "--", WARNINGS_ARE_ERRORS];
            cargo(repository, &lint)
        },
    },
    Step {
        name: "deny",
        what: "licences and sources of the dependencies, and crates that are not to be used",
        needs: Some("set-up"),
        until: None,
        run: deny,
    },
    Step {
        name: "schema",
        what: "the committed schema is the migrated one",
        needs: None,
        until: None,
        run: |repository| schema::run(repository, schema::Mode::Compare),
    },
    Step {
        name: "tests",
        what: "unit tests, conformance of all stores, wire transcripts, model, faults",
        needs: None,
        until: None,
        run: |repository| {
            let mut programs = programs::built(repository)?;
            programs.retain(|program| !program.is_torture() && !on_newest_only(program));
            let outcome = programs::run(&programs, &[]);
            let mut examples = repository.cargo(&["test", "--workspace", "--doc"]);
            both(outcome, failing::run(&mut examples))
        },
    },
    Step {
        name: "postgres",
        what: "the PostgreSQL store again: the newest one, by PgBouncer and with shared tables",
        needs: Some("set-up"),
        until: None,
        run: |repository| {
            let newest = setup::postgres::Newest::copied(repository)?;
            let mut postgres = programs::built(repository)?;
            postgres.retain(|program| {
                let once = program.is_torture() || ONCE.contains(&program.name());
                program.package == POSTGRES && !once
            });
            let programs_of_newest = newest.programs();
            let mut environment = vec![
                ("SLIPRING_POSTGRES_BIN", &*programs_of_newest),
                ("SLIPRING_TEST_POOLER", Path::new("1")),
                ("SLIPRING_TEST_SHARED", Path::new("1")),
            ];
            if std::env::var_os(MODEL_CASES.0).is_none() {
                environment.push((MODEL_CASES.0, Path::new(MODEL_CASES.1)));
            }
            programs::run(&postgres, &environment)
        },
    },
    Step {
        name: "torture",
        what: "all transactions, rotations and lapses of PostgreSQL at once, the loss checker",
        needs: None,
        until: Some("cases"),
        run: |repository| {
            let mut programs = programs::built(repository)?;
            programs.retain(programs::Program::is_torture);
            let seconds = std::env::var_os(TORTURE).unwrap_or_else(|| TORTURE_SECONDS.into());
            programs::run(&programs, &[(TORTURE, Path::new(&seconds))])
        },
    },
    Step {
        name: "docs",
        what: "the API documentation builds",
        needs: None,
        until: None,
        run: |repository| {
            let mut doc = repository.cargo(&["doc", "--workspace", "--no-deps"]);
            process::run(doc.env("RUSTDOCFLAGS", WARNINGS_ARE_ERRORS))
        },
    },
    Step {
        name: "release",
        what: "the shipped binary, and the lab that tests it, built once for the steps below",
        needs: None,
        until: None,
        run: |repository| repository.lab().map(drop),
    },
    Step {
        name: "cases",
        what: "smoke sizes of the published cases, bad days, simulator and driver; their page",
        needs: Some("release"),
        until: None,
        run: cases,
    },
    Step {
        name: "lab",
        what: "smoke sizes of the lab's workloads",
        needs: Some("release"),
        until: Some(END),
        run: |repository| {
            lab(repository, &["run", "foundation", "--smoke"])?;
            lab(repository, &["run", "postgres", "--smoke"])?;
            lab(repository, &["run", "peers", "--smoke"])
        },
    },
    Step {
        name: "crash",
        what: "kill -9 of the real server, and of PostgreSQL, under load, then the loss checker",
        needs: Some("release"),
        until: Some(END),
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
        needs: Some("release"),
        until: None,
        run: |repository| {
            clients::run(repository, &[], clients::Storage::Sqlite)?;
            let quick = QUICK_CLIENTS.map(str::to_owned);
            clients::run(repository, &quick, clients::Storage::Postgres)
        },
    },
    Step {
        name: "packages",
        what: "the Debian package and the image are made, and serve",
        needs: Some("release"),
        until: None,
        run: |repository| {
            setup::debian::run(&setup::debian::PACKAGING)?;
            package::run(repository)
        },
    },
    Step {
        name: "pages",
        what: "web pages in Chromium and Firefox that try to purge and to read a queue",
        needs: Some("release"),
        until: None,
        run: pages::run,
    },
    Step {
        name: "examples",
        what: "the examples of README.md and docs/ as printed",
        needs: Some("release"),
        until: None,
        run: examples::run,
    },
];

/// Whether the step `postgres` runs it, and `tests` does not: the test of plans takes long, and the
/// newest PostgreSQL's plans are those that count.
fn on_newest_only(program: &programs::Program) -> bool {
    program.package == POSTGRES && program.name() == "plans"
}

fn deny(repository: &Repository) -> Outcome {
    let mut check = Command::new(setup::deny::run(repository)?);
    check.args(["--locked", "check", "licenses", "bans", "sources"]);
    process::run(check.current_dir(repository.root()))
}

/// What failed in two parts, the second of which is done whatever becomes of the first.
fn both(first: Outcome, second: Outcome) -> Outcome {
    match (first, second) {
        (Err(first), Err(second)) => Err(format!("{first}\n{second}")),
        (first, second) => first.and(second),
    }
}

fn cargo(repository: &Repository, arguments: &[&str]) -> Outcome {
    process::run(&mut repository.cargo(arguments))
}

/// Runs the lab's commands at smoke size, and opens the page of what they found in a browser.
fn cases(repository: &Repository) -> Outcome {
    for number in ["1", "2", "3", "4", "5"] {
        lab(repository, &["case", number, "--smoke"])?;
    }
    lab(repository, &["badday", "all", "--smoke", "--strict"])?;
    lab(repository, &["hostile", "--smoke", "--strict"])?;
    lab(repository, &["simulate", "--smoke"])?;
    lab(repository, &["drive", "--smoke"])?;
    lab(repository, &["benchmark", "all", "--smoke", "--strict"])?;
    let kept = CASES.map(|name| format!("target/lab/{name}"));
    let kept = kept.iter().map(String::as_str);
    lab(repository, &["report"].into_iter().chain(kept).collect::<Vec<_>>())?;
    browser::open(repository, &repository.root().join("target/lab/report.html"))
}

fn lab(repository: &Repository, arguments: &[&str]) -> Outcome {
    failing::run_lab(repository.lab()?.args(arguments))
}
