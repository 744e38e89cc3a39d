//! Looking without taking, and statistics that are exact after everything.

use slipring::lifecycle::Settlement;
use slipring::{ErrorKind, MessageId, MessageState, PeekFilter, QueueId, QueueStats};

use crate::bench::{Bench, START, m, p, refused, s};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(a_peek_takes_nothing, "S3.1"),
    case!(ready_messages_are_shown_in_hand_out_order, "S7.1"),
    case!(delayed_messages_are_shown_by_the_time_they_are_due, "S5.1"),
    case!(parked_messages_are_shown_in_hand_out_order, "S7.1"),
    case!(leased_messages_are_shown_with_their_deadline, "S3.1"),
    case!(a_peek_keeps_to_its_limit, "S12.1"),
    case!(a_peek_without_a_state_shows_all, "S2.1"),
    case!(a_look_up_finds_a_message_in_every_state, "S2.1"),
    case!(a_look_up_of_what_is_not_there_finds_nothing, "S4.1"),
    case!(an_empty_queue_has_empty_statistics, "S14.2"),
    case!(statistics_are_exact_after_every_operation, "S2.1"),
    case!(the_oldest_ready_message_is_known, "S7.1"),
    case!(the_oldest_ready_message_is_known_over_priorities, "S7.1"),
    case!(urgent_messages_are_ready_ones_below_1024, "S7.1"),
    case!(statistics_of_a_queue_that_is_not_there_are_refused, "S14.2"),
];

async fn a_peek_takes_nothing(b: Bench) {
    let q = b.plain().await;
    q.send_all(["a", "b"]).await;
    for _ in 0..3 {
        assert_eq!(q.peek(MessageState::Ready).await, ["a", "b"]);
    }
    q.holds(2, 0, 0, 0).await;
    assert_eq!(q.claim_one().await.message.attempts, 1);
}

async fn ready_messages_are_shown_in_hand_out_order(b: Bench) {
    let q = b.plain().await;
    q.send_all((0..60_u32).map(|n| m(&n.to_string()).priority(n * 7 % 5))).await;
    let returned = q.claim(10).await;
    for delivery in returned.iter().rev() {
        q.settle(delivery, Settlement::HandBack).await.unwrap();
    }
    let shown = q.peek(MessageState::Ready).await;
    assert_eq!(shown, q.drain().await);
}

async fn delayed_messages_are_shown_by_the_time_they_are_due(b: Bench) {
    let q = b.plain().await;
    let delays = [9, 3, 7, 1, 5];
    q.send_all(delays.map(|n| m(&n.to_string()).delay(s(n)).priority(n as u32))).await;
    let shown = q.peek_full(Some(MessageState::Delayed), 10).await;
    let until: Vec<_> = shown.iter().map(|peeked| peeked.until.unwrap()).collect();
    assert_eq!(until, [1, 3, 5, 7, 9].map(|n| START.after(s(n))));
    assert!(shown.iter().all(|peeked| peeked.state == MessageState::Delayed));
}

async fn parked_messages_are_shown_in_hand_out_order(b: Bench) {
    let q = b.plain().await;
    q.send_all(["a", "b", "c"]).await;
    for delivery in q.claim(3).await {
        q.park(&delivery).await.unwrap();
    }
    assert_eq!(q.peek(MessageState::Parked).await, ["a", "b", "c"]);
}

async fn leased_messages_are_shown_with_their_deadline(b: Bench) {
    let q = b.plain().await;
    q.send_all(["a", "b"]).await;
    let taken = q.claim(2).await;
    q.extend(&taken[1], s(99)).await.unwrap();
    let mut shown = q.peek_full(Some(MessageState::Leased), 10).await;
    shown.sort_by_key(|peeked| peeked.message.id);
    let until: Vec<_> = shown.iter().map(|peeked| peeked.until).collect();
    assert_eq!(until, [Some(START.after(s(30))), Some(START.after(s(99)))]);
    assert!(shown.iter().all(|peeked| peeked.message.attempts == 1));
}

async fn a_peek_keeps_to_its_limit(b: Bench) {
    let q = b.plain().await;
    q.send_all((0..50).map(|n| n.to_string())).await;
    q.send_all((0..50).map(|n| m(&n.to_string()).delay(s(60)))).await;
    for (state, limit) in [
        (Some(MessageState::Ready), 1),
        (Some(MessageState::Ready), 49),
        (Some(MessageState::Delayed), 7),
        (None, 60),
    ] {
        assert_eq!(q.peek_full(state, limit).await.len(), limit as usize);
    }
}

async fn a_peek_without_a_state_shows_all(b: Bench) {
    let q = b.plain().await;
    q.send_all([m("parked"), m("leased"), m("ready"), m("delayed").delay(s(60))]).await;
    let delivery = q.claim_one().await;
    q.park(&delivery).await.unwrap();
    q.claim_one().await;
    let shown = q.peek_full(None, 100).await;
    let mut seen: Vec<_> =
        shown.iter().map(|peeked| (peeked.message.body.to_vec(), peeked.state.name())).collect();
    seen.sort();
    let wanted = ["delayed", "leased", "parked", "ready"];
    assert_eq!(seen, wanted.map(|name| (name.as_bytes().to_vec(), name)));
}

