//! Receives that wait: who is woken, in which order, and that nobody is forgotten.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use slipring::{ErrorKind, Limits, MessageState, PeekFilter, QueueSettings, ReceiveRequest};

use crate::bench::{Bench, bodies, m, refused, s, settings};
use crate::case::{Case, case};
use crate::fault::{Fault, Verb};

use super::{
    EngineBench, got, looked, next, receiving, send, take_one, texts, until, waiter, within,
};

pub(super) const CASES: &[Case] = &[
    case!(a_receive_that_does_not_wait_ends_at_once, "S2.4", "S5.4"),
    case!(a_waiting_receive_gets_what_is_sent_later, "S2.4"),
    case!(waiting_receives_are_served_in_the_order_they_came, "S2.4"),
    case!(as_many_receives_wake_as_there_are_messages, "S2.4"),
    case!(one_receive_does_not_take_what_another_waits_for, "S2.4"),
    case!(a_backlog_is_shared_out_without_waiting, "S2.4"),
    case!(no_wake_up_is_lost_between_sender_and_receiver, threads 4, "S2.4"),
    case!(a_send_between_look_and_rest_is_not_missed, "S2.4"),
    case!(every_message_finds_a_receiver_among_many, threads 4, "S2.1", "S2.4"),
    case!(a_message_taken_by_another_leaves_the_receive_waiting, "S2.4", "S5.4"),
    case!(nothing_is_claimed_ahead_of_demand, "S2.4"),
    case!(more_receives_than_may_wait_are_refused, "S12.2"),
    case!(the_deletion_of_a_queue_ends_its_receives, "S4.2"),
    case!(the_deletion_of_a_queue_ends_receives_that_are_looking, "S4.2"),
    case!(a_queue_that_pings_and_one_that_pongs_never_stop, threads 4, "S2.4"),
    case!(receives_that_do_not_wait_get_large_messages_that_one_claim_cannot_give, "S5.5"),
];

async fn a_receive_that_does_not_wait_ends_at_once(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    assert!(q.receive(ReceiveRequest::up_to(5)).await.unwrap().is_empty());
    send(&q, "a").await;
    assert_eq!(bodies(&q.receive(ReceiveRequest::up_to(5)).await.unwrap()), ["a"]);
    assert!(q.receive(ReceiveRequest::up_to(5)).await.unwrap().is_empty());
}

async fn a_waiting_receive_gets_what_is_sent_later(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    for round in 0..20 {
        let waits = waiter(&q).await;
        send(&q, round.to_string()).await;
        assert_eq!(texts(waits).await, [round.to_string()]);
    }
}

async fn waiting_receives_are_served_in_the_order_they_came(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    let mut waiters = Vec::new();
    for _ in 0..30 {
        waiters.push(waiter(&q).await);
    }
    for n in 0..10 {
        send(&q, n.to_string()).await;
    }
    q.send_batch((10..30).map(|n| m(&n.to_string())).collect()).await.unwrap();
    for (n, waits) in waiters.into_iter().enumerate() {
        assert_eq!(texts(waits).await, [n.to_string()]);
    }
}

async fn as_many_receives_wake_as_there_are_messages(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    let mut waiters = Vec::new();
    for _ in 0..50 {
        waiters.push(waiter(&q).await);
    }
    let before = e.store.calls(Verb::Claim);
    q.send_batch(vec![m("a"), m("b"), m("c")]).await.unwrap();
    for waits in waiters.drain(..3) {
        assert_eq!(got(waits).await.len(), 1);
    }
    until("the others wait", async || q.waiting() == 47).await;
    assert!(waiters.iter().all(|waits| !waits.is_finished()));
    let claims = e.store.calls(Verb::Claim) - before;
    assert!(claims <= 6, "{claims} claims for 3 messages");
}

async fn one_receive_does_not_take_what_another_waits_for(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    let many = receiving(&q, ReceiveRequest::up_to(10).wait(s(3600)));
    until("the receive waits", async || q.waiting() == 1).await;
    let one = waiter(&q).await;
    send(&q, "a").await;
    assert_eq!(texts(many).await, ["a"], "it does not wait for more than one");
    send(&q, "b").await;
    assert_eq!(texts(one).await, ["b"]);
}

