//! What messages that fail cost the others: their share of the deliveries, and the company in
//! which they are handed out.

use slipring::lifecycle::Settlement;
use slipring::store::{ClaimAny, ClaimEnd, Demand};
use slipring::{Delivery, MessageState};

use crate::bench::{Bench, QueueBench, bodies, m, ms, s, settings};
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
    case!(a_failed_message_is_handed_out_in_smaller_company, "S11.2"),
    case!(company_shrinks_as_tries_run_out, "S11.2"),
    case!(without_a_limit_on_attempts_no_receive_is_smaller, "S11.2"),
    case!(the_last_try_is_alone, "S11.2"),
    case!(a_failed_message_further_back_holds_back_no_other, "S11.2"),
    case!(a_failing_message_that_does_not_fit_begins_the_next_receive, "S11.1", "S11.2", "S2.4"),
    case!(a_last_try_begins_a_receive_when_a_hundred_went_past_it, "S11.2", "S2.4"),
    case!(the_last_try_of_a_failing_message_begins_a_receive, "S11.2", "S2.4"),
    case!(a_lapsed_receive_is_split_until_the_poison_is_alone, "S11.2"),
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

async fn fail(q: &QueueBench, times: u32) {
    for _ in 0..times {
        let delivery = q.claim_one().await;
        q.nack_for(&delivery, s(0)).await.unwrap();
    }
}

/// Sends a message and makes it fail so often.
async fn failed(q: &QueueBench, body: &str, priority: u32, times: u32) {
    let id = q.send(m(body).priority(priority)).await;
    for _ in 0..times {
        let delivery = q.claim_message(id).await.unwrap();
        let back = Settlement::Nack { delay: Some(s(0)), priority: None };
        q.settle(&delivery, back).await.unwrap();
    }
}

