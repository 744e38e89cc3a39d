//! Serving HTTP/1.1 connections: the accept loop, limits, slow clients, the graceful end.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use slipring::Clock;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::budget::Budget;
use crate::deadlines::Deadlines;
use crate::keepalive;
use crate::pace::{Metered, Pace, Told};
use crate::places::Places;

/// After the system refused to give a connection, the next one is asked for so much later.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// The largest head of a request.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// Who sent a request; an extension of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// A service of one connection: it adds to each request who sent it, and notes what the connection
/// is at.
struct Known<S> {
    service: S,
    peer: IpAddr,
    pace: Arc<Pace>,
}

type Answering<B, E> = Pin<Box<dyn Future<Output = Result<Response<Told<B>>, E>> + Send>>;

impl<S, B> Service<Request<Incoming>> for Known<S>
where
    S: Service<Request<Incoming>, Response = Response<B>, Future: Send + 'static> + 'static,
    B: 'static,
{
    type Response = Response<Told<B>>;
    type Error = S::Error;
    type Future = Answering<B, S::Error>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        self.pace.works();
        request.extensions_mut().insert(Peer(self.peer));
        let (answer, pace) = (self.service.call(request), Arc::clone(&self.pace));
        Box::pin(async move { Ok(answer.await?.map(|body| Told::new(body, pace))) })
    }
}

/// How connections of a listener are served.
pub(crate) struct Terms {
    pub(crate) places: Arc<Places>,
    /// What a connection beyond them is sent before it is closed, a whole response.
    pub(crate) full: &'static [u8],
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
    B: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
    B: Unpin + Send + 'static,
{
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
        let Some(place) = terms.places.take(Some(peer), &*terms.clock).await else {
            terms.places.refused("HTTP", Some(peer), terms.clock.now());
            // A client that does not read misses a courtesy.
            let _ = stream.try_write(terms.full);
            continue;
        };
        let clock = Arc::clone(&terms.clock);
        let pace = Pace::new(clock, terms.deadlines, terms.leaving.clone(), place);
        let service = Known { service: service.clone(), peer, pace };
        connections.spawn(connection(stream, service, stop.clone()));
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

async fn connection<S, B>(stream: TcpStream, service: Known<S>, stop: CancellationToken)
where
    S: Service<Request<Incoming>, Response = Response<B>> + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    B: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
    B: Unpin + Send + 'static,
{
    // Answers go out whole; waiting for more would only add latency.
    if stream.set_nodelay(true).and_then(|()| keepalive::ask(&stream)).is_err() {
        return;
    }
    let (peer, pace) = (service.peer, Arc::clone(&service.pace));
    let stream = Metered { stream, pace: Arc::clone(&pace) };
    let mut builder = http1::Builder::new();
    // The times are kept by the pace.
    builder.header_read_timeout(None::<Duration>).max_buf_size(HEAD_BYTES_MAX);
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    let mut late = std::pin::pin!(pace.is_late());
    let mut stopping = false;
    let ended = loop {
        tokio::select! {
            ended = connection.as_mut() => break ended,
            late = late.as_mut() => {
                tracing::debug!(%peer, ?late, "an HTTP connection took too long");
                return;
            }
            () = stop.cancelled(), if !stopping => {
                stopping = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%peer, %error, "an HTTP connection ended early");
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
