//! The test programs of the workspace: built once, then run side by side.
//!
//! `cargo test` runs one program after the other. Most of them wait for processes, disks and clocks
//! most of their time, so several at once take less time in all, and disturb each other enough to
//! show what leans on an idle machine.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::failing::{self, CargoTest};
use crate::process::{self, Outcome};
use crate::repository::Repository;

/// The programs of these names take longest by far, so they begin first: what begins late runs
/// alone in the end, beside an idle processor.
const LONGEST: [&str; 2] = ["conformance", "plans"];

/// A program that still runs after this time is named with its output so far, and again whenever
/// this time has passed once more.
const LONG: Duration = Duration::from_secs(300);

/// A program that still runs after so many seconds, several times what the longest takes on a slow
/// machine, hangs: it is ended, so that the others and their output are not lost with it.
const HANGS_SECONDS: u32 = 1500;
/// The status of `timeout` where it has ended a program.
const ENDED: i32 = 124;

/// What a program leaves running may keep its output open: a silence of this length after the
/// program has ended is the end of the output.
const GRACE: Duration = Duration::from_secs(5);

/// One test program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The package it belongs to.
    pub package: String,
    /// The options of `cargo test` that run it alone.
    options: String,
    executable: PathBuf,
    /// The folder of its package, in which it runs.
    folder: PathBuf,
}

impl Program {
    /// The last word of the options that run it: the name of its file, but for a library.
    pub fn name(&self) -> &str {
        self.options.rsplit(' ').next().unwrap_or_default()
    }

    /// Whether it is the torture test, which has a step of its own.
    pub fn is_torture(&self) -> bool {
        self.package == "slipring-postgres" && self.name() == "torture"
    }
}

/// Builds all test programs of the workspace, as it is, and lists them.
pub fn built(repository: &Repository) -> Outcome<Vec<Program>> {
    failing::run(&mut repository.cargo(&["test", "--workspace", "--no-run"]))?;
    // Once more for the list: everything is fresh by now.
    let list = ["test", "--workspace", "--no-run", "--quiet", "--message-format=json"];
    let mut programs = listed(&process::output(&mut repository.cargo(&list))?);
    programs.sort_by_key(|program| !LONGEST.contains(&program.name()));
    if programs.is_empty() {
        return Err("cargo names no test program; see above".to_owned());
    }
    Ok(programs)
}

/// The programs in what cargo says of its artifacts, one message a line.
fn listed(messages: &str) -> Vec<Program> {
    messages.lines().filter_map(|line| program(&serde_json::from_str(line).ok()?)).collect()
}

fn program(message: &Value) -> Option<Program> {
    let tested = message["profile"]["test"].as_bool()?;
    let executable = PathBuf::from(message["executable"].as_str().filter(|_| tested)?);
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_path_buf();
    let package = folder.file_name()?.to_str()?.to_owned();
    let (target, name) = (&message["target"], message["target"]["name"].as_str()?);
    let options = match target["kind"][0].as_str()? {
        "lib" | "rlib" | "cdylib" | "proc-macro" => format!("-p {package} --lib"),
        kind => format!("-p {package} --{kind} {name}"),
    };
    Some(Program { package, options, executable, folder })
}

/// How a program ended: what it printed, and what failed in it.
struct Ended<'a> {
    program: &'a Program,
    took: Duration,
    output: Vec<String>,
    failing: Vec<String>,
}

/// Runs the programs, as many at once as there are processors, and shows the output of each when it
/// has ended. All are run whatever fails; the error names the tests that failed.
pub fn run(programs: &[Program], environment: &[(&str, &Path)]) -> Outcome {
    if programs.is_empty() {
        return Err("there is no test program to run".to_owned());
    }
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let waiting = Mutex::new(programs.iter());
    let (sender, ended) = mpsc::channel::<Result<Ended<'_>, String>>();
    let mut failing = Vec::new();
    std::thread::scope(|scope| {
        for _ in 0..processors {
            let (sender, waiting) = (sender.clone(), &waiting);
            scope.spawn(move || {
                loop {
                    let next = waiting.lock().ok().and_then(|mut waiting| waiting.next());
                    let Some(program) = next else { break };
                    let _ = sender.send(run_one(program, environment));
                }
            });
        }
        drop(sender);
        for ended in ended {
            match ended {
                Ok(ended) => failing.extend(show(ended)),
                Err(message) => failing.push(message),
            }
        }
    });
    match failing.len() {
        0 => Ok(()),
        count => Err(failing::with_names(format!("{count} tests failed:"), &failing)),
    }
}

fn show(ended: Ended<'_>) -> Vec<String> {
    println!("\n     {}, {:.1} s", ended.program.options, ended.took.as_secs_f64());
    for line in ended.output {
        println!("{line}");
    }
    ended.failing
}

