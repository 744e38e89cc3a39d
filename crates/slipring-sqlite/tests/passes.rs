//! Passes and bulk operations over large messages go in steps of bounded bytes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

mod support;

use slipring::lifecycle::Settlement;
use slipring::store::{SettleBatch, Store};
use slipring::{AdminStore, MoveRequest, NewMessage, QueueSettings};
use slipring_conformance::verbs::{at, claim, counts, plain, queue, try_send};
use support::open;

const LARGE: usize = 64 << 10;
const COUNT: u64 = 20;
/// How many of them come to 1 MiB.
const STEP: u64 = 16;

#[tokio::test]
async fn large_messages_lapse_and_move_in_steps() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let (q, other) = (plain(&store).await, queue(&store, "b", &QueueSettings::default()).await);
    let large = NewMessage::new(vec![b'x'; LARGE]);
    try_send(&store, q, vec![large; COUNT as usize], at(0)).await.unwrap();
    // The first time from the log, the second time as rows.
    for round in [0, 100] {
        assert_eq!(claim(&store, q, 100, at(round)).await.len() as u64, COUNT);
        let now = at(round + 60);
        let pass = store.expire(now).await.unwrap();
        assert_eq!((pass.ready, pass.next), (vec![(q, STEP)], Some(now)), "round {round}");
        let pass = store.expire(now).await.unwrap();
        assert_eq!((pass.ready, pass.next), (vec![(q, COUNT - STEP)], None));
    }
    let request = MoveRequest { source: q, target: Some(other), limit: 100 };
    for moved in [STEP, COUNT - STEP] {
        let answer = store.move_messages(request, at(200)).await.unwrap();
        assert_eq!(answer, [(other, moved)]);
    }
    assert!(store.move_messages(request, at(200)).await.unwrap().is_empty());
}

#[tokio::test]
async fn large_delayed_and_parked_messages_become_ready_in_steps() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let q = plain(&store).await;
    let large = NewMessage::new(vec![b'x'; LARGE]).delay(std::time::Duration::from_secs(1));
    try_send(&store, q, vec![large; COUNT as usize], at(0)).await.unwrap();
    for ready in [STEP, COUNT - STEP] {
        assert_eq!(store.due(at(1)).await.unwrap().ready, [(q, ready)]);
    }
    let held = claim(&store, q, 100, at(1)).await;
    let park = Settlement::Park { priority: None };
    let entries = held.iter().map(|delivery| (delivery.receipt, park.clone())).collect();
    store.settle(SettleBatch { queue: q, now: at(1), entries }).await.unwrap();
    assert_eq!(counts(&store, q).await, [0, 0, 0, COUNT]);
    // A kick is one call for its callers.
    assert_eq!(store.kick(q, 18, at(1)).await.unwrap(), 18);
    assert_eq!(store.kick(q, 100, at(1)).await.unwrap(), COUNT - 18);
    assert_eq!(store.kick(q, 100, at(1)).await.unwrap(), 0);
}

#[tokio::test]
async fn large_messages_are_purged_and_grow_old_in_steps() {
    // S12.4, S14.4, S14.5
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let retention = Some(std::time::Duration::from_secs(10));
    let keeping = QueueSettings { retention, ..QueueSettings::default() };
    let (q, old) = (plain(&store).await, queue(&store, "old", &keeping).await);
    let large = NewMessage::new(vec![b'x'; LARGE]);
    for queue in [q, old] {
        try_send(&store, queue, vec![large.clone(); COUNT as usize], at(0)).await.unwrap();
    }
    // Some of them as rows.
    assert_eq!(claim(&store, q, 4, at(0)).await.len(), 4);
    store.expire(at(60)).await.unwrap();
    for purged in [STEP, COUNT - STEP, 0] {
        assert_eq!(store.purge(q, 10_000, at(60)).await.unwrap(), purged);
    }
    let pass = store.prune(at(60)).await.unwrap();
    assert_eq!((pass.removed, pass.next), (STEP, Some(at(60))));
    assert_eq!(store.prune(at(60)).await.unwrap().removed, COUNT - STEP);
    assert_eq!((counts(&store, q).await, counts(&store, old).await), ([0; 4], [0; 4]));
}
