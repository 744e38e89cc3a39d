//! The names of failing tests, read from what `cargo test`, pytest, node's TAP and `go test` print.

use std::time::Duration;

use crate::process::{self, Outcome};

/// Most names that one message carries; the rest is in the output.
const NAMES_MAX: usize = 20;

/// Reads the output of `cargo test` line by line.
#[derive(Debug, Default)]
pub struct CargoTest {
    failing: Vec<String>,
    /// Names of the program that ran last, until cargo says how to run it again.
    pending: Vec<String>,
    /// Inside the list of names that ends the output of a test program.
    listing: bool,
}

impl CargoTest {
    /// Takes the next line.
    pub fn line(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("error: test failed, to rerun pass `") {
            self.commit(rest.trim_end().trim_end_matches('`'));
        } else if let Some(rest) = line.strip_prefix("error: doctest failed, to rerun pass `") {
            self.commit(rest.trim_end().trim_end_matches('`'));
        } else if let Some(what) = line.strip_prefix("error: could not compile ") {
            self.failing.push(format!("could not compile {what}"));
        } else if line == "failures:" {
            // The names come in the last of these lists; those before hold the tests' output.
            self.listing = true;
            self.pending.clear();
        } else if let (true, Some(name)) = (self.listing, line.strip_prefix("    ")) {
            self.pending.push(name.trim_end().to_owned());
        } else if !line.is_empty() {
            self.listing = false;
        }
    }

    /// The program that is run again with these options has failed.
    fn commit(&mut self, options: &str) {
        self.listing = false;
        if self.pending.is_empty() {
            // It ended before it could say which: killed, aborted, or out of memory.
            self.failing.push(format!("{options} (it named no test)"));
        }
        let names = self.pending.drain(..);
        self.failing.extend(names.map(|name| format!("{options} -- {name}")));
    }

    /// The names, each behind the options of `cargo test` that run its program.
    pub fn names(mut self) -> Vec<String> {
        self.failing.append(&mut self.pending);
        self.failing
    }
}

/// Runs `cargo test` with its output shown; the error names the tests that failed.
pub fn run(command: &mut std::process::Command) -> Outcome {
    let mut seen = CargoTest::default();
    // Colours would stand between the words that are looked for.
    command.env("CARGO_TERM_COLOR", "never");
    let outcome = process::watched(command, Duration::from_secs(5), |line| seen.line(line));
    outcome.map_err(|message| with_names(message, &seen.names()))
}

/// Runs a command of the lab with its output shown; the error has the checks that were missed and
/// what the command says of its end.
pub fn run_lab(command: &mut std::process::Command) -> Outcome {
    let mut said = Vec::new();
    let outcome = process::watched(command, Duration::from_secs(5), |line| {
        if line.trim_end().ends_with(" MISS") || line.starts_with("slipring-lab: ") {
            said.push(line.trim().to_owned());
        }
    });
    outcome.map_err(|message| with_names(message, &said))
}

/// The names of the failing tests in the output of a foreign client's tests, whatever wrote it.
pub fn of_client(output: &str) -> Vec<String> {
    let name = |line: &str| {
        let pytest = ["FAILED ", "ERROR "].iter().find_map(|word| line.strip_prefix(word));
        if let Some(rest) = pytest.filter(|rest| rest.contains("::") || rest.contains(".py")) {
            return Some(rest.split(" - ").next().unwrap_or(rest).to_owned());
        }
        let line = line.trim_start();
        if let Some(rest) = line.strip_prefix("not ok ") {
            let expected = rest.contains("# TODO") || rest.contains("# SKIP");
            let name = rest.split_once(" - ").map_or(rest, |(_, name)| name);
            return (!expected).then(|| name.to_owned());
        }
        let rest = line.strip_prefix("--- FAIL: ")?;
        Some(rest.split(" (").next().unwrap_or(rest).to_owned())
    };
    output.lines().filter_map(name).collect()
}

