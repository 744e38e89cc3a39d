//! A store that fails: callers hear of it, the engine goes on, and no message is forgotten.

use std::time::Duration;

use slipring::lifecycle::Settlement;
use slipring::store::AppendBatch;
use slipring::{Error, ErrorKind, QueueSettings, ReceiveRequest, Retry};

use crate::bench::{Bench, bodies, m, ms, refused, s, settings};
use crate::case::{Case, case};
use crate::fault::{Fault, Verb};

use super::{EngineBench, got, looked, receiving, send, take_one, texts, until, waiter, within};

pub(super) const CASES: &[Case] = &[
    case!(a_failing_send_answers_its_callers_and_the_next_succeeds, "S2.2"),
    case!(a_failing_claim_answers_its_callers_and_the_next_succeeds, "S2.1", "S2.4"),
    case!(a_failing_settlement_answers_its_callers_and_may_be_repeated, "S2.1", "S4.1"),
    case!(a_failing_extension_answers_its_callers, "S3.3"),
    case!(a_claim_whose_answer_was_lost_comes_back_when_it_lapses, "S2.1", "S5.3"),
    case!(a_send_whose_answer_was_lost_reaches_who_waits, "S2.2", "S2.4"),
    case!(a_delayed_send_whose_answer_was_lost_becomes_due, "S2.2", "S5.3"),
    case!(a_nack_whose_answer_was_lost_reaches_who_waits, "S2.4"),
    case!(a_hand_back_that_fails_comes_back_when_it_lapses, "S2.1", "S2.3"),
    case!(failing_passes_are_tried_again, "S5.3"),
    case!(a_queue_whose_store_call_hangs_does_not_hold_up_another, "S11.1"),
    case!(a_hanging_claim_does_not_hold_up_sends_and_acks, "S11.1"),
    case!(waiting_receives_outlive_a_failing_claim_of_others, "S2.4"),
    case!(others_are_heard_of_after_the_store_has_panicked, needs Shared, "S2.4"),
    case!(a_claim_that_panics_may_have_taken_messages, "S2.1", "S5.3"),
    case!(what_stores_and_panics_may_have_stored, "S2.2", "S2.4"),
    case!(administration_that_panics_may_have_taken_effect, "S2.4"),
    case!(retention_goes_on_after_the_store_has_panicked, needs ByQueue, "S14.4"),
];

async fn a_failing_send_answers_its_callers_and_the_next_succeeds(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    e.store.plan(Verb::Append, 1, Fault::Before);
    refused(q.send(m("a")).await, ErrorKind::StorageUnavailable);
    e.store.plan(Verb::Append, 1, Fault::Before);
    refused(q.send_batch(vec![m("a"), m("b")]).await, ErrorKind::StorageUnavailable);
    e.store.plan(Verb::Append, 1, Fault::Before);
    let each = q.send_each(vec![m("a"), m("b")]).await;
    assert!(each.iter().all(Result::is_err) && each.len() == 2);
    send(&q, "c").await;
    assert_eq!(bodies(&q.receive(ReceiveRequest::up_to(9)).await.unwrap()), ["c"]);
}

async fn a_failing_claim_answers_its_callers_and_the_next_succeeds(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    send(&q, "a").await;
    e.store.plan(Verb::Claim, 1, Fault::Before);
    let answer = q.receive(ReceiveRequest::up_to(1)).await;
    refused(answer, ErrorKind::StorageUnavailable);
    assert_eq!(take_one(&q).await.message.attempts, 1);
}

async fn a_failing_settlement_answers_its_callers_and_may_be_repeated(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    send(&q, "a").await;
    let held = take_one(&q).await;
    e.store.plan(Verb::Settle, 1, Fault::Before);
    refused(q.ack(&held.receipt).await, ErrorKind::StorageUnavailable);
    q.ack(&held.receipt).await.unwrap();
    refused(q.ack(&held.receipt).await, ErrorKind::MessageGone);
}

async fn a_failing_extension_answers_its_callers(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    send(&q, "a").await;
    let held = take_one(&q).await;
    e.store.plan(Verb::Extend, 1, Fault::Before);
    let mut answers = q.extend(vec![(held.receipt, Some(s(60)))]).await.unwrap();
    refused(answers.remove(0), ErrorKind::StorageUnavailable);
    assert!(q.extend(vec![(held.receipt, Some(s(60)))]).await.unwrap()[0].is_ok());
}

