//! Handing out: what a receive gets and what it gets with it.

use slipring::lifecycle::Settlement;
use slipring::store::{ClaimBatch, ClaimEnd, Demand};
use slipring::{ErrorKind, MessageId, MessageState, QueueId};

use crate::bench::{Bench, START, bodies, m, refused, s, settings};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(a_receive_takes_at_most_what_it_asked_for, "S7.1"),
    case!(receives_that_wait_together_are_served_in_their_order, "S7.1"),
    case!(no_message_is_handed_out_twice, "S3.1"),
    case!(a_receive_of_an_empty_queue_gets_nothing, "S2.4"),
    case!(a_claim_says_when_nothing_is_left, "S2.4"),
    case!(each_hand_out_has_a_higher_fence, "S3.2"),
    case!(the_first_delivery_shows_one_attempt, "S6.1"),
    case!(the_first_receive_is_remembered, "S6.1"),
    case!(the_lease_lasts_as_the_receive_says_else_the_message_else_the_queue, "S3.1"),
    case!(a_lease_of_no_length_lapses_at_once, "S5.2"),
    case!(a_message_is_taken_by_number_from_any_state_nobody_holds, "S3.1"),
    case!(a_held_message_is_not_taken_by_number, "S3.1"),
    case!(a_message_of_another_queue_is_not_taken_by_number, "S3.5"),
    case!(a_message_taken_by_number_is_leased_like_any_other, "S6.1"),
    case!(a_claim_on_a_queue_that_is_not_there_is_refused, "S12.2"),
];

async fn a_receive_takes_at_most_what_it_asked_for(b: Bench) {
    let q = b.plain().await;
    q.send_all(["a", "b", "c", "d", "e"]).await;
    assert_eq!(q.take(2).await, ["a", "b"]);
    q.holds(3, 0, 2, 0).await;
    assert_eq!(q.take(10).await, ["c", "d", "e"]);
    q.holds(0, 0, 5, 0).await;
}

async fn receives_that_wait_together_are_served_in_their_order(b: Bench) {
    let q = b.plain().await;
    q.send_all(["a", "b", "c", "d", "e"]).await;
    let claimed = q.claim_many(&[2, 1, 10, 1]).await;
    let lists: Vec<_> = claimed.deliveries.iter().map(|list| bodies(list)).collect();
    assert_eq!(lists, [vec!["a", "b"], vec!["c"], vec!["d", "e"], vec![]]);
    assert_eq!(claimed.end, ClaimEnd::Drained);
}

async fn no_message_is_handed_out_twice(b: Bench) {
    let q = b.plain().await;
    q.send_all((0..100).map(|n| n.to_string())).await;
    let mut all = Vec::new();
    for size in [1, 7, 30, 100, 100] {
        all.extend(q.take(size).await);
    }
    assert_eq!(all, (0..100).map(|n| n.to_string()).collect::<Vec<_>>());
}

async fn a_receive_of_an_empty_queue_gets_nothing(b: Bench) {
    let q = b.plain().await;
    let claimed = q.claim_many(&[1, 5]).await;
    assert_eq!(claimed.deliveries, [vec![], vec![]]);
    assert_eq!(claimed.end, ClaimEnd::Drained);
}

async fn a_claim_says_when_nothing_is_left(b: Bench) {
    let q = b.plain().await;
    q.send_all(["a", "b"]).await;
    assert_eq!(q.claim_many(&[1]).await.end, ClaimEnd::More);
    assert_eq!(q.claim_many(&[2]).await.end, ClaimEnd::Drained);
}

async fn each_hand_out_has_a_higher_fence(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let mut newest = None;
    for round in 0..9 {
        let delivery = q.claim_one().await;
        assert!(Some(delivery.receipt.fence) > newest, "fences grow with each hand-out");
        newest = Some(delivery.receipt.fence);
        match round % 4 {
            0 => drop(q.nack(&delivery).await.unwrap()),
            1 => drop(q.settle(&delivery, Settlement::HandBack).await.unwrap()),
            2 => {
                q.park(&delivery).await.unwrap();
                q.kick(1).await;
            }
            _ => b.pass(s(30)).await,
        }
    }
}

async fn the_first_delivery_shows_one_attempt(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    for attempt in 1..=5 {
        let delivery = q.claim_one().await;
        assert_eq!(delivery.message.attempts, attempt);
        q.nack(&delivery).await.unwrap();
        assert_eq!(q.only(MessageState::Ready).await.message.attempts, attempt);
    }
}

