//! Acks: what is done is gone, and whose ack counts.

use slipring::lifecycle::Settlement;
use slipring::store::{SettleBatch, Settled};
use slipring::{ErrorKind, Fence, MessageId, Receipt};

use crate::bench::{Bench, NACK, refused, s};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(an_acked_message_is_gone, "S4.1"),
    case!(a_second_ack_finds_the_message_gone, "S3.5"),
    case!(the_middle_of_a_receive_is_acked_and_the_rest_comes_back, "S4.1", "S7.2"),
    case!(acks_in_any_order_leave_what_was_not_acked, "S4.1"),
    case!(a_late_ack_counts_while_nobody_else_got_the_message, "S3.4"),
    case!(a_late_ack_counts_before_the_lapse_was_noticed, "S3.4"),
    case!(a_late_ack_is_refused_once_somebody_else_got_the_message, "S3.4"),
    case!(an_ack_after_a_nack_of_the_same_holder_still_counts, "S3.4"),
    case!(an_ack_with_a_made_up_fence_changes_nothing, "S3.4"),
    case!(an_ack_of_a_message_that_never_was_finds_it_gone, "S3.5"),
    case!(the_same_receipt_twice_in_a_batch_counts_once, "S9.3"),
    case!(one_bad_entry_does_not_touch_its_neighbours, "S9.3"),
    case!(a_mixed_batch_of_settlements_is_answered_entry_by_entry, "S9.3"),
];

async fn an_acked_message_is_gone(b: Bench) {
    let q = b.plain().await;
    let id = q.send("a").await;
    let delivery = q.claim_one().await;
    assert_eq!(q.ack(&delivery).await.unwrap(), Settled::Done);
    q.holds(0, 0, 0, 0).await;
    assert_eq!(q.stats().await.bytes, 0);
    assert_eq!(b.lookup(id).await, None);
    b.pass(s(3600)).await;
    assert!(q.claim(10).await.is_empty());
}

async fn a_second_ack_finds_the_message_gone(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let delivery = q.claim_one().await;
    q.ack(&delivery).await.unwrap();
    for settlement in
        [Settlement::Ack, NACK, Settlement::HandBack, Settlement::DeadLetter { reason: None }]
    {
        refused(q.settle(&delivery, settlement).await, ErrorKind::MessageGone);
    }
    refused(q.extend(&delivery, s(10)).await, ErrorKind::MessageGone);
    q.holds(0, 0, 0, 0).await;
}

async fn the_middle_of_a_receive_is_acked_and_the_rest_comes_back(b: Bench) {
    let q = b.plain().await;
    q.send_all((0..10).map(|n| n.to_string())).await;
    let taken = q.claim(10).await;
    let acks = taken[3..7].iter().map(|delivery| (delivery.receipt, Settlement::Ack));
    assert!(q.settle_all(acks.collect()).await.iter().all(Result::is_ok));
    q.holds(0, 0, 6, 0).await;
    b.pass(s(30)).await;
    q.holds(6, 0, 0, 0).await;
    assert_eq!(q.drain().await, ["0", "1", "2", "7", "8", "9"]);
}

async fn acks_in_any_order_leave_what_was_not_acked(b: Bench) {
    let q = b.plain().await;
    q.send_all((0..12).map(|n| n.to_string())).await;
    let first = q.claim(5).await;
    let second = q.claim(5).await;
    for delivery in [&second[4], &first[0], &second[0], &first[4], &first[2]] {
        q.ack(delivery).await.unwrap();
    }
    q.holds(2, 0, 5, 0).await;
    b.pass(s(30)).await;
    assert_eq!(q.drain().await, ["1", "3", "6", "7", "8", "10", "11"]);
}

async fn a_late_ack_counts_while_nobody_else_got_the_message(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let delivery = q.claim_one().await;
    b.pass(s(31)).await;
    q.holds(1, 0, 0, 0).await;
    assert_eq!(q.ack(&delivery).await.unwrap(), Settled::Done);
    q.holds(0, 0, 0, 0).await;
    assert!(q.claim(1).await.is_empty());
}

async fn a_late_ack_counts_before_the_lapse_was_noticed(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let delivery = q.claim_one().await;
    b.advance(s(31));
    assert_eq!(q.ack(&delivery).await.unwrap(), Settled::Done);
    b.pass(s(0)).await;
    q.holds(0, 0, 0, 0).await;
}

async fn a_late_ack_is_refused_once_somebody_else_got_the_message(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let late = q.claim_one().await;
    b.pass(s(31)).await;
    let holder = q.claim_one().await;
    refused(q.ack(&late).await, ErrorKind::LeaseLost);
    q.holds(0, 0, 1, 0).await;
    b.pass(s(31)).await;
    refused(q.ack(&late).await, ErrorKind::LeaseLost);
    q.holds(1, 0, 0, 0).await;
    q.ack(&holder).await.unwrap();
    refused(q.ack(&late).await, ErrorKind::MessageGone);
}

