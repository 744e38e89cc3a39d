//! Calls that wait at the same time share a call of the store, and each gets its own answer.

use slipring::lifecycle::Settlement;
use slipring::{ErrorKind, Limits, Queue, ReceiveRequest};

use crate::bench::{Bench, bodies, m, refused, s, settings};
use crate::case::{Case, case};
use crate::fault::{Fault, Verb};

use super::{EngineBench, send, until, within};

pub(super) const CASES: &[Case] = &[
    case!(sends_that_wait_together_share_a_call, "S9.1"),
    case!(receives_that_wait_together_share_a_call, "S2.4"),
    case!(a_bad_batch_does_not_touch_the_callers_beside_it, "S9.1"),
    case!(every_caller_gets_the_answers_to_its_own_settlements, "S9.3"),
    case!(each_message_of_send_each_is_answered_for_itself, "S9.1"),
    case!(a_settlement_that_hangs_does_not_hold_up_others, "S9.3"),
    case!(a_limit_of_no_callers_lets_them_in_one_by_one, "S12.3"),
    case!(callers_beyond_the_limit_wait_their_turn, "S12.3"),
    case!(bytes_beyond_the_limit_wait_their_turn, "S12.3"),
    case!(one_caller_s_sends_stay_in_order, threads 4, "S7.1", "S9.2"),
    case!(what_is_out_of_range_is_refused_before_it_is_stored, "S12.2"),
    case!(a_delay_out_of_range_is_refused_and_nothing_settled, "S12.2"),
    case!(settings_out_of_range_are_refused, "S12.2"),
];

fn sending(q: &Queue, body: String) -> tokio::task::JoinHandle<()> {
    let q = q.clone();
    tokio::spawn(async move { send(&q, body).await })
}

async fn sends_that_wait_together_share_a_call(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    for nth in 1..=4 {
        e.store.plan(Verb::Append, nth, Fault::Hang);
    }
    let mut tasks = vec![sending(&q, "first".to_owned())];
    e.store.hanging(1).await;
    tasks.extend((0..200).map(|n| sending(&q, n.to_string())));
    for _ in 0..500 {
        tokio::task::yield_now().await;
    }
    until("all are sent", async || {
        e.store.release();
        tasks.iter().all(tokio::task::JoinHandle::is_finished)
    })
    .await;
    let calls = e.store.calls(Verb::Append);
    assert!(calls <= 10, "{calls} calls for 201 sends");
    assert_eq!(q.stats().await.unwrap().ready, 201);
}

async fn receives_that_wait_together_share_a_call(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    q.send_batch((0..100).map(|n| m(&n.to_string())).collect()).await.unwrap();
    e.store.plan(Verb::Claim, 1, Fault::Hang);
    let first = super::receiving(&q, ReceiveRequest::up_to(1));
    e.store.hanging(1).await;
    let others: Vec<_> = (0..99).map(|_| super::receiving(&q, ReceiveRequest::up_to(1))).collect();
    until("all are in", async || q.waiting() == 99).await;
    e.store.release();
    assert_eq!(super::texts(first).await, ["0"]);
    for (n, other) in others.into_iter().enumerate() {
        assert_eq!(super::texts(other).await, [(n + 1).to_string()]);
    }
    let calls = e.store.calls(Verb::Claim);
    assert!(calls <= 4, "{calls} calls for 100 receives");
}

async fn a_bad_batch_does_not_touch_the_callers_beside_it(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.queue("queue", settings(|to| to.messages_max = Some(4))).await;
    e.store.plan(Verb::Append, 1, Fault::Hang);
    let first = sending(&q, "first".to_owned());
    e.store.hanging(1).await;
    let batch = |count: usize| {
        let q = q.clone();
        tokio::spawn(async move { q.send_batch(vec![m("x"); count]).await })
    };
    let (good, bad, also_good) = (batch(2), batch(3), batch(1));
    e.store.release();
    within("the first", first).await.unwrap();
    let answers = [good.await.unwrap(), bad.await.unwrap(), also_good.await.unwrap()];
    let stored: usize = answers.iter().flatten().map(Vec::len).sum();
    assert_eq!(q.stats().await.unwrap().ready as usize, stored + 1, "whole batches or nothing");
    let refusals = answers.iter().filter_map(|answer| answer.as_ref().err());
    assert!(refusals.clone().count() >= 1);
    assert!(refusals.into_iter().all(|error| error.kind() == ErrorKind::LimitExceeded));
}

