//! Deduplication: the same id within its window stores nothing.

use slipring::{DedupScope, MessageId, MessageState, QueueSettings};

use crate::bench::{Bench, bodies, m, ms, s, settings};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(a_second_send_within_the_window_stores_nothing, "S8.1"),
    case!(the_window_counts_from_the_first_send, "S8.1"),
    case!(a_duplicate_does_not_prolong_the_window, "S8.1"),
    case!(an_acked_message_is_still_remembered, "S8.1"),
    case!(a_cancelled_message_is_still_remembered, "S8.1"),
    case!(a_purge_forgets_the_ids_from_before_it, "S8.4", "S14.5"),
    case!(an_id_sent_after_a_purge_counts, "S8.4"),
    case!(a_step_of_a_purge_forgets_what_it_removes, "S8.4", "S14.5"),
    case!(a_purge_that_ends_early_leaves_the_ids_of_what_it_leaves, "S8.1", "S8.4", "S14.5"),
    case!(a_purge_of_one_queue_leaves_the_ids_of_others, "S8.4"),
    case!(after_the_window_the_id_is_new_again, "S8.1"),
    case!(pruning_forgets_only_what_is_over, "S8.1"),
    case!(twins_in_one_unit_are_stored_once, "S8.1", "S9.1"),
    case!(twins_in_two_units_of_a_batch_are_stored_once, "S8.1", "S9.1"),
    case!(a_refused_unit_is_not_remembered, "S8.1", "S9.1"),
    case!(duplicates_do_not_count_against_limits, "S8.1", "S12.2"),
    case!(ids_of_different_queues_do_not_meet, "S8.1"),
    case!(with_scope_group_the_id_counts_within_its_group, "S8.2"),
    case!(with_scope_queue_the_group_does_not_matter, "S8.2"),
    case!(messages_without_an_id_are_never_duplicates, "S8.1"),
    case!(a_window_of_no_length_remembers_nothing, "S8.1"),
    case!(a_dead_lettered_message_is_remembered_in_its_source_only, "S8.1", "S6.4"),
    case!(thousands_of_ids_are_told_apart, "S8.1"),
];

fn with_window(seconds: u64) -> QueueSettings {
    settings(|to| to.dedup_window = s(seconds))
}

async fn a_second_send_within_the_window_stores_nothing(b: Bench) {
    let q = b.plain().await;
    let first = q.try_send(m("first").dedup_id("x")).await.unwrap();
    let second = q.try_send(m("second").dedup_id("x").delay(s(60))).await.unwrap();
    assert!(!first.duplicate && second.duplicate);
    assert_eq!(second.id, first.id);
    q.holds(1, 0, 0, 0).await;
    assert_eq!(q.drain().await, ["first"]);
    let next = q.send("next").await;
    assert!(next > first.id);
    if !b.store().capabilities().transactions {
        assert_eq!(next, MessageId(first.id.0 + 1), "duplicates use no number");
    }
}

async fn the_window_counts_from_the_first_send(b: Bench) {
    let q = b.queue(with_window(60)).await;
    let first = q.send(m("a").dedup_id("x")).await;
    b.advance(ms(59_999));
    assert!(q.try_send(m("b").dedup_id("x")).await.unwrap().duplicate);
    b.advance(ms(1));
    let third = q.try_send(m("c").dedup_id("x")).await.unwrap();
    assert!(!third.duplicate && third.id > first);
    assert_eq!(q.drain().await, ["a", "c"]);
}

async fn a_duplicate_does_not_prolong_the_window(b: Bench) {
    let q = b.queue(with_window(60)).await;
    q.send(m("a").dedup_id("x")).await;
    for _ in 0..5 {
        b.advance(s(10));
        assert!(q.try_send(m("b").dedup_id("x")).await.unwrap().duplicate);
    }
    b.advance(s(10));
    assert!(!q.try_send(m("c").dedup_id("x")).await.unwrap().duplicate);
    b.advance(s(59));
    assert!(q.try_send(m("d").dedup_id("x")).await.unwrap().duplicate, "a new window has begun");
}

async fn an_acked_message_is_still_remembered(b: Bench) {
    let q = b.plain().await;
    let first = q.send(m("a").dedup_id("x")).await;
    assert_eq!(q.drain().await, ["a"]);
    b.prune().await;
    let again = q.try_send(m("b").dedup_id("x")).await.unwrap();
    assert_eq!((again.id, again.duplicate), (first, true));
    q.holds(0, 0, 0, 0).await;
}

