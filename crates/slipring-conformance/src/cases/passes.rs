//! Passes over deadlines keep to a bounded part of the work, and say that there is more.

use std::collections::BTreeMap;

use slipring::store::Pass;
use slipring::{QueueId, Timestamp};

use crate::bench::{Bench, START, m, s, settings};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(one_pass_over_delays_leaves_the_rest_to_the_next, "S5.3", "S12.3"),
    case!(one_pass_over_leases_leaves_the_rest_to_the_next, "S5.3", "S12.3"),
    case!(one_pass_over_old_messages_leaves_the_rest_to_the_next, "S14.4", "S12.3"),
    case!(a_backlog_in_one_queue_leaves_another_its_pass, "S5.3"),
    case!(a_pass_over_one_queue_leaves_the_others, needs ByQueue, "S5.6"),
    case!(a_turn_of_one_queue_leaves_the_rest_to_the_next, needs ByQueue, "S5.6", "S12.3"),
    case!(a_pass_over_one_queue_ends_its_pause_and_moves_dead_letters, needs ByQueue, "S5.6",
        "S6.3", "S14.3"),
    case!(every_queue_with_a_deadline_is_named, needs ByQueue, "S5.3", "S5.6"),
    case!(a_queue_that_is_not_there_has_nothing_to_do, needs ByQueue, "S5.6"),
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

async fn a_pass_over_one_queue_leaves_the_others(b: Bench) {
    let (one, two) = (b.plain().await, b.plain().await);
    for q in [&one, &two] {
        q.send_all([m("leased"), m("soon").delay(s(20)), m("late").delay(s(90))]).await;
        q.claim_one().await;
    }
    b.advance(s(30));
    let store = b.store();
    let due = store.due_in(one.id, b.now()).await.unwrap();
    assert_eq!((due.ready, due.next), (vec![(one.id, 1)], Some(START.after(s(90)))));
    one.holds(1, 1, 1, 0).await;
    let lapsed = store.expire_in(one.id, b.now()).await.unwrap();
    assert_eq!((lapsed.ready, lapsed.next), (vec![(one.id, 1)], None));
    one.holds(2, 1, 0, 0).await;
    two.holds(0, 2, 1, 0).await;
    assert_eq!(b.due().await.ready, [(two.id, 1)]);
    assert_eq!(b.expire().await.ready, [(two.id, 1)]);
}

async fn a_turn_of_one_queue_leaves_the_rest_to_the_next(b: Bench) {
    let q = b.plain().await;
    q.send_all((0..MANY).map(|_| m("a").delay(s(1)))).await;
    b.advance(s(1));
    let (mut total, mut turns) = (0, 0);
    loop {
        let pass = b.store().due_in(q.id, b.now()).await.unwrap();
        total += ready(&pass, q.id);
        turns += 1;
        assert!(ready(&pass, q.id) > 0, "each turn gets on");
        if pass.next.is_none() {
            break;
        }
        bounded(&b, &pass, ready(&pass, q.id));
    }
    assert_eq!(total, MANY as u64);
    assert!(turns >= 10, "{turns} turns over {MANY} messages are too long");
    q.holds(MANY as u64, 0, 0, 0).await;
}

async fn a_pass_over_one_queue_ends_its_pause_and_moves_dead_letters(b: Bench) {
    let dead = b.plain().await;
    let q = b.source_of(&dead, 1).await;
    q.send_all(["a", "b"]).await;
    q.claim_one().await;
    let mut paused = q.info.settings.clone();
    paused.paused_until = Some(START.after(s(30)));
    q.configure(&paused).await.unwrap();
    let pass = b.store().due_in(q.id, b.now()).await.unwrap();
    assert_eq!((pass.ready.len(), pass.next), (0, Some(START.after(s(30)))));
    b.advance(s(30));
    let pass = b.store().due_in(q.id, b.now()).await.unwrap();
    assert_eq!((pass.ready, pass.next), (vec![(q.id, 1)], None));
    let mut lapsed = b.store().expire_in(q.id, b.now()).await.unwrap();
    lapsed.ready.sort();
    assert_eq!((lapsed.ready, lapsed.next), (vec![(dead.id, 1), (q.id, 1)], None));
    dead.holds(1, 0, 0, 0).await;
}

/// The first moments of each queue, as the store tells them.
async fn deadlines(b: &Bench) -> BTreeMap<QueueId, (Option<Timestamp>, Option<Timestamp>)> {
    let mut all = BTreeMap::new();
    let mut from = 0;
    loop {
        let part = b.store().deadlines(from).await.unwrap();
        for at in part.queues {
            let known: &mut (Option<_>, Option<_>) = all.entry(at.queue).or_default();
            known.0 = [known.0, at.due].into_iter().flatten().min();
            known.1 = [known.1, at.lapse].into_iter().flatten().min();
        }
        match part.next {
            None => return all,
            Some(next) => {
                assert!(next > from, "the next part lies behind this one");
                from = next;
            }
        }
    }
}

async fn every_queue_with_a_deadline_is_named(b: Bench) {
    // More than one part.
    const QUEUES: usize = 300;
    let mut expected = BTreeMap::new();
    let mut queues = Vec::new();
    for n in 0..QUEUES {
        let q = b.queue(settings(|to| to.fifo = n % 7 == 0)).await;
        if n % 2 == 0 {
            q.send("leased").await;
            q.claim_one().await;
        }
        if n % 3 != 0 {
            q.send_all([m("later").delay(s(90)), m("soon").delay(s(40))]).await;
        }
        let due = (n % 3 != 0).then(|| START.after(s(40)));
        let lapse = (n % 2 == 0).then(|| START.after(s(30)));
        if due.is_some() || lapse.is_some() {
            expected.insert(q.id, (due, lapse));
        }
        queues.push(q);
    }
    assert_eq!(deadlines(&b).await, expected);
    // A lease that has lapsed once is kept in another way by some stores.
    b.pass(s(30)).await;
    for q in &queues {
        if let Some(at) = expected.get_mut(&q.id).filter(|at| at.1.is_some()) {
            q.claim_one().await;
            at.1 = Some(START.after(s(60)));
        }
    }
    assert_eq!(deadlines(&b).await, expected);
    b.pass(s(1000)).await;
    assert_eq!(deadlines(&b).await, BTreeMap::new());
}

async fn a_queue_that_is_not_there_has_nothing_to_do(b: Bench) {
    let nowhere = QueueId(u64::MAX >> 1);
    assert_eq!(b.store().due_in(nowhere, b.now()).await.unwrap(), Pass::default());
    assert_eq!(b.store().expire_in(nowhere, b.now()).await.unwrap(), Pass::default());
}
