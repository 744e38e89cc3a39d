//! A step that runs beside others: by a process of its own, whose output is shown at its end.

use std::process::Command;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::process::{self, Outcome};

/// A silence of this length after the process has ended is the end of its output.
const GRACE: Duration = Duration::from_secs(5);

/// By this name it is found also after a step has built it anew and put the new one in its place.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// A step that was begun.
pub struct Beside {
    ended: JoinHandle<(Outcome, Duration, Vec<String>)>,
}

impl Beside {
    /// Begins a step by `cargo xtask test --only`, which is this program.
    pub fn begin(step: &'static str) -> Beside {
        let mut command = Command::new(THIS_PROGRAM);
        command.args(["test", "--only", step]);
        Beside { ended: std::thread::spawn(move || follow(command, step)) }
    }

    /// Waits for its end and shows what it printed. Answers what became of it, and its duration.
    pub fn end(self) -> (Outcome, Duration) {
        let gone = |_| (Err("its output was lost".to_owned()), Duration::ZERO, Vec::new());
        let (outcome, took, output) = self.ended.join().unwrap_or_else(gone);
        output.iter().for_each(|line| println!("{line}"));
        (outcome, took)
    }
}

fn follow(mut command: Command, step: &str) -> (Outcome, Duration, Vec<String>) {
    let (begun, mut output) = (Instant::now(), Vec::new());
    let status =
        process::followed(&mut command, GRACE, |line| output.extend(line.map(str::to_owned)));
    let outcome = status.and_then(|status| match status.success() {
        true => Ok(()),
        false => Err(said(step, &output)),
    });
    (outcome, begun.elapsed(), output)
}

/// Why it failed, which stands in the summary that it ends with.
fn said(step: &str, output: &[String]) -> String {
    let failed = format!("step `{step}` failed: ");
    let mut lines = output.iter().skip_while(|line| !line.starts_with(&failed));
    let Some(first) = lines.next() else { return "see above".to_owned() };
    let rest = lines.take_while(|line| !line.starts_with("again, this step alone"));
    let said = std::iter::once(&first[failed.len()..]).chain(rest.map(String::as_str));
    said.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> (Outcome, Vec<String>) {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let (outcome, _, output) = follow(command, "tests");
        (outcome, output)
    }

    #[test]
    fn a_step_is_begun_by_this_program() {
        // Which here is a program of tests and refuses the option: it was found.
        let (outcome, _) = Beside::begin("no such step").end();
        assert_eq!(outcome, Err("see above".to_owned()));
    }

    #[test]
    fn a_step_that_fails_beside_others_says_why_as_it_does_alone() {
        let (passed, output) = shell("echo one; echo two >&2");
        assert_eq!((passed, output), (Ok(()), vec!["one".to_owned(), "two".to_owned()]));
        let summary = "printf '%s\n' '=== summary' 'step `tests` failed: 2 tests failed:' '  a' \
                       '  b' 'again, this step alone: x' '0 passed, 1 failed'; exit 1";
        assert_eq!(shell(summary).0, Err("2 tests failed:\n  a\n  b".to_owned()));
        assert_eq!(shell("kill -9 $$").0, Err("see above".to_owned()));
    }
}
