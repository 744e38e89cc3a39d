//! The server: what all its connections share, the accept loop, drain mode.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use slipring::{Engine, Error, QueueId, QueueName, QueueSettings, Timestamp};
use slipring_wire::beanstalkd::{JOB_BYTES_MAX, Reply};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::metrics::{Counted, Ledger};

use super::Settings;
use super::counters::{Counters, Presence};
use super::failure::reply_for;
use super::host::Machine;
use super::listener::{Listener, Stream};
use super::measures;
use super::session::Session;
use super::tubes::Tubes;
use super::turns::Turns;
use crate::audit::Audit;
use crate::budget::Budget;
use crate::failures::FailureLog;
use crate::places::Places;
use crate::refusals::Refusals;
use crate::server::SharedParts;

/// After the system refused to give a connection, the next one is asked for so much later.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// A beanstalkd server over an engine. Cheap to clone; clones are the same server. It may serve
/// several listeners at once, which then share tubes, counters and limits.
#[derive(Clone)]
pub struct Server(Arc<Shared>);

/// What all connections of a server share.
pub(super) struct Shared {
    pub(super) engine: Engine,
    pub(super) settings: Settings,
    /// The settings of queues that are made for tubes.
    pub(super) queue_settings: QueueSettings,
    pub(super) counters: Arc<Counters>,
    pub(super) ledger: Ledger,
    pub(super) tubes: Arc<Tubes>,
    pub(super) failures: FailureLog,
    pub(super) audit: Audit,
    pub(super) refusals: Refusals,
    /// Job bodies that are arriving.
    pub(super) arriving: Budget,
    /// Answers on their way out, of all protocols.
    pub(super) leaving: Budget,
    places: Arc<Places>,
    pub(super) turns: Turns,
    /// Held while queues are looked over that may be to go; the last one of the look before.
    pub(super) retiring: tokio::sync::Mutex<QueueId>,
    pub(super) machine: Machine,
    pub(super) started: Timestamp,
    /// 16 hexadecimal digits, new for each server.
    pub(super) id: String,
    draining: AtomicBool,
}

impl Shared {
    pub(super) fn now(&self) -> Timestamp {
        self.engine.clock().now()
    }

    /// The reply for an error of the engine; failures go to the log too.
    pub(super) fn reply_to(&self, error: &Error) -> Reply {
        let reply = reply_for(error);
        if matches!(reply, Reply::InternalError | Reply::OutOfMemory) {
            self.failures.note(error, self.now());
        }
        reply
    }

    /// Tells connections of the queues that appear; ends with the engine.
    async fn tell_of_queues(&self, mut new_queues: broadcast::Receiver<QueueName>) {
        loop {
            match new_queues.recv().await {
                Ok(name) => self.tubes.appeared(&name),
                Err(RecvError::Lagged(_)) => self.tubes.some_appeared(),
                Err(RecvError::Closed) => return,
            }
        }
    }

    pub(super) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}

impl Counted for Server {
    fn protocol(&self) -> &'static str {
        "beanstalkd"
    }

    fn commands(&self) -> Vec<(&'static str, u64)> {
        self.0.counters.commands()
    }

    fn ledger(&self) -> &Ledger {
        &self.0.ledger
    }

    fn connections(&self) -> u64 {
        Server::connections(self)
    }

    fn refused(&self) -> u64 {
        self.0.places.refused()
    }
}

impl Server {
    /// A server over `engine`. A `job_bytes_max` above what the engine or the protocol allows
    /// counts as that.
    pub fn new(engine: Engine, settings: Settings) -> Server {
        let shared = SharedParts::alone(&engine);
        Server::sharing(engine, settings, shared)
    }

    /// A server whose answers share their room with those of others, and that has their audit.
    pub(crate) fn sharing(engine: Engine, settings: Settings, shared: SharedParts) -> Server {
        let SharedParts { leaving, audit, .. } = shared;
        let message_bytes_max =
            u32::try_from(engine.limits().message_bytes_max).unwrap_or(JOB_BYTES_MAX);
        let job_bytes_max = settings.job_bytes_max.min(message_bytes_max).min(JOB_BYTES_MAX);
        let settings = Settings { job_bytes_max, ..settings };
        let mut queue_settings =
            QueueSettings { durability: settings.durability, ..QueueSettings::default() };
        queue_settings.message_bytes_max =
            queue_settings.message_bytes_max.max(u64::from(job_bytes_max));
        if engine.capabilities().deletes_if_empty {
            let flag = QueueSettings::MADE_BY_A_SEND.to_owned();
            queue_settings.attributes.insert(flag, "beanstalkd".to_owned());
        }
        let mut id = [0; 8];
        engine.randomness().fill(&mut id);
        Server(Arc::new(Shared {
            queue_settings,
            counters: Arc::default(),
            ledger: measures::ledger(),
            tubes: Arc::new(Tubes::new()),
            failures: FailureLog::of("beanstalkd"),
            audit,
            refusals: Refusals::of("beanstalkd", Arc::clone(engine.clock())),
            arriving: Budget::new(settings.arriving_bytes_max, job_bytes_max as usize),
            leaving,
            places: Places::new(settings.connections_max, settings.peer_share_percent),
            turns: Turns::new(),
            retiring: tokio::sync::Mutex::new(QueueId(0)),
            machine: Machine::read(),
            started: engine.clock().now(),
            id: format!("{:016x}", u64::from_be_bytes(id)),
            draining: AtomicBool::new(false),
            engine,
            settings,
        }))
    }

