//! Whether a store says that it is ready when it is, and only then.
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
use slipring::{AdminStore, ErrorKind, NewMessage, Waits};
use slipring_conformance::verbs::{ack_all, at, claim, plain, try_send};
use slipring_sqlite::SqliteOptions;
use support::number;

fn commits(waits: &Waits) -> u64 {
    let all = waits.snapshot();
    all.iter().find(|wait| wait.name == "sqlite.commit").unwrap().acquisitions
}

#[tokio::test]
async fn a_check_writes_and_a_storm_of_checks_writes_once() {
    let folder = tempfile::tempdir().unwrap();
    let waits = Waits::new();
    let options = SqliteOptions { waits: waits.clone(), ..SqliteOptions::default() };
    let store = support::open_with(folder.path(), options);
    let before = commits(&waits);
    let since_ns = monotonic_ns();
    let mut checks = tokio::task::JoinSet::new();
    for _ in 0..1000 {
        let store = Arc::clone(&store);
        checks.spawn(async move { store.check().await });
    }
    while let Some(checked) = checks.join_next().await {
        checked.unwrap().unwrap();
    }
    let seconds = (monotonic_ns() - since_ns) / 1_000_000_000;
    let made = commits(&waits) - before;
    // The store itself may clear something away in one more, and lengthen its log in another.
    assert!((1..=3 + seconds).contains(&made), "{made} writes for 1000 checks");
    assert_eq!(number(folder.path(), "SELECT count(*) FROM probe"), 1);
}

#[tokio::test]
async fn each_write_of_a_check_changes_pages() {
    let folder = tempfile::tempdir().unwrap();
    let store = support::open(folder.path());
    let log = || std::fs::metadata(folder.path().join("slipring.db-wal")).unwrap().len();
    store.check().await.unwrap();
    let before = log();
    let grown = async {
        while log() < before + 8 * 4096 {
            store.check().await.unwrap();
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), grown).await.expect("the log grows");
}

#[tokio::test]
async fn a_store_is_not_ready_while_the_file_is_locked_from_outside_and_says_so_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let store = support::open(folder.path());
    let other = support::look(folder.path());
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let since_ns = monotonic_ns();
    let error = store.check().await.unwrap_err();
    let took = Duration::from_nanos(monotonic_ns() - since_ns);
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert_eq!(error.kind(), ErrorKind::StorageUnavailable);
    assert!(error.message().contains("the write lock of the file"), "{error}");
    // One who comes while a check hangs does not wait as long once more.
    let since_ns = monotonic_ns();
    store.check().await.unwrap_err();
    let took = Duration::from_nanos(monotonic_ns() - since_ns);
    assert!(took < Duration::from_millis(500), "{took:?}");
    other.execute_batch("COMMIT").unwrap();
    let ready = async { while store.check().await.is_err() {} };
    tokio::time::timeout(Duration::from_secs(10), ready).await.expect("it is ready again");
}

#[tokio::test]
async fn a_store_without_room_is_not_ready() {
    let folder = tempfile::tempdir().unwrap();
    let options = SqliteOptions { file_bytes_max: Some(1 << 20), ..SqliteOptions::default() };
    let store = support::open_with(folder.path(), options);
    let q = plain(&store).await;
    let large = || vec![NewMessage::new(vec![b'x'; 20_000])];
    while try_send(&store, q, large(), at(0)).await.is_ok() {}
    // What was left is less than one of these.
    while try_send(&store, q, vec![NewMessage::new("x")], at(0)).await.is_ok() {}
    let error = store.check().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
    let held = claim(&store, q, 20, at(0)).await;
    ack_all(&store, q, &held, at(0)).await;
    let ready = async { while store.check().await.is_err() {} };
    tokio::time::timeout(Duration::from_secs(10), ready).await.expect("it is ready again");
}
