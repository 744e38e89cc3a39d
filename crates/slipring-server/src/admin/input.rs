//! Reading requests: bodies with a size and a time limit, queries and paths, each with a JSON
//! error.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::audit::Who;
use crate::bodies::{Bodies, Refused};
use crate::budget::Room;
use crate::proxies::Client;

use super::Api;
use super::failure::Failure;

/// Largest request body. Larger messages go in by a wire protocol.
pub const BODY_BYTES_MAX: usize = 16 << 20;

/// A request's body, read from JSON. No body counts as `{}`.
pub(super) struct Input<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Api> for Input<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, api: &Api) -> Result<Input<T>, Failure> {
        let (bytes, _room) = read(request.into_body(), api).await?;
        let bytes = if bytes.is_empty() { b"{}" } else { bytes.as_ref() };
        let parsed = serde_json::from_slice(bytes);
        parsed.map(Input).map_err(|error| Failure::invalid(format!("the body: {error}")))
    }
}

/// The input of an operation that has none, beside no body also `{}` or `null`: whoever gives a
/// field wants something else than what would be done.
pub(super) type NoInput = Input<Option<NoFields>>;

/// An object without members. By way of a map, for a structure is read from an array too.
#[derive(Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub(super) struct NoFields;

impl TryFrom<Map<String, Value>> for NoFields {
    type Error = String;

    fn try_from(members: Map<String, Value>) -> Result<NoFields, String> {
        match members.keys().next() {
            Some(name) => Err(format!("unknown field `{name}`, there are no fields")),
            None => Ok(NoFields),
        }
    }
}

async fn read(body: Body, api: &Api) -> Result<(Bytes, Room), Failure> {
    let bodies = Bodies {
        budget: &api.0.arriving,
        clock: api.engine().clock(),
        deadlines: &api.0.deadlines,
        bytes_max: BODY_BYTES_MAX,
    };
    bodies.read(body).await.map_err(|refused| match refused {
        Refused::TooLarge(_) => {
            let text = format!("the body is larger than {BODY_BYTES_MAX} bytes");
            Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "limit_exceeded", text)
        }
        Refused::Late => {
            let text = "the body did not arrive in time, or too slowly";
            Failure::new(StatusCode::REQUEST_TIMEOUT, "timeout", text)
        }
        Refused::NoRoom => {
            Failure::busy("too many large bodies are arriving at the moment".to_owned())
        }
        Refused::Broken(why) => Failure::invalid(format!("the body could not be read: {why}")),
    })
}

/// Who has shown the token; an extension of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Principal(pub(super) &'static str);

/// Who calls, for the audit.
pub(super) struct By(pub(super) Who);

impl FromRequestParts<Api> for By {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<By, Infallible> {
        let mut who = api.0.caller.clone();
        if let Some(client) = parts.extensions.get::<Client>() {
            who.peer = Some(client.address);
        }
        if let Some(Principal(name)) = parts.extensions.get() {
            who.principal = Some((*name).to_owned());
        }
        Ok(By(who))
    }
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