async fn every_caller_gets_the_answers_to_its_own_settlements(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    q.send_batch((0..30).map(|n| m(&n.to_string())).collect()).await.unwrap();
    let taken = q.receive(ReceiveRequest::up_to(30)).await.unwrap();
    let gone: Vec<_> = taken.iter().step_by(3).map(|d| (d.receipt, Settlement::Ack)).collect();
    q.settle(gone).await.unwrap();
    e.store.plan(Verb::Settle, 1, Fault::Hang);
    let mut tasks = Vec::new();
    for three in taken.chunks(3) {
        let (q, three) = (q.clone(), three.to_vec());
        tasks.push(tokio::spawn(async move {
            let entries = three.iter().map(|d| (d.receipt, Settlement::Ack)).collect();
            q.settle(entries).await.unwrap()
        }));
    }
    e.store.hanging(1).await;
    e.store.release();
    for task in tasks {
        let answers = within("the settlements", task).await.unwrap();
        let done: Vec<_> = answers.iter().map(Result::is_ok).collect();
        assert_eq!(done, [false, true, true]);
    }
}

async fn each_message_of_send_each_is_answered_for_itself(b: Bench) {
    let e = EngineBench::open(b).await;
    let small = settings(|to| {
        to.message_bytes_max = 10;
        to.messages_max = Some(3);
    });
    let q = e.queue("queue", small).await;
    let list = ["a", "far too long a text", "b", "c", "d"].map(m).to_vec();
    let answers = q.send_each(list).await;
    let stored: Vec<_> = answers.iter().map(Result::is_ok).collect();
    assert_eq!(stored, [true, false, true, true, false]);
    assert!(q.send_each(Vec::new()).await.is_empty());
    assert_eq!(bodies(&q.receive(ReceiveRequest::up_to(9)).await.unwrap()), ["a", "b", "c"]);
}

async fn a_settlement_that_hangs_does_not_hold_up_others(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    q.send_batch(vec![m("a"), m("b")]).await.unwrap();
    let taken = q.receive(ReceiveRequest::up_to(2)).await.unwrap();
    e.store.plan(Verb::Settle, 1, Fault::Hang);
    let (other, first) = (q.clone(), taken[0].receipt);
    let hangs = tokio::spawn(async move { other.ack(&first).await });
    e.store.hanging(1).await;
    within("the ack beside it", q.ack(&taken[1].receipt)).await.unwrap();
    assert!(!hangs.is_finished());
    e.store.release();
    within("the ack that hung", hangs).await.unwrap().unwrap();
    assert_eq!(q.stats().await.unwrap().total(), 0);
}

async fn callers_beyond_the_limit_wait_their_turn(b: Bench) {
    let limits = Limits { combiner_requests_max: 3, ..Limits::default() };
    let e = EngineBench::with_limits(b, limits).await;
    let q = e.plain().await;
    for nth in 1..=2 {
        e.store.plan(Verb::Append, nth, Fault::Hang);
    }
    let tasks: Vec<_> = (0..50).map(|n| sending(&q, n.to_string())).collect();
    e.store.hanging(2).await;
    assert!(tasks.iter().all(|task| !task.is_finished()));
    e.store.release();
    for task in tasks {
        within("a send", task).await.unwrap();
    }
    assert_eq!(q.stats().await.unwrap().ready, 50);
}

async fn bytes_beyond_the_limit_wait_their_turn(b: Bench) {
    let limits = Limits { combiner_bytes_max: 1000, ..Limits::default() };
    let e = EngineBench::with_limits(b, limits).await;
    let q = e.plain().await;
    for nth in 1..=2 {
        e.store.plan(Verb::Append, nth, Fault::Hang);
    }
    // Each is over the limit alone; it gets in when nothing else is there.
    let tasks: Vec<_> = (0..10).map(|_| sending(&q, "x".repeat(1500))).collect();
    e.store.hanging(1).await;
    until("the first turns end", async || {
        e.store.release();
        tasks.iter().all(tokio::task::JoinHandle::is_finished)
    })
    .await;
    assert_eq!(q.stats().await.unwrap().bytes, 15_000);
}

async fn one_caller_s_sends_stay_in_order(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    let callers: Vec<_> = (0..4)
        .map(|caller| {
            let q = q.clone();
            tokio::spawn(async move {
                for n in 0..50 {
                    send(&q, format!("{caller}/{n:02}")).await;
                }
            })
        })
        .collect();
    for caller in callers {
        within("a caller", caller).await.unwrap();
    }
    let all = bodies(&q.receive(ReceiveRequest::up_to(1000)).await.unwrap());
    assert_eq!(all.len(), 200);
    for caller in 0..4 {
        let own = all.iter().filter(|body| body.starts_with(&format!("{caller}/")));
        assert!(own.is_sorted(), "the sends of caller {caller}");
    }
}

