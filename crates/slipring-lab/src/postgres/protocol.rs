//! What the lab and a driver say to each other, one JSON object per line: a driver is a process
//! that loads one target, in whatever language the target's library is written.
//!
//! ```text
//!   driver                         lab
//!   {"ready": …}        ─────▶               its schema is made, its connections are open
//!                       ◀─────  {"work": …}  any number of times
//!   {"window": …}       ─────▶               while it works, where the work has windows
//!   {"done": …}         ─────▶               or {"failed": "…"}
//!                       ◀─────  end of input: the driver ends
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::stats::{Latencies, Percentiles};
use crate::targets::Wait;

/// What a driver says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// It can be given work.
    Ready(Ready),
    /// One window of the work is over.
    Window(Window),
    /// The work is over.
    Done(Answer),
    /// The work failed, or an answer was wrong.
    Failed(String),
}

/// Who answers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ready {
    /// The version of the target.
    pub version: String,
    /// By which calls and settings it is driven: its own recommended fast path.
    pub how: String,
}

/// What a driver is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Callers send batches as fast as they can.
    Send,
    /// Everything that is sent is received and acked, as fast as it goes.
    Cycle,
    /// A fixed rate, in windows.
    Paced,
    /// As before, but one batch in ten fails and comes again a little later.
    Failing,
    /// Good messages beside some that are given back at once, over and over.
    Poison,
    /// Single sends, each in a transaction of its own of a user.
    Transactions,
    /// As before, each transaction also writing a row of the user's.
    Business,
    /// Single messages now and then wake a receive that waits.
    Wake,
    /// As before, but the message is sent by SQL.
    WakeBySql,
    /// Messages sent with the same pauses, and nobody receives.
    Commits,
    /// Makes many queues; what follows works on some of them.
    MakeQueues,
    /// Cycles on a few queues, a caller each.
    Queues,
    /// A waiting receive on each of a few queues, and nothing happens.
    Idle,
}

/// One piece of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// What to do.
    pub work: Work,
    /// How many callers (connections, workers) at a time.
    pub callers: usize,
    /// Messages in one call.
    pub batch: usize,
    /// Measured seconds, or seconds of a window.
    pub seconds: f64,
    /// Seconds before, not measured.
    pub warmup: f64,
    /// How many windows.
    pub windows: usize,
    /// Messages per second of a fixed rate.
    pub rate: f64,
    /// Queues that exist.
    pub queues: usize,
    /// Messages that always fail.
    #[serde(default)]
    pub poisons: usize,
    /// Receive everything at the end and check that nothing is missing.
    pub drain: bool,
}

/// What was seen within one window of a fixed rate.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Window {
    /// Its length.
    pub seconds: f64,
    /// Messages sent.
    pub sent: u64,
    /// Messages received and acked.
    pub received: u64,
    /// Latency from the due time to the receive.
    pub end_to_end: Spread,
}

/// What the work came to.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Answer {
    /// Messages in the measured time.
    pub messages: u64,
    /// The measured time.
    pub seconds: f64,
    /// Messages sent in all, warm-up and draining included.
    pub sent: u64,
    /// Messages received in all, duplicates included.
    pub received: u64,
    /// Messages received that had been received before.
    pub duplicates: u64,
    /// Messages sent that never came, where everything was waited for.
    pub missing: u64,
    /// Latencies by name; the first is that of the table.
    pub latencies: BTreeMap<String, Spread>,
    /// Further figures by name, with their unit in the name.
    #[serde(default)]
    pub figures: BTreeMap<String, f64>,
    /// The target's own wait table, where it has one.
    #[serde(default)]
    pub waits: Vec<Wait>,
}

impl Answer {
    /// Messages per second of the measured time.
    pub fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.messages as f64 / self.seconds } else { 0.0 }
    }
}

/// Latencies: as percentiles, or as pairs of a latency in microseconds and how many there were.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Spread {
    /// Counted already.
    Percentiles(Percentiles),
    /// A histogram.
    Buckets(Vec<(f64, u64)>),
}

impl Default for Spread {
    fn default() -> Spread {
        Spread::Buckets(Vec::new())
    }
}

impl Spread {
    /// The percentiles.
    pub fn percentiles(&self) -> Percentiles {
        match self {
            Spread::Percentiles(percentiles) => *percentiles,
            Spread::Buckets(buckets) => {
                let Ok(mut latencies) = Latencies::new() else { return Percentiles::default() };
                for (us, count) in buckets {
                    latencies.add_many((us * 1000.0) as u64, *count);
                }
                latencies.percentiles()
            }
        }
    }
}

impl From<&Latencies> for Spread {
    fn from(latencies: &Latencies) -> Spread {
        Spread::Buckets(latencies.buckets())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_as_other_languages_write_them() {
        let text = r#"{"done":{"messages":3,"seconds":1.5,"sent":4,"received":4,"duplicates":0,
            "missing":0,"latencies":{"cycle":[[1000.0,2],[8000.0,1]]}}}"#;
        let Line::Done(answer) = serde_json::from_str(text).unwrap() else { panic!("{text}") };
        assert_eq!(answer.rate(), 2.0);
        let percentiles = answer.latencies["cycle"].percentiles();
        assert_eq!(percentiles.count, 3);
        assert!((percentiles.p99_us / 8000.0 - 1.0).abs() < 0.02, "{percentiles:?}");
        let failed = serde_json::to_string(&Line::Failed("why".into())).unwrap();
        assert_eq!(failed, r#"{"failed":"why"}"#);
    }

    #[test]
    fn a_histogram_says_the_same_after_its_way_through_a_line() {
        let mut latencies = Latencies::new().unwrap();
        (1..=1000).for_each(|us| latencies.add(us * 1000));
        let text = serde_json::to_string(&Spread::from(&latencies)).unwrap();
        let back: Spread = serde_json::from_str(&text).unwrap();
        let (before, after) = (latencies.percentiles(), back.percentiles());
        assert_eq!(before.count, after.count);
        assert!((after.p99_us / before.p99_us - 1.0).abs() < 0.02, "{before:?} {after:?}");
    }
}
