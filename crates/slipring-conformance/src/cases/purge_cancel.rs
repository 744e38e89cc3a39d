//! Purge and cancel: messages that leave without having been received.

use slipring::lifecycle::Settlement;
use slipring::{ErrorKind, MessageId, QueueId};

use crate::bench::{Bench, NACK, m, refused, s};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(a_purge_takes_messages_in_every_state, "S14.5"),
    case!(a_purge_goes_in_steps_of_its_limit, "S14.5"),
    case!(a_purge_spares_what_was_sent_later, "S14.5"),
    case!(receipts_of_purged_messages_find_them_gone, "S14.5", "S3.5"),
    case!(part_of_a_receive_may_be_purged, "S14.5", "S3.1"),
    case!(purged_messages_never_come_back, "S4.2"),
    case!(a_purge_of_one_queue_leaves_the_others, "S14.5"),
    case!(a_purge_of_a_queue_that_is_not_there_is_refused, "S14.5"),
    case!(a_cancelled_message_is_gone_from_any_free_state, "S4.2"),
    case!(a_held_message_is_not_cancelled, "S4.2"),
    case!(a_cancel_of_what_is_not_there_finds_it_gone, "S4.2"),
    case!(a_late_holder_finds_a_cancelled_message_gone, "S3.5", "S4.2"),
    case!(cancels_between_many_messages_leave_the_rest_in_order, "S4.2", "S7.1"),
];

async fn a_purge_takes_messages_in_every_state(b: Bench) {
    let q = b.plain().await;
    q.send_all([m("parked"), m("leased"), m("ready"), m("delayed").delay(s(60))]).await;
    let delivery = q.claim_one().await;
    q.park(&delivery).await.unwrap();
    q.claim_one().await;
    q.holds(1, 1, 1, 1).await;
    assert_eq!(q.purge(100).await, 4);
    q.holds(0, 0, 0, 0).await;
    assert_eq!(q.stats().await.bytes, 0);
}

async fn a_purge_goes_in_steps_of_its_limit(b: Bench) {
    let q = b.plain().await;
    q.send_all((0..25).map(|n| n.to_string())).await;
    let step = || async { b.store().purge(q.id, 10, b.now()).await.unwrap() };
    assert_eq!((step().await, step().await, step().await, step().await), (10, 10, 5, 0));
}

async fn a_purge_spares_what_was_sent_later(b: Bench) {
    let q = b.plain().await;
    q.send_all(["old", "old too"]).await;
    let until = b.now();
    b.advance(s(1));
    q.send("new").await;
    for expected in [2, 0] {
        assert_eq!(b.store().purge(q.id, 100, until).await.unwrap(), expected);
    }
    assert_eq!(q.drain().await, ["new"]);
}

async fn receipts_of_purged_messages_find_them_gone(b: Bench) {
    let q = b.plain().await;
    q.send_all(["a", "b", "c", "d"]).await;
    let taken = q.claim(4).await;
    q.purge(100).await;
    let hows =
        [Settlement::Ack, NACK, Settlement::HandBack, Settlement::DeadLetter { reason: None }];
    for (delivery, how) in taken.iter().zip(hows) {
        refused(q.settle(delivery, how).await, ErrorKind::MessageGone);
        refused(q.extend(delivery, s(1)).await, ErrorKind::MessageGone);
    }
    b.pass(s(60)).await;
    q.holds(0, 0, 0, 0).await;
}

async fn part_of_a_receive_may_be_purged(b: Bench) {
    let q = b.plain().await;
    q.send_all(["a", "b"]).await;
    let until = b.now();
    b.advance(s(1));
    q.send_all(["c", "d"]).await;
    let taken = q.claim(4).await;
    assert_eq!(b.store().purge(q.id, 100, until).await.unwrap(), 2);
    refused(q.ack(&taken[1]).await, ErrorKind::MessageGone);
    q.ack(&taken[2]).await.unwrap();
    q.holds(0, 0, 1, 0).await;
    b.pass(s(30)).await;
    assert_eq!(q.drain().await, ["d"]);
}

async fn purged_messages_never_come_back(b: Bench) {
    let q = b.plain().await;
    q.send_all([m("a"), m("b").delay(s(5)), m("c")]).await;
    let delivery = q.claim_one().await;
    q.nack_for(&delivery, s(7)).await.unwrap();
    q.claim_one().await;
    q.purge(100).await;
    for _ in 0..10 {
        b.pass(s(10)).await;
        assert_eq!(q.kick(10).await, 0);
        assert!(q.claim(10).await.is_empty());
    }
}

async fn a_purge_of_one_queue_leaves_the_others(b: Bench) {
    let (q, other) = (b.plain().await, b.plain().await);
    q.send("a").await;
    other.send("b").await;
    assert_eq!(q.purge(100).await, 1);
    assert_eq!(other.drain().await, ["b"]);
}

async fn a_purge_of_a_queue_that_is_not_there_is_refused(b: Bench) {
    refused(b.store().purge(QueueId(9), 10, b.now()).await, ErrorKind::QueueNotFound);
}

async fn a_cancelled_message_is_gone_from_any_free_state(b: Bench) {
    let q = b.plain().await;
    let ids = q.send_all([m("parked"), m("ready"), m("delayed").delay(s(5)), m("stays")]).await;
    let delivery = q.claim_one().await;
    q.park(&delivery).await.unwrap();
    for id in &ids[..3] {
        assert_eq!(b.cancel(*id).await.unwrap(), q.id);
        assert_eq!(b.lookup(*id).await, None);
    }
    q.holds(1, 0, 0, 0).await;
    assert_eq!(q.stats().await.bytes, 5);
    b.pass(s(60)).await;
    assert_eq!(q.kick(10).await, 0);
    assert_eq!(q.drain().await, ["stays"]);
}

async fn a_held_message_is_not_cancelled(b: Bench) {
    let q = b.plain().await;
    let id = q.send("a").await;
    let delivery = q.claim_one().await;
    refused(b.cancel(id).await, ErrorKind::WrongState);
    q.holds(0, 0, 1, 0).await;
    q.nack(&delivery).await.unwrap();
    b.cancel(id).await.unwrap();
    q.holds(0, 0, 0, 0).await;
}

async fn a_cancel_of_what_is_not_there_finds_it_gone(b: Bench) {
    let q = b.plain().await;
    let id = q.send("a").await;
    b.cancel(id).await.unwrap();
    for gone in [id, MessageId(0), MessageId(id.0 + 1), MessageId(1 << 60)] {
        refused(b.cancel(gone).await, ErrorKind::MessageGone);
    }
}

async fn a_late_holder_finds_a_cancelled_message_gone(b: Bench) {
    let q = b.plain().await;
    let id = q.send("a").await;
    let late = q.claim_one().await;
    b.pass(s(30)).await;
    b.cancel(id).await.unwrap();
    refused(q.ack(&late).await, ErrorKind::MessageGone);
    refused(q.nack(&late).await, ErrorKind::MessageGone);
}

async fn cancels_between_many_messages_leave_the_rest_in_order(b: Bench) {
    let q = b.plain().await;
    let ids = q.send_all((0..100).map(|n| n.to_string())).await;
    for id in ids.iter().step_by(3) {
        b.cancel(*id).await.unwrap();
    }
    assert_eq!(q.take(10).await, ["1", "2", "4", "5", "7", "8", "10", "11", "13", "14"]);
    for id in ids.iter().skip(16).step_by(3) {
        b.cancel(*id).await.unwrap();
    }
    assert_eq!(q.take(3).await, ["17", "20", "23"]);
}
