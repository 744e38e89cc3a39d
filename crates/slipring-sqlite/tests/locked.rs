//! A write lock that is held from outside: each call fails when its own time is up.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

mod support;

use std::sync::Arc;
use std::time::Duration;

use slipring::clock::monotonic_ns;
use slipring::store::Store;
use slipring::{AdminStore, Engine, EngineOptions, ErrorKind, NewMessage, QueueSettings, Retry};
use slipring_conformance::verbs::{at, claim, counts, plain, try_send};
use slipring_sqlite::{SqliteOptions, SqliteStore};

/// How long a call waits in these tests.
const PATIENCE: Duration = Duration::from_millis(600);
/// What a machine with other work may add to it.
const SLACK: Duration = Duration::from_millis(350);

fn open(folder: &std::path::Path) -> Arc<SqliteStore> {
    let options = SqliteOptions { busy_timeout: PATIENCE, ..SqliteOptions::default() };
    support::open_with(folder, options)
}

fn one() -> Vec<NewMessage> {
    vec![NewMessage::new("a")]
}

/// How long something took, with what it answered.
async fn timed<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let since_ns = monotonic_ns();
    let answer = work.await;
    (answer, Duration::from_nanos(monotonic_ns() - since_ns))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_come_one_after_another_each_wait_their_own_time() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let q = plain(&store).await;
    let other = support::look(folder.path());
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut calls = tokio::task::JoinSet::new();
    // Spread over more than the time that a call waits.
    for n in 0..8_u32 {
        let store = Arc::clone(&store);
        calls.spawn(async move {
            tokio::time::timeout(PATIENCE / 5 * n, std::future::pending::<()>()).await.unwrap_err();
            timed(try_send(&store, q, one(), at(0))).await
        });
    }
    while let Some(call) = calls.join_next().await {
        let (sent, took) = call.unwrap();
        let error = sent.unwrap_err();
        assert_eq!((error.kind(), error.retry()), (ErrorKind::StorageUnavailable, Retry::Later));
        assert!(error.message().contains("the write lock of the file"), "{error}");
        assert!(took < PATIENCE + SLACK, "{took:?}");
    }
    // Looks go on, and so does asking for changes.
    assert_eq!(counts(&store, q).await, [0, 0, 0, 0]);
    let (changes, took) = timed(store.foreign_changes()).await;
    changes.unwrap();
    assert!(took < SLACK, "{took:?}");
    // The lock has been away for longer than a call waits: those that come fail soon,
    let (sent, took) = timed(try_send(&store, q, one(), at(0))).await;
    sent.unwrap_err();
    assert!(took < PATIENCE, "{took:?}");
    // and one that comes when it is free is served at once.
    other.execute_batch("COMMIT").unwrap();
    try_send(&store, q, one(), at(0)).await.unwrap();
    assert_eq!(claim(&store, q, 1, at(0)).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_of_an_engine_that_wait_for_a_turn_wait_no_longer_than_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let engine = Engine::open(store, EngineOptions::default()).await.unwrap();
    let queue = engine.create_queue("q", QueueSettings::default()).await.unwrap();
    let other = support::look(folder.path());
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..40_u32 {
        let queue = queue.clone();
        calls.spawn(async move {
            let pause = PATIENCE / 20 * n;
            tokio::time::timeout(pause, std::future::pending::<()>()).await.unwrap_err();
            timed(queue.send(NewMessage::new("a"))).await
        });
    }
    while let Some(call) = calls.join_next().await {
        let (sent, took) = call.unwrap();
        sent.unwrap_err();
        // A turn that was tried when the lock had been away for long adds a little.
        assert!(took < PATIENCE + SLACK + SLACK, "{took:?}");
    }
    other.execute_batch("COMMIT").unwrap();
    queue.send(NewMessage::new("a")).await.unwrap();
    engine.shutdown().await;
}

#[tokio::test]
async fn a_lock_that_is_let_go_in_time_fails_no_call() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let q = plain(&store).await;
    let other = support::look(folder.path());
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let send = try_send(&store, q, one(), at(0));
    let let_go = async {
        let pause = tokio::time::timeout(PATIENCE / 3, std::future::pending::<()>());
        pause.await.unwrap_err();
        other.execute_batch("COMMIT").unwrap();
    };
    let (sent, ()) = tokio::join!(send, let_go);
    sent.unwrap();
    assert_eq!(store.queues().await.unwrap().len(), 1);
}
