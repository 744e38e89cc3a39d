//! What a caller may rely on when a call fails or its answer is lost.

use std::sync::Arc;

use slipring::lifecycle::Settlement;
use slipring::store::{AppendBatch, ClaimBatch, Demand, SettleBatch};
use slipring::{Delivery, Error, ErrorKind, NewMessage, Retry};

use crate::bench::{Bench, QueueBench, m, refused, s};
use crate::case::{Case, case};
use crate::fault::{Fault, FaultyStore, Verb};

pub(super) const CASES: &[Case] = &[
    case!(a_send_that_failed_stored_nothing, "S2.2"),
    case!(a_send_whose_answer_was_lost_may_be_repeated_with_a_dedup_id, "S2.2", "S8.1"),
    case!(an_ack_whose_answer_was_lost_still_counts, "S4.1"),
    case!(an_ack_that_failed_may_be_repeated, "S2.1", "S3.4"),
    case!(a_receive_whose_answer_was_lost_loses_no_message, "S2.1", "S6.1"),
    case!(a_call_that_hangs_does_not_hold_up_others, "S11.1"),
];

fn faulty(b: &Bench) -> Arc<FaultyStore> {
    let store = FaultyStore::new(b.store());
    b.replace_store(Arc::clone(&store) as _);
    store
}

async fn send(b: &Bench, q: &QueueBench, message: NewMessage) -> Result<(), Error> {
    let batch = AppendBatch { queue: q.id, now: b.now(), messages: vec![message], units: vec![1] };
    b.store().append(batch).await.map(|_| ())
}

async fn ack(b: &Bench, q: &QueueBench, delivery: &Delivery) -> Result<(), Error> {
    let entries = vec![(delivery.receipt, Settlement::Ack)];
    let batch = SettleBatch { queue: q.id, now: b.now(), entries };
    b.store().settle(batch).await?.remove(0).map(|_| ())
}

async fn a_send_that_failed_stored_nothing(b: Bench) {
    let store = faulty(&b);
    let q = b.plain().await;
    store.plan(Verb::Append, 1, Fault::Before);
    let error = refused(send(&b, &q, m("a")).await, ErrorKind::StorageUnavailable);
    assert_eq!(error.retry(), Retry::Later);
    q.holds(0, 0, 0, 0).await;
    send(&b, &q, m("a")).await.unwrap();
    assert_eq!(q.drain().await, ["a"]);
}

async fn a_send_whose_answer_was_lost_may_be_repeated_with_a_dedup_id(b: Bench) {
    let store = faulty(&b);
    let q = b.plain().await;
    store.plan(Verb::Append, 1, Fault::After);
    let error = refused(send(&b, &q, m("a").dedup_id("x")).await, ErrorKind::StorageUnavailable);
    assert_eq!(error.retry(), Retry::Unknown);
    send(&b, &q, m("a").dedup_id("x")).await.unwrap();
    assert_eq!(q.drain().await, ["a"]);
}

async fn an_ack_whose_answer_was_lost_still_counts(b: Bench) {
    let store = faulty(&b);
    let q = b.plain().await;
    q.send("a").await;
    let delivery = q.claim_one().await;
    store.plan(Verb::Settle, 1, Fault::After);
    refused(ack(&b, &q, &delivery).await, ErrorKind::StorageUnavailable);
    refused(ack(&b, &q, &delivery).await, ErrorKind::MessageGone);
    b.pass(s(60)).await;
    assert!(q.claim(1).await.is_empty());
}

async fn an_ack_that_failed_may_be_repeated(b: Bench) {
    let store = faulty(&b);
    let q = b.plain().await;
    q.send("a").await;
    let delivery = q.claim_one().await;
    store.plan(Verb::Settle, 1, Fault::Before);
    refused(ack(&b, &q, &delivery).await, ErrorKind::StorageUnavailable);
    q.holds(0, 0, 1, 0).await;
    ack(&b, &q, &delivery).await.unwrap();
    q.holds(0, 0, 0, 0).await;
}

async fn a_receive_whose_answer_was_lost_loses_no_message(b: Bench) {
    let store = faulty(&b);
    let q = b.plain().await;
    q.send_all(["a", "b"]).await;
    store.plan(Verb::Claim, 1, Fault::After);
    let demands = vec![Demand { up_to: 2, lease: None, session: false }];
    let batch = ClaimBatch { queue: q.id, now: b.now(), demands };
    refused(b.store().claim(batch).await, ErrorKind::StorageUnavailable);
    q.holds(0, 0, 2, 0).await;
    b.pass(s(30)).await;
    assert_eq!(q.claim_one().await.message.attempts, 2);
    assert_eq!(q.take(1).await, ["b"]);
}

async fn a_call_that_hangs_does_not_hold_up_others(b: Bench) {
    let store = faulty(&b);
    let q = b.plain().await;
    store.plan(Verb::Append, 1, Fault::Hang);
    let stuck = tokio::spawn({
        let (b, q) = (b.clone(), q.clone());
        async move { send(&b, &q, m("stuck")).await }
    });
    store.hanging(1).await;
    q.send("a").await;
    assert_eq!(q.drain().await, ["a"]);
    store.release();
    stuck.await.unwrap().unwrap();
    assert_eq!(q.drain().await, ["stuck"]);
    assert_eq!(store.calls(Verb::Append), 2);
}
