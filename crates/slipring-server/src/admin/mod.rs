//! The admin API: queues, messages, long operations, probes and metrics as JSON over HTTP.
//!
//! `openapi.json` describes it and `docs/protocols/admin.md` explains it. The command line uses
//! the same API, over a socket or in its own process ([`Api::call`]).

mod failure;
mod guard;
mod health;
mod input;
mod messages;
pub mod model;
mod passes;
mod queues;
mod routes;

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{Request, Response};
use slipring::{Engine, Error, Queue, QueueId};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::budget::{Budget, Room};
use crate::failures::FailureLog;
use crate::metrics::{Counted, Metrics};

pub use failure::{Failure, MayRetry};
pub use input::BODY_BYTES_MAX;
pub use routes::Operation;

use guard::Guard;
pub(crate) use routes::Calls;

/// How the admin API is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The bearer token that callers show; `None` asks for none.
    pub token: Option<String>,
    /// Most connections at a time; a further one gets a 503. Default 1,000.
    pub connections_max: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { token: None, connections_max: 1_000 }
    }
}

/// Most bytes of large bodies on their way in, over all connections.
const ARRIVING_BYTES_MAX: usize = 128 << 20;

/// The admin API over an engine. Cheap to clone.
#[derive(Clone)]
pub struct Api(Arc<Shared>);

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").field("engine", &self.0.engine).finish_non_exhaustive()
    }
}

struct Shared {
    engine: Engine,
    metrics: Metrics,
    arriving: Budget,
    failures: FailureLog,
    stop: CancellationToken,
}

impl Api {
    /// The API for calls from this process: no token, no protocols beside it.
    pub fn in_process(engine: Engine) -> Api {
        Api::new(engine, Vec::new(), CancellationToken::new())
    }

    pub(crate) fn new(
        engine: Engine,
        protocols: Vec<Arc<dyn Counted>>,
        stop: CancellationToken,
    ) -> Api {
        let metrics = Metrics::new(engine.clone(), protocols);
        let arriving = Budget::new(ARRIVING_BYTES_MAX, BODY_BYTES_MAX);
        let failures = FailureLog::of("admin");
        Api(Arc::new(Shared { engine, metrics, arriving, failures, stop }))
    }

    /// Answers one request in this process.
    pub async fn call(&self, request: Request<Bytes>) -> Response<Body> {
        let request = request.map(Body::from);
        // A router cannot fail.
        match routes::router(self.clone(), Arc::new(Calls::new(0))).oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }

    /// The operations there are, for comparison with the description.
    pub fn operations() -> Vec<Operation> {
        routes::operations()
    }

    /// The router for a listener; `loopback` says that only this machine can reach it.
    pub(crate) fn router(&self, token: Option<&str>, loopback: bool, calls: Arc<Calls>) -> Router {
        let guard = Arc::new(Guard::new(token, loopback));
        routes::router(self.clone(), calls)
            .layer(axum::middleware::from_fn_with_state(guard, guard::guard))
    }

    fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// The queue of a receipt or a message, also when another process made it a moment ago.
    async fn queue_by_id(&self, id: QueueId) -> Option<Queue> {
        if let Some(queue) = self.engine().queue_by_id(id) {
            return Some(queue);
        }
        let all = self.engine().queues().await.ok()?;
        all.into_iter().find(|queue| queue.id() == id)
    }

    async fn metrics(&self) -> String {
        self.0.metrics.render().await
    }

    /// Room for a large body that is on its way.
    fn room_for(&self, bytes: usize) -> Result<Room, Failure> {
        self.0.arriving.take(bytes).ok_or_else(|| {
            let text = format!("more than {ARRIVING_BYTES_MAX} bytes are arriving at the moment");
            Failure::busy(text)
        })
    }

    /// Logs what the store could not do; other errors are the caller's.
    fn note(&self, error: &Error) {
        if failure::is_servers(error.kind()) {
            self.0.failures.note(error, self.engine().clock().now());
        }
    }

    fn is_stopping(&self) -> bool {
        self.0.stop.is_cancelled()
    }

    async fn stopping(&self) {
        self.0.stop.cancelled().await;
    }
}
