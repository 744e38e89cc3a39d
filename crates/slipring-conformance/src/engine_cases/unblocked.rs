//! Everything that makes a message available wakes a receive that waits for it.

use slipring::lifecycle::Settlement;
use slipring::{MoveRequest, Queue, QueueName, QueueSettings, Receipt, ReceiveRequest};

use crate::bench::{Bench, m, s, settings};
use crate::case::{Case, case};
use crate::fault::{Fault, Verb};

use super::{EngineBench, next, receiving, send, take_one, texts, until, waiter};

pub(super) const CASES: &[Case] = &[
    case!(a_nack_wakes, "S2.4"),
    case!(a_hand_back_wakes, "S2.3", "S2.4"),
    case!(a_kick_of_parked_messages_wakes, "S2.4", "S6.6"),
    case!(a_kick_of_one_message_wakes, "S2.4", "S6.6"),
    case!(a_dead_letter_wakes_who_waits_for_dead_letters, "S2.4", "S6.3"),
    case!(a_redrive_wakes_in_the_source, "S2.4", "S6.4"),
    case!(the_end_of_a_pause_by_hand_wakes, "S2.4", "S14.3"),
    case!(room_in_flight_wakes, "S2.4", "S12.2"),
    case!(room_that_a_lapse_on_the_last_try_makes_wakes, "S2.4", "S6.2", "S12.2"),
    case!(room_that_retention_makes_wakes, "S2.4", "S12.2", "S14.4"),
    case!(room_in_flight_wakes_who_is_looking, "S2.4", "S12.2"),
    case!(room_in_flight_wakes_who_is_looking_at_several_queues, "S2.4", "S7.6", "S12.2"),
    case!(a_higher_in_flight_limit_wakes, "S2.4", "S12.2"),
    case!(an_ack_in_a_fifo_group_wakes_for_its_next_message, "S2.4", "S7.3"),
    case!(a_parked_fifo_message_wakes_for_the_next, "S2.4", "S7.3"),
    case!(a_dead_lettered_fifo_message_wakes_for_the_next, "S2.4", "S7.3"),
    case!(a_cancelled_fifo_message_wakes_for_the_next, "S2.4", "S7.3"),
    case!(one_end_of_a_lease_that_frees_several_leaves_none_waiting, "S2.4", "S7.3"),
    case!(a_message_with_a_better_priority_does_not_leave_another_waiting, "S2.4", "S7.1"),
];

async fn fifo(e: &EngineBench) -> Queue {
    e.queue("fifo", settings(|to| to.fifo = true)).await
}

async fn a_nack_wakes(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    send(&q, "a").await;
    let held = take_one(&q).await;
    let waits = waiter(&q).await;
    q.nack(&held.receipt, None).await.unwrap();
    assert_eq!(texts(waits).await, ["a"]);
}

async fn a_hand_back_wakes(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    send(&q, "a").await;
    let held = take_one(&q).await;
    let waits = waiter(&q).await;
    q.settle(vec![(held.receipt, Settlement::HandBack)]).await.unwrap();
    assert_eq!(texts(waits).await, ["a"]);
}

async fn parked(q: &Queue) {
    send(q, "a").await;
    let held = take_one(q).await;
    let park = Settlement::Park { priority: None };
    q.settle(vec![(held.receipt, park)]).await.unwrap();
}

async fn a_kick_of_parked_messages_wakes(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    parked(&q).await;
    let waits = waiter(&q).await;
    assert_eq!(q.kick(10).await.unwrap(), 1);
    assert_eq!(texts(waits).await, ["a"]);
}

async fn a_kick_of_one_message_wakes(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    let sent = q.send(m("a").delay(s(60))).await.unwrap();
    let waits = waiter(&q).await;
    e.engine.kick_message(sent.id).await.unwrap();
    assert_eq!(texts(waits).await, ["a"]);
}

async fn with_dead_letters(e: &EngineBench, fifo: bool) -> (Queue, Queue) {
    let dead = e.queue("dead", QueueSettings::default()).await;
    let q = e.queue(
        "source",
        settings(|to| {
            to.fifo = fifo;
            to.max_attempts = Some(1);
            to.dead_letter = QueueName::new("dead").ok();
        }),
    );
    (dead, q.await)
}

