//! One process of an adapter, as a harness runs it.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use parking_lot::Mutex;

use super::record::Record;
use super::telemetry::{Descriptor, Line, parse};
use crate::process::Usage;

/// For the descriptor.
const START_MAX: Duration = Duration::from_secs(60);
/// What has not ended then is killed. The contract asks for 5 s.
const END_MAX: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A process. Dropping it kills it; it also ends by itself when nobody reads what it says.
pub struct Adapter {
    child: Child,
    errors: PathBuf,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exit {
    /// Seconds from SIGTERM to its end; infinite where it had to be killed.
    pub seconds: f64,
    /// Whether its exit code was 0.
    pub well: bool,
}

impl Adapter {
    /// Starts one, and waits for its descriptor. What it says goes to `record` under its `number`,
    /// what it logs to the file `errors`.
    ///
    /// # Errors
    /// When it does not start, or ends or says nothing within a minute.
    pub async fn start(
        mut command: Command,
        number: usize,
        record: &Arc<Mutex<Record>>,
        errors: &Path,
    ) -> Result<(Adapter, ChildStdin, Descriptor)> {
        let log = std::fs::File::create(errors).context("making the log of an adapter")?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        // A group of its own: Ctrl-C is for the lab, which then ends it.
        let mut child = command.process_group(0).spawn().context("starting an adapter")?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let mut adapter = Adapter { child, errors: errors.to_owned() };
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else { bail!("an adapter has no pipes") };
        let (described, descriptor) = channel();
        let record = Arc::clone(record);
        let thread = std::thread::Builder::new().name("telemetry".to_owned());
        let read = thread.spawn(move || read(stdout, number, &record, &described));
        read.context("starting the reader of an adapter")?;
        let deadline = Instant::now() + START_MAX;
        loop {
            match descriptor.try_recv() {
                Ok(descriptor) => return Ok((adapter, stdin, descriptor)),
                Err(TryRecvError::Empty) if Instant::now() < deadline => {
                    tokio::time::sleep(LOOK_EVERY).await;
                }
                Err(TryRecvError::Empty) => bail!("an adapter said nothing for {START_MAX:?}"),
                Err(TryRecvError::Disconnected) => {
                    let status = adapter.child.wait().context("waiting for an adapter")?;
                    bail!("an adapter ended at its start ({status}): {}", adapter.last_words());
                }
            }
        }
    }

    /// How it has ended, where it has.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait().context("looking at an adapter")
    }

    /// What it logged last, on one line.
    pub fn last_words(&self) -> String {
        let text = std::fs::read_to_string(&self.errors).unwrap_or_default();
        let last: Vec<&str> = text.lines().rev().take(3).collect();
        last.into_iter().rev().collect::<Vec<_>>().join("; ")
    }

    /// Its processor time in seconds; 0 where it has ended.
    pub fn cpu_seconds(&self) -> f64 {
        Usage::of(self.child.id()).map_or(0.0, |usage| usage.cpu_seconds)
    }

    /// SIGKILL, and waits for its end.
    ///
    /// # Errors
    /// When it had ended by itself.
    pub fn kill(&mut self) -> Result<()> {
        if let Some(status) = self.ended()? {
            bail!("an adapter ended by itself ({status}): {}", self.last_words());
        }
        self.child.kill().context("killing an adapter")?;
        self.child.wait().context("waiting for a killed adapter")?;
        Ok(())
    }

    /// SIGTERM, and waits for its end; SIGKILL when that takes too long.
    ///
    /// # Errors
    /// When it had ended by itself.
    pub async fn terminate(&mut self) -> Result<Exit> {
        if let Some(status) = self.ended()? {
            bail!("an adapter ended by itself ({status}): {}", self.last_words());
        }
        let pid = i32::try_from(self.child.id()).context("a process id beyond 2^31")?;
        let begun = Instant::now();
        kill(Pid::from_raw(pid), Signal::SIGTERM).context("sending SIGTERM to an adapter")?;
        while begun.elapsed() < END_MAX {
            if let Some(status) = self.ended()? {
                let seconds = begun.elapsed().as_secs_f64();
                return Ok(Exit { seconds, well: status.success() });
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        self.kill()?;
        Ok(Exit { seconds: f64::INFINITY, well: false })
    }
}

impl Drop for Adapter {
    fn drop(&mut self) {
        // One that has ended already needs no signal.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads until the process ends.
fn read(
    stdout: ChildStdout,
    number: usize,
    record: &Mutex<Record>,
    described: &Sender<Descriptor>,
) {
    for line in BufReader::new(stdout).lines().map_while(std::io::Result::ok) {
        match parse(&line) {
            Ok(Line::Sample(sample)) => record.lock().add(number, sample),
            // After the first there is nobody who waits for one.
            Ok(Line::Descriptor(descriptor)) => drop(described.send(descriptor)),
            Err(_) => record.lock().bad_lines += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::phase::Phase;
    use super::super::record::Span;
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    async fn started(script: &str) -> Result<(Adapter, ChildStdin, Arc<Mutex<Record>>)> {
        let folder = tempfile::tempdir().unwrap();
        let record = Arc::new(Mutex::new(Record::default()));
        let errors = folder.path().join("errors");
        let (adapter, stdin, descriptor) =
            Adapter::start(shell(script), 0, &record, &errors).await?;
        assert_eq!(descriptor.event_tables, ["a.b"]);
        Ok((adapter, stdin, record))
    }

    const DESCRIPTOR: &str = r#"{"kind":"descriptor","system":"x","event_tables":["a.b"]}"#;
    const METRIC: &str =
        r#"{"kind":"adapter","t":"1970-01-01T00:00:01Z","metric":"m","value":7,"window_s":1}"#;

    #[tokio::test]
    async fn what_it_says_is_recorded_and_how_it_ends_is_told() {
        let script = format!(
            "trap 'exit 3' TERM; echo '{DESCRIPTOR}'; echo '{METRIC}'; echo nonsense; read -r end"
        );
        let (mut adapter, _stdin, record) = started(&script).await.unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        while record.lock().bad_lines == 0 {
            assert!(Instant::now() < deadline);
            tokio::task::yield_now().await;
        }
        record.lock().spans.push(Span { phase: Phase::Clean, from_ms: 0, to_ms: 1000 });
        assert_eq!(record.lock().rate(Phase::Clean, "m"), 7.0);
        let exit = adapter.terminate().await.unwrap();
        assert!(!exit.well && exit.seconds < 20.0, "{exit:?}");
        assert!(adapter.terminate().await.is_err());
    }

    #[tokio::test]
    async fn one_that_ends_at_its_start_is_told_with_its_last_words() {
        let error = started("echo 'no database' >&2; exit 2").await.err().unwrap().to_string();
        assert!(error.contains("no database"), "{error}");
    }
}
