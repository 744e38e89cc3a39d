//! What a message costs that comes alone: a transaction for each step, and no look in vain.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

mod support;

use std::sync::Arc;
use std::time::Duration;

use slipring::{Engine, EngineOptions, ManualClock, NewMessage, QueueSettings, ReceiveRequest};
use slipring_conformance::verbs::{START, bodies};
use slipring_sqlite::SqliteOptions;
use support::{log, open_with};

/// Transactions of the writer so far.
fn transactions(engine: &Engine) -> u64 {
    let waits = engine.waits();
    waits.iter().find(|wait| wait.name == "sqlite.write_lock").map_or(0, |wait| wait.acquisitions)
}

#[tokio::test]
async fn a_message_to_a_receive_that_waits_costs_two_transactions() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(START);
    let options = EngineOptions { clock: Some(Arc::new(clock)), ..EngineOptions::default() };
    let sqlite = SqliteOptions { waits: options.waits.clone(), ..SqliteOptions::default() };
    let engine = Engine::open(open_with(folder.path(), sqlite), options).await.unwrap();
    let queue = engine.create_queue("q", QueueSettings::default()).await.unwrap();
    let waits = ReceiveRequest::up_to(1).wait(Duration::from_secs(60));
    let mut transactions_of_a_round = Vec::new();
    for _ in 0..3 {
        let before = transactions(&engine);
        let receive = queue.receive(waits);
        let send = async {
            while queue.waiting() == 0 {
                tokio::task::yield_now().await;
            }
            queue.send(NewMessage::new("a")).await.unwrap();
        };
        let (received, ()) = tokio::join!(receive, send);
        let received = received.unwrap();
        assert_eq!(bodies(&received), ["a"]);
        queue.ack(&received[0].receipt).await.unwrap();
        transactions_of_a_round.push(transactions(&engine) - before);
    }
    // A send that hands out, and an ack; a receive after the last message was given does not look.
    // The first one does, for nothing is known of the queue yet.
    assert_eq!(transactions_of_a_round[1..], [2, 2]);
    engine.shutdown().await;
}

#[tokio::test]
async fn the_log_is_ahead_of_the_writer_and_read_as_if_it_were_not() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_with(folder.path(), SqliteOptions::default());
    let engine = Engine::open(Arc::clone(&store) as _, EngineOptions::default()).await.unwrap();
    let queue = engine.create_queue("q", QueueSettings::default()).await.unwrap();
    queue.send(NewMessage::new("a")).await.unwrap();
    let bytes = || std::fs::metadata(log::path(folder.path())).unwrap().len();
    let before = bytes();
    assert!(before >= 256 << 10, "{before}");
    queue.send(NewMessage::new("b")).await.unwrap();
    assert_eq!(bytes(), before, "the second is written over what is there");
    // What a crash leaves: the file and its log, zeros at the end.
    let copy = tempfile::tempdir().unwrap();
    for suffix in ["", "-wal"] {
        let name = format!("slipring.db{suffix}");
        std::fs::copy(folder.path().join(&name), copy.path().join(&name)).unwrap();
    }
    let store = open_with(copy.path(), SqliteOptions::default());
    let again = Engine::open(store, EngineOptions::default()).await.unwrap();
    let queue = again.queue("q").await.unwrap();
    let received = queue.receive(ReceiveRequest::up_to(10)).await.unwrap();
    assert_eq!(bodies(&received), ["a", "b"]);
    again.shutdown().await;
    engine.shutdown().await;
}