async fn a_backlog_is_shared_out_without_waiting(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    q.send_batch((0..100).map(|n| m(&n.to_string())).collect()).await.unwrap();
    let tasks: Vec<_> =
        (0..10).map(|_| receiving(&q, ReceiveRequest::up_to(10).wait(s(3600)))).collect();
    let mut all = BTreeSet::new();
    for task in tasks {
        all.extend(texts(task).await);
    }
    assert_eq!(all.len(), 100);
}

async fn no_wake_up_is_lost_between_sender_and_receiver(b: Bench) {
    wake_ups(EngineBench::open(b).await).await;
}

pub(super) async fn wake_ups(e: EngineBench) {
    let q = e.plain().await;
    for round in 0..400 {
        let receive = receiving(&q, ReceiveRequest::up_to(1).wait(s(3600)));
        let sending = tokio::spawn({
            let q = q.clone();
            async move { send(&q, round.to_string()).await }
        });
        let delivery = got(receive).await.remove(0);
        within("the send", sending).await.unwrap();
        q.ack(&delivery.receipt).await.unwrap();
    }
}

async fn a_send_between_look_and_rest_is_not_missed(b: Bench) {
    let e = EngineBench::open(b).await;
    for round in 0..5 {
        // Nothing is known of a new queue, so that the first receive looks.
        let q = e.queue(&format!("queue-{round}"), QueueSettings::default()).await;
        // The receive has looked and found nothing, but does not know it yet.
        e.store.plan(Verb::Claim, 1, Fault::HangAfter);
        let waits = receiving(&q, ReceiveRequest::up_to(1).wait(s(3600)));
        e.store.hanging(1).await;
        send(&q, round.to_string()).await;
        e.store.release();
        assert_eq!(texts(waits).await, [round.to_string()]);
    }
}

async fn every_message_finds_a_receiver_among_many(b: Bench) {
    many_receivers(EngineBench::open(b).await).await;
}

pub(super) async fn many_receivers(e: EngineBench) {
    const SENDERS: usize = 4;
    const EACH: usize = 100;
    let q = e.plain().await;
    let all = Arc::new(Mutex::new(BTreeSet::new()));
    let receivers: Vec<_> = (0..6)
        .map(|_| {
            let (q, all) = (q.clone(), Arc::clone(&all));
            tokio::spawn(async move {
                loop {
                    let request = ReceiveRequest::up_to(3).wait(s(3600));
                    for delivery in q.receive(request).await.unwrap() {
                        q.ack(&delivery.receipt).await.unwrap();
                        let body = bodies(&[delivery]).remove(0);
                        assert!(all.lock().insert(body), "no message comes twice");
                    }
                }
            })
        })
        .collect();
    let sender = |sender| {
        let q = q.clone();
        tokio::spawn(async move {
            for n in 0..EACH {
                send(&q, format!("{sender}/{n}")).await;
            }
        })
    };
    for sender in (0..SENDERS).map(sender).collect::<Vec<_>>() {
        within("a sender", sender).await.unwrap();
    }
    until("all have come", async || all.lock().len() == SENDERS * EACH).await;
    until("all receives wait", async || q.waiting() == 6).await;
    for receiver in &receivers {
        assert!(!receiver.is_finished(), "a receiver has failed");
        receiver.abort();
    }
    assert_eq!(q.stats().await.unwrap().total(), 0);
}

async fn a_message_taken_by_another_leaves_the_receive_waiting(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    let waits = waiter(&q).await;
    looked(&e).await;
    // The claim for the message is held up while the message is taken by number.
    e.store.plan(Verb::Claim, 1, Fault::Hang);
    let sent = q.send(m("a")).await.unwrap();
    e.store.hanging(1).await;
    let taken = q.claim_message(sent.id, ReceiveRequest::up_to(1)).await.unwrap();
    e.store.release();
    until("the receive waits again", async || q.waiting() == 1).await;
    assert!(!waits.is_finished());
    q.nack(&taken.receipt, None).await.unwrap();
    assert_eq!(texts(waits).await, ["a"]);
}

async fn nothing_is_claimed_ahead_of_demand(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    q.send_batch((0..20).map(|n| m(&n.to_string())).collect()).await.unwrap();
    let first = take_one(&q).await;
    let stats = q.stats().await.unwrap();
    assert_eq!((stats.ready, stats.leased), (19, 1));
    q.ack(&first.receipt).await.unwrap();
    let filter = PeekFilter { state: Some(MessageState::Ready), limit: 1 };
    assert_eq!(q.peek(filter).await.unwrap()[0].message.attempts, 0);
}

