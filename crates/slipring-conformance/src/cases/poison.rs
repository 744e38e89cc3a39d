//! What messages that fail cost the others: their share of the deliveries.

use slipring::lifecycle::Settlement;
use slipring::store::{ClaimAny, ClaimEnd, Demand};
use slipring::{Delivery, MessageState};

use crate::bench::{Bench, QueueBench, bodies, m, ms, s};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(one_poison_leaves_the_others_nine_deliveries_of_ten, "S11.1"),
    case!(many_poisons_leave_the_others_nine_deliveries_of_ten, "S11.1"),
    case!(failing_messages_get_every_hundredth_delivery, "S11.1"),
    case!(failing_messages_get_what_is_left_in_their_order, "S11.1", "S7.1"),
    case!(a_poison_of_the_best_priority_does_not_stop_the_worse_ones, "S11.1"),
    case!(a_failing_message_goes_before_none_of_a_better_priority, "S7.1", "S11.1"),
    case!(what_was_given_back_is_received_again_at_once_three_times, "S7.2"),
    case!(a_delay_and_a_kick_are_no_way_around_the_share, "S11.1"),
    case!(hand_backs_are_no_attempts, "S2.3", "S11.1"),
    case!(lapses_count_like_nacks, "S11.1"),
    case!(the_share_is_counted_over_receives_of_any_size, "S11.1"),
    case!(a_queue_with_failing_messages_alone_comes_after_others, "S7.6", "S11.1"),
    case!(a_queue_with_failing_messages_alone_gets_its_share_beside_others, "S7.6", "S11.1"),
    case!(the_share_over_queues_is_counted_by_delivery, needs CountedAcross, "S7.6", "S11.1"),
    case!(a_failed_message_of_the_worst_priority_is_handed_out_once, "S3.1", "S7.1"),
];

async fn a_failed_message_of_the_worst_priority_is_handed_out_once(b: Bench) {
    for times in [0, 1, 3, 4] {
        let q = b.plain().await;
        q.send(m("delayed").priority(u32::MAX).delay(s(1))).await;
        failed(&q, "failed", u32::MAX, times).await;
        b.pass(s(1)).await;
        let mut taken = bodies(&q.claim(10).await);
        taken.sort();
        assert_eq!(taken, ["delayed", "failed"], "after {times} failures");
        q.holds(0, 0, 2, 0).await;
    }
}

pub(super) async fn fail(q: &QueueBench, times: u32) {
    for _ in 0..times {
        let delivery = q.claim_one().await;
        q.nack_for(&delivery, s(0)).await.unwrap();
    }
}

/// Sends a message and makes it fail so often.
pub(super) async fn failed(q: &QueueBench, body: &str, priority: u32, times: u32) {
    let id = q.send(m(body).priority(priority)).await;
    for _ in 0..times {
        let delivery = q.claim_message(id).await.unwrap();
        let back = Settlement::Nack { delay: Some(s(0)), priority: None, reason: None };
        q.settle(&delivery, back).await.unwrap();
    }
}

/// Acks the good ones and gives the poisons back at once; answers how many were good.
pub(super) async fn work(q: &QueueBench, taken: &[Delivery]) -> usize {
    let mut good = 0;
    for delivery in taken {
        if delivery.message.body.starts_with(b"poison") {
            q.nack_for(delivery, s(0)).await.unwrap();
        } else {
            q.ack(delivery).await.unwrap();
            good += 1;
        }
    }
    good
}

/// Receives tens before a backlog until so many were good; answers the deliveries it took.
async fn flow(q: &QueueBench, good: usize) -> usize {
    let (mut done, mut deliveries) = (0, 0);
    while done < good {
        let taken = q.claim(10).await;
        assert_eq!(taken.len(), 10, "no receive is smaller");
        deliveries += taken.len();
        done += work(q, &taken).await;
    }
    deliveries
}

async fn one_poison_leaves_the_others_nine_deliveries_of_ten(b: Bench) {
    let q = b.plain().await;
    q.send("poison").await;
    q.send_all((0..420).map(|n| n.to_string())).await;
    let deliveries = flow(&q, 400).await;
    // Four before it counts as failing, then one of a hundred.
    assert!((404..=410).contains(&deliveries), "{deliveries} for 400 good ones");
    let poison = q.peek_full(Some(MessageState::Ready), 1000).await;
    let poison = poison.iter().find(|peeked| peeked.message.body == "poison").unwrap();
    assert!(poison.message.attempts >= 7, "tried {} times", poison.message.attempts);
}

