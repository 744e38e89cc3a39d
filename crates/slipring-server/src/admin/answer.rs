//! Answers on their way out: each has room as long as any of it is not read, and what a call may
//! bring has room before it is fetched.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::body::Body as _;
use parking_lot::Mutex;
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
    let (mut parts, body) = response.into_parts();
    let taken = parts.extensions.remove::<Taken>().and_then(|taken| taken.0.lock().take());
    let mut room = taken.unwrap_or_else(|| api.leaving().room());
    if let Err(why) = room.fit(bytes, &**api.engine().clock(), api.stop()).await {
        return Failure::from(why).into_response();
    }
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
    room.within(bytes, &**api.engine().clock(), api.stop()).await?;
    Ok(room)
}

impl From<NoRoom> for Failure {
    fn from(why: NoRoom) -> Failure {
        match why {
            NoRoom::Late => {
                Failure::busy("too many answers are not read by their clients".to_owned())
            }
            NoRoom::Stopping => Failure::stopping(),
        }
    }
}

/// The room that was taken before an answer's parts were fetched.
#[derive(Clone)]
struct Taken(Arc<Mutex<Option<Room>>>);

/// The response, which keeps the room that was taken for what is in it.
pub(super) fn holding(mut response: Response, room: Room) -> Response {
    response.extensions_mut().insert(Taken(Arc::new(Mutex::new(Some(room)))));
    response
}

/// The answer to a call, whose messages have about so many bytes, and this room.
///
/// # Errors
/// `internal` when it cannot be written.
pub(super) async fn json<T: Serialize + Send + 'static>(
    api: &Api,
    value: T,
    bytes: usize,
    room: Room,
) -> Result<Response, Failure> {
    let write = move || serde_json::to_vec(&value);
    let written = if bytes < LARGE_BYTES {
        write()
    } else {
        api.leaving().beside(write).await.map_err(failed)?
    };
    let text = written.map_err(failed)?;
    Ok(holding(([(CONTENT_TYPE, "application/json")], text).into_response(), room))
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Error::new(ErrorKind::Internal, format!("the answer cannot be written: {error}")).into()
}
