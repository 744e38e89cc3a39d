//! Failures of commands as log lines, and how lines that could become many are kept few.

use std::sync::atomic::{AtomicU64, Ordering};

use slipring::{Error, Timestamp};

/// Lets one line a second pass.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    /// Before this moment nothing passes.
    quiet_until_ms: AtomicU64,
    left_out: AtomicU64,
}

impl Throttle {
    /// Whether a line may be written now, and how many were not since the last one.
    pub(crate) fn pass(&self, now: Timestamp) -> Option<u64> {
        let quiet_until = self.quiet_until_ms.load(Ordering::Relaxed);
        let now = now.as_millis();
        let mine = now >= quiet_until
            && self
                .quiet_until_ms
                .compare_exchange(quiet_until, now + 1000, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if mine {
            return Some(self.left_out.swap(0, Ordering::Relaxed));
        }
        self.left_out.fetch_add(1, Ordering::Relaxed);
        None
    }
}

/// Logs failures, at most one line a second: a full disk must not fill the log too.
#[derive(Debug)]
pub(crate) struct FailureLog {
    /// Whose failures.
    protocol: &'static str,
    throttle: Throttle,
}

impl FailureLog {
    /// A log of failures under this protocol.
    pub(crate) fn of(protocol: &'static str) -> FailureLog {
        FailureLog { protocol, throttle: Throttle::default() }
    }

    /// Logs the failure of a command, unless one was logged just now.
    pub(crate) fn note(&self, error: &Error, now: Timestamp) {
        let Some(left_out) = self.throttle.pass(now) else { return };
        // A field without a value is not written.
        let left_out = (left_out > 0).then_some(left_out);
        tracing::warn!(%error, left_out, protocol = self.protocol, "a command failed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_second_passes_and_says_how_many_did_not() {
        let throttle = Throttle::default();
        let at = |ms: u64| throttle.pass(Timestamp::from_millis(ms));
        assert_eq!(at(1_000), Some(0));
        assert_eq!((at(1_000), at(1_999)), (None, None));
        assert_eq!((at(2_000), at(2_500), at(9_000)), (Some(2), None, Some(1)));
    }
}
