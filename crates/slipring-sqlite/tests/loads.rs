//! How a load lies in the file: its lanes change hands, its rows do not; what it leaves goes in
//! steps (S15).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

mod support;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use slipring::store::Store;
use slipring::{
    AdminStore, ErrorKind, LoadId, LoadPart, LoadStore, NewMessage, QueueId, QueueSettings,
};
use slipring_conformance::verbs::{ack_all, at, claim, counts, drain, plain, queue, send};
use slipring_sqlite::{SqliteOptions, SqliteStore};
use support::{copy_as_after_a_crash, number, open, open_with};

async fn begin(store: &Arc<SqliteStore>, queue: QueueId) -> LoadId {
    store.begin_load(queue, at(0)).await.unwrap().id
}

fn part(load: LoadId, part: u32, count: usize, priority: u32) -> LoadPart {
    let message = |n| NewMessage::new(format!("{part}-{n}")).priority(priority);
    let messages = (0..count).map(message).collect();
    LoadPart { load, part, checksum: 7, now: at(0), messages }
}

/// Waits until the tables have so few rows.
async fn cleared(folder: &Path, store: &SqliteStore, tables: &[&str]) {
    let left = |table: &&str| number(folder, &format!("SELECT count(*) FROM {table}")) > 0;
    let all = async {
        while tables.iter().any(left) {
            store.foreign_changes().await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(30), all).await.expect("everything goes in time");
}

#[tokio::test]
async fn a_publication_gives_lanes_to_the_queue_and_touches_no_message() {
    // S15.1
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let q = plain(&store).await;
    let load = begin(&store, q).await;
    for number in 0..5 {
        store.append_load(part(load, number, 1000, 1024 + number % 2)).await.unwrap();
    }
    let owners = "SELECT count(*) FROM lane WHERE queue_id = (SELECT load_id FROM load)";
    assert_eq!(number(folder.path(), owners), 2);
    let rows = "SELECT count(*) || ':' || sum(position % 997) || ':' || max(rowid) FROM message";
    let rows = |folder: &Path| -> String {
        support::look(folder).query_row(rows, [], |row| row.get(0)).unwrap()
    };
    let before = rows(folder.path());
    store.publish_load(load, 5000, at(0)).await.unwrap();
    assert_eq!(rows(folder.path()), before);
    let owned = format!("SELECT count(*) FROM lane WHERE queue_id = {}", q.0);
    assert_eq!(number(folder.path(), &owned), 2);
    assert_eq!(counts(&store, q).await, [5000, 0, 0, 0]);
    cleared(folder.path(), &store, &["load_part"]).await;
    assert_eq!(drain(&store, q).await.len(), 5000);
    // What is sent now continues the lane of the load.
    send(&store, q, &["more"]).await;
    assert_eq!(number(folder.path(), &owned), 2);
    assert_eq!(drain(&store, q).await, ["more"]);
}

#[tokio::test]
async fn lanes_of_loads_that_were_drained_go() {
    // S12.4
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let q = plain(&store).await;
    send(&store, q, &["first"]).await;
    assert_eq!(drain(&store, q).await, ["first"]);
    let mut kept = Vec::new();
    for number in 0..50 {
        let load = begin(&store, q).await;
        store.append_load(part(load, 0, 3, 1024)).await.unwrap();
        store.append_load(part(load, 1, 2, number % 2)).await.unwrap();
        store.publish_load(load, 5, at(0)).await.unwrap();
        // One of them is still in somebody's hands while the next are published.
        let mut list = claim(&store, q, 5, at(0)).await;
        assert_eq!(list.len(), 5);
        if number == 20 {
            kept.push(list.pop().unwrap());
        }
        ack_all(&store, q, &list, at(0)).await;
    }
    let lanes = "SELECT count(*) FROM lane";
    assert_eq!(number(folder.path(), lanes), 4, "one for each priority, and the one that is held");
    ack_all(&store, q, &kept, at(0)).await;
    store.close().await.unwrap();
    let store = open(folder.path());
    send(&store, q, &["last"]).await;
    assert_eq!(drain(&store, q).await, ["last"]);
}

#[tokio::test]
async fn what_an_ended_load_leaves_is_cleared_away() {
    // S15.5
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let (q, other) = (plain(&store).await, queue(&store, "other", &QueueSettings::default()).await);
    let (abandoned, deleted) = (begin(&store, q).await, begin(&store, other).await);
    for number in 0..3 {
        store.append_load(part(abandoned, number, 900, number)).await.unwrap();
        store.append_load(part(deleted, number, 900, 1024)).await.unwrap();
    }
    store.abandon_load(abandoned).await.unwrap();
    store.delete_queue(other).await.unwrap();
    cleared(folder.path(), &store, &["message", "load", "load_part"]).await;
    let gone = store.append_load(part(abandoned, 9, 1, 0)).await.unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::LoadGone);
}

#[tokio::test]
async fn a_file_as_a_crash_leaves_it_has_the_load_or_the_publication() {
    // S15.1
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let q = plain(&store).await;
    let load = begin(&store, q).await;
    store.append_load(part(load, 0, 500, 1024)).await.unwrap();
    let (before, after) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    copy_as_after_a_crash(folder.path(), before.path());
    store.publish_load(load, 500, at(0)).await.unwrap();
    copy_as_after_a_crash(folder.path(), after.path());
    let crashed = open(before.path());
    assert_eq!(counts(&crashed, q).await, [0, 0, 0, 0]);
    crashed.append_load(part(load, 1, 1, 1024)).await.unwrap();
    crashed.publish_load(load, 501, at(0)).await.unwrap();
    assert_eq!(counts(&crashed, q).await, [501, 0, 0, 0]);
    let crashed = open(after.path());
    assert_eq!(counts(&crashed, q).await, [500, 0, 0, 0]);
    assert_eq!(crashed.publish_load(load, 500, at(0)).await.unwrap().messages, 500);
}

#[tokio::test]
async fn a_load_leaves_a_bounded_file_the_room_that_receives_need() {
    // S15.2
    let folder = tempfile::tempdir().unwrap();
    let options = SqliteOptions { file_bytes_max: Some(2 << 20), ..SqliteOptions::default() };
    let store = open_with(folder.path(), options);
    let q = plain(&store).await;
    send(&store, q, &["sent"]).await;
    let load = begin(&store, q).await;
    let mut full = None;
    for number in 0..100 {
        let mut large = part(load, number, 1, 1024);
        large.messages = vec![NewMessage::new(vec![0; 100_000])];
        if let Err(error) = store.append_load(large).await {
            full = Some((number, error.kind()));
            break;
        }
    }
    let (appended, kind) = full.expect("the file is full");
    assert_eq!(kind, ErrorKind::StorageFull);
    assert_eq!(drain(&store, q).await, ["sent"]);
    store.publish_load(load, u64::from(appended), at(0)).await.unwrap();
    assert_eq!(drain(&store, q).await.len(), appended as usize);
}