async fn an_ack_after_a_nack_of_the_same_holder_still_counts(b: Bench) {
    let q = b.plain().await;
    for delay in [s(0), s(60)] {
        q.send("a").await;
        let delivery = q.claim_one().await;
        q.nack_for(&delivery, delay).await.unwrap();
        refused(q.nack(&delivery).await, ErrorKind::LeaseLost);
        assert_eq!(q.ack(&delivery).await.unwrap(), Settled::Done);
        q.holds(0, 0, 0, 0).await;
    }
}

async fn an_ack_with_a_made_up_fence_changes_nothing(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let delivery = q.claim_one().await;
    let fence = delivery.receipt.fence.0;
    for wrong in [0, fence - 1, fence + 1, u64::MAX >> 1] {
        let receipt = Receipt { fence: Fence(wrong), ..delivery.receipt };
        let answer = q.settle_all(vec![(receipt, Settlement::Ack)]).await.remove(0);
        refused(answer, ErrorKind::LeaseLost);
    }
    q.holds(0, 0, 1, 0).await;
    q.ack(&delivery).await.unwrap();
}

async fn an_ack_of_a_message_that_never_was_finds_it_gone(b: Bench) {
    let (q, other) = (b.plain().await, b.plain().await);
    let elsewhere = other.send("a").await;
    for message in [elsewhere, MessageId(0), MessageId(999), MessageId(u64::MAX >> 1)] {
        let receipt = Receipt { queue: q.id, message, fence: Fence(1) };
        let answer = q.settle_all(vec![(receipt, Settlement::Ack)]).await.remove(0);
        refused(answer, ErrorKind::MessageGone);
    }
    other.holds(1, 0, 0, 0).await;
}

async fn the_same_receipt_twice_in_a_batch_counts_once(b: Bench) {
    let q = b.plain().await;
    q.send_all(["a", "b"]).await;
    let taken = q.claim(2).await;
    let (a, bb) = (taken[0].receipt, taken[1].receipt);
    let entries = vec![
        (a, Settlement::Ack),
        (a, Settlement::Ack),
        (bb, NACK),
        (bb, NACK),
        (bb, Settlement::Ack),
    ];
    let mut answers = q.settle_all(entries).await.into_iter();
    assert_eq!(answers.next().unwrap().unwrap(), Settled::Done);
    refused(answers.next().unwrap(), ErrorKind::MessageGone);
    assert_eq!(answers.next().unwrap().unwrap(), Settled::Ready);
    refused(answers.next().unwrap(), ErrorKind::LeaseLost);
    assert_eq!(answers.next().unwrap().unwrap(), Settled::Done);
    q.holds(0, 0, 0, 0).await;
}

async fn one_bad_entry_does_not_touch_its_neighbours(b: Bench) {
    let q = b.plain().await;
    q.send_all(["a", "b", "c"]).await;
    let taken = q.claim(3).await;
    q.ack(&taken[1]).await.unwrap();
    let acks = taken.iter().map(|delivery| (delivery.receipt, Settlement::Ack)).collect();
    let answers = q.settle_all(acks).await;
    assert!(answers[0].is_ok() && answers[2].is_ok());
    refused(answers[1].clone(), ErrorKind::MessageGone);
    q.holds(0, 0, 0, 0).await;
    let nobody = SettleBatch { queue: q.id, now: b.now(), entries: Vec::new() };
    assert!(b.store().settle(nobody).await.unwrap().is_empty());
}

async fn a_mixed_batch_of_settlements_is_answered_entry_by_entry(b: Bench) {
    let q = b.plain().await;
    q.send_all(["ack", "nack", "later", "back", "park", "dead"]).await;
    let taken = q.claim(6).await;
    let later = Settlement::Nack { delay: Some(s(5)), priority: None, reason: None };
    let park = Settlement::Park { priority: None };
    let hows = [
        Settlement::Ack,
        NACK,
        later,
        Settlement::HandBack,
        park,
        Settlement::DeadLetter { reason: None },
    ];
    let entries = taken.iter().zip(hows).map(|(d, how)| (d.receipt, how)).collect();
    let answers: Vec<_> = q.settle_all(entries).await.into_iter().map(Result::unwrap).collect();
    let due = b.now().after(s(5));
    let wanted = [
        Settled::Done,
        Settled::Ready,
        Settled::Delayed(due),
        Settled::Ready,
        Settled::Parked,
        Settled::Parked,
    ];
    assert_eq!(answers, wanted);
    q.holds(2, 1, 0, 2).await;
}
