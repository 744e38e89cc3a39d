//! The server: what all its connections share, the accept loop, drain mode.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use slipring::{Engine, Error, QueueSettings, Timestamp};
use slipring_wire::beanstalkd::{JOB_BYTES_MAX, Reply};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::metrics::Counted;

use super::Settings;
use super::counters::{Counters, Presence};
use super::failure::reply_for;
use super::host::Machine;
use super::listener::{Listener, Stream};
use super::session::Session;
use super::tubes::Tubes;
use crate::budget::Budget;
use crate::failures::FailureLog;

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
    pub(super) tubes: Arc<Tubes>,
    pub(super) failures: FailureLog,
    pub(super) budget: Budget,
    pub(super) machine: Machine,
    pub(super) started: Timestamp,
    /// 16 hexadecimal digits, new for each server.
    pub(super) id: String,
    draining: AtomicBool,
    full: AtomicBool,
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

    fn connections(&self) -> u64 {
        Server::connections(self)
    }
}

impl Server {
    /// A server over `engine`. A `job_bytes_max` above what the engine or the protocol allows
    /// counts as that.
    pub fn new(engine: Engine, settings: Settings) -> Server {
        let message_bytes_max =
            u32::try_from(engine.limits().message_bytes_max).unwrap_or(JOB_BYTES_MAX);
        let job_bytes_max = settings.job_bytes_max.min(message_bytes_max).min(JOB_BYTES_MAX);
        let settings = Settings { job_bytes_max, ..settings };
        let mut queue_settings =
            QueueSettings { durability: settings.durability, ..QueueSettings::default() };
        queue_settings.message_bytes_max =
            queue_settings.message_bytes_max.max(u64::from(job_bytes_max));
        let mut id = [0; 8];
        engine.randomness().fill(&mut id);
        Server(Arc::new(Shared {
            queue_settings,
            counters: Arc::default(),
            tubes: Arc::new(Tubes::new()),
            failures: FailureLog::of("beanstalkd"),
            budget: Budget::new(settings.arriving_bytes_max, job_bytes_max as usize),
            machine: Machine::read(),
            started: engine.clock().now(),
            id: format!("{:016x}", u64::from_be_bytes(id)),
            draining: AtomicBool::new(false),
            full: AtomicBool::new(false),
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
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = stop.cancelled() => break,
            };
            match accepted {
                Ok(stream) => self.welcome(stream, &stop, &sessions),
                Err(error) => self.could_not_accept(&error).await,
            }
        }
        drop(listener);
        sessions.close();
        sessions.wait().await;
    }

    fn welcome(&self, stream: Stream, stop: &CancellationToken, sessions: &TaskTracker) {
        let shared = &self.0;
        let most = shared.settings.connections_max;
        if shared.counters.connections.get() >= most as u64 {
            // One line when the limit is reached, not one for each who is refused.
            if !shared.full.swap(true, Ordering::Relaxed) {
                tracing::warn!(connections_max = most, "refusing further beanstalkd connections");
            }
            stream.write_and_forget(b"OUT_OF_MEMORY\r\n");
            return;
        }
        shared.full.store(false, Ordering::Relaxed);
        let presence = Presence::new(Arc::clone(&shared.counters));
        let session = Session::new(Arc::clone(shared), stream, stop.child_token(), presence);
        sessions.spawn(session.run());
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
    use std::io::Write;
    use std::os::unix::net::UnixStream as Pipe;

    use slipring::EngineOptions;
    use slipring::stores::MemoryStore;
    use tokio::net::UnixStream;

    use super::*;

    #[tokio::test]
    async fn a_large_body_has_its_room_before_the_replies_in_front_of_it_are_out() {
        // S12.3
        let store = MemoryStore::shared();
        let engine = Engine::open(store, EngineOptions::default()).await.unwrap();
        let settings = Settings { arriving_bytes_max: 100 * 1024, ..Settings::default() };
        let server = Server::new(engine, settings);
        let (served, mut client) = Pipe::pair().unwrap();
        // The replies do not fit: the server is still busy with them when the first arrive.
        socket2::SockRef::from(&served).set_send_buffer_size(1).unwrap();
        client.write_all("stats\r\n".repeat(30).as_bytes()).unwrap();
        client.write_all(b"put 0 0 60 65535\r\nbegins").unwrap();
        served.set_nonblocking(true).unwrap();
        client.set_nonblocking(true).unwrap();
        let (stop, sessions) = (CancellationToken::new(), TaskTracker::new());
        let stream = Stream::Unix(UnixStream::from_std(served).unwrap());
        server.welcome(stream, &stop, &sessions);
        let client = UnixStream::from_std(client).unwrap();
        let replies = async {
            client.readable().await.unwrap();
            assert!(server.0.budget.take(64 * 1024).is_none(), "the room is not taken yet");
        };
        tokio::time::timeout(Duration::from_secs(30), replies).await.unwrap();
        drop(client);
        sessions.close();
        tokio::time::timeout(Duration::from_secs(30), sessions.wait()).await.unwrap();
        assert!(server.0.budget.take(64 * 1024).is_some(), "a body that never came keeps its room");
    }
}
