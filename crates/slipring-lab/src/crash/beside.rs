//! Second processes on the file of a running server, or of one that was just killed: `slipring
//! send --store`, one after the other, until they are told to stop.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};

use super::dice::Dice;
use super::history::{Kind, Operation, Recorder, Sending};
use super::payload;
use super::queues::STANDARD;
use crate::targets::server;

/// Its number within the history, and as a session.
const PROCESS: u64 = 1;
/// Between two of them, at most.
const PAUSE_MS: u64 = 400;
const BODY_BYTES: usize = 2000;

/// The thread that starts them.
pub struct Beside {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<Outcome>>,
}

/// What became of them.
#[derive(Debug, Default)]
pub struct Outcome {
    /// How many were started.
    pub started: u64,
    /// Why some of them failed.
    pub failures: Vec<String>,
}

impl Beside {
    /// Begins on a store by its address.
    ///
    /// # Errors
    /// When the history cannot be made.
    pub fn start(store: &str, seed: u64, history: &Path) -> Result<Beside> {
        let stop = Arc::new(AtomicBool::new(false));
        let run = Run {
            program: server::binary()?,
            store: store.to_owned(),
            seed,
            recorder: Recorder::create(history)?,
            stop: Arc::clone(&stop),
        };
        Ok(Beside { stop, thread: std::thread::spawn(|| run.until_stopped()) })
    }

    /// Waits for the last one.
    ///
    /// # Errors
    /// When the history cannot be written or the program cannot be run.
    pub fn finish(self) -> Result<Outcome> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| anyhow!("the thread beside the servers panicked"))?
    }
}

struct Run {
    program: PathBuf,
    store: String,
    seed: u64,
    recorder: Recorder,
    stop: Arc<AtomicBool>,
}

impl Run {
    fn until_stopped(mut self) -> Result<Outcome> {
        let dice = Dice::new(self.seed, PROCESS);
        let mut outcome = Outcome::default();
        while !self.stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(dice.below(PAUSE_MS)));
            outcome.started += 1;
            let failure = self.send(outcome.started)?;
            outcome.failures.extend(failure);
        }
        self.recorder.flush()?;
        Ok(outcome)
    }

    /// Sends one message; answers why it failed. An error says that nothing was stored (S2.2).
    fn send(&mut self, number: u64) -> Result<Option<String>> {
        let body = payload::name(self.seed, PROCESS, number, BODY_BYTES);
        let mut message = Sending { body: body.clone(), ..Sending::default() };
        let operation = |message: &Sending| Operation::Send {
            queue: STANDARD.name.into(),
            messages: vec![message.clone()],
        };
        self.recorder.write(PROCESS, Kind::Invoke, operation(&message))?;
        let mut command = Command::new(&self.program);
        command.args(["send", "--store", &self.store, STANDARD.name, &payload::written(&body)]);
        let output = command.stdin(Stdio::null()).output().context("running slipring send")?;
        if output.status.success() {
            message.id = Some(String::from_utf8_lossy(&output.stdout).trim().to_owned());
            self.recorder.write(PROCESS, Kind::Ok, operation(&message))?;
            return Ok(None);
        }
        self.recorder.write(PROCESS, Kind::Fail, operation(&message))?;
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Ok(Some(format!("slipring send ({}): {reason}", output.status)))
    }
}
