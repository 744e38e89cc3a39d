//! The whole server: all listeners over one engine, started and stopped together.

use std::sync::Arc;
use std::time::Duration;

use hyper_util::service::TowerToHyperService;
use slipring::{Clock, Engine};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::admin::{self, Api};
use crate::audit::Audit;
use crate::budget::Budget;
use crate::http::{Full, Terms};
use crate::metrics::Counted;
use crate::{beanstalkd, http, sqs};

/// Connections get so long to finish what is in hand.
const FINISH_WITHIN: Duration = Duration::from_millis(3_000);
/// The engine gets so long to write back and close; with the above it stays below five seconds.
const CLOSE_WITHIN: Duration = Duration::from_millis(1_500);

/// What an admin connection beyond the limit is told.
const ADMIN_FULL: Full = Full {
    content_type: "application/json",
    header: None,
    body: "{\"kind\":\"limit_exceeded\",\
           \"message\":\"the server has all the connections it may have\",\
           \"operation\":\"\",\"context\":{\"limit\":\"connections_max\"},\"retry\":\"later\"}",
};

/// Most bytes of answers that clients have not read yet, of all protocols, unless it is set.
pub(crate) const LEAVING_BYTES_MAX: usize = 64 << 20;

/// What a server is started with. A listener that is `None` is off.
#[derive(Debug)]
pub struct ServerOptions {
    /// The engine behind every listener.
    pub engine: Engine,
    /// The SQS protocols.
    pub sqs: Option<SqsOptions>,
    /// The beanstalkd protocol.
    pub beanstalkd: Option<BeanstalkdOptions>,
    /// The admin API.
    pub admin: Option<AdminOptions>,
    /// Most bytes of answers on their way out, of all protocols; `None` for 64 MiB. Who would
    /// have more waits, and those who do not read theirs are cut earlier.
    pub leaving_bytes_max: Option<usize>,
    /// Where administrative acts are written beside the log.
    pub audit: Option<Audit>,
}

/// The admin API.
#[derive(Debug)]
pub struct AdminOptions {
    /// Where it listens.
    pub listener: TcpListener,
    /// Its settings.
    pub settings: admin::Settings,
}

/// The SQS protocols.
#[derive(Debug)]
pub struct SqsOptions {
    /// Where they listen.
    pub listener: TcpListener,
    /// Their settings.
    pub settings: sqs::Settings,
}

/// The beanstalkd protocol.
#[derive(Debug)]
pub struct BeanstalkdOptions {
    /// Where it listens.
    pub listener: beanstalkd::Listener,
    /// Its settings.
    pub settings: beanstalkd::Settings,
}

/// A running server.
pub struct Server {
    engine: Engine,
    stop: CancellationToken,
    tasks: TaskTracker,
    acts: TaskTracker,
    beanstalkd: Option<beanstalkd::Server>,
    protocols: Vec<Arc<dyn Counted>>,
}

/// How a stop went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// Everything in hand was finished, and the store is closed.
    Clean,
    /// The time was over before that. Nothing acknowledged is lost; the store recovers by itself
    /// at the next start.
    OutOfTime,
}

/// What the listeners of a process share: room for answers that are not read yet, the audit, and
/// the acts that are under way.
#[derive(Debug, Clone)]
pub(crate) struct SharedParts {
    pub(crate) leaving: Budget,
    pub(crate) audit: Audit,
    /// Those of clients that have left too: a stop waits until they are written down.
    pub(crate) acts: TaskTracker,
}

impl SharedParts {
    /// Those of a listener that is alone: the default room, and an audit without a file.
    pub(crate) fn alone(engine: &Engine) -> SharedParts {
        SharedParts {
            leaving: Budget::new(LEAVING_BYTES_MAX, 0),
            audit: Audit::new(Arc::clone(engine.clock()), None),
            acts: TaskTracker::new(),
        }
    }
}

impl Server {
    /// Starts all listeners, inside a tokio runtime.
    pub fn start(options: ServerOptions) -> Server {
        let ServerOptions { engine, sqs, beanstalkd, admin, leaving_bytes_max, audit } = options;
        let mut shared = SharedParts::alone(&engine);
        shared.audit = audit.unwrap_or(shared.audit);
        if let Some(bytes) = leaving_bytes_max {
            shared.leaving = Budget::new(bytes, 0);
        }
        let stop = CancellationToken::new();
        let (tasks, acts) = (TaskTracker::new(), shared.acts.clone());
        let mut protocols: Vec<Arc<dyn Counted>> = Vec::new();
        if let Some(options) = sqs {
            let server = sqs::Server::sharing(engine.clone(), options.settings, shared.clone());
            protocols.push(Arc::new(server.clone()));
            let stop = stop.clone();
            tasks.spawn(async move { server.serve(options.listener, stop).await });
        }
        let beanstalkd = beanstalkd.map(|options| {
            let shared = shared.clone();
            let server = beanstalkd::Server::sharing(engine.clone(), options.settings, shared);
            protocols.push(Arc::new(server.clone()));
            let (serving, stop) = (server.clone(), stop.clone());
            tasks.spawn(async move { serving.serve(options.listener, stop).await });
            server
        });
        if let Some(options) = admin {
            let settings = &options.settings;
            let calls = admin::Calls::new(settings.connections_max, settings.peer_share_percent);
            let calls = Arc::new(calls);
            protocols.push(Arc::<admin::Calls>::clone(&calls));
            let parts = admin::Parts {
                protocols: protocols.clone(),
                stop: stop.clone(),
                leaving: shared.leaving,
                deadlines: settings.deadlines,
                audit: shared.audit,
                caller: admin::protocol(),
                acts: shared.acts,
            };
            let api = Api::new(engine.clone(), parts);
            tasks.spawn(serve_admin(api, options, calls, stop.clone()));
        }
        Server { engine, stop, tasks, acts, beanstalkd, protocols }
    }

