//! The server: what all its connections share.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use slipring::Engine;
use slipring_wire::sqs::{Action, ErrorCode};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Settings;
use super::moves::Moves;
use super::purges::Purges;
use super::recent::Recent;
use super::replays::Replays;
use super::service::{BODY_BYTES_MAX, Service};
use super::sizes::Sizes;
use crate::audit::Audit;
use crate::browsers::Gate;
use crate::budget::Budget;
use crate::failures::FailureLog;
use crate::http::{self, Full, Terms};
use crate::metrics::{Counted, Ledger};
use crate::places::Places;
use crate::refusals::Refusals;
use crate::server::SharedParts;

/// What a connection beyond the limit is told.
const FULL: Full = Full {
    content_type: "application/x-amz-json-1.0",
    header: Some(("x-amzn-query-error", "ServiceUnavailable;Receiver")),
    body: "{\"__type\":\"com.amazonaws.sqs#ServiceUnavailable\",\
           \"message\":\"The server has all the connections it may have.\"}",
};

/// An SQS server over an engine. Cheap to clone; clones are the same server.
#[derive(Clone)]
pub struct Server(Arc<Shared>);

/// What all connections of a server share.
pub(super) struct Shared {
    pub(super) engine: Engine,
    pub(super) settings: Settings,
    pub(super) failures: FailureLog,
    pub(super) audit: Audit,
    /// Acts under way, also of clients that have left.
    pub(super) acts: TaskTracker,
    pub(super) refusals: Refusals,
    /// Bodies that are arriving.
    pub(super) arriving: Budget,
    /// Answers on their way out, of all protocols.
    pub(super) leaving: Budget,
    pub(super) sizes: Sizes,
    places: Arc<Places>,
    /// Held while queues are made and deleted: whether there is one is looked at before.
    pub(super) changes: Arc<tokio::sync::Mutex<()>>,
    pub(super) purges: Purges,
    /// When queues were deleted, by name.
    pub(super) deleted: Recent<String>,
    pub(super) replays: Replays,
    pub(super) moves: Moves,
    requests: AtomicU64,
    /// Makes request ids differ between servers.
    instance: u64,
    /// How often each action came, in the order of `Action::NAMES`.
    counts: Vec<AtomicU64>,
    pub(super) ledger: Ledger,
}

impl Shared {
    /// A request id in the form of a UUID.
    pub(super) fn request_id(&self) -> String {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let (high, low) = (self.instance >> 32, self.instance & 0xffff_ffff);
        format!(
            "{high:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
            low >> 16,
            low & 0xfff,
            (number >> 48) & 0xfff,
            number & 0xffff_ffff_ffff
        )
    }

    pub(super) fn count(&self, action: &Action) {
        if let Some(count) = self.counts.get(action.number()) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("settings", &self.0.settings).finish_non_exhaustive()
    }
}

impl Server {
    /// A server over `engine`.
    pub fn new(engine: Engine, settings: Settings) -> Server {
        let shared = SharedParts::alone(&engine);
        Server::sharing(engine, settings, shared)
    }

    /// A server whose answers share their room with those of others, and that has their audit.
    pub(crate) fn sharing(engine: Engine, settings: Settings, shared: SharedParts) -> Server {
        let SharedParts { leaving, audit, acts } = shared;
        let mut instance = [0; 8];
        engine.randomness().fill(&mut instance);
        Server(Arc::new(Shared {
            failures: FailureLog::of("sqs"),
            audit,
            acts,
            refusals: Refusals::of("sqs", Arc::clone(engine.clock())),
            places: Places::new(settings.connections_max, settings.peer_share_percent),
            arriving: Budget::new(settings.arriving_bytes_max, BODY_BYTES_MAX),
            leaving,
            sizes: Sizes::default(),
            changes: Arc::default(),
            purges: Purges::default(),
            deleted: Recent::default(),
            replays: Replays::default(),
            moves: Moves::default(),
            requests: AtomicU64::new(0),
            instance: u64::from_be_bytes(instance),
            counts: Action::NAMES.iter().map(|_| AtomicU64::new(0)).collect(),
            ledger: Ledger::new(
                Action::NAMES.iter().copied(),
                ErrorCode::ALL.iter().map(|code| code.code()),
            ),
            engine,
            settings,
        }))
    }

    /// What a call works with.
    #[cfg(test)]
    pub(super) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.0)
    }

    /// Serves a listener until `stop`; then answers waiting receives with nothing, lets requests
    /// in hand finish, stops move tasks and purges, and returns.
    pub async fn serve(&self, listener: TcpListener, stop: CancellationToken) {
        let loopback = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
        let gate = Gate::new(self.0.settings.names.clone(), loopback);
        let service = Service::new(Arc::clone(&self.0), gate, stop.clone());
        let terms = Terms {
            places: Arc::clone(&self.0.places),
            full: FULL,
            proxies: self.0.settings.proxies.clone(),
            clock: Arc::clone(self.0.engine.clock()),
            deadlines: self.0.settings.deadlines,
            leaving: self.0.leaving.clone(),
        };
        http::serve(listener, service, terms, stop).await;
        self.0.moves.end().await;
        self.0.purges.end().await;
    }
}

impl Counted for Server {
    fn protocol(&self) -> &'static str {
        "sqs"
    }

    fn commands(&self) -> Vec<(&'static str, u64)> {
        let counts = self.0.counts.iter().map(|count| count.load(Ordering::Relaxed));
        Action::NAMES.iter().copied().zip(counts).collect()
    }

    fn ledger(&self) -> &Ledger {
        &self.0.ledger
    }

    fn connections(&self) -> u64 {
        self.0.places.taken()
    }

    fn refused(&self) -> u64 {
        self.0.places.refused()
    }
}
