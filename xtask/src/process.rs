//! Running other programs: with a time limit, with their output shown or caught.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

/// What everything here answers: a value, or a sentence that says what to do.
pub type Outcome<T = ()> = Result<T, String>;

/// Runs a command with its output shown; fails unless it ends with status 0.
pub fn run(command: &mut Command) -> Outcome {
    println!("$ {}", printed(command));
    let status = command.status().map_err(|error| not_started(command, &error))?;
    if !status.success() {
        return Err(format!("`{}` failed: {status}", printed(command)));
    }
    Ok(())
}

/// Runs a command and returns what it wrote to stdout; fails unless it ends with status 0.
pub fn output(command: &mut Command) -> Outcome<String> {
    let (status, text) = captured(command.stderr(Stdio::inherit()))?;
    if !status {
        return Err(format!("`{}` failed: see above", printed(command)));
    }
    Ok(text)
}

/// Runs a command and returns whether it ended with status 0, and its stdout.
pub fn captured(command: &mut Command) -> Outcome<(bool, String)> {
    let done = command.stdin(Stdio::null()).stdout(Stdio::piped()).output();
    let done = done.map_err(|error| not_started(command, &error))?;
    Ok((done.status.success(), String::from_utf8_lossy(&done.stdout).into_owned()))
}

/// True if the command can be started and ends with status 0; its output is thrown away.
pub fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// A command for `program` that is ended after `seconds` with all its children, even when this
/// process is gone by then.
pub fn limited(seconds: u32, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=10", &seconds.to_string()]).arg(program);
    command
}

/// Like `limited`, for a program that is to get a signal once: it is passed on to the program
/// alone, where `limited` sends it to the program and then to the whole group.
pub fn limited_alone(seconds: u32, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--foreground", "--kill-after=10", &seconds.to_string()]).arg(program);
    command
}

/// The command as one would type it.
fn printed(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn not_started(command: &Command, error: &std::io::Error) -> String {
    format!("`{}` could not be started: {error}", printed(command))
}
