//! Parking by hand and kicking: bury and kick.

use slipring::lifecycle::Settlement;
use slipring::store::Settled;
use slipring::{ErrorKind, MessageId, MessageState, QueueId};

use crate::bench::{Bench, QueueBench, m, p, refused, s, settings};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(a_parked_message_is_handed_out_to_nobody, "S6.6"),
    case!(a_kick_makes_parked_messages_ready_with_their_attempts, "S6.6"),
    case!(a_kicked_message_stands_in_its_old_place, "S7.2"),
    case!(parking_may_change_the_priority, "S7.1"),
    case!(a_kick_takes_parked_messages_in_order_up_to_its_limit, "S6.6"),
    case!(delayed_messages_are_kicked_only_when_none_is_parked, "S6.6"),
    case!(delayed_messages_are_kicked_in_the_order_they_are_due, "S6.6"),
    case!(a_kick_of_an_idle_queue_does_nothing, "S6.6"),
    case!(one_message_is_kicked_by_number, "S6.6"),
    case!(ready_and_leased_messages_are_not_kicked, "S6.6"),
    case!(a_message_with_no_attempts_left_gets_one_delivery_per_kick, "S6.6"),
    case!(a_parked_message_answers_only_an_ack, "S3.3", "S3.4"),
];

async fn park_all(q: &QueueBench, count: u32) {
    for _ in 0..count {
        let delivery = q.claim_one().await;
        assert_eq!(q.park(&delivery).await.unwrap(), Settled::Parked);
    }
}

async fn a_parked_message_is_handed_out_to_nobody(b: Bench) {
    let q = b.plain().await;
    q.send_all(["a", "b"]).await;
    park_all(&q, 1).await;
    q.holds(1, 0, 0, 1).await;
    let seen = q.only(MessageState::Parked).await;
    assert_eq!((seen.message.attempts, seen.until), (1, None));
    b.pass(s(1 << 20)).await;
    assert_eq!(q.take(10).await, ["b"]);
}

async fn a_kick_makes_parked_messages_ready_with_their_attempts(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    for attempt in 1..=3 {
        let delivery = q.claim_one().await;
        assert_eq!(delivery.message.attempts, attempt);
        q.park(&delivery).await.unwrap();
        assert_eq!(q.kick(10).await, 1);
        q.holds(1, 0, 0, 0).await;
        assert_eq!(q.only(MessageState::Ready).await.message.attempts, attempt);
    }
}

async fn a_kicked_message_stands_in_its_old_place(b: Bench) {
    let q = b.plain().await;
    q.send_all(["a", "b", "c"]).await;
    park_all(&q, 2).await;
    q.send("d").await;
    q.kick(1).await;
    assert_eq!(q.peek(MessageState::Ready).await, ["a", "c", "d"]);
    q.kick(1).await;
    assert_eq!(q.peek(MessageState::Ready).await, ["a", "b", "c", "d"]);
}

async fn parking_may_change_the_priority(b: Bench) {
    let q = b.plain().await;
    q.send_all([m("a").priority(1), m("b").priority(2), m("c").priority(3)]).await;
    let delivery = q.claim_one().await;
    q.settle(&delivery, Settlement::Park { priority: Some(p(3)) }).await.unwrap();
    assert_eq!(q.only(MessageState::Parked).await.message.priority, p(3));
    q.kick(1).await;
    assert_eq!(q.peek(MessageState::Ready).await, ["b", "a", "c"]);
}

async fn a_kick_takes_parked_messages_in_order_up_to_its_limit(b: Bench) {
    let q = b.plain().await;
    q.send_all((0..10).map(|n| n.to_string())).await;
    park_all(&q, 10).await;
    assert_eq!(q.kick(3).await, 3);
    assert_eq!(q.peek(MessageState::Ready).await, ["0", "1", "2"]);
    assert_eq!(q.peek(MessageState::Parked).await, ["3", "4", "5", "6", "7", "8", "9"]);
    assert_eq!(q.kick(100).await, 7);
    assert_eq!(q.kick(100).await, 0);
}

