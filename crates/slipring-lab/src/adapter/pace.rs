//! How many jobs are due: by the harness's lines, by the time that has passed, or by the depth.

use std::io::BufRead;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::sync::Notify;

use super::log::Log;
use super::tally::Counts;

/// The harness's orders, as they arrive.
#[derive(Debug, Default)]
pub struct Orders {
    due: AtomicU64,
    ended: AtomicBool,
    arrived: Notify,
}

impl Orders {
    /// Reads the lines of `input` on a thread of its own, which ends with them.
    ///
    /// # Errors
    /// When the thread does not start.
    pub fn read(input: impl BufRead + Send + 'static, log: Arc<Log>) -> Result<Arc<Orders>> {
        let orders = Arc::new(Orders::default());
        let told = Arc::clone(&orders);
        let read = move || {
            for line in input.lines().map_while(std::io::Result::ok) {
                match ordered(&line) {
                    Some(jobs) => told.add(jobs),
                    None if line.trim().is_empty() => {}
                    None => log.note(&format!("not an order: {line:?}; one is ENQUEUE 25")),
                }
            }
            told.ended.store(true, Ordering::SeqCst);
            told.arrived.notify_one();
        };
        let thread = std::thread::Builder::new().name("orders".to_owned());
        thread.spawn(read).context("starting the reader of stdin")?;
        Ok(orders)
    }

    fn add(&self, jobs: u64) {
        self.due.fetch_add(jobs, Ordering::SeqCst);
        self.arrived.notify_one();
    }

    /// Waits for orders; answers how many jobs are due, or nothing when no more can come.
    pub async fn next(&self) -> Option<u64> {
        loop {
            // Looked at first, so that the last orders are seen.
            let ended = self.ended.load(Ordering::SeqCst);
            let due = self.due.swap(0, Ordering::SeqCst);
            if due > 0 {
                return Some(due);
            }
            if ended {
                return None;
            }
            self.arrived.notified().await;
        }
    }
}

/// How many jobs a line orders; nothing where it is no order.
fn ordered(line: &str) -> Option<u64> {
    let jobs = line.trim().strip_prefix("ENQUEUE")?;
    jobs.starts_with(char::is_whitespace).then(|| jobs.trim().parse().ok())?
}

/// Jobs that are due by the time that has passed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Credit(f64);

impl Credit {
    /// So much time has passed at a rate; answers how many whole jobs are due, and keeps the rest.
    pub fn earn(&mut self, rate: f64, elapsed: Duration) -> u64 {
        self.0 += rate * elapsed.as_secs_f64();
        let whole = self.0.floor();
        self.0 -= whole;
        whole as u64
    }
}

/// The rate of now: the one given at the start, or what the control file holds.
#[derive(Debug, Clone)]
pub struct Rate {
    /// What was last read.
    now: f64,
    file: Option<PathBuf>,
}

impl Rate {
    /// A rate, and the file that may change it.
    pub fn new(rate: f64, file: Option<PathBuf>) -> Rate {
        Rate { now: rate, file }
    }

    /// Reads the file again; what is no rate, or is being written, leaves the rate as it was.
    pub fn now(&mut self) -> f64 {
        let text = self.file.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
        let read = text.and_then(|text| text.trim().parse::<f64>().ok());
        if let Some(rate) = read.filter(|rate| rate.is_finite() && *rate >= 0.0) {
            self.now = rate;
        }
        self.now
    }
}

/// How many jobs are missing for a depth: since `then`, when so many were ready, this process has
/// inserted some and begun some.
pub fn missing(target: u64, ready: u64, then: Counts, now: Counts) -> u64 {
    let ready = (ready + (now.enqueued - then.enqueued)).saturating_sub(now.started - then.started);
    target.saturating_sub(ready)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_a_word_and_a_number() {
        assert_eq!(ordered("ENQUEUE 25"), Some(25));
        assert_eq!(ordered("  ENQUEUE   7 \r"), Some(7));
        for wrong in ["ENQUEUE", "ENQUEUE25", "ENQUEUE -1", "ENQUEUE 1.5", "enqueue 1", "QUIT"] {
            assert_eq!(ordered(wrong), None, "{wrong}");
        }
    }

    #[tokio::test]
    async fn orders_add_up_and_the_end_is_told_after_the_last() {
        let input = std::io::Cursor::new("ENQUEUE 3\nnonsense\n\nENQUEUE 4\n");
        let orders = Orders::read(input, Arc::new(Log::default())).unwrap();
        let mut due = 0;
        while let Some(jobs) = orders.next().await {
            due += jobs;
        }
        assert_eq!(due, 7);
    }

    #[test]
    fn credit_is_by_elapsed_time_and_loses_no_fraction() {
        let mut credit = Credit::default();
        let due: u64 = (0..40).map(|_| credit.earn(100.0, Duration::from_millis(26))).sum();
        assert_eq!(due, 104);
        assert_eq!(credit.earn(1000.0, Duration::from_secs(3)), 3000);
        assert_eq!(credit.earn(0.0, Duration::from_secs(3)), 0);
    }

    #[test]
    fn the_control_file_is_read_again_and_nonsense_in_it_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rate");
        let mut rate = Rate::new(800.0, Some(file.clone()));
        assert_eq!(rate.now(), 800.0);
        for (text, expected) in [("1200\n", 1200.0), ("", 1200.0), ("-1", 1200.0), ("0.5", 0.5)] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(rate.now(), expected, "{text:?}");
        }
        std::fs::remove_file(&file).unwrap();
        assert_eq!(rate.now(), 0.5);
    }

    #[test]
    fn what_was_inserted_and_begun_since_the_look_counts_for_the_depth() {
        let then = Counts { enqueued: 100, started: 50, ..Counts::default() };
        let now = Counts { enqueued: 130, started: 60, ..Counts::default() };
        assert_eq!(missing(1000, 900, then, now), 80);
        assert_eq!(missing(10, 900, then, now), 0);
        // Others have inserted what was begun here.
        let now = Counts { enqueued: 100, started: 200, ..Counts::default() };
        assert_eq!(missing(10, 0, then, now), 10);
    }
}
