//! What the lab and a driver say to each other, one JSON object per line: a driver is a process
//! that loads one target, in whatever language the target's library is written.
//!
//! ```text
//!   driver                         lab
//!   {"ready": …}        ─────▶               its target is there, its schema is made
//!                       ◀─────  {"work": …}  the settings of a work, any number of times
//!   {"window": …}       ─────▶               while it works, where the work has windows
//!   {"done": …}         ─────▶               or {"failed": "…"}
//!                       ◀─────  end of input: the driver stops its target
//!   {"waits": […]}      ─────▶               where the target has a wait table; the driver ends
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ledger::Checks;
use crate::process::Usage;
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
    /// The target's own wait table, in the end.
    Waits(Vec<Wait>),
}

/// Who answers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ready {
    /// The version of the target.
    pub version: String,
    /// By which calls and settings it is driven: its own recommended fast path.
    pub how: String,
    /// What an acknowledged send has survived, where the driver says.
    #[serde(default)]
    pub durability: String,
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
    /// The longest time without the end of a send, or without that of a receive with messages, in
    /// milliseconds; one that began before this window is counted whole. Drivers of peers may not
    /// say.
    #[serde(default)]
    pub stall_max_ms: Option<f64>,
}

impl Window {
    /// With percentiles in place of the histogram.
    #[must_use]
    pub fn in_percentiles(self) -> Window {
        let end_to_end = Spread::Percentiles(self.end_to_end.percentiles());
        Window { end_to_end, ..self }
    }
}

/// What the work came to.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Answer {
    /// Messages (round trips for `ping_pong`) in the measured time.
    pub messages: u64,
    /// The measured time.
    pub seconds: f64,
    /// All messages, warm-up and draining included.
    #[serde(flatten)]
    pub checks: Checks,
    /// Latencies by name.
    pub latencies: BTreeMap<String, Spread>,
    /// Further figures by name, with their unit in the name.
    #[serde(default)]
    pub figures: BTreeMap<String, f64>,
    /// Memory and processor time of the driver: the load and, in-process, the target.
    #[serde(default)]
    pub load: Option<Usage>,
    /// Those of the target's process, where it is another.
    #[serde(default)]
    pub server: Option<Usage>,
}

impl Answer {
    /// So many messages in a measured time, with the counts of all.
    pub fn new(messages: u64, seconds: f64, checks: Checks) -> Answer {
        Answer { messages, seconds, checks, ..Answer::default() }
    }

    /// Adds latencies under a name.
    pub fn latency(&mut self, name: &str, latencies: &Latencies) {
        self.latencies.insert(name.to_owned(), Spread::from(latencies));
    }

    /// Messages per second of the measured time.
    pub fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.messages as f64 / self.seconds } else { 0.0 }
    }

    /// Why it is not to be believed.
    pub fn wrong(&self) -> Option<String> {
        let Checks { sent, missing, duplicates, early, .. } = self.checks;
        let counts = format!("of {sent} messages {missing} did not come, {duplicates} came twice");
        match early {
            0 => (missing > 0 || duplicates > 0).then_some(counts),
            _ => Some(format!("{counts}, {early} came before they were due")),
        }
    }

    /// With percentiles in place of histograms: for people, and shorter.
    #[must_use]
    pub fn in_percentiles(mut self) -> Answer {
        for spread in self.latencies.values_mut() {
            *spread = Spread::Percentiles(spread.percentiles());
        }
        self
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

    #[test]
    fn an_answer_in_which_a_message_came_before_it_was_due_is_wrong() {
        let of =
            |early| Answer::new(1, 1.0, Checks { sent: 1, early, ..Checks::default() }).wrong();
        assert_eq!(of(0), None);
        let wrong = "of 1 messages 0 did not come, 0 came twice, 2 came before they were due";
        assert_eq!(of(2).as_deref(), Some(wrong));
    }
}