async fn delayed_messages_are_kicked_only_when_none_is_parked(b: Bench) {
    let q = b.plain().await;
    q.send_all([m("parked"), m("delayed").delay(s(60))]).await;
    park_all(&q, 1).await;
    assert_eq!(q.kick(10).await, 1);
    q.holds(1, 1, 0, 0).await;
    assert_eq!(q.kick(10).await, 1);
    q.holds(2, 0, 0, 0).await;
    b.pass(s(60)).await;
    q.holds(2, 0, 0, 0).await;
}

async fn delayed_messages_are_kicked_in_the_order_they_are_due(b: Bench) {
    let q = b.plain().await;
    q.send_all([m("late").delay(s(30)), m("soon").delay(s(10)), m("middle").delay(s(20))]).await;
    assert_eq!(q.kick(2).await, 2);
    assert_eq!(q.peek(MessageState::Ready).await, ["soon", "middle"]);
    assert_eq!(q.peek(MessageState::Delayed).await, ["late"]);
}

async fn a_kick_of_an_idle_queue_does_nothing(b: Bench) {
    let q = b.plain().await;
    assert_eq!(q.kick(10).await, 0);
    q.send_all(["a", "b"]).await;
    q.claim_one().await;
    assert_eq!(q.kick(10).await, 0);
    q.holds(1, 0, 1, 0).await;
    refused(b.store().kick(QueueId(99), 1, b.now()).await, ErrorKind::QueueNotFound);
}

async fn one_message_is_kicked_by_number(b: Bench) {
    let q = b.plain().await;
    let ids = q.send_all([m("a"), m("b"), m("c").delay(s(9)), m("d").delay(s(9))]).await;
    park_all(&q, 2).await;
    assert_eq!(b.kick_message(ids[1]).await.unwrap(), q.id);
    assert_eq!(b.kick_message(ids[3]).await.unwrap(), q.id);
    assert_eq!(q.peek(MessageState::Ready).await, ["b", "d"]);
    q.holds(2, 1, 0, 1).await;
}

async fn ready_and_leased_messages_are_not_kicked(b: Bench) {
    let q = b.plain().await;
    let ids = q.send_all(["leased", "ready"]).await;
    let held = q.claim_one().await;
    refused(b.kick_message(ids[0]).await, ErrorKind::WrongState);
    refused(b.kick_message(ids[1]).await, ErrorKind::WrongState);
    q.ack(&held).await.unwrap();
    refused(b.kick_message(ids[0]).await, ErrorKind::MessageGone);
    refused(b.kick_message(MessageId(1 << 40)).await, ErrorKind::MessageGone);
}

async fn a_message_with_no_attempts_left_gets_one_delivery_per_kick(b: Bench) {
    let q = b.queue(settings(|to| to.max_attempts = Some(2))).await;
    q.send("a").await;
    for _ in 0..2 {
        let delivery = q.claim_one().await;
        q.nack(&delivery).await.unwrap();
    }
    for attempt in 3..5 {
        q.holds(0, 0, 0, 1).await;
        assert_eq!(q.kick(1).await, 1);
        q.send("fresh").await;
        let delivery = q.claim(10).await;
        assert_eq!(delivery.len(), 1, "it is tried alone");
        assert_eq!(delivery[0].message.attempts, attempt);
        let fresh = q.claim_one().await;
        q.ack(&fresh).await.unwrap();
        b.pass(s(30)).await;
    }
}

async fn a_parked_message_answers_only_an_ack(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let delivery = q.claim_one().await;
    q.park(&delivery).await.unwrap();
    refused(q.nack(&delivery).await, ErrorKind::LeaseLost);
    refused(q.extend(&delivery, s(9)).await, ErrorKind::LeaseLost);
    q.holds(0, 0, 0, 1).await;
    assert_eq!(q.ack(&delivery).await.unwrap(), Settled::Done);
    q.holds(0, 0, 0, 0).await;
}
