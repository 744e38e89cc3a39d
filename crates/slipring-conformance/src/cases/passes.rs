//! Passes over deadlines keep to a bounded part of the work, and say that there is more.

use slipring::QueueId;
use slipring::store::Pass;

use crate::bench::{Bench, m, s, settings};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(one_pass_over_delays_leaves_the_rest_to_the_next, "S5.3", "S12.3"),
    case!(one_pass_over_leases_leaves_the_rest_to_the_next, "S5.3", "S12.3"),
    case!(one_pass_over_old_messages_leaves_the_rest_to_the_next, "S14.4", "S12.3"),
    case!(a_backlog_in_one_queue_leaves_another_its_pass, "S5.3"),
];

/// More than one pass may handle.
const MANY: usize = 25_000;
/// A pass that handled more would keep everybody else waiting for too long.
const MOST: u64 = 20_000;

fn bounded(b: &Bench, pass: &Pass, handled: u64) {
    assert!(handled <= MOST, "one pass handled {handled} messages");
    assert!(pass.next.is_some_and(|next| next <= b.now()), "it says that there is more: {pass:?}");
}

fn ready(pass: &Pass, queue: QueueId) -> u64 {
    pass.ready.iter().filter(|(id, _)| *id == queue).map(|(_, count)| count).sum()
}

async fn one_pass_over_delays_leaves_the_rest_to_the_next(b: Bench) {
    let q = b.plain().await;
    q.send_all((0..MANY).map(|_| m("a").delay(s(1)))).await;
    b.advance(s(1));
    let pass = b.store().due(b.now()).await.unwrap();
    let first = ready(&pass, q.id);
    bounded(&b, &pass, first);
    assert_eq!(first + ready(&b.due().await, q.id), MANY as u64);
    q.holds(MANY as u64, 0, 0, 0).await;
}

async fn one_pass_over_leases_leaves_the_rest_to_the_next(b: Bench) {
    let q = b.plain().await;
    q.send_all((0..MANY).map(|_| "a")).await;
    assert_eq!(q.claim(MANY as u32).await.len(), MANY);
    b.advance(s(30));
    let pass = b.store().expire(b.now()).await.unwrap();
    let first = ready(&pass, q.id);
    bounded(&b, &pass, first);
    assert_eq!(first + ready(&b.expire().await, q.id), MANY as u64);
    q.holds(MANY as u64, 0, 0, 0).await;
}

async fn one_pass_over_old_messages_leaves_the_rest_to_the_next(b: Bench) {
    let q = b.queue(settings(|to| to.retention = Some(s(60)))).await;
    q.send_all((0..MANY).map(|_| "a")).await;
    b.advance(s(61));
    let pass = b.store().prune(b.now()).await.unwrap();
    bounded(&b, &pass, pass.removed);
    assert_eq!(pass.removed + b.prune().await.removed, MANY as u64);
    q.holds(0, 0, 0, 0).await;
}

async fn a_backlog_in_one_queue_leaves_another_its_pass(b: Bench) {
    let (busy, quiet) = (b.plain().await, b.plain().await);
    busy.send_all((0..MANY).map(|_| m("a").delay(s(1)))).await;
    quiet.send(m("b").delay(s(1))).await;
    b.advance(s(1));
    let pass = b.due().await;
    assert_eq!((ready(&pass, busy.id), ready(&pass, quiet.id)), (MANY as u64, 1));
    assert_eq!(quiet.take(1).await, ["b"]);
}
