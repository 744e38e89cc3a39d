//! Space that a file does not need any more: given back while it is idle, or at once by
//! compacting it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

mod support;

use std::path::Path;
use std::time::Duration;

use slipring::lifecycle::Settlement;
use slipring::store::Store;
use slipring::{AdminStore, ErrorKind, NewMessage};
use slipring_conformance::verbs::{
    ack_all, at, bodies, claim, claim_with, counts, drain, plain, send, settle, try_send,
};
use slipring_sqlite::{SqliteOptions, compact};
use support::{database, number};

fn bytes(folder: &Path) -> u64 {
    std::fs::metadata(database(folder)).unwrap().len()
}

fn quick() -> SqliteOptions {
    SqliteOptions { reclaim_every: Duration::from_millis(20), ..SqliteOptions::default() }
}

fn slow() -> SqliteOptions {
    SqliteOptions { reclaim_every: Duration::from_secs(3600), ..SqliteOptions::default() }
}

/// Sends 16 MB and acks all of it but some messages that lie between.
async fn fill_and_empty(
    store: &std::sync::Arc<slipring_sqlite::SqliteStore>,
    q: slipring::QueueId,
) {
    for n in 0..16 {
        let large = (0..50).map(|_| NewMessage::new(vec![b'x'; 20_000])).collect();
        try_send(store, q, large, at(0)).await.unwrap();
        try_send(store, q, vec![NewMessage::new(format!("kept {n:02}"))], at(0)).await.unwrap();
    }
    let demand = slipring::store::Demand { up_to: 1000, lease: None, session: false };
    // One claim gives about 4 MiB.
    let mut held = Vec::new();
    while held.len() < 816 {
        let more = claim_with(store, q, demand, at(0)).await.0;
        assert!(!more.is_empty());
        held.extend(more);
    }
    let large: Vec<_> = held.iter().filter(|held| held.message.body.len() > 100).cloned().collect();
    assert_eq!(large.len(), 800);
    ack_all(store, q, &large, at(0)).await;
    for kept in held.iter().filter(|held| held.message.body.len() <= 100) {
        let again = Settlement::Nack { delay: Some(Duration::ZERO), priority: None, reason: None };
        settle(store, q, kept, again, at(0)).await.unwrap();
    }
}

fn kept() -> Vec<String> {
    (0..16).map(|n| format!("kept {n:02}")).collect()
}

#[tokio::test]
async fn a_file_that_is_idle_gives_back_what_it_does_not_need() {
    let folder = tempfile::tempdir().unwrap();
    let store = support::open_with(folder.path(), quick());
    let q = plain(&store).await;
    fill_and_empty(&store, q).await;
    let smaller = async {
        while bytes(folder.path()) == 0 || bytes(folder.path()) > 2 << 20 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), smaller).await.unwrap_or_else(|_| {
        let free = number(folder.path(), "PRAGMA freelist_count");
        panic!("{} bytes, {free} free pages", bytes(folder.path()));
    });
    // A share is kept for the next messages.
    assert!(number(folder.path(), "PRAGMA freelist_count") >= 200);
    assert_eq!(drain(&store, q).await, kept());
    let whole: String =
        support::look(folder.path()).query_row("PRAGMA integrity_check", [], |r| r.get(0)).unwrap();
    assert_eq!(whole, "ok");
}

#[tokio::test]
async fn compacting_makes_the_file_small_and_changes_no_number() {
    let folder = tempfile::tempdir().unwrap();
    let store = support::open_with(folder.path(), slow());
    let q = plain(&store).await;
    fill_and_empty(&store, q).await;
    send(&store, q, &["leased", "ready"]).await;
    let mut held = Vec::new();
    for _ in 0..17 {
        held.extend(claim(&store, q, 1, at(0)).await);
    }
    assert_eq!(bodies(&held).last().map(String::as_str), Some("leased"));
    let before = counts(&store, q).await;
    store.close().await.unwrap();
    let numbers = "SELECT group_concat(id || '/' || fence || '/' || sent) FROM item";
    let text = |sql: &str| -> String {
        support::look(folder.path()).query_row(sql, [], |row| row.get(0)).unwrap()
    };
    let seen = text(numbers);
    let done = compact(&database(folder.path()), &slow()).unwrap();
    assert_eq!(done.after_bytes, bytes(folder.path()));
    assert!(done.before_bytes > 15 << 20 && done.after_bytes < 1 << 20, "{done:?}");
    assert_eq!(text(numbers), seen);
    let store = support::open_with(folder.path(), slow());
    assert_eq!(counts(&store, q).await, before);
    // Receipts from before are good.
    ack_all(&store, q, &held, at(1)).await;
    assert_eq!(drain(&store, q).await, ["ready"]);
}