async fn a_dead_letter_wakes_who_waits_for_dead_letters(b: Bench) {
    let e = EngineBench::open(b).await;
    let (dead, q) = with_dead_letters(&e, false).await;
    let waits = waiter(&dead).await;
    send(&q, "nacked").await;
    let held = take_one(&q).await;
    q.nack(&held.receipt, None).await.unwrap();
    let dead_letter = super::got(waits).await.remove(0);
    assert_eq!(dead_letter.message.body, "nacked");
    dead.ack(&dead_letter.receipt).await.unwrap();
    let waits = waiter(&dead).await;
    send(&q, "lapsed").await;
    take_one(&q).await;
    e.bench.advance(s(30));
    assert_eq!(texts(waits).await, ["lapsed"]);
}

async fn a_redrive_wakes_in_the_source(b: Bench) {
    let e = EngineBench::open(b).await;
    let (dead, q) = with_dead_letters(&e, false).await;
    send(&q, "a").await;
    let held = take_one(&q).await;
    q.nack(&held.receipt, None).await.unwrap();
    let waits = waiter(&q).await;
    let request = MoveRequest { source: dead.id(), target: None, limit: 10 };
    assert_eq!(e.engine.move_messages(request).await.unwrap(), 1);
    assert_eq!(texts(waits).await, ["a"]);
}

async fn the_end_of_a_pause_by_hand_wakes(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.queue("queue", settings(|to| to.paused = true)).await;
    send(&q, "a").await;
    let waits = waiter(&q).await;
    q.configure(QueueSettings::default()).await.unwrap();
    assert_eq!(texts(waits).await, ["a"]);
}

async fn room_in_flight_wakes(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.queue("queue", settings(|to| to.in_flight_max = 1)).await;
    q.send_batch(vec![m("a"), m("b"), m("c")]).await.unwrap();
    let mut held = take_one(&q).await;
    for wanted in ["b", "c"] {
        let waits = waiter(&q).await;
        q.ack(&held.receipt).await.unwrap();
        held = super::got(waits).await.remove(0);
        assert_eq!(held.message.body, wanted);
    }
    let waits = waiter(&q).await;
    e.bench.advance(s(30));
    assert_eq!(texts(waits).await, ["c"]);
}

async fn room_that_a_lapse_on_the_last_try_makes_wakes(b: Bench) {
    let e = EngineBench::open(b).await;
    e.queue("dead", QueueSettings::default()).await;
    for (name, dead_letter) in [("parks", None), ("moves", QueueName::new("dead").ok())] {
        let limited = settings(|to| {
            to.in_flight_max = 1;
            to.max_attempts = Some(1);
            to.dead_letter = dead_letter;
        });
        let q = e.queue(name, limited).await;
        q.send_batch(vec![m("a"), m("b")]).await.unwrap();
        take_one(&q).await;
        let waits = waiter(&q).await;
        e.store.idle().await;
        e.bench.advance(s(30));
        assert_eq!(texts(waits).await, ["b"], "{name}");
    }
}

async fn room_that_retention_makes_wakes(b: Bench) {
    let e = EngineBench::open(b).await;
    let limited = settings(|to| {
        to.in_flight_max = 1;
        to.visibility_timeout = s(3600);
        to.retention = Some(s(60));
    });
    let q = e.queue("queue", limited).await;
    send(&q, "a").await;
    take_one(&q).await;
    e.bench.advance(s(30));
    send(&q, "b").await;
    let waits = waiter(&q).await;
    e.store.idle().await;
    e.bench.advance(s(31));
    assert_eq!(texts(waits).await, ["b"]);
}

/// A queue of two messages, of which one may be in flight and is; the next look meets the limit
/// and is answered late.
async fn about_to_meet_the_limit(e: &EngineBench) -> (Queue, Receipt) {
    let q = e.queue("limited", settings(|to| to.in_flight_max = 1)).await;
    q.send_batch(vec![m("a"), m("b")]).await.unwrap();
    let held = take_one(&q).await;
    (q, held.receipt)
}

async fn room_in_flight_wakes_who_is_looking(b: Bench) {
    let e = EngineBench::open(b).await;
    let (q, held) = about_to_meet_the_limit(&e).await;
    e.store.plan(Verb::Claim, 1, Fault::HangAfter);
    let waits = next(&q);
    e.store.hanging(1).await;
    q.ack(&held).await.unwrap();
    e.store.release();
    assert_eq!(texts(waits).await, ["b"]);
}

