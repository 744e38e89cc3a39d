//! The engine's timers: never early, and by themselves.

use slipring::{ErrorKind, Limits, QueueSettings, ReceiveRequest, Timestamp};

use crate::bench::{Bench, START, bodies, m, ms, s, settings};
use crate::case::{Case, case};
use crate::fault::{Fault, Verb};

use super::{EngineBench, got, next, receiving, send, take_one, texts, until, waiter, within};

pub(super) const CASES: &[Case] = &[
    case!(a_wait_ends_empty_at_its_time_and_not_before, "S5.4"),
    case!(waits_of_different_lengths_end_one_by_one, "S5.4"),
    case!(a_wait_without_end_never_ends_empty, "S5.4"),
    case!(a_wait_over_the_limit_is_refused, "S5.4", "S12.2"),
    case!(a_delay_ends_by_itself_and_not_before, "S5.1", "S5.3"),
    case!(an_earlier_delay_sent_later_ends_first, "S5.1", "S5.3"),
    case!(a_lease_lapses_by_itself_and_not_before, "S5.2", "S5.3"),
    case!(an_extended_lease_does_not_lapse_at_its_first_deadline, "S5.2"),
    case!(a_shortened_lease_lapses_at_its_new_deadline, "S5.2", "S5.3"),
    case!(a_backoff_ends_by_itself, "S5.3", "S6.5"),
    case!(a_pause_ends_by_itself, "S5.3", "S14.3"),
    case!(old_messages_leave_within_a_minute, "S14.4"),
    case!(what_became_due_while_nobody_ran_is_found_at_the_start, "S5.3"),
    case!(many_delays_end_together, "S5.3"),
    case!(what_is_due_is_there_for_a_receive_that_does_not_wait, threads 2, "S5.5"),
    case!(what_is_due_when_a_wait_ends_is_there_for_it, "S5.4", "S5.5"),
    case!(a_lease_that_is_over_is_not_in_flight, "S5.2", "S5.5", "S12.2"),
    case!(what_is_due_is_there_for_a_receive_over_several, threads 2, "S5.5"),
];

async fn a_wait_ends_empty_at_its_time_and_not_before(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    for length in [1000, 1001, 1003, 1007] {
        let early = receiving(&q, ReceiveRequest::up_to(1).wait(ms(length)));
        until("the receive waits", async || q.waiting() == 1).await;
        e.bench.advance(ms(length - 1));
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        send(&q, "probe").await;
        let probe = super::got(early).await;
        assert_eq!(bodies(&probe), ["probe"], "one millisecond was left");
        q.ack(&probe[0].receipt).await.unwrap();
        let waits = receiving(&q, ReceiveRequest::up_to(1).wait(ms(length)));
        until("the receive waits", async || q.waiting() == 1).await;
        e.bench.advance(ms(length + 50));
        assert!(texts(waits).await.is_empty());
        assert_eq!(q.waiting(), 0);
    }
}

async fn waits_of_different_lengths_end_one_by_one(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    let mut waits = Vec::new();
    for seconds in [30, 10, 20, 3600] {
        let before = q.waiting();
        waits.push(receiving(&q, ReceiveRequest::up_to(1).wait(s(seconds))));
        until("the receive waits", async || q.waiting() > before).await;
    }
    for (nth, left) in [(1, 3), (2, 2), (0, 1)] {
        e.bench.advance(ms(10_016));
        until("one wait ends", async || q.waiting() == left).await;
        until("its receive ends", async || waits[nth].is_finished()).await;
    }
    assert!(!waits[3].is_finished());
}

async fn a_wait_without_end_never_ends_empty(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    let waits = receiving(&q, ReceiveRequest::up_to(1).wait(std::time::Duration::MAX));
    until("the receive waits", async || q.waiting() == 1).await;
    for _ in 0..5 {
        e.bench.advance(s(1 << 30));
        tokio::task::yield_now().await;
    }
    send(&q, "a").await;
    assert_eq!(texts(waits).await, ["a"]);
}

