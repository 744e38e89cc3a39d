//! Callers that go away in the middle of a call.

use std::task::Poll;

use slipring::{ErrorKind, ReceiveRequest};

use crate::bench::{Bench, m, refused, s, settings};
use crate::case::{Case, case};
use crate::fault::{Fault, Verb};

use super::{EngineBench, got, next, receiving, send, take_one, texts, until, waiter, within};

pub(super) const CASES: &[Case] = &[
    case!(a_receive_dropped_while_it_waits_claims_nothing, "S2.3"),
    case!(a_receive_dropped_during_its_claim_hands_back_uncounted, "S2.3"),
    case!(what_a_dropped_receive_hands_back_goes_to_the_next, "S2.3", "S2.4"),
    case!(dropped_receives_leave_the_others_their_turn, "S2.3", "S2.4"),
    case!(receives_dropped_at_any_moment_lose_nothing, threads 4, "S2.1", "S2.3"),
    case!(a_receive_over_several_queues_dropped_with_its_answer_hands_back, "S2.3"),
    case!(a_send_whose_caller_left_does_not_hold_up_others, "S2.2"),
    case!(a_settlement_whose_caller_left_still_counts, "S4.1"),
    case!(a_kick_whose_caller_left_wakes, "S2.4", "S6.6"),
    case!(a_deletion_whose_caller_left_is_known, "S4.2", "S14.2"),
    case!(a_message_taken_by_number_for_nobody_is_handed_back, "S2.3"),
];

async fn a_receive_dropped_while_it_waits_claims_nothing(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    let leaves = waiter(&q).await;
    leaves.abort();
    until("it has left", async || q.waiting() == 0).await;
    send(&q, "a").await;
    let stats = q.stats().await.unwrap();
    assert_eq!((stats.ready, stats.leased), (1, 0));
    assert_eq!(take_one(&q).await.message.attempts, 1);
}

async fn a_receive_dropped_during_its_claim_hands_back_uncounted(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    q.send_batch(vec![m("a"), m("b")]).await.unwrap();
    e.store.plan(Verb::Claim, 1, Fault::Hang);
    let leaves = receiving(&q, ReceiveRequest::up_to(2).wait(s(60)));
    e.store.hanging(1).await;
    leaves.abort();
    assert!(leaves.await.unwrap_err().is_cancelled());
    e.store.release();
    until("both are handed back", async || {
        e.store.calls(Verb::Settle) == 1 && q.stats().await.unwrap().ready == 2
    })
    .await;
    for wanted in ["a", "b"] {
        let delivery = take_one(&q).await;
        assert_eq!((&delivery.message.body[..], delivery.message.attempts), (wanted.as_bytes(), 1));
    }
}

async fn what_a_dropped_receive_hands_back_goes_to_the_next(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    send(&q, "a").await;
    e.store.plan(Verb::Claim, 1, Fault::Hang);
    let leaves = receiving(&q, ReceiveRequest::up_to(1).wait(s(60)));
    e.store.hanging(1).await;
    let stays = receiving(&q, ReceiveRequest::up_to(1).wait(s(3600)));
    until("the second is in", async || q.waiting() == 1).await;
    leaves.abort();
    assert!(leaves.await.unwrap_err().is_cancelled());
    e.store.release();
    let list = got(stays).await;
    assert_eq!(list[0].message.attempts, 1);
}

async fn dropped_receives_leave_the_others_their_turn(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    let mut waiters = Vec::new();
    for _ in 0..20 {
        waiters.push(waiter(&q).await);
    }
    for leaves in waiters.iter().step_by(2) {
        leaves.abort();
    }
    until("ten have left", async || q.waiting() == 10).await;
    for (n, stays) in waiters.into_iter().skip(1).step_by(2).enumerate() {
        send(&q, n.to_string()).await;
        assert_eq!(texts(stays).await, [n.to_string()]);
    }
}

async fn receives_dropped_at_any_moment_lose_nothing(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    for round in 0..200 {
        let leaves = receiving(&q, ReceiveRequest::up_to(1).wait(s(3600)));
        let sending = tokio::spawn({
            let q = q.clone();
            async move { send(&q, round.to_string()).await }
        });
        for _ in 0..round % 7 {
            tokio::task::yield_now().await;
        }
        leaves.abort();
        sending.await.unwrap();
        let list = match leaves.await {
            Ok(list) => list.unwrap(),
            Err(_) => got(receiving(&q, ReceiveRequest::up_to(1).wait(s(3600)))).await,
        };
        assert_eq!(list[0].message.attempts, 1, "a receive that nobody took is not counted");
        q.ack(&list[0].receipt).await.unwrap();
    }
    assert_eq!(q.stats().await.unwrap().total(), 0);
}