async fn more_receives_than_may_wait_are_refused(b: Bench) {
    let limits = Limits { waiters_max: 3, ..Limits::default() };
    let e = EngineBench::with_limits(b, limits).await;
    let q = e.plain().await;
    let mut waiters = Vec::new();
    for _ in 0..3 {
        waiters.push(waiter(&q).await);
    }
    until("all have looked", async || q.waiting() == 3).await;
    let answer = q.receive(ReceiveRequest::up_to(1).wait(s(9))).await;
    let error = refused(answer, ErrorKind::LimitExceeded);
    assert!(error.to_string().contains("waiters_max"), "{error}");
    q.send_batch(vec![m("a"), m("b"), m("c")]).await.unwrap();
    for waits in waiters {
        assert_eq!(got(waits).await.len(), 1);
    }
}

async fn the_deletion_of_a_queue_ends_its_receives(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    let waits = waiter(&q).await;
    e.engine.delete_queue(&q).await.unwrap();
    refused(within("the receive", waits).await.unwrap(), ErrorKind::QueueNotFound);
    refused(q.send(m("a")).await, ErrorKind::QueueNotFound);
    refused(q.receive(ReceiveRequest::up_to(1)).await, ErrorKind::QueueNotFound);
    refused(e.engine.queue("queue").await, ErrorKind::QueueNotFound);
    let again = e.plain().await;
    send(&again, "b").await;
    assert_eq!(take_one(&again).await.message.body, "b");
}

async fn the_deletion_of_a_queue_ends_receives_that_are_looking(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    e.store.plan(Verb::Claim, 1, Fault::HangAfter);
    let waits = next(&q);
    within("the look", e.store.hanging(1)).await;
    e.engine.delete_queue(&q).await.unwrap();
    e.store.release();
    refused(within("the receive", waits).await.unwrap(), ErrorKind::QueueNotFound);
}

async fn a_queue_that_pings_and_one_that_pongs_never_stop(b: Bench) {
    to_and_fro(EngineBench::open(b).await).await;
}

pub(super) async fn to_and_fro(e: EngineBench) {
    let ping = e.queue("ping", QueueSettings::default()).await;
    let pong = e.queue("pong", QueueSettings::default()).await;
    let answers = tokio::spawn({
        let (ping, pong) = (ping.clone(), pong.clone());
        async move {
            for _ in 0..200 {
                let request = ReceiveRequest::up_to(1).wait(s(3600));
                let delivery = ping.receive(request).await.unwrap().remove(0);
                send(&pong, bodies(std::slice::from_ref(&delivery)).remove(0)).await;
                ping.ack(&delivery.receipt).await.unwrap();
            }
        }
    });
    for n in 0..200 {
        send(&ping, n.to_string()).await;
        let delivery =
            got(receiving(&pong, ReceiveRequest::up_to(1).wait(s(3600)))).await.remove(0);
        assert_eq!(bodies(std::slice::from_ref(&delivery)), [n.to_string()]);
        pong.ack(&delivery.receipt).await.unwrap();
    }
    within("the other side", answers).await.unwrap();
}

async fn receives_that_do_not_wait_get_large_messages_that_one_claim_cannot_give(b: Bench) {
    // Together more than a store gives with one claim.
    const MESSAGES: usize = 20;
    const BYTES: usize = 4 << 20;
    let e = EngineBench::open(b).await;
    let q = e.queue("queue", settings(|to| to.message_bytes_max = 2 * BYTES as u64)).await;
    e.store.plan(Verb::Claim, 1, Fault::Hang);
    let first = receiving(&q, ReceiveRequest::up_to(1));
    within("the first look", e.store.hanging(1)).await;
    for n in 0..MESSAGES {
        send(&q, "x".repeat(BYTES + n)).await;
    }
    let others: Vec<_> = (1..=MESSAGES).map(|_| receiving(&q, ReceiveRequest::up_to(1))).collect();
    until("all look together", async || q.waiting() == MESSAGES).await;
    e.store.release();
    let mut lengths = vec![got(first).await[0].message.body.len() - BYTES];
    let mut empty = 0;
    for (n, receive) in others.into_iter().enumerate() {
        match got(receive).await.first() {
            Some(delivery) => lengths.push(delivery.message.body.len() - BYTES),
            None => {
                assert_eq!(n, MESSAGES - 1, "only the last one may find none");
                empty += 1;
            }
        }
    }
    assert_eq!((lengths, empty), ((0..MESSAGES).collect(), 1), "in order of arrival");
}
