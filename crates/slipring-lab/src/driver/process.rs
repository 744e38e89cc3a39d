//! A driver as the lab sees it: a process that is given work by lines and answers by lines.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use super::protocol::{Answer, Line, Ready, Window};
use crate::process::Usage;
use crate::slow_disk;
use crate::targets::Wait;
use crate::targets::postgres::URL_VARIABLE;
use crate::workloads::Settings;

/// How much of what a driver wrote to stderr is shown when it fails.
const ERRORS_SHOWN: usize = 2000;

/// This program as the driver of the target that `settings` name, with its data in their folder.
///
/// # Errors
/// When this program is not found, or flushes cannot be made to take as long as the settings say.
pub fn own(settings: &Settings) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe().context("finding this program")?);
    let kind = clap::ValueEnum::to_possible_value(&settings.target);
    let name = kind.map(|value| value.get_name().to_owned()).unwrap_or_default();
    command.args(["driver", "--target", &name, "--body", &settings.body.to_string()]);
    command.args(["--flush-us", &settings.flush_us.to_string()]);
    if let Some(folder) = &settings.folder {
        command.arg("--folder").arg(folder);
    }
    // Not as an argument, which every user of the machine can read.
    command.envs(settings.postgres.iter().map(|url| (URL_VARIABLE, url)));
    command.envs(slow_disk::environment(settings.flush_us)?);
    Ok(command)
}

/// A driver that is ready, in a process group of its own. Dropping it ends the group.
pub struct Driver {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    errors: PathBuf,
    /// What it said of itself.
    pub ready: Ready,
}

impl Driver {
    /// Starts a driver and waits until it can be given work. Its stderr goes to the file `errors`.
    ///
    /// # Errors
    /// When it does not start, or takes longer than `limit`.
    pub async fn start(command: Command, errors: &Path, limit: Duration) -> Result<Driver> {
        let mut command = tokio::process::Command::from(command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.stderr(std::fs::File::create(errors)?).spawn()?;
        let input = child.stdin.take();
        let stdout = child.stdout.take().context("a driver without stdout")?;
        let (output, errors) = (BufReader::new(stdout).lines(), errors.to_owned());
        let mut driver = Driver { child, input, output, errors, ready: Ready::default() };
        match driver.next(limit).await.context("waiting for a driver to be ready")? {
            Line::Ready(ready) => driver.ready = ready,
            other => bail!("a driver began with {other:?}"),
        }
        Ok(driver)
    }

    /// Memory and processor time of its process.
    ///
    /// # Errors
    /// When it has ended.
    pub fn usage(&self) -> Result<Usage> {
        Usage::of(self.child.id().context("the driver has ended")?)
    }

    /// Gives it work.
    ///
    /// # Errors
    /// When it does not read.
    pub async fn give(&mut self, settings: &Settings) -> Result<()> {
        let text = serde_json::to_string(settings)? + "\n";
        let input = self.input.as_mut().context("the driver was told to end")?;
        input.write_all(text.as_bytes()).await.context("giving a driver work")?;
        input.flush().await.context("giving a driver work")
    }

    /// The next thing it says.
    ///
    /// # Errors
    /// When it ends, fails, says what is no line of the protocol, or nothing within `limit`.
    pub async fn next(&mut self, limit: Duration) -> Result<Line> {
        match self.line(limit).await? {
            Some(line) => Ok(line),
            None => {
                let status = self.child.wait().await?;
                bail!("a driver ended ({status}): {}", self.errors());
            }
        }
    }

    /// The next thing it says; nothing when it has closed its stdout.
    async fn line(&mut self, limit: Duration) -> Result<Option<Line>> {
        let line = tokio::time::timeout(limit, self.output.next_line());
        let Ok(line) = line.await else {
            bail!("a driver said nothing within {limit:?}: {}", self.errors());
        };
        let Some(text) = line.context("reading from a driver")? else { return Ok(None) };
        match serde_json::from_str(&text) {
            Ok(Line::Failed(why)) => bail!("{why}"),
            Ok(line) => Ok(Some(line)),
            Err(error) => bail!("not a line of a driver ({error}): {text:?}"),
        }
    }

    /// The next window, or the end of the work.
    ///
    /// # Errors
    /// As [`Driver::next`].
    pub async fn step(&mut self, limit: Duration) -> Result<Step> {
        match self.next(limit).await? {
            Line::Window(window) => Ok(Step::Window(window)),
            Line::Done(answer) => Ok(Step::Done(answer)),
            other => bail!("a driver at work said {other:?}"),
        }
    }

    /// Tells it to end and waits for that; answers the wait table of its target.
    ///
    /// # Errors
    /// When it fails or takes longer than `limit`.
    pub async fn end(mut self, limit: Duration) -> Result<Vec<Wait>> {
        drop(self.input.take());
        let mut waits = Vec::new();
        while let Some(line) = self.line(limit).await? {
            match line {
                Line::Waits(table) => waits = table,
                other => bail!("a driver said at its end {other:?}"),
            }
        }
        let status: ExitStatus = tokio::time::timeout(limit, self.child.wait())
            .await
            .with_context(|| format!("a driver did not end within {limit:?}"))??;
        if !status.success() {
            bail!("a driver failed at its end ({status}): {}", self.errors());
        }
        Ok(waits)
    }

    /// The end of what it wrote to stderr.
    fn errors(&self) -> String {
        let text = std::fs::read_to_string(&self.errors).unwrap_or_default();
        let skip = text.chars().count().saturating_sub(ERRORS_SHOWN);
        text.chars().skip(skip).collect::<String>().trim().to_owned()
    }
}

/// What happens while a driver works.
pub enum Step {
    /// A window is over.
    Window(Window),
    /// The work is over.
    Done(Answer),
}

impl Drop for Driver {
    fn drop(&mut self) {
        let Some(pid) = self.child.id().and_then(|pid| i32::try_from(pid).ok()) else { return };
        // A group that is gone already needs no signal.
        let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
    }
}