async fn room_in_flight_wakes_who_is_looking_at_several_queues(b: Bench) {
    let e = EngineBench::open(b).await;
    let (q, held) = about_to_meet_the_limit(&e).await;
    e.store.plan(Verb::ClaimAny, 1, Fault::HangAfter);
    let queues = [q.clone(), e.plain().await];
    let engine = e.engine.clone();
    let request = ReceiveRequest::up_to(1).wait(s(3600));
    let waits = tokio::spawn(async move { engine.receive_any(&queues, request).await });
    e.store.hanging(1).await;
    q.ack(&held).await.unwrap();
    e.store.release();
    assert_eq!(texts(waits).await, ["b"]);
}

async fn a_higher_in_flight_limit_wakes(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.queue("queue", settings(|to| to.in_flight_max = 1)).await;
    q.send_batch(vec![m("a"), m("b")]).await.unwrap();
    take_one(&q).await;
    let waits = waiter(&q).await;
    q.configure(settings(|to| to.in_flight_max = 2)).await.unwrap();
    assert_eq!(texts(waits).await, ["b"]);
}

async fn an_ack_in_a_fifo_group_wakes_for_its_next_message(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = fifo(&e).await;
    q.send_batch(vec![m("a1").group("a"), m("a2").group("a"), m("a3").group("a")]).await.unwrap();
    let mut held = take_one(&q).await;
    for wanted in ["a2", "a3"] {
        let waits = waiter(&q).await;
        q.ack(&held.receipt).await.unwrap();
        held = super::got(waits).await.remove(0);
        assert_eq!(held.message.body, wanted);
    }
}

async fn a_parked_fifo_message_wakes_for_the_next(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = fifo(&e).await;
    q.send_batch(vec![m("a1").group("a"), m("a2").group("a")]).await.unwrap();
    let held = take_one(&q).await;
    let waits = waiter(&q).await;
    let park = Settlement::Park { priority: None };
    q.settle(vec![(held.receipt, park)]).await.unwrap();
    assert_eq!(texts(waits).await, ["a2"]);
}

async fn a_dead_lettered_fifo_message_wakes_for_the_next(b: Bench) {
    let e = EngineBench::open(b).await;
    let (_, q) = with_dead_letters(&e, true).await;
    q.send_batch((0..3).map(|n| m(&n.to_string()).group("a")).collect()).await.unwrap();
    let held = take_one(&q).await;
    let waits = waiter(&q).await;
    q.nack(&held.receipt, None).await.unwrap();
    assert_eq!(texts(waits).await, ["1"]);
    let waits = waiter(&q).await;
    e.bench.advance(s(30));
    assert_eq!(texts(waits).await, ["2"]);
}

async fn a_cancelled_fifo_message_wakes_for_the_next(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = fifo(&e).await;
    q.send_batch(vec![m("a1").group("a"), m("a2").group("a")]).await.unwrap();
    let held = take_one(&q).await;
    q.nack(&held.receipt, Some(s(1000))).await.unwrap();
    let waits = waiter(&q).await;
    e.engine.cancel(held.message.id).await.unwrap();
    assert_eq!(texts(waits).await, ["a2"]);
}

async fn a_message_with_a_better_priority_does_not_leave_another_waiting(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    let both = receiving(&q, ReceiveRequest::up_to(1).wait(s(3600)));
    until("the receive waits", async || q.waiting() == 1).await;
    let other = waiter(&q).await;
    q.send_batch(vec![m("later").priority(9), m("first").priority(1)]).await.unwrap();
    assert_eq!(texts(both).await, ["first"]);
    assert_eq!(texts(other).await, ["later"]);
}

async fn one_end_of_a_lease_that_frees_several_leaves_none_waiting(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = fifo(&e).await;
    for text in ["a1", "a2", "a3"] {
        send(&q, m(text).group("a")).await;
    }
    let held = take_one(&q).await;
    let ten = ReceiveRequest::up_to(10).wait(s(3600));
    let waiters = [receiving(&q, ten), receiving(&q, ten)];
    until("both wait", async || q.waiting() == 2).await;
    e.store.idle().await;
    // What the ack has made ready is handed out, but the engine does not know it yet.
    e.store.plan(Verb::Claim, 1, Fault::HangAfter);
    q.ack(&held.receipt).await.unwrap();
    e.store.hanging(1).await;
    send(&q, m("b1").group("b")).await;
    e.store.release();
    let [one, other] = waiters;
    assert_eq!(
        (texts(one).await, texts(other).await),
        (vec!["a2".into(), "a3".into()], vec!["b1".into()])
    );
}
