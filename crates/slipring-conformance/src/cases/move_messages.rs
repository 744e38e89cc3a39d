//! Moving messages between queues: redrive.

use std::collections::BTreeMap;

use slipring::{ErrorKind, MessageState, MoveRequest, QueueId};

use crate::bench::{Bench, QueueBench, START, m, refused, s};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(a_redrive_sends_each_message_back_to_where_it_came_from, "S6.4"),
    case!(a_redriven_message_is_as_new_but_for_its_age, "S6.4"),
    case!(old_receipts_do_not_count_after_a_redrive, "S3.2", "S3.4"),
    case!(a_redrive_keeps_to_its_limit_and_goes_on, "S6.4"),
    case!(a_redrive_leaves_messages_without_a_source, "S6.4"),
    case!(a_redrive_leaves_messages_whose_source_is_gone, "S6.4"),
    case!(a_redrive_to_a_named_queue_takes_everything_free, "S6.4"),
    case!(a_redrive_takes_parked_messages_too, "S6.4"),
    case!(leased_and_delayed_messages_are_not_moved, "S6.4", "S3.1"),
    case!(moved_messages_stand_in_the_order_of_sending, "S7.2"),
    case!(moving_from_or_to_a_queue_that_is_not_there_is_refused, "S6.4"),
    case!(moving_from_a_queue_to_itself_is_refused, "S6.4"),
    case!(a_redrive_between_queues_that_are_each_others_moves_each_message_once, "S6.4"),
    case!(moved_bytes_are_counted_where_they_are, "S6.3"),
];

async fn step(b: &Bench, source: &QueueBench, target: Option<&QueueBench>, limit: u32) -> Moved {
    let request = MoveRequest { source: source.id, target: target.map(|to| to.id), limit };
    let moved = b.store().move_messages(request, b.now()).await.expect("messages can be moved");
    assert!(moved.iter().map(|(_, count)| count).sum::<u64>() <= u64::from(limit));
    moved.into_iter().collect()
}

type Moved = BTreeMap<QueueId, u64>;

async fn whole(b: &Bench, source: &QueueBench, target: Option<&QueueBench>) -> Moved {
    let mut sum = Moved::new();
    for _ in 0..1000 {
        let moved = step(b, source, target, 100).await;
        if moved.is_empty() {
            return sum;
        }
        for (queue, count) in moved {
            *sum.entry(queue).or_default() += count;
        }
    }
    panic!("a redrive says for ever that it moves something");
}

async fn kill(q: &QueueBench, count: usize) {
    for _ in 0..count {
        let delivery = q.claim_one().await;
        q.nack(&delivery).await.unwrap();
    }
}

async fn a_redrive_sends_each_message_back_to_where_it_came_from(b: Bench) {
    let dead = b.plain().await;
    let (one, two) = (b.source_of(&dead, 1).await, b.source_of(&dead, 1).await);
    one.send_all(["a", "b", "c"]).await;
    two.send_all(["d", "e"]).await;
    kill(&one, 3).await;
    kill(&two, 2).await;
    dead.holds(5, 0, 0, 0).await;
    assert_eq!(whole(&b, &dead, None).await, Moved::from([(one.id, 3), (two.id, 2)]));
    dead.holds(0, 0, 0, 0).await;
    assert_eq!(one.drain().await, ["a", "b", "c"]);
    assert_eq!(two.drain().await, ["d", "e"]);
}

async fn a_redriven_message_is_as_new_but_for_its_age(b: Bench) {
    let dead = b.plain().await;
    let q = b.source_of(&dead, 1).await;
    let id = q.send(m("a").group("g").priority(9)).await;
    kill(&q, 1).await;
    let delivery = dead.claim_one().await;
    dead.nack(&delivery).await.unwrap();
    b.pass(s(50)).await;
    whole(&b, &dead, None).await;
    let got = q.claim_one().await.message;
    assert_eq!((got.id, got.attempts, got.sent_at), (id, 1, START));
    assert_eq!(got.dead_letter_source, None);
    assert_eq!((got.group.as_deref(), got.priority.0), (Some("g"), 9));
}

async fn old_receipts_do_not_count_after_a_redrive(b: Bench) {
    let dead = b.plain().await;
    let q = b.source_of(&dead, 1).await;
    q.send("a").await;
    let first = q.claim_one().await;
    q.nack(&first).await.unwrap();
    let second = dead.claim_one().await;
    dead.nack(&second).await.unwrap();
    whole(&b, &dead, None).await;
    refused(dead.ack(&second).await, ErrorKind::MessageGone);
    let third = q.claim_one().await;
    assert!(first.receipt.fence < second.receipt.fence);
    assert!(second.receipt.fence < third.receipt.fence);
    refused(q.ack(&first).await, ErrorKind::LeaseLost);
    q.ack(&third).await.unwrap();
}

async fn a_redrive_keeps_to_its_limit_and_goes_on(b: Bench) {
    let dead = b.plain().await;
    let q = b.source_of(&dead, 1).await;
    q.send_all((0..25).map(|n| n.to_string())).await;
    kill(&q, 25).await;
    for moved in [10, 10, 5] {
        assert_eq!(step(&b, &dead, None, 10).await, Moved::from([(q.id, moved)]));
        assert_eq!(q.stats().await.ready + dead.stats().await.ready, 25);
    }
    assert!(step(&b, &dead, None, 10).await.is_empty());
    assert_eq!(q.drain().await, (0..25).map(|n| n.to_string()).collect::<Vec<_>>());
}