async fn a_wait_over_the_limit_is_refused(b: Bench) {
    let limits = Limits { wait_max: s(10), ..Limits::default() };
    let e = EngineBench::with_limits(b, limits).await;
    let queues = [e.plain().await, e.queue("other", QueueSettings::default()).await];
    let request = ReceiveRequest::up_to(1);
    for wait in [ms(10_001), s(1 << 40)] {
        let one = within("the receive", queues[0].receive(request.wait(wait))).await;
        let several = e.engine.receive_any(&queues, request.wait(wait));
        for answer in [one, within("the receive", several).await] {
            let error = answer.expect_err("it is longer than the limit");
            assert_eq!(error.kind(), ErrorKind::LimitExceeded);
            assert!(error.context().contains(&("limit", "wait_seconds_max".to_owned())), "{error}");
        }
    }
    let waits = receiving(&queues[0], request.wait(s(10)));
    until("the receive waits", async || queues[0].waiting() == 1).await;
    e.bench.advance(ms(10_016));
    assert!(got(waits).await.is_empty());
}

async fn a_delay_ends_by_itself_and_not_before(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    q.send(m("a").delay(s(10))).await.unwrap();
    let waits = waiter(&q).await;
    e.bench.advance(ms(9_999));
    send(&q, "now").await;
    assert_eq!(texts(waits).await, ["now"], "nothing else is ready");
    let waits = waiter(&q).await;
    e.bench.advance(ms(1));
    assert_eq!(texts(waits).await, ["a"]);
}

async fn an_earlier_delay_sent_later_ends_first(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    q.send(m("late").delay(s(100))).await.unwrap();
    q.send(m("soon").delay(s(5))).await.unwrap();
    let waits = waiter(&q).await;
    e.bench.advance(s(5));
    assert_eq!(texts(waits).await, ["soon"]);
    let waits = waiter(&q).await;
    e.bench.advance(s(95));
    // The lease of "soon" has lapsed as well by then.
    let first = texts(waits).await;
    let second = texts(next(&q)).await;
    let mut both = [first, second].concat();
    both.sort();
    assert_eq!(both, ["late", "soon"]);
}

async fn a_lease_lapses_by_itself_and_not_before(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    send(&q, "a").await;
    let first = take_one(&q).await;
    assert_eq!(first.deadline, START.after(s(30)));
    let waits = waiter(&q).await;
    e.bench.advance(ms(29_999));
    send(&q, "b").await;
    assert_eq!(texts(waits).await, ["b"], "the lease is still valid");
    let waits = waiter(&q).await;
    e.bench.advance(ms(1));
    let again = super::got(waits).await;
    assert_eq!((bodies(&again), again[0].message.attempts), (vec!["a".to_owned()], 2));
}

async fn an_extended_lease_does_not_lapse_at_its_first_deadline(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    send(&q, "a").await;
    let held = take_one(&q).await;
    e.bench.advance(s(20));
    let later = q.extend(vec![(held.receipt, Some(s(30)))]).await.unwrap().remove(0).unwrap();
    assert_eq!(later, START.after(s(50)));
    let waits = waiter(&q).await;
    e.bench.advance(ms(29_999));
    send(&q, "b").await;
    assert_eq!(texts(waits).await, ["b"]);
    q.ack(&held.receipt).await.unwrap();
}

async fn a_shortened_lease_lapses_at_its_new_deadline(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    send(&q, "a").await;
    let held = take_one(&q).await;
    let waits = waiter(&q).await;
    assert!(q.extend(vec![(held.receipt, Some(s(3)))]).await.unwrap()[0].is_ok());
    e.bench.advance(s(3));
    assert_eq!(texts(waits).await, ["a"]);
}

async fn a_backoff_ends_by_itself(b: Bench) {
    let e = EngineBench::open(b).await;
    let backoff = slipring::Backoff::Fixed { delay: s(7) };
    let q = e.queue("queue", settings(|to| to.backoff = backoff)).await;
    send(&q, "a").await;
    let held = take_one(&q).await;
    q.nack(&held.receipt, None).await.unwrap();
    let waits = waiter(&q).await;
    e.bench.advance(s(7));
    assert_eq!(texts(waits).await, ["a"]);
}

