//! Who may call: the bearer token, and web pages that a browser on this machine shows.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::failure::Failure;

/// Answered without a token: probes cannot send one, and learn nothing else.
const OPEN: [&str; 2] = ["/healthz", "/readyz"];

/// The rule of one admin API.
#[derive(Debug)]
pub(super) struct Guard {
    /// The digest of the token, when one is asked for.
    token: Option<blake3::Hash>,
    /// Only this machine can reach the listener.
    loopback: bool,
}

impl Guard {
    pub(super) fn new(token: Option<&str>, loopback: bool) -> Guard {
        Guard { token: token.map(|token| blake3::hash(token.as_bytes())), loopback }
    }

    fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Failure> {
        if OPEN.contains(&uri.path()) {
            return Ok(());
        }
        match self.token {
            Some(token) => check_token(token, headers)?,
            None if self.loopback => check_host(headers)?,
            None => {}
        }
        // A page may send simple requests anywhere, but not this content type without asking.
        let json = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let json = json.is_some_and(|value| value.starts_with("application/json"));
        if json || matches!(*method, Method::GET | Method::HEAD) {
            return Ok(());
        }
        let text = "send the header content-type: application/json with every change";
        Err(Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "invalid", text))
    }
}

fn check_token(token: blake3::Hash, headers: &HeaderMap) -> Result<(), Failure> {
    let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given = given.and_then(|value| value.strip_prefix("Bearer "));
    // Digests are compared in constant time.
    if given.is_some_and(|given| blake3::hash(given.as_bytes()) == token) {
        return Ok(());
    }
    let text = "send the header authorization: Bearer TOKEN with the server's admin token";
    Err(Failure::new(StatusCode::UNAUTHORIZED, "unauthorized", text))
}

/// Refuses names that a foreign page made point at this machine.
fn check_host(headers: &HeaderMap) -> Result<(), Failure> {
    let host = headers.get(HOST).and_then(|value| value.to_str().ok()).unwrap_or("localhost");
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let number = name.trim_start_matches('[').trim_end_matches(']');
    if name == "localhost" || number.parse::<std::net::IpAddr>().is_ok() {
        return Ok(());
    }
    let text = format!("host {name:?}: call this listener by its address or as localhost");
    Err(Failure::new(StatusCode::FORBIDDEN, "forbidden", text))
}

/// The middleware.
pub(super) async fn guard(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response {
    match guard.check(request.method(), request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(failure) => failure.into_response(),
    }
}
