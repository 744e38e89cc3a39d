//! What the engine refuses or cannot do, as replies and as log lines.

use std::sync::atomic::{AtomicU64, Ordering};

use slipring::{Error, ErrorKind, Retry, Timestamp};
use slipring_wire::beanstalkd::Reply;

/// The reply for an error of the engine. `OUT_OF_MEMORY` is the protocol's word for "not now, try
/// again later".
pub(super) fn reply_for(error: &Error) -> Reply {
    let limit = || error.context().iter().find(|(key, _)| *key == "limit");
    match error.kind() {
        ErrorKind::MessageGone | ErrorKind::WrongState | ErrorKind::LeaseLost => Reply::NotFound,
        ErrorKind::LimitExceeded => match limit() {
            Some((_, name)) if name == "message_bytes_max" => Reply::JobTooBig,
            _ => Reply::OutOfMemory,
        },
        _ if error.retry() == Retry::Later => Reply::OutOfMemory,
        _ => Reply::InternalError,
    }
}

/// Whether the error is the message's state and not a failure.
pub(super) fn is_no_such_job(error: &Error) -> bool {
    reply_for(error) == Reply::NotFound
}

/// Logs failures, at most one line a second: a full disk must not fill the log too.
#[derive(Debug, Default)]
pub(super) struct FailureLog {
    /// Before this moment nothing more is logged.
    quiet_until_ms: AtomicU64,
    silenced: AtomicU64,
}

impl FailureLog {
    pub(super) fn note(&self, error: &Error, now: Timestamp) {
        let quiet_until = self.quiet_until_ms.load(Ordering::Relaxed);
        let now = now.as_millis();
        let mine = now >= quiet_until
            && self
                .quiet_until_ms
                .compare_exchange(quiet_until, now + 1000, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if mine {
            let silenced = self.silenced.swap(0, Ordering::Relaxed);
            tracing::warn!(%error, silenced, "a beanstalkd command failed");
        } else {
            self.silenced.fetch_add(1, Ordering::Relaxed);
        }
    }
}