/// Acks the good ones and gives the poisons back at once; answers how many were good.
async fn work(q: &QueueBench, taken: &[Delivery]) -> usize {
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

async fn a_failed_message_is_handed_out_in_smaller_company(b: Bench) {
    let q = b.queue(settings(|to| to.max_attempts = Some(3))).await;
    q.send_all((0..40).map(|n| n.to_string())).await;
    for delivery in q.claim(8).await {
        q.nack(&delivery).await.unwrap();
    }
    let next = q.claim_many(&[8, 8, 8]).await;
    let sizes: Vec<_> = next.deliveries.iter().map(Vec::len).collect();
    assert_eq!(sizes, [4, 4, 8], "each failed once, so half of 8; the rest is fresh");
    assert_eq!(next.end, ClaimEnd::More);
}

async fn company_shrinks_as_tries_run_out(b: Bench) {
    let q = b.queue(settings(|to| to.max_attempts = Some(4))).await;
    q.send("poison").await;
    q.send_all((0..200).map(|n| n.to_string())).await;
    for most in [100, 50, 25, 1] {
        let taken = q.claim(100).await;
        assert_eq!(taken[0].message.body, "poison");
        assert_eq!(taken.len(), most, "of 100");
        q.nack(&taken[0]).await.unwrap();
        for fresh in &taken[1..] {
            q.settle(fresh, Settlement::HandBack).await.unwrap();
        }
    }
    assert_eq!(q.peek(MessageState::Parked).await, ["poison"]);
}

async fn without_a_limit_on_attempts_no_receive_is_smaller(b: Bench) {
    let q = b.plain().await;
    q.send_all((0..30).map(|n| format!("poison {n}"))).await;
    for _ in 0..12 {
        let sizes: Vec<_> = q.claim_many(&[10, 10, 10]).await.deliveries;
        assert_eq!(sizes.iter().map(Vec::len).collect::<Vec<_>>(), [10, 10, 10]);
        work(&q, &sizes.concat()).await;
    }
}

async fn the_last_try_is_alone(b: Bench) {
    let q = b.queue(settings(|to| to.max_attempts = Some(3))).await;
    q.send_all(["poison", "b", "c", "d", "e", "f", "g", "h"]).await;
    fail(&q, 2).await;
    let taken = q.claim_many(&[8, 8]).await;
    let lists: Vec<_> = taken.deliveries.iter().map(|list| bodies(list)).collect();
    assert_eq!(lists, [vec!["poison"], vec!["b", "c", "d", "e", "f", "g", "h"]]);
}

async fn a_failed_message_further_back_holds_back_no_other(b: Bench) {
    let q = b.queue(settings(|to| to.max_attempts = Some(3))).await;
    q.send_all(["a", "b", "c", "poison", "e", "f"]).await;
    let mut taken = q.claim(6).await;
    let poison = taken.remove(3);
    q.nack(&poison).await.unwrap();
    for delivery in &taken {
        q.settle(delivery, Settlement::HandBack).await.unwrap();
    }
    // One failure of three: at most three of six together, and three have come before it.
    let lists = q.claim_many(&[6, 6]).await.deliveries;
    let lists: Vec<_> = lists.iter().map(|list| bodies(list)).collect();
    assert_eq!(lists, [vec!["a", "b", "c", "e", "f"], vec!["poison"]]);
}

async fn a_failing_message_that_does_not_fit_begins_the_next_receive(b: Bench) {
    let q = b.queue(settings(|to| to.max_attempts = Some(7))).await;
    failed(&q, "poison", 5, 6).await;
    q.send_all((0..125).map(|n| m(&n.to_string()).priority(5))).await;
    let claimed = q.claim_many(&[95, 10, 10, 20]).await;
    let sizes: Vec<_> = claimed.deliveries.iter().map(Vec::len).collect();
    assert_eq!(sizes, [95, 10, 1, 20], "its last try is alone, and only once");
    assert_eq!(bodies(&claimed.deliveries[2]), ["poison"]);
}

/// Receives of ten, each of which begins with a message of the best priority; answers how many it
/// takes until one brings the poison, which must be alone.
async fn receives_until_the_poison(q: &QueueBench) -> usize {
    for nth in 0..60 {
        q.send(m("urgent").priority(0)).await;
        q.send_all((0..9).map(|n| m(&format!("good {n}")).priority(5))).await;
        let taken = q.claim(10).await;
        let bodies = bodies(&taken);
        if bodies.contains(&"poison".to_owned()) {
            assert_eq!(bodies, ["poison"], "its last try is alone");
            return nth;
        }
        assert_eq!(bodies[0], "urgent");
        work(q, &taken).await;
    }
    panic!("no receive brought it");
}

async fn a_last_try_begins_a_receive_when_a_hundred_went_past_it(b: Bench) {
    let q = b.queue(settings(|to| to.max_attempts = Some(3))).await;
    failed(&q, "poison", 5, 2).await;
    assert_eq!(receives_until_the_poison(&q).await, 12, "nine of each went past it");
}

async fn the_last_try_of_a_failing_message_begins_a_receive(b: Bench) {
    let q = b.queue(settings(|to| to.max_attempts = Some(7))).await;
    failed(&q, "poison", 5, 6).await;
    // A hundred for its turn, and as many again in which it did not fit.
    assert_eq!(receives_until_the_poison(&q).await, 23);
}

async fn a_lapsed_receive_is_split_until_the_poison_is_alone(b: Bench) {
    let dead = b.named("dead", settings(|_| {})).await;
    let q = b
        .queue(settings(|to| {
            to.max_attempts = Some(5);
            to.dead_letter = Some(dead.info.name.clone());
        }))
        .await;
    q.send_all((0..16).map(|n| n.to_string())).await;
    // A holder that dies whenever it meets message 11, and acks its receive otherwise.
    let mut done = 0;
    for _ in 0..200 {
        let taken = q.claim(16).await;
        if taken.iter().any(|delivery| delivery.message.body == "11") {
            b.pass(s(30)).await;
        } else {
            done += taken.len();
            for delivery in &taken {
                q.ack(delivery).await.unwrap();
            }
        }
    }
    assert_eq!(done, 15, "all neighbours of the poison are done");
    assert_eq!(dead.peek(MessageState::Ready).await, ["11"]);
    q.holds(0, 0, 0, 0).await;
}
