//! Nack, backoff and the company in which a failing message is handed out.

use slipring::lifecycle::Settlement;
use slipring::store::{ClaimEnd, Settled};
use slipring::{Backoff, MessageState};

use crate::bench::{Bench, QueueBench, START, bodies, m, ms, p, s, settings};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(a_nack_without_backoff_makes_ready_at_once, "S6.5", "S7.2"),
    case!(a_nack_with_a_delay_waits_so_long_and_not_less, "S5.1"),
    case!(a_nack_with_no_delay_overrides_the_backoff, "S6.5"),
    case!(a_nack_waits_by_a_fixed_backoff, "S6.5"),
    case!(an_exponential_backoff_doubles_up_to_its_ceiling, "S6.5"),
    case!(a_lapse_waits_for_no_backoff, "S6.5"),
    case!(a_nack_may_change_the_priority, "S7.1"),
    case!(a_delayed_nack_may_change_the_priority, "S7.1", "S7.2"),
    case!(a_retried_message_shows_the_delay_it_waited, "S5.1"),
    case!(a_failing_message_does_not_stop_its_queue, "S11.1"),
    case!(a_failed_message_is_handed_out_in_smaller_company, "S11.2"),
    case!(company_halves_with_each_failure, "S11.2"),
    case!(the_last_try_is_alone, "S11.2"),
    case!(a_failed_message_further_back_ends_a_receive_before_it, "S11.2"),
    case!(small_company_does_not_stop_the_next_receive, "S11.2", "S2.4"),
    case!(a_lapsed_receive_is_split_until_the_poison_is_alone, "S11.2"),
    case!(attempts_grow_without_end_where_there_is_no_limit, "S6.2"),
];

async fn fail(q: &QueueBench, times: u32) {
    for _ in 0..times {
        let delivery = q.claim_one().await;
        q.nack_for(&delivery, s(0)).await.unwrap();
    }
}

async fn a_nack_without_backoff_makes_ready_at_once(b: Bench) {
    let q = b.plain().await;
    q.send_all(["a", "b"]).await;
    let delivery = q.claim_one().await;
    assert_eq!(q.nack(&delivery).await.unwrap(), Settled::Ready);
    q.holds(2, 0, 0, 0).await;
    assert_eq!(q.take(1).await, ["a"]);
}

async fn a_nack_with_a_delay_waits_so_long_and_not_less(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let delivery = q.claim_one().await;
    let due = START.after(ms(1500));
    assert_eq!(q.nack_for(&delivery, ms(1500)).await.unwrap(), Settled::Delayed(due));
    q.holds(0, 1, 0, 0).await;
    assert_eq!(q.only(MessageState::Delayed).await.until, Some(due));
    b.advance(ms(1499));
    assert_eq!(b.due().await.next, Some(due));
    assert!(q.claim(1).await.is_empty());
    b.advance(ms(1));
    assert_eq!(b.due().await.ready, [(q.id, 1)]);
    assert_eq!(q.claim_one().await.message.attempts, 2);
}

async fn a_nack_with_no_delay_overrides_the_backoff(b: Bench) {
    let q = b.queue(settings(|to| to.backoff = Backoff::Fixed { delay: s(9) })).await;
    q.send("a").await;
    let delivery = q.claim_one().await;
    assert_eq!(q.nack_for(&delivery, s(0)).await.unwrap(), Settled::Ready);
}

async fn a_nack_waits_by_a_fixed_backoff(b: Bench) {
    let q = b.queue(settings(|to| to.backoff = Backoff::Fixed { delay: s(9) })).await;
    q.send("a").await;
    for _ in 0..3 {
        let delivery = q.claim_one().await;
        assert_eq!(q.nack(&delivery).await.unwrap(), Settled::Delayed(b.now().after(s(9))));
        b.pass(ms(8999)).await;
        q.holds(0, 1, 0, 0).await;
        b.pass(ms(1)).await;
    }
}

async fn an_exponential_backoff_doubles_up_to_its_ceiling(b: Bench) {
    let backoff = Backoff::Exponential { base: s(2), max: s(20) };
    let q = b.queue(settings(|to| to.backoff = backoff)).await;
    q.send("a").await;
    for whole in [2, 4, 8, 16, 20, 20] {
        let delivery = q.claim_one().await;
        let Settled::Delayed(until) = q.nack(&delivery).await.unwrap() else {
            panic!("a nack waits by the backoff");
        };
        let waits = b.now().until(until);
        assert!(waits >= s(whole) / 2 && waits <= s(whole), "{waits:?} of {whole} s");
        b.pass(waits).await;
    }
}

async fn a_lapse_waits_for_no_backoff(b: Bench) {
    let q = b.queue(settings(|to| to.backoff = Backoff::Fixed { delay: s(9) })).await;
    q.send("a").await;
    q.claim_one().await;
    b.pass(s(30)).await;
    q.holds(1, 0, 0, 0).await;
}

