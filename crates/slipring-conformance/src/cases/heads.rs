//! The first ready message of each queue, for receives over several queues.

use slipring::store::Head;
use slipring::{QueueId, QueueSettings};

use crate::bench::{Bench, START, m, p, s, settings};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(the_head_is_what_a_receive_would_get, "S7.6"),
    case!(empty_paused_and_unknown_queues_have_no_head, "S7.6", "S14.3"),
    case!(heads_are_answered_in_the_order_asked, "S7.6"),
    case!(heads_compare_by_priority_then_age, "S7.6"),
    case!(delayed_leased_and_parked_messages_are_no_heads, "S7.6"),
    case!(the_head_of_a_fifo_queue_is_of_an_open_group, "S7.3", "S7.6"),
];

async fn head(b: &Bench, queue: QueueId) -> Option<Head> {
    b.store().heads(&[queue], b.now()).await.unwrap().remove(0)
}

async fn the_head_is_what_a_receive_would_get(b: Bench) {
    let q = b.plain().await;
    q.send(m("a").priority(7)).await;
    b.advance(s(1));
    let best = q.send(m("b").priority(3)).await;
    let wanted = Head { failing: false, priority: p(3), sent_at: START.after(s(1)), id: best };
    assert_eq!(head(&b, q.id).await, Some(wanted));
    for _ in 0..2 {
        let shown = head(&b, q.id).await.unwrap();
        assert_eq!(q.claim_one().await.message.id, shown.id);
    }
    assert_eq!(head(&b, q.id).await, None);
}

async fn empty_paused_and_unknown_queues_have_no_head(b: Bench) {
    let (empty, paused) = (b.plain().await, b.queue(settings(|to| to.paused = true)).await);
    let end = Some(START.after(s(5)));
    let until = b.queue(settings(|to| to.paused_until = end)).await;
    paused.send("a").await;
    let id = until.send("a").await;
    let ids = [empty.id, paused.id, until.id, QueueId(999)];
    assert_eq!(b.store().heads(&ids, b.now()).await.unwrap(), [None; 4]);
    b.pass(s(5)).await;
    let heads = b.store().heads(&ids, b.now()).await.unwrap();
    let seen: Vec<_> = heads.iter().map(|head| head.map(|head| head.id)).collect();
    assert_eq!(seen, [None, None, Some(id), None]);
    assert!(b.store().heads(&[], b.now()).await.unwrap().is_empty());
}

async fn heads_are_answered_in_the_order_asked(b: Bench) {
    let queues = [b.plain().await, b.plain().await, b.plain().await];
    let mut sent = Vec::new();
    for q in &queues {
        sent.push(q.send("a").await);
    }
    let asked = [2, 0, 1, 0].map(|nth| queues[nth].id);
    let heads = b.store().heads(&asked, b.now()).await.unwrap();
    let seen: Vec<_> = heads.into_iter().map(|head| head.unwrap().id).collect();
    assert_eq!(seen, [2, 0, 1, 0].map(|nth| sent[nth]));
}

async fn heads_compare_by_priority_then_age(b: Bench) {
    let queues = [b.plain().await, b.plain().await, b.plain().await];
    queues[0].send(m("a").priority(5)).await;
    b.advance(s(1));
    queues[1].send(m("b").priority(4)).await;
    b.advance(s(1));
    queues[2].send(m("c").priority(4)).await;
    let ids = queues.clone().map(|q| q.id);
    let mut order = Vec::new();
    for _ in 0..3 {
        let heads = b.store().heads(&ids, b.now()).await.unwrap();
        let best = heads.iter().zip(&queues).filter_map(|(head, q)| head.map(|head| (head, q)));
        let (_, q) = best.min_by_key(|(head, _)| *head).unwrap();
        order.extend(q.take(1).await);
    }
    assert_eq!(order, ["b", "c", "a"]);
}

async fn delayed_leased_and_parked_messages_are_no_heads(b: Bench) {
    let q = b.plain().await;
    q.send_all([m("parked"), m("leased"), m("delayed").delay(s(60))]).await;
    let delivery = q.claim_one().await;
    q.park(&delivery).await.unwrap();
    q.claim_one().await;
    assert_eq!(head(&b, q.id).await, None);
    q.kick(1).await;
    assert_eq!(head(&b, q.id).await.unwrap().id, delivery.message.id);
}

async fn the_head_of_a_fifo_queue_is_of_an_open_group(b: Bench) {
    let q = b.queue(QueueSettings { fifo: true, ..QueueSettings::default() }).await;
    let ids = q.send_all([m("a1").group("a"), m("a2").group("a"), m("b1").group("b")]).await;
    assert_eq!(head(&b, q.id).await.unwrap().id, ids[0]);
    let first = q.claim_one().await;
    assert_eq!(head(&b, q.id).await.unwrap().id, ids[2]);
    q.nack_for(&first, s(10)).await.unwrap();
    assert_eq!(head(&b, q.id).await.unwrap().id, ids[2]);
    assert_eq!(q.drain().await, ["b1"]);
    assert_eq!(head(&b, q.id).await, None);
    b.pass(s(10)).await;
    assert_eq!(head(&b, q.id).await.unwrap().id, ids[0]);
}