async fn a_pause_ends_by_itself(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    send(&q, "a").await;
    let end = Some(START.after(s(60)));
    q.configure(settings(|to| to.paused_until = end)).await.unwrap();
    let waits = waiter(&q).await;
    e.bench.advance(ms(59_999));
    assert!(q.receive(ReceiveRequest::up_to(1)).await.unwrap().is_empty());
    assert!(!waits.is_finished());
    e.bench.advance(ms(1));
    assert_eq!(texts(waits).await, ["a"]);
}

async fn old_messages_leave_within_a_minute(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.queue("queue", settings(|to| to.retention = Some(s(600)))).await;
    send(&q, "a").await;
    e.bench.advance(s(599));
    assert_eq!(q.stats().await.unwrap().total(), 1);
    e.bench.advance(s(61));
    until("the message leaves", async || q.stats().await.unwrap().total() == 0).await;
}

async fn what_became_due_while_nobody_ran_is_found_at_the_start(b: Bench) {
    let q = b.named("queue", settings(|_| {})).await;
    q.send_all([m("leased"), m("delayed").delay(s(5))]).await;
    q.claim_one().await;
    b.advance(s(1000));
    let e = EngineBench::open(b).await;
    let q = e.engine.queue("queue").await.unwrap();
    let mut all = texts(next(&q)).await;
    all.extend(texts(next(&q)).await);
    all.sort();
    assert_eq!(all, ["delayed", "leased"]);
}

async fn many_delays_end_together(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    let delayed = (0..2000).map(|n| m(&n.to_string()).delay(ms(1000 + n % 50))).collect();
    q.send_batch(delayed).await.unwrap();
    e.bench.advance(ms(1050));
    assert!(e.bench.now() < Timestamp::MAX);
    let all = async {
        let mut count = 0;
        while count < 2000 {
            let list = q.receive(ReceiveRequest::up_to(500).wait(s(3600))).await.unwrap();
            count += list.len();
        }
    };
    within("all delays", all).await;
}

async fn what_is_due_is_there_for_a_receive_that_does_not_wait(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    for round in 0..50 {
        q.send(m("a").delay(s(10))).await.unwrap();
        e.bench.advance(s(10));
        let first = take_one(&q).await;
        assert_eq!(first.message.body, "a", "the delay of round {round} has ended");
        e.bench.advance(s(30));
        let second = take_one(&q).await;
        assert_eq!(second.message.attempts, 2, "the lease of round {round} has lapsed");
        q.ack(&second.receipt).await.unwrap();
    }
}

async fn what_is_due_is_there_for_a_receive_over_several(b: Bench) {
    let e = EngineBench::open(b).await;
    let queues = [e.queue("one", settings(|_| {})).await, e.queue("two", settings(|_| {})).await];
    for round in 0..50 {
        queues[1].send(m("a").delay(s(10))).await.unwrap();
        e.bench.advance(s(10));
        let got = e.engine.receive_any(&queues, ReceiveRequest::up_to(1)).await.unwrap();
        assert_eq!(bodies(&got), ["a"], "the delay of round {round} has ended");
        queues[1].ack(&got[0].receipt).await.unwrap();
    }
}

async fn what_is_due_when_a_wait_ends_is_there_for_it(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    send(&q, m("a").delay(s(10))).await;
    let waits = receiving(&q, ReceiveRequest::up_to(1).wait(s(20)));
    until("it waits", async || q.waiting() == 1).await;
    e.store.idle().await;
    e.store.plan(Verb::Due, 1, Fault::Hang);
    e.bench.advance(s(10));
    e.store.hanging(1).await;
    e.bench.advance(s(10));
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!waits.is_finished(), "the pass is under way");
    e.store.release();
    assert_eq!(texts(waits).await, ["a"]);
}

async fn a_lease_that_is_over_is_not_in_flight(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.queue("queue", settings(|to| to.in_flight_max = 1)).await;
    send(&q, "a").await;
    take_one(&q).await;
    e.store.plan(Verb::Expire, 1, Fault::Hang);
    e.bench.advance(s(30));
    e.store.hanging(1).await;
    let takes = receiving(&q, ReceiveRequest::up_to(1));
    until("it has looked", async || e.store.calls(Verb::Claim) == 2).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    e.store.release();
    assert_eq!(texts(takes).await, ["a"]);
}
