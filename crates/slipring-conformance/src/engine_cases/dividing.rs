//! What one caller brings is dealt into store calls of bounded size; others come in between.

use slipring::lifecycle::Settlement;
use slipring::store::Settled;
use slipring::{Delivery, Queue, Receipt, ReceiveRequest};

use crate::bench::{Bench, m, s};
use crate::case::{Case, case};
use crate::fault::{Fault, Verb};

use super::EngineBench;

pub(super) const CASES: &[Case] = &[
    case!(what_one_caller_brings_goes_in_calls_of_bounded_size, "S12.4", "S9.3"),
    case!(a_settlement_that_fails_half_way_says_what_it_has_settled, "S12.4", "S9.3"),
    case!(a_batch_is_stored_whole_whatever_its_size, "S12.4", "S9.1"),
];

/// Messages in a call of these cases, and in the work of their callers.
const CALL: u32 = 64;
const COUNT: usize = 300;

async fn take_all(q: &Queue) -> Vec<Delivery> {
    let held = q.receive(ReceiveRequest::up_to(COUNT as u32).lease(s(60))).await;
    let held = held.expect("the receive succeeds");
    assert_eq!(held.len(), COUNT);
    held
}

fn settling(held: &[Delivery], how: Settlement) -> Vec<(Receipt, Settlement)> {
    held.iter().map(|delivery| (delivery.receipt, how.clone())).collect()
}

async fn what_one_caller_brings_goes_in_calls_of_bounded_size(b: Bench) {
    let e = EngineBench::with_calls_of(b, CALL).await;
    let q = e.plain().await;
    let sent = q.send_each((0..COUNT).map(|n| m(&n.to_string())).collect()).await;
    assert!(sent.len() == COUNT && sent.iter().all(Result::is_ok));
    assert!(e.store.largest(Verb::Append) <= CALL as usize);
    let held = take_all(&q).await;
    let entries = held.iter().map(|delivery| (delivery.receipt, Some(s(90)))).collect();
    let prolonged = q.extend(entries).await.expect("the call succeeds");
    assert!(prolonged.len() == COUNT && prolonged.iter().all(Result::is_ok));
    // What leaves its order costs a store as much as several acks.
    assert!(e.store.largest(Verb::Extend) < CALL as usize / 2);
    let given = q.settle(settling(&held, Settlement::HandBack)).await.expect("the call succeeds");
    assert!(given.len() == COUNT && given.iter().all(|one| matches!(one, Ok(Settled::Ready))));
    assert!(e.store.largest(Verb::Settle) < CALL as usize / 2);
    let held = take_all(&q).await;
    let acked = q.settle(settling(&held, Settlement::Ack)).await.expect("the call succeeds");
    assert!(acked.len() == COUNT && acked.iter().all(|one| matches!(one, Ok(Settled::Done))));
    assert!((CALL as usize / 2..=CALL as usize).contains(&e.store.largest(Verb::Settle)));
    assert_eq!(q.stats().await.expect("the store answers").total(), 0);
}

async fn a_settlement_that_fails_half_way_says_what_it_has_settled(b: Bench) {
    let e = EngineBench::with_calls_of(b, CALL).await;
    let q = e.plain().await;
    q.send_batch(vec![m("x"); COUNT]).await.expect("the batch is taken");
    let held = take_all(&q).await;
    e.store.plan(Verb::Settle, 3, Fault::Before);
    let acked = q.settle(settling(&held, Settlement::Ack)).await.expect("a part is settled");
    assert_eq!(acked.len(), COUNT);
    let done = acked.iter().filter(|one| one.is_ok()).count() as u64;
    assert!(done >= 2 && done < COUNT as u64, "{done}");
    let left = q.stats().await.expect("the store answers");
    assert_eq!((left.leased, left.total()), (COUNT as u64 - done, COUNT as u64 - done));
    let again = q.settle(settling(&held, Settlement::Ack)).await.expect("the call succeeds");
    assert_eq!(again.iter().filter(|one| one.is_ok()).count() as u64, COUNT as u64 - done);
}

async fn a_batch_is_stored_whole_whatever_its_size(b: Bench) {
    let e = EngineBench::with_calls_of(b, CALL).await;
    let q = e.plain().await;
    e.store.plan(Verb::Append, 1, Fault::Before);
    q.send_batch(vec![m("x"); COUNT]).await.expect_err("the store fails");
    assert_eq!(q.stats().await.expect("the store answers").total(), 0);
    q.send_batch(vec![m("x"); COUNT]).await.expect("the batch is taken");
    assert_eq!(e.store.largest(Verb::Append), COUNT);
}
