//! Lines of JSON on stdout: the descriptor, then one for each metric of a tick. A thread writes
//! them, so that a reader that has stopped does not hold up the adapter.

use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

/// Lines that wait to be written; those of many ticks fit.
const LINES_MAX: usize = 10_000;

/// A metric of one tick.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// Its value, in the unit of its name.
    pub value: f64,
    /// Seconds that it is about; 0 for a state of now.
    pub window_s: f64,
}

/// The line of a metric, with the names of the contract.
#[derive(Debug, Serialize)]
struct Line<'a> {
    t: String,
    system: &'a str,
    kind: &'static str,
    subject_kind: &'static str,
    subject: &'static str,
    metric: &'static str,
    value: f64,
    window_s: f64,
    instance_id: u64,
}

/// What is said once, in the beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Descriptor {
    /// Always `descriptor`.
    pub kind: &'static str,
    /// The system's name.
    pub system: &'static str,
    /// The number of this replica.
    pub instance_id: u64,
    /// All tables with rows of jobs or of their states.
    pub event_tables: Vec<String>,
    /// Indexes that are worth a look.
    pub event_indexes: Vec<String>,
    /// Extensions that it needs.
    pub extensions: Vec<String>,
    /// The version of the program.
    pub version: &'static str,
    /// The version of the schema in the database.
    pub schema_version: String,
    /// The name of the database.
    pub db_name: String,
    /// When it was started.
    pub started_at: String,
}

/// A moment of the wall clock in milliseconds since 1970 as the contract writes it.
pub fn time_text(unix_ms: u64) -> String {
    let moment = UNIX_EPOCH + Duration::from_millis(unix_ms);
    humantime::format_rfc3339_millis(moment).to_string()
}

/// Microseconds of the wall clock since 1970.
pub fn wall_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// The line of one metric.
///
/// # Errors
/// None in practice; JSON has no way to write a value that is no number.
pub fn line(tick_ms: u64, system: &str, instance: u64, metric: Metric) -> Result<String> {
    let line = Line {
        t: time_text(tick_ms),
        system,
        kind: "adapter",
        subject_kind: "adapter",
        subject: "",
        metric: metric.name,
        value: metric.value,
        window_s: metric.window_s,
        instance_id: instance,
    };
    serde_json::to_string(&line).context("writing a line of telemetry")
}

/// The writer of lines.
#[derive(Debug)]
pub struct Telemetry {
    lines: SyncSender<String>,
    ended: Receiver<std::io::Result<()>>,
}

/// Takes lines to be written. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Lines(SyncSender<String>);

impl Lines {
    /// Gives a line to be written; answers whether there was room for it.
    pub fn say(&self, line: String) -> bool {
        self.0.try_send(line).is_ok()
    }
}

impl Telemetry {
    /// Writes to `out` until this ends, or `out` fails, which cancels `stop`.
    ///
    /// # Errors
    /// When the thread does not start.
    pub fn to(out: impl Write + Send + 'static, stop: CancellationToken) -> Result<Telemetry> {
        let (lines, waiting) = sync_channel(LINES_MAX);
        let (end, ended) = sync_channel(1);
        let write = move || {
            let written = write_all(out, &waiting);
            if written.is_err() {
                stop.cancel();
            }
            // Where the other end is gone, the run is over.
            let _ = end.send(written);
        };
        let thread = std::thread::Builder::new().name("telemetry".to_owned());
        thread.spawn(write).context("starting the writer of telemetry")?;
        Ok(Telemetry { lines, ended })
    }

    /// Where lines are given to be written. The writer ends when all of these are gone.
    pub fn lines(&self) -> Lines {
        Lines(self.lines.clone())
    }

    /// Waits until all is written, at most so long.
    ///
    /// # Errors
    /// When the output failed, or does not take the rest in time.
    pub fn end(self, limit: Duration) -> Result<()> {
        drop(self.lines);
        let written = self.ended.recv_timeout(limit);
        let written = written.with_context(|| format!("stdout took nothing for {limit:?}"))?;
        written.context("writing telemetry to stdout")
    }
}

fn write_all(mut out: impl Write, waiting: &Receiver<String>) -> std::io::Result<()> {
    while let Ok(line) = waiting.recv() {
        writeln!(out, "{line}")?;
        while let Ok(line) = waiting.try_recv() {
            writeln!(out, "{line}")?;
        }
        out.flush()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_that_of_the_contract() {
        let metric = Metric { name: "claim_p99_ms", value: 4.25, window_s: 30.0 };
        let line = line(1_776_416_410_000, "slipring", 2, metric).unwrap();
        assert_eq!(
            line,
            "{\"t\":\"2026-04-17T09:00:10.000Z\",\"system\":\"slipring\",\"kind\":\"adapter\",\
             \"subject_kind\":\"adapter\",\"subject\":\"\",\"metric\":\"claim_p99_ms\",\
             \"value\":4.25,\"window_s\":30.0,\"instance_id\":2}"
        );
    }

    #[test]
    fn an_output_that_is_closed_ends_the_run() {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let stop = CancellationToken::new();
        let telemetry = Telemetry::to(writer, stop.clone()).unwrap();
        assert!(telemetry.lines().say("a line".to_owned()));
        assert!(telemetry.end(Duration::from_secs(10)).is_err());
        assert!(stop.is_cancelled());
    }

    #[test]
    fn an_output_that_is_not_read_holds_up_the_end_for_the_limit_only() {
        let (reader, writer) = std::io::pipe().unwrap();
        let telemetry = Telemetry::to(writer, CancellationToken::new()).unwrap();
        assert!(telemetry.lines().say("x".repeat(1 << 20)));
        let error = telemetry.end(Duration::from_millis(50)).unwrap_err();
        assert!(error.to_string().contains("took nothing"), "{error}");
        drop(reader);
    }
}
