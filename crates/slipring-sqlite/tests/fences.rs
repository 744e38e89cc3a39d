//! Fences after hand-outs that the file has forgotten: receipts given before a loss of power, or
//! before the return to a backup, settle no other lease.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

mod support;

use std::sync::Arc;

use slipring::lifecycle::Settlement;
use slipring::{Delivery, Durability, ErrorKind, QueueId, QueueSettings};
use slipring_conformance::verbs::{self, at, bodies, claim, counts, extend, send, settle};
use slipring_sqlite::SqliteStore;
use support::open;

const NACK: Settlement = Settlement::Nack { delay: None, priority: None, reason: None };

/// Checks that a receipt does nothing to a queue.
async fn is_lost(store: &Arc<SqliteStore>, q: QueueId, old: &Delivery) {
    let before = counts(store, q).await;
    for how in
        [Settlement::Ack, NACK, Settlement::HandBack, Settlement::DeadLetter { reason: None }]
    {
        let refused =
            settle(store, q, old, how.clone(), at(2)).await.expect_err("the receipt is old");
        assert_eq!(refused.kind(), ErrorKind::LeaseLost, "{how:?}");
    }
    let refused = extend(store, q, &[old.receipt], 60, at(2)).await.remove(0).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::LeaseLost);
    assert_eq!(counts(store, q).await, before);
}

#[tokio::test]
async fn a_hand_out_that_was_lost_has_another_fence_than_the_next() {
    // S1.4, S3.2 to S3.4
    for fifo in [false, true] {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = open(folder.path());
        let q = verbs::queue(&store, "q", &QueueSettings { fifo, ..Default::default() }).await;
        send(&store, q, &["a"]).await;
        support::copy_as_after_a_crash(folder.path(), other.path());
        let lost = claim(&store, q, 1, at(0)).await.remove(0);
        let store = open(other.path());
        is_lost(&store, q, &lost).await;
        let held = claim(&store, q, 1, at(1)).await.remove(0);
        assert_eq!(held.receipt.message, lost.receipt.message);
        is_lost(&store, q, &lost).await;
        // Also after many hand-outs within the millisecond of the first.
        settle(&store, q, &held, NACK, at(1)).await.unwrap();
        let held = claim(&store, q, 1, at(1)).await.remove(0);
        is_lost(&store, q, &lost).await;
        settle(&store, q, &held, Settlement::Ack, at(2)).await.unwrap();
    }
}

#[tokio::test]
async fn many_hand_outs_in_a_moment_use_up_no_later_fences() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = open(folder.path());
    let q = verbs::plain(&store).await;
    send(&store, q, &["a"]).await;
    support::copy_as_after_a_crash(folder.path(), other.path());
    let mut lost = claim(&store, q, 1, at(0)).await.remove(0);
    for _ in 0..1001 {
        settle(&store, q, &lost, Settlement::HandBack, at(0)).await.unwrap();
        let next = claim(&store, q, 1, at(0)).await.remove(0);
        assert!(next.receipt.fence > lost.receipt.fence);
        lost = next;
    }
    let store = open(other.path());
    let held = claim(&store, q, 1, at(1)).await.remove(0);
    assert!(held.receipt.fence > lost.receipt.fence, "a second has more fences than that");
    is_lost(&store, q, &lost).await;
}

#[tokio::test]
async fn a_number_that_is_given_again_is_not_settled_by_who_held_the_lost_message() {
    // S1.2: a relaxed queue may lose the message together with its hand-out.
    let relaxed = QueueSettings { durability: Durability::Relaxed, ..QueueSettings::default() };
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = open(folder.path());
    let q = verbs::queue(&store, "relaxed", &relaxed).await;
    send(&store, q, &["a"]).await;
    support::copy_as_after_a_crash(folder.path(), other.path());
    let lost = send(&store, q, &["lost"]).await;
    let lost_delivery = claim(&store, q, 2, at(0)).await.remove(1);
    let store = open(other.path());
    assert_eq!(send(&store, q, &["new"]).await, lost, "the number is given again");
    is_lost(&store, q, &lost_delivery).await;
    let held = claim(&store, q, 2, at(1)).await;
    assert_eq!(bodies(&held), ["a", "new"]);
    is_lost(&store, q, &lost_delivery).await;
    settle(&store, q, &held[1], Settlement::Ack, at(2)).await.unwrap();
}
