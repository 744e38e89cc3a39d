//! The seats of receives over several queues: their place among those who wait, and what happens
//! between two receives.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use slipring::{Queue, ReceiveRequest, Several};

use crate::bench::{Bench, bodies, m, ms, s, settings};
use crate::case::{Case, case};
use crate::fault::{Fault, Verb};

use super::several::{any, any_waiter, several, three};
use super::{EngineBench, got, next, send, texts, until, waiter, within};

pub(super) const CASES: &[Case] = &[
    case!(those_who_wait_for_one_and_for_two_queues_get_their_share, "S2.5"),
    case!(a_receive_over_several_that_came_first_is_served_first, "S2.5"),
    case!(many_messages_of_several_queues_come_in_order, "S7.6"),
    case!(an_empty_queue_beside_a_full_one_is_not_looked_into_again, "S7.6"),
    case!(a_send_while_another_queue_looks_is_not_missed, "S2.4", "S7.6"),
    case!(what_several_queues_gave_a_receive_that_left_comes_back, "S2.3", "S7.6"),
    case!(what_happens_between_two_receives_over_several_is_seen, "S2.4", "S7.6"),
    case!(a_queue_that_is_added_is_received_from_and_the_others_not_looked_into_again, "S7.6"),
];

/// Receives one message after another and acks it, and counts them.
async fn works(mut several: Several, queues: Vec<Queue>, count: Arc<AtomicU64>) {
    loop {
        let list = several.receive(ReceiveRequest::up_to(1).wait(s(3600))).await.unwrap();
        for delivery in list {
            let of = queues.iter().find(|queue| queue.id() == delivery.receipt.queue);
            of.unwrap().ack(&delivery.receipt).await.unwrap();
            count.fetch_add(1, Ordering::SeqCst);
        }
    }
}

async fn those_who_wait_for_one_and_for_two_queues_get_their_share(b: Bench) {
    let e = EngineBench::open(b).await;
    let queues = several(&e, 2, "queue").await;
    let counts: [Arc<AtomicU64>; 20] = Default::default();
    let mut workers = Vec::new();
    for (nth, count) in counts.iter().enumerate() {
        let watched = if nth % 2 == 0 { &queues[..1] } else { &queues[..] };
        let several = e.engine.several(watched);
        workers.push(tokio::spawn(works(several, queues.clone(), Arc::clone(count))));
    }
    let all_wait = async || queues[0].waiting() == 20;
    let done = || counts.iter().map(|count| count.load(Ordering::SeqCst)).sum::<u64>();
    // One at a time, so that whose turn it is decides; then in heaps.
    for n in 0..400 {
        until("all wait", all_wait).await;
        send(&queues[0], n.to_string()).await;
        until("it is done", async || done() == n + 1).await;
    }
    for heap in 1..=6 {
        let heap_of = (0..100).map(|n| m(&n.to_string())).collect();
        queues[0].send_batch(heap_of).await.unwrap();
        until("they are done", async || done() == 400 + 100 * heap).await;
    }
    for worker in workers {
        assert!(!worker.is_finished(), "a worker has failed");
        worker.abort();
    }
    for (nth, count) in counts.iter().enumerate() {
        let count = count.load(Ordering::SeqCst);
        assert!((25..=100).contains(&count), "{nth} of {counts:?}");
    }
}

async fn a_receive_over_several_that_came_first_is_served_first(b: Bench) {
    let e = EngineBench::open(b).await;
    let queues = three(&e).await;
    for _ in 0..10 {
        let over_several = any_waiter(&e, &queues).await;
        let over_one = waiter(&queues[1]).await;
        let again = any_waiter(&e, &queues).await;
        for waits in [over_several, over_one, again] {
            send(&queues[1], "a").await;
            assert_eq!(texts(waits).await, ["a"]);
        }
    }
}

async fn many_messages_of_several_queues_come_in_order(b: Bench) {
    let e = EngineBench::open(b).await;
    let queues = several(&e, 4, "queue").await;
    let mut wanted = Vec::new();
    for n in 0..200_u32 {
        e.bench.advance(ms(1));
        let priority = [5, 3, 9][n as usize % 3];
        // Runs of one queue and single messages of each.
        let queue = if n < 100 { n / 25 } else { n } as usize % 4;
        send(&queues[queue], m(&n.to_string()).priority(priority)).await;
        wanted.push((priority, n));
    }
    wanted.sort();
    let mut kept = e.engine.several(&queues);
    let mut got = Vec::new();
    loop {
        let list = kept.receive(ReceiveRequest::up_to(30)).await.unwrap();
        if list.is_empty() {
            break;
        }
        got.extend(bodies(&list));
    }
    let wanted: Vec<_> = wanted.into_iter().map(|(_, n)| n.to_string()).collect();
    assert_eq!(got, wanted);
}

