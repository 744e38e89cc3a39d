//! What becomes due in one queue holds up no other (S5.6).

use slipring::ReceiveRequest;

use crate::bench::{Bench, m, ms, s, settings};
use crate::case::{Case, case};
use crate::fault::{Fault, Verb};

use super::{EngineBench, next, receiving, send, texts, until, waiter, within};

pub(super) const CASES: &[Case] = &[
    case!(a_pass_that_hangs_holds_up_no_other_queue, needs ByQueue, "S5.5", "S5.6"),
    case!(a_queue_with_much_to_do_lets_others_have_their_turn, needs ByQueue, "S5.3", "S5.6"),
    case!(a_receive_waits_for_one_turn_of_its_queue, needs ByQueue, "S5.5", "S5.6"),
    case!(a_receive_over_several_waits_for_none_but_them, needs ByQueue, "S5.5", "S5.6"),
];

/// More than one turn handles.
const MANY: u32 = 5000;

async fn a_pass_that_hangs_holds_up_no_other_queue(b: Bench) {
    let e = EngineBench::open(b).await;
    let busy = e.queue("busy", settings(|_| {})).await;
    let quiet = e.queue("quiet", settings(|_| {})).await;
    send(&busy, m("a").delay(s(10))).await;
    send(&quiet, m("b").delay(s(11))).await;
    e.store.idle().await;
    e.store.plan(Verb::Due, 1, Fault::Hang);
    e.bench.advance(s(10));
    within("the pass", e.store.hanging(1)).await;
    let now = within("a receive that does not wait", quiet.receive(ReceiveRequest::up_to(1)));
    assert!(now.await.unwrap().is_empty());
    let waits = waiter(&quiet).await;
    e.bench.advance(s(1));
    assert_eq!(texts(waits).await, ["b"], "its delay has ended");
    let waits = waiter(&quiet).await;
    e.bench.advance(s(30));
    assert_eq!(texts(waits).await, ["b"], "its lease has lapsed");
    e.store.release();
    assert_eq!(texts(next(&busy)).await, ["a"]);
}

async fn a_queue_with_much_to_do_lets_others_have_their_turn(b: Bench) {
    let e = EngineBench::open(b).await;
    let busy = e.queue("busy", settings(|_| {})).await;
    let quiet = e.queue("quiet", settings(|_| {})).await;
    busy.send_batch((0..MANY).map(|_| m("a").delay(s(10))).collect()).await.unwrap();
    send(&quiet, m("b").delay(ms(10_001))).await;
    e.store.idle().await;
    // One turn of each, then the second of the busy one.
    e.store.plan(Verb::Due, 3, Fault::Hang);
    e.bench.advance(ms(10_001));
    within("the second turn", e.store.hanging(1)).await;
    assert_eq!(texts(next(&quiet)).await, ["b"]);
    assert!(busy.stats().await.unwrap().delayed > 0, "there is more to do in the other");
    e.store.release();
    until("all are ready", async || busy.stats().await.unwrap().delayed == 0).await;
}

async fn a_receive_waits_for_one_turn_of_its_queue(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    q.send_batch((0..MANY).map(|_| m("a").delay(s(10))).collect()).await.unwrap();
    e.store.idle().await;
    e.store.plan(Verb::Due, 1, Fault::Hang);
    e.store.plan(Verb::Due, 2, Fault::Hang);
    e.bench.advance(s(10));
    within("the first turn", e.store.hanging(1)).await;
    let takes = receiving(&q, ReceiveRequest::up_to(1));
    until("it has looked", async || e.store.calls(Verb::Claim) == 1).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!takes.is_finished(), "something is due");
    e.store.release();
    assert_eq!(texts(takes).await, ["a"], "while the second turn hangs");
    e.store.release();
}

async fn a_receive_over_several_waits_for_none_but_them(b: Bench) {
    let e = EngineBench::open(b).await;
    let busy = e.queue("busy", settings(|_| {})).await;
    let queues = [e.queue("one", settings(|_| {})).await, e.queue("two", settings(|_| {})).await];
    send(&busy, m("a").delay(s(10))).await;
    e.store.idle().await;
    e.store.plan(Verb::Due, 1, Fault::Hang);
    e.bench.advance(s(10));
    within("the pass", e.store.hanging(1)).await;
    let over_both = e.engine.receive_any(&queues, ReceiveRequest::up_to(1));
    assert!(within("a receive over others", over_both).await.unwrap().is_empty());
    e.store.release();
}
