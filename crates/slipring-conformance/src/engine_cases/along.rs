//! Hand-outs in the call that stores the messages: who gets what, and that no message and no
//! receive is forgotten when the call fails, hangs or meets others.

use slipring::store::Sent;
use slipring::{Error, ErrorKind, Queue, QueueSettings, ReceiveRequest};
use tokio::task::JoinHandle;

use crate::bench::{Bench, bodies, m, refused, s};
use crate::case::{Case, case};
use crate::fault::{Fault, Verb};

use super::{
    EngineBench, arrival, got, next, receiving, send, take_one, texts, until, waiter, waiting,
};

pub(super) const CASES: &[Case] = &[
    case!(a_send_hands_out_to_receives_at_rest_in_its_own_call, needs SideBySide, "S2.4"),
    case!(a_send_of_many_serves_receives_in_the_order_they_came, needs SideBySide, "S2.4"),
    case!(what_a_send_leaves_is_there_for_the_next_receive, needs SideBySide, "S2.4"),
    case!(a_delayed_send_hands_out_nothing, needs SideBySide, "S2.4", "S5.1"),
    case!(a_send_that_fails_leaves_the_receives_at_rest, needs SideBySide, "S2.2", "S2.4"),
    case!(a_send_whose_hand_out_fails_still_reaches_who_waits, needs SideBySide, "S2.2", "S2.4"),
    case!(a_lost_hand_out_comes_back_when_it_lapses, needs SideBySide, "S2.1", "S5.3"),
    case!(what_is_sent_while_a_send_hands_out_reaches_the_next, needs SideBySide, "S2.4"),
    case!(a_receive_that_comes_during_a_hand_out_is_served_after_it, needs SideBySide, "S2.4"),
    case!(a_receive_that_goes_away_while_a_send_hands_out_gives_back, needs SideBySide, "S2.3"),
    case!(a_shutdown_waits_for_a_send_that_hands_out, needs SideBySide, "S2.2", "S2.3"),
    case!(no_wake_up_is_lost_where_sends_hand_out, SideBySide, 4, "S2.4"),
    case!(every_message_finds_a_receiver_where_sends_hand_out, SideBySide, 4, "S2.1", "S2.4"),
    case!(queues_that_ping_and_pong_never_stop_where_sends_hand_out, SideBySide, 4, "S2.4"),
    case!(over_several_all_are_served_in_order_of_arrival, needs SideBySide, "S2.4", "S2.5"),
    case!(receives_over_several_miss_nothing_where_sends_hand_out, SideBySide, 4, "S2.4", "S2.5"),
];

/// A send in a task of its own.
fn sending(queue: &Queue, text: &str) -> JoinHandle<Result<Sent, Error>> {
    let (queue, message) = (queue.clone(), m(text));
    tokio::spawn(async move { queue.send(message).await })
}

async fn a_send_hands_out_to_receives_at_rest_in_its_own_call(b: Bench) {
    let e = EngineBench::along(b).await;
    let q = e.plain().await;
    for round in 0..10u64 {
        let waits = waiter(&q).await;
        e.store.idle().await;
        let claims = e.store.calls(Verb::Claim);
        send(&q, round.to_string()).await;
        assert_eq!(texts(waits).await, [round.to_string()]);
        assert_eq!(e.store.calls(Verb::AppendAndClaim), round + 1);
        assert_eq!(e.store.calls(Verb::Claim), claims + 1, "its own and no other look");
    }
    send(&q, "for later").await;
    assert_eq!(e.store.calls(Verb::AppendAndClaim), 10);
    assert_eq!(take_one(&q).await.message.attempts, 1);
}

async fn a_send_of_many_serves_receives_in_the_order_they_came(b: Bench) {
    let e = EngineBench::along(b).await;
    let q = e.plain().await;
    let one = waiter(&q).await;
    let many = receiving(&q, ReceiveRequest::up_to(2).wait(s(3600)));
    until("both wait", async || q.waiting() == 2).await;
    e.store.idle().await;
    q.send_batch(["a", "b", "c", "d"].map(m).into()).await.unwrap();
    assert_eq!(texts(one).await, ["a"]);
    assert_eq!(texts(many).await, ["b", "c"]);
    assert_eq!(e.store.calls(Verb::AppendAndClaim), 1);
    assert_eq!(bodies(&q.receive(ReceiveRequest::up_to(9)).await.unwrap()), ["d"]);
}

async fn what_a_send_leaves_is_there_for_the_next_receive(b: Bench) {
    let e = EngineBench::along(b).await;
    let q = e.plain().await;
    let one = waiter(&q).await;
    e.store.idle().await;
    q.send_batch(["a", "b", "c"].map(m).into()).await.unwrap();
    assert_eq!(texts(one).await, ["a"]);
    assert_eq!(e.store.calls(Verb::AppendAndClaim), 1);
    for text in ["b", "c"] {
        assert_eq!(texts(next(&q)).await, [text]);
    }
}

async fn a_delayed_send_hands_out_nothing(b: Bench) {
    let e = EngineBench::along(b).await;
    let q = e.queue("late", QueueSettings { delay: s(5), ..QueueSettings::default() }).await;
    let waits = waiter(&q).await;
    e.store.idle().await;
    send(&q, m("own").delay(s(3))).await;
    assert_eq!(e.store.calls(Verb::AppendAndClaim), 0);
    // The engine does not know of the queue's own delay; the store gives nothing.
    send(&q, "the queue's").await;
    e.store.idle().await;
    assert_eq!(q.waiting(), 1);
    e.bench.clock.advance(s(3));
    assert_eq!(texts(waits).await, ["own"]);
    let waits = waiter(&q).await;
    e.bench.clock.advance(s(2));
    assert_eq!(texts(waits).await, ["the queue's"]);
}

