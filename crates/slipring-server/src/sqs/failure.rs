//! What the engine refuses or cannot do, as errors of the protocol.

use slipring::{Error, ErrorKind, Retry};
use slipring_wire::sqs::{ErrorCode, SqsError};

/// The error for an error of the engine. SDKs repeat what was answered `ServiceUnavailable`; of a
/// call whose answer was lost its text says that it may have taken effect.
pub(super) fn error_for(error: &Error) -> SqsError {
    match error.kind() {
        ErrorKind::QueueNotFound => SqsError::no_queue(),
        ErrorKind::QueueExists => SqsError::new(
            ErrorCode::QueueNameExists,
            "A queue already exists with the same name and a different value for some attribute",
        ),
        ErrorKind::ReceiptInvalid => SqsError::bad_receipt(),
        ErrorKind::MessageGone | ErrorKind::LeaseLost | ErrorKind::WrongState => {
            SqsError::new(ErrorCode::MessageNotInflight, error.message())
        }
        ErrorKind::LimitExceeded => match limit_of(error) {
            "message_bytes_max" | "queue_attribute_bytes_max" | "duration_seconds_max" => {
                SqsError::invalid(error.message())
            }
            _ => SqsError::new(ErrorCode::OverLimit, error.message()),
        },
        ErrorKind::Invalid => SqsError::invalid(error.message()),
        ErrorKind::Unsupported => SqsError::new(ErrorCode::UnsupportedOperation, error.message()),
        ErrorKind::StorageFull | ErrorKind::StorageUnavailable | ErrorKind::Closed => {
            unavailable(error)
        }
        _ if error.retry() == Retry::Later => unavailable(error),
        _ => SqsError::new(
            ErrorCode::InternalFailure,
            "The request failed; the server's log says why.",
        ),
    }
}

fn unavailable(error: &Error) -> SqsError {
    let text = match error.retry() {
        Retry::Unknown => format!("{}; the request may have taken effect", error.message()),
        Retry::Later | Retry::Never => error.message().to_owned(),
    };
    SqsError::new(ErrorCode::ServiceUnavailable, text)
}

/// The limit that an error names, or nothing.
fn limit_of(error: &Error) -> &str {
    let limit = error.context().iter().find(|(key, _)| *key == "limit");
    limit.map_or("", |(_, name)| name.as_str())
}

/// Whether a receive was refused because too many messages are in flight.
pub(super) fn is_in_flight_limit(error: &Error) -> bool {
    error.kind() == ErrorKind::LimitExceeded && limit_of(error) == "in_flight_max"
}