    /// Enters drain mode: beanstalkd's `put` is refused from now on, everything else goes on.
    pub fn drain(&self) {
        if let Some(server) = &self.beanstalkd {
            server.drain();
        }
    }

    /// How many connections are open, of all protocols.
    pub fn connections(&self) -> u64 {
        self.protocols.iter().map(|protocol| protocol.connections()).sum()
    }

    /// Stops accepting, lets connections finish what is in hand, releases those who wait, writes
    /// back, closes the store, and lets acts be written down. Returns within five seconds, whatever
    /// clients and disk do.
    pub async fn stop(&self) -> Stopped {
        let clock = Arc::clone(self.engine.clock());
        self.stop.cancel();
        self.tasks.close();
        let mut stopped = Stopped::Clean;
        if !within(&*clock, FINISH_WITHIN, self.tasks.wait()).await {
            tracing::warn!("some connections did not finish in time; they are cut");
            stopped = Stopped::OutOfTime;
        }
        let close = async {
            self.engine.shutdown().await;
            self.acts.close();
            self.acts.wait().await;
        };
        if !within(&*clock, CLOSE_WITHIN, close).await {
            tracing::warn!("the store did not close in time; nothing acknowledged is lost");
            stopped = Stopped::OutOfTime;
        }
        stopped
    }
}

async fn serve_admin(
    api: Api,
    options: AdminOptions,
    calls: Arc<admin::Calls>,
    stop: CancellationToken,
) {
    let AdminOptions { listener, settings } = options;
    let loopback = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    let router = api.router(&settings, loopback, Arc::clone(&calls));
    let service = TowerToHyperService::new(router);
    let terms = Terms {
        places: Arc::clone(calls.places()),
        full: ADMIN_FULL,
        proxies: settings.proxies.clone(),
        clock: Arc::clone(api.engine().clock()),
        deadlines: settings.deadlines,
        leaving: api.leaving().clone(),
    };
    http::serve(listener, service, terms, stop).await;
}

/// Whether `work` ended within `limit`.
async fn within(clock: &dyn Clock, limit: Duration, work: impl Future<Output = ()>) -> bool {
    tokio::select! {
        () = work => true,
        () = clock.sleep_until(clock.now().after(limit)) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use slipring::stores::MemoryStore;
    use slipring::{EngineOptions, ManualClock, QueueSettings, Timestamp};
    use slipring_conformance::fault::{Fault, FaultyStore, Verb};
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::TcpStream;

    use crate::audit::AuditFile;

    use super::*;

    /// More than a stop takes of a runtime with one thread.
    const TURNS: usize = 200;

    async fn listen() -> (TcpListener, std::net::SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    /// Deletes a queue by a protocol, leaves before the answer, and stops the server: it has to
    /// wait for what is left to do.
    async fn left_and_stopped(by_sqs: bool, request: &str) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("acts");
        let store = FaultyStore::new(MemoryStore::shared());
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::at(Timestamp::from_millis(1_000)));
        let given = EngineOptions { clock: Some(Arc::clone(&clock)), ..EngineOptions::default() };
        let engine = Engine::open(store.clone(), given).await.unwrap();
        engine.create_queue("q", QueueSettings::default()).await.unwrap();
        let (sqs, admin) = (listen().await, listen().await);
        let address = if by_sqs { sqs.1 } else { admin.1 };
        let server = Server::start(ServerOptions {
            engine,
            sqs: Some(SqsOptions { listener: sqs.0, settings: sqs::Settings::default() }),
            beanstalkd: None,
            admin: Some(AdminOptions { listener: admin.0, settings: admin::Settings::default() }),
            leaving_bytes_max: None,
            audit: Some(Audit::new(clock, Some(AuditFile::open(&file).unwrap()))),
        });
        store.plan(Verb::DeleteQueue, 1, Fault::HangAfter);
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        store.hanging(1).await;
        drop(stream);
        while server.connections() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(server.acts.len(), 1, "{request}");
        // As an act that has its answer and is not written down yet.
        let slow = server.acts.token();
        let mut stop = pin!(server.stop());
        store.release();
        for _ in 0..TURNS {
            assert!(futures::poll!(stop.as_mut()).is_pending(), "{request}");
            tokio::task::yield_now().await;
        }
        drop(slow);
        assert_eq!(stop.await, Stopped::Clean, "{request}");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains("\"act\":\"delete\",\"outcome\":\"done\""), "{request}: {text}");
    }

    #[tokio::test]
    async fn a_stop_waits_until_acts_whose_clients_have_left_are_written_down() {
        // S16.5
        let head = "HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/";
        let form = "Action=DeleteQueue&QueueUrl=http://localhost/000000000000/q";
        let by_sqs = format!(
            "POST / {head}x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
            form.len()
        );
        left_and_stopped(true, &by_sqs).await;
        left_and_stopped(false, &format!("DELETE /v1/queues/q {head}json\r\n\r\n")).await;
    }
}