async fn a_send_that_fails_leaves_the_receives_at_rest(b: Bench) {
    let e = EngineBench::along(b).await;
    let q = e.plain().await;
    let waits = waiter(&q).await;
    e.store.idle().await;
    for verb in [Verb::AppendAndClaim, Verb::Append] {
        e.store.plan(verb, 1, Fault::Before);
        refused(q.send(m("a")).await, ErrorKind::StorageUnavailable);
        assert!(!waits.is_finished());
        assert_eq!(q.waiting(), 1);
    }
    let claims = e.store.calls(Verb::Claim);
    send(&q, "b").await;
    assert_eq!(texts(waits).await, ["b"]);
    assert_eq!(e.store.calls(Verb::Claim), claims + 1, "they rested on without a look");
}

async fn a_send_whose_hand_out_fails_still_reaches_who_waits(b: Bench) {
    let e = EngineBench::along(b).await;
    let q = e.plain().await;
    let waits = waiter(&q).await;
    e.store.idle().await;
    e.store.plan(Verb::Claim, 1, Fault::Before);
    send(&q, "a").await;
    let list = got(waits).await;
    assert_eq!(bodies(&list), ["a"]);
    assert_eq!(list[0].message.attempts, 1);
}

async fn a_lost_hand_out_comes_back_when_it_lapses(b: Bench) {
    let e = EngineBench::along(b).await;
    let q = e.plain().await;
    let waits = waiter(&q).await;
    e.store.idle().await;
    e.store.plan(Verb::AppendAndClaim, 1, Fault::After);
    refused(q.send(m("a")).await, ErrorKind::StorageUnavailable);
    e.store.idle().await;
    e.bench.clock.advance(s(31));
    let list = got(waits).await;
    assert_eq!(bodies(&list), ["a"]);
    assert_eq!(list[0].message.attempts, 2);
}

async fn what_is_sent_while_a_send_hands_out_reaches_the_next(b: Bench) {
    let e = EngineBench::along(b).await;
    let q = e.plain().await;
    let (first, second) = (waiter(&q).await, waiter(&q).await);
    e.store.idle().await;
    e.store.plan(Verb::AppendAndClaim, 1, Fault::HangAfter);
    let hangs = sending(&q, "a");
    e.store.hanging(1).await;
    let other = sending(&q, "b");
    e.store.still().await;
    e.store.release();
    hangs.await.unwrap().unwrap();
    other.await.unwrap().unwrap();
    assert_eq!(texts(first).await, ["a"]);
    assert_eq!(texts(second).await, ["b"]);
}

async fn a_receive_that_comes_during_a_hand_out_is_served_after_it(b: Bench) {
    let e = EngineBench::along(b).await;
    let q = e.plain().await;
    let first = waiter(&q).await;
    e.store.idle().await;
    e.store.plan(Verb::AppendAndClaim, 1, Fault::Hang);
    let hangs = tokio::spawn({
        let q = q.clone();
        async move { q.send_batch(vec![m("a"), m("b")]).await }
    });
    e.store.hanging(1).await;
    let second = waiter(&q).await;
    e.store.release();
    hangs.await.unwrap().unwrap();
    assert_eq!(texts(first).await, ["a"]);
    assert_eq!(texts(second).await, ["b"]);
}

async fn a_receive_that_goes_away_while_a_send_hands_out_gives_back(b: Bench) {
    let e = EngineBench::along(b).await;
    let q = e.plain().await;
    let (goes, stays) = (waiter(&q).await, waiter(&q).await);
    e.store.idle().await;
    e.store.plan(Verb::AppendAndClaim, 1, Fault::HangAfter);
    let hangs = sending(&q, "a");
    e.store.hanging(1).await;
    goes.abort();
    assert!(goes.await.unwrap_err().is_cancelled());
    e.store.release();
    hangs.await.unwrap().unwrap();
    let list = got(stays).await;
    assert_eq!(bodies(&list), ["a"]);
    assert_eq!(list[0].message.attempts, 1, "what was handed back does not count");
}

async fn a_shutdown_waits_for_a_send_that_hands_out(b: Bench) {
    let e = EngineBench::along(b).await;
    let q = e.plain().await;
    let waits = waiter(&q).await;
    e.store.idle().await;
    e.store.plan(Verb::AppendAndClaim, 1, Fault::HangAfter);
    let hangs = sending(&q, "a");
    e.store.hanging(1).await;
    let ends = tokio::spawn({
        let engine = e.engine.clone();
        async move { engine.shutdown().await }
    });
    until("no more is let in", async || q.send(m("b")).await.is_err()).await;
    assert!(!ends.is_finished());
    e.store.release();
    hangs.await.unwrap().unwrap();
    ends.await.unwrap();
    // It was chosen before the end, so it has its message.
    assert_eq!(texts(waits).await, ["a"]);
}

async fn no_wake_up_is_lost_where_sends_hand_out(b: Bench) {
    waiting::wake_ups(EngineBench::along(b).await).await;
}

async fn every_message_finds_a_receiver_where_sends_hand_out(b: Bench) {
    waiting::many_receivers(EngineBench::along(b).await).await;
}

async fn queues_that_ping_and_pong_never_stop_where_sends_hand_out(b: Bench) {
    waiting::to_and_fro(EngineBench::along(b).await).await;
}

async fn over_several_all_are_served_in_order_of_arrival(b: Bench) {
    arrival::served_in_order(EngineBench::along(b).await).await;
}

async fn receives_over_several_miss_nothing_where_sends_hand_out(b: Bench) {
    arrival::miss_nothing(EngineBench::along(b).await).await;
}
