//! Short words for what cases say often: messages, durations, settings, refusals.

use std::time::Duration;

use bytes::Bytes;
use slipring::lifecycle::Settlement;
use slipring::{Delivery, Error, ErrorKind, NewMessage, Priority, QueueSettings};

/// What can be sent: a text, bytes, or a whole [`NewMessage`].
pub trait Sendable {
    /// The message.
    fn message(self) -> NewMessage;
}

impl Sendable for NewMessage {
    fn message(self) -> NewMessage {
        self
    }
}

impl Sendable for &str {
    fn message(self) -> NewMessage {
        NewMessage::new(Bytes::copy_from_slice(self.as_bytes()))
    }
}

impl Sendable for String {
    fn message(self) -> NewMessage {
        NewMessage::new(self)
    }
}

/// A message with a text, to be built on.
pub fn m(body: &str) -> NewMessage {
    body.message()
}

/// So many seconds.
pub const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// So many milliseconds.
pub const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Default settings with changes.
pub fn settings(change: impl FnOnce(&mut QueueSettings)) -> QueueSettings {
    let mut settings = QueueSettings::default();
    change(&mut settings);
    settings
}

/// The texts of deliveries, in order.
pub fn bodies(deliveries: &[Delivery]) -> Vec<String> {
    deliveries.iter().map(|delivery| text(&delivery.message.body)).collect()
}

pub(crate) fn text(body: &Bytes) -> String {
    String::from_utf8_lossy(body).into_owned()
}

/// A nack that waits by the queue's backoff.
pub const NACK: Settlement = Settlement::Nack { delay: None, priority: None, reason: None };

/// Asserts that a call was refused, and how.
#[track_caller]
pub fn refused<T: std::fmt::Debug>(answer: Result<T, Error>, kind: ErrorKind) -> Error {
    match answer {
        Err(error) if error.kind() == kind => error,
        other => panic!("expected the error {}, but got {other:?}", kind.name()),
    }
}

/// A priority.
pub const fn p(priority: u32) -> Priority {
    Priority(priority)
}