#[tokio::test]
async fn a_file_of_an_older_version_gives_space_back_once_it_was_compacted() {
    let folder = tempfile::tempdir().unwrap();
    let store = support::open_with(folder.path(), quick());
    plain(&store).await;
    store.close().await.unwrap();
    let old = support::look(folder.path());
    old.execute_batch("PRAGMA journal_mode = delete; PRAGMA auto_vacuum = none; VACUUM").unwrap();
    drop(old);
    assert_eq!(number(folder.path(), "PRAGMA auto_vacuum"), 0);
    drop(support::open_with(folder.path(), quick()));
    assert_eq!(number(folder.path(), "PRAGMA auto_vacuum"), 0, "opening does not rewrite a file");
    compact(&database(folder.path()), &quick()).unwrap();
    assert_eq!(number(folder.path(), "PRAGMA auto_vacuum"), 2);
    let store = support::open_with(folder.path(), quick());
    assert_eq!(store.queues().await.unwrap().len(), 1);
    assert!(store.capabilities().durable);
}

#[tokio::test]
async fn a_file_that_is_open_or_not_there_is_not_compacted() {
    let folder = tempfile::tempdir().unwrap();
    let missing = compact(&database(folder.path()), &slow()).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::StorageUnavailable);
    assert!(!database(folder.path()).exists());
    let store = support::open(folder.path());
    plain(&store).await;
    let refused = compact(&database(folder.path()), &slow()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::StorageUnavailable);
    assert!(refused.message().contains("has the file open"), "{refused}");
    store.close().await.unwrap();
    compact(&database(folder.path()), &slow()).unwrap();
}

#[tokio::test]
async fn a_large_log_that_is_found_at_the_opening_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let killed = tempfile::tempdir().unwrap();
    let options = |checkpoint_bytes| SqliteOptions { checkpoint_bytes, ..slow() };
    let store = support::open_with(folder.path(), options(64 << 20));
    let q = plain(&store).await;
    try_send(&store, q, vec![NewMessage::new(vec![b'x'; 4 << 20])], at(0)).await.unwrap();
    support::copy_as_after_a_crash(folder.path(), killed.path());
    let log = || std::fs::metadata(killed.path().join("slipring.db-wal")).unwrap().len();
    assert!(log() > 4 << 20);
    let store = support::open_with(killed.path(), options(256 << 10));
    let cut = async {
        while log() > 1 << 20 {
            send(&store, q, &["x"]).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), cut).await.expect("it is cut in time");
}

/// The file that the child compacts; set only for the child.
const FILE: &str = "SLIPRING_TEST_COMPACTS";

/// Not a test by itself: what the child of the test below does.
#[test]
fn a_process_that_finds_no_room_to_compact() {
    let Some(file) = std::env::var_os(FILE) else { return };
    compact(Path::new(&file), &slow()).unwrap_err();
}

#[cfg(unix)]
#[tokio::test]
async fn compacting_without_room_leaves_the_disk_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let store = support::open_with(folder.path(), slow());
    let q = plain(&store).await;
    for _ in 0..12 {
        let large = (0..50).map(|_| NewMessage::new(vec![b'x'; 20_000])).collect();
        try_send(&store, q, large, at(0)).await.unwrap();
    }
    store.close().await.unwrap();
    let file_bytes = compact(&database(folder.path()), &slow()).unwrap().after_bytes;
    // The copy just fits, and the log does not, which has a little more for each page.
    let limit = format!("trap '' XFSZ; ulimit -f {}; exec \"$0\" \"$@\"", file_bytes / 512 + 32);
    let child = std::process::Command::new("sh")
        .args(["-c", &limit])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "a_process_that_finds_no_room_to_compact"])
        .env(FILE, database(folder.path()))
        .output()
        .unwrap();
    assert!(child.status.success(), "{child:?}");
    assert_eq!(bytes(folder.path()), file_bytes);
    let log = std::fs::metadata(folder.path().join("slipring.db-wal")).map_or(0, |log| log.len());
    assert_eq!(log, 0, "what was not copied is given back");
    let store = support::open_with(folder.path(), slow());
    assert_eq!(counts(&store, q).await, [600, 0, 0, 0]);
}