async fn a_cancelled_message_is_still_remembered(b: Bench) {
    let q = b.plain().await;
    let cancelled = q.send(m("a").dedup_id("x")).await;
    b.cancel(cancelled).await.unwrap();
    assert!(q.try_send(m("c").dedup_id("x")).await.unwrap().duplicate);
    q.holds(0, 0, 0, 0).await;
}

async fn a_purge_forgets_the_ids_from_before_it(b: Bench) {
    for (fifo, scope) in [(false, DedupScope::Queue), (true, DedupScope::Group)] {
        let q = b
            .queue(settings(|to| {
                to.fifo = fifo;
                to.dedup_scope = scope;
            }))
            .await;
        let acked = q.send(m("acked").dedup_id("x").group("g")).await;
        let taken = q.claim_one().await;
        assert_eq!(taken.message.id, acked);
        q.ack(&taken).await.unwrap();
        q.send_all([m("b").dedup_id("y"), m("c").dedup_id("z").delay(s(60))]).await;
        assert_eq!(q.purge(1).await, 2);
        let again = [m("d").dedup_id("x").group("g"), m("e").dedup_id("y"), m("f").dedup_id("z")];
        for (message, later) in again.into_iter().zip([false, true, true]) {
            if later {
                b.advance(s(1));
            }
            assert!(!q.try_send(message.clone()).await.unwrap().duplicate);
            assert!(q.try_send(message).await.unwrap().duplicate, "its window has begun anew");
        }
        assert_eq!(bodies(&q.claim(10).await), ["d", "e", "f"]);
    }
}

async fn an_id_sent_after_a_purge_counts(b: Bench) {
    let q = b.plain().await;
    q.send(m("a").dedup_id("x")).await;
    let until = b.now();
    assert_eq!(b.store().purge(q.id, 10, until).await.unwrap(), 1);
    b.advance(ms(1));
    q.send(m("b").dedup_id("y")).await;
    // The last step of the purge comes after the send.
    assert_eq!(b.store().purge(q.id, 10, until).await.unwrap(), 0);
    assert!(!q.try_send(m("c").dedup_id("x")).await.unwrap().duplicate);
    assert!(q.try_send(m("d").dedup_id("y")).await.unwrap().duplicate);
    if b.store().capabilities().durable {
        b.reopen().await;
        assert!(q.try_send(m("e").dedup_id("x")).await.unwrap().duplicate);
        assert!(q.try_send(m("f").dedup_id("y")).await.unwrap().duplicate);
    }
    assert_eq!(q.drain().await, ["b", "c"]);
}

async fn a_step_of_a_purge_forgets_what_it_removes(b: Bench) {
    let q = b.plain().await;
    q.send_all([m("a").dedup_id("x"), m("b").dedup_id("y")]).await;
    let until = b.now();
    assert_eq!(b.store().purge(q.id, 1, until).await.unwrap(), 1);
    // Sent in the same millisecond, so a later step removes it.
    q.send(m("c").dedup_id("z")).await;
    assert_eq!(q.purge(1).await, 2);
    for id in ["x", "y", "z"] {
        assert!(!q.try_send(m(id).dedup_id(id)).await.unwrap().duplicate);
    }
    if b.store().capabilities().durable {
        b.reopen().await;
        b.prune().await;
    }
    for id in ["x", "y", "z"] {
        assert!(q.try_send(m(id).dedup_id(id)).await.unwrap().duplicate);
    }
    assert_eq!(q.drain().await, ["x", "y", "z"]);
}

