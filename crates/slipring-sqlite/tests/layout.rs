//! How messages lie in the file: one insert on the happy path, ranges for leases, rows for what
//! comes back.
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
use slipring::{AdminStore, Durability, ErrorKind, MessageId, NewMessage, QueueSettings, Waits};
use slipring_conformance::verbs::{
    self, ack_all, at, bodies, claim, counts, extend, plain, send, settle, try_send,
};
use slipring_sqlite::SqliteOptions;
use support::{number, open};

/// Lanes that belong to something.
const LANES: &str = "lane WHERE queue_id > 0";

fn rows(folder: &Path, table: &str) -> i64 {
    number(folder, &format!("SELECT count(*) FROM {table}"))
}

#[tokio::test]
async fn a_body_can_be_read_with_the_sqlite_shell() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let q = plain(&store).await;
    send(&store, q, &["hello"]).await;
    let sql = "SELECT position, CAST(body AS TEXT), (sent >> 20) FROM message";
    let row = support::look(folder.path())
        .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    assert_eq!(row.unwrap(), (1_i64, "hello".to_owned(), 1_700_000_000_000_i64));
}

#[tokio::test]
async fn a_lease_is_one_row_however_many_messages_and_receives() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let q = plain(&store).await;
    send(&store, q, &["x"; 500]).await;
    let demand = slipring::store::Demand { up_to: 100, lease: None, session: false };
    let batch = slipring::store::ClaimBatch { queue: q, now: at(0), demands: vec![demand; 5] };
    let claimed = store.claim(batch).await.unwrap();
    let held: Vec<_> = claimed.deliveries.into_iter().flatten().collect();
    assert_eq!((held.len(), rows(folder.path(), "lease")), (500, 1));
    // Prolonged as a whole it stays one row; in part it is split, and no message moves.
    let all: Vec<_> = held.iter().map(|delivery| delivery.receipt).collect();
    assert!(extend(&store, q, &all, 60, at(1)).await.iter().all(Result::is_ok));
    assert_eq!(rows(folder.path(), "lease"), 1);
    extend(&store, q, &all[100..101], 90, at(1)).await[0].as_ref().unwrap();
    assert_eq!((rows(folder.path(), "lease"), rows(folder.path(), "item")), (3, 0));
    // A pass is bounded in time, too.
    while store.expire(at(61)).await.unwrap().next == Some(at(61)) {}
    assert_eq!(counts(&store, q).await, [499, 0, 1, 0]);
    ack_all(&store, q, &held[..499], at(62)).await;
    assert_eq!((rows(folder.path(), "message"), rows(folder.path(), "item")), (0, 1));
    ack_all(&store, q, &held[499..], at(62)).await;
    assert_eq!(rows(folder.path(), "lease") + rows(folder.path(), "item"), 0);
}

#[tokio::test]
async fn a_batch_for_which_the_lanes_run_out_half_way_stores_nothing() {
    // S9.1
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());

    let settings = QueueSettings::default();
    let full = verbs::queue(&store, "full", &settings).await;
    send(&store, full, &["before"]).await;
    let half = verbs::queue(&store, "half", &settings).await;
    let other = verbs::queue(&store, "other", &settings).await;
    // One is left.
    let sql = "UPDATE store SET next_lane = 2147483647";
    support::look(folder.path()).execute(sql, []).unwrap();
    let batch = [1, 2].map(|priority| NewMessage::new("x").priority(priority));
    for queue in [half, full] {
        let refused = try_send(&store, queue, batch.to_vec(), at(0)).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::LimitExceeded, "{refused}");
        assert!(refused.message().contains("lanes"), "{refused}");
    }
    assert_eq!(counts(&store, half).await, [0; 4]);
    assert_eq!(counts(&store, full).await, [1, 0, 0, 0]);
    // What was not stored has used up nothing.
    send(&store, other, &["last"]).await;
    send(&store, full, &["goes on"]).await;
    try_send(&store, half, batch[..1].to_vec(), at(0)).await.unwrap_err();
    assert_eq!(verbs::drain(&store, other).await, ["last"]);
    assert_eq!(verbs::drain(&store, full).await, ["before", "goes on"]);
}

