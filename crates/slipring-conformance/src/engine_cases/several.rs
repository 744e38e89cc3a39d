//! Receives over several queues.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use slipring::{ErrorKind, Queue, QueueSettings, ReceiveRequest, Several};
use tokio::task::JoinHandle;

use crate::bench::{Bench, bodies, m, ms, refused, s, settings};
use crate::case::{Case, case};
use crate::fault::{Fault, Verb};

use super::{EngineBench, got, next, send, take_one, texts, until, waiter, within};

pub(super) const CASES: &[Case] = &[
    case!(the_best_priority_comes_first_then_the_oldest, "S7.6"),
    case!(a_message_in_any_of_the_queues_ends_the_wait, "S2.4", "S7.6"),
    case!(a_send_between_look_and_rest_over_several_is_not_missed, "S2.4", "S7.6"),
    case!(a_wait_over_several_queues_ends_empty_at_its_time, "S5.4"),
    case!(paused_queues_give_nothing_to_a_receive_over_several, "S7.6", "S14.3"),
    case!(receives_over_several_queues_and_over_one_share_the_messages, threads 4, "S2.4"),
    case!(a_receive_over_several_that_went_away_takes_no_wake_up_along, "S2.3", "S2.4"),
    case!(a_delay_in_one_of_several_queues_ends_by_itself, "S5.3"),
    case!(a_receive_over_no_queue_is_refused, "S12.2"),
    case!(a_queue_at_its_in_flight_limit_hides_no_other, "S2.4", "S7.6", "S12.2"),
    case!(receives_over_several_queues_rest_when_there_is_nothing, threads 4, "S2.4", "S7.6"),
    case!(those_who_wait_for_one_and_for_two_queues_get_their_share, "S2.5"),
    case!(a_receive_over_several_that_came_first_is_served_first, "S2.5"),
    case!(many_messages_of_several_queues_come_in_order, "S7.6"),
    case!(an_empty_queue_beside_a_full_one_is_not_looked_into_again, "S7.6"),
    case!(a_send_while_another_queue_looks_is_not_missed, "S2.4", "S7.6"),
    case!(what_several_queues_gave_a_receive_that_left_comes_back, "S2.3", "S7.6"),
    case!(what_happens_between_two_receives_over_several_is_seen, "S2.4", "S7.6"),
    case!(the_deletion_of_one_of_several_queues_ends_a_receive_over_them, "S4.2", "S7.6"),
];

async fn several(e: &EngineBench, count: usize, name: &str) -> Vec<Queue> {
    let mut queues = Vec::new();
    for nth in 0..count {
        queues.push(e.queue(&format!("{name}-{nth}"), QueueSettings::default()).await);
    }
    queues
}

async fn three(e: &EngineBench) -> [Queue; 3] {
    [
        e.queue("one", QueueSettings::default()).await,
        e.queue("two", QueueSettings::default()).await,
        e.queue("three", QueueSettings::default()).await,
    ]
}

type Receiving = JoinHandle<Result<Vec<slipring::Delivery>, slipring::Error>>;

fn any(e: &EngineBench, queues: &[Queue], request: ReceiveRequest) -> Receiving {
    let (engine, queues) = (e.engine.clone(), queues.to_vec());
    tokio::spawn(async move { engine.receive_any(&queues, request).await })
}

async fn any_waiter(e: &EngineBench, queues: &[Queue]) -> Receiving {
    let before: usize = queues.iter().map(Queue::waiting).sum();
    let task = any(e, queues, ReceiveRequest::up_to(1).wait(s(3600)));
    let waits = async || queues.iter().map(Queue::waiting).sum::<usize>() >= before + queues.len();
    until("the receive waits", waits).await;
    task
}

async fn the_best_priority_comes_first_then_the_oldest(b: Bench) {
    let e = EngineBench::open(b).await;
    let queues = three(&e).await;
    send(&queues[2], m("old").priority(5)).await;
    e.bench.advance(s(1));
    send(&queues[0], m("young").priority(5)).await;
    send(&queues[1], m("best").priority(1)).await;
    send(&queues[1], m("last").priority(9)).await;
    let mut order = Vec::new();
    for _ in 0..4 {
        order.extend(texts(any(&e, &queues, ReceiveRequest::up_to(1))).await);
    }
    assert_eq!(order, ["best", "old", "young", "last"]);
    assert!(texts(any(&e, &queues, ReceiveRequest::up_to(1))).await.is_empty());
}