async fn an_empty_queue_beside_a_full_one_is_not_looked_into_again(b: Bench) {
    let e = EngineBench::open(b).await;
    let queues = several(&e, 10, "queue").await;
    for n in 0..50 {
        send(&queues[7], n.to_string()).await;
    }
    let mut kept = e.engine.several(&queues);
    for n in 0..50 {
        let list = kept.receive(ReceiveRequest::up_to(1).wait(s(3600))).await.unwrap();
        assert_eq!(bodies(&list), [n.to_string()]);
    }
    assert_eq!(e.store.calls(Verb::ClaimAny), 1, "the first look is over all of them");
}

async fn a_send_while_another_queue_looks_is_not_missed(b: Bench) {
    let e = EngineBench::open(b).await;
    for round in 0..6 {
        let queues = several(&e, 3, &format!("r{round}")).await;
        let waits = any_waiter(&e, &queues).await;
        // A look on behalf of the receive that finds nothing, and does not know it yet.
        e.store.plan(Verb::Claim, 1, Fault::HangAfter);
        queues[0].configure(settings(|to| to.max_attempts = Some(3))).await.unwrap();
        e.store.hanging(1).await;
        send(&queues[1 + round % 2], round.to_string()).await;
        e.store.release();
        assert_eq!(texts(waits).await, [round.to_string()]);
    }
}

async fn what_several_queues_gave_a_receive_that_left_comes_back(b: Bench) {
    let e = EngineBench::open(b).await;
    for round in 0..4 {
        let queues = several(&e, 2, &format!("r{round}")).await;
        send(&queues[0], "a").await;
        send(&queues[1], "b").await;
        e.store.plan(Verb::ClaimAny, 1, Fault::HangAfter);
        let leaves = any(&e, &queues, ReceiveRequest::up_to(2).wait(s(3600)));
        e.store.hanging(1).await;
        leaves.abort();
        assert!(within("the receive", leaves).await.unwrap_err().is_cancelled());
        e.store.release();
        for (queue, text) in queues.iter().zip(["a", "b"]) {
            let waits = next(queue);
            let list = got(waits).await;
            assert_eq!((bodies(&list), list[0].message.attempts), (vec![text.to_owned()], 1));
        }
    }
}

async fn what_happens_between_two_receives_over_several_is_seen(b: Bench) {
    let e = EngineBench::open(b).await;
    let queues = three(&e).await;
    let mut kept = e.engine.several(&queues);
    for round in 0..20 {
        // Twice, so that all queues are known to be empty.
        for _ in 0..2 {
            let list = kept.receive(ReceiveRequest::up_to(1)).await.unwrap();
            assert!(list.is_empty());
        }
        let other = any_waiter(&e, &queues).await;
        send(&queues[round % 3], "first").await;
        assert_eq!(texts(other).await, ["first"]);
        send(&queues[round % 3], "second").await;
        let wait = if round % 2 == 0 { s(0) } else { s(3600) };
        let list = kept.receive(ReceiveRequest::up_to(1).wait(wait)).await.unwrap();
        assert_eq!(bodies(&list), ["second"]);
    }
    drop(kept);
    assert!(queues.iter().all(|queue| queue.waiting() == 0));
}

async fn a_queue_that_is_added_is_received_from_and_the_others_not_looked_into_again(b: Bench) {
    let e = EngineBench::open(b).await;
    let queues = several(&e, 10, "queue").await;
    let mut kept = e.engine.several(&queues[..2]);
    assert!(kept.receive(ReceiveRequest::up_to(1)).await.unwrap().is_empty());
    let calls = e.store.calls(Verb::ClaimAny);
    for (nth, queue) in queues.iter().enumerate().skip(2) {
        send(queue, "new").await;
        kept.add(queue);
        kept.add(&queues[0]);
        let waits = ReceiveRequest::up_to(9).wait(s(3600));
        assert_eq!(bodies(&kept.receive(waits).await.unwrap()), ["new"]);
        let waits = tokio::spawn(async move { (kept.receive(waits).await, kept) });
        until("it rests in all", async || {
            queues.iter().all(|q| q.waiting() == usize::from(q.id() <= queue.id()))
        })
        .await;
        send(&queues[nth / 2], "old").await;
        let (list, back) = within("the receive", waits).await.unwrap();
        assert_eq!(bodies(&list.unwrap()), ["old"]);
        kept = back;
    }
    assert_eq!(e.store.calls(Verb::ClaimAny), calls, "one queue at a time was looked into");
}
