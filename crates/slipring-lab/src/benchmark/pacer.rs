//! The load: lines `ENQUEUE n` for each replica that is up, by the time that has passed.

use std::io::Write;
use std::process::ChildStdin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use parking_lot::Mutex;

/// Between two lines.
const EVERY: Duration = Duration::from_millis(25);

/// Orders jobs from a thread of its own, until it is dropped.
pub struct Pacer(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// Bits of the jobs per second of each replica.
    rate: AtomicU64,
    /// The replicas that are up, by their number.
    inputs: Mutex<Vec<(usize, Input)>>,
    over: AtomicBool,
}

struct Input {
    stdin: ChildStdin,
    /// The part of a job that is due.
    credit: f64,
}

impl Pacer {
    /// Orders nothing yet.
    ///
    /// # Errors
    /// When the thread does not start.
    pub fn start() -> Result<Pacer> {
        let shared = Arc::new(Shared::default());
        let pacing = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("pacer".to_owned());
        thread.spawn(move || pacing.pace()).context("starting the pacer")?;
        Ok(Pacer(shared))
    }

    /// So many jobs per second are ordered from each replica from now on.
    pub fn offer(&self, rate: f64) {
        self.0.rate.store(rate.to_bits(), Ordering::SeqCst);
    }

    /// A replica is up.
    pub fn connect(&self, replica: usize, stdin: ChildStdin) {
        self.disconnect(replica);
        self.0.inputs.lock().push((replica, Input { stdin, credit: 0.0 }));
    }

    /// A replica is down, or is to end: nothing more is ordered from it.
    pub fn disconnect(&self, replica: usize) {
        self.0.inputs.lock().retain(|(number, _)| *number != replica);
    }
}

impl Drop for Pacer {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::SeqCst);
    }
}

impl Shared {
    fn pace(&self) {
        let mut since = Instant::now();
        while !self.over.load(Ordering::SeqCst) {
            std::thread::sleep(EVERY);
            let rate = f64::from_bits(self.rate.load(Ordering::SeqCst));
            let elapsed = since.elapsed();
            since += elapsed;
            // What has ended takes nothing; the turn notices that by itself.
            self.inputs.lock().retain_mut(|(_, input)| input.order(rate, elapsed).is_ok());
        }
    }
}

impl Input {
    /// Orders what is due after so much time.
    fn order(&mut self, rate: f64, elapsed: Duration) -> std::io::Result<()> {
        self.credit += rate * elapsed.as_secs_f64();
        let due = self.credit.floor();
        self.credit -= due;
        if due < 1.0 {
            return Ok(());
        }
        writeln!(self.stdin, "ENQUEUE {due}")?;
        self.stdin.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn each_replica_that_is_up_gets_its_orders() {
        let mut cat = Command::new("cat");
        let mut replica = cat.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let pacer = Pacer::start().unwrap();
        pacer.connect(0, replica.stdin.take().unwrap());
        pacer.offer(1000.0);
        let mut lines = BufReader::new(replica.stdout.take().unwrap()).lines();
        let mut ordered = 0;
        while ordered < 100 {
            let line = lines.next().unwrap().unwrap();
            ordered += line.strip_prefix("ENQUEUE ").unwrap().parse::<u64>().unwrap();
        }
        pacer.disconnect(0);
        assert!(replica.wait().unwrap().success());
    }
}