async fn a_look_up_finds_a_message_in_every_state(b: Bench) {
    let q = b.plain().await;
    let id = q.send(m("a").delay(s(5))).await;
    let see = || async {
        let seen = b.lookup(id).await.expect("the message is there");
        assert_eq!((seen.queue, seen.message.id, &seen.message.body[..]), (q.id, id, &b"a"[..]));
        (seen.state, seen.until, seen.message.attempts)
    };
    assert_eq!(see().await, (MessageState::Delayed, Some(START.after(s(5))), 0));
    b.pass(s(5)).await;
    assert_eq!(see().await, (MessageState::Ready, None, 0));
    let delivery = q.claim_one().await;
    assert_eq!(see().await, (MessageState::Leased, Some(START.after(s(35))), 1));
    q.park(&delivery).await.unwrap();
    assert_eq!(see().await, (MessageState::Parked, None, 1));
    b.kick_message(id).await.unwrap();
    assert_eq!(see().await, (MessageState::Ready, None, 1));
}

async fn a_look_up_of_what_is_not_there_finds_nothing(b: Bench) {
    let q = b.plain().await;
    let id = q.send("a").await;
    q.drain().await;
    for gone in [id, MessageId(0), MessageId(id.0 + 1), MessageId(1 << 60)] {
        assert_eq!(b.lookup(gone).await, None);
    }
}

async fn an_empty_queue_has_empty_statistics(b: Bench) {
    assert_eq!(b.plain().await.stats().await, QueueStats::default());
}

async fn statistics_are_exact_after_every_operation(b: Bench) {
    let q = b.plain().await;
    let ids = q.send_all((0..10).map(|n| m(&n.to_string()).priority(1000 + 10 * n))).await;
    q.holds(10, 0, 0, 0).await;
    q.send_all([m("x").delay(s(10)), m("y").delay(s(20))]).await;
    q.holds(10, 2, 0, 0).await;
    let taken = q.claim(6).await;
    q.holds(4, 2, 6, 0).await;
    q.ack(&taken[0]).await.unwrap();
    q.nack(&taken[1]).await.unwrap();
    q.nack_for(&taken[2], s(5)).await.unwrap();
    q.park(&taken[3]).await.unwrap();
    q.settle(&taken[4], Settlement::HandBack).await.unwrap();
    q.holds(6, 3, 1, 1).await;
    q.extend(&taken[5], s(3600)).await.unwrap();
    b.pass(s(10)).await;
    q.holds(8, 1, 1, 1).await;
    b.kick_message(ids[3]).await.unwrap();
    q.holds(9, 1, 1, 0).await;
    assert_eq!(q.kick(10).await, 1);
    q.holds(10, 0, 1, 0).await;
    b.cancel(ids[9]).await.unwrap();
    q.claim_message(ids[8]).await.unwrap();
    q.holds(8, 0, 2, 0).await;
    b.pass(s(30)).await;
    q.holds(9, 0, 1, 0).await;
    let stats = q.stats().await;
    assert_eq!(stats.bytes, 10);
    assert_eq!(stats.urgent, 2, "1010 and 1020 are left of those below 1024");
    q.purge(3).await;
    assert_eq!(q.stats().await, QueueStats::default());
}

async fn the_oldest_ready_message_is_known(b: Bench) {
    let q = b.plain().await;
    let oldest = || async { q.stats().await.oldest_ready_sent_at };
    assert_eq!(oldest().await, None);
    for body in ["0", "1", "2", "3"] {
        q.send(body).await;
        b.advance(s(1));
    }
    assert_eq!(oldest().await, Some(START));
    let taken = q.claim(2).await;
    assert_eq!(oldest().await, Some(START.after(s(2))));
    q.nack(&taken[1]).await.unwrap();
    assert_eq!(oldest().await, Some(START.after(s(1))));
    q.drain().await;
    assert_eq!(oldest().await, None);
}

async fn the_oldest_ready_message_is_known_over_priorities(b: Bench) {
    let q = b.plain().await;
    for priority in [9, 5, 7, 1] {
        q.send(m("a").priority(priority)).await;
        b.advance(s(1));
    }
    for delivery in q.claim(2).await {
        q.ack(&delivery).await.unwrap();
    }
    let stats = q.stats().await;
    assert_eq!((stats.ready, stats.oldest_ready_sent_at), (2, Some(START)));
}

async fn urgent_messages_are_ready_ones_below_1024(b: Bench) {
    let q = b.plain().await;
    q.send_all([1023, 1024, 0, u32::MAX].map(|priority| m("a").priority(priority))).await;
    q.send(m("a").priority(3).delay(s(9))).await;
    assert_eq!(q.stats().await.urgent, 2);
    let delivery = q.claim_one().await;
    assert_eq!(q.stats().await.urgent, 1);
    let lower = Settlement::Nack { delay: None, priority: Some(p(2000)), reason: None };
    q.settle(&delivery, lower).await.unwrap();
    assert_eq!(q.stats().await.urgent, 1);
    b.pass(s(9)).await;
    assert_eq!(q.stats().await.urgent, 2);
}

async fn statistics_of_a_queue_that_is_not_there_are_refused(b: Bench) {
    let missing = QueueId(4242);
    refused(b.store().stats(missing, b.now()).await, ErrorKind::QueueNotFound);
    let filter = PeekFilter { state: None, limit: 1 };
    refused(b.store().peek(missing, filter, b.now()).await, ErrorKind::QueueNotFound);
}
