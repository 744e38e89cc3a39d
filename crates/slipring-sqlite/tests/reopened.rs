//! What a new process finds: everything as it was, after a close and after a crash.
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
use slipring::store::{Demand, Store};
use slipring::{AdminStore, ErrorKind, MessageState, NewMessage, QueueSettings};
use slipring_conformance::verbs::{
    self, ack_all, at, bodies, claim, counts, extend, plain, send, settle, try_send,
};
use slipring_sqlite::SqliteStore;
use support::open;

/// Fills a queue with messages in every state; answers the deliveries that are held.
async fn fill(store: &std::sync::Arc<SqliteStore>) -> Vec<slipring::Delivery> {
    let q = plain(store).await;
    send(store, q, &["a", "b", "c", "d", "e", "f", "g"]).await;
    let held = claim(store, q, 5, at(0)).await;
    ack_all(store, q, &held[1..2], at(1)).await;
    let nack =
        Settlement::Nack { delay: Some(Duration::from_secs(60)), priority: None, reason: None };
    settle(store, q, &held[2], nack, at(1)).await.unwrap();
    settle(store, q, &held[3], Settlement::Park { priority: None }, at(1)).await.unwrap();
    let mut twin = NewMessage::new("h").dedup_id("once");
    twin.lease = Some(Duration::from_secs(7));
    try_send(store, q, vec![twin], at(1)).await.unwrap();
    held
}

/// Checks what [`fill`] has left.
async fn check(folder: &Path, held: &[slipring::Delivery]) {
    let store = open(folder);
    let q = plain(&store).await;
    assert_eq!(counts(&store, q).await, [3, 1, 2, 1]);
    assert_eq!(verbs::stats(&store, q).await.bytes, 7 + "once".len() as u64);
    // The dedup window is still open (S8.3).
    let again = vec![NewMessage::new("i").dedup_id("once")];
    assert!(try_send(&store, q, again, at(2)).await.unwrap()[0].duplicate);
    // The leases still hold (S1.4): an ack by the old receipt, an extension, and a lapse in time.
    assert_eq!(bodies(&claim(&store, q, 10, at(2)).await), ["f", "g", "h"]);
    settle(&store, q, &held[0], Settlement::Ack, at(2)).await.unwrap();
    let gone = settle(&store, q, &held[1], Settlement::Ack, at(2)).await.unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::MessageGone);
    assert!(extend(&store, q, &[held[4].receipt], 20, at(15)).await[0].is_ok());
    store.expire(at(34)).await.unwrap();
    assert!(claim(&store, q, 10, at(34)).await.iter().all(|d| d.message.body != "e"));
    store.expire(at(35)).await.unwrap();
    let again = claim(&store, q, 10, at(35)).await;
    let (attempts, body) = (again[0].message.attempts, &again[0].message.body);
    assert_eq!((attempts, body.as_ref()), (2, &b"e"[..]), "attempts are kept");
    assert!(again[0].receipt.fence > held[4].receipt.fence);
    store.due(at(61)).await.unwrap();
    assert_eq!(bodies(&claim(&store, q, 1, at(61)).await), ["c"]);
    assert_eq!(verbs::peek(&store, q, MessageState::Parked).await, ["d"]);
}

#[tokio::test]
async fn a_closed_store_comes_back_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let held = fill(&store).await;
    store.close().await.unwrap();
    check(folder.path(), &held).await;
}

#[tokio::test]
async fn after_a_crash_everything_answered_is_as_it_was() {
    // S1.1, S1.4: the files are taken away while the store is open.
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = open(folder.path());
    let held = fill(&store).await;
    support::copy_as_after_a_crash(folder.path(), other.path());
    check(other.path(), &held).await;
}

#[tokio::test]
async fn a_purge_takes_what_was_sent_before_the_clock_was_set_back_and_since() {
    // S14.5
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let q = plain(&store).await;
    let delayed = NewMessage::new("row").delay(Duration::from_secs(60));
    try_send(&store, q, vec![NewMessage::new("a"), delayed], at(1000)).await.unwrap();
    store.close().await.unwrap();
    let store = open(folder.path());
    try_send(&store, q, vec![NewMessage::new("b")], at(0)).await.unwrap();
    assert_eq!(store.purge(q, 2, at(0)).await.unwrap(), 2);
    // What is sent while it goes on stays, and keeps it from no end.
    try_send(&store, q, vec![NewMessage::new("c")], at(0)).await.unwrap();
    assert_eq!(store.purge(q, 1000, at(0)).await.unwrap(), 1);
    assert_eq!(store.purge(q, 1000, at(0)).await.unwrap(), 0);
    assert_eq!(counts(&store, q).await, [1, 0, 0, 0]);
    // The clock has caught up: a later send is told from an earlier one by its time.
    try_send(&store, q, vec![NewMessage::new("d")], at(1002)).await.unwrap();
    assert_eq!(store.purge(q, 1000, at(1001)).await.unwrap(), 1);
    assert_eq!(verbs::drain(&store, q).await, ["d"]);
}

#[tokio::test]
async fn a_dropped_store_lets_the_file_go() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..3_u32 {
        let store = open(folder.path());
        let q = plain(&store).await;
        send(&store, q, &["a"]).await;
        assert_eq!(counts(&store, q).await[0], u64::from(round) + 1);
    }
    assert!(!folder.path().join("slipring.db-wal").exists(), "the log was copied and removed");
}

#[tokio::test]
async fn calls_after_a_close_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let q = plain(&store).await;
    store.close().await.unwrap();
    store.close().await.unwrap();
    let sent = try_send(&store, q, vec![NewMessage::new("a")], at(0)).await;
    assert_eq!(sent.unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(store.queues().await.unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(store.check().await.unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn session_leases_end_with_the_process_and_others_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let settings = QueueSettings { max_attempts: Some(1), ..QueueSettings::default() };
    let session = |up_to| Demand { up_to, lease: None, session: true };
    let store = open(folder.path());
    let (q, once) = (plain(&store).await, verbs::queue(&store, "once", &settings).await);
    send(&store, q, &["a", "b", "c", "d"]).await;
    send(&store, once, &["e"]).await;
    let first = verbs::claim_with(&store, q, session(1), at(0)).await.0;
    settle(&store, q, &first[0], Settlement::HandBack, at(0)).await.unwrap();
    verbs::claim_with(&store, q, session(2), at(0)).await;
    claim(&store, q, 1, at(0)).await;
    verbs::claim_with(&store, once, session(1), at(0)).await;
    assert_eq!(counts(&store, q).await, [1, 0, 3, 0]);
    // Another process has the file: the sessions of this one may live.
    drop(open(folder.path()));
    assert_eq!(counts(&store, q).await, [1, 0, 3, 0]);
    store.close().await.unwrap();
    let store = open(folder.path());
    assert_eq!(counts(&store, q).await, [3, 0, 1, 0]);
    assert_eq!(counts(&store, once).await, [0, 0, 0, 1], "its last try is over");
    let again = claim(&store, q, 10, at(0)).await;
    assert_eq!(bodies(&again), ["a", "b", "d"]);
    let attempts: Vec<_> = again.iter().map(|delivery| delivery.message.attempts).collect();
    assert_eq!(attempts, [2, 2, 1], "the end of a session counts as a lapse");
}
