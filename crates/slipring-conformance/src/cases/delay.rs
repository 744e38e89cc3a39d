//! Delays: never early, and in their old place afterwards.

use slipring::MessageState;

use crate::bench::{Bench, START, m, ms, s, settings};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(a_delayed_message_is_not_handed_out_before_its_time, "S5.1"),
    case!(a_message_takes_the_delay_of_its_queue_or_its_own, "S5.1"),
    case!(a_delay_of_less_than_a_millisecond_is_rounded_up, "S5.1"),
    case!(delays_end_in_the_order_they_are_due, "S5.1"),
    case!(a_due_message_stands_in_its_old_place, "S7.2"),
    case!(a_pass_says_when_the_next_message_is_due, "S5.3"),
    case!(a_pass_over_many_due_messages_finds_them_all, "S5.3"),
    case!(a_pass_covers_all_queues, "S5.3"),
    case!(a_changed_delay_counts_for_later_sends_only, "S5.1"),
    case!(the_longest_delay_is_kept, "S12.1"),
];

async fn a_delayed_message_is_not_handed_out_before_its_time(b: Bench) {
    let q = b.plain().await;
    let sent = q.try_send(m("a").delay(ms(2500))).await.unwrap();
    let due = START.after(ms(2500));
    assert_eq!(sent.due, Some(due));
    q.holds(0, 1, 0, 0).await;
    assert_eq!(q.only(MessageState::Delayed).await.until, Some(due));
    for _ in 0..5 {
        assert!(q.claim(1).await.is_empty());
        b.pass(ms(499)).await;
    }
    b.pass(ms(4)).await;
    assert!(q.claim(1).await.is_empty(), "one millisecond is left");
    b.pass(ms(1)).await;
    q.holds(1, 0, 0, 0).await;
    assert_eq!(q.take(1).await, ["a"]);
}

async fn a_message_takes_the_delay_of_its_queue_or_its_own(b: Bench) {
    let q = b.queue(settings(|to| to.delay = s(10))).await;
    q.send_all([m("queue"), m("shorter").delay(s(5)), m("none").delay(s(0))]).await;
    assert_eq!(q.peek(MessageState::Ready).await, ["none"]);
    b.pass(s(5)).await;
    assert_eq!(q.peek(MessageState::Ready).await, ["shorter", "none"]);
    assert_eq!(q.only(MessageState::Delayed).await.message.delay, s(10));
    b.pass(s(5)).await;
    assert_eq!(q.drain().await, ["queue", "shorter", "none"]);
}

async fn a_delay_of_less_than_a_millisecond_is_rounded_up(b: Bench) {
    let q = b.plain().await;
    let sent = q.try_send(m("a").delay(std::time::Duration::from_nanos(1))).await.unwrap();
    assert_eq!(sent.due, Some(START.after(ms(1))));
    b.pass(s(0)).await;
    q.holds(0, 1, 0, 0).await;
    b.pass(ms(1)).await;
    q.holds(1, 0, 0, 0).await;
}

async fn delays_end_in_the_order_they_are_due(b: Bench) {
    let q = b.plain().await;
    let delays = [50, 10, 40, 20, 30];
    q.send_all(delays.map(|seconds| m(&seconds.to_string()).delay(s(seconds)))).await;
    assert_eq!(q.peek(MessageState::Delayed).await, ["10", "20", "30", "40", "50"]);
    for wanted in ["10", "20", "30", "40", "50"] {
        b.pass(s(10)).await;
        assert_eq!(q.drain().await, [wanted]);
    }
}

async fn a_due_message_stands_in_its_old_place(b: Bench) {
    let q = b.plain().await;
    q.send(m("first").delay(s(10))).await;
    q.send("second").await;
    b.pass(s(10)).await;
    q.send("third").await;
    assert_eq!(q.drain().await, ["first", "second", "third"]);
}

async fn a_pass_says_when_the_next_message_is_due(b: Bench) {
    let q = b.plain().await;
    assert_eq!(b.due().await.next, None);
    q.send_all([m("a").delay(s(20)), m("b").delay(s(10))]).await;
    assert_eq!(b.due().await.next, Some(START.after(s(10))));
    b.advance(s(10));
    let pass = b.due().await;
    assert_eq!((pass.ready, pass.next), (vec![(q.id, 1)], Some(START.after(s(20)))));
    b.advance(s(10));
    assert_eq!(b.due().await.next, None);
}

async fn a_pass_over_many_due_messages_finds_them_all(b: Bench) {
    let q = b.plain().await;
    for _ in 0..3 {
        q.send_all((0..5000).map(|n| m(&n.to_string()).delay(ms(1 + n % 7)))).await;
    }
    q.send(m("later").delay(s(60))).await;
    b.advance(s(1));
    let pass = b.due().await;
    assert_eq!(pass.ready, [(q.id, 15_000)]);
    assert_eq!(pass.next, Some(START.after(s(60))));
    q.holds(15_000, 1, 0, 0).await;
}

async fn a_pass_covers_all_queues(b: Bench) {
    let mut queues = Vec::new();
    for _ in 0..30 {
        let q = b.plain().await;
        q.send(m("a").delay(s(1))).await;
        q.send(m("b").delay(s(2))).await;
        queues.push(q);
    }
    b.advance(s(1));
    let wanted: Vec<_> = queues.iter().map(|q| (q.id, 1)).collect();
    assert_eq!(b.due().await.ready, wanted);
    for q in &queues {
        q.holds(1, 1, 0, 0).await;
    }
}

async fn a_changed_delay_counts_for_later_sends_only(b: Bench) {
    let q = b.queue(settings(|to| to.delay = s(10))).await;
    q.send("before").await;
    q.configure(&settings(|to| to.delay = s(0))).await.unwrap();
    q.send("after").await;
    assert_eq!(q.peek(MessageState::Ready).await, ["after"]);
    b.pass(s(10)).await;
    assert_eq!(q.peek(MessageState::Ready).await, ["before", "after"]);
}

async fn the_longest_delay_is_kept(b: Bench) {
    let q = b.plain().await;
    let longest = s(1 << 32);
    let sent = q.try_send(m("a").delay(longest)).await.unwrap();
    assert_eq!(sent.due, Some(START.after(longest)));
    b.pass(longest - ms(1)).await;
    q.holds(0, 1, 0, 0).await;
    b.pass(ms(1)).await;
    q.holds(1, 0, 0, 0).await;
}
