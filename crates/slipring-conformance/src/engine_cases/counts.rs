//! What the engine counts of a queue, on every store.

use slipring::lifecycle::Settlement;
use slipring::{Error, ErrorKind, QueueCounts, ReceiveRequest};

use crate::bench::{Bench, m, s, settings};
use crate::case::{Case, case};

use super::{EngineBench, next, send, take_one, texts, until, waiter};

pub(super) const CASES: &[Case] = &[
    case!(sends_hand_outs_and_settlements_are_counted, "S2.1", "S8.1"),
    case!(hand_outs_over_several_queues_are_counted_for_each, "S7.6"),
    case!(leases_that_lapse_are_counted_with_what_becomes_of_the_messages, "S5.2", "S6.2"),
    case!(dead_letters_are_counted_where_they_come_from, "S6.2"),
    case!(messages_that_grow_too_old_are_counted, "S14.4"),
    case!(a_load_is_counted_when_it_is_published_and_once, "S15.1"),
    case!(statistics_of_several_queues_come_in_the_order_asked, "S14.2"),
];

async fn sends_hand_outs_and_settlements_are_counted(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    let resting = waiter(&q).await;
    send(&q, "a").await;
    let first = super::got(resting).await.remove(0);
    send(&q, m("b").dedup_id("id")).await;
    send(&q, m("again").dedup_id("id")).await;
    q.send_batch(["c", "d"].map(m).into()).await.unwrap();
    q.ack(&first.receipt).await.unwrap();
    let nacked = take_one(&q).await;
    q.nack(&nacked.receipt, Some(s(60))).await.unwrap();
    let rest = q.receive(ReceiveRequest::up_to(2)).await.unwrap();
    let park = Settlement::Park { priority: None };
    let lost = (first.receipt, Settlement::Ack);
    let entries = vec![(rest[0].receipt, park), lost, (rest[1].receipt, Settlement::HandBack)];
    q.settle(entries).await.unwrap();
    let all =
        QueueCounts { sent: 4, received: 4, acked: 1, nacked: 1, parked: 1, ..Default::default() };
    assert_eq!(q.counts(), all);
}

async fn hand_outs_over_several_queues_are_counted_for_each(b: Bench) {
    let e = EngineBench::open(b).await;
    let one = e.queue("one", settings(|_| {})).await;
    let other = e.queue("other", settings(|_| {})).await;
    send(&one, "a").await;
    send(&other, "b").await;
    let mut several = e.engine.several(&[one.clone(), other.clone()]);
    for _ in 0..2 {
        assert_eq!(several.receive(ReceiveRequest::up_to(1)).await.unwrap().len(), 1);
    }
    assert_eq!((one.counts().received, other.counts().received), (1, 1));
}

async fn leases_that_lapse_are_counted_with_what_becomes_of_the_messages(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.queue("queue", settings(|to| to.max_attempts = Some(2))).await;
    q.send_batch(["a", "b", "c"].map(m).into()).await.unwrap();
    assert_eq!(q.receive(ReceiveRequest::up_to(3)).await.unwrap().len(), 3);
    e.bench.advance(s(31));
    until("the leases lapse", async || q.counts().lapsed == 3).await;
    assert_eq!(q.counts().parked, 0);
    assert_eq!(texts(next(&q)).await.len(), 1);
    e.bench.advance(s(31));
    until("the lease lapses", async || q.counts().lapsed == 4).await;
    let counts = q.counts();
    assert_eq!((counts.parked, counts.dead_lettered), (1, 0));
}

async fn dead_letters_are_counted_where_they_come_from(b: Bench) {
    let e = EngineBench::open(b).await;
    let dead = e.queue("dead", settings(|_| {})).await;
    let to_dead = settings(|to| {
        to.max_attempts = Some(1);
        to.dead_letter = Some(dead.name());
    });
    let q = e.queue("queue", to_dead).await;
    q.send_batch(["a", "b"].map(m).into()).await.unwrap();
    let failed = take_one(&q).await;
    q.nack(&failed.receipt, None).await.unwrap();
    take_one(&q).await;
    e.bench.advance(s(31));
    until("the lease lapses", async || q.counts().lapsed == 1).await;
    let counts = q.counts();
    assert_eq!((counts.dead_lettered, counts.nacked, counts.parked), (2, 1, 0));
    assert_eq!(dead.counts(), QueueCounts::default());
}

async fn messages_that_grow_too_old_are_counted(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.queue("queue", settings(|to| to.retention = Some(s(600)))).await;
    q.send_batch(["a", "b"].map(m).into()).await.unwrap();
    e.bench.advance(s(661));
    until("the messages leave", async || q.counts().retired == 2).await;
    assert_eq!(q.counts().lapsed, 0);
}

async fn a_load_is_counted_when_it_is_published_and_once(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    let load = q.begin_load().await.unwrap();
    load.append(0, 1, ["a", "b"].map(m).into()).await.unwrap();
    assert_eq!(q.counts().sent, 0);
    load.publish(2).await.unwrap();
    e.bench.advance(s(1));
    load.publish(2).await.unwrap();
    assert_eq!(q.counts().sent, 2);
}

async fn statistics_of_several_queues_come_in_the_order_asked(b: Bench) {
    let e = EngineBench::open(b).await;
    let mut queues = Vec::new();
    for number in 0..120 {
        let queue = e.queue(&format!("q{number}"), settings(|_| {})).await;
        if number % 50 == 0 {
            send(&queue, "a").await;
        }
        queues.push(queue);
    }
    e.engine.delete_queue(&queues[7]).await.unwrap();
    queues.reverse();
    let stats = e.engine.stats_of(&queues).await.unwrap();
    for (queue, stats) in queues.iter().zip(&stats) {
        let number: u32 = queue.name().as_str()[1..].parse().unwrap();
        let ready = stats.as_ref().map(|stats| stats.ready).map_err(Error::kind);
        let expected = match number {
            7 => Err(ErrorKind::QueueNotFound),
            _ => Ok(u64::from(number.is_multiple_of(50))),
        };
        assert_eq!(ready, expected, "{number}");
    }
    assert_eq!(stats.len(), 120);
}