async fn what_is_out_of_range_is_refused_before_it_is_stored(b: Bench) {
    let limits = Limits { batch_messages_max: 5, batch_bytes_max: 60, ..Limits::default() };
    let e = EngineBench::with_limits(b, limits).await;
    let q = e.queue("queue", settings(|to| to.message_bytes_max = 20)).await;
    let refusals = [
        q.send(m(&"x".repeat(21))).await.map(|_| ()),
        q.send(m("a").group("g".repeat(129))).await.map(|_| ()),
        q.send(m("a").dedup_id("d".repeat(129))).await.map(|_| ()),
        q.send(m("a").delay(s((1 << 32) + 1))).await.map(|_| ()),
        q.send_batch(vec![m("a"); 6]).await.map(|_| ()),
        q.send_batch(vec![m(&"x".repeat(16)); 4]).await.map(|_| ()),
        q.receive(ReceiveRequest::up_to(0)).await.map(|_| ()),
        q.receive(ReceiveRequest::up_to(10_001)).await.map(|_| ()),
        q.receive(ReceiveRequest::up_to(1).lease(s((1 << 32) + 1))).await.map(|_| ()),
    ];
    for refusal in refusals {
        let error = refused(refusal, ErrorKind::LimitExceeded);
        assert!(error.context().iter().any(|(key, _)| *key == "limit"), "{error}");
    }
    let error = refused(
        q.send_batch(vec![m("a"), m("b"), m(&"x".repeat(21))]).await,
        ErrorKind::LimitExceeded,
    );
    assert!(error.context().contains(&("index", "2".to_owned())), "{error}");
    assert_eq!((e.store.calls(Verb::Append), e.store.calls(Verb::Claim)), (0, 0));
    send(&q, "x".repeat(20)).await;
}

async fn a_delay_out_of_range_is_refused_and_nothing_settled(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    q.send_batch(vec![m("a"), m("b")]).await.unwrap();
    let held = q.receive(ReceiveRequest::up_to(2)).await.unwrap();
    let (first, second) = (held[0].receipt, held[1].receipt);
    let nack = |seconds| Settlement::Nack { delay: Some(s(seconds)), priority: None, reason: None };
    let beyond = (1 << 32) + 1;
    refused(
        q.settle(vec![(first, Settlement::Ack), (second, nack(beyond))]).await,
        ErrorKind::LimitExceeded,
    );
    refused(q.nack(&first, Some(s(beyond))).await, ErrorKind::LimitExceeded);
    refused(q.extend(vec![(first, Some(s(beyond)))]).await, ErrorKind::LimitExceeded);
    assert_eq!((e.store.calls(Verb::Settle), e.store.calls(Verb::Extend)), (0, 0));
    let answers = q.settle(vec![(first, Settlement::Ack), (second, nack(1 << 32))]).await.unwrap();
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
}

async fn settings_out_of_range_are_refused(b: Bench) {
    let e = EngineBench::with_limits(b, Limits { queues_max: 1, ..Limits::default() }).await;
    for wrong in [
        settings(|to| to.visibility_timeout = s((1 << 32) + 1)),
        settings(|to| to.max_attempts = Some(0)),
        settings(|to| to.in_flight_max = 0),
        settings(|to| to.message_bytes_max = 1 << 40),
    ] {
        let answer = e.engine.create_queue("queue", wrong).await;
        let kind = answer.expect_err("it is out of range").kind();
        assert!(matches!(kind, ErrorKind::Invalid | ErrorKind::LimitExceeded), "{kind:?}");
    }
    for name in ["", "-a", "a b", "ä", &"x".repeat(201)] {
        refused(e.engine.create_queue(name, settings(|_| {})).await, ErrorKind::Invalid);
    }
    let q = e.plain().await;
    let answer = e.engine.create_queue("another", settings(|_| {})).await;
    refused(answer, ErrorKind::LimitExceeded);
    assert_eq!(e.plain().await.id(), q.id(), "the one that is there");
    let answer = q.configure(settings(|to| to.max_attempts = Some(0))).await;
    refused(answer, ErrorKind::Invalid);
}

async fn a_limit_of_no_callers_lets_them_in_one_by_one(b: Bench) {
    let limits = Limits { combiner_requests_max: 0, combiner_bytes_max: 0, ..Limits::default() };
    let e = EngineBench::with_limits(b, limits).await;
    let q = e.plain().await;
    let sends = (0..20).map(|_| q.send(m("a")));
    let sent = within("the sends", futures::future::join_all(sends)).await;
    assert!(sent.iter().all(Result::is_ok));
    assert_eq!(q.stats().await.unwrap().ready, 20);
}
