//! Leases: how long they hold, how they lapse, how they are prolonged.

use slipring::lifecycle::Settlement;
use slipring::store::Demand;
use slipring::{ErrorKind, Fence, MessageState, Receipt};

use crate::bench::{Bench, NACK, START, bodies, m, ms, refused, s, settings};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(a_lease_holds_until_its_deadline_and_not_longer, "S3.1", "S5.2"),
    case!(a_lapsed_message_is_ready_again_with_its_attempt_counted, "S6.1"),
    case!(only_the_valid_holder_may_nack_park_give_up_or_extend, "S3.3"),
    case!(after_the_deadline_all_but_ack_is_refused, "S3.3"),
    case!(an_extended_lease_lapses_at_the_new_deadline, "S3.1", "S5.2"),
    case!(extending_one_message_of_a_receive_leaves_its_neighbours, "S3.1", "S5.2"),
    case!(every_second_message_of_a_receive_extended_alone_still_settles, "S3.1"),
    case!(an_extended_receipt_still_settles, "S3.3"),
    case!(extending_may_also_shorten_a_lease, "S3.1"),
    case!(an_extension_without_a_length_takes_the_message_s_or_queue_s, "S3.1"),
    case!(an_extension_does_not_count_an_attempt_or_change_the_fence, "S3.2", "S6.1"),
    case!(a_bad_extension_does_not_touch_its_neighbours, "S9.3"),
    case!(leases_of_one_receive_with_different_lengths_lapse_one_by_one, "S5.2"),
    case!(a_hand_back_leaves_the_attempt_uncounted, "S2.3"),
    case!(a_hand_back_of_a_retry_keeps_the_attempts_before, "S2.3", "S6.1"),
    case!(a_message_handed_back_on_its_last_try_is_tried_again, "S2.3", "S6.2"),
    case!(a_session_lease_is_a_lease_like_any_other, "S3.1"),
    case!(a_lease_longer_than_anybody_lives_is_kept, "S12.1"),
];

async fn a_lease_holds_until_its_deadline_and_not_longer(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let delivery = q.claim_one().await;
    assert_eq!(delivery.deadline, START.after(s(30)));
    b.advance(ms(29_999));
    let pass = b.expire().await;
    assert_eq!((pass.ready.len(), pass.next), (0, Some(delivery.deadline)));
    assert!(q.claim(1).await.is_empty());
    b.advance(ms(1));
    let pass = b.expire().await;
    assert_eq!((pass.ready, pass.next), (vec![(q.id, 1)], None));
    assert_eq!(q.take(1).await, ["a"]);
}

async fn a_lapsed_message_is_ready_again_with_its_attempt_counted(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    for attempt in 1..=4 {
        assert_eq!(q.claim_one().await.message.attempts, attempt);
        b.pass(s(30)).await;
        let seen = q.only(MessageState::Ready).await;
        assert_eq!((seen.message.attempts, seen.until), (attempt, None));
    }
}

async fn only_the_valid_holder_may_nack_park_give_up_or_extend(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let old = q.claim_one().await;
    b.pass(s(30)).await;
    let holder = q.claim_one().await;
    let park = Settlement::Park { priority: None };
    for settlement in [NACK, Settlement::HandBack, park, Settlement::DeadLetter { reason: None }] {
        refused(q.settle(&old, settlement).await, ErrorKind::LeaseLost);
    }
    refused(q.extend(&old, s(1000)).await, ErrorKind::LeaseLost);
    q.holds(0, 0, 1, 0).await;
    let seen = q.only(MessageState::Leased).await;
    assert_eq!((seen.until, seen.message.attempts), (Some(holder.deadline), 2));
    assert!(q.nack(&holder).await.is_ok());
}

async fn after_the_deadline_all_but_ack_is_refused(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let late = q.claim_one().await;
    b.advance(s(30));
    for noticed in [false, true] {
        if noticed {
            b.expire().await;
        }
        let park = Settlement::Park { priority: None };
        for settlement in
            [NACK, Settlement::HandBack, park, Settlement::DeadLetter { reason: None }]
        {
            refused(q.settle(&late, settlement).await, ErrorKind::LeaseLost);
        }
        refused(q.extend(&late, s(30)).await, ErrorKind::LeaseLost);
    }
    q.holds(1, 0, 0, 0).await;
    assert_eq!(q.claim_one().await.message.attempts, 2);
}

