//! The lab started anew as a process of its own, so that memory and processor time are those of
//! one workload, and a hang is ended.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A child in a process group of its own. Dropping it ends the group, and with it any server the
/// child has started.
pub struct Group(Child);

impl Group {
    /// Starts this program with other arguments.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(arguments: &[String]) -> Result<Group> {
        Group::started(Command::new(own()?), arguments)
    }

    /// As [`Group::start`], with the least claim to the processors: whatever else wants to run goes
    /// first.
    ///
    /// # Errors
    /// As [`Group::start`].
    pub fn start_last(arguments: &[String]) -> Result<Group> {
        let mut command = Command::new("nice");
        command.args(["-n", "19"]).arg(own()?);
        Group::started(command, arguments)
    }

    fn started(mut command: Command, arguments: &[String]) -> Result<Group> {
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = command.stderr(Stdio::piped()).process_group(0).spawn();
        child.context("starting this program anew").map(Group)
    }

    /// Sends a signal to all of the group.
    ///
    /// # Errors
    /// When it is gone.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let pid = i32::try_from(self.0.id()).context("a process id beyond 2^31")?;
        killpg(Pid::from_raw(pid), signal).with_context(|| format!("sending {signal} to a child"))
    }

    /// Tells the child to come to an end, by closing its stdin.
    pub fn close_stdin(&mut self) {
        drop(self.0.stdin.take());
    }

    /// Waits for the end of the child; answers what it wrote to stdout, at most what a pipe holds
    /// (64 KiB).
    ///
    /// # Errors
    /// When it fails or takes longer than `limit`.
    pub fn finish(self, limit: Duration) -> Result<String> {
        self.finish_unless(limit, || false)
    }

    /// As [`Group::finish`], and gives up when `interrupted` says so.
    ///
    /// # Errors
    /// When it fails, takes longer than `limit` or is given up.
    pub fn finish_unless(
        mut self,
        limit: Duration,
        interrupted: impl Fn() -> bool,
    ) -> Result<String> {
        let deadline = Instant::now() + limit;
        let status = loop {
            if let Some(status) = self.0.try_wait().context("waiting for a child")? {
                break status;
            }
            if Instant::now() > deadline {
                bail!("a child did not end within {limit:?}");
            }
            if interrupted() {
                bail!("interrupted");
            }
            std::thread::sleep(LOOK_EVERY);
        };
        let (mut out, mut errors) = (String::new(), String::new());
        if let Some(mut stdout) = self.0.stdout.take() {
            stdout.read_to_string(&mut out).context("reading a child's output")?;
        }
        if let Some(mut stderr) = self.0.stderr.take() {
            stderr.read_to_string(&mut errors).context("reading a child's errors")?;
        }
        if !status.success() {
            bail!("a child failed ({status}): {}", errors.trim());
        }
        Ok(out)
    }
}

fn own() -> Result<PathBuf> {
    std::env::current_exe().context("finding this program")
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Ok(pid) = i32::try_from(self.0.id()) {
            // A group that is gone already needs no signal.
            let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
        }
        let _ = self.0.wait();
    }
}