async fn a_purge_that_ends_early_leaves_the_ids_of_what_it_leaves(b: Bench) {
    let q = b.plain().await;
    q.send_all(["0", "1", "2", "3", "4", "5"].map(|id| m(id).dedup_id(id))).await;
    q.send(m("6").dedup_id("6").delay(s(60))).await;
    let leased = q.claim(1).await.remove(0);
    q.ack(&leased).await.unwrap();
    q.claim(1).await;
    let until = b.now();
    assert_eq!(b.store().purge(q.id, 2, until).await.unwrap(), 2);
    if b.store().capabilities().durable {
        b.reopen().await;
    }
    let mut left = Vec::new();
    for state in [MessageState::Ready, MessageState::Delayed, MessageState::Leased] {
        left.extend(q.peek(state).await);
    }
    assert_eq!(left.len(), 4, "{left:?}");
    for id in ["0", "1", "2", "3", "4", "5", "6"] {
        let sent = q.try_send(m("again").dedup_id(id)).await.unwrap();
        assert_eq!(sent.duplicate, left.iter().any(|text| text == id), "{id} of {left:?}");
    }
    // The ids that were sent since count.
    for id in ["0", "1", "2", "3", "4", "5", "6"] {
        assert!(q.try_send(m("again").dedup_id(id)).await.unwrap().duplicate, "{id}");
    }
    q.purge(100).await;
    assert!(!q.try_send(m("new").dedup_id("5")).await.unwrap().duplicate);
}

async fn a_purge_of_one_queue_leaves_the_ids_of_others(b: Bench) {
    let (one, two) = (b.plain().await, b.plain().await);
    one.send(m("a").dedup_id("x")).await;
    two.send(m("b").dedup_id("x")).await;
    one.purge(10).await;
    assert!(!one.try_send(m("c").dedup_id("x")).await.unwrap().duplicate);
    assert!(two.try_send(m("d").dedup_id("x")).await.unwrap().duplicate);
}

async fn after_the_window_the_id_is_new_again(b: Bench) {
    let q = b.queue(with_window(60)).await;
    for pruned in [false, true] {
        q.send(m("a").dedup_id("x")).await;
        b.advance(s(60));
        if pruned {
            b.prune().await;
        }
        assert!(!q.try_send(m("b").dedup_id("x")).await.unwrap().duplicate);
        b.advance(s(60));
        b.prune().await;
    }
    q.holds(4, 0, 0, 0).await;
}

async fn pruning_forgets_only_what_is_over(b: Bench) {
    let q = b.queue(with_window(60)).await;
    q.send(m("a").dedup_id("old")).await;
    b.advance(s(30));
    q.send(m("b").dedup_id("young")).await;
    b.advance(s(30));
    b.prune().await;
    assert!(!q.try_send(m("c").dedup_id("old")).await.unwrap().duplicate);
    assert!(q.try_send(m("d").dedup_id("young")).await.unwrap().duplicate);
    b.prune().await;
    assert!(q.try_send(m("e").dedup_id("old")).await.unwrap().duplicate);
    assert!(q.try_send(m("f").dedup_id("young")).await.unwrap().duplicate);
}

async fn twins_in_one_unit_are_stored_once(b: Bench) {
    let q = b.plain().await;
    let unit = vec![m("a").dedup_id("x"), m("b"), m("c").dedup_id("x"), m("d").dedup_id("y")];
    let answers = q.append(vec![unit]).await;
    let sent: Vec<_> = answers.into_iter().map(Result::unwrap).collect();
    assert_eq!(sent.iter().map(|s| s.duplicate).collect::<Vec<_>>(), [false, false, true, false]);
    assert_eq!(sent[2].id, sent[0].id);
    assert_eq!(q.drain().await, ["a", "b", "d"]);
}

async fn twins_in_two_units_of_a_batch_are_stored_once(b: Bench) {
    let q = b.plain().await;
    let units = vec![vec![m("a").dedup_id("x")], vec![m("b"), m("c").dedup_id("x")]];
    let sent: Vec<_> = q.append(units).await.into_iter().map(Result::unwrap).collect();
    assert!(sent[2].duplicate && sent[2].id == sent[0].id);
    assert_eq!(q.drain().await, ["a", "b"]);
}

async fn a_refused_unit_is_not_remembered(b: Bench) {
    let q = b.queue(settings(|to| to.messages_max = Some(2))).await;
    let unit = vec![m("a").dedup_id("x"), m("b").dedup_id("y"), m("c").dedup_id("z")];
    assert!(q.append(vec![unit]).await.iter().all(Result::is_err));
    for id in ["x", "z"] {
        assert!(!q.try_send(m(id).dedup_id(id)).await.unwrap().duplicate);
    }
    assert_eq!(q.drain().await, ["x", "z"]);
}

