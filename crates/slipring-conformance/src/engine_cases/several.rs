//! Receives over several queues.

use slipring::{ErrorKind, Queue, QueueSettings, ReceiveRequest};
use tokio::task::JoinHandle;

use crate::bench::{Bench, bodies, m, ms, refused, s, settings};
use crate::case::{Case, case};
use crate::fault::{Fault, Verb};

use super::{EngineBench, got, send, take_one, texts, until, within};

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
    case!(the_deletion_of_one_of_several_queues_ends_a_receive_over_them, "S4.2", "S7.6"),
];

pub(super) async fn several(e: &EngineBench, count: usize, name: &str) -> Vec<Queue> {
    let mut queues = Vec::new();
    for nth in 0..count {
        queues.push(e.queue(&format!("{name}-{nth}"), QueueSettings::default()).await);
    }
    queues
}

pub(super) async fn three(e: &EngineBench) -> [Queue; 3] {
    [
        e.queue("one", QueueSettings::default()).await,
        e.queue("two", QueueSettings::default()).await,
        e.queue("three", QueueSettings::default()).await,
    ]
}

pub(super) type Receiving = JoinHandle<Result<Vec<slipring::Delivery>, slipring::Error>>;

pub(super) fn any(e: &EngineBench, queues: &[Queue], request: ReceiveRequest) -> Receiving {
    let (engine, queues) = (e.engine.clone(), queues.to_vec());
    tokio::spawn(async move { engine.receive_any(&queues, request).await })
}

pub(super) async fn any_waiter(e: &EngineBench, queues: &[Queue]) -> Receiving {
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
