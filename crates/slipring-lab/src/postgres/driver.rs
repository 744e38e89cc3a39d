//! A driver as the lab sees it: a process that is given work by lines and answers by lines.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use super::protocol::{Answer, Command, Line, Ready, Window};

/// How much of what a driver wrote to stderr is shown when it fails.
const ERRORS_SHOWN: usize = 2000;

/// A driver that is ready, in a process group of its own. Dropping it ends the group.
pub struct Driver {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    errors: std::path::PathBuf,
    /// What it said of itself.
    pub ready: Ready,
}

impl Driver {
    /// Starts a driver and waits until it can be given work. Its stderr goes to a file in
    /// `folder`.
    ///
    /// # Errors
    /// When it does not start, or takes longer than `limit`.
    pub async fn start(
        command: std::process::Command,
        folder: &Path,
        limit: Duration,
    ) -> Result<Driver> {
        let errors = folder.join("stderr");
        let mut command = tokio::process::Command::from(command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.stderr(std::fs::File::create(&errors)?).spawn()?;
        let input = child.stdin.take();
        let stdout = child.stdout.take().context("a driver without stdout")?;
        let output = BufReader::new(stdout).lines();
        let mut driver = Driver { child, input, output, errors, ready: Ready::default() };
        match driver.next(limit).await.context("waiting for a driver to be ready")? {
            Line::Ready(ready) => driver.ready = ready,
            other => bail!("a driver began with {other:?}"),
        }
        Ok(driver)
    }

    /// Gives it work.
    ///
    /// # Errors
    /// When it does not read.
    pub async fn give(&mut self, command: &Command) -> Result<()> {
        let text = serde_json::to_string(command)? + "\n";
        let input = self.input.as_mut().context("the driver was told to end")?;
        input.write_all(text.as_bytes()).await.context("giving a driver work")?;
        input.flush().await.context("giving a driver work")
    }

    /// The next thing it says.
    ///
    /// # Errors
    /// When it ends, fails, says what is no line of the protocol, or nothing within `limit`.
    pub async fn next(&mut self, limit: Duration) -> Result<Line> {
        let line = tokio::time::timeout(limit, self.output.next_line());
        let Ok(line) = line.await else {
            bail!("a driver said nothing within {limit:?}: {}", self.errors());
        };
        let Some(text) = line.context("reading from a driver")? else {
            let status = self.child.wait().await?;
            bail!("a driver ended ({status}): {}", self.errors());
        };
        match serde_json::from_str(&text) {
            Ok(Line::Failed(why)) => bail!("{why}"),
            Ok(line) => Ok(line),
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

    /// Tells it to end and waits for that.
    ///
    /// # Errors
    /// When it fails or takes longer than `limit`.
    pub async fn end(mut self, limit: Duration) -> Result<()> {
        drop(self.input.take());
        let status: ExitStatus = tokio::time::timeout(limit, self.child.wait())
            .await
            .with_context(|| format!("a driver did not end within {limit:?}"))??;
        if !status.success() {
            bail!("a driver failed at its end ({status}): {}", self.errors());
        }
        Ok(())
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
