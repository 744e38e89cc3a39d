//! From an HTTP request to an HTTP response: reads the body within its limits, has the action
//! run, and writes the answer.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use http::request::Parts;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use slipring_wire::sqs::{ErrorCode, Head, Protocol, Request, Response, SqsError};
use tokio_util::sync::CancellationToken;

use super::call::Call;
use super::origin;
use super::server::Shared;
use crate::budget::{Budget, Room};

/// The largest body: one MiB of text with every character escaped as `\u000a`, and the rest.
pub(super) const BODY_BYTES_MAX: usize = 8 << 20;

/// So much of a body that is too large is read and thrown away, so that the client gets to read
/// the error.
const DRAINED_BYTES_MAX: usize = 64 << 20;

/// A body must arrive within this time.
const BODY_WITHIN: Duration = Duration::from_secs(60);

/// The longest host name that comes back in queue URLs.
const HOST_BYTES_MAX: usize = 255;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-amzn-requestid");
const QUERY_ERROR: HeaderName = HeaderName::from_static("x-amzn-query-error");
const TARGET: &str = "x-amz-target";
const TRACE: &str = "x-amzn-trace-id";

/// The service of one connection.
#[derive(Clone)]
pub(super) struct Service {
    shared: Arc<Shared>,
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
    pub(super) fn new(shared: Arc<Shared>, stop: CancellationToken) -> Service {
        Service { shared, stop }
    }

    async fn answer(self, request: http::Request<Incoming>) -> http::Response<Full<Bytes>> {
        let (parts, body) = request.into_parts();
        let head = head_of(&parts);
        let protocol = head.protocol();
        let id = self.shared.request_id();
        let response = match self.run(&parts, &head, body).await {
            Ok((action, answer)) => Response::of_answer(protocol, action, &answer, &id),
            Err(error) => Response::of_error(protocol, &error, &id),
        };
        finish(response, &id, protocol)
    }

    async fn run(
        &self,
        parts: &Parts,
        head: &Head<'_>,
        body: Incoming,
    ) -> Result<(&'static str, slipring_wire::sqs::Answer), SqsError> {
        origin::check(&parts.headers)?;
        let (body, _room) = self.read(body).await?;
        let call = Call { shared: &self.shared, host: host_of(parts), stop: &self.stop };
        if self.shared.settings.test_mode && head.path == "/moto-api/reset" {
            return call.reset().await.map(|answer| ("Reset", answer));
        }
        let Request { action, .. } = Request::parse(head, &body)?;
        drop(body);
        self.shared.count(&action);
        action.check(&self.shared.settings.limits)?;
        let name = action.name();
        call.run(action).await.map(|answer| (name, answer))
    }

    /// The body, and its room in the budget of large bodies.
    async fn read(&self, body: Incoming) -> Result<(Bytes, Option<Room>), SqsError> {
        let mut reading = std::pin::pin!(self.collect(body));
        // Most bodies came together with their head: no timer for them.
        if let std::task::Poll::Ready(read) = futures::poll!(reading.as_mut()) {
            return read;
        }
        let clock = self.shared.engine.clock();
        tokio::select! {
            read = reading => read,
            () = clock.sleep_until(clock.now().after(BODY_WITHIN)) => Err(SqsError::new(
                ErrorCode::RequestTimeout,
                format!("The request body did not arrive within {} s.", BODY_WITHIN.as_secs()),
            )),
        }
    }

    async fn collect(&self, mut body: Incoming) -> Result<(Bytes, Option<Room>), SqsError> {
        let announced =
            body.size_hint().upper().map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let expected = announced.unwrap_or(BODY_BYTES_MAX);
        if expected > BODY_BYTES_MAX {
            return Err(drain(body, expected).await);
        }
        let room = match Budget::concerns(expected) {
            false => None,
            true => Some(self.shared.budget.take(expected).ok_or_else(no_room)?),
        };
        let Some(first) = next_piece(&mut body).await? else { return Ok((Bytes::new(), room)) };
        if body.is_end_stream() {
            return Ok((first, room));
        }
        let mut whole = BytesMut::from(first);
        while let Some(piece) = next_piece(&mut body).await? {
            if whole.len() + piece.len() > BODY_BYTES_MAX {
                return Err(drain(body, whole.len() + piece.len()).await);
            }
            whole.extend_from_slice(&piece);
        }
        Ok((whole.freeze(), room))
    }
}

/// The next piece of data; other frames are passed over.
async fn next_piece(body: &mut Incoming) -> Result<Option<Bytes>, SqsError> {
    loop {
        match body.frame().await {
            None => return Ok(None),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
            Some(Err(error)) => {
                return Err(SqsError::new(
                    ErrorCode::Serialization,
                    format!("The request body did not arrive whole: {error}"),
                ));
            }
        }
    }
}

/// Reads on, up to a limit, and answers that the body is too large.
async fn drain(mut body: Incoming, known_bytes: usize) -> SqsError {
    let mut left = DRAINED_BYTES_MAX;
    while let Ok(Some(piece)) = next_piece(&mut body).await
        && piece.len() < left
    {
        left -= piece.len();
    }
    SqsError::new(
        ErrorCode::RequestTooLarge,
        format!(
            "The request body has at least {known_bytes} bytes; the limit is {BODY_BYTES_MAX}."
        ),
    )
}

fn no_room() -> SqsError {
    SqsError::new(
        ErrorCode::ServiceUnavailable,
        "Too many large requests are arriving at the moment; try again later.",
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

/// The server as this client knows it.
fn host_of(parts: &Parts) -> &str {
    let header = parts.headers.get(HOST).and_then(|value| value.to_str().ok());
    let host = header.or_else(|| parts.uri.authority().map(|authority| authority.as_str()));
    host.filter(|host| !host.is_empty() && host.len() <= HOST_BYTES_MAX).unwrap_or("localhost")
}

fn finish(response: Response, id: &str, protocol: Protocol) -> http::Response<Full<Bytes>> {
    let Response { status, content_type, query_error, body } = response;
    let mut finished = http::Response::new(Full::new(Bytes::from(body)));
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
