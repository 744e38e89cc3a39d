//! Batches: all or nothing for each unit, in order, answered message by message.

use slipring::{ErrorKind, MessageState};

use crate::bench::{Bench, m, refused, s, settings};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(messages_of_a_batch_keep_their_order, "S9.2"),
    case!(a_unit_that_does_not_fit_is_refused_whole, "S9.1", "S12.2"),
    case!(the_units_beside_a_refused_one_are_stored, "S9.1"),
    case!(a_unit_after_a_refused_one_may_still_fit, "S9.1", "S12.2"),
    case!(the_error_names_the_first_message_that_does_not_fit, "S9.1", "S12.2"),
    case!(a_refused_unit_leaves_no_trace, "S9.1"),
    case!(a_batch_of_ten_thousand_is_stored_whole, "S9.1", "S9.2"),
    case!(a_batch_may_mix_ready_and_delayed_messages, "S9.2", "S5.1"),
    case!(a_batch_of_mixed_priorities_is_ordered_by_them, "S7.1", "S9.2"),
];

async fn messages_of_a_batch_keep_their_order(b: Bench) {
    for fifo in [false, true] {
        let q = b.queue(settings(|to| to.fifo = fifo)).await;
        let bodies: Vec<_> = (0..200).map(|n| format!("{n:03}")).collect();
        let ids = q.send_all(bodies.iter().map(String::as_str)).await;
        assert!(ids.is_sorted());
        assert_eq!(q.take(200).await, bodies);
    }
}

async fn a_unit_that_does_not_fit_is_refused_whole(b: Bench) {
    let q = b.queue(settings(|to| to.messages_max = Some(5))).await;
    q.send_all(["1", "2", "3"]).await;
    let answers = q.append(vec![vec![m("4"), m("5"), m("6")]]).await;
    for answer in answers {
        refused(answer, ErrorKind::LimitExceeded);
    }
    assert_eq!(q.peek(MessageState::Ready).await, ["1", "2", "3"]);
}

async fn the_units_beside_a_refused_one_are_stored(b: Bench) {
    let q = b.queue(settings(|to| to.bytes_max = Some(20))).await;
    let units = vec![
        vec![m("1234"), m("5678")],
        vec![m("a"), m("far too long a text to fit"), m("b")],
        vec![m("9")],
        vec![m("0"), m("1")],
    ];
    let answers = q.append(units).await;
    let stored: Vec<_> = answers.iter().map(Result::is_ok).collect();
    assert_eq!(stored, [true, true, false, false, false, true, true, true]);
    assert_eq!(q.drain().await, ["1234", "5678", "9", "0", "1"]);
}

async fn a_unit_after_a_refused_one_may_still_fit(b: Bench) {
    let q = b.queue(settings(|to| to.messages_max = Some(3))).await;
    let answers = q
        .append(vec![vec![m("1"), m("2")], vec![m("3"), m("4")], vec![m("5")], vec![m("6")]])
        .await;
    let stored: Vec<_> = answers.iter().map(Result::is_ok).collect();
    assert_eq!(stored, [true, true, false, false, true, false]);
    assert_eq!(q.drain().await, ["1", "2", "5"]);
}

async fn the_error_names_the_first_message_that_does_not_fit(b: Bench) {
    let q = b.queue(settings(|to| to.messages_max = Some(3))).await;
    q.send("1").await;
    let answers = q.append(vec![vec![m("2"), m("3"), m("4"), m("5")]]).await;
    for answer in answers {
        let error = refused(answer, ErrorKind::LimitExceeded);
        let index = error.context().iter().find(|(key, _)| *key == "index");
        assert_eq!(index.map(|(_, value)| value.as_str()), Some("2"), "{error}");
    }
}

async fn a_refused_unit_leaves_no_trace(b: Bench) {
    let q = b.queue(settings(|to| to.messages_max = Some(1))).await;
    let first = q.send("1").await;
    let before = q.stats().await;
    q.append(vec![vec![m("2").delay(s(1)), m("3")], vec![m("4").delay(s(2))]]).await;
    assert_eq!(q.stats().await, before);
    assert_eq!(b.due().await.next, None);
    b.cancel(first).await.unwrap();
    assert!(q.send("5").await > first);
    assert_eq!(q.drain().await, ["5"]);
}

async fn a_batch_of_ten_thousand_is_stored_whole(b: Bench) {
    let q = b.plain().await;
    let ids = q.send_all((0..10_000).map(|n| n.to_string())).await;
    assert_eq!(ids.len(), 10_000);
    q.holds(10_000, 0, 0, 0).await;
    assert_eq!(q.stats().await.bytes, 10 + 180 + 2700 + 36_000);
    let taken = q.claim(10_000).await;
    assert_eq!(taken.len(), 10_000);
    assert!(taken.iter().map(|delivery| delivery.message.id).eq(ids));
}

async fn a_batch_may_mix_ready_and_delayed_messages(b: Bench) {
    let q = b.plain().await;
    q.send_all([m("a").delay(s(2)), m("b"), m("c").delay(s(1)), m("d")]).await;
    q.holds(2, 2, 0, 0).await;
    assert_eq!(q.take(1).await, ["b"]);
    b.pass(s(2)).await;
    assert_eq!(q.take(9).await, ["a", "c", "d"]);
}

async fn a_batch_of_mixed_priorities_is_ordered_by_them(b: Bench) {
    let q = b.plain().await;
    let sent = [("a", 3), ("b", 1), ("c", 2), ("d", 1), ("e", 3)];
    q.send_all(sent.map(|(body, priority)| m(body).priority(priority))).await;
    assert_eq!(q.take(9).await, ["b", "d", "c", "a", "e"]);
}
