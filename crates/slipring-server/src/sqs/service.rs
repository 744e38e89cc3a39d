//! From an HTTP request to an HTTP response: reads the body within its limits, has the action
//! run, and writes the answer.

use std::convert::Infallible;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http::Method;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use http::request::Parts;
use http_body_util::Full;
use hyper::body::Incoming;
use parking_lot::Mutex;
use slipring::clock::monotonic_ns;
use slipring_wire::sqs::{Action, Answer, ErrorCode, Head, Protocol, Request, Response, SqsError};
use tokio_util::sync::CancellationToken;

use super::call::Call;
use super::server::Shared;
use crate::bodies::{self, Bodies};
use crate::browsers::{Caller, Gate, Refused};
use crate::budget::{NoRoom, Room};
use crate::proxies::Client;

/// The largest body: one MiB of text with every character escaped as `\u000a`, and the rest.
pub(super) const BODY_BYTES_MAX: usize = 8 << 20;

/// An answer above this size is made by a thread of its own.
pub(super) const LARGE_BYTES: usize = 256 << 10;

/// The longest host name that comes back in queue URLs.
const HOST_BYTES_MAX: usize = 255;

/// A longer access key id is none.
const ACCESS_KEY_BYTES_MAX: usize = 128;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-amzn-requestid");
const QUERY_ERROR: HeaderName = HeaderName::from_static("x-amzn-query-error");
const TARGET: &str = "x-amz-target";
const TRACE: &str = "x-amzn-trace-id";

/// The service of one connection.
#[derive(Clone)]
pub(super) struct Service {
    shared: Arc<Shared>,
    gate: Arc<Gate>,
    stop: CancellationToken,
}

type Answered = Result<http::Response<Full<Bytes>>, Infallible>;

impl hyper::service::Service<http::Request<Incoming>> for Service {
    type Response = http::Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Answered> + Send>>;

    fn call(&self, request: http::Request<Incoming>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.answer(request).await) })
    }
}

impl Service {
    pub(super) fn new(shared: Arc<Shared>, gate: Gate, stop: CancellationToken) -> Service {
        Service { shared, gate: Arc::new(gate), stop }
    }

    async fn answer(self, request: http::Request<Incoming>) -> http::Response<Full<Bytes>> {
        let (parts, body) = request.into_parts();
        let head = head_of(&parts);
        let protocol = head.protocol();
        let id = self.shared.request_id();
        let mut room = self.shared.leaving.room();
        let made = match self.run(&parts, &head, body).await {
            Ok((action, answer, taken)) => {
                room = taken;
                self.count_failed(&answer);
                self.written(protocol, action, answer, &id).await
            }
            Err(error) => Err(error),
        };
        let peer = || address(&parts);
        let mut response = made.unwrap_or_else(|error| self.refuse(protocol, &error, &id, peer));
        let clock = &**self.shared.engine.clock();
        if room.fit(response.body.len(), clock, &self.stop).await == Err(NoRoom::Late) {
            response = self.refuse(protocol, &no_room_to_answer(), &id, peer);
        }
        finish(response, &id, protocol, room)
    }

    /// The response for an error, which is counted.
    fn refuse(
        &self,
        protocol: Protocol,
        error: &SqsError,
        id: &str,
        peer: impl FnOnce() -> Option<IpAddr>,
    ) -> Response {
        self.shared.ledger.failed(error.code.code(), 1);
        self.shared.refusals.note(error.code.code(), peer);
        Response::of_error(protocol, error, id)
    }

    /// Counts the entries of a batch that were refused.
    fn count_failed(&self, answer: &Answer) {
        let failed = match answer {
            Answer::SendMessageBatch(answer) => &answer.failed,
            Answer::DeleteMessageBatch(answer) => &answer.0.failed,
            Answer::ChangeMessageVisibilityBatch(answer) => &answer.0.failed,
            _ => return,
        };
        failed.iter().for_each(|entry| self.shared.ledger.failed(&entry.code, 1));
    }

    async fn run(
        &self,
        parts: &Parts,
        head: &Head<'_>,
        body: Incoming,
    ) -> Result<(&'static str, Answer, Room), SqsError> {
        let client = parts.extensions.get::<Client>();
        let called = client.and_then(|client| client.host.as_deref());
        let caller = self.gate.check(&parts.method, &parts.uri, &parts.headers, called);
        let caller = caller.map_err(|refused| kept_out(&refused))?;
        let (body, _room) = self.read(body).await?;
        let began_ns = monotonic_ns();
        let call = Call {
            shared: &self.shared,
            host: host_of(parts, called),
            client,
            access_key: access_key(parts),
            stop: &self.stop,
            polls: AtomicBool::new(false),
            room: Mutex::new(self.shared.leaving.room()),
        };
        if self.shared.settings.test_mode && head.path == "/moto-api/reset" {
            if caller == Caller::Browser {
                return Err(kept_out(&Refused::Page));
            }
            let answer = call.reset().await?;
            return Ok(("Reset", answer, call.room.into_inner()));
        }
        let Request { action, .. } = Request::parse(head, &body)?;
        drop(body);
        // An image or a link of a page is enough to make a browser send it.
        if caller == Caller::Browser && parts.method != Method::POST && !only_reads(&action) {
            return Err(kept_out(&Refused::Page));
        }
        self.shared.count(&action);
        tracing::trace!(
            protocol = "sqs",
            action = action.name(),
            peer = address(parts).map(tracing::field::display),
            "a request"
        );
        let (name, number) = (action.name(), action.number());
        let answer = match action.check(&self.shared.settings.limits) {
            Ok(()) => call.run(action).await,
            Err(error) => Err(error),
        };
        let polls = call.polls.load(Ordering::Relaxed);
        self.shared.ledger.took(number, began_ns, polls, 1);
        answer.map(|answer| (name, answer, call.room.into_inner()))
    }