async fn a_receive_over_several_queues_dropped_with_its_answer_hands_back(b: Bench) {
    let e = EngineBench::open(b).await;
    let queues = [e.queue("one", settings(|_| {})).await, e.queue("two", settings(|_| {})).await];
    for q in &queues {
        send(q, "a").await;
    }
    let mut leaves = Box::pin(e.engine.receive_any(&queues, ReceiveRequest::up_to(1)));
    let waits = std::future::poll_fn(|cx| Poll::Ready(leaves.as_mut().poll(cx).is_pending())).await;
    assert!(waits, "its claim is under way");
    let leased = async || {
        let mut leased = 0;
        for q in &queues {
            leased += q.stats().await.unwrap().leased;
        }
        leased
    };
    until("something is claimed for it", async || leased().await > 0).await;
    // The answer is on its way or there; it is not looked at.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    drop(leaves);
    until("it is handed back", async || leased().await == 0).await;
    for q in &queues {
        assert_eq!(take_one(q).await.message.attempts, 1);
    }
}

async fn a_send_whose_caller_left_does_not_hold_up_others(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    e.store.plan(Verb::Append, 1, Fault::Hang);
    let leaves = tokio::spawn({
        let q = q.clone();
        async move { q.send(m("left")).await }
    });
    e.store.hanging(1).await;
    leaves.abort();
    assert!(leaves.await.unwrap_err().is_cancelled());
    send(&q, "b").await;
    e.store.release();
    // It got in before its caller left, so it is stored, and whoever waits hears of it.
    let mut all = texts(next(&q)).await;
    all.extend(texts(next(&q)).await);
    all.sort();
    assert_eq!(all, ["b", "left"]);
}

async fn a_settlement_whose_caller_left_still_counts(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    send(&q, "a").await;
    let held = take_one(&q).await;
    e.store.plan(Verb::Settle, 1, Fault::Hang);
    let leaves = tokio::spawn({
        let q = q.clone();
        async move { q.ack(&held.receipt).await }
    });
    e.store.hanging(1).await;
    leaves.abort();
    e.store.release();
    until("the message is gone", async || q.stats().await.unwrap().total() == 0).await;
}

async fn a_kick_whose_caller_left_wakes(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    send(&q, m("a").delay(s(60))).await;
    let waits = waiter(&q).await;
    e.store.plan(Verb::Kick, 1, Fault::HangAfter);
    let kicks = tokio::spawn({
        let q = q.clone();
        async move { q.kick(1).await }
    });
    e.store.hanging(1).await;
    kicks.abort();
    assert!(kicks.await.unwrap_err().is_cancelled());
    e.store.release();
    assert_eq!(texts(waits).await, ["a"]);
}

async fn a_deletion_whose_caller_left_is_known(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    let waits = waiter(&q).await;
    e.store.plan(Verb::DeleteQueue, 1, Fault::HangAfter);
    let deletes = tokio::spawn({
        let (engine, q) = (e.engine.clone(), q.clone());
        async move { engine.delete_queue(&q).await }
    });
    e.store.hanging(1).await;
    deletes.abort();
    assert!(deletes.await.unwrap_err().is_cancelled());
    e.store.release();
    refused(within("the receive", waits).await.unwrap(), ErrorKind::QueueNotFound);
    let again = e.plain().await;
    assert_ne!(again.id(), q.id());
    send(&again, "a").await;
    assert_eq!(take_one(&again).await.message.body, "a");
}

async fn a_message_taken_by_number_for_nobody_is_handed_back(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    let sent = q.send(m("a")).await.unwrap();
    e.store.plan(Verb::ClaimMessage, 1, Fault::HangAfter);
    let takes = tokio::spawn({
        let q = q.clone();
        async move { q.claim_message(sent.id, ReceiveRequest::up_to(1)).await }
    });
    e.store.hanging(1).await;
    takes.abort();
    assert!(takes.await.unwrap_err().is_cancelled());
    e.store.release();
    let again = next(&q);
    assert_eq!(got(again).await[0].message.attempts, 1);
}
