//! `cargo xtask test`: every check of the project as named steps, in order.
//!
//! A step that fails does not stop the others, except those that work with what it makes.

use std::time::{Duration, Instant};

use crate::beside::Beside;
use crate::process::Outcome;
use crate::repository::Repository;
use crate::steps::{END, STEPS, Step};

/// What became of a step.
enum End {
    Passed,
    /// What it said; it names the failing tests.
    Failed(String),
    /// The step that it needs failed.
    NotRun(&'static str),
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

/// What became of steps, in the order in which they ended.
type Done = Vec<(&'static Step, Duration, End)>;

/// Runs the selected steps, then says what each took and why those that failed did. Where all are
/// run, some run beside others.
///
/// The last line is `N passed, N failed`.
pub fn run(repository: &Repository, selection: &Selection) -> Outcome {
    selection.check()?;
    let all = selection.only.is_empty() && selection.skip.is_empty();
    let started = Instant::now();
    let (mut done, mut beside) = (Done::new(), Vec::new());
    for step in STEPS.iter().filter(|step| selection.takes(step)) {
        wait(&mut beside, step.name, &mut done);
        if let Some(needed) = missing(step, &done) {
            done.push((step, Duration::ZERO, End::NotRun(needed)));
            continue;
        }
        println!("\n=== {}: {}", step.name, step.what);
        if all && step.until.is_some() {
            println!("it runs beside the next steps");
            beside.push((step, Beside::begin(step.name)));
            continue;
        }
        let begun = Instant::now();
        let outcome = (step.run)(repository);
        done.push((step, begun.elapsed(), end_of(outcome)));
    }
    wait(&mut beside, END, &mut done);
    summarise(&done, started.elapsed())
}

/// Waits for the steps that have to have ended before `next` begins.
fn wait(beside: &mut Vec<(&'static Step, Beside)>, next: &str, done: &mut Done) {
    for (step, begun) in beside.extract_if(.., |(step, _)| step.until == Some(next)) {
        println!("\n=== {}, which ran beside others", step.name);
        let (outcome, took) = begun.end();
        done.push((step, took, end_of(outcome)));
    }
}

fn end_of(outcome: Outcome) -> End {
    outcome.map_or_else(End::Failed, |()| End::Passed)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &'static str, needs: Option<&'static str>) -> Step {
        Step { name, what: "", needs, until: None, run: |_| Ok(()) }
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
    fn every_step_needs_one_before_it_and_is_waited_for() {
        for (at, step) in STEPS.iter().enumerate() {
            let before = STEPS.iter().take(at);
            let known = |needed| before.clone().any(|earlier| earlier.name == needed);
            assert!(step.needs.is_none_or(known), "{}", step.name);
            let Some(until) = step.until else { continue };
            // It ends before a later step, and before each step that needs it.
            let place = |of: &dyn Fn(&Step) -> bool| STEPS.iter().position(of);
            let ended =
                if until == END { STEPS.len() } else { place(&|s| s.name == until).unwrap() };
            let needed = place(&|s| s.needs == Some(step.name)).unwrap_or(STEPS.len());
            assert!(at < ended && ended <= needed, "{}", step.name);
        }
    }
}
