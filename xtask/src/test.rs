//! `cargo xtask test`: every check of the project as named steps, in order.
//!
//! A step that fails does not stop the others, except those that work with what it makes.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::process::{self, Outcome};
use crate::repository::Repository;
use crate::{browser, clients, examples, failing, package, pages, programs, schema, setup, tidy};

/// One step: its name, what it shows, what it does, and the step without which it cannot.
struct Step {
    name: &'static str,
    what: &'static str,
    needs: Option<&'static str>,
    run: fn(&Repository) -> Outcome,
}

/// What became of a step.
enum End {
    Passed,
    /// What it said; it names the failing tests.
    Failed(String),
    /// The step that it needs failed.
    NotRun(&'static str),
}

/// The second run over PostgreSQL replays so many random sequences, a third of the first.
const MODEL_CASES: (&str, &str) = ("SLIPRING_MODEL_CASES", "8");

const POSTGRES: &str = "slipring-postgres";

/// Programs of it that run over one PostgreSQL alone: they are about our processes and sessions,
/// and neither its version nor shared tables are in their way.
const ONCE: [&str; 2] = ["interrupted", "processes"];

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

const STEPS: [Step; 18] = [
    Step {
        name: "set-up",
        what: "install what is missing: databases, servers, languages, the clients",
        needs: None,
        run: setup::run,
    },
    Step {
        name: "fmt",
        what: "the code is formatted",
        needs: None,
        run: |repository| cargo(repository, &["fmt", "--all", "--check"]),
    },
    Step {
        name: "tidy",
        what: "the house rules",
        needs: None,
        run: |repository| tidy::run(repository.root()),
    },
    Step {
        name: "deny",
        what: "licences and sources of the dependencies, and crates that are not to be used",
        needs: None,
        run: deny,
    },
    Step {
        name: "clippy",
        what: "no lint is broken",
        needs: None,
        run: |repository| {
            let lint = ["clippy", "--workspace", "--all-targets", "--", WARNINGS_ARE_ERRORS];
            cargo(repository, &lint)
        },
    },
    Step {
        name: "schema",
        what: "the committed schema is the migrated one",
        needs: None,
        run: |repository| schema::run(repository, schema::Mode::Compare),
    },
    Step {
        name: "tests",
        what: "unit tests, conformance of all stores, wire transcripts, model, faults",
        needs: None,
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
        run: |repository| {
            let mut doc = repository.cargo(&["doc", "--workspace", "--no-deps"]);
            process::run(doc.env("RUSTDOCFLAGS", WARNINGS_ARE_ERRORS))
        },
    },
    Step {
        name: "release",
        what: "the shipped binary, and the lab that tests it, built once for the steps below",
        needs: None,
        run: |repository| repository.lab().map(drop),
    },
    Step {
        name: "lab",
        what: "smoke sizes of the lab's workloads",
        needs: Some("release"),
        run: |repository| {
            lab(repository, &["run", "foundation", "--smoke"])?;
            lab(repository, &["run", "postgres", "--smoke"])?;
            lab(repository, &["run", "peers", "--smoke"])
        },
    },
    Step {
        name: "cases",
        what: "smoke sizes of the published cases, bad days, simulator and driver; their page",
        needs: Some("release"),
        run: cases,
    },
    Step {
        name: "crash",
        what: "kill -9 of the real server, and of PostgreSQL, under load, then the loss checker",
        needs: Some("release"),
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
        run: |repository| {
            setup::debian::run(&setup::debian::PACKAGING)?;
            package::run(repository)
        },
    },
    Step {
        name: "pages",
        what: "web pages in Chromium and Firefox that try to purge and to read a queue",
        needs: Some("release"),
        run: pages::run,
    },
    Step {
        name: "examples",
        what: "the examples of README.md and docs/ as printed",
        needs: Some("release"),
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

/// Runs the selected steps, then says what each took and why those that failed did.
///
/// The last line is `N passed, N failed`.
pub fn run(repository: &Repository, selection: &Selection) -> Outcome {
    selection.check()?;
    let started = Instant::now();
    let mut done: Vec<(&Step, Duration, End)> = Vec::new();
    for step in STEPS.iter().filter(|step| selection.takes(step)) {
        let begun = Instant::now();
        let end = match missing(step, &done) {
            Some(needed) => End::NotRun(needed),
            None => {
                println!("\n=== {}: {}", step.name, step.what);
                (step.run)(repository).map_or_else(End::Failed, |()| End::Passed)
            }
        };
        done.push((step, begun.elapsed(), end));
    }
    summarise(&done, started.elapsed())
}

/// The step that this one needs, if it was run and did not pass.
fn missing(step: &Step, done: &[(&Step, Duration, End)]) -> Option<&'static str> {
    let needs = step.needs?;
    let failed =
        |(step, _, end): &(&Step, _, End)| step.name == needs && !matches!(end, End::Passed);
    done.iter().any(failed).then_some(needs)
}

/// Prints the summary; fails when a step failed.
fn summarise(done: &[(&Step, Duration, End)], took: Duration) -> Outcome {
    println!("\n=== summary");
    let (mut passed, mut failed) = (0, 0);
    for (step, took, end) in done {
        match end {
            End::Passed => {
                passed += 1;
                println!("{:<8} ok      {}", step.name, minutes(*took));
            }
            End::Failed(_) => {
                failed += 1;
                println!("{:<8} FAILED  {}", step.name, minutes(*took));
            }
            End::NotRun(needed) => println!("{:<8} not run: it needs `{needed}`", step.name),
        }
    }
    println!("total            {}", minutes(took));
    for (step, _, end) in done {
        if let End::Failed(message) = end {
            println!("\nstep `{}` failed: {message}", step.name);
            println!("again, this step alone: cargo xtask test --only {}", step.name);
        }
    }
    println!("{passed} passed, {failed} failed");
    // The summary has said it all, and its last line is to stay the last.
    if failed == 0 { Ok(()) } else { Err(String::new()) }
}

fn minutes(took: Duration) -> String {
    format!("{:>3} min {:>4.1} s", took.as_secs() / 60, took.as_secs_f64() % 60.0)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &'static str, needs: Option<&'static str>) -> Step {
        Step { name, what: "", needs, run: |_| Ok(()) }
    }

    #[test]
    fn a_step_is_left_out_only_when_what_it_needs_did_not_pass() {
        let (built, uses, free) = (step("a", None), step("b", Some("a")), step("c", None));
        let after = |end| [(&built, Duration::ZERO, end)];
        let failed = after(End::Failed("why".to_owned()));
        assert_eq!((missing(&uses, &failed), missing(&free, &failed)), (Some("a"), None));
        assert_eq!(missing(&uses, &after(End::Passed)), None);
        assert_eq!(missing(&uses, &after(End::NotRun("z"))), Some("a"));
        // With `--only` it is on its own.
        assert_eq!(missing(&uses, &[]), None);
    }

    #[test]
    fn one_failed_step_fails_the_run() {
        let (first, second) = (step("a", None), step("b", None));
        let both = |end| [(&first, Duration::ZERO, End::Passed), (&second, Duration::ZERO, end)];
        assert!(summarise(&both(End::Passed), Duration::ZERO).is_ok());
        let failed = both(End::Failed("why".to_owned()));
        assert_eq!(summarise(&failed, Duration::ZERO), Err(String::new()));
    }

    #[test]
    fn every_step_needs_one_before_it() {
        for (at, step) in STEPS.iter().enumerate() {
            let before = STEPS.iter().take(at);
            let known = |needed| before.clone().any(|earlier| earlier.name == needed);
            assert!(step.needs.is_none_or(known), "{}", step.name);
        }
    }
}