async fn an_extended_lease_lapses_at_the_new_deadline(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let delivery = q.claim_one().await;
    b.advance(s(20));
    let deadline = q.extend(&delivery, s(30)).await.unwrap();
    assert_eq!(deadline, START.after(s(50)));
    b.advance(ms(29_999));
    assert_eq!(b.expire().await.next, Some(deadline));
    q.holds(0, 0, 1, 0).await;
    b.pass(ms(1)).await;
    q.holds(1, 0, 0, 0).await;
}

async fn extending_one_message_of_a_receive_leaves_its_neighbours(b: Bench) {
    let q = b.plain().await;
    q.send_all(["a", "b", "c", "d", "e"]).await;
    let taken = q.claim(5).await;
    q.extend(&taken[2], s(100)).await.unwrap();
    b.pass(s(30)).await;
    q.holds(4, 0, 1, 0).await;
    assert_eq!(q.peek(MessageState::Ready).await, ["a", "b", "d", "e"]);
    refused(q.nack(&taken[1]).await, ErrorKind::LeaseLost);
    assert!(q.nack(&taken[2]).await.is_ok());
    assert_eq!(q.drain().await, ["a", "b", "c", "d", "e"]);
}

async fn every_second_message_of_a_receive_extended_alone_still_settles(b: Bench) {
    let q = b.plain().await;
    q.send_all((0..20).map(|n| n.to_string())).await;
    let taken = q.claim(20).await;
    for (nth, delivery) in taken.iter().enumerate().filter(|(nth, _)| nth % 2 == 1) {
        q.extend(delivery, s(40 + nth as u64)).await.unwrap();
    }
    q.ack(&taken[5]).await.unwrap();
    q.ack(&taken[6]).await.unwrap();
    b.pass(s(30)).await;
    q.holds(9, 0, 9, 0).await;
    b.pass(s(15)).await;
    // Those extended to 41, 43 and 47 seconds: 41 and 43 have lapsed by 45; 45 was acked.
    q.holds(11, 0, 7, 0).await;
    q.ack(&taken[19]).await.unwrap();
    q.ack(&taken[1]).await.unwrap();
    b.pass(s(100)).await;
    let all = q.drain().await;
    let gone = [1, 5, 6, 19];
    let wanted: Vec<_> =
        (0..20).filter(|n| !gone.contains(n)).map(|n: i32| n.to_string()).collect();
    assert_eq!(all, wanted);
}

async fn an_extended_receipt_still_settles(b: Bench) {
    let q = b.plain().await;
    q.send_all(["a", "b", "c"]).await;
    let taken = q.claim(3).await;
    for delivery in &taken {
        q.extend(delivery, s(60)).await.unwrap();
        q.extend(delivery, s(90)).await.unwrap();
    }
    b.pass(s(70)).await;
    q.ack(&taken[0]).await.unwrap();
    q.nack(&taken[1]).await.unwrap();
    q.park(&taken[2]).await.unwrap();
    q.holds(1, 0, 0, 1).await;
}

async fn extending_may_also_shorten_a_lease(b: Bench) {
    let q = b.plain().await;
    q.send_all(["a", "b", "c"]).await;
    let taken = q.claim(3).await;
    q.extend(&taken[1], s(5)).await.unwrap();
    q.extend(&taken[2], s(0)).await.unwrap();
    assert_eq!(b.expire().await.next, Some(START.after(s(5))));
    q.holds(1, 0, 2, 0).await;
    b.pass(s(5)).await;
    assert_eq!(q.peek(MessageState::Ready).await, ["b", "c"]);
    refused(q.extend(&taken[1], s(30)).await, ErrorKind::LeaseLost);
}

async fn an_extension_without_a_length_takes_the_message_s_or_queue_s(b: Bench) {
    let q = b.queue(settings(|to| to.visibility_timeout = s(40))).await;
    let mut own = m("own");
    own.lease = Some(s(7));
    q.send_all([own, m("plain")]).await;
    let taken = q.claim_for(2, s(1000)).await;
    b.advance(s(100));
    let entries = taken.iter().map(|delivery| (delivery.receipt, None)).collect();
    let until: Vec<_> = q.extend_all(entries).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(until, [START.after(s(107)), START.after(s(140))]);
}

async fn an_extension_does_not_count_an_attempt_or_change_the_fence(b: Bench) {
    let q = b.plain().await;
    q.send_all(["a", "b"]).await;
    let first = q.claim(2).await.remove(0);
    for _ in 0..5 {
        b.advance(s(10));
        q.extend(&first, s(30)).await.unwrap();
    }
    assert_eq!(b.lookup(first.message.id).await.unwrap().message.attempts, 1);
    b.pass(s(30)).await;
    let again = q.claim_message(first.message.id).await.unwrap();
    assert_eq!(again.message.attempts, 2);
    assert!(again.receipt.fence > first.receipt.fence);
}

