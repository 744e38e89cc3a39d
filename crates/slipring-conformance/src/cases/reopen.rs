//! Closing and opening again: what was answered is still so.

use slipring::lifecycle::Settlement;
use slipring::store::Demand;
use slipring::{ErrorKind, MessageState, QueueSettings};

use crate::bench::{Bench, m, p, refused, s, settings};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(a_closed_store_says_so, "S12.2"),
    case!(messages_are_there_after_a_restart, needs Durable, "S1.1"),
    case!(messages_in_every_state_are_there_after_a_restart, needs Durable, "S1.3"),
    case!(acked_messages_stay_gone_after_a_restart, needs Durable, "S4.1"),
    case!(purged_cancelled_and_deleted_stay_gone_after_a_restart, needs Durable, "S4.2"),
    case!(leases_hold_over_a_restart, needs Durable, "S1.4", "S3.1"),
    case!(a_receive_partly_acked_is_as_it_was_after_a_restart, needs Durable, "S1.3", "S4.1"),
    case!(attempts_and_fences_grow_over_a_restart, needs Durable, "S3.2", "S6.1"),
    case!(session_leases_end_with_the_process, needs Durable, "S1.4"),
    case!(settings_are_there_after_a_restart, needs Durable, "S1.3"),
    case!(the_dedup_window_survives_a_restart, needs Durable, "S8.3"),
    case!(order_is_the_same_after_a_restart, needs Durable, "S7.1", "S7.2"),
    case!(fifo_groups_are_blocked_over_a_restart, needs Durable, "S7.3"),
    case!(numbers_go_on_after_a_restart, needs Durable, "S7.1"),
    case!(statistics_are_exact_after_a_restart, needs Durable, "S2.1"),
    case!(relaxed_messages_survive_a_clean_restart, needs Durable, "S1.2"),
    case!(many_restarts_in_a_row_change_nothing, needs Durable, "S1.1"),
];

async fn a_closed_store_says_so(b: Bench) {
    let q = b.plain().await;
    b.store().check().await.unwrap();
    b.store().close().await.unwrap();
    refused(b.store().check().await, ErrorKind::Closed);
    refused(b.store().stats(q.id, b.now()).await, ErrorKind::Closed);
    refused(b.store().due(b.now()).await, ErrorKind::Closed);
    refused(b.store().heads(&[q.id], b.now()).await, ErrorKind::Closed);
    let name = q.info.name.clone();
    let answer = b.store().create_queue(&name, &QueueSettings::default(), b.now()).await;
    refused(answer, ErrorKind::Closed);
}

async fn messages_are_there_after_a_restart(b: Bench) {
    let q = b.plain().await;
    let before = q.send_all([m("a").group("g").priority(3), m("b").dedup_id("d")]).await;
    let shown = q.peek_full(None, 10).await;
    b.reopen().await;
    assert_eq!(q.peek_full(None, 10).await, shown);
    assert_eq!(b.lookup(before[0]).await.unwrap().message.body, "a");
    assert_eq!(q.drain().await, ["a", "b"]);
}

async fn messages_in_every_state_are_there_after_a_restart(b: Bench) {
    let q = b.plain().await;
    let sent = [m("parked"), m("leased"), m("later"), m("ready"), m("delayed").delay(s(60))];
    q.send_all(sent).await;
    let taken = q.claim(3).await;
    let how = Settlement::Park { priority: Some(p(5)) };
    q.settle(&taken[0], how).await.unwrap();
    q.nack_for(&taken[2], s(40)).await.unwrap();
    let mut before = q.peek_full(None, 10).await;
    b.reopen().await;
    let mut after = q.peek_full(None, 10).await;
    before.sort_by_key(|peeked| peeked.message.id);
    after.sort_by_key(|peeked| peeked.message.id);
    assert_eq!(after, before);
    q.holds(1, 2, 1, 1).await;
    b.pass(s(60)).await;
    q.kick(1).await;
    assert_eq!(q.drain().await, ["parked", "leased", "later", "ready", "delayed"]);
}

