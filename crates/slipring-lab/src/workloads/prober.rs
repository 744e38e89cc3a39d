//! A slow caller on a schedule: due times are computed, not slept, and latency counts from them.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::closed_loop::PATIENCE;
use crate::body::{self, Content};
use crate::ledger::Ledger;
use crate::stats::Latencies;
use crate::targets::Caller;
use crate::time::monotonic_ns;

/// A start so much after its due time counts as late.
pub const LATE_NS: u64 = 1_000_000;

/// What a prober saw.
pub struct Probed {
    /// From the due time to the answered ack.
    pub from_due: Latencies,
    /// From the actual start to the answered ack: what a closed loop would report.
    pub from_start: Latencies,
    /// Starts more than [`LATE_NS`] after their due time.
    pub late: u64,
}

impl Probed {
    /// Nothing yet.
    pub fn new() -> Result<Probed> {
        Ok(Probed { from_due: Latencies::new()?, from_start: Latencies::new()?, late: 0 })
    }
}

/// Due times from a moment on, so many a second. What fell due while a message was under way is
/// still to come.
pub struct Schedule {
    start_ns: u64,
    rate: f64,
    next: u64,
}

impl Schedule {
    /// One that begins now.
    pub fn from_now(rate: f64) -> Schedule {
        Schedule { start_ns: monotonic_ns(), rate, next: 0 }
    }

    /// The due time of the next message.
    pub fn next_ns(&self) -> u64 {
        self.start_ns + (self.next as f64 / self.rate * 1e9) as u64
    }

    fn take_ns(&mut self) -> u64 {
        let due_ns = self.next_ns();
        self.next += 1;
        due_ns
    }
}

/// Sends, receives and acks one message at each due time, `rate` times a second, for `length`.
pub async fn probe<C: Caller>(
    caller: &mut C,
    rate: f64,
    length: Duration,
    ledger: &Ledger,
    probed: &mut Probed,
) -> Result<()> {
    let mut schedule = Schedule::from_now(rate);
    let end_ns = schedule.next_ns() + length.as_nanos() as u64;
    for _ in 0..(rate * length.as_secs_f64()) as u64 {
        probe_next(caller, &mut schedule, ledger, probed).await?;
    }
    wait_until(end_ns).await;
    Ok(())
}

/// Sends, receives and acks the next message of a schedule when it is due.
pub async fn probe_next<C: Caller>(
    caller: &mut C,
    schedule: &mut Schedule,
    ledger: &Ledger,
    probed: &mut Probed,
) -> Result<()> {
    let due_ns = schedule.take_ns();
    wait_until(due_ns).await;
    let begun_ns = monotonic_ns();
    probed.late += u64::from(begun_ns > due_ns + LATE_NS);
    let number = ledger.take(1)?;
    caller.send(&[body::write(Content { number, due_ns })]).await?;
    let mut note = |body: &[u8]| ledger.note(body::read(body)?.number);
    if caller.receive(1, PATIENCE, &mut note).await? == 0 {
        bail!("a receive got nothing from a queue that held a message");
    }
    caller.ack().await?;
    let now_ns = monotonic_ns();
    probed.from_due.add(now_ns - due_ns);
    probed.from_start.add(now_ns - begun_ns);
    Ok(())
}

/// As [`probe`], by a thread and a runtime of the prober's own: a runtime that it shared with the
/// load would let it wait for a worker, which says nothing of the queue.
pub async fn probe_apart<C: Caller>(
    mut caller: C,
    rate: f64,
    length: Duration,
    ledger: Arc<Ledger>,
) -> Result<(C, Probed)> {
    let (done, answer) = tokio::sync::oneshot::channel();
    std::thread::Builder::new().name("prober".into()).spawn(move || {
        let probing = async {
            let mut probed = Probed::new()?;
            probe(&mut caller, rate, length, &ledger, &mut probed).await?;
            Ok(probed)
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let probed = runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(probing));
        // The other side is gone only when the run has failed already.
        let _ = done.send(probed.map(|probed| (caller, probed)));
    })?;
    answer.await.context("the prober panicked")?
}

/// Sleeps until a moment of the monotonic clock; returns at once when it has passed.
///
/// The runtime's timer has steps of 1 ms, longer than what is measured here; a thread's sleep is
/// good to some 50 µs.
pub async fn wait_until(due_ns: u64) {
    let now_ns = monotonic_ns();
    if due_ns > now_ns {
        let nap = Duration::from_nanos(due_ns - now_ns);
        // It fails only when the runtime ends, and then the wait is over as well.
        let _ = tokio::task::spawn_blocking(move || std::thread::sleep(nap)).await;
    }
}