async fn a_redrive_leaves_messages_without_a_source(b: Bench) {
    let dead = b.plain().await;
    let q = b.source_of(&dead, 1).await;
    dead.send_all((0..20).map(|n| format!("own {n}"))).await;
    q.send_all(["a", "b"]).await;
    kill(&q, 2).await;
    dead.send("own too").await;
    assert_eq!(step(&b, &dead, None, 1).await, Moved::from([(q.id, 1)]));
    assert_eq!(whole(&b, &dead, None).await, Moved::from([(q.id, 1)]));
    dead.holds(21, 0, 0, 0).await;
    assert_eq!(q.take(10).await, ["a", "b"]);
}

async fn a_redrive_leaves_messages_whose_source_is_gone(b: Bench) {
    let dead = b.plain().await;
    let (one, two) = (b.source_of(&dead, 1).await, b.source_of(&dead, 1).await);
    one.send("a").await;
    two.send("b").await;
    kill(&one, 1).await;
    kill(&two, 1).await;
    b.store().delete_queue(one.id).await.unwrap();
    assert_eq!(whole(&b, &dead, None).await, Moved::from([(two.id, 1)]));
    assert_eq!(dead.peek(MessageState::Ready).await, ["a"]);
}

async fn a_redrive_to_a_named_queue_takes_everything_free(b: Bench) {
    let (source, target) = (b.plain().await, b.plain().await);
    source.send_all([m("a").priority(5), m("b").priority(1), m("c").priority(5)]).await;
    assert_eq!(whole(&b, &source, Some(&target)).await, Moved::from([(target.id, 3)]));
    source.holds(0, 0, 0, 0).await;
    assert_eq!(target.drain().await, ["b", "a", "c"]);
}

async fn a_redrive_takes_parked_messages_too(b: Bench) {
    let (source, target) = (b.plain().await, b.plain().await);
    source.send_all(["a", "b"]).await;
    let delivery = source.claim_one().await;
    source.park(&delivery).await.unwrap();
    assert_eq!(whole(&b, &source, Some(&target)).await, Moved::from([(target.id, 2)]));
    target.holds(2, 0, 0, 0).await;
    let attempts: Vec<_> = target.claim(2).await.iter().map(|d| d.message.attempts).collect();
    assert_eq!(attempts, [1, 1]);
}

async fn leased_and_delayed_messages_are_not_moved(b: Bench) {
    let (source, target) = (b.plain().await, b.plain().await);
    source.send_all([m("leased"), m("delayed").delay(s(5)), m("ready")]).await;
    let held = source.claim_one().await;
    assert_eq!(whole(&b, &source, Some(&target)).await, Moved::from([(target.id, 1)]));
    source.holds(0, 1, 1, 0).await;
    assert_eq!(target.take(5).await, ["ready"]);
    source.ack(&held).await.unwrap();
}

async fn moved_messages_stand_in_the_order_of_sending(b: Bench) {
    let (source, target) = (b.plain().await, b.plain().await);
    source.send("1").await;
    target.send("2").await;
    source.send("3").await;
    target.send("4").await;
    whole(&b, &source, Some(&target)).await;
    target.send("5").await;
    assert_eq!(target.drain().await, ["1", "2", "3", "4", "5"]);
}

async fn moving_from_or_to_a_queue_that_is_not_there_is_refused(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let missing = QueueId(q.id.0 + 99);
    let requests = [(missing, Some(q.id)), (q.id, Some(missing)), (missing, None)];
    for (source, target) in requests {
        let request = MoveRequest { source, target, limit: 10 };
        let answer = b.store().move_messages(request, b.now()).await;
        refused(answer, ErrorKind::QueueNotFound);
    }
    q.holds(1, 0, 0, 0).await;
}

async fn moving_from_a_queue_to_itself_is_refused(b: Bench) {
    let q = b.plain().await;
    q.send_all(["ready", "parked"]).await;
    let delivery = q.claim_one().await;
    q.park(&delivery).await.unwrap();
    let request = MoveRequest { source: q.id, target: Some(q.id), limit: 10 };
    let error = refused(b.store().move_messages(request, b.now()).await, ErrorKind::Invalid);
    let name = q.info.name.to_string();
    assert!(error.context().contains(&("queue", name)), "{error}");
    q.holds(1, 0, 0, 1).await;
}

async fn a_redrive_between_queues_that_are_each_others_moves_each_message_once(b: Bench) {
    let (one, two) = b.each_others_dead_letters().await;
    one.send_all(["a", "b"]).await;
    kill(&one, 2).await;
    assert_eq!(whole(&b, &two, None).await, Moved::from([(one.id, 2)]));
    assert!(step(&b, &one, None, 10).await.is_empty(), "what came back names no source");
    one.holds(2, 0, 0, 0).await;
}

async fn moved_bytes_are_counted_where_they_are(b: Bench) {
    let (source, target) = (b.plain().await, b.plain().await);
    source.send_all(["12345", "123"]).await;
    assert_eq!(step(&b, &source, Some(&target), 1).await.len(), 1);
    assert_eq!((source.stats().await.bytes, target.stats().await.bytes), (3, 5));
}
