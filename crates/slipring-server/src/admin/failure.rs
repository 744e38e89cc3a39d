//! What went wrong, as JSON and a status.

use std::collections::BTreeMap;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use slipring::{Error, ErrorKind, Retry};

/// An error of the admin API as its clients see it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Failure {
    /// The stable name, such as `queue_not_found`.
    pub kind: String,
    /// A sentence for people.
    pub message: String,
    /// The operation that failed; empty when there was none.
    pub operation: String,
    /// Facts, such as the limit that was passed.
    pub context: BTreeMap<String, String>,
    /// Whether the same call may be tried again.
    pub retry: MayRetry,
    /// The HTTP status; not part of the body.
    #[serde(skip)]
    pub status: u16,
    /// The engine's error behind it, for the log; not part of the body.
    #[serde(skip)]
    cause: Option<Error>,
}

/// Whether the same call may be tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MayRetry {
    /// It will fail again.
    Never,
    /// Nothing was stored; it may succeed later.
    Later,
    /// It is not known whether it took effect.
    Unknown,
}

impl Failure {
    /// A failure that no engine was asked for.
    pub(super) fn new(status: StatusCode, kind: &str, message: impl Into<String>) -> Failure {
        Failure {
            kind: kind.to_owned(),
            message: message.into(),
            operation: String::new(),
            context: BTreeMap::new(),
            retry: MayRetry::Never,
            status: status.as_u16(),
            cause: None,
        }
    }

    /// A request that makes no sense.
    pub(super) fn invalid(message: impl Into<String>) -> Failure {
        Failure::new(StatusCode::BAD_REQUEST, "invalid", message)
    }

    /// There is no room for the request at the moment.
    pub(super) fn busy(message: String) -> Failure {
        let busy = Failure::new(StatusCode::SERVICE_UNAVAILABLE, "limit_exceeded", message);
        Failure { retry: MayRetry::Later, ..busy }
    }

    /// The store cannot serve: whatever is wrong, to a probe the server is not ready.
    pub(super) fn not_ready(error: Error) -> Failure {
        let status = StatusCode::SERVICE_UNAVAILABLE.as_u16();
        Failure { status, ..Failure::from(error) }
    }

    /// The server is about to end; the same call may be made of its successor.
    pub(super) fn stopping() -> Failure {
        Failure::from(Error::closed().with_retry(Retry::Later))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let context = error.context().iter();
        let retry = match error.retry() {
            Retry::Never => MayRetry::Never,
            Retry::Later => MayRetry::Later,
            Retry::Unknown => MayRetry::Unknown,
        };
        let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
        Failure {
            kind: error.kind().name().to_owned(),
            message: format!("{}{}", error.message(), source.unwrap_or_default()),
            operation: error.operation().to_owned(),
            context: context.map(|(key, value)| ((*key).to_owned(), value.clone())).collect(),
            retry,
            status: status(error.kind()).as_u16(),
            cause: Some(error),
        }
    }
}

/// Whether an error tells of a trouble of the server, not of the call.
pub(super) fn is_servers(kind: ErrorKind) -> bool {
    status(kind).is_server_error() && kind != ErrorKind::Closed && kind != ErrorKind::Unsupported
}

/// The engine's error behind a response, for whoever keeps the log.
#[derive(Debug, Clone)]
pub(super) struct Cause(pub(super) Error);

/// The name of the failure that a response tells of, for whoever counts and whoever keeps the log.
#[derive(Debug, Clone)]
pub(super) struct Kind(pub(super) String);

/// The names of failures that are no engine's error.
pub(super) const OWN_KINDS: [&str; 5] =
    ["forbidden", "method_not_allowed", "not_found", "timeout", "unauthorized"];

/// The status of an engine's error.
fn status(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::QueueNotFound | ErrorKind::MessageGone => StatusCode::NOT_FOUND,
        ErrorKind::QueueExists | ErrorKind::LeaseLost | ErrorKind::WrongState => {
            StatusCode::CONFLICT
        }
        ErrorKind::ReceiptInvalid | ErrorKind::Invalid => StatusCode::BAD_REQUEST,
        ErrorKind::LimitExceeded => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorKind::StorageFull => StatusCode::INSUFFICIENT_STORAGE,
        ErrorKind::StorageUnavailable | ErrorKind::Closed => StatusCode::SERVICE_UNAVAILABLE,
        ErrorKind::Unsupported => StatusCode::NOT_IMPLEMENTED,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let (cause, kind) = (self.cause.clone(), Kind(self.kind.clone()));
        let mut response = (status, Json(self)).into_response();
        response.extensions_mut().insert(kind);
        if let Some(cause) = cause {
            response.extensions_mut().insert(Cause(cause));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engines_error_keeps_its_facts_and_gets_a_status_that_says_whose_it_is() {
        let full = Error::new(ErrorKind::StorageFull, "no room").with("file", "a.db");
        let failure = Failure::from(full.during("send"));
        assert_eq!((failure.status, failure.kind.as_str()), (507, "storage_full"));
        assert_eq!((failure.retry, failure.operation.as_str()), (MayRetry::Later, "send"));
        assert_eq!(failure.context["file"], "a.db");
        for (kind, expected, servers) in [
            (ErrorKind::Invalid, 400, false),
            (ErrorKind::LeaseLost, 409, false),
            (ErrorKind::LimitExceeded, 422, false),
            (ErrorKind::StorageCorrupt, 500, true),
            (ErrorKind::StorageUnavailable, 503, true),
            (ErrorKind::Closed, 503, false),
            (ErrorKind::Unsupported, 501, false),
        ] {
            assert_eq!((status(kind).as_u16(), is_servers(kind)), (expected, servers), "{kind:?}");
        }
    }
}
