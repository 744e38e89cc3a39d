//! Who may call: the bearer token, and web pages that a browser on this machine shows.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use slipring::Clock;

use super::attempts::Attempts;
use super::failure::Failure;
use super::input::Principal;
use crate::browsers::{Gate, Refused};
use crate::places::counted;
use crate::proxies::Client;

/// Answered without a token: probes cannot send one, and learn nothing else.
const OPEN: [&str; 2] = ["/healthz", "/readyz"];

/// What the audit calls who has shown the token.
const TOKEN: &str = "admin_token";

/// The rule of one admin API.
#[derive(Debug)]
pub(super) struct Guard {
    /// The digest of the token, when one is asked for.
    token: Option<blake3::Hash>,
    /// Under which names a caller without a token comes in.
    gate: Gate,
    attempts: Attempts,
}

/// Why a call is refused.
enum No {
    /// It showed a wrong token.
    Guessed(Failure),
    Refused(Failure),
}

impl Guard {
    pub(super) fn new(token: Option<&str>, gate: Gate, clock: &Arc<dyn Clock>) -> Guard {
        let token = token.map(|token| blake3::hash(token.as_bytes()));
        Guard { token, gate, attempts: Attempts::new(Arc::clone(clock)) }
    }

    fn check(&self, request: &Request) -> Result<(), No> {
        let (uri, headers) = (request.uri(), request.headers());
        if OPEN.contains(&uri.path()) {
            return Ok(());
        }
        match self.token {
            Some(token) => check_token(token, headers),
            None => {
                let client = request.extensions().get::<Client>();
                let called = client.and_then(|client| client.host.as_deref());
                let caller = self.gate.check(request.method(), uri, headers, called);
                caller.map(drop).map_err(|refused| No::Refused(kept_out(refused)))
            }
        }
    }
}

fn check_token(token: blake3::Hash, headers: &HeaderMap) -> Result<(), No> {
    let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given = given.and_then(|value| value.strip_prefix("Bearer "));
    // Digests are compared in constant time.
    if given.is_some_and(|given| blake3::hash(given.as_bytes()) == token) {
        return Ok(());
    }
    let text = "send the header authorization: Bearer TOKEN with the server's admin token";
    let failure = Failure::new(StatusCode::UNAUTHORIZED, "unauthorized", text);
    Err(if given.is_some() { No::Guessed(failure) } else { No::Refused(failure) })
}

fn kept_out(refused: Refused) -> Failure {
    let text = match refused {
        Refused::Name(name) => format!(
            "host {name:?}: call this listener by its address or as localhost, or start the \
             server with --allow-host NAME"
        ),
        Refused::Page => "web pages may not use this listener without a token".to_owned(),
    };
    Failure::new(StatusCode::FORBIDDEN, "forbidden", text)
}

/// The middleware.
pub(super) async fn guard(
    State(guard): State<Arc<Guard>>,
    mut request: Request,
    next: Next,
) -> Response {
    match guard.check(&request) {
        Ok(()) => {
            // A probe has shown nothing, and does nothing that would be written down.
            if guard.token.is_some() {
                request.extensions_mut().insert(Principal(TOKEN));
            }
            next.run(request).await
        }
        Err(No::Refused(failure)) => failure.into_response(),
        Err(No::Guessed(failure)) => {
            let address = request.extensions().get().map(|client: &Client| client.address);
            drop(request);
            let address = address.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
            guard.attempts.failed(counted(address).unwrap_or(address)).await;
            failure.into_response()
        }
    }
}

/// The middleware of each operation: what changes something carries JSON. A page may send simple
/// requests anywhere, but not this content type without asking.
pub(super) async fn json_only(request: Request, next: Next) -> Response {
    let content = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let json = content.is_some_and(|value| value.starts_with("application/json"));
    if json || matches!(*request.method(), Method::GET | Method::HEAD) {
        return next.run(request).await;
    }
    let text = "send the header content-type: application/json with every change";
    Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "invalid", text).into_response()
}
