//! What goes wrong while the adapter goes on, on stderr: at most one line a second of each kind.

use std::collections::HashMap;
use std::fmt::Display;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Between two lines of one kind.
const EVERY: Duration = Duration::from_secs(1);

/// The log of one adapter.
#[derive(Debug, Default)]
pub struct Log(Mutex<HashMap<&'static str, Kind>>);

#[derive(Debug)]
struct Kind {
    said_at: Instant,
    left_out: u64,
}

impl Log {
    /// Says that something failed, unless the same was said within the last second.
    pub fn failed(&self, what: &'static str, error: &dyn Display) {
        if let Some(line) = self.line(what, error, Instant::now()) {
            self.note(&line);
        }
    }

    /// Says that something happened, unless the same was said within the last second.
    pub fn happened(&self, what: &'static str) {
        if let Some(more) = self.left_out(what, Instant::now()) {
            self.note(&format!("{what}{more}"));
        }
    }

    /// Says a sentence.
    pub fn note(&self, text: &str) {
        eprintln!("slipring-lab adapter: {text}");
    }

    fn line(&self, what: &'static str, error: &dyn Display, now: Instant) -> Option<String> {
        let more = self.left_out(what, now)?;
        Some(format!("{what} failed, trying again: {error:#}{more}"))
    }

    /// How many of a kind were left out, as words; nothing where this one is.
    fn left_out(&self, what: &'static str, now: Instant) -> Option<String> {
        let mut kinds = self.0.lock();
        let left_out = match kinds.get_mut(what) {
            Some(kind) if now.duration_since(kind.said_at) < EVERY => {
                kind.left_out += 1;
                return None;
            }
            Some(kind) => kind.left_out,
            None => 0,
        };
        kinds.insert(what, Kind { said_at: now, left_out: 0 });
        Some(if left_out > 0 { format!(" ({left_out} more since)") } else { String::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_said_once_a_second_with_the_number_that_was_left_out() {
        let (log, start) = (Log::default(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!(log.line("a send", &"x", at(0)).unwrap(), "a send failed, trying again: x");
        assert_eq!(log.line("a send", &"x", at(500)), None);
        assert!(log.line("an ack", &"x", at(500)).is_some());
        let later = log.line("a send", &"x", at(1000)).unwrap();
        assert_eq!(later, "a send failed, trying again: x (1 more since)");
    }
}
