//! Failures of commands as log lines.

use std::sync::atomic::{AtomicU64, Ordering};

use slipring::{Error, Timestamp};

/// Logs failures, at most one line a second: a full disk must not fill the log too.
#[derive(Debug)]
pub(crate) struct FailureLog {
    /// Whose failures.
    protocol: &'static str,
    /// Before this moment nothing more is logged.
    quiet_until_ms: AtomicU64,
    silenced: AtomicU64,
}

impl FailureLog {
    /// A log of failures under this protocol.
    pub(crate) fn of(protocol: &'static str) -> FailureLog {
        FailureLog { protocol, quiet_until_ms: AtomicU64::new(0), silenced: AtomicU64::new(0) }
    }

    /// Logs the failure of a command, unless one was logged just now.
    pub(crate) fn note(&self, error: &Error, now: Timestamp) {
        let quiet_until = self.quiet_until_ms.load(Ordering::Relaxed);
        let now = now.as_millis();
        let mine = now >= quiet_until
            && self
                .quiet_until_ms
                .compare_exchange(quiet_until, now + 1000, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if mine {
            let silenced = self.silenced.swap(0, Ordering::Relaxed);
            tracing::warn!(%error, silenced, protocol = self.protocol, "a command failed");
        } else {
            self.silenced.fetch_add(1, Ordering::Relaxed);
        }
    }
}
