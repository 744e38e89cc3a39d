//! Serving HTTP/1.1 connections: the accept loop, limits, slow clients, the graceful end.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::HttpService;
use hyper_util::rt::{TokioIo, TokioTimer};
use slipring::Clock;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::keepalive;

/// After the system refused to give a connection, the next one is asked for so much later.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// A client that is connected may take so long to send a request's head, and to say nothing
/// between two requests.
const HEAD_WITHIN: Duration = Duration::from_secs(60);

/// The largest head of a request.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// The connections of a listener: how many there are and may be.
#[derive(Debug)]
pub(crate) struct Room {
    connections_max: usize,
    places: Arc<Semaphore>,
}

impl Room {
    /// Room for so many connections at a time.
    pub(crate) fn new(connections_max: usize) -> Room {
        let connections_max = connections_max.min(Semaphore::MAX_PERMITS);
        Room { connections_max, places: Arc::new(Semaphore::new(connections_max)) }
    }

    /// How many connections there are.
    pub(crate) fn taken(&self) -> u64 {
        self.connections_max.saturating_sub(self.places.available_permits()) as u64
    }
}

/// Serves `service` on `listener` until `stop`; then lets requests in hand finish and returns.
/// A connection beyond the room gets `full`, a whole response, and is closed.
pub(crate) async fn serve<S>(
    listener: TcpListener,
    service: S,
    room: &Room,
    full: &'static [u8],
    clock: Arc<dyn Clock>,
    stop: CancellationToken,
) where
    S: HttpService<Incoming, Future: Send> + Clone + Send + 'static,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    S::ResBody:
        Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
{
    let connections = TaskTracker::new();
    let mut was_full = false;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                could_not_accept(&error, &*clock).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(&room.places).try_acquire_owned() else {
            // One line when the limit is reached, not one for each who is refused.
            if !std::mem::replace(&mut was_full, true) {
                let connections_max = room.connections_max;
                tracing::warn!(connections_max, "refusing further HTTP connections");
            }
            // A client that does not read misses a courtesy.
            let _ = stream.try_write(full);
            continue;
        };
        was_full = false;
        let (service, stop) = (service.clone(), stop.clone());
        connections.spawn(async move {
            connection(stream, service, stop).await;
            drop(place);
        });
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

async fn connection<S>(stream: TcpStream, service: S, stop: CancellationToken)
where
    S: HttpService<Incoming, Future: Send> + Send + 'static,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    S::ResBody:
        Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
{
    // Answers go out whole; waiting for more would only add latency.
    if stream.set_nodelay(true).and_then(|()| keepalive::ask(&stream)).is_err() {
        return;
    }
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN).max_buf_size(HEAD_BYTES_MAX);
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "an HTTP connection ended early");
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
