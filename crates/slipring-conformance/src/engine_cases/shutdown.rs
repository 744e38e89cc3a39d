//! The end of an engine.

use slipring::{ErrorKind, Queue, QueueSettings, ReceiveRequest};
use tokio::task::JoinHandle;

use crate::bench::{Bench, m, refused, s};
use crate::case::{Case, case};
use crate::fault::{Fault, Verb};

use super::{EngineBench, got, send, take_one, until, waiter, within};

pub(super) const CASES: &[Case] = &[
    case!(a_shutdown_releases_waiting_receives_with_nothing, "S2.3"),
    case!(after_a_shutdown_calls_are_refused, "S2.2"),
    case!(a_shutdown_finishes_what_is_in_hand, "S1.1", "S4.1"),
    case!(a_shutdown_gives_back_what_is_claimed_for_nobody, "S2.3"),
    case!(a_shutdown_gives_back_a_message_that_was_claimed_by_its_id, "S2.3"),
    case!(a_shutdown_waits_for_administration_in_hand, "S1.3"),
    case!(a_shutdown_may_be_repeated, "S2.2"),
    case!(what_was_answered_before_a_shutdown_is_there_afterwards, needs Durable, "S1.1", "S4.1"),
];

async fn a_shutdown_releases_waiting_receives_with_nothing(b: Bench) {
    let e = EngineBench::open(b).await;
    let queues = [e.plain().await, e.queue("other", QueueSettings::default()).await];
    let mut waiters = Vec::new();
    for n in 0..20 {
        waiters.push(waiter(&queues[n % 2]).await);
    }
    let several = tokio::spawn({
        let (engine, queues) = (e.engine.clone(), queues.clone());
        let request = ReceiveRequest::up_to(1).wait(s(3600));
        async move { engine.receive_any(&queues, request).await }
    });
    until("it waits", async || queues[1].waiting() == 11).await;
    within("the shutdown", e.engine.shutdown()).await;
    for waits in waiters {
        assert!(got(waits).await.is_empty());
    }
    assert!(got(several).await.is_empty());
}

async fn after_a_shutdown_calls_are_refused(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    send(&q, "a").await;
    let held = take_one(&q).await;
    within("the shutdown", e.engine.shutdown()).await;
    refused(q.send(m("b")).await, ErrorKind::Closed);
    refused(q.receive(ReceiveRequest::up_to(1)).await, ErrorKind::Closed);
    refused(q.ack(&held.receipt).await, ErrorKind::Closed);
    refused(q.extend(vec![(held.receipt, None)]).await, ErrorKind::Closed);
    refused(q.stats().await, ErrorKind::Closed);
}

async fn a_shutdown_finishes_what_is_in_hand(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    send(&q, "a").await;
    let held = take_one(&q).await;
    e.store.plan(Verb::Append, 1, Fault::Hang);
    e.store.plan(Verb::Settle, 1, Fault::Hang);
    let sends = tokio::spawn({
        let q = q.clone();
        async move { q.send(m("b")).await }
    });
    let acks = tokio::spawn({
        let q = q.clone();
        async move { q.ack(&held.receipt).await }
    });
    e.store.hanging(2).await;
    let ends = tokio::spawn({
        let engine = e.engine.clone();
        async move { engine.shutdown().await }
    });
    until("new calls are refused", async || q.receive(ReceiveRequest::up_to(1)).await.is_err())
        .await;
    assert!(!ends.is_finished());
    e.store.release();
    within("the send", sends).await.unwrap().unwrap();
    within("the ack", acks).await.unwrap().unwrap();
    within("the shutdown", ends).await.unwrap();
}

async fn a_shutdown_may_be_repeated(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    let both = async {
        tokio::join!(e.engine.shutdown(), e.engine.shutdown());
        e.engine.shutdown().await;
    };
    within("the shutdowns", both).await;
    refused(q.send(m("a")).await, ErrorKind::Closed);
}

async fn what_was_answered_before_a_shutdown_is_there_afterwards(b: Bench) {
    let e = EngineBench::open(b.clone()).await;
    let q = e.plain().await;
    for n in 0..20 {
        send(&q, n.to_string()).await;
    }
    for _ in 0..10 {
        let held = take_one(&q).await;
        q.ack(&held.receipt).await.unwrap();
    }
    within("the shutdown", e.engine.shutdown()).await;
    drop((q, e));
    b.reopen_closed().await;
    let e = EngineBench::open(b).await;
    let q = e.engine.queue("queue").await.unwrap();
    for n in 10..20 {
        assert_eq!(take_one(&q).await.message.body, n.to_string());
    }
}

async fn a_shutdown_gives_back_what_is_claimed_for_nobody(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    send(&q, "a").await;
    e.store.plan(Verb::Claim, 1, Fault::HangAfter);
    let receives = tokio::spawn({
        let q = q.clone();
        async move { q.receive(ReceiveRequest::up_to(1)).await }
    });
    let ends = ends_without(&e, &q, receives).await;
    assert_eq!(e.store.calls(Verb::Settle), 0);
    e.store.release();
    within("the shutdown", ends).await.unwrap();
    assert_eq!(e.store.calls(Verb::Settle), 1);
}

async fn a_shutdown_gives_back_a_message_that_was_claimed_by_its_id(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    let sent = q.send(m("a")).await.unwrap();
    e.store.plan(Verb::ClaimMessage, 1, Fault::HangAfter);
    let claims = tokio::spawn({
        let q = q.clone();
        async move { q.claim_message(sent.id, ReceiveRequest::up_to(1)).await }
    });
    let ends = ends_without(&e, &q, claims).await;
    refused(q.claim_message(sent.id, ReceiveRequest::up_to(1)).await, ErrorKind::Closed);
    assert_eq!(e.store.calls(Verb::ClaimMessage), 1, "no other call gets in");
    e.store.release();
    within("the shutdown", ends).await.unwrap();
    assert_eq!(e.store.calls(Verb::Settle), 1);
}

async fn a_shutdown_waits_for_administration_in_hand(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    e.store.plan(Verb::Kick, 1, Fault::HangAfter);
    let kicks = tokio::spawn({
        let q = q.clone();
        async move { q.kick(1).await }
    });
    let ends = ends_without(&e, &q, kicks).await;
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    assert!(!ends.is_finished(), "the store is closed under the kick");
    e.store.release();
    within("the shutdown", ends).await.unwrap();
}

/// Begins a shutdown after the caller of a call that hangs has gone away; ends when the queue
/// refuses new calls.
async fn ends_without<T: std::fmt::Debug>(
    e: &EngineBench,
    q: &Queue,
    caller: JoinHandle<T>,
) -> JoinHandle<()> {
    e.store.hanging(1).await;
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    let engine = e.engine.clone();
    let ends = tokio::spawn(async move { engine.shutdown().await });
    until("the queue is closed", async || {
        let refused = q.receive(ReceiveRequest::up_to(1)).await;
        refused.is_err_and(|error| error.kind() == ErrorKind::Closed)
    })
    .await;
    ends
}
