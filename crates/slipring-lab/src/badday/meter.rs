//! What the others see within each window: rate, latency, and the longest stall.

use serde::{Deserialize, Serialize};

use anyhow::Result;

use super::phase::Phase;
use crate::stats::Latencies;
use crate::workloads::Gaps;

/// What was seen within one window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// When it began, in seconds after the calm phase began.
    pub at_s: f64,
    /// Its length in seconds.
    pub seconds: f64,
    /// What went on beside it.
    pub phase: Phase,
    /// Messages sent.
    pub sent: u64,
    /// Messages received and acked.
    pub received: u64,
    /// 99 of 100 messages came within so many milliseconds of their due time.
    pub p99_ms: f64,
    /// The longest operation that ended in the window, from its due time, in milliseconds.
    pub longest_ms: f64,
    /// The longest time in which one of the queues had no send, or no receive, that ended, in
    /// milliseconds. One that began before the window is counted whole.
    pub stall_ms: f64,
    /// Queues of which nothing was received.
    #[serde(default)]
    pub silent: u64,
}

impl Window {
    /// Messages received in a second.
    pub fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.received as f64 / self.seconds } else { 0.0 }
    }
}

/// The window that is now running.
pub struct Meter {
    start_ns: u64,
    begun_ns: u64,
    phase: Phase,
    sent: u64,
    received: u64,
    longest_ns: u64,
    latencies: Latencies,
    /// Of each queue, whether anything was received.
    heard: Vec<bool>,
    /// Of each queue: sends, receives.
    gaps: Vec<[Gaps; 2]>,
}

impl Meter {
    /// Of so many queues.
    ///
    /// # Errors
    /// None in practice; the histogram checks its precision.
    pub fn new(now_ns: u64, queues: usize) -> Result<Meter> {
        Ok(Meter {
            start_ns: now_ns,
            begun_ns: now_ns,
            phase: Phase::Calm,
            sent: 0,
            received: 0,
            longest_ns: 0,
            latencies: Latencies::new()?,
            heard: vec![false; queues],
            gaps: vec![[Gaps::from(now_ns); 2]; queues],
        })
    }

    /// Messages to a queue were sent that had been due at a moment.
    pub fn sent(&mut self, queue: usize, count: usize, due_ns: u64, now_ns: u64) {
        self.sent += count as u64;
        self.ended(queue, 0, due_ns, now_ns);
    }

    /// A message of a queue was received and acked.
    pub fn received(&mut self, queue: usize, due_ns: u64, now_ns: u64) {
        self.received += 1;
        self.latencies.add(now_ns.saturating_sub(due_ns));
        if let Some(heard) = self.heard.get_mut(queue) {
            *heard = true;
        }
        self.ended(queue, 1, due_ns, now_ns);
    }

    fn ended(&mut self, queue: usize, which: usize, due_ns: u64, now_ns: u64) {
        self.longest_ns = self.longest_ns.max(now_ns.saturating_sub(due_ns));
        if let Some(gaps) = self.gaps.get_mut(queue).and_then(|gaps| gaps.get_mut(which)) {
            gaps.completed(now_ns);
        }
    }

    /// Begins the next window in `phase`; answers what was seen in this one. A window of which a
    /// part was in the fault phase is one of that phase.
    ///
    /// # Errors
    /// As [`Meter::new`].
    pub fn next_window(&mut self, phase: Phase, now_ns: u64) -> Result<Window> {
        let stall_ns = self.gaps.iter().flatten().map(|gaps| gaps.max_ns(now_ns)).max();
        let ms = |ns: u64| ns as f64 / 1e6;
        let during = if phase == Phase::Fault { phase } else { self.phase };
        let window = Window {
            at_s: self.begun_ns.saturating_sub(self.start_ns) as f64 / 1e9,
            seconds: now_ns.saturating_sub(self.begun_ns) as f64 / 1e9,
            phase: during,
            sent: self.sent,
            received: self.received,
            p99_ms: self.latencies.percentiles().p99_us / 1e3,
            longest_ms: ms(self.longest_ns),
            stall_ms: ms(stall_ns.unwrap_or(0)),
            silent: self.heard.iter().filter(|heard| !**heard).count() as u64,
        };
        let gaps: Vec<_> = self.gaps.iter().map(|both| both.map(Gaps::next)).collect();
        let start_ns = self.start_ns;
        *self = Meter { start_ns, phase, ..Meter::new(now_ns, gaps.len())? };
        self.gaps = gaps;
        Ok(window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_queue_that_stalls_is_seen_beside_one_that_goes_on() {
        let mut meter = Meter::new(0, 2).unwrap();
        for ms in (10..=1000).step_by(10) {
            meter.sent(0, 1, ms * MS, ms * MS);
            meter.received(0, ms * MS, ms * MS);
        }
        meter.sent(1, 1, 0, 10 * MS);
        let window = meter.next_window(Phase::Fault, 1000 * MS).unwrap();
        assert_eq!((window.sent, window.received, window.rate()), (101, 100, 100.0));
        // The receives of the second queue.
        assert_eq!((window.stall_ms, window.silent), (1000.0, 1));
        assert_eq!((window.phase, window.longest_ms), (Phase::Fault, 10.0));
        meter.received(1, 0, 1500 * MS);
        let window = meter.next_window(Phase::Recovery, 1501 * MS).unwrap();
        assert_eq!((window.stall_ms, window.longest_ms), (1500.0, 1500.0));
        assert_eq!((window.at_s, window.phase, window.silent), (1.0, Phase::Fault, 1));
    }
}
