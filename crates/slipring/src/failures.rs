//! Why deliveries of a message failed: the last few failures, each with what its holder said.
//!
//! A message that failed without a reason keeps nothing: only from the first reason on are its
//! failures kept, also those without one (S6.8).

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::clock::Timestamp;
use crate::lifecycle::Settlement;

/// Most failures that are kept of a message: the last ones.
pub const FAILURES_MAX: usize = 5;
/// Longest reason in bytes; a longer one is cut.
pub const REASON_BYTES_MAX: usize = 4096;

/// Stands at the end of a reason that was cut.
const CUT: char = '…';

/// Why a delivery failed, in its holder's words: at most [`REASON_BYTES_MAX`] bytes without NUL.
#[derive(Clone, PartialEq, Eq)]
pub struct Reason(Arc<str>);

impl Reason {
    /// A reason of any text: a longer one is cut between two characters and ends with `…`, and
    /// NUL characters become U+FFFD.
    pub fn new(text: &str) -> Reason {
        // More characters than bytes may be kept show that there is more.
        let chars = text.chars().take(REASON_BYTES_MAX + 1);
        let mut kept: String =
            chars.map(|c| if c == '\0' { char::REPLACEMENT_CHARACTER } else { c }).collect();
        if kept.len() > REASON_BYTES_MAX {
            let mut end = REASON_BYTES_MAX - CUT.len_utf8();
            while !kept.is_char_boundary(end) {
                end -= 1;
            }
            kept.truncate(end);
            kept.push(CUT);
        }
        Reason(Arc::from(kept))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Reason {
    fn from(text: &str) -> Reason {
        Reason::new(text)
    }
}

impl fmt::Debug for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Reason, D::Error> {
        String::deserialize(deserializer).map(|text| Reason::new(&text))
    }
}

impl Settlement {
    /// A failed delivery: again by the queue's backoff.
    pub const NACK: Settlement = Settlement::Nack { delay: None, priority: None, reason: None };

    /// Why the delivery failed, where its holder says so.
    pub fn reason(&self) -> Option<&Reason> {
        match self {
            Settlement::Nack { reason, .. } | Settlement::DeadLetter { reason } => reason.as_ref(),
            _ => None,
        }
    }
}

/// What ended a delivery that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// Its holder gave it back.
    Nack,
    /// Its lease ended by its deadline, or with the connection or process that held it.
    Lapse,
    /// Its holder parked it.
    Park,
    /// Its holder gave it up.
    DeadLetter,
}

impl EndedBy {
    /// The name used in JSON, SQL and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            EndedBy::Nack => "nack",
            EndedBy::Lapse => "lapse",
            EndedBy::Park => "park",
            EndedBy::DeadLetter => "dead_letter",
        }
    }

    /// What a settlement ends a delivery by, if it is a failure.
    pub fn settlement(how: &Settlement) -> Option<EndedBy> {
        match how {
            Settlement::Ack | Settlement::HandBack => None,
            Settlement::Nack { .. } => Some(EndedBy::Nack),
            Settlement::Park { .. } => Some(EndedBy::Park),
            Settlement::DeadLetter { .. } => Some(EndedBy::DeadLetter),
        }
    }
}

/// A delivery that failed. The JSON form is what stores keep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedAttempt {
    /// Which delivery it was in the queue where it failed: 1 is the first.
    pub attempt: u32,
    /// When it ended.
    #[serde(rename = "at_ms")]
    pub at: Timestamp,
    /// What ended it.
    pub ended_by: EndedBy,
    /// What its holder said; `None` where it said nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

/// Adds a failure to those that are kept of a message: one without a reason only where there are
/// others already.
pub fn keep(kept: &mut Vec<FailedAttempt>, failed: FailedAttempt) {
    if kept.is_empty() && failed.reason.is_none() {
        return;
    }
    kept.push(failed);
    let over = kept.len().saturating_sub(FAILURES_MAX);
    kept.drain(..over);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_reason_is_cut_between_two_characters() {
        // S6.8
        let fits = "x".repeat(REASON_BYTES_MAX);
        assert_eq!(Reason::new(&fits).as_str(), fits);
        for (long, kept) in [("x".repeat(5000), 4093), ("ü".repeat(2049), 4092)] {
            let cut = Reason::new(&long);
            assert_eq!(cut.as_str().len(), kept + CUT.len_utf8());
            assert!(cut.as_str().ends_with(CUT) && long.starts_with(&cut.as_str()[..kept]));
        }
        // What NUL becomes is longer.
        let longer = Reason::new(&"\0".repeat(1400));
        assert!(longer.as_str().len() <= REASON_BYTES_MAX && longer.as_str().ends_with(CUT));
        assert_eq!(Reason::new("a\0b").as_str(), "a\u{fffd}b");
        assert_eq!(Reason::new("").as_str(), "");
    }

    #[test]
    fn the_last_failures_are_kept_from_the_first_reason_on() {
        // S6.8
        let failed = |attempt, reason: Option<&str>| FailedAttempt {
            attempt,
            at: Timestamp::from_millis(7),
            ended_by: EndedBy::Lapse,
            reason: reason.map(Reason::new),
        };
        let mut kept = Vec::new();
        keep(&mut kept, failed(1, None));
        assert!(kept.is_empty());
        for attempt in 2..=8 {
            keep(&mut kept, failed(attempt, (attempt == 2).then_some("broken")));
        }
        assert_eq!(kept.iter().map(|one| one.attempt).collect::<Vec<_>>(), [4, 5, 6, 7, 8]);
        let text = serde_json::to_string(&failed(3, Some("no"))).unwrap();
        assert_eq!(text, r#"{"attempt":3,"at_ms":7,"ended_by":"lapse","reason":"no"}"#);
        assert_eq!(serde_json::from_str::<FailedAttempt>(&text).unwrap(), failed(3, Some("no")));
    }
}
