//! The admin API: queues, messages, long operations, probes and metrics as JSON over HTTP.
//!
//! `openapi.json` describes it and `docs/protocols/admin.md` explains it. The command line uses
//! the same API, over a socket or in its own process ([`Api::call`]).

mod answer;
mod attempts;
mod failure;
mod guard;
mod health;
mod input;
mod messages;
pub mod model;
mod passes;
mod peeks;
mod queues;
mod routes;
mod scrape;

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{Request, Response};
use slipring::{Engine, Error, ErrorKind, Queue, QueueId};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use crate::audit::{Audit, AuditFile, Who};
use crate::budget::Budget;
use crate::deadlines::Deadlines;
use crate::failures::FailureLog;
use crate::metrics::{Counted, Filter, Metrics};

pub use failure::{Failure, MayRetry};
pub use input::BODY_BYTES_MAX;
pub use routes::Operation;

use crate::browsers::Gate;
use crate::names::HostNames;
use crate::proxies::Proxies;
use crate::refusals::Refusals;
use crate::server::LEAVING_BYTES_MAX;

use guard::Guard;
pub(crate) use routes::Calls;

/// How the admin API is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The bearer token that callers show; `None` asks for none.
    pub token: Option<String>,
    /// Most connections at a time; a further one gets a 503. Default 1,000.
    pub connections_max: usize,
    /// The part of them, in percent, that one address may have which is not of this machine.
    /// Default 50.
    pub peer_share_percent: u8,
    /// How long clients may take.
    pub deadlines: Deadlines,
    /// Names beside those of this machine under which the API may be called without a token.
    /// Default none.
    pub names: HostNames,
    /// Proxies whose word is taken for who their clients are and what these called. Default none.
    pub proxies: Proxies,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            token: None,
            connections_max: 1_000,
            peer_share_percent: 50,
            deadlines: Deadlines::default(),
            names: HostNames::default(),
            proxies: Proxies::default(),
        }
    }
}

/// Most bytes of bodies that have come so far, over all connections.
const ARRIVING_BYTES_MAX: usize = 64 << 20;

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
    /// Answers on their way out, of all protocols.
    leaving: Budget,
    deadlines: Deadlines,
    failures: FailureLog,
    stop: CancellationToken,
    audit: Audit,
    refusals: Refusals,
    /// Who calls, where a request does not say.
    caller: Who,
    /// Acts under way, also of callers that have left.
    acts: TaskTracker,
}

/// What an API works with beside the engine.
pub(crate) struct Parts {
    /// Those of the server.
    pub(crate) protocols: Vec<Arc<dyn Counted>>,
    /// Told when the server stops.
    pub(crate) stop: CancellationToken,
    /// The room for answers.
    pub(crate) leaving: Budget,
    pub(crate) deadlines: Deadlines,
    pub(crate) audit: Audit,
    /// Who calls, where a request does not say.
    pub(crate) caller: Who,
    /// Where acts under way are counted.
    pub(crate) acts: TaskTracker,
}

/// Callers of a listener before one has come.
pub(crate) fn protocol() -> Who {
    Who { protocol: "admin", ..Who::default() }
}

impl Api {
    /// The API for calls from this process: no token, no protocols beside it.
    pub fn in_process(engine: Engine) -> Api {
        Api::audited(engine, None, protocol())
    }

    /// As [`Api::in_process`] for calls by `caller`, whose acts are written into the audit file.
    pub fn audited(engine: Engine, file: Option<AuditFile>, caller: Who) -> Api {
        let parts = Parts {
            protocols: Vec::new(),
            stop: CancellationToken::new(),
            leaving: Budget::new(LEAVING_BYTES_MAX, 0),
            deadlines: Deadlines::default(),
            audit: Audit::new(Arc::clone(engine.clock()), file),
            caller,
            acts: TaskTracker::new(),
        };
        Api::new(engine, parts)
    }

    pub(crate) fn new(engine: Engine, parts: Parts) -> Api {
        let Parts { protocols, stop, leaving, deadlines, audit, caller, acts } = parts;
        let metrics = Metrics::new(engine.clone(), protocols, audit.clone());
        let arriving = Budget::new(ARRIVING_BYTES_MAX, BODY_BYTES_MAX);
        let failures = FailureLog::of("admin");
        let refusals = Refusals::of("admin", Arc::clone(engine.clock()));
        Api(Arc::new(Shared {
            engine,
            metrics,
            arriving,
            leaving,
            deadlines,
            failures,
            stop,
            audit,
            refusals,
            caller,
            acts,
        }))
    }

    /// Answers one request in this process.
    pub async fn call(&self, request: Request<Bytes>) -> Response<Body> {
        let request = request.map(Body::from);
        // A router cannot fail.
        match routes::router(self.clone(), Arc::new(Calls::new(0, 100))).oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }

    /// The operations there are, for comparison with the description.
    pub fn operations() -> Vec<Operation> {
        routes::operations()
    }

    /// The router for a listener; `loopback` says that only this machine can reach it.
    pub(crate) fn router(&self, settings: &Settings, loopback: bool, calls: Arc<Calls>) -> Router {
        let gate = Gate::new(settings.names.clone(), loopback);
        let guard = Arc::new(Guard::new(settings.token.as_deref(), gate, self.engine().clock()));
        // Outermost, so that it sees what the guard answers.
        let errors = axum::middleware::from_fn_with_state(Arc::clone(&calls), routes::errors);
        routes::router(self.clone(), calls)
            .layer(axum::middleware::from_fn_with_state(guard, guard::guard))
            .layer(axum::middleware::from_fn_with_state(self.clone(), routes::note_refusal))
            .layer(errors)
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// The queue of a receipt or a message, also when another process made it a moment ago.
    async fn queue_by_id(&self, id: QueueId) -> Result<Option<Queue>, Error> {
        if let Some(queue) = self.engine().queue_by_id(id) {
            return Ok(Some(queue));
        }
        let all = self.engine().queues().await?;
        Ok(all.into_iter().find(|queue| queue.id() == id))
    }

    async fn metrics(&self, filter: Option<Filter>) -> Result<String, Error> {
        self.0.metrics.render(filter).await
    }

    /// The room for answers.
    pub(crate) fn leaving(&self) -> &Budget {
        &self.0.leaving
    }

    /// Logs what the store could not do; other errors are the caller's.
    fn note(&self, error: &Error) {
        if failure::is_servers(error.kind()) {
            self.0.failures.note(error, self.engine().clock().now());
        }
    }

    /// Runs an act and its line of the audit to their end, also when the caller leaves meanwhile:
    /// the engine does its part all the same. A stop of the server waits for them.
    async fn to_the_end<T, E>(
        &self,
        act: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let ended = self.0.acts.spawn(act).await;
        let broken = |_| Err(Error::new(ErrorKind::Internal, "the act was broken off").into());
        ended.unwrap_or_else(broken)
    }

    /// Where acts are written down.
    fn audit(&self) -> &Audit {
        &self.0.audit
    }

    fn refusals(&self) -> &Refusals {
        &self.0.refusals
    }

    fn is_stopping(&self) -> bool {
        self.0.stop.is_cancelled()
    }

    /// Told when the server stops.
    pub(crate) fn stop(&self) -> &CancellationToken {
        &self.0.stop
    }
}
