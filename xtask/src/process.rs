//! Running other programs: with a time limit, with their output shown or caught.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, PipeReader};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// After a command has ended, its output is read for at most this many grace periods more: a
/// process that it left running may write without end.
const ENDED_GRACES_MAX: u32 = 6;

/// What everything here answers: a value, or a sentence that says what to do.
pub type Outcome<T = ()> = Result<T, String>;

/// Runs a command with its output shown; fails unless it ends with status 0.
pub fn run(command: &mut Command) -> Outcome {
    println!("$ {}", printed(command));
    let status = command.status().map_err(|error| not_started(command, &error))?;
    ended_well(command, status)
}

/// Like [`run`], and hands every line of the output to `watch`, stdout and stderr in the order in
/// which they were written. What the command leaves running may keep the output open: a silence of
/// `grace` after the command has ended is the end of it.
pub fn watched(command: &mut Command, grace: Duration, mut watch: impl FnMut(&str)) -> Outcome {
    println!("$ {}", printed(command));
    let status = followed(command, grace, |line| {
        if let Some(line) = line {
            println!("{line}");
            watch(line);
        }
    })?;
    ended_well(command, status)
}

/// Like [`watched`], but shows nothing and returns how the command ended. `watch` also hears of
/// each silence of `grace`, with no line.
pub fn followed(
    command: &mut Command,
    grace: Duration,
    mut watch: impl FnMut(Option<&str>),
) -> Outcome<ExitStatus> {
    let (reader, writer) = std::io::pipe().map_err(|error| not_started(command, &error))?;
    let second = writer.try_clone().map_err(|error| not_started(command, &error))?;
    let started = command.stdout(writer).stderr(second).spawn();
    // The command holds the writing ends, too, and would keep them open.
    command.stdout(Stdio::inherit()).stderr(Stdio::inherit());
    let mut child = started.map_err(|error| not_started(command, &error))?;
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || read_lines(reader, &sender));
    let (mut status, mut asked) = (None, Instant::now());
    // The command's end is looked for also while lines come, for they may be those of a process
    // that it left running.
    loop {
        if status.is_none() && asked.elapsed() > grace {
            asked = Instant::now();
            status = child.try_wait().map_err(|error| not_started(command, &error))?;
        } else if status.is_some() && asked.elapsed() > grace * ENDED_GRACES_MAX {
            break;
        }
        match lines.recv_timeout(grace) {
            Ok(line) => watch(Some(&line)),
            Err(mpsc::RecvTimeoutError::Timeout) if status.is_none() => watch(None),
            Err(_) => break,
        }
    }
    let status = status.map_or_else(|| child.wait(), Ok);
    status.map_err(|error| not_started(command, &error))
}

fn read_lines(reader: PipeReader, sender: &mpsc::Sender<String>) {
    for line in BufReader::new(reader).split(b'\n') {
        let Ok(line) = line else { break };
        if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
            break;
        }
    }
}

fn ended_well(command: &Command, status: ExitStatus) -> Outcome {
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
