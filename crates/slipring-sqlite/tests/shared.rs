//! Several stores on one file, as several processes have it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

mod support;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use slipring::lifecycle::Settlement;
use slipring::store::Store;
use slipring::{AdminStore, ErrorKind, NewMessage, QueueSettings, Retry};
use slipring_conformance::verbs::{
    self, ack_all, at, bodies, claim, counts, plain, send, settle, try_send,
};
use slipring_sqlite::SqliteOptions;
use support::{open, open_with};

#[tokio::test]
async fn what_one_store_does_the_other_sees() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (open(folder.path()), open(folder.path()));
    let q = plain(&one).await;
    assert_eq!(plain(&two).await, q, "the queue is there already");
    send(&one, q, &["a"]).await;
    send(&two, q, &["b"]).await;
    send(&one, q, &["c"]).await;
    let taken = claim(&two, q, 2, at(0)).await;
    assert_eq!(bodies(&taken), ["a", "b"]);
    assert_eq!(bodies(&claim(&one, q, 2, at(0)).await), ["c"]);
    // Either may settle what the other has handed out.
    ack_all(&one, q, &taken, at(1)).await;
    assert_eq!(counts(&two, q).await, [0, 0, 1, 0]);
    let gone = settle(&two, q, &taken[0], Settlement::Ack, at(1)).await.unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::MessageGone);
    let changed = QueueSettings { paused: true, ..QueueSettings::default() };
    two.configure(q, &changed, at(1)).await.unwrap();
    send(&two, q, &["d"]).await;
    assert!(claim(&one, q, 1, at(1)).await.is_empty(), "it is paused");
    two.delete_queue(q).await.unwrap();
    let refused = try_send(&one, q, vec![NewMessage::new("e")], at(1)).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::QueueNotFound);
}

#[tokio::test]
async fn changes_by_others_are_noticed_and_own_ones_are_not_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (open(folder.path()), open(folder.path()));
    let q = plain(&one).await;
    let before = one.foreign_changes().await.unwrap();
    send(&one, q, &["a"]).await;
    assert_eq!(one.foreign_changes().await.unwrap(), before);
    send(&two, q, &["b"]).await;
    let after = one.foreign_changes().await.unwrap();
    assert!(after > before);
    assert_eq!(one.foreign_changes().await.unwrap(), after);
}

/// A store that copies its log into the file after every few transactions.
fn open_copying(folder: &std::path::Path) -> Arc<slipring_sqlite::SqliteStore> {
    open_with(folder, SqliteOptions { checkpoint_bytes: 16 << 10, ..SqliteOptions::default() })
}

#[tokio::test]
async fn copying_the_log_is_no_change_by_others() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_copying(folder.path());
    let q = plain(&store).await;
    let before = store.foreign_changes().await.unwrap();
    let file_bytes = || std::fs::metadata(support::database(folder.path())).unwrap().len();
    let copied = async {
        while file_bytes() < 400_000 {
            let large = vec![NewMessage::new(vec![b'x'; 5000])];
            try_send(&store, q, large, at(0)).await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(30), copied).await.expect("the log is copied");
    assert_eq!(store.foreign_changes().await.unwrap(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_stores_that_both_copy_the_log_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (open_copying(folder.path()), open_copying(folder.path()));
    let q = plain(&one).await;
    let mut tasks = Vec::new();
    for (who, store) in [("one", &one), ("two", &two), ("one more", &one)] {
        let store = Arc::clone(store);
        tasks.push(tokio::spawn(async move {
            for n in 0..100 {
                let body = format!("{who}/{n}/{}", "x".repeat(2000));
                try_send(&store, q, vec![NewMessage::new(body)], at(0)).await.unwrap();
                if n % 2 == 0 {
                    let held = claim(&store, q, 1, at(0)).await;
                    ack_all(&store, q, &held, at(0)).await;
                }
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(counts(&one, q).await, [150, 0, 0, 0]);
    assert_eq!(counts(&two, q).await, [150, 0, 0, 0]);
    let whole: String =
        support::look(folder.path()).query_row("PRAGMA integrity_check", [], |r| r.get(0)).unwrap();
    assert_eq!(whole, "ok");
    one.close().await.unwrap();
    two.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_stores_never_lease_a_message_twice_and_lose_none() {
    const EACH: usize = 400;
    let folder = tempfile::tempdir().unwrap();
    let stores = [open(folder.path()), open(folder.path())];
    let q = plain(&stores[0]).await;
    let mut tasks = Vec::new();
    for store in &stores {
        let sender = Arc::clone(store);
        tasks.push(tokio::spawn(async move {
            for _ in 0..EACH / 4 {
                send(&sender, q, &["1", "2", "3", "4"]).await;
            }
            Vec::new()
        }));
        let taker = Arc::clone(store);
        tasks.push(tokio::spawn(async move {
            let mut seen = Vec::new();
            while stats_total(&taker, q).await > 0 || seen.len() < EACH / 2 {
                let taken = claim(&taker, q, 7, at(0)).await;
                seen.extend(taken.iter().map(|delivery| delivery.message.id));
                ack_all(&taker, q, &taken, at(0)).await;
            }
            seen
        }));
    }
    let mut all = Vec::new();
    for task in tasks {
        let done = tokio::time::timeout(Duration::from_secs(60), task).await;
        all.extend(done.expect("it ends in time").unwrap());
    }
    // One store may have seen the queue empty while the other still sent.
    while let [taken, ..] = claim(&stores[0], q, 1, at(0)).await.as_slice() {
        all.push(taken.message.id);
        ack_all(&stores[0], q, std::slice::from_ref(taken), at(0)).await;
    }
    let distinct: BTreeSet<_> = all.iter().collect();
    assert_eq!((all.len(), distinct.len()), (2 * EACH, 2 * EACH));
}

async fn stats_total(store: &Arc<slipring_sqlite::SqliteStore>, q: slipring::QueueId) -> u64 {
    verbs::stats(store, q).await.total()
}

#[tokio::test]
async fn a_locked_file_is_waited_for_within_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let options =
        SqliteOptions { busy_timeout: Duration::from_millis(50), ..SqliteOptions::default() };
    let store = support::open_with(folder.path(), options);
    let q = plain(&store).await;
    let other = support::look(folder.path());
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = try_send(&store, q, vec![NewMessage::new("a")], at(0)).await.unwrap_err();
    assert_eq!((refused.kind(), refused.retry()), (ErrorKind::StorageUnavailable, Retry::Later));
    assert_eq!(counts(&store, q).await, [0, 0, 0, 0], "looking needs no lock");
    other.execute_batch("COMMIT").unwrap();
    send(&store, q, &["a"]).await;
    assert_eq!(counts(&store, q).await, [1, 0, 0, 0]);
}
