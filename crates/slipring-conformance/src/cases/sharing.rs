//! Two handles on the same data at once, as two processes have them.

use slipring::{ErrorKind, QueueSettings};

use crate::bench::{Bench, bodies, m, refused, s, settings};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(what_one_handle_sends_the_other_receives, needs Shared, "S2.4"),
    case!(a_change_by_the_other_handle_is_noticed, needs Shared, "S2.4"),
    case!(the_list_of_queues_moves_only_when_it_is_changed, needs Shared, "S2.4", "S14.6"),
    case!(no_message_is_handed_out_by_both_handles, needs Shared, "S3.1"),
    case!(a_receipt_of_one_handle_settles_through_the_other, needs Shared, "S3.3", "S3.6"),
    case!(a_lease_of_one_handle_lapses_through_the_other, needs Shared, "S3.1", "S3.3"),
    case!(queues_and_settings_are_seen_by_both_handles, needs Shared, "S14.2"),
    case!(a_queue_deleted_by_the_other_handle_is_gone, needs Shared, "S4.2"),
    case!(numbers_of_both_handles_never_meet, needs Shared, "S7.1"),
    case!(the_dedup_window_counts_for_both_handles, needs Shared, "S8.1"),
    case!(a_second_handle_does_not_end_session_leases, needs Shared, "S3.1"),
    case!(fifo_groups_are_blocked_for_both_handles, needs Shared, "S7.3"),
    case!(limits_count_for_both_handles, needs Shared, "S12.2"),
    case!(returned_messages_are_in_order_for_both_handles, needs Shared, "S7.2"),
    case!(a_clock_of_the_store_is_one_for_both_handles, needs Shared, "S13.2"),
];

async fn what_one_handle_sends_the_other_receives(b: Bench) {
    let q = b.plain().await;
    let other = b.second_handle().await;
    let there = q.on(&other);
    for round in 0..5 {
        q.send(round.to_string()).await;
        assert_eq!(there.drain().await, [round.to_string()]);
        there.send(format!("back {round}")).await;
        assert_eq!(q.drain().await, [format!("back {round}")]);
    }
}

async fn a_change_by_the_other_handle_is_noticed(b: Bench) {
    let q = b.plain().await;
    let other = b.second_handle().await;
    let seen = async || other.store().foreign_changes().await.unwrap();
    let before = seen().await;
    assert_eq!(seen().await, before, "nothing has changed");
    q.send("a").await;
    assert_ne!(seen().await, before);
}

async fn a_clock_of_the_store_is_one_for_both_handles(b: Bench) {
    let (one, two) = (b.store().clock(), b.second_handle().await.store().clock());
    assert_eq!(one.is_some(), two.is_some());
    // A store may leave the time to its callers alone.
    let (Some(one), Some(two)) = (one, two) else { return };
    for _ in 0..100 {
        let (before, between, after) = (one.now(), two.now(), one.now());
        assert!(before <= between && between <= after, "{before}, {between}, {after}");
    }
}

async fn the_list_of_queues_moves_only_when_it_is_changed(b: Bench) {
    let q = b.plain().await;
    let other = b.second_handle().await;
    let seen = async || other.store().queue_changes().await.unwrap();
    let mut before = seen().await;
    q.send_all(["a", "b"]).await;
    let held = q.claim_one().await;
    q.ack(&held).await.unwrap();
    assert_eq!(seen().await, before, "messages are no queues");
    let mut moved = async |what: &str| {
        let now = seen().await;
        assert_ne!(now, before, "{what}");
        before = now;
    };
    let second = b.plain().await;
    moved("a queue was created").await;
    second.configure(&settings(|to| to.paused = true)).await.unwrap();
    moved("a queue was configured").await;
    b.store().delete_queue(second.id).await.unwrap();
    moved("a queue was deleted").await;
}

async fn no_message_is_handed_out_by_both_handles(b: Bench) {
    let q = b.plain().await;
    let there = q.on(&b.second_handle().await);
    q.send_all((0..100).map(|n| n.to_string())).await;
    let mut all = Vec::new();
    for round in 0..10 {
        all.extend(q.take(5 + round % 3).await);
        all.extend(there.take(5).await);
    }
    assert_eq!(all, (0..100).map(|n| n.to_string()).collect::<Vec<_>>());
}

async fn a_receipt_of_one_handle_settles_through_the_other(b: Bench) {
    let q = b.plain().await;
    let other = b.second_handle().await;
    let there = q.on(&other);
    q.send_all(["a", "b", "c"]).await;
    let taken = q.claim(3).await;
    let text = b.store().receipt_key().await.unwrap().seal(&taken[0].receipt);
    let opened = other.store().receipt_key().await.unwrap().open(&text).unwrap();
    assert_eq!(opened, taken[0].receipt);
    there.ack(&taken[0]).await.unwrap();
    there.extend(&taken[1], s(60)).await.unwrap();
    there.nack(&taken[2]).await.unwrap();
    refused(q.ack(&taken[0]).await, ErrorKind::MessageGone);
    b.pass(s(30)).await;
    q.holds(1, 0, 1, 0).await;
    q.ack(&taken[1]).await.unwrap();
}