async fn a_message_in_any_of_the_queues_ends_the_wait(b: Bench) {
    let e = EngineBench::open(b).await;
    let queues = three(&e).await;
    for round in 0..15 {
        let waits = any_waiter(&e, &queues).await;
        send(&queues[round % 3], round.to_string()).await;
        let list = got(waits).await;
        assert_eq!(bodies(&list), [round.to_string()]);
        assert_eq!(list[0].receipt.queue, queues[round % 3].id());
        let none_waits = async || queues.iter().all(|queue| queue.waiting() == 0);
        until("nobody waits", none_waits).await;
    }
}

async fn a_send_between_look_and_rest_over_several_is_not_missed(b: Bench) {
    let e = EngineBench::open(b).await;
    for round in 0..6 {
        // Queues that were not looked into yet.
        let queues = several(&e, 3, &format!("r{round}")).await;
        // The receive has looked and found nothing, but does not know it yet.
        e.store.plan(Verb::ClaimAny, 1, Fault::HangAfter);
        let waits = any(&e, &queues, ReceiveRequest::up_to(1).wait(s(3600)));
        e.store.hanging(1).await;
        send(&queues[round % 3], round.to_string()).await;
        e.store.release();
        assert_eq!(texts(waits).await, [round.to_string()]);
    }
}

async fn a_wait_over_several_queues_ends_empty_at_its_time(b: Bench) {
    let e = EngineBench::open(b).await;
    let queues = three(&e).await;
    let waits = any(&e, &queues, ReceiveRequest::up_to(1).wait(s(20)));
    until("it waits", async || queues[2].waiting() == 1).await;
    e.bench.advance(ms(19_999));
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!waits.is_finished());
    e.bench.advance(ms(50));
    assert!(got(waits).await.is_empty());
    assert!(queues.iter().all(|queue| queue.waiting() == 0));
}

async fn paused_queues_give_nothing_to_a_receive_over_several(b: Bench) {
    let e = EngineBench::open(b).await;
    let queues = three(&e).await;
    queues[0].configure(settings(|to| to.paused = true)).await.unwrap();
    send(&queues[0], m("paused").priority(0)).await;
    send(&queues[1], "free").await;
    assert_eq!(texts(any(&e, &queues, ReceiveRequest::up_to(1))).await, ["free"]);
    let waits = any_waiter(&e, &queues).await;
    queues[0].configure(QueueSettings::default()).await.unwrap();
    assert_eq!(texts(waits).await, ["paused"]);
}

async fn receives_over_several_queues_and_over_one_share_the_messages(b: Bench) {
    let e = EngineBench::open(b).await;
    let queues = three(&e).await;
    let mut receivers = Vec::new();
    for nth in 0..6 {
        let (engine, queues) = (e.engine.clone(), queues.clone());
        receivers.push(tokio::spawn(async move {
            loop {
                let request = ReceiveRequest::up_to(2).wait(s(3600));
                let list = match nth {
                    0..3 => engine.receive_any(&queues, request).await.unwrap(),
                    _ => queues[nth - 3].receive(request).await.unwrap(),
                };
                for delivery in list {
                    let of = queues.iter().find(|queue| queue.id() == delivery.receipt.queue);
                    of.unwrap().ack(&delivery.receipt).await.unwrap();
                }
            }
        }));
    }
    for n in 0..300 {
        send(&queues[n % 3], n.to_string()).await;
    }
    let empty = async || {
        let mut total = 0;
        for queue in &queues {
            total += queue.stats().await.unwrap().total();
        }
        total == 0
    };
    until("all messages are done", empty).await;
    for receiver in receivers {
        assert!(!receiver.is_finished(), "a receiver has failed");
        receiver.abort();
    }
}

async fn a_receive_over_several_that_went_away_takes_no_wake_up_along(b: Bench) {
    let e = EngineBench::open(b).await;
    let queues = three(&e).await;
    for round in 0..30 {
        let leaves = any_waiter(&e, &queues).await;
        let stays = any_waiter(&e, &queues).await;
        if round % 2 == 0 {
            send(&queues[round % 3], "a").await;
            leaves.abort();
        } else {
            leaves.abort();
            send(&queues[round % 3], "a").await;
        }
        let left = within("the one that leaves", leaves).await;
        let list = match left {
            // It had the message before it could leave.
            Ok(list) => {
                stays.abort();
                list.unwrap()
            }
            Err(_) => got(stays).await,
        };
        assert_eq!(bodies(&list), ["a"]);
        queues[round % 3].ack(&list[0].receipt).await.unwrap();
        let none_waits = async || queues.iter().all(|queue| queue.waiting() == 0);
        until("nobody waits", none_waits).await;
    }
}