#[tokio::test]
async fn priorities_that_come_and_go_use_up_no_lanes() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let q = plain(&store).await;
    let mut ids = std::collections::BTreeSet::new();
    for first in [0, 500, 1000, 1500] {
        let of = |priority| NewMessage::new(format!("{priority}")).priority(priority);
        let batch: Vec<_> = (first..first + 500).map(of).collect();
        let sent = try_send(&store, q, batch, at(0)).await.unwrap();
        ids.extend(sent.into_iter().map(|sent| sent.id));
        let list = claim(&store, q, 500, at(0)).await;
        let expected: Vec<_> = (first..first + 500).map(|priority| priority.to_string()).collect();
        assert_eq!(bodies(&list), expected);
        ack_all(&store, q, &list, at(0)).await;
    }
    assert_eq!(ids.len(), 2000, "a number is given once");
    let lanes = number(folder.path(), "SELECT next_lane FROM store");
    assert!(lanes <= 1025, "{lanes} lanes were begun");
    // The next process finds them as they are.
    store.close().await.unwrap();
    let store = open(folder.path());
    let one = vec![NewMessage::new("one").priority(1999)];
    assert!(ids.insert(try_send(&store, q, one, at(0)).await.unwrap()[0].id));
    assert_eq!(verbs::drain(&store, q).await, ["one"]);
}

#[tokio::test]
async fn a_lane_that_is_full_is_followed_by_another() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let q = plain(&store).await;
    send(&store, q, &["a", "b"]).await;
    ack_all(&store, q, &claim(&store, q, 2, at(0)).await, at(0)).await;
    store.close().await.unwrap();
    let last = (1_i64 << 32) - 3;
    let sql = "UPDATE lane SET tail_seq = ?1, cursor_seq = ?1";
    support::look(folder.path()).execute(sql, [last]).unwrap();
    let store = open(folder.path());
    let ids = send(&store, q, &["c", "d", "e", "f"]).await;
    let next = 1_u64 << 32;
    assert_eq!(ids, [next - 2, next - 1, next + 1, next + 2].map(MessageId));
    assert_eq!(counts(&store, q).await, [4, 0, 0, 0]);
    let held = claim(&store, q, 3, at(0)).await;
    assert_eq!(bodies(&held), ["c", "d", "e"]);
    settle(&store, q, &held[0], Settlement::HandBack, at(0)).await.unwrap();
    assert_eq!(bodies(&claim(&store, q, 3, at(0)).await), ["c", "f"], "the order is kept");
}

#[tokio::test]
async fn priorities_beyond_the_lanes_stand_in_rows_and_keep_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let q = plain(&store).await;
    let messages = |priorities: std::ops::Range<u32>| {
        priorities.map(|n| NewMessage::new(n.to_string()).priority(n)).collect::<Vec<_>>()
    };
    verbs::try_send(&store, q, messages(0..1100), at(0)).await.unwrap();
    verbs::try_send(&store, q, messages(0..1100), at(0)).await.unwrap();
    assert_eq!((rows(folder.path(), "message"), rows(folder.path(), "item")), (2048, 152));
    let all = bodies(&claim(&store, q, 2200, at(0)).await);
    let wanted: Vec<_> = (0..1100).flat_map(|n| [n.to_string(), n.to_string()]).collect();
    assert_eq!(all, wanted);
}

#[tokio::test]
async fn a_priority_takes_the_place_of_one_without_messages() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let q = plain(&store).await;
    for round in 0..5_u32 {
        let message = |n: u32| NewMessage::new(n.to_string()).priority(round * 500 + n);
        verbs::try_send(&store, q, (0..500).map(message).collect(), at(0)).await.unwrap();
        assert_eq!((rows(folder.path(), "message"), rows(folder.path(), "item")), (500, 0));
        assert!(rows(folder.path(), "lane") <= 1024);
        let held = claim(&store, q, 500, at(0)).await;
        let wanted: Vec<_> = (0..500).map(|n| n.to_string()).collect();
        assert_eq!(bodies(&held), wanted);
        ack_all(&store, q, &held, at(0)).await;
        // A receipt of a message whose lane is gone is refused like any other.
        let late = settle(&store, q, &held[0], Settlement::Park { priority: None }, at(1)).await;
        assert_eq!(late.unwrap_err().kind(), slipring::ErrorKind::MessageGone);
    }
}