fn run_one<'a>(program: &'a Program, environment: &[(&str, &Path)]) -> Result<Ended<'a>, String> {
    let mut command = process::limited_alone(HANGS_SECONDS, &program.executable);
    command.current_dir(&program.folder).env("CARGO_MANIFEST_DIR", &program.folder);
    command.envs(environment.iter().copied());
    let (begun, mut named, mut shown) = (Instant::now(), 1, 0);
    let (mut output, mut seen) = (Vec::new(), CargoTest::default());
    let status = process::followed(&mut command, GRACE, |line| {
        if let Some(line) = line {
            seen.line(line);
            output.push(line.to_owned());
        }
        if begun.elapsed() > LONG * named {
            named += 1;
            println!(
                "     {} still runs; it has printed since it was last named:",
                program.options
            );
            output[shown..].iter().for_each(|line| println!("{line}"));
            shown = output.len();
        }
    })?;
    let failing = failures(program, seen, status, &mut output);
    Ok(Ended { program, took: begun.elapsed(), output, failing })
}

/// Ends the output as cargo does where the program has failed, and answers the names.
fn failures(
    program: &Program,
    mut seen: CargoTest,
    status: ExitStatus,
    output: &mut Vec<String>,
) -> Vec<String> {
    if status.success() {
        return Vec::new();
    }
    let said = format!("error: test failed, to rerun pass `{}`", program.options);
    seen.line(&said);
    output.push(said);
    output.push(match status.code() {
        Some(ENDED) => format!("the program was ended after {HANGS_SECONDS} s: a test hangs"),
        _ => format!("the program ended with {status}"),
    });
    seen.names()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn programs_are_read_from_what_cargo_says() {
        let message = |kind: &str, name: &str, test: bool, executable: Option<&str>| {
            serde_json::json!({
                "reason": "compiler-artifact",
                "manifest_path": "/r/crates/a/Cargo.toml",
                "target": {"kind": [kind], "name": name},
                "profile": {"test": test},
                "executable": executable,
            })
            .to_string()
        };
        let messages = [
            message("lib", "a", false, None),
            message("bin", "a", false, Some("/t/a")),
            message("lib", "a", true, Some("/t/deps/a-1")),
            message("test", "crash", true, Some("/t/deps/crash-2")),
            message("bin", "tool", true, Some("/t/deps/tool-3")),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
            "not JSON".to_owned(),
        ];
        let found = listed(&messages.join("\n"));
        let options: Vec<&str> = found.iter().map(|program| program.options.as_str()).collect();
        assert_eq!(options, ["-p a --lib", "-p a --test crash", "-p a --bin tool"]);
        assert_eq!((found[1].name(), found[1].is_torture()), ("crash", false));
        assert_eq!(found[1].executable, Path::new("/t/deps/crash-2"));
        assert_eq!((&*found[1].package, &*found[1].folder), ("a", Path::new("/r/crates/a")));
    }

    fn script(name: &str, text: &str, folder: &Path) -> Program {
        let executable = folder.join(name);
        // By a process of its own: what is started here meanwhile would have the file open for
        // writing, and then it could not be run.
        let write = "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$0\" && chmod +x \"$0\"";
        let mut shell = Command::new("sh");
        process::run(shell.args(["-c", write]).arg(&executable).arg(text)).unwrap();
        let (package, options) = ("p".to_owned(), format!("-p p --test {name}"));
        Program { package, options, executable, folder: folder.to_path_buf() }
    }

    #[test]
    fn all_programs_run_and_the_error_names_what_failed_in_each() {
        let folder = tempfile::tempdir().unwrap();
        let fails = "echo 'failures:'; echo '    a::b'; echo; exit 101";
        let programs = [
            script("fails", fails, folder.path()),
            script("dies", "kill -9 $$", folder.path()),
            script("passes", "test \"$ASKED\" = /yes && touch passed", folder.path()),
        ];
        let error = run(&programs, &[("ASKED", Path::new("/yes"))]).unwrap_err();
        let mut names: Vec<&str> = error.lines().skip(1).map(str::trim).collect();
        names.sort_unstable();
        assert_eq!(names, ["-p p --test dies (it named no test)", "-p p --test fails -- a::b"]);
        assert!(folder.path().join("passed").exists(), "in the folder of its package");
        assert!(run(&programs[2..], &[("ASKED", Path::new("/yes"))]).is_ok());
    }

    #[test]
    fn a_program_that_was_ended_for_its_time_is_named_as_one_that_hangs() {
        let folder = tempfile::tempdir().unwrap();
        let mut output = Vec::new();
        let status = ExitStatus::from_raw(ENDED << 8);
        let program = script("hangs", "sleep 60", folder.path());
        let mut limited = process::limited_alone(1, &program.executable);
        assert_eq!(limited.status().unwrap(), status, "what it ends has this status");
        let names = failures(&program, CargoTest::default(), status, &mut output);
        assert_eq!(names, ["-p p --test hangs (it named no test)"]);
        assert_eq!(output.last().unwrap(), "the program was ended after 1500 s: a test hangs");
    }
}
