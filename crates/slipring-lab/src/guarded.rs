//! A server of another project that was started here: awaited until it takes connections, ended by
//! its own process id, and ended by a guard when this process is killed.

use std::fs::OpenOptions;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::guard::Guard;

/// For starting and for stopping.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks whether the server takes connections.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// Between two looks whether it has ended.
const LOOK_WHETHER_ENDED: Duration = Duration::from_millis(20);
/// How many lines of its log an error quotes.
const LINES_TOLD: usize = 5;

/// A running server. Dropping it stops it.
pub struct Guarded {
    name: &'static str,
    child: Child,
    log: PathBuf,
    // Sent away before the process is waited for, so that it never signals another one.
    guard: Option<Guard>,
}

impl Guarded {
    /// Starts a server; errors call it `name`, and what it writes is added to the file `log`. When
    /// the guard has to end it, the folder `removed` goes as well.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(
        name: &'static str,
        mut command: Command,
        log: &Path,
        removed: Option<&Path>,
    ) -> Result<Guarded> {
        let file = OpenOptions::new().create(true).append(true).open(log);
        let file = file.with_context(|| format!("opening {}", log.display()))?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let child = command.spawn().with_context(|| format!("starting {name}"))?;
        let mut own = Guarded { name, child, log: log.to_owned(), guard: None };
        own.guard = Some(Guard::over(own.child.id(), removed, Signal::SIGTERM)?);
        Ok(own)
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until `look` succeeds.
    ///
    /// # Errors
    /// When it does not within a minute, or the server ends. The error has the end of its log.
    pub async fn until_ready<F, Looked>(&mut self, mut look: F) -> Result<()>
    where
        F: FnMut() -> Looked + Send,
        Looked: Future<Output = Result<()>> + Send,
    {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let refused = match tokio::time::timeout_at(deadline, look()).await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(error)) => format!("{error:#}"),
                Err(_) => "no answer".to_owned(),
            };
            self.check()?;
            if tokio::time::Instant::now() >= deadline {
                bail!("{} takes no connections ({refused}): {}", self.name, self.log());
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Waits until it takes TCP connections on an address, host:port.
    ///
    /// # Errors
    /// As [`Guarded::until_ready`].
    pub async fn until_listening(&mut self, address: &str) -> Result<()> {
        let look = || async move {
            tokio::net::TcpStream::connect(address).await.map(drop).context("connecting")
        };
        self.until_ready(look).await
    }

    /// Stops it with SIGTERM, and with SIGKILL when it still runs a minute later.
    ///
    /// # Errors
    /// When it had ended by itself before.
    pub fn stop(mut self) -> Result<()> {
        self.check()?;
        self.end();
        Ok(())
    }

    /// Whether it still runs.
    fn check(&mut self) -> Result<()> {
        if let Some(status) = self.child.try_wait().context("looking after a server")? {
            bail!("{} ended ({status}): {}", self.name, self.log());
        }
        Ok(())
    }

    fn end(&mut self) {
        // The guard goes first: from here on only this function ends the server.
        drop(self.guard.take());
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        let Ok(pid) = i32::try_from(self.child.id()) else { return };
        let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(LOOK_WHETHER_ENDED);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// The end of its log.
    fn log(&self) -> String {
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        last_lines(&String::from_utf8_lossy(&bytes))
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.end();
    }
}

/// The last lines of a text, joined.
pub fn last_lines(text: &str) -> String {
    let lines = text.lines().rev().filter(|line| !line.trim().is_empty());
    let lines: Vec<&str> = lines.take(LINES_TOLD).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, folder: &Path) -> Guarded {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Guarded::start("a server", command, &folder.join("log"), None).unwrap()
    }

    #[tokio::test]
    async fn a_server_that_ends_while_it_starts_is_told_with_the_end_of_its_log() {
        let folder = tempfile::tempdir().unwrap();
        let mut server = shell("echo no such option >&2; exit 3", folder.path());
        let refuse = || async { bail!("refused") };
        let error = server.until_ready(refuse).await.unwrap_err().to_string();
        assert!(error.contains("a server ended") && error.contains("no such option"), "{error}");
        assert!(server.stop().is_err());
    }

    #[tokio::test]
    async fn a_server_is_gone_when_it_was_stopped_or_dropped() {
        let folder = tempfile::tempdir().unwrap();
        for stops in [true, false] {
            let mut server = shell("exec sleep 600", folder.path());
            let pid = server.pid();
            server.until_ready(|| async { Ok(()) }).await.unwrap();
            assert!(Path::new(&format!("/proc/{pid}")).exists());
            match stops {
                true => server.stop().unwrap(),
                false => drop(server),
            }
            assert!(!Path::new(&format!("/proc/{pid}")).exists());
        }
    }

    #[test]
    fn the_last_lines_are_those_that_say_something() {
        assert_eq!(last_lines("a\nb\n\nc\nd\ne\nf\n"), "b; c; d; e; f");
        assert_eq!(last_lines(""), "");
    }
}