#[tokio::test]
async fn only_what_must_last_is_flushed() {
    // S1.2, S1.4
    let folder = tempfile::tempdir().unwrap();
    let waits = Waits::new();
    let options = SqliteOptions { waits: waits.clone(), ..SqliteOptions::default() };
    let store = support::open_with(folder.path(), options);
    let q = plain(&store).await;
    let relaxed = QueueSettings { durability: Durability::Relaxed, ..QueueSettings::default() };
    let relaxed = verbs::queue(&store, "relaxed", &relaxed).await;
    let flushes = || waits.class("sqlite.flush").snapshot().acquisitions;
    let before = flushes();
    send(&store, relaxed, &["a"]).await;
    let held = claim(&store, relaxed, 1, at(0)).await;
    ack_all(&store, relaxed, &held, at(0)).await;
    assert_eq!(flushes(), before, "a relaxed queue is not flushed");
    send(&store, q, &["a"]).await;
    assert_eq!(flushes(), before + 1);
    let held = claim(&store, q, 1, at(0)).await;
    assert_eq!(flushes(), before + 1, "a hand-out is not flushed");
    ack_all(&store, q, &held, at(0)).await;
    assert_eq!(flushes(), before + 2);
}

#[tokio::test]
async fn queues_that_come_and_go_use_up_no_lanes() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let mut ids = std::collections::BTreeSet::new();
    for round in 0..30 {
        let settings = QueueSettings { fifo: round % 3 == 1, ..QueueSettings::default() };
        let q = verbs::queue(&store, "reply", &settings).await;
        let sent = send(&store, q, &["a", "b", "c"]).await;
        // Where nothing was, the messages alone show which numbers were given.
        if round % 2 == 1 {
            assert_eq!(claim(&store, q, 1, at(0)).await.len(), 1);
        }
        assert!(sent.into_iter().all(|id| ids.insert(id)), "a number is given once");
        store.delete_queue(q).await.unwrap();
        let cleared = async {
            while rows(folder.path(), "queue") > 0 {
                store.foreign_changes().await.unwrap();
            }
        };
        tokio::time::timeout(Duration::from_secs(30), cleared).await.expect("it goes in time");
    }
    let lanes = number(folder.path(), "SELECT next_lane FROM store");
    assert!(lanes <= 2, "{lanes} lanes were begun");
    assert_eq!(rows(folder.path(), LANES), 0);
}

#[tokio::test]
async fn a_deleted_queue_is_cleared_away_in_steps() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let fifo = QueueSettings { fifo: true, ..QueueSettings::default() };
    let (q, f) = (plain(&store).await, verbs::queue(&store, "fifo", &fifo).await);
    for _ in 0..5 {
        send(&store, q, &["x"; 1000]).await;
    }
    let grouped = |n: u32| NewMessage::new("x").group(n.to_string()).dedup_id(n.to_string());
    let grouped = (0..50).map(grouped).collect();
    verbs::try_send(&store, f, grouped, at(0)).await.unwrap();
    claim(&store, q, 100, at(0)).await;
    store.delete_queue(q).await.unwrap();
    store.delete_queue(f).await.unwrap();
    assert!(store.queues().await.unwrap().is_empty());
    assert!(store.lookup(MessageId(1), at(0)).await.unwrap().is_none());
    let left = || {
        ["message", "item", "lease", LANES, "fifo_group", "dedup", "item_count", "queue"]
            .iter()
            .map(|table| rows(folder.path(), table))
            .sum::<i64>()
    };
    tokio::time::timeout(Duration::from_secs(30), async {
        while left() > 0 {
            store.foreign_changes().await.unwrap();
        }
    })
    .await
    .expect("everything goes in time");
}
