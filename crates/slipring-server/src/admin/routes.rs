//! Every operation of the admin API with its method, path and handler, and the count of its calls.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, delete, get, patch, post};
use slipring::ErrorKind;
use slipring::clock::monotonic_ns;

use crate::metrics::{Counted, Ledger};
use crate::places::Places;

use super::failure::{Cause, Failure, Kind, OWN_KINDS};
use super::{Api, answer, guard, health, messages, passes, peeks, queues, scrape};
use crate::proxies::Client;

/// An operation of the API, as `openapi.json` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Operation {
    /// Its path; parameters stand in braces.
    pub path: &'static str,
    /// Its method.
    pub method: &'static str,
    /// Its name; also the `command` label of the metrics.
    pub name: &'static str,
}

type Route = (Operation, MethodRouter<Api>);

fn on(
    path: &'static str,
    method: &'static str,
    name: &'static str,
    handler: MethodRouter<Api>,
) -> Route {
    (Operation { path, method, name }, handler)
}

const QUEUES: &str = "/v1/queues";
const MESSAGES: &str = "/v1/queues/{queue}/messages";

fn routes() -> Vec<Route> {
    const QUEUE: &str = "/v1/queues/{queue}";
    const MESSAGE: &str = "/v1/messages/{id}";
    vec![
        on(QUEUES, "get", "list_queues", get(queues::list)),
        on(QUEUES, "post", "create_queue", post(queues::create)),
        on(QUEUE, "get", "show_queue", get(queues::show)),
        on(QUEUE, "patch", "change_queue", patch(queues::change)),
        on(QUEUE, "delete", "delete_queue", delete(queues::delete)),
        on("/v1/queues/{queue}/pause", "post", "pause_queue", post(queues::pause)),
        on("/v1/queues/{queue}/resume", "post", "resume_queue", post(queues::resume)),
        on("/v1/queues/{queue}/purge", "post", "purge_queue", post(passes::purge)),
        on("/v1/queues/{queue}/redrive", "post", "redrive_queue", post(passes::redrive)),
        on("/v1/queues/{queue}/kick", "post", "kick_queue", post(passes::kick)),
        on(MESSAGES, "get", "peek_messages", get(peeks::peek)),
        on(MESSAGES, "post", "send_messages", post(messages::send)),
        on("/v1/queues/{queue}/receive", "post", "receive_messages", post(messages::receive)),
        on("/v1/ack", "post", "ack_messages", post(messages::ack)),
        on("/v1/nack", "post", "nack_messages", post(messages::nack)),
        on("/v1/extend", "post", "extend_messages", post(messages::extend)),
        on(MESSAGE, "get", "show_message", get(messages::lookup)),
        on(MESSAGE, "delete", "cancel_message", delete(messages::cancel)),
        on("/v1/messages/{id}/kick", "post", "kick_message", post(messages::kick)),
        on("/v1/waits", "get", "show_waits", get(health::waits)),
        on("/v1/obstacles", "get", "show_obstacles", get(health::obstacles)),
        on("/metrics", "get", "metrics", get(scrape::metrics)),
        on("/healthz", "get", "healthz", get(health::healthz)),
        on("/readyz", "get", "readyz", get(health::readyz)),
        on("/openapi.json", "get", "openapi", get(health::openapi)),
    ]
}

pub(super) fn operations() -> Vec<Operation> {
    routes().into_iter().map(|(operation, _)| operation).collect()
}

/// The router over all routes.
pub(super) fn router(api: Api, calls: Arc<Calls>) -> Router {
    let mut router = Router::new();
    for (index, (operation, handler)) in routes().into_iter().enumerate() {
        let seen = Watch { calls: Arc::clone(&calls), index, api: api.clone() };
        let handler = match operation.path {
            QUEUES | MESSAGES if operation.method == "get" => handler,
            path if path.starts_with("/v1/") => handler.layer(middleware::from_fn(no_query)),
            // Probes may be configured to send a query; that of `/metrics` is read.
            _ => handler,
        };
        let handler = handler.layer(middleware::from_fn(guard::json_only));
        let handler = handler.layer(middleware::from_fn_with_state(seen, watch));
        router = router.route(operation.path, handler);
    }
    let router = router.fallback(not_found).method_not_allowed_fallback(not_allowed);
    router.layer(middleware::from_fn_with_state(api.clone(), answer::counted)).with_state(api)
}