/// A message followed by names, one a line.
pub fn with_names(message: String, names: &[String]) -> String {
    let mut text = message;
    for name in names.iter().take(NAMES_MAX) {
        text.push_str("\n    ");
        text.push_str(name);
    }
    if let Some(more) = names.len().checked_sub(NAMES_MAX).filter(|more| *more > 0) {
        text.push_str(&format!("\n    and {more} more: see above"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cargo(output: &str) -> Vec<String> {
        let mut seen = CargoTest::default();
        output.lines().for_each(|line| seen.line(line));
        seen.names()
    }

    const CARGO: &str = "\
     Running unittests src/lib.rs (target/debug/deps/slipring_wire-5d0f)

running 2 tests
test a ... ok
test b ... ok

test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

     Running tests/hostile.rs (target/debug/deps/hostile-3c2e)

running 3 tests
test first_of_all ... ok
test large_bodies ... FAILED
test the::second ... FAILED

failures:

---- large_bodies stdout ----

thread 'large_bodies' (77) panicked at tests/hostile.rs:193:5:
failures:
    not this
assertion failed: refused
    nor this

---- the::second stdout ----
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace


failures:
    large_bodies
    the::second

test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.09s

error: test failed, to rerun pass `-p slipring-server --test hostile`
     Running tests/layout.rs (target/debug/deps/layout-0a1b)

running 1 test
error: test failed, to rerun pass `-p slipring-sqlite --test layout`

Caused by:
  process didn't exit successfully: `layout-0a1b` (signal: 6, SIGABRT: process abort signal)
error: 2 targets failed:
    `-p slipring-server --test hostile`
    `-p slipring-sqlite --test layout`
";

    #[test]
    fn cargo_names_the_failing_tests_of_each_program() {
        let expected = [
            "-p slipring-server --test hostile -- large_bodies",
            "-p slipring-server --test hostile -- the::second",
            "-p slipring-sqlite --test layout (it named no test)",
        ];
        assert_eq!(cargo(CARGO), expected);
        assert!(cargo(CARGO.split("     Running tests/hostile").next().unwrap()).is_empty());
    }

    #[test]
    fn a_suite_of_its_own_and_examples_in_comments_are_named_too() {
        // As libtest-mimic and rustdoc print them.
        let suite = "\
running 2 tests
test delays/a_delay_never_ends_early     ... FAILED
test leases/one_valid_lease              ... ok

failures:

---- delays/a_delay_never_ends_early ----
left: 1

failures:
    delays/a_delay_never_ends_early

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.2s

error: test failed, to rerun pass `-p slipring-sqlite --test conformance`
   Doc-tests slipring

failures:
    crates/slipring/src/lib.rs - (line 12)

test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.0s

error: doctest failed, to rerun pass `-p slipring --doc`
";
        let expected = [
            "-p slipring-sqlite --test conformance -- delays/a_delay_never_ends_early",
            "-p slipring --doc -- crates/slipring/src/lib.rs - (line 12)",
        ];
        assert_eq!(cargo(suite), expected);
    }

    #[test]
    fn what_does_not_compile_is_named() {
        let output = "error[E0308]: mismatched types\n\
                      error: could not compile `slipring` (lib) due to 1 previous error\n";
        let expected = ["could not compile `slipring` (lib) due to 1 previous error"];
        assert_eq!(cargo(output), expected);
    }

    #[test]
    fn clients_name_their_failing_tests() {
        let pytest = "FAILED test_boto3.py::test_purge[a - b] - AssertionError: 1 - 2\n\
                      ERROR test_boto3.py::test_tags - RuntimeError\n\
                      ERROR    root:app.py:3 said by a log\nSKIPPED [1] a.py:3: b\n";
        let found = of_client(pytest);
        assert_eq!(found[1], "test_boto3.py::test_tags");
        assert!(found[0].starts_with("test_boto3.py::test_purge"), "{}", found[0]);
        let tap = "TAP version 13\nok 1 - sends\n    not ok 1 - receives a batch\n\
                   not ok 2 - later # TODO\n1..2\n";
        assert_eq!(of_client(tap), ["receives a batch"]);
        let go = "=== RUN   TestPut\n--- PASS: TestA (0.00s)\n    --- FAIL: TestPut/big (0.1s)\n\
                  FAIL\n";
        assert_eq!(of_client(go), ["TestPut/big"]);
    }

    #[test]
    fn a_message_carries_a_bounded_number_of_names() {
        let names: Vec<String> = (0..25).map(|n| format!("test{n}")).collect();
        let text = with_names("3 failed".to_owned(), &names);
        assert!(text.starts_with("3 failed\n    test0\n"), "{text}");
        assert!(text.ends_with("test19\n    and 5 more: see above"), "{text}");
        assert_eq!(with_names("a".to_owned(), &[]), "a");
    }

    #[test]
    fn the_error_of_a_command_of_the_lab_has_the_missed_checks() {
        let script = "echo '≥ kept  1 of 1 pass'; echo 'lost ≤ 0  3 of 0 messages MISS'; \
                      echo 'slipring-lab: 1 checks of badday-purge were missed' >&2; exit 1";
        let error = run_lab(std::process::Command::new("sh").args(["-c", script])).unwrap_err();
        let said = [
            "lost ≤ 0  3 of 0 messages MISS",
            "slipring-lab: 1 checks of badday-purge were missed",
        ];
        assert!(error.ends_with(&format!("\n    {}", said.join("\n    "))), "{error}");
    }

    #[test]
    fn the_error_of_a_command_names_its_failing_tests_while_its_output_passes() {
        let script = "echo 'failures:'; echo '    a::b'; echo; \
                      echo 'error: test failed, to rerun pass `-p x`' >&2; exit 101";
        let mut command = std::process::Command::new("sh");
        let error = run(command.args(["-c", script])).unwrap_err();
        assert!(error.contains("-p x -- a::b") && error.contains("101"), "{error}");
        // A child that is left behind and has the output open does not hold it up.
        let mut command = std::process::Command::new("sh");
        let left = ["-c", "sleep 60 & echo $! >&2; exit 0"];
        let mut child = String::new();
        let watch = |line: &str| child = line.to_owned();
        process::watched(command.args(left), Duration::from_millis(50), watch).unwrap();
        process::run(std::process::Command::new("kill").arg(child)).unwrap();
    }
}