async fn a_bad_extension_does_not_touch_its_neighbours(b: Bench) {
    let q = b.plain().await;
    q.send_all(["a", "b", "c"]).await;
    let taken = q.claim(3).await;
    q.ack(&taken[0]).await.unwrap();
    let forged = Receipt { fence: Fence(taken[1].receipt.fence.0 + 7), ..taken[1].receipt };
    let entries =
        [taken[0].receipt, forged, taken[2].receipt].map(|receipt| (receipt, Some(s(60))));
    let mut answers = q.extend_all(entries.to_vec()).await.into_iter();
    refused(answers.next().unwrap(), ErrorKind::MessageGone);
    refused(answers.next().unwrap(), ErrorKind::LeaseLost);
    assert_eq!(answers.next().unwrap().unwrap(), START.after(s(60)));
    b.pass(s(30)).await;
    q.holds(1, 0, 1, 0).await;
}

async fn leases_of_one_receive_with_different_lengths_lapse_one_by_one(b: Bench) {
    let q = b.plain().await;
    q.send_all([30, 10, 20].map(|seconds| {
        let mut message = m(&seconds.to_string());
        message.lease = Some(s(seconds));
        message
    }))
    .await;
    assert_eq!(q.claim(3).await.len(), 3);
    for expected in [vec!["10"], vec!["10", "20"], vec!["10", "20", "30"]] {
        b.pass(s(10)).await;
        let mut ready = q.peek(MessageState::Ready).await;
        ready.sort();
        assert_eq!(ready, expected);
    }
}

async fn a_hand_back_leaves_the_attempt_uncounted(b: Bench) {
    let q = b.plain().await;
    q.send_all(["a", "b", "c"]).await;
    let first = q.claim(3).await;
    for delivery in &first {
        q.settle(delivery, Settlement::HandBack).await.unwrap();
    }
    q.holds(3, 0, 0, 0).await;
    let second = q.claim(3).await;
    assert_eq!(bodies(&second), ["a", "b", "c"]);
    for (old, new) in first.iter().zip(&second) {
        assert_eq!(new.message.attempts, 1);
        assert!(new.receipt.fence > old.receipt.fence);
        refused(q.settle(old, Settlement::Ack).await, ErrorKind::LeaseLost);
    }
}

async fn a_hand_back_of_a_retry_keeps_the_attempts_before(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    for _ in 0..2 {
        let delivery = q.claim_one().await;
        q.nack(&delivery).await.unwrap();
    }
    let third = q.claim_one().await;
    assert_eq!(third.message.attempts, 3);
    q.settle(&third, Settlement::HandBack).await.unwrap();
    assert_eq!(q.only(MessageState::Ready).await.message.attempts, 2);
    assert_eq!(q.claim_one().await.message.attempts, 3);
}

async fn a_message_handed_back_on_its_last_try_is_tried_again(b: Bench) {
    let q = b.queue(settings(|to| to.max_attempts = Some(1))).await;
    q.send("a").await;
    for _ in 0..3 {
        let delivery = q.claim_one().await;
        q.settle(&delivery, Settlement::HandBack).await.unwrap();
        q.holds(1, 0, 0, 0).await;
    }
    let delivery = q.claim_one().await;
    assert_eq!(delivery.message.attempts, 1);
    q.nack(&delivery).await.unwrap();
    q.holds(0, 0, 0, 1).await;
}

async fn a_session_lease_is_a_lease_like_any_other(b: Bench) {
    let q = b.plain().await;
    q.send_all(["a", "b", "c"]).await;
    let demand = Demand { up_to: 3, lease: Some(s(10)), session: true };
    let taken = q.claim_demands(vec![demand]).await.deliveries.remove(0);
    assert_eq!(bodies(&taken), ["a", "b", "c"]);
    q.ack(&taken[0]).await.unwrap();
    q.extend(&taken[1], s(60)).await.unwrap();
    b.pass(s(10)).await;
    q.holds(1, 0, 1, 0).await;
    assert_eq!(q.take(5).await, ["c"]);
}

async fn a_lease_longer_than_anybody_lives_is_kept(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let delivery = q.claim_one_for(s(1 << 32)).await;
    assert_eq!(delivery.deadline, START.after(s(1 << 32)));
    b.pass(s(1 << 31)).await;
    q.holds(0, 0, 1, 0).await;
    assert_eq!(q.extend(&delivery, s(1 << 32)).await.unwrap(), b.now().after(s(1 << 32)));
    q.ack(&delivery).await.unwrap();
}
