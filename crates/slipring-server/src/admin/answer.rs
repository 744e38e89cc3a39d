//! Answers on their way out: each has room as long as any of it is not read, and what a call may
//! bring has room before it is fetched.

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::body::Body as _;
use serde::Serialize;
use slipring::{Error, ErrorKind};

use crate::budget::{FREE_BYTES, NoRoom, Room};

use super::Api;
use super::failure::Failure;

/// An answer above this size is written beside the threads that serve connections.
const LARGE_BYTES: usize = 256 << 10;

/// The middleware that gives an answer its room. An answer of unknown length is sent piece by piece
/// and needs none.
pub(super) async fn counted(State(api): State<Api>, request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let bytes = response.body().size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
    let Some(bytes) = bytes.filter(|bytes| *bytes > FREE_BYTES) else { return response };
    let room = match room(&api, bytes).await {
        Ok(room) => room,
        Err(failure) => return failure.into_response(),
    };
    let (parts, body) = response.into_parts();
    match to_bytes(body, bytes).await {
        Ok(body) => Response::from_parts(parts, Body::from(room.hold(body))),
        Err(error) => failed(error).into_response(),
    }
}

/// Room for an answer of so many bytes, or for what is fetched for it.
///
/// # Errors
/// `limit_exceeded` when answers that nobody reads take all of it for some time.
pub(super) async fn room(api: &Api, bytes: usize) -> Result<Room, Failure> {
    let mut room = api.leaving().room();
    match room.within(bytes, &**api.engine().clock(), api.stop()).await {
        Ok(()) => Ok(room),
        Err(NoRoom::Late) => {
            Err(Failure::busy("too many answers are not read by their clients".to_owned()))
        }
        Err(NoRoom::Stopping) => Err(Failure::stopping()),
    }
}

/// The answer to a call, whose messages have about so many bytes.
///
/// # Errors
/// `internal` when it cannot be written.
pub(super) async fn json<T: Serialize + Send + 'static>(
    value: T,
    bytes: usize,
) -> Result<Response, Failure> {
    let write = move || serde_json::to_vec(&value);
    let written = if bytes < LARGE_BYTES {
        write()
    } else {
        tokio::task::spawn_blocking(write).await.map_err(failed)?
    };
    let text = written.map_err(failed)?;
    Ok(([(CONTENT_TYPE, "application/json")], text).into_response())
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Error::new(ErrorKind::Internal, format!("the answer cannot be written: {error}")).into()
}
