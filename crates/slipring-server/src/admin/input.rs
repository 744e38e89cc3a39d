//! Reading requests: bodies with a size and a time limit, queries and paths, each with a JSON
//! error.

use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use hyper::body::Body as _;
use serde::de::DeserializeOwned;

use crate::budget::Budget;

use super::Api;
use super::failure::Failure;

/// Largest request body. Larger messages go in by a wire protocol.
pub const BODY_BYTES_MAX: usize = 16 << 20;

/// A client may take so long to send a body.
const BODY_WITHIN: Duration = Duration::from_secs(30);

/// A request's body, read from JSON. No body counts as `{}`.
pub(super) struct Input<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Api> for Input<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, api: &Api) -> Result<Input<T>, Failure> {
        let bytes = read(request.into_body(), api).await?;
        let bytes = if bytes.is_empty() { b"{}" } else { bytes.as_ref() };
        let parsed = serde_json::from_slice(bytes);
        parsed.map(Input).map_err(|error| Failure::invalid(format!("the body: {error}")))
    }
}

async fn read(body: Body, api: &Api) -> Result<Bytes, Failure> {
    let announced = body.size_hint().upper().and_then(|bytes| usize::try_from(bytes).ok());
    let _room = match announced.unwrap_or(BODY_BYTES_MAX).min(BODY_BYTES_MAX) {
        expected if Budget::concerns(expected) => Some(api.room_for(expected)?),
        _ => None,
    };
    let Ok(read) = tokio::time::timeout(BODY_WITHIN, to_bytes(body, BODY_BYTES_MAX)).await else {
        let text = format!("the body did not arrive within {} s", BODY_WITHIN.as_secs());
        return Err(Failure::new(StatusCode::REQUEST_TIMEOUT, "timeout", text));
    };
    read.map_err(|error| {
        let limited = std::error::Error::source(&error)
            .is_some_and(|source| source.is::<http_body_util::LengthLimitError>());
        if !limited {
            return Failure::invalid(format!("the body could not be read: {error}"));
        }
        let text = format!("the body is larger than {BODY_BYTES_MAX} bytes");
        Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "limit_exceeded", text)
    })
}

/// A request's query.
pub(super) struct Params<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Params<T>, Failure> {
        let query = Query::<T>::from_request_parts(parts, state).await;
        let query = query.map_err(|error| Failure::invalid(error.body_text()))?;
        Ok(Params(query.0))
    }
}

/// The parameter in a request's path.
pub(super) struct InPath<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for InPath<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<InPath<T>, Failure> {
        let path = Path::<T>::from_request_parts(parts, state).await;
        let path = path.map_err(|error| Failure::invalid(error.body_text()))?;
        Ok(InPath(path.0))
    }
}
