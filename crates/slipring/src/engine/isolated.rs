//! Calls of a store that is at fault, in tasks that have to go on.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use crate::error::Error;

use super::administration::unanswered;

/// Waits for a call; one that panics is a call that failed, and ends nothing else.
pub(super) async fn isolated<T>(call: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let mut call = pin!(call);
    poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(context)));
        polled.unwrap_or_else(|_| Poll::Ready(Err(unanswered())))
    })
    .await
}
