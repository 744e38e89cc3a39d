//! A server of either protocol on a memory store, in a runtime of its own, with a clock that is
//! set by hand.

use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use slipring::stores::MemoryStore;
use slipring::{
    AdminStore, Clock, Engine, EngineOptions, Limits, ManualClock, QueueName, QueueSettings, Store,
    SystemClock, Timestamp,
};
use slipring_conformance::fault::FaultyStore;
use slipring_sqlite::{SqliteOptions, SqliteStore};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Nothing that works takes so long.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Waits until something holds that other threads bring about.
pub fn until(mut holds: impl FnMut() -> bool) {
    let clock = SystemClock::new();
    let end = clock.now().after(6 * PATIENCE);
    while !holds() {
        assert!(clock.now() < end, "it never came to hold");
        std::thread::yield_now();
    }
}

/// Whether the other side has closed, as far as one can see now.
pub fn is_closed(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    match stream.read(&mut [0; 256]) {
        Ok(bytes) => bytes == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

/// A store on a file of its own that other processes may share. What is done by its calls alone, an
/// engine over it hears of only when it looks: not by itself while its clock stands still.
pub fn shared_store() -> (TempDir, Arc<FaultyStore>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("queues.db");
    let store = SqliteStore::open(file, SqliteOptions::default()).unwrap();
    (folder, FaultyStore::new(store))
}

/// A server that can be started.
pub trait Serves: Clone + Send + 'static {
    type Settings;
    type Listener: Send + 'static;

    /// The defaults, but with patience: the clock is moved on by more than connections may be idle.
    fn patient() -> Self::Settings;
    /// Listens on a free port.
    async fn listen() -> (Self::Listener, SocketAddr);
    fn make(engine: Engine, settings: Self::Settings) -> Self;
    /// Serves until it is told to stop.
    fn run(
        self,
        listener: Self::Listener,
        stop: CancellationToken,
    ) -> impl Future<Output = ()> + Send;
}

/// A running server.
pub struct Running<S> {
    pub runtime: Runtime,
    pub engine: Engine,
    pub server: S,
    pub clock: ManualClock,
    pub address: SocketAddr,
    stop: CancellationToken,
    serving: Option<JoinHandle<()>>,
}

impl<S: Serves> Running<S> {
    pub fn start() -> Running<S> {
        Running::start_with(S::patient())
    }

    pub fn start_with(settings: S::Settings) -> Running<S> {
        Running::start_over(MemoryStore::shared(), settings)
    }

    pub fn start_over(store: Arc<dyn Store>, settings: S::Settings) -> Running<S> {
        Running::start_within(store, settings, Limits::default())
    }

    pub fn start_within(
        store: Arc<dyn Store>,
        settings: S::Settings,
        limits: Limits,
    ) -> Running<S> {
        let runtime = Runtime::new().unwrap();
        let clock = ManualClock::at(Timestamp::from_millis(1_700_000_000_000));
        let set = Arc::new(clock.clone());
        let options = EngineOptions { clock: Some(set), limits, ..EngineOptions::default() };
        let (engine, (listener, address)) = runtime
            .block_on(async { (Engine::open(store, options).await.unwrap(), S::listen().await) });
        let server = S::make(engine.clone(), settings);
        let stop = CancellationToken::new();
        let serving = Some(runtime.spawn(server.clone().run(listener, stop.clone())));
        Running { runtime, engine, server, clock, address, stop, serving }
    }

    /// Deletes a queue as another server on the store does.
    pub fn delete_elsewhere(&self, store: &FaultyStore, name: &str) {
        self.runtime.block_on(async {
            let queue = self.engine.queue(name).await.unwrap();
            store.delete_queue(queue.id()).await.unwrap();
        });
    }

    /// Makes a queue as another server on the store does.
    pub fn create_elsewhere(&self, store: &FaultyStore, name: &str) {
        let (name, settings) = (QueueName::new(name).unwrap(), QueueSettings::default());
        let made = store.create_queue(&name, &settings, self.clock.now());
        self.runtime.block_on(made).unwrap();
    }

    /// Stops the server and waits until it has.
    pub fn stop(&mut self) {
        self.stop.cancel();
        if let Some(serving) = self.serving.take() {
            let ended = async { tokio::time::timeout(PATIENCE, serving).await };
            self.runtime.block_on(ended).unwrap().unwrap();
        }
    }
}
