//! Nack and backoff.

use slipring::lifecycle::Settlement;
use slipring::store::Settled;
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
    let lower = Settlement::Nack { delay: Some(s(0)), priority: Some(p(6)), reason: None };
    q.settle(&delivery, lower).await.unwrap();
    // Sent before "b", so it stands before it among those of priority 6.
    assert_eq!(q.peek(MessageState::Ready).await, ["a", "b", "c"]);
    let delivery = q.claim_one().await;
    let lowest = Settlement::Nack { delay: Some(s(0)), priority: Some(p(u32::MAX)), reason: None };
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
    let first = Settlement::Nack { delay: Some(s(3)), priority: Some(p(0)), reason: None };
    q.settle(&taken[1], first).await.unwrap();
    let second = Settlement::Nack { delay: Some(s(3)), priority: Some(p(9)), reason: None };
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

async fn attempts_grow_without_end_where_there_is_no_limit(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    fail(&q, 100).await;
    assert_eq!(q.claim_one().await.message.attempts, 101);
}