async fn acked_messages_stay_gone_after_a_restart(b: Bench) {
    let q = b.plain().await;
    q.send_all((0..20).map(|n| n.to_string())).await;
    let taken = q.claim(20).await;
    for delivery in taken.iter().step_by(2) {
        q.ack(delivery).await.unwrap();
    }
    b.reopen().await;
    refused(q.ack(&taken[0]).await, ErrorKind::MessageGone);
    b.pass(s(30)).await;
    let left: Vec<_> = (0..20).filter(|n| n % 2 == 1).map(|n| n.to_string()).collect();
    assert_eq!(q.drain().await, left);
}

async fn purged_cancelled_and_deleted_stay_gone_after_a_restart(b: Bench) {
    let (purged, q, deleted) = (b.plain().await, b.plain().await, b.plain().await);
    purged.send("a").await;
    purged.purge(10).await;
    let cancelled = q.send("b").await;
    q.send("c").await;
    b.cancel(cancelled).await.unwrap();
    deleted.send("d").await;
    b.store().delete_queue(deleted.id).await.unwrap();
    b.reopen().await;
    purged.holds(0, 0, 0, 0).await;
    assert_eq!(q.drain().await, ["c"]);
    assert_eq!(b.store().queues().await.unwrap().len(), 2);
}

async fn leases_hold_over_a_restart(b: Bench) {
    let q = b.plain().await;
    q.send_all(["a", "b", "c"]).await;
    let taken = q.claim(3).await;
    q.extend(&taken[2], s(100)).await.unwrap();
    b.reopen().await;
    b.pass(s(29)).await;
    q.holds(0, 0, 3, 0).await;
    q.ack(&taken[0]).await.unwrap();
    b.pass(s(1)).await;
    q.holds(1, 0, 1, 0).await;
    q.nack(&taken[2]).await.unwrap();
    assert_eq!(q.drain().await, ["b", "c"]);
}

async fn a_receive_partly_acked_is_as_it_was_after_a_restart(b: Bench) {
    let q = b.plain().await;
    q.send_all((0..10).map(|n| n.to_string())).await;
    let taken = q.claim(10).await;
    for nth in [2, 3, 4, 7] {
        q.ack(&taken[nth]).await.unwrap();
    }
    q.nack_for(&taken[5], s(5)).await.unwrap();
    b.reopen().await;
    q.holds(0, 1, 5, 0).await;
    q.ack(&taken[9]).await.unwrap();
    b.reopen().await;
    b.pass(s(30)).await;
    assert_eq!(q.drain().await, ["0", "1", "5", "6", "8"]);
}

async fn attempts_and_fences_grow_over_a_restart(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let mut newest = None;
    for attempt in 1..=5 {
        let delivery = q.claim_one().await;
        assert_eq!(delivery.message.attempts, attempt);
        assert!(Some(delivery.receipt.fence) > newest);
        newest = Some(delivery.receipt.fence);
        match attempt % 2 {
            0 => drop(q.nack(&delivery).await.unwrap()),
            _ => b.pass(s(30)).await,
        }
        b.reopen().await;
    }
}

async fn session_leases_end_with_the_process(b: Bench) {
    let q = b.plain().await;
    q.send_all(["session", "other"]).await;
    let session = Demand { up_to: 1, lease: Some(s(1000)), session: true };
    let other = Demand { session: false, ..session };
    let taken = q.claim_demands(vec![session, other]).await.deliveries;
    b.reopen().await;
    b.pass(s(0)).await;
    q.holds(1, 0, 1, 0).await;
    let again = q.claim_one().await;
    assert_eq!((&again.message.body[..], again.message.attempts), (&b"session"[..], 2));
    refused(q.ack(&taken[0][0]).await, ErrorKind::LeaseLost);
    q.ack(&taken[1][0]).await.unwrap();
}

