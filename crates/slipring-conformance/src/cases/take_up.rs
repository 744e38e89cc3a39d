//! Leases that are taken up again after they were over (S3.7).

use slipring::lifecycle::Settlement;
use slipring::{ErrorKind, MessageState};

use crate::bench::{Bench, m, ms, refused, s, settings};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(a_lapsed_lease_is_taken_up_while_the_message_is_free, "S3.7"),
    case!(what_was_taken_up_is_held_by_the_same_receipt, "S3.1", "S3.7"),
    case!(a_valid_lease_is_prolonged_as_ever, "S3.7"),
    case!(a_message_that_was_given_back_is_taken_up, "S3.7"),
    case!(a_lease_is_not_taken_up_from_another_holder, "S3.1", "S3.7"),
    case!(what_is_not_ready_is_not_taken_up, "S3.7"),
    case!(what_never_reached_its_holder_is_not_taken_up, "S2.3", "S3.7"),
    case!(nothing_is_taken_up_in_a_fifo_queue, "S3.7"),
    case!(what_has_left_is_not_taken_up, "S3.5", "S3.7"),
];

async fn a_lapsed_lease_is_taken_up_while_the_message_is_free(b: Bench) {
    for noticed in [false, true] {
        let q = b.plain().await;
        q.send_all(["a", "b", "c"]).await;
        let taken = q.claim(3).await;
        b.advance(s(30));
        if noticed {
            b.expire().await;
        }
        let deadline = q.take_up(&taken[1], s(10)).await.unwrap();
        assert_eq!(deadline, b.now().after(s(10)));
        b.expire().await;
        q.holds(2, 0, 1, 0).await;
        assert_eq!(q.peek(MessageState::Ready).await, ["a", "c"]);
        b.pass(ms(9_999)).await;
        q.holds(2, 0, 1, 0).await;
        b.pass(ms(1)).await;
        q.holds(3, 0, 0, 0).await;
    }
}

async fn what_was_taken_up_is_held_by_the_same_receipt(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let first = q.claim_one().await;
    b.pass(s(30)).await;
    q.take_up(&first, s(10)).await.unwrap();
    let seen = q.only(MessageState::Leased).await;
    assert_eq!((seen.message.attempts, seen.until), (1, Some(b.now().after(s(10)))));
    assert!(q.claim(1).await.is_empty());
    q.nack(&first).await.unwrap();
    let second = q.claim_one().await;
    assert_eq!(second.message.attempts, 2);
    assert!(second.receipt.fence > first.receipt.fence);
    b.pass(s(30)).await;
    q.take_up(&second, s(10)).await.unwrap();
    q.ack(&second).await.unwrap();
    q.holds(0, 0, 0, 0).await;
}

async fn a_valid_lease_is_prolonged_as_ever(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let taken = q.claim_one().await;
    b.advance(s(20));
    assert_eq!(q.take_up(&taken, s(30)).await.unwrap(), b.now().after(s(30)));
    b.pass(s(29)).await;
    q.holds(0, 0, 1, 0).await;
}

async fn a_message_that_was_given_back_is_taken_up(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let taken = q.claim_one().await;
    q.nack(&taken).await.unwrap();
    q.take_up(&taken, s(30)).await.unwrap();
    q.holds(0, 0, 1, 0).await;
}

async fn a_lease_is_not_taken_up_from_another_holder(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let old = q.claim_one().await;
    b.pass(s(30)).await;
    let new = q.claim_one().await;
    refused(q.take_up(&old, s(30)).await, ErrorKind::LeaseLost);
    b.pass(s(30)).await;
    refused(q.take_up(&old, s(30)).await, ErrorKind::LeaseLost);
    q.holds(1, 0, 0, 0).await;
    q.take_up(&new, s(30)).await.unwrap();
}

async fn what_is_not_ready_is_not_taken_up(b: Bench) {
    let q = b.plain().await;
    q.send_all(["a", "b"]).await;
    let taken = q.claim(2).await;
    q.park(&taken[0]).await.unwrap();
    q.nack_for(&taken[1], s(10)).await.unwrap();
    for delivery in &taken {
        refused(q.take_up(delivery, s(30)).await, ErrorKind::LeaseLost);
    }
    q.holds(0, 1, 0, 1).await;
}

async fn what_never_reached_its_holder_is_not_taken_up(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let taken = q.claim_one().await;
    q.settle(&taken, Settlement::HandBack).await.unwrap();
    refused(q.take_up(&taken, s(30)).await, ErrorKind::LeaseLost);
    q.holds(1, 0, 0, 0).await;
}

async fn nothing_is_taken_up_in_a_fifo_queue(b: Bench) {
    let q = b.queue(settings(|to| to.fifo = true)).await;
    q.send(m("a").group("g")).await;
    let taken = q.claim_one().await;
    b.pass(s(30)).await;
    refused(q.take_up(&taken, s(30)).await, ErrorKind::LeaseLost);
    assert_eq!(q.take(1).await, ["a"]);
}

async fn what_has_left_is_not_taken_up(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let taken = q.claim_one().await;
    q.ack(&taken).await.unwrap();
    refused(q.take_up(&taken, s(30)).await, ErrorKind::MessageGone);
}