async fn many_poisons_leave_the_others_nine_deliveries_of_ten(b: Bench) {
    let q = b.plain().await;
    q.send_all((0..30).map(|n| format!("poison {n}"))).await;
    q.send_all((0..420).map(|n| n.to_string())).await;
    let mut settled_in = 0;
    while settled_in < 4 * 30 {
        let taken = q.claim(10).await;
        settled_in += taken.len();
        work(&q, &taken).await;
    }
    let deliveries = flow(&q, 380).await;
    assert!((382..=390).contains(&deliveries), "{deliveries} for 380 good ones");
}

async fn failing_messages_get_every_hundredth_delivery(b: Bench) {
    let q = b.plain().await;
    for body in ["poison a", "poison b"] {
        failed(&q, body, 5, 4).await;
    }
    q.send_all((0..250).map(|n| m(&n.to_string()).priority(5))).await;
    let mut seen = Vec::new();
    while seen.len() < 210 {
        let taken = q.claim(7).await;
        work(&q, &taken).await;
        seen.extend(bodies(&taken));
    }
    let at = |nth: usize| seen[nth].as_str();
    assert_eq!((at(99), at(199)), ("poison a", "poison a"), "the oldest first");
    assert_eq!(seen.iter().take(210).filter(|body| body.starts_with("poison")).count(), 2);
}

async fn failing_messages_get_what_is_left_in_their_order(b: Bench) {
    let q = b.plain().await;
    for (body, priority) in [("a", 5), ("b", 4), ("c", 5), ("d", 4)] {
        failed(&q, body, priority, 4).await;
    }
    q.send_all([m("good").priority(5), m("urgent").priority(0)]).await;
    assert_eq!(q.take(3).await, ["urgent", "good", "b"]);
    assert_eq!(q.take(10).await, ["d", "a", "c"]);
}

async fn a_poison_of_the_best_priority_does_not_stop_the_worse_ones(b: Bench) {
    let q = b.plain().await;
    failed(&q, "poison", 0, 4).await;
    q.send_all((0..220).map(|n| m(&n.to_string()).priority(1024))).await;
    let deliveries = flow(&q, 198).await;
    assert!((199..=210).contains(&deliveries), "{deliveries} for 198 good ones");
}

async fn a_failing_message_goes_before_none_of_a_better_priority(b: Bench) {
    let q = b.plain().await;
    failed(&q, "poison", 7, 9).await;
    q.send_all((0..250).map(|n| m(&n.to_string()).priority(6))).await;
    q.send(m("worse").priority(8)).await;
    let mut seen = Vec::new();
    while seen.len() < 250 {
        let taken = q.claim(10).await;
        work(&q, &taken).await;
        seen.extend(bodies(&taken));
    }
    assert!(!seen.contains(&"poison".to_owned()));
    // Those of a better priority do not count as what it waited for.
    assert_eq!(q.take(2).await, ["worse", "poison"]);
}

async fn what_was_given_back_is_received_again_at_once_three_times(b: Bench) {
    let q = b.plain().await;
    q.send_all(["poison", "good"]).await;
    for attempt in 1..=4 {
        let taken = q.claim_one().await;
        assert_eq!(
            (taken.message.body.as_ref(), taken.message.attempts),
            (&b"poison"[..], attempt)
        );
        q.nack(&taken).await.unwrap();
    }
    assert_eq!(q.take(1).await, ["good"]);
    assert_eq!(q.take(1).await, ["poison"]);
}

async fn a_delay_and_a_kick_are_no_way_around_the_share(b: Bench) {
    let q = b.plain().await;
    for body in ["poison a", "poison b"] {
        failed(&q, body, 5, 3).await;
    }
    let taken = q.claim(2).await;
    q.nack_for(&taken[0], s(1)).await.unwrap();
    q.park(&taken[1]).await.unwrap();
    q.send_all(["c", "d"].map(|body| m(body).priority(5))).await;
    b.pass(s(1)).await;
    assert_eq!(q.kick(1).await, 1);
    assert_eq!(q.take(2).await, ["c", "d"]);
    assert_eq!(q.take(2).await, ["poison a", "poison b"]);
}

