//! What a deleted queue has left when the process that deleted it did not clear it away.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

mod support;

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use slipring::store::{Demand, Store};
use slipring::{AdminStore, NewMessage, QueueSettings};
use slipring_conformance::verbs::{self, at, claim_with, counts, plain, queue, send, try_send};
use slipring_sqlite::SqliteStore;
use support::{number, open};

/// Deletes a queue as a process does that ends before it has cleared the queue away.
fn delete(folder: &Path, name: &str) {
    let sql = "UPDATE queue SET deleted = 1 WHERE name = ?1";
    assert_eq!(support::look(folder).execute(sql, [name]).unwrap(), 1);
}

/// Lanes that belong to something.
const LANES: &str = "lane WHERE queue_id > 0";

/// Waits until nothing is left of deleted queues.
async fn cleared(folder: &Path, store: &SqliteStore) {
    let all = async {
        let tables = ["message", "item", "lease", LANES, "fifo_group", "item_count", "queue"];
        let left = |table| number(folder, &format!("SELECT count(*) FROM {table}"));
        while tables.iter().any(|table| left(table) > 0) {
            store.foreign_changes().await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(30), all).await.expect("everything goes in time");
}

#[tokio::test]
async fn a_file_opens_with_sessions_of_a_queue_that_is_no_more() {
    for fifo in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        let q = queue(&store, "q", &QueueSettings { fifo, ..QueueSettings::default() }).await;
        send(&store, q, &["a", "b"]).await;
        let session = Demand { up_to: 1, lease: None, session: true };
        assert_eq!(claim_with(&store, q, session, at(0)).await.0.len(), 1);
        store.close().await.unwrap();
        delete(folder.path(), "q");
        let (opened, wait) = mpsc::channel();
        let path = support::database(folder.path());
        std::thread::spawn(move || opened.send(SqliteStore::open(path, Default::default())));
        let store = wait.recv_timeout(Duration::from_secs(30)).expect("it is opened in time");
        cleared(folder.path(), &store.unwrap()).await;
    }
}

#[tokio::test]
async fn messages_of_a_queue_that_another_process_deleted_keep_no_others_back() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let settings = QueueSettings::default();
    let dead = queue(&store, "dead", &settings).await;
    let live = queue(&store, "live", &settings).await;
    let delayed = |seconds| NewMessage::new("x").delay(Duration::from_secs(seconds));
    try_send(&store, dead, vec![delayed(1); 1000], at(0)).await.unwrap();
    try_send(&store, live, vec![delayed(2)], at(0)).await.unwrap();
    delete(folder.path(), "dead");
    // A pass takes 64 of a thousand at least, however slow the machine is.
    let mut next = None;
    for _ in 0..1000_usize.div_ceil(64) + 1 {
        next = store.due(at(3)).await.unwrap().next;
    }
    assert_eq!((counts(&store, live).await, next), ([1, 0, 0, 0], None));
}

#[tokio::test]
async fn leases_of_a_queue_that_another_process_deleted_keep_no_others_back() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    // Messages of a FIFO queue are rows, each with its lease.
    let fifo = QueueSettings { fifo: true, ..QueueSettings::default() };
    let (dead, live) = (queue(&store, "dead", &fifo).await, queue(&store, "live", &fifo).await);
    let grouped = |n: u32| NewMessage::new("x").group(n.to_string());
    try_send(&store, dead, (0..1000).map(grouped).collect(), at(0)).await.unwrap();
    try_send(&store, live, vec![grouped(0)], at(0)).await.unwrap();
    assert_eq!(verbs::claim(&store, dead, 1000, at(0)).await.len(), 1000);
    assert_eq!(verbs::claim(&store, live, 1, at(1)).await.len(), 1);
    delete(folder.path(), "dead");
    // A pass takes 64 of a thousand at least, however slow the machine is.
    let mut next = None;
    for _ in 0..1000_usize.div_ceil(64) + 1 {
        next = store.expire(at(40)).await.unwrap().next;
    }
    assert_eq!((counts(&store, live).await, next), ([1, 0, 0, 0], None));
}

#[tokio::test]
async fn pruning_clears_away_what_another_process_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let q = plain(&store).await;
    send(&store, q, &["x"; 10]).await;
    verbs::claim(&store, q, 3, at(0)).await;
    delete(folder.path(), "plain");
    store.prune(at(0)).await.unwrap();
    cleared(folder.path(), &store).await;
}