async fn a_nack_may_change_the_priority(b: Bench) {
    let q = b.plain().await;
    q.send_all([m("a").priority(5), m("b").priority(6), m("c").priority(7)]).await;
    let delivery = q.claim_one().await;
    let lower = Settlement::Nack { delay: Some(s(0)), priority: Some(p(6)) };
    q.settle(&delivery, lower).await.unwrap();
    // Sent before "b", so it stands before it among those of priority 6.
    assert_eq!(q.peek(MessageState::Ready).await, ["a", "b", "c"]);
    let delivery = q.claim_one().await;
    let lowest = Settlement::Nack { delay: Some(s(0)), priority: Some(p(u32::MAX)) };
    q.settle(&delivery, lowest).await.unwrap();
    let taken = q.claim(1).await.into_iter().chain(q.claim(1).await).chain(q.claim(1).await);
    let taken: Vec<_> = taken.collect();
    assert_eq!(bodies(&taken), ["b", "c", "a"]);
    assert_eq!(taken[2].message.priority, p(u32::MAX));
}

async fn a_delayed_nack_may_change_the_priority(b: Bench) {
    let q = b.plain().await;
    q.send_all([m("a").priority(5), m("b").priority(3)]).await;
    let taken = q.claim(2).await;
    let first = Settlement::Nack { delay: Some(s(3)), priority: Some(p(0)) };
    q.settle(&taken[1], first).await.unwrap();
    let second = Settlement::Nack { delay: Some(s(3)), priority: Some(p(9)) };
    q.settle(&taken[0], second).await.unwrap();
    q.send(m("c").priority(4)).await;
    b.pass(s(3)).await;
    assert_eq!(q.peek(MessageState::Ready).await, ["a", "c", "b"]);
    assert_eq!(q.stats().await.urgent, 3);
}

async fn a_retried_message_shows_the_delay_it_waited(b: Bench) {
    let q = b.plain().await;
    q.send(m("a").delay(s(2))).await;
    b.pass(s(2)).await;
    let delivery = q.claim_one().await;
    assert_eq!(delivery.message.delay, s(2));
    q.nack_for(&delivery, s(7)).await.unwrap();
    assert_eq!(q.only(MessageState::Delayed).await.message.delay, s(7));
    b.pass(s(7)).await;
    assert_eq!(q.claim_one().await.message.delay, s(7));
}

async fn a_failing_message_does_not_stop_its_queue(b: Bench) {
    let q = b.plain().await;
    q.send("poison").await;
    for round in 0..20 {
        let good = format!("good {round}");
        q.send(good.clone()).await;
        let poison = q.claim_one().await;
        assert_eq!(poison.message.body, "poison");
        let taken = q.claim_one().await;
        assert_eq!(taken.message.body, good);
        q.ack(&taken).await.unwrap();
        q.nack(&poison).await.unwrap();
    }
}

async fn a_failed_message_is_handed_out_in_smaller_company(b: Bench) {
    let q = b.plain().await;
    q.send_all((0..40).map(|n| n.to_string())).await;
    for delivery in q.claim(8).await {
        q.nack(&delivery).await.unwrap();
    }
    let next = q.claim_many(&[8, 8, 8]).await;
    let sizes: Vec<_> = next.deliveries.iter().map(Vec::len).collect();
    assert_eq!(sizes, [4, 4, 8], "each failed once, so half of 8; the rest is fresh");
    assert_eq!(next.end, ClaimEnd::More);
}

async fn company_halves_with_each_failure(b: Bench) {
    let q = b.plain().await;
    q.send("poison").await;
    q.send_all((0..200).map(|n| n.to_string())).await;
    for failures in 0_u32..9 {
        let taken = q.claim(100).await;
        assert_eq!(taken[0].message.body, "poison");
        let most = (100 >> failures).max(1);
        assert_eq!(taken.len(), most, "after {failures} failures");
        q.nack(&taken[0]).await.unwrap();
        for fresh in &taken[1..] {
            q.settle(fresh, Settlement::HandBack).await.unwrap();
        }
    }
}

async fn the_last_try_is_alone(b: Bench) {
    let q = b.queue(settings(|to| to.max_attempts = Some(3))).await;
    q.send_all(["poison", "b", "c", "d", "e", "f", "g", "h"]).await;
    fail(&q, 2).await;
    assert_eq!(q.take(8).await, ["poison"]);
    assert_eq!(q.take(8).await.len(), 7);
}

async fn a_failed_message_further_back_ends_a_receive_before_it(b: Bench) {
    let q = b.plain().await;
    q.send_all(["a", "b", "c", "poison", "e", "f"]).await;
    let mut taken = q.claim(6).await;
    let poison = taken.remove(3);
    q.nack(&poison).await.unwrap();
    for delivery in &taken {
        q.settle(delivery, Settlement::HandBack).await.unwrap();
    }
    // One failure: at most three of six together, and three have come before it.
    assert_eq!(q.take(6).await, ["a", "b", "c"]);
    assert_eq!(q.take(6).await, ["poison", "e", "f"]);
}

async fn small_company_does_not_stop_the_next_receive(b: Bench) {
    let q = b.plain().await;
    q.send("poison").await;
    fail(&q, 10).await;
    q.send_all(["a", "b"]).await;
    let claimed = q.claim_many(&[10, 10, 10]).await;
    let lists: Vec<_> = claimed.deliveries.iter().map(|list| bodies(list)).collect();
    assert_eq!(lists, [vec!["poison"], vec!["a", "b"], vec![]]);
    assert_eq!(claimed.end, ClaimEnd::Drained);
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

async fn attempts_grow_without_end_where_there_is_no_limit(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    fail(&q, 100).await;
    assert_eq!(q.claim_one().await.message.attempts, 101);
}