    /// The response for an answer; a large one is made beside the threads that serve connections.
    async fn written(
        &self,
        protocol: Protocol,
        action: &'static str,
        answer: Answer,
        id: &str,
    ) -> Result<Response, SqsError> {
        if answer.body_bytes() < LARGE_BYTES {
            return Ok(Response::of_answer(protocol, action, &answer, id));
        }
        let id = id.to_owned();
        let made = move || Response::of_answer(protocol, action, &answer, &id);
        let failed =
            |_| SqsError::new(ErrorCode::InternalFailure, "The answer could not be written.");
        self.shared.leaving.beside(made).await.map_err(failed)
    }

    /// The body, and its room.
    async fn read(&self, body: Incoming) -> Result<(Bytes, Room), SqsError> {
        let bodies = Bodies {
            budget: &self.shared.arriving,
            clock: self.shared.engine.clock(),
            deadlines: &self.shared.settings.deadlines,
            bytes_max: BODY_BYTES_MAX,
        };
        bodies.read(body).await.map_err(|refused| match refused {
            bodies::Refused::TooLarge(bytes) => SqsError::new(
                ErrorCode::RequestTooLarge,
                format!(
                    "The request body has at least {bytes} bytes; the limit is {BODY_BYTES_MAX}."
                ),
            ),
            bodies::Refused::Late => SqsError::new(
                ErrorCode::RequestTimeout,
                "The request body did not arrive in time, or too slowly.",
            ),
            bodies::Refused::NoRoom => SqsError::new(
                ErrorCode::ServiceUnavailable,
                "Too many large requests are arriving at the moment; try again later.",
            ),
            bodies::Refused::Broken(why) => SqsError::new(
                ErrorCode::Serialization,
                format!("The request body did not arrive whole: {why}"),
            ),
        })
    }
}

/// The error for an answer that there is no room for.
pub(super) fn no_room_to_answer() -> SqsError {
    SqsError::new(
        ErrorCode::ServiceUnavailable,
        "Too many large answers are not read by their clients at the moment; try again later.",
    )
}

/// The error for what a web page sent, or what used another server's name.
fn kept_out(refused: &Refused) -> SqsError {
    let text = match refused {
        Refused::Name(name) => format!(
            "The host name {name:?} is not one of this server's. Call it by its address or as \
             localhost, or start it with --allow-host NAME."
        ),
        Refused::Page => {
            "The request comes from a web page, and pages may not use this server.".to_owned()
        }
    };
    SqsError::new(ErrorCode::AccessDenied, text)
}

/// Whether an action changes nothing, not even who has a message.
fn only_reads(action: &Action) -> bool {
    matches!(
        action,
        Action::GetQueueAttributes(_)
            | Action::GetQueueUrl(_)
            | Action::ListDeadLetterSourceQueues(_)
            | Action::ListMessageMoveTasks(_)
            | Action::ListQueueTags(_)
            | Action::ListQueues(_)
    )
}

fn head_of(parts: &Parts) -> Head<'_> {
    let header = |name| parts.headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    Head {
        method: parts.method.as_str(),
        path: parts.uri.path(),
        query: parts.uri.query(),
        content_type: header(CONTENT_TYPE.as_str()),
        target: header(TARGET),
        trace: header(TRACE),
    }
}

/// Where a request came from.
fn address(parts: &Parts) -> Option<IpAddr> {
    parts.extensions.get::<Client>().map(|client| client.address)
}

/// The access key id in a signature: what stands between `Credential=` and the next slash.
fn access_key(parts: &Parts) -> Option<&str> {
    let text = parts.headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (id, _) = text.split_once("Credential=")?.1.split_once('/')?;
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let good = (1..=ACCESS_KEY_BYTES_MAX).contains(&id.len()) && id.bytes().all(fits);
    good.then_some(id)
}

/// The server as this client knows it; `called` is what a proxy says of that.
fn host_of<'p>(parts: &'p Parts, called: Option<&'p str>) -> &'p str {
    let header = parts.headers.get(HOST).and_then(|value| value.to_str().ok());
    let host =
        called.or(header).or_else(|| parts.uri.authority().map(|authority| authority.as_str()));
    host.filter(|host| !host.is_empty() && host.len() <= HOST_BYTES_MAX).unwrap_or("localhost")
}

fn finish(
    response: Response,
    id: &str,
    protocol: Protocol,
    room: Room,
) -> http::Response<Full<Bytes>> {
    let Response { status, content_type, query_error, body } = response;
    let mut finished = http::Response::new(Full::new(room.hold(body)));
    *finished.status_mut() =
        http::StatusCode::from_u16(status).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    let headers = finished.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    if let Ok(id) = HeaderValue::from_str(id) {
        headers.insert(REQUEST_ID, id);
    }
    if let (Protocol::Json, Some(code)) = (protocol, query_error)
        && let Ok(code) = HeaderValue::from_str(&code)
    {
        headers.insert(QUERY_ERROR, code);
    }
    finished
}
