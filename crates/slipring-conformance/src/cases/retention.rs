//! Retention: messages that have become too old leave.

use slipring::{ErrorKind, MessageState, QueueSettings};

use crate::bench::{Bench, START, m, ms, refused, s, settings};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(a_message_leaves_when_its_retention_is_over, "S14.4"),
    case!(without_retention_a_message_stays, "S14.4"),
    case!(messages_in_every_state_leave, "S14.4"),
    case!(receipts_of_messages_that_left_find_them_gone, "S14.4", "S3.5"),
    case!(younger_messages_stay, "S14.4"),
    case!(retention_counts_from_the_send_through_retries, "S14.4"),
    case!(a_pass_says_how_many_left_and_when_the_next_will, "S14.4"),
    case!(a_pass_over_many_old_messages_finds_them_all, "S14.4"),
    case!(changed_settings_count_for_messages_already_there, "S14.4"),
    case!(an_old_message_no_longer_blocks_its_group, "S14.4", "S7.3"),
    case!(a_dead_letter_s_age_counts_from_its_first_send, "S14.4", "S6.4"),
];

fn keeping(seconds: u64) -> QueueSettings {
    settings(|to| to.retention = Some(s(seconds)))
}

async fn a_message_leaves_when_its_retention_is_over(b: Bench) {
    let q = b.queue(keeping(60)).await;
    q.send("a").await;
    b.advance(ms(59_999));
    b.prune().await;
    q.holds(1, 0, 0, 0).await;
    b.advance(ms(2));
    assert_eq!(b.prune().await.removed, 1);
    q.holds(0, 0, 0, 0).await;
    assert_eq!(q.stats().await.bytes, 0);
}

async fn without_retention_a_message_stays(b: Bench) {
    let q = b.plain().await;
    let id = q.send("a").await;
    b.advance(s(1 << 33));
    let pass = b.prune().await;
    assert_eq!((pass.removed, pass.next), (0, None));
    assert!(b.lookup(id).await.is_some());
}

async fn messages_in_every_state_leave(b: Bench) {
    let q = b.queue(keeping(60)).await;
    q.send_all([m("parked"), m("leased"), m("ready"), m("delayed").delay(s(1000))]).await;
    let delivery = q.claim_one().await;
    q.park(&delivery).await.unwrap();
    q.claim_for(1, s(1000)).await;
    q.holds(1, 1, 1, 1).await;
    b.advance(s(61));
    assert_eq!(b.prune().await.removed, 4);
    q.holds(0, 0, 0, 0).await;
    b.pass(s(5000)).await;
    q.holds(0, 0, 0, 0).await;
}

async fn receipts_of_messages_that_left_find_them_gone(b: Bench) {
    let q = b.queue(keeping(10)).await;
    q.send("a").await;
    let delivery = q.claim_one().await;
    b.advance(s(11));
    b.prune().await;
    refused(q.extend(&delivery, s(9)).await, ErrorKind::MessageGone);
    refused(q.ack(&delivery).await, ErrorKind::MessageGone);
}

async fn younger_messages_stay(b: Bench) {
    let q = b.queue(keeping(60)).await;
    q.send("old").await;
    b.advance(s(30));
    q.send("young").await;
    b.advance(s(31));
    b.prune().await;
    assert_eq!(q.drain().await, ["young"]);
}

async fn retention_counts_from_the_send_through_retries(b: Bench) {
    let q = b.queue(keeping(60)).await;
    q.send("a").await;
    for _ in 0..3 {
        let delivery = q.claim_one().await;
        q.nack_for(&delivery, s(19)).await.unwrap();
        b.pass(s(19)).await;
        b.prune().await;
    }
    q.holds(1, 0, 0, 0).await;
    b.pass(s(4)).await;
    b.prune().await;
    q.holds(0, 0, 0, 0).await;
}

async fn a_pass_says_how_many_left_and_when_the_next_will(b: Bench) {
    let (one, two) = (b.queue(keeping(60)).await, b.queue(keeping(20)).await);
    one.send_all(["a", "b"]).await;
    two.send("c").await;
    let next = b.prune().await.next.expect("a message will leave");
    assert!(next >= START.after(s(20)) && next <= START.after(ms(20_001)));
    b.advance(ms(20_001));
    let pass = b.prune().await;
    assert_eq!(pass.removed, 1);
    let next = pass.next.expect("a message will leave");
    assert!(next >= START.after(s(60)) && next <= START.after(ms(60_001)));
}

async fn a_pass_over_many_old_messages_finds_them_all(b: Bench) {
    let q = b.queue(keeping(60)).await;
    for _ in 0..3 {
        q.send_all((0..5000).map(|n| n.to_string())).await;
    }
    b.advance(s(30));
    q.send("young").await;
    b.advance(s(31));
    assert_eq!(b.prune().await.removed, 15_000);
    q.holds(1, 0, 0, 0).await;
}

async fn changed_settings_count_for_messages_already_there(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    b.advance(s(100));
    q.configure(&keeping(1000)).await.unwrap();
    b.prune().await;
    q.holds(1, 0, 0, 0).await;
    q.configure(&keeping(60)).await.unwrap();
    b.prune().await;
    q.holds(0, 0, 0, 0).await;
}

async fn an_old_message_no_longer_blocks_its_group(b: Bench) {
    let q = b
        .queue(settings(|to| {
            to.fifo = true;
            to.retention = Some(s(60));
        }))
        .await;
    q.send(m("a1").group("a")).await;
    q.claim_for(1, s(1000)).await;
    b.advance(s(30));
    q.send(m("a2").group("a")).await;
    assert!(q.claim(1).await.is_empty());
    b.advance(s(31));
    let pass = b.prune().await;
    assert_eq!(pass.removed, 1);
    assert!(pass.ready.iter().any(|(id, _)| *id == q.id), "who waits must hear of it (S2.4)");
    assert_eq!(q.take(1).await, ["a2"]);
}

async fn a_dead_letter_s_age_counts_from_its_first_send(b: Bench) {
    let dead = b.queue(keeping(60)).await;
    let q = b.source_of(&dead, 1).await;
    q.send("a").await;
    b.advance(s(50));
    let delivery = q.claim_one().await;
    q.nack(&delivery).await.unwrap();
    b.prune().await;
    assert_eq!(dead.peek(MessageState::Ready).await, ["a"]);
    b.advance(s(11));
    b.prune().await;
    dead.holds(0, 0, 0, 0).await;
}
