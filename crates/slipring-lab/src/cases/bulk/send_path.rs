//! The same load through the engine over the SQLite store: callers send calls of as many records as
//! an extent has, durably, and the engine's own wait table says what was taken how often.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use nix::time::{ClockId, clock_gettime};

use crate::ledger::Ledger;
use crate::targets::{Caller, Kind, Store, Target, Wait};
use crate::workloads::closed_loop::{self, Load, Step, Until};
use crate::workloads::{Settings, Work, temporary_folder};

/// What a run of the send path took.
#[derive(Debug, Clone)]
pub struct Sent {
    /// Callers at a time.
    pub callers: usize,
    /// Messages in a call.
    pub batch: usize,
    /// Messages sent.
    pub messages: u64,
    /// Until the last was answered.
    pub seconds: f64,
    /// Processor time of the thread that writes, in nanoseconds.
    pub writer_cpu_ns: f64,
    /// Processor time of the whole process, in nanoseconds.
    pub cpu_ns: f64,
    /// The engine's wait table.
    pub waits: Vec<Wait>,
}

impl Sent {
    /// Messages per second.
    pub fn rate(&self) -> f64 {
        self.messages as f64 / self.seconds
    }

    /// Calls that were made.
    pub fn calls(&self) -> f64 {
        self.messages as f64 / self.batch as f64
    }

    /// A figure of a class of the wait table; not a number where there is no such class.
    pub fn of_class(&self, name: &str, figure: fn(&Wait) -> u64) -> f64 {
        let class = self.waits.iter().find(|wait| wait.name == name);
        class.map_or(f64::NAN, |wait| figure(wait) as f64)
    }
}

/// Sends so many messages by callers that each make one call after another.
///
/// # Errors
/// When the store fails, or holds in the end what was not sent.
pub fn run(callers: usize, batch: usize, messages: u64) -> Result<Sent> {
    let settings = Settings { callers, batch, ..Settings::new(Work::Send, Kind::Store) };
    crate::driver::serve::runtime(Kind::Store)?.block_on(send(&settings, messages))
}

async fn send(settings: &Settings, messages: u64) -> Result<Sent> {
    let folder = temporary_folder()?;
    let target = Store::start(settings, folder.path()).await?;
    let ledger = Arc::new(Ledger::new(0, messages + (settings.callers * settings.batch) as u64));
    let load = Load {
        callers: settings.callers,
        batch: settings.batch,
        step: Step::Send,
        until: Until::Sent(messages),
    };
    // The queue is made before the clock starts.
    let mut counter = target.caller("send").await?;
    let (before, writer_before) = (process_cpu_ns()?, writer_cpu_ns()?);
    let begun = Instant::now();
    closed_loop::run(load, &target, "send", &ledger).await?;
    let seconds = begun.elapsed().as_secs_f64();
    let (after, writer_after) = (process_cpu_ns()?, writer_cpu_ns()?);
    let (sent, held) = (ledger.checks().sent, counter.count().await?);
    drop(counter);
    let waits = target.stop().await?;
    ensure!(held == Some(sent), "{sent} messages were sent, and the queue holds {held:?}");
    Ok(Sent {
        callers: settings.callers,
        batch: settings.batch,
        messages: sent,
        seconds,
        writer_cpu_ns: writer_after - writer_before,
        cpu_ns: after - before,
        waits,
    })
}

fn process_cpu_ns() -> Result<f64> {
    let time = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).context("processor time")?;
    Ok(time.tv_sec() as f64 * 1e9 + time.tv_nsec() as f64)
}

/// Processor time of the store's writing thread so far.
fn writer_cpu_ns() -> Result<f64> {
    const WRITER: &str = "slipring-write";
    let (mut total, mut found) = (0.0, false);
    for task in std::fs::read_dir("/proc/self/task").context("listing threads")? {
        let task = task.context("listing threads")?.path();
        let read = |name: &str| std::fs::read_to_string(task.join(name));
        // A thread that has ended meanwhile is none of the writer's.
        let (Ok(name), Ok(ran)) = (read("comm"), read("schedstat")) else { continue };
        if name.trim() == WRITER {
            found = true;
            let ns = ran.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok());
            total += ns.context("the kernel does not say what a thread has used")?;
        }
    }
    ensure!(found, "the store has no thread named {WRITER}");
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_is_in_the_queue_and_what_it_took_is_counted() {
        let sent = run(3, 100, 3000).unwrap();
        assert_eq!(sent.messages, 3000);
        assert!(sent.writer_cpu_ns > 0.0 && sent.cpu_ns > sent.writer_cpu_ns);
        let commits = sent.of_class("sqlite.commit", |class| class.acquisitions);
        assert!((1.0..=60.0).contains(&commits), "{:?}", sent.waits);
        assert!(sent.of_class("send_turn", |class| class.acquisitions) >= 0.0, "{:?}", sent.waits);
        assert!(sent.of_class("no such class", |class| class.acquisitions).is_nan());
    }
}