async fn settings_are_there_after_a_restart(b: Bench) {
    let q = b.queue(settings(|to| to.delay = s(3))).await;
    let changed = settings(|to| {
        to.visibility_timeout = s(7);
        to.attributes.insert("k".into(), "v".into());
    });
    b.advance(s(1));
    let info = q.configure(&changed).await.unwrap();
    b.reopen().await;
    assert_eq!(*b.store().queues().await.unwrap()[0], info);
    q.send("a").await;
    assert_eq!(q.claim_one().await.deadline, b.now().after(s(7)));
}

async fn the_dedup_window_survives_a_restart(b: Bench) {
    let q = b.queue(settings(|to| to.dedup_window = s(60))).await;
    let first = q.send(m("a").dedup_id("x")).await;
    assert_eq!(q.drain().await, ["a"]);
    b.reopen().await;
    b.advance(s(59));
    let again = q.try_send(m("b").dedup_id("x")).await.unwrap();
    assert_eq!((again.id, again.duplicate), (first, true));
    b.reopen().await;
    b.advance(s(1));
    assert!(!q.try_send(m("c").dedup_id("x")).await.unwrap().duplicate);
}

async fn order_is_the_same_after_a_restart(b: Bench) {
    let q = b.plain().await;
    q.send_all((0..40_u32).map(|n| m(&format!("{}-{n:02}", n % 4)).priority(n % 4))).await;
    for delivery in q.claim(12).await.iter().rev() {
        q.nack(delivery).await.unwrap();
    }
    b.reopen().await;
    q.send_all((40..44_u32).map(|n| m(&format!("{}-{n:02}", n % 4)).priority(n % 4))).await;
    let all = q.drain().await;
    assert!(all.len() == 44 && all.is_sorted(), "{all:?}");
}

async fn fifo_groups_are_blocked_over_a_restart(b: Bench) {
    let q = b.queue(settings(|to| to.fifo = true)).await;
    let sent = ["a1", "a2", "b1", "b2"].map(|body| m(body).group(&body[..1]));
    q.send_all(sent).await;
    let (a1, b1) = (q.claim_one().await, q.claim_one().await);
    q.nack_for(&b1, s(10)).await.unwrap();
    b.reopen().await;
    assert!(q.claim(10).await.is_empty());
    q.ack(&a1).await.unwrap();
    assert_eq!(q.drain().await, ["a2"]);
    b.pass(s(10)).await;
    assert_eq!(q.drain().await, ["b1", "b2"]);
}

async fn numbers_go_on_after_a_restart(b: Bench) {
    let q = b.plain().await;
    let mut last = q.send_all(["a", "b", "c"]).await[2];
    for _ in 0..3 {
        q.drain().await;
        b.reopen().await;
        let next = q.send("d").await;
        assert!(next > last, "a number is never used again");
        last = next;
    }
    let other = b.plain().await;
    assert!(other.id > q.id);
}

async fn statistics_are_exact_after_a_restart(b: Bench) {
    let q = b.plain().await;
    q.send_all([m("parked"), m("leased"), m("ready").priority(5000), m("d").delay(s(9))]).await;
    let delivery = q.claim_one().await;
    q.park(&delivery).await.unwrap();
    q.claim_one().await;
    let before = q.stats().await;
    b.reopen().await;
    assert_eq!(q.stats().await, before);
    assert_eq!(q.peek(MessageState::Parked).await, ["parked"]);
}

async fn relaxed_messages_survive_a_clean_restart(b: Bench) {
    let q = b.queue(settings(|to| to.durability = slipring::Durability::Relaxed)).await;
    q.send_all(["a", "b"]).await;
    let first = q.claim_one().await;
    q.ack(&first).await.unwrap();
    b.reopen().await;
    assert_eq!(q.drain().await, ["b"]);
}

async fn many_restarts_in_a_row_change_nothing(b: Bench) {
    let q = b.plain().await;
    q.send_all(["a", "b", "c"]).await;
    let first = q.claim_one().await;
    let before = (q.stats().await, q.peek_full(None, 10).await.len());
    for _ in 0..5 {
        b.reopen().await;
        assert_eq!((q.stats().await, q.peek_full(None, 10).await.len()), before);
    }
    q.ack(&first).await.unwrap();
    assert_eq!(q.drain().await, ["b", "c"]);
}
