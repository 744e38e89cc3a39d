//! What the engine refuses or cannot do, as replies.

use slipring::{Error, ErrorKind, Retry};
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