async fn duplicates_do_not_count_against_limits(b: Bench) {
    let q = b.queue(settings(|to| to.messages_max = Some(1))).await;
    q.send(m("a").dedup_id("x")).await;
    assert!(q.try_send(m("b").dedup_id("x")).await.unwrap().duplicate);
    let unit = vec![m("c").dedup_id("x"), m("d").dedup_id("x")];
    assert!(q.append(vec![unit]).await.into_iter().all(|sent| sent.unwrap().duplicate));
    assert!(q.try_send(m("e").dedup_id("y")).await.is_err());
}

async fn ids_of_different_queues_do_not_meet(b: Bench) {
    let (one, two) = (b.plain().await, b.plain().await);
    one.send(m("a").dedup_id("x")).await;
    assert!(!two.try_send(m("b").dedup_id("x")).await.unwrap().duplicate);
    // Nor do those of a queue that was made again under the same name.
    b.store().delete_queue(one.id).await.unwrap();
    let again = b.named(one.info.name.as_str(), QueueSettings::default()).await;
    assert!(!again.try_send(m("c").dedup_id("x")).await.unwrap().duplicate);
}

async fn with_scope_group_the_id_counts_within_its_group(b: Bench) {
    for fifo in [false, true] {
        let q = b
            .queue(settings(|to| {
                to.dedup_scope = DedupScope::Group;
                to.fifo = fifo;
            }))
            .await;
        let sent = [("a", Some("g")), ("b", Some("h")), ("c", None), ("d", Some("g")), ("e", None)];
        let mut duplicates = Vec::new();
        for (body, group) in sent {
            let mut message = m(body).dedup_id("x");
            message.group = group.map(Into::into);
            duplicates.push(q.try_send(message).await.unwrap().duplicate);
        }
        assert_eq!(duplicates, [false, false, false, true, true]);
        assert_eq!(q.drain().await, ["a", "b", "c"]);
    }
}

async fn with_scope_queue_the_group_does_not_matter(b: Bench) {
    let q = b.queue(settings(|to| to.fifo = true)).await;
    q.send(m("a").dedup_id("x").group("g")).await;
    assert!(q.try_send(m("b").dedup_id("x").group("h")).await.unwrap().duplicate);
    assert!(q.try_send(m("c").dedup_id("x")).await.unwrap().duplicate);
    q.holds(1, 0, 0, 0).await;
}

async fn messages_without_an_id_are_never_duplicates(b: Bench) {
    let q = b.queue(settings(|to| to.fifo = true)).await;
    for _ in 0..3 {
        assert!(!q.try_send(m("same").group("g")).await.unwrap().duplicate);
    }
    q.holds(3, 0, 0, 0).await;
}

async fn a_window_of_no_length_remembers_nothing(b: Bench) {
    let q = b.queue(with_window(0)).await;
    for _ in 0..3 {
        assert!(!q.try_send(m("a").dedup_id("x")).await.unwrap().duplicate);
    }
    q.send_all([m("b").dedup_id("y"), m("c").dedup_id("y")]).await;
    b.prune().await;
    q.holds(5, 0, 0, 0).await;
}

async fn a_dead_lettered_message_is_remembered_in_its_source_only(b: Bench) {
    let dead = b.plain().await;
    let q = b.source_of(&dead, 1).await;
    q.send(m("a").dedup_id("x")).await;
    let delivery = q.claim_one().await;
    q.nack(&delivery).await.unwrap();
    assert!(q.try_send(m("b").dedup_id("x")).await.unwrap().duplicate);
    assert!(!dead.try_send(m("c").dedup_id("x")).await.unwrap().duplicate);
    assert_eq!(dead.drain().await, ["a", "c"]);
}

async fn thousands_of_ids_are_told_apart(b: Bench) {
    let q = b.queue(with_window(100)).await;
    let message = |n: u32| m(&n.to_string()).dedup_id(format!("id {n}"));
    let ids = q.send_all((0..3000).map(message)).await;
    b.advance(s(50));
    let again = q.append(vec![(0..6000).map(message).collect()]).await;
    for (n, answer) in again.into_iter().enumerate() {
        let sent = answer.unwrap();
        assert_eq!(sent.duplicate, n < 3000);
        assert!(n >= 3000 || sent.id == ids[n]);
    }
    b.advance(s(50));
    let pass = b.prune().await;
    assert_eq!(pass.next, Some(b.now().after(s(50))));
    assert!(!q.try_send(message(5)).await.unwrap().duplicate);
    assert!(q.try_send(message(5000)).await.unwrap().duplicate);
}
