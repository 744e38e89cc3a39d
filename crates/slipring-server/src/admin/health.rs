//! How the server is: probes, waits, and the description of this API.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use slipring::{Error, ErrorKind, Obstacles, WaitSnapshot};

use super::Api;
use super::failure::Failure;
use super::model::{WaitTable, WaitView};

/// A store that does not answer a probe for so long is not ready.
const READY_WITHIN: Duration = Duration::from_secs(2);

/// The description; a test compares it with the routes and the answers.
const OPENAPI: &str = include_str!("openapi.json");

/// The process runs and answers.
pub(super) async fn healthz() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

/// The store can serve now.
pub(super) async fn readyz(State(api): State<Api>) -> Result<Json<Value>, Failure> {
    if api.is_stopping() {
        return Err(Failure::stopping());
    }
    let Ok(checked) = tokio::time::timeout(READY_WITHIN, api.engine().check()).await else {
        let text = format!("the store did not answer within {} s", READY_WITHIN.as_secs());
        return Err(Error::new(ErrorKind::StorageUnavailable, text).into());
    };
    checked.map_err(Failure::not_ready)?;
    Ok(Json(json!({ "status": "ready", "store": api.engine().capabilities().name })))
}

pub(super) async fn waits(State(api): State<Api>) -> Json<WaitTable> {
    Json(WaitTable { waits: api.engine().waits().into_iter().map(wait).collect() })
}

/// What others do to the store that holds it up.
pub(super) async fn obstacles(State(api): State<Api>) -> Result<Json<Obstacles>, Failure> {
    Ok(Json(api.engine().obstacles().await?))
}

fn wait(seen: WaitSnapshot) -> WaitView {
    WaitView {
        name: seen.name.to_owned(),
        acquisitions: seen.acquisitions,
        contended: seen.contended,
        total_ns: seen.total_ns,
        max_ns: seen.max_ns,
        p50_ns: seen.p50_ns,
        p95_ns: seen.p95_ns,
        p99_ns: seen.p99_ns,
    }
}

pub(super) async fn openapi() -> Response {
    ([(CONTENT_TYPE, "application/json")], OPENAPI).into_response()
}