async fn the_first_receive_is_remembered(b: Bench) {
    let q = b.plain().await;
    let id = q.send("a").await;
    assert_eq!(b.lookup(id).await.unwrap().message.first_received_at, None);
    b.pass(s(5)).await;
    let first = q.claim_one().await;
    assert_eq!(first.message.first_received_at, Some(START.after(s(5))));
    b.pass(s(60)).await;
    let second = q.claim_one().await;
    assert_eq!(second.message.first_received_at, Some(START.after(s(5))));
}

async fn the_lease_lasts_as_the_receive_says_else_the_message_else_the_queue(b: Bench) {
    let q = b.queue(settings(|to| to.visibility_timeout = s(40))).await;
    let mut own = m("own");
    own.lease = Some(s(20));
    q.send_all([m("plain"), own.clone(), own]).await;
    assert_eq!(q.claim_one().await.deadline, START.after(s(40)));
    assert_eq!(q.claim_one().await.deadline, START.after(s(20)));
    assert_eq!(q.claim_one_for(s(10)).await.deadline, START.after(s(10)));
    let mut until: Vec<_> = q.peek_full(Some(MessageState::Leased), 10).await;
    until.sort_by_key(|peeked| peeked.message.id);
    let until: Vec<_> = until.iter().map(|peeked| peeked.until.unwrap()).collect();
    assert_eq!(until, [40, 20, 10].map(|seconds| START.after(s(seconds))));
}

async fn a_lease_of_no_length_lapses_at_once(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let delivery = q.claim_one_for(s(0)).await;
    assert_eq!(delivery.deadline, START);
    refused(q.nack(&delivery).await, ErrorKind::LeaseLost);
    b.pass(s(0)).await;
    let again = q.claim_one().await;
    assert_eq!(again.message.attempts, 2);
}

async fn a_message_is_taken_by_number_from_any_state_nobody_holds(b: Bench) {
    let q = b.plain().await;
    q.send("parked").await;
    let delivery = q.claim_one().await;
    q.park(&delivery).await.unwrap();
    let ready = q.send_all(["before", "ready"]).await[1];
    let delayed = q.send(m("delayed").delay(s(60))).await;
    for (id, body) in [(delivery.message.id, "parked"), (ready, "ready"), (delayed, "delayed")] {
        let taken = q.claim_message(id).await.unwrap();
        assert_eq!(taken.message.body, body);
        assert_eq!(taken.message.id, id);
    }
    q.holds(1, 0, 3, 0).await;
    assert_eq!(q.take(10).await, ["before"]);
    b.pass(s(60)).await;
    q.holds(4, 0, 0, 0).await;
}

async fn a_held_message_is_not_taken_by_number(b: Bench) {
    let q = b.plain().await;
    let id = q.send("a").await;
    let delivery = q.claim_one().await;
    refused(q.claim_message(id).await, ErrorKind::WrongState);
    q.ack(&delivery).await.unwrap();
    refused(q.claim_message(id).await, ErrorKind::MessageGone);
}

async fn a_message_of_another_queue_is_not_taken_by_number(b: Bench) {
    let (q, other) = (b.plain().await, b.plain().await);
    let id = q.send("a").await;
    refused(other.claim_message(id).await, ErrorKind::MessageGone);
    refused(other.claim_message(MessageId(u64::MAX >> 1)).await, ErrorKind::MessageGone);
    q.holds(1, 0, 0, 0).await;
}

async fn a_message_taken_by_number_is_leased_like_any_other(b: Bench) {
    let q = b.plain().await;
    let id = q.send("a").await;
    let first = q.claim_message(id).await.unwrap();
    assert_eq!((first.message.attempts, first.deadline), (1, START.after(s(30))));
    b.pass(s(30)).await;
    let second = q.claim_message(id).await.unwrap();
    assert_eq!(second.message.attempts, 2);
    assert!(second.receipt.fence > first.receipt.fence);
    refused(q.ack(&first).await, ErrorKind::LeaseLost);
    q.ack(&second).await.unwrap();
    q.holds(0, 0, 0, 0).await;
}

async fn a_claim_on_a_queue_that_is_not_there_is_refused(b: Bench) {
    let demands = vec![Demand { up_to: 1, lease: None, session: false }];
    let batch = ClaimBatch { queue: QueueId(999), now: b.now(), demands };
    refused(b.store().claim(batch).await, ErrorKind::QueueNotFound);
}
