//! Serving HTTP/1.1 connections: the accept loop, limits, slow clients, the graceful end.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use slipring::Clock;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::budget::Budget;
use crate::deadlines::Deadlines;
use crate::pace::{Metered, Pace, Told};
use crate::places::Places;
use crate::proxies::Proxies;
use crate::sockets;

/// After the system refused to give a connection, the next one is asked for so much later.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// The largest head of a request.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// The 503 for who comes when all places are taken: to a connection before it is closed, and to a
/// request by way of a proxy whose client has its share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Full {
    pub(crate) content_type: &'static str,
    /// A further header.
    pub(crate) header: Option<(&'static str, &'static str)>,
    pub(crate) body: &'static str,
}

impl Full {
    /// The whole response, as it goes over a connection that is closed then.
    fn raw(self) -> String {
        let Full { content_type, header, body } = self;
        let header = header.map(|(name, value)| format!("{name}: {value}\r\n"));
        format!(
            "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\n{}content-type: \
             {content_type}\r\ncontent-length: {}\r\n\r\n{body}",
            header.unwrap_or_default(),
            body.len()
        )
    }

    fn response<B: From<&'static str>>(self) -> Response<B> {
        let mut response = Response::new(B::from(self.body));
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        if let Some((name, value)) = self.header {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        response
    }
}

/// A service of one connection: it adds to each request who sent it, and notes what the connection
/// is at.
struct Known<S> {
    service: S,
    peer: IpAddr,
    pace: Arc<Pace>,
    terms: Arc<Terms>,
}

type Answering<B, E> = Pin<Box<dyn Future<Output = Result<Response<Told<B>>, E>> + Send>>;

impl<S, B> Service<Request<Incoming>> for Known<S>
where
    S: Service<Request<Incoming>, Response = Response<B>, Future: Send + 'static> + 'static,
    B: From<&'static str> + Send + 'static,
    S::Error: Send + 'static,
{
    type Response = Response<Told<B>>;
    type Error = S::Error;
    type Future = Answering<B, S::Error>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        self.pace.works();
        let (pace, terms) = (Arc::clone(&self.pace), &self.terms);
        let client = terms.proxies.client(self.peer, request.headers());
        let address = client.address;
        request.extensions_mut().insert(client);
        if address == self.peer {
            let answer = self.service.call(request);
            return Box::pin(async move { Ok(answer.await?.map(|body| Told::new(body, pace))) });
        }
        // By way of a proxy, whose connections are those of all its clients.
        let Some(share) = terms.places.share(Some(address)) else {
            terms.places.refuse("HTTP", Some(address), terms.clock.now());
            let full = terms.full.response().map(|body| Told::new(body, pace));
            return Box::pin(std::future::ready(Ok(full)));
        };
        let answer = self.service.call(request);
        Box::pin(async move { Ok(answer.await?.map(|body| Told::new(body, pace).with(share))) })
    }
}

/// How connections of a listener are served.
pub(crate) struct Terms {
    pub(crate) places: Arc<Places>,
    /// What is answered beyond them.
    pub(crate) full: Full,
    /// Who is believed about the clients of requests.
    pub(crate) proxies: Proxies,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) deadlines: Deadlines,
    /// The room for answers on their way out.
    pub(crate) leaving: Budget,
}

/// Serves `service` on `listener` until `stop`; then lets requests in hand finish and returns.
pub(crate) async fn serve<S, B>(
    listener: TcpListener,
    service: S,
    terms: Terms,
    stop: CancellationToken,
) where
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    S::Error: Send + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
    B: From<&'static str> + Unpin + Send + 'static,
{
    let terms = Arc::new(terms);
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        let (stream, peer) = match accepted {
            Ok((stream, peer)) => (stream, peer.ip()),
            Err(error) => {
                could_not_accept(&error, &*terms.clock).await;
                continue;
            }
        };
        // A proxy has no share: its clients have theirs, request by request.
        let holder = (!terms.proxies.have(peer)).then_some(peer);
        let Some(place) = terms.places.take(holder, &*terms.clock).await else {
            terms.places.refuse("HTTP", Some(peer), terms.clock.now());
            // A client that does not read misses a courtesy.
            let _ = stream.try_write(terms.full.raw().as_bytes());
            continue;
        };
        let clock = Arc::clone(&terms.clock);
        let pace = Pace::new(clock, terms.deadlines, terms.leaving.clone(), place);
        let terms = Arc::clone(&terms);
        let service = Known { service: service.clone(), peer, pace, terms };
        let places = Arc::clone(&service.terms.places);
        connections.spawn(connection(stream, service, stop.clone()));
        places.one_came().await;
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

async fn connection<S, B>(stream: TcpStream, service: Known<S>, stop: CancellationToken)
where
    S: Service<Request<Incoming>, Response = Response<B>> + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
    B: From<&'static str> + Unpin + Send + 'static,
{
    if sockets::prepare(&stream).is_err() {
        return;
    }
    let (peer, pace) = (service.peer, Arc::clone(&service.pace));
    let stream = Metered { stream, pace: Arc::clone(&pace) };
    let mut builder = http1::Builder::new();
    // The times are kept by the pace.
    builder.header_read_timeout(None::<Duration>).max_buf_size(HEAD_BYTES_MAX);
    let places = Arc::clone(&service.terms.places);
    let mut connection = Box::pin(builder.serve_connection(TokioIo::new(stream), service));
    let mut late = std::pin::pin!(pace.is_late());
    let mut stopping = false;
    let ended = loop {
        tokio::select! {
            ended = connection.as_mut() => break ended.map(|()| false),
            late = late.as_mut() => {
                tracing::debug!(%peer, ?late, "an HTTP connection took too long");
                break Ok(true);
            }
            () = stop.cancelled(), if !stopping => {
                stopping = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    };
    match ended {
        Ok(true) => places.let_go(connection).await,
        Ok(false) => {}
        Err(error) => tracing::debug!(%peer, %error, "an HTTP connection ended early"),
    }
}

async fn could_not_accept(error: &io::Error, clock: &dyn Clock) {
    // A client that left before it was accepted is nothing to wait for.
    if error.kind() == io::ErrorKind::ConnectionAborted {
        return;
    }
    tracing::warn!(%error, "could not accept an HTTP connection; trying again");
    clock.sleep_until(clock.now().after(ACCEPT_AGAIN_AFTER)).await;
}
