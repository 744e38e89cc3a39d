//! The real binary beside a process whose wall clock is hours off, on one file.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod binary;

use std::sync::Arc;
use std::time::Duration;

use binary::Folder;
use slipring::clock::{Machine, ThisMachine};
use slipring::{
    Engine, EngineOptions, NewMessage, QueueSettings, ReceiveRequest, Store, Timestamp,
};
use slipring_sqlite::{SqliteOptions, SqliteStore};

const TWO_HOURS_MS: u64 = 2 * 3_600_000;
const STORE: [&str; 2] = ["--store", "sqlite:slipring.db"];

/// This machine as a process sees it that reads the wall clock at a wrong moment.
struct Stepped {
    wall: fn(u64) -> u64,
}

impl Machine for Stepped {
    fn wall(&self) -> Timestamp {
        Timestamp::from_millis((self.wall)(ThisMachine.wall().as_millis()))
    }

    fn since_boot(&self) -> Duration {
        ThisMachine.since_boot()
    }

    fn boot(&self) -> Option<String> {
        ThisMachine.boot()
    }
}

/// A process on the folder's file, as the server is one.
async fn process(folder: &Folder, wall: fn(u64) -> u64) -> (Arc<SqliteStore>, Engine) {
    let options = SqliteOptions { machine: Arc::new(Stepped { wall }), ..SqliteOptions::default() };
    let store = SqliteStore::open(folder.path().join("slipring.db"), options).unwrap();
    let engine = Engine::open(Arc::clone(&store) as _, EngineOptions::default()).await.unwrap();
    (store, engine)
}

fn json(folder: &Folder, arguments: &[&str]) -> serde_json::Value {
    let arguments: Vec<&str> = arguments.iter().copied().chain(STORE).chain(["--json"]).collect();
    folder.run(&arguments).json()
}

fn counts(folder: &Folder) -> Vec<u64> {
    let shown = json(folder, &["queue", "show", "q"]);
    let stats = &shown["stats"];
    ["ready", "delayed", "leased"].map(|state| stats[state].as_u64().unwrap()).to_vec()
}

/// A fresh message, a delayed one and a leased one in a queue that keeps messages for half an hour.
async fn fill(engine: &Engine) {
    let retention = Some(Duration::from_secs(1800));
    let settings = QueueSettings { retention, ..QueueSettings::default() };
    let queue = engine.queue_or_create("q", &settings).await.unwrap();
    queue.send(NewMessage::new("leased")).await.unwrap();
    let lease = Some(Duration::from_secs(600));
    let request = ReceiveRequest { lease, ..ReceiveRequest::up_to(1) };
    assert_eq!(queue.receive(request).await.unwrap().len(), 1);
    let delay = Some(Duration::from_secs(1800));
    queue.send(NewMessage { delay, ..NewMessage::new("delayed") }).await.unwrap();
    queue.send(NewMessage::new("fresh")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_verb_beside_a_process_that_was_started_two_hours_behind_ends_nothing() {
    // S13.2, S5.1, S5.2, S14.4
    let folder = Folder::new();
    let (_store, engine) = process(&folder, |now| now - TWO_HOURS_MS).await;
    fill(&engine).await;
    // The passes of the verbs run over the whole file.
    json(&folder, &["queue", "create", "other"]);
    assert_eq!(counts(&folder), [1, 1, 1]);
    json(&folder, &["send", "other", "from the verb"]);
    assert_eq!(counts(&folder), [1, 1, 1]);
    // What the verb sent bears the time of the file.
    let other = engine.queue_or_create("other", &QueueSettings::default()).await.unwrap();
    let received = other.receive(ReceiveRequest::up_to(1)).await.unwrap();
    let age = received[0].message.sent_at.until(engine.clock().now());
    assert!(age < Duration::from_secs(600), "{age:?}");
    let behind = engine.clock().now().until(ThisMachine.wall());
    assert!(behind > Duration::from_secs(7000), "{behind:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_with_a_wall_clock_two_hours_ahead_takes_over_the_clock_of_the_server() {
    // S13.2, S5.1, S5.2, S14.4
    let folder = Folder::new();
    let server = folder.serve(&STORE);
    let (store, engine) = process(&folder, |now| now + TWO_HOURS_MS).await;
    fill(&engine).await;
    let now = store.clock().unwrap().now();
    assert!(ThisMachine.wall().until(now) < Duration::from_secs(600));
    store.due(now).await.unwrap();
    store.expire(now).await.unwrap();
    store.prune(now).await.unwrap();
    assert_eq!(counts(&folder), [1, 1, 1]);
    engine.shutdown().await;
    server.stop();
}