async fn hand_backs_are_no_attempts(b: Bench) {
    let q = b.plain().await;
    q.send_all(["a", "b"]).await;
    for _ in 0..20 {
        let taken = q.claim_one().await;
        assert_eq!(taken.message.body, "a");
        q.settle(&taken, Settlement::HandBack).await.unwrap();
    }
}

async fn lapses_count_like_nacks(b: Bench) {
    let q = b.plain().await;
    q.send_all(["poison", "good"]).await;
    for _ in 0..4 {
        assert_eq!(q.take(1).await, ["poison"]);
        b.pass(s(30)).await;
    }
    assert_eq!(q.take(1).await, ["good"]);
}

async fn the_share_is_counted_over_receives_of_any_size(b: Bench) {
    let q = b.plain().await;
    failed(&q, "poison", 5, 4).await;
    q.send_all((0..150).map(|n| m(&n.to_string()).priority(5))).await;
    let claimed = q.claim_many(&[1, 60, 30, 20]).await;
    let lists: Vec<_> = claimed.deliveries.iter().map(|list| bodies(list)).collect();
    assert_eq!(lists.iter().map(Vec::len).collect::<Vec<_>>(), [1, 60, 30, 20]);
    assert_eq!(lists[3][8], "poison", "the hundredth");
    assert_eq!(claimed.end, ClaimEnd::More);
}

async fn a_queue_with_failing_messages_alone_comes_after_others(b: Bench) {
    let (poisoned, other) = (b.plain().await, b.plain().await);
    failed(&poisoned, "poison", 0, 4).await;
    other.send(m("good").priority(1024)).await;
    let heads = b.store().heads(&[poisoned.id, other.id], b.now()).await.unwrap();
    assert!(heads[0].unwrap().failing && !heads[1].unwrap().failing);
    assert!(heads[1] < heads[0]);
    let better = poisoned.send(m("better").priority(7)).await;
    let heads = b.store().heads(&[poisoned.id], b.now()).await.unwrap();
    assert_eq!(heads[0].map(|head| (head.failing, head.id)), Some((false, better)));
}

async fn a_queue_with_failing_messages_alone_gets_its_share_beside_others(b: Bench) {
    let (poisoned, other) = (b.plain().await, b.plain().await);
    failed(&poisoned, "poison", 5, 4).await;
    other.send_all((0..400).map(|n| m(&n.to_string()).priority(5))).await;
    let mut served = 0;
    for _ in 0..300 {
        b.advance(ms(1));
        let demand = Demand { up_to: 1, lease: None, session: false };
        let queues = vec![poisoned.id, other.id];
        let claimed = b.store().claim_any(ClaimAny { queues, now: b.now(), demand }).await.unwrap();
        let [delivery] = claimed.deliveries.as_slice() else { panic!("one each time") };
        if delivery.receipt.queue == poisoned.id {
            served += 1;
            poisoned.nack_for(delivery, s(0)).await.unwrap();
        }
    }
    assert!((2..=4).contains(&served), "{served} of 300");
}

async fn the_share_over_queues_is_counted_by_delivery(b: Bench) {
    for up_to in [1, 7, 60, 99, 100, 101, 1000] {
        let (poisoned, other, third) = (b.plain().await, b.plain().await, b.plain().await);
        for body in ["poison a", "poison b"] {
            failed(&poisoned, body, 5, 4).await;
        }
        other.send_all((0..30).map(|n| m(&n.to_string()).priority(4))).await;
        for n in 0..90 {
            other.send_all((0..n % 4).map(|n| m(&n.to_string()).priority(5))).await;
            b.advance(ms(1));
            third.send(m("third").priority(5 + n / 80)).await;
        }
        let queues = vec![poisoned.id, other.id, third.id];
        let mut seen = Vec::new();
        while seen.len() < 240 {
            let demand = Demand { up_to, lease: None, session: false };
            let claim = ClaimAny { queues: queues.clone(), now: b.now(), demand };
            let claimed = b.store().claim_any(claim).await.unwrap();
            assert!(!claimed.deliveries.is_empty());
            seen.extend(bodies(&claimed.deliveries));
        }
        // Those of a better priority do not go past them.
        let poison = |nth: &usize| seen[*nth].starts_with("poison");
        let at: Vec<_> = (0..240).filter(poison).collect();
        assert_eq!(at, [30 + 99, 30 + 199], "{up_to} at a time");
    }
}