/// Refuses a query where nothing is read from it.
async fn no_query(request: Request, next: Next) -> Response {
    match request.uri().query() {
        Some(query) if !query.is_empty() => {
            let text = format!("{} takes no query; remove ?{query}", request.uri().path());
            Failure::invalid(text).into_response()
        }
        _ => next.run(request).await,
    }
}

async fn not_found(request: Request) -> Failure {
    let text = format!("there is no {}; /openapi.json says what there is", request.uri().path());
    Failure::new(StatusCode::NOT_FOUND, "not_found", text)
}

async fn not_allowed(method: Method) -> Failure {
    let text = format!("{method} is not a method of this path; see /openapi.json");
    Failure::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", text)
}

/// How often each operation was called, and the connections of the listener.
#[derive(Debug)]
pub(crate) struct Calls {
    counts: Vec<(&'static str, AtomicU64)>,
    ledger: Ledger,
    places: Arc<Places>,
}

impl Calls {
    /// For a listener with room for so many connections, and a share of them for each address.
    pub(crate) fn new(connections_max: usize, peer_share_percent: u8) -> Calls {
        let names: Vec<_> = operations().into_iter().map(|operation| operation.name).collect();
        let kinds = ErrorKind::ALL.iter().map(|kind| kind.name()).chain(OWN_KINDS);
        let ledger = Ledger::new(names.iter().copied(), kinds);
        let counts = names.into_iter().map(|name| (name, AtomicU64::new(0))).collect();
        Calls { counts, ledger, places: Places::new(connections_max, peer_share_percent) }
    }

    /// The connections of the listener.
    pub(crate) fn places(&self) -> &Arc<Places> {
        &self.places
    }
}

impl Counted for Calls {
    fn protocol(&self) -> &'static str {
        "admin"
    }

    fn commands(&self) -> Vec<(&'static str, u64)> {
        let counts = self.counts.iter();
        counts.map(|(name, count)| (*name, count.load(Ordering::Relaxed))).collect()
    }

    fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    fn connections(&self) -> u64 {
        self.places.taken()
    }

    fn refused(&self) -> u64 {
        self.places.refused()
    }
}

/// Marks the response to a receive that was ready to wait.
#[derive(Debug, Clone)]
pub(super) struct Polled;

/// Who counts and logs the calls of one operation.
#[derive(Clone)]
struct Watch {
    calls: Arc<Calls>,
    index: usize,
    api: Api,
}

async fn watch(State(watch): State<Watch>, request: Request, next: Next) -> Response {
    if let Some((_, count)) = watch.calls.counts.get(watch.index) {
        count.fetch_add(1, Ordering::Relaxed);
    }
    tracing::trace!(
        protocol = "admin",
        method = %request.method(),
        path = request.uri().path(),
        peer = address(&request).map(tracing::field::display),
        "a request"
    );
    let began_ns = monotonic_ns();
    let response = next.run(request).await;
    let polls = response.extensions().get::<Polled>().is_some();
    watch.calls.ledger.took(watch.index, began_ns, polls, 1);
    if let Some(Cause(error)) = response.extensions().get() {
        watch.api.note(error);
    }
    response
}

/// Counts the failures that are answered, whoever answers them.
pub(super) async fn errors(
    State(calls): State<Arc<Calls>>,
    request: Request,
    next: Next,
) -> Response {
    let response = next.run(request).await;
    if let Some(Kind(kind)) = response.extensions().get() {
        calls.ledger.failed(kind, 1);
    }
    response
}

/// The middleware of a listener that tells the log of refused calls.
pub(super) async fn note_refusal(State(api): State<Api>, request: Request, next: Next) -> Response {
    let peer = address(&request);
    let response = next.run(request).await;
    if let Some(Kind(kind)) = response.extensions().get() {
        api.refusals().note(kind, || peer);
    }
    response
}

/// Where a request came from.
fn address(request: &Request) -> Option<IpAddr> {
    request.extensions().get::<Client>().map(|client| client.address)
}