async fn a_delay_in_one_of_several_queues_ends_by_itself(b: Bench) {
    let e = EngineBench::open(b).await;
    let queues = three(&e).await;
    send(&queues[1], m("a").delay(s(5))).await;
    let waits = any_waiter(&e, &queues).await;
    e.bench.advance(s(5));
    assert_eq!(texts(waits).await, ["a"]);
    let waits = any_waiter(&e, &queues).await;
    e.bench.advance(s(30));
    assert_eq!(texts(waits).await, ["a"], "its lease has lapsed");
}

async fn a_receive_over_no_queue_is_refused(b: Bench) {
    let e = EngineBench::open(b).await;
    refused(e.engine.receive_any(&[], ReceiveRequest::up_to(1)).await, ErrorKind::Invalid);
    let [one, ..] = three(&e).await;
    let answer = e.engine.receive_any(std::slice::from_ref(&one), ReceiveRequest::up_to(0)).await;
    refused(answer, ErrorKind::LimitExceeded);
    send(&one, "a").await;
    assert_eq!(take_one(&one).await.message.body, "a");
}

async fn a_queue_at_its_in_flight_limit_hides_no_other(b: Bench) {
    let e = EngineBench::open(b).await;
    let limited = e.queue("limited", settings(|to| to.in_flight_max = 1)).await;
    let queues = [limited.clone(), e.queue("other", QueueSettings::default()).await];
    send(&limited, m("a").priority(0)).await;
    send(&limited, m("b").priority(0)).await;
    let held = take_one(&limited).await;
    send(&queues[1], m("c").priority(9)).await;
    assert_eq!(texts(any(&e, &queues, ReceiveRequest::up_to(1))).await, ["c"]);
    let waits = any_waiter(&e, &queues).await;
    send(&queues[1], m("d").priority(9)).await;
    assert_eq!(texts(waits).await, ["d"]);
    let waits = any_waiter(&e, &queues).await;
    limited.ack(&held.receipt).await.unwrap();
    assert_eq!(texts(waits).await, ["b"]);
}

fn looks(e: &EngineBench) -> u64 {
    [Verb::Heads, Verb::Claim, Verb::ClaimAny].map(|verb| e.store.calls(verb)).iter().sum()
}

async fn receives_over_several_queues_rest_when_there_is_nothing(b: Bench) {
    let e = EngineBench::open(b).await;
    let queues = three(&e).await;
    let mut waiters = Vec::new();
    for _ in 0..8 {
        waiters.push(any_waiter(&e, &queues).await);
    }
    for round in 0..20 {
        let looks = looks(&e);
        // After this nobody knows how many messages there are.
        let settings = settings(|to| to.max_attempts = Some(round + 1));
        queues[0].configure(settings).await.unwrap();
        until("somebody looks", async || self::looks(&e) > looks).await;
        e.store.idle().await;
    }
    let rest = async || {
        let looks = looks(&e);
        for _ in 0..10 {
            e.store.idle().await;
        }
        self::looks(&e) == looks
    };
    until("they rest", rest).await;
    for n in 0..8 {
        send(&queues[n % 3], n.to_string()).await;
    }
    for waits in waiters {
        assert_eq!(got(waits).await.len(), 1);
    }
}

async fn the_deletion_of_one_of_several_queues_ends_a_receive_over_them(b: Bench) {
    let e = EngineBench::open(b).await;
    let queues = three(&e).await;
    let waits = any_waiter(&e, &queues).await;
    e.engine.delete_queue(&queues[1]).await.unwrap();
    refused(within("the receive", waits).await.unwrap(), ErrorKind::QueueNotFound);
    let later = any(&e, &queues, ReceiveRequest::up_to(1).wait(s(3600)));
    refused(within("the receive", later).await.unwrap(), ErrorKind::QueueNotFound);
    assert!(queues.iter().all(|queue| queue.waiting() == 0));
}

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
