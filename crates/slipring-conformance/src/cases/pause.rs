//! Pausing a queue.

use slipring::QueueSettings;
use slipring::store::ClaimEnd;

use crate::bench::{Bench, START, m, ms, s, settings};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(a_paused_queue_hands_out_nothing, "S14.3"),
    case!(a_paused_queue_accepts_sends_and_settlements, "S14.3"),
    case!(a_resumed_queue_hands_out_what_it_has, "S14.3"),
    case!(a_pause_with_an_end_is_over_by_itself, "S14.3", "S5.1"),
    case!(the_end_of_a_pause_is_announced_with_what_is_ready, "S14.3", "S2.4"),
    case!(both_pauses_must_be_over, "S14.3"),
    case!(a_pause_that_is_already_over_does_nothing, "S14.3"),
    case!(delays_and_leases_end_during_a_pause, "S14.3"),
    case!(a_pause_of_one_queue_leaves_the_others, "S14.3"),
];

async fn a_paused_queue_hands_out_nothing(b: Bench) {
    let q = b.queue(settings(|to| to.paused = true)).await;
    q.send_all(["a", "b"]).await;
    let claimed = q.claim_many(&[1, 1]).await;
    assert_eq!((claimed.deliveries, claimed.end), (vec![vec![], vec![]], ClaimEnd::Paused));
    b.pass(s(1 << 30)).await;
    assert!(q.claim(1).await.is_empty());
    q.holds(2, 0, 0, 0).await;
}

async fn a_paused_queue_accepts_sends_and_settlements(b: Bench) {
    let q = b.plain().await;
    q.send_all(["a", "b", "c"]).await;
    let taken = q.claim(3).await;
    q.configure(&settings(|to| to.paused = true)).await.unwrap();
    q.send("d").await;
    q.ack(&taken[0]).await.unwrap();
    q.nack(&taken[1]).await.unwrap();
    assert_eq!(q.extend(&taken[2], s(60)).await.unwrap(), START.after(s(60)));
    q.holds(2, 0, 1, 0).await;
}

async fn a_resumed_queue_hands_out_what_it_has(b: Bench) {
    let q = b.queue(settings(|to| to.paused = true)).await;
    q.send_all(["a", "b"]).await;
    q.configure(&QueueSettings::default()).await.unwrap();
    assert_eq!(q.take(5).await, ["a", "b"]);
}

async fn a_pause_with_an_end_is_over_by_itself(b: Bench) {
    let q = b.plain().await;
    q.send("a").await;
    let end = START.after(s(10));
    q.configure(&settings(|to| to.paused_until = Some(end))).await.unwrap();
    b.pass(ms(9_999)).await;
    assert_eq!(q.claim_many(&[1]).await.end, ClaimEnd::Paused);
    b.pass(ms(1)).await;
    assert_eq!(q.take(1).await, ["a"]);
}

async fn the_end_of_a_pause_is_announced_with_what_is_ready(b: Bench) {
    let q = b.plain().await;
    q.send_all(["a", "b"]).await;
    let end = START.after(s(10));
    q.configure(&settings(|to| to.paused_until = Some(end))).await.unwrap();
    let pass = b.due().await;
    assert_eq!((pass.ready.len(), pass.next), (0, Some(end)));
    b.advance(s(10));
    let pass = b.due().await;
    assert_eq!((pass.ready, pass.next), (vec![(q.id, 2)], None));
    assert!(b.due().await.ready.is_empty(), "it is announced once");
}

async fn both_pauses_must_be_over(b: Bench) {
    let end = START.after(s(10));
    let both = |paused| settings(|to| (to.paused, to.paused_until) = (paused, Some(end)));
    let q = b.queue(both(true)).await;
    q.send("a").await;
    b.pass(s(10)).await;
    assert!(q.claim(1).await.is_empty());
    q.configure(&both(false)).await.unwrap();
    assert_eq!(q.take(1).await, ["a"]);
}

async fn a_pause_that_is_already_over_does_nothing(b: Bench) {
    let q = b.queue(settings(|to| to.paused_until = Some(START))).await;
    q.send("a").await;
    assert_eq!(q.take(1).await, ["a"]);
}

async fn delays_and_leases_end_during_a_pause(b: Bench) {
    let q = b.plain().await;
    q.send_all([m("leased"), m("delayed").delay(s(5))]).await;
    q.claim_one().await;
    q.configure(&settings(|to| to.paused = true)).await.unwrap();
    b.pass(s(30)).await;
    q.holds(2, 0, 0, 0).await;
    q.configure(&QueueSettings::default()).await.unwrap();
    assert_eq!(q.drain().await, ["leased", "delayed"]);
}

async fn a_pause_of_one_queue_leaves_the_others(b: Bench) {
    let paused = b.queue(settings(|to| to.paused = true)).await;
    let other = b.plain().await;
    paused.send("a").await;
    other.send("b").await;
    assert!(paused.claim(1).await.is_empty());
    assert_eq!(other.take(1).await, ["b"]);
}