async fn a_lease_of_one_handle_lapses_through_the_other(b: Bench) {
    let q = b.plain().await;
    let other = b.second_handle().await;
    q.send("a").await;
    let late = q.claim_one().await;
    other.pass(s(30)).await;
    let holder = q.on(&other).claim_one().await;
    assert_eq!(holder.message.attempts, 2);
    assert!(holder.receipt.fence > late.receipt.fence);
    refused(q.ack(&late).await, ErrorKind::LeaseLost);
    refused(q.extend(&late, s(9)).await, ErrorKind::LeaseLost);
    assert!(q.claim(1).await.is_empty());
}

async fn queues_and_settings_are_seen_by_both_handles(b: Bench) {
    let other = b.second_handle().await;
    let q = b.plain().await;
    let there = q.on(&other);
    assert_eq!(other.store().queues().await.unwrap().len(), 1);
    let slow = settings(|to| to.delay = s(9));
    q.configure(&slow).await.unwrap();
    there.send("a").await;
    q.holds(0, 1, 0, 0).await;
    there.configure(&settings(|to| to.paused = true)).await.unwrap();
    q.send("b").await;
    assert!(q.claim(1).await.is_empty());
    let answer = other.store().create_queue(&q.info.name, &slow, b.now()).await;
    refused(answer, ErrorKind::QueueExists);
}

async fn a_queue_deleted_by_the_other_handle_is_gone(b: Bench) {
    let q = b.plain().await;
    let other = b.second_handle().await;
    q.send("a").await;
    let there = q.on(&other);
    assert_eq!(there.stats().await.ready, 1);
    let held = q.claim_one().await;
    other.store().delete_queue(q.id).await.unwrap();
    refused(b.store().stats(q.id, b.now()).await, ErrorKind::QueueNotFound);
    refused(q.ack(&held).await, ErrorKind::MessageGone);
    let again = b.named(q.info.name.as_str(), QueueSettings::default()).await;
    again.on(&other).send("b").await;
    assert_eq!(again.drain().await, ["b"]);
}

async fn numbers_of_both_handles_never_meet(b: Bench) {
    let q = b.plain().await;
    let there = q.on(&b.second_handle().await);
    let mut last = slipring::MessageId(0);
    for _ in 0..10 {
        for handle in [&q, &there] {
            let ids = handle.send_all(["a", "b"]).await;
            assert!(last < ids[0] && ids[0] < ids[1]);
            last = ids[1];
        }
    }
}

async fn the_dedup_window_counts_for_both_handles(b: Bench) {
    let q = b.plain().await;
    let there = q.on(&b.second_handle().await);
    let first = q.send(m("a").dedup_id("x")).await;
    let again = there.try_send(m("b").dedup_id("x")).await.unwrap();
    assert_eq!((again.id, again.duplicate), (first, true));
    there.send(m("c").dedup_id("y")).await;
    assert!(q.try_send(m("d").dedup_id("y")).await.unwrap().duplicate);
}

async fn a_second_handle_does_not_end_session_leases(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let demand = slipring::store::Demand { up_to: 1, lease: None, session: true };
    let held = q.claim_demands(vec![demand]).await.deliveries.remove(0);
    let other = b.second_handle().await;
    other.pass(s(0)).await;
    assert!(q.on(&other).claim(1).await.is_empty());
    q.ack(&held[0]).await.unwrap();
}

async fn fifo_groups_are_blocked_for_both_handles(b: Bench) {
    let q = b.queue(settings(|to| to.fifo = true)).await;
    let there = q.on(&b.second_handle().await);
    q.send_all(["a1", "a2", "b1"].map(|body| m(body).group(&body[..1]))).await;
    let first = q.claim_one().await;
    assert_eq!(there.take(10).await, ["b1"]);
    q.ack(&first).await.unwrap();
    assert_eq!(there.take(10).await, ["a2"]);
}

async fn limits_count_for_both_handles(b: Bench) {
    let q = b
        .queue(settings(|to| {
            to.messages_max = Some(4);
            to.in_flight_max = 2;
        }))
        .await;
    let there = q.on(&b.second_handle().await);
    q.send_all(["a", "b"]).await;
    there.send_all(["c", "d"]).await;
    refused(q.try_send("e").await, ErrorKind::LimitExceeded);
    refused(there.try_send("e").await, ErrorKind::LimitExceeded);
    assert_eq!((q.claim(1).await.len(), there.claim(9).await.len()), (1, 1));
    assert!(q.claim(1).await.is_empty());
}

async fn returned_messages_are_in_order_for_both_handles(b: Bench) {
    let q = b.plain().await;
    let there = q.on(&b.second_handle().await);
    q.send_all((0..10).map(|n| n.to_string())).await;
    let (first, second) = (q.claim(4).await, there.claim(4).await);
    assert_eq!(bodies(&second), ["4", "5", "6", "7"]);
    q.nack(&second[1]).await.unwrap();
    there.nack(&first[3]).await.unwrap();
    there.send("10").await;
    assert_eq!(there.take(1).await, ["3"]);
    assert_eq!(q.take(1).await, ["5"]);
    assert_eq!(there.take(9).await, ["8", "9", "10"]);
}
