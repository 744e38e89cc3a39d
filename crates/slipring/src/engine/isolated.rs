//! Calls of a store that is at fault: their callers are answered, and tasks go on.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use crate::error::{Error, ErrorKind, Retry};

/// The error of a call that has ended by a fault, which may have taken effect before.
pub(super) fn unanswered() -> Error {
    Error::new(ErrorKind::Internal, "the call ended without an answer").with_retry(Retry::Unknown)
}

/// Waits for a call; one that panics is a call of which nobody knows what it did, and ends nothing
/// else.
pub(super) async fn isolated<T>(call: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let mut call = pin!(call);
    poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(context)));
        polled.unwrap_or_else(|_| Poll::Ready(Err(unanswered())))
    })
    .await
}