async fn a_claim_whose_answer_was_lost_comes_back_when_it_lapses(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    send(&q, "a").await;
    e.store.plan(Verb::Claim, 1, Fault::After);
    let answer = q.receive(ReceiveRequest::up_to(1)).await;
    refused(answer, ErrorKind::StorageUnavailable);
    assert_eq!(q.stats().await.unwrap().leased, 1);
    let waits = waiter(&q).await;
    // The engine was not told of the lease; it must find it all the same, if not in the same
    // moment.
    for _ in 0..20 {
        e.bench.advance(s(5));
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(got(waits).await[0].message.attempts, 2);
}

async fn a_send_whose_answer_was_lost_reaches_who_waits(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    let waits = waiter(&q).await;
    looked(&e).await;
    e.store.plan(Verb::Append, 1, Fault::After);
    refused(q.send(m("a")).await, ErrorKind::StorageUnavailable);
    assert_eq!(texts(waits).await, ["a"]);
}

async fn a_delayed_send_whose_answer_was_lost_becomes_due(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    e.store.plan(Verb::Append, 1, Fault::After);
    refused(q.send(m("a").delay(s(10))).await, ErrorKind::StorageUnavailable);
    let waits = waiter(&q).await;
    for _ in 0..20 {
        e.bench.advance(s(5));
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(texts(waits).await, ["a"]);
}

async fn a_nack_whose_answer_was_lost_reaches_who_waits(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    send(&q, "a").await;
    let held = take_one(&q).await;
    let waits = waiter(&q).await;
    e.store.plan(Verb::Settle, 1, Fault::After);
    refused(q.nack(&held.receipt, None).await, ErrorKind::StorageUnavailable);
    assert_eq!(texts(waits).await, ["a"]);
}

async fn a_hand_back_that_fails_comes_back_when_it_lapses(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    send(&q, "a").await;
    e.store.plan(Verb::Claim, 1, Fault::Hang);
    e.store.plan(Verb::Settle, 1, Fault::Before);
    let leaves = receiving(&q, ReceiveRequest::up_to(1).wait(s(60)));
    e.store.hanging(1).await;
    leaves.abort();
    assert!(leaves.await.unwrap_err().is_cancelled());
    e.store.release();
    until("it could not be handed back", async || e.store.calls(Verb::Settle) == 1).await;
    let waits = waiter(&q).await;
    e.bench.advance(s(30));
    assert_eq!(texts(waits).await, ["a"]);
}

async fn failing_passes_are_tried_again(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    q.send_batch(vec![m("leased"), m("delayed").delay(s(30))]).await.unwrap();
    take_one(&q).await;
    for verb in [Verb::Due, Verb::Expire, Verb::Prune] {
        e.store.plan(verb, 1, Fault::Before);
        e.store.plan(verb, 2, Fault::Before);
    }
    let waiters = [waiter(&q).await, waiter(&q).await];
    let mut passed = 0;
    until("both are ready again", async || {
        e.bench.advance(s(1));
        passed += 1;
        waiters.iter().all(tokio::task::JoinHandle::is_finished)
    })
    .await;
    assert!(passed >= 30);
}

async fn a_queue_whose_store_call_hangs_does_not_hold_up_another(b: Bench) {
    let e = EngineBench::open(b).await;
    let stuck = e.queue("stuck", QueueSettings::default()).await;
    let free = e.queue("free", QueueSettings::default()).await;
    e.store.plan(Verb::Append, 1, Fault::Hang);
    let hangs = tokio::spawn({
        let stuck = stuck.clone();
        async move { send(&stuck, "late").await }
    });
    e.store.hanging(1).await;
    for n in 0..10 {
        let waits = waiter(&free).await;
        within("a send to the other queue", send(&free, n.to_string())).await;
        let held = got(waits).await.remove(0);
        within("an ack", free.ack(&held.receipt)).await.unwrap();
    }
    assert!(!hangs.is_finished());
    e.store.release();
    within("the send", hangs).await.unwrap();
    assert_eq!(take_one(&stuck).await.message.body, "late");
}

async fn a_hanging_claim_does_not_hold_up_sends_and_acks(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    q.send_batch(vec![m("a"), m("b")]).await.unwrap();
    let held = take_one(&q).await;
    e.store.plan(Verb::Claim, 1, Fault::Hang);
    let hangs = receiving(&q, ReceiveRequest::up_to(1));
    e.store.hanging(1).await;
    within("a send", send(&q, "c")).await;
    within("an ack", q.ack(&held.receipt)).await.unwrap();
    e.store.release();
    assert_eq!(texts(hangs).await, ["b"]);
}

async fn waiting_receives_outlive_a_failing_claim_of_others(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.queue("queue", settings(|to| to.paused = true)).await;
    let waits = waiter(&q).await;
    looked(&e).await;
    e.store.plan(Verb::Claim, 1, Fault::Before);
    let answer = q.receive(ReceiveRequest::up_to(1)).await;
    refused(answer, ErrorKind::StorageUnavailable);
    q.configure(QueueSettings::default()).await.unwrap();
    send(&q, "a").await;
    let held = got(waits).await.remove(0);
    let done = q.settle(vec![(held.receipt, Settlement::Ack)]).await.unwrap();
    assert!(done[0].is_ok());
}

async fn others_are_heard_of_after_the_store_has_panicked(b: Bench) {
    let e = EngineBench::open(b.clone()).await;
    let q = e.plain().await;
    // However far the clock goes on meanwhile.
    let waits = receiving(&q, ReceiveRequest::up_to(1).wait(Duration::MAX));
    looked(&e).await;
    for verb in [Verb::ForeignChanges, Verb::Heads, Verb::Deadlines] {
        e.store.plan(verb, 1, Fault::Panic);
    }
    let other = b.second_handle().await;
    let batch = AppendBatch { queue: q.id(), now: b.now(), messages: vec![m("a")], units: vec![1] };
    other.store().append(batch).await.unwrap();
    until("the receive ends", async || {
        e.bench.advance(ms(5));
        waits.is_finished()
    })
    .await;
    assert_eq!(texts(waits).await, ["a"]);
}

async fn retention_goes_on_after_the_store_has_panicked(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.queue("queue", settings(|to| to.retention = Some(s(600)))).await;
    send(&q, "old").await;
    let looks = e.store.calls(Verb::Deadlines);
    e.store.plan(Verb::Deadlines, 1, Fault::Panic);
    until("the store panics", async || {
        e.bench.advance(s(1));
        e.store.calls(Verb::Deadlines) > looks
    })
    .await;
    e.bench.advance(s(600));
    until("the message has left", async || {
        e.bench.advance(s(1));
        q.stats().await.unwrap().total() == 0
    })
    .await;
}

/// Whether a call is answered that panicked after it took effect.
fn unknown<T>(answer: Result<T, Error>) -> bool {
    answer.is_err_and(|e| (e.kind(), e.retry()) == (ErrorKind::Internal, Retry::Unknown))
}

async fn a_claim_that_panics_may_have_taken_messages(b: Bench) {
    let e = EngineBench::open(b).await;
    let queues = [e.plain().await, e.queue("other", QueueSettings::default()).await];
    let [q, _] = &queues;
    let sent = q.send(m("a")).await.unwrap();
    let one = ReceiveRequest::up_to(1);
    for (attempts, verb) in [(2, Verb::Claim), (4, Verb::ClaimAny), (6, Verb::ClaimMessage)] {
        e.store.plan(verb, 1, Fault::PanicAfter);
        assert!(match verb {
            Verb::Claim => unknown(within("a receive", q.receive(one)).await),
            Verb::ClaimAny => unknown(within("it", e.engine.receive_any(&queues, one)).await),
            _ => unknown(within("a claim", q.claim_message(sent.id, one)).await),
        });
        assert_eq!(q.stats().await.unwrap().leased, 1);
        // However far the clock goes on meanwhile.
        let waits = receiving(q, one.wait(Duration::MAX).lease(s(1 << 30)));
        until("its lease lapses", async || {
            e.bench.advance(s(1));
            waits.is_finished()
        })
        .await;
        let taken = got(waits).await.remove(0);
        assert_eq!(taken.message.attempts, attempts);
        q.nack(&taken.receipt, None).await.unwrap();
    }
}

async fn what_stores_and_panics_may_have_stored(b: Bench) {
    for along in [false, true] {
        let b = b.another().await;
        let e = if along { EngineBench::along(b).await } else { EngineBench::open(b).await };
        let q = e.plain().await;
        let waits = waiter(&q).await;
        looked(&e).await;
        e.store.plan(Verb::Append, 1, Fault::PanicAfter);
        assert!(unknown(within("a send", q.send(m("a"))).await));
        let held = got(waits).await.remove(0);
        e.store.plan(Verb::Extend, 1, Fault::PanicAfter);
        let extended = within("an extension", q.extend(vec![(held.receipt, None)])).await;
        assert!(unknown(extended.unwrap().remove(0)));
        let waits = waiter(&q).await;
        e.store.plan(Verb::Settle, 1, Fault::PanicAfter);
        assert!(unknown(within("a nack", q.nack(&held.receipt, None)).await));
        assert_eq!(texts(waits).await, ["a"]);
    }
}

async fn administration_that_panics_may_have_taken_effect(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    send(&q, m("a").delay(s(1 << 20))).await;
    let waits = waiter(&q).await;
    looked(&e).await;
    e.store.plan(Verb::Kick, 1, Fault::PanicAfter);
    assert!(unknown(within("a kick", q.kick(1)).await));
    assert_eq!(texts(waits).await, ["a"]);
}
