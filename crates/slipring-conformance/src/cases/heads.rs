//! The first ready message of each queue, and claims over several queues.

use slipring::store::{ClaimAny, ClaimEnd, ClaimedAny, Demand, Head};
use slipring::{QueueId, QueueSettings};

use crate::bench::{Bench, START, bodies, m, ms, p, s, settings};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(the_head_is_what_a_receive_would_get, "S7.6"),
    case!(empty_paused_and_unknown_queues_have_no_head, "S7.6", "S14.3"),
    case!(heads_are_answered_in_the_order_asked, "S7.6"),
    case!(heads_compare_by_priority_then_age, "S7.6"),
    case!(delayed_leased_and_parked_messages_are_no_heads, "S7.6"),
    case!(the_head_of_a_fifo_queue_is_of_an_open_group, "S7.3", "S7.6"),
    case!(a_claim_over_several_queues_takes_the_best_and_then_the_oldest, "S7.6"),
    case!(a_claim_over_several_queues_says_why_each_gave_no_more, "S7.6", "S12.2", "S14.3"),
    case!(a_claim_over_several_queues_keeps_their_in_flight_limits, "S7.6", "S12.2"),
    case!(a_claim_over_several_queues_keeps_the_order_of_groups, "S7.3", "S7.6"),
    case!(a_message_that_has_failed_comes_with_few_of_other_queues, "S7.6", "S11.2"),
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

async fn claim_any(b: &Bench, queues: &[QueueId], up_to: u32) -> ClaimedAny {
    let demand = Demand { up_to, lease: None, session: false };
    let claim = ClaimAny { queues: queues.to_vec(), now: b.now(), demand };
    let claimed = b.store().claim_any(claim).await.unwrap();
    assert_eq!(claimed.ends.len(), queues.len());
    assert!(claimed.deliveries.len() <= up_to as usize);
    claimed
}

/// Claims until nothing comes.
async fn claim_all(b: &Bench, queues: &[QueueId], up_to: u32) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        let claimed = claim_any(b, queues, up_to).await;
        if claimed.deliveries.is_empty() {
            assert!(!claimed.ends.contains(&ClaimEnd::More));
            return all;
        }
        all.extend(bodies(&claimed.deliveries));
    }
}

async fn a_claim_over_several_queues_takes_the_best_and_then_the_oldest(b: Bench) {
    let queues = [b.plain().await, b.plain().await, b.plain().await];
    let ids = queues.clone().map(|q| q.id);
    for up_to in [1, 2, 7, 100] {
        let mut wanted = Vec::new();
        for n in 0..60_u32 {
            b.advance(ms(1));
            let priority = [4, 4, 2, 7][n as usize % 4];
            let q = &queues[if n < 20 { n / 7 } else { n } as usize % 3];
            q.send(m(&n.to_string()).priority(priority)).await;
            wanted.push((priority, n));
        }
        // Messages that came back are rows of their own in some stores.
        let came_back = queues[1].claim(4).await;
        for delivery in &came_back {
            queues[1].nack_for(delivery, s(0)).await.unwrap();
        }
        wanted.sort();
        let got = claim_all(&b, &ids, up_to).await;
        let wanted: Vec<_> = wanted.into_iter().map(|(_, n)| n.to_string()).collect();
        assert_eq!(got, wanted, "{up_to} at a time");
    }
}

async fn a_claim_over_several_queues_says_why_each_gave_no_more(b: Bench) {
    let (empty, paused) = (b.plain().await, b.queue(settings(|to| to.paused = true)).await);
    let full = b.plain().await;
    paused.send("a").await;
    full.send_all(["b", "c"]).await;
    let ids = [empty.id, paused.id, QueueId(999), full.id];
    let claimed = claim_any(&b, &ids, 1).await;
    assert_eq!(bodies(&claimed.deliveries), ["b"]);
    assert_eq!(claimed.ends[3], ClaimEnd::More);
    assert!(!claimed.ends[..3].contains(&ClaimEnd::More));
    assert_eq!(bodies(&claim_any(&b, &ids, 9).await.deliveries), ["c"]);
    let claimed = claim_any(&b, &ids, 1).await;
    assert!(claimed.deliveries.is_empty() && !claimed.ends.contains(&ClaimEnd::More));
    assert!(claim_any(&b, &[], 1).await.deliveries.is_empty());
}

async fn a_claim_over_several_queues_keeps_their_in_flight_limits(b: Bench) {
    let limited = b.queue(settings(|to| to.in_flight_max = 2)).await;
    let other = b.plain().await;
    limited.send_all(["1", "2", "3"]).await;
    b.advance(ms(1));
    other.send_all(["4", "5"]).await;
    let ids = [limited.id, other.id];
    assert_eq!(claim_all(&b, &ids, 10).await, ["1", "2", "4", "5"]);
    let claimed = claim_any(&b, &ids, 10).await;
    assert_eq!(claimed.ends[0], ClaimEnd::InFlightLimit);
}

async fn a_claim_over_several_queues_keeps_the_order_of_groups(b: Bench) {
    let fifo = b.queue(QueueSettings { fifo: true, ..QueueSettings::default() }).await;
    let plain = b.plain().await;
    for n in 0..6 {
        b.advance(ms(1));
        fifo.send(m(&format!("f{n}")).group(["a", "b"][n % 2])).await;
        b.advance(ms(1));
        plain.send(format!("p{n}")).await;
    }
    let ids = [plain.id, fifo.id];
    let mut last = Vec::new();
    loop {
        let claimed = claim_any(&b, &ids, 3).await;
        if claimed.deliveries.is_empty() {
            break;
        }
        for delivery in &claimed.deliveries {
            last.extend(bodies(std::slice::from_ref(delivery)));
            let of = [&plain, &fifo].into_iter().find(|q| q.id == delivery.receipt.queue);
            of.unwrap().ack(delivery).await.unwrap();
        }
    }
    for group in [["f0", "f2", "f4"], ["f1", "f3", "f5"]] {
        let order: Vec<_> = last.iter().filter(|text| group.contains(&text.as_str())).collect();
        assert_eq!(order, group.iter().collect::<Vec<_>>());
    }
    assert_eq!(last.len(), 12);
}

async fn a_message_that_has_failed_comes_with_few_of_other_queues(b: Bench) {
    let queues = [
        b.queue(settings(|to| to.max_attempts = Some(2))).await,
        b.queue(QueueSettings::default()).await,
    ];
    let ids = queues.clone().map(|q| q.id);
    queues[0].send("bad").await;
    b.advance(ms(1));
    queues[1].send_all(["1", "2", "3"]).await;
    let first = queues[0].claim_one().await;
    queues[0].nack_for(&first, s(0)).await.unwrap();
    let claimed = claim_any(&b, &ids, 10).await;
    assert_eq!(bodies(&claimed.deliveries), ["bad"], "its coming delivery is the last try");
    let rest = claim_all(&b, &ids, 10).await;
    assert_eq!(rest, ["1", "2", "3"]);
}
