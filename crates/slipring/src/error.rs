//! The one error type at the store wall and above it: what went wrong, where, and whether to try
//! again.

use std::fmt;
use std::sync::Arc;

/// What kind of thing went wrong. Callers match on this; the text is for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The named queue does not exist (any more).
    QueueNotFound,
    /// A queue of that name exists with other settings.
    QueueExists,
    /// The message has left the queue: acked, purged, cancelled, expired or moved.
    MessageGone,
    /// The receipt's fence is not the newest one, or its lease is over.
    LeaseLost,
    /// The text is not a receipt of this store: forged, altered, or of another queue.
    ReceiptInvalid,
    /// A limit would be passed; the context names limit, value and queue.
    LimitExceeded,
    /// An argument is outside its range.
    Invalid,
    /// The state of the message does not allow the operation.
    WrongState,
    /// The store has no room left.
    StorageFull,
    /// The stored data is damaged.
    StorageCorrupt,
    /// The load is not there (any more).
    LoadGone,
    /// The stored data was written by a newer version of the program.
    StorageTooNew,
    /// The store cannot be reached or is locked by another process at the moment.
    StorageUnavailable,
    /// The engine or store has been shut down.
    Closed,
    /// The store lacks the capability.
    Unsupported,
    /// A fault of the program itself.
    Internal,
}

impl ErrorKind {
    /// Every kind.
    pub const ALL: [ErrorKind; 16] = [
        ErrorKind::QueueNotFound,
        ErrorKind::QueueExists,
        ErrorKind::MessageGone,
        ErrorKind::LeaseLost,
        ErrorKind::ReceiptInvalid,
        ErrorKind::LimitExceeded,
        ErrorKind::Invalid,
        ErrorKind::WrongState,
        ErrorKind::StorageFull,
        ErrorKind::StorageCorrupt,
        ErrorKind::StorageTooNew,
        ErrorKind::LoadGone,
        ErrorKind::StorageUnavailable,
        ErrorKind::Closed,
        ErrorKind::Unsupported,
        ErrorKind::Internal,
    ];

    /// The stable name used in logs, JSON and `docs/semantics.md`, e.g. `lease_lost`.
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::QueueNotFound => "queue_not_found",
            ErrorKind::QueueExists => "queue_exists",
            ErrorKind::MessageGone => "message_gone",
            ErrorKind::LeaseLost => "lease_lost",
            ErrorKind::ReceiptInvalid => "receipt_invalid",
            ErrorKind::LimitExceeded => "limit_exceeded",
            ErrorKind::Invalid => "invalid",
            ErrorKind::WrongState => "wrong_state",
            ErrorKind::StorageFull => "storage_full",
            ErrorKind::StorageCorrupt => "storage_corrupt",
            ErrorKind::StorageTooNew => "storage_too_new",
            ErrorKind::LoadGone => "load_gone",
            ErrorKind::StorageUnavailable => "storage_unavailable",
            ErrorKind::Closed => "closed",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::Internal => "internal",
        }
    }

    fn default_retry(self) -> Retry {
        match self {
            ErrorKind::StorageFull | ErrorKind::StorageUnavailable => Retry::Later,
            _ => Retry::Never,
        }
    }
}

/// Whether the same call may be tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Retry {
    /// The same call will fail again.
    Never,
    /// Nothing was stored; the same call may succeed later.
    Later,
    /// It is not known whether the call took effect.
    Unknown,
}

/// An error of a store or of the engine. Cheap to clone: a combined call gives it to every caller.
#[derive(Debug, Clone)]
pub struct Error(Arc<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    kind: ErrorKind,
    retry: Retry,
    operation: &'static str,
    message: String,
    context: Vec<(&'static str, String)>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error of `kind` with a sentence for people; `retry` follows the kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error(Arc::new(Inner {
            kind,
            retry: kind.default_retry(),
            operation: "",
            message: message.into(),
            context: Vec::new(),
            source: None,
        }))
    }

    /// A limit that would be passed: names the limit, its value and what was asked.
    pub fn limit(limit: &'static str, limit_value: u64, asked: u64) -> Error {
        Error::new(
            ErrorKind::LimitExceeded,
            format!("{limit} is {limit_value}, but {asked} was asked for"),
        )
        .with("limit", limit)
        .with("limit_value", limit_value)
        .with("asked", asked)
    }

    /// The error for a queue that is not there.
    pub fn queue_not_found(name: impl fmt::Display) -> Error {
        Error::new(ErrorKind::QueueNotFound, format!("queue {name:#} does not exist"))
            .with("queue", name)
    }

    /// The error for calls after shutdown.
    pub fn closed() -> Error {
        Error::new(ErrorKind::Closed, "the engine is shutting down")
    }

    /// The same error with one more fact about it.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl fmt::Display) -> Error {
        Arc::make_mut(&mut self.0).context.push((key, value.to_string()));
        self
    }

    /// The same error, naming the operation that failed.
    #[must_use]
    pub fn during(mut self, operation: &'static str) -> Error {
        Arc::make_mut(&mut self.0).operation = operation;
        self
    }

    /// The same error with another answer to "may I retry?".
    #[must_use]
    pub fn with_retry(mut self, retry: Retry) -> Error {
        Arc::make_mut(&mut self.0).retry = retry;
        self
    }

    /// The same error with the lower-level error that caused it.
    #[must_use]
    pub fn caused_by(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Error {
        Arc::make_mut(&mut self.0).source = Some(Arc::new(source));
        self
    }

    /// What kind of error this is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether the same call may be tried again.
    pub fn retry(&self) -> Retry {
        self.0.retry
    }

    /// The operation that failed, empty when unknown.
    pub fn operation(&self) -> &'static str {
        self.0.operation
    }

    /// The sentence for people, without operation and context.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The facts attached to the error, in the order they were added.
    pub fn context(&self) -> &[(&'static str, String)] {
        &self.0.context
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.operation.is_empty() {
            write!(f, "{}: ", self.0.operation)?;
        }
        f.write_str(&self.0.message)?;
        for (i, (key, value)) in self.0.context.iter().enumerate() {
            write!(f, "{}{key}={value}", if i == 0 { " (" } else { ", " })?;
        }
        if !self.0.context.is_empty() {
            f.write_str(")")?;
        }
        if let Some(source) = &self.0.source {
            write!(f, ": {source}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|s| s.as_ref() as &(dyn std::error::Error + 'static))
    }
}