    /// Enters drain mode: from now on every `put` answers `DRAINING`. There is no way back.
    pub fn drain(&self) {
        self.0.draining.store(true, Ordering::Relaxed);
        tracing::info!("drain mode: new jobs are refused, everything else goes on");
    }

    /// How many connections are open.
    pub fn connections(&self) -> u64 {
        self.0.counters.connections.get()
    }

    /// Serves a listener until `stop`, then lets every connection finish the commands in hand,
    /// ends waiting reserves, gives reserved jobs back, and returns.
    pub async fn serve(&self, listener: Listener, stop: CancellationToken) {
        let sessions = TaskTracker::new();
        let accepting = async {
            loop {
                match listener.accept().await {
                    Ok(stream) => self.welcome(stream, &stop, &sessions).await,
                    Err(error) => self.could_not_accept(&error).await,
                }
            }
        };
        // New tubes are told also while one who comes waits for a place.
        tokio::select! {
            () = accepting => {}
            () = self.0.tell_of_queues(self.0.engine.new_queues()) => {}
            () = self.0.retire_from_time_to_time() => {}
            () = stop.cancelled() => {}
        }
        drop(listener);
        sessions.close();
        sessions.wait().await;
    }

    async fn welcome(&self, stream: Stream, stop: &CancellationToken, sessions: &TaskTracker) {
        let shared = &self.0;
        let peer = stream.peer();
        let place = shared.places.take(peer, &**shared.engine.clock()).await;
        let Some(place) = place else {
            shared.places.refuse("beanstalkd", peer, shared.now());
            stream.write_and_forget(b"OUT_OF_MEMORY\r\n");
            return;
        };
        let presence = Presence::new(Arc::clone(&shared.counters));
        let session = Session::new(Arc::clone(shared), stream, stop.child_token(), presence, place);
        sessions.spawn(session.run());
        shared.places.one_came().await;
    }

    async fn could_not_accept(&self, error: &io::Error) {
        // A client that left before it was accepted is nothing to wait for.
        if error.kind() == io::ErrorKind::ConnectionAborted {
            return;
        }
        tracing::warn!(%error, "could not accept a beanstalkd connection; trying again");
        let clock = self.0.engine.clock();
        clock.sleep_until(clock.now().after(ACCEPT_AGAIN_AFTER)).await;
    }
}

#[cfg(test)]
mod tests {
    use slipring::stores::MemoryStore;
    use slipring::{Clock as _, EngineOptions, ManualClock};
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::UnixStream;

    use super::*;

    #[tokio::test]
    async fn who_sends_a_body_is_not_quiet() {
        // S12.5
        let clock = ManualClock::at(Timestamp::from_millis(1_000_000));
        let set = Some(Arc::new(clock.clone()) as _);
        let options = EngineOptions { clock: set, ..EngineOptions::default() };
        let engine = Engine::open(MemoryStore::shared(), options).await.unwrap();
        let server = Server::new(engine, Settings::default());
        let shared = &server.0;
        let place = shared.places.take(None, &clock).await.unwrap();
        let (mut client, stream) = UnixStream::pair().unwrap();
        let presence = Presence::new(Arc::clone(&shared.counters));
        let (stream, stop) = (Stream::Unix(stream), CancellationToken::new());
        let mut session = Session::new(Arc::clone(shared), stream, stop, presence, place);
        for piece in ["put 0 0 60 4\r\nb", "o", "d"] {
            clock.advance(Duration::from_secs(1));
            assert!(session.place.is_quiet(clock.now()));
            client.write_all(piece.as_bytes()).await.unwrap();
            assert!(session.read().await.is_continue());
            assert!(session.parser.next().is_none());
            session.make_room();
            assert!(!session.place.is_quiet(clock.now()));
        }
    }
}
