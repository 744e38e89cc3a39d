//! The dead-letter policy: where a message goes whose attempts are used up.

use std::sync::Arc;

use slipring::lifecycle::Settlement;
use slipring::store::Settled;
use slipring::{ErrorKind, Headers, MessageState, QueueName};

use crate::bench::{Bench, NACK, QueueBench, START, m, p, refused, s, settings};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(the_last_nack_sends_to_the_dead_letter_queue, "S6.2", "S6.3"),
    case!(the_last_lapse_sends_to_the_dead_letter_queue, "S6.2", "S6.3"),
    case!(a_pass_says_which_dead_letter_queue_got_messages, "S2.4"),
    case!(giving_up_sends_to_the_dead_letter_queue_at_once, "S6.2"),
    case!(without_a_dead_letter_queue_the_message_is_parked, "S6.2"),
    case!(a_dead_letter_queue_that_is_not_there_parks, "S6.2"),
    case!(a_deleted_dead_letter_queue_parks, "S6.2"),
    case!(a_queue_that_is_its_own_dead_letter_queue_parks, "S6.2"),
    case!(two_queues_may_be_the_dead_letter_queues_of_each_other, "S6.2", "S6.3"),
    case!(a_dead_letter_keeps_what_it_was_sent_with, "S6.4"),
    case!(a_dead_letter_keeps_its_number, "S6.4"),
    case!(a_dead_letter_starts_with_no_attempts_and_names_its_source, "S6.4"),
    case!(the_deliveries_before_are_kept_apart, "S6.4"),
    case!(the_deliveries_before_are_kept_when_leases_lapse, "S6.4"),
    case!(old_receipts_do_not_reach_into_the_dead_letter_queue, "S3.5"),
    case!(a_message_is_in_exactly_one_of_the_two_queues, "S6.3"),
    case!(dead_letters_of_a_batch_leave_their_neighbours, "S9.3", "S6.2"),
    case!(a_dead_letter_queue_may_have_one_itself, "S6.2"),
    case!(a_last_nack_with_a_delay_is_not_delayed, "S6.2"),
    case!(a_lower_limit_counts_for_messages_already_tried, "S6.2"),
    case!(many_lapses_at_once_all_find_their_dead_letter_queue, "S6.2", "S6.3"),
    case!(dead_letters_of_two_queues_meet_in_one, "S6.4"),
];

async fn dead_and_source(b: &Bench, max_attempts: u32) -> (QueueBench, QueueBench) {
    let dead = b.plain().await;
    let q = b.source_of(&dead, max_attempts).await;
    (dead, q)
}

async fn the_last_nack_sends_to_the_dead_letter_queue(b: Bench) {
    let (dead, q) = dead_and_source(&b, 3).await;
    q.send("a").await;
    for _ in 0..2 {
        let delivery = q.claim_one().await;
        assert_eq!(q.nack(&delivery).await.unwrap(), Settled::Ready);
    }
    let last = q.claim_one().await;
    assert_eq!(q.nack(&last).await.unwrap(), Settled::DeadLettered(dead.id));
    q.holds(0, 0, 0, 0).await;
    dead.holds(1, 0, 0, 0).await;
    assert_eq!((q.stats().await.bytes, dead.stats().await.bytes), (0, 1));
    assert_eq!(dead.take(1).await, ["a"]);
}

async fn the_last_lapse_sends_to_the_dead_letter_queue(b: Bench) {
    let (dead, q) = dead_and_source(&b, 2).await;
    q.send("a").await;
    q.claim_one().await;
    b.pass(s(30)).await;
    q.holds(1, 0, 0, 0).await;
    q.claim_one().await;
    b.pass(s(30)).await;
    q.holds(0, 0, 0, 0).await;
    dead.holds(1, 0, 0, 0).await;
}

async fn a_pass_says_which_dead_letter_queue_got_messages(b: Bench) {
    let (dead, q) = dead_and_source(&b, 1).await;
    let other = b.plain().await;
    q.send_all(["a", "b"]).await;
    other.send("c").await;
    assert_eq!(
        (q.claim(1).await.len(), q.claim(1).await.len(), other.claim(1).await.len()),
        (1, 1, 1)
    );
    b.advance(s(30));
    let mut ready = b.expire().await.ready;
    ready.sort();
    let mut wanted = [(dead.id, 2), (q.id, 2), (other.id, 1)];
    wanted.sort();
    assert_eq!(ready, wanted);
}

async fn giving_up_sends_to_the_dead_letter_queue_at_once(b: Bench) {
    let (dead, q) = dead_and_source(&b, 1000).await;
    q.send("a").await;
    let delivery = q.claim_one().await;
    let answer = q.settle(&delivery, Settlement::DeadLetter { reason: None }).await.unwrap();
    assert_eq!(answer, Settled::DeadLettered(dead.id));
    dead.holds(1, 0, 0, 0).await;
    q.holds(0, 0, 0, 0).await;
}

async fn without_a_dead_letter_queue_the_message_is_parked(b: Bench) {
    let q = b.queue(settings(|to| to.max_attempts = Some(1))).await;
    q.send_all(["nacked", "lapsed"]).await;
    let delivery = q.claim_one().await;
    assert_eq!(q.nack(&delivery).await.unwrap(), Settled::Parked);
    q.claim_one().await;
    b.advance(s(30));
    assert_eq!(b.expire().await.removed, 1);
    q.holds(0, 0, 0, 2).await;
    b.pass(s(3600)).await;
    assert!(q.claim(10).await.is_empty());
}

async fn a_dead_letter_queue_that_is_not_there_parks(b: Bench) {
    let q = b
        .queue(settings(|to| {
            to.max_attempts = Some(1);
            to.dead_letter = Some(QueueName::new("made-later").unwrap());
        }))
        .await;
    q.send_all(["a", "b"]).await;
    let first = q.claim_one().await;
    assert_eq!(q.nack(&first).await.unwrap(), Settled::Parked);
    let dead = b.named("made-later", settings(|_| {})).await;
    let second = q.claim_one().await;
    assert_eq!(q.nack(&second).await.unwrap(), Settled::DeadLettered(dead.id));
}

async fn a_deleted_dead_letter_queue_parks(b: Bench) {
    let (dead, q) = dead_and_source(&b, 1).await;
    q.send_all(["nacked", "lapsed"]).await;
    let delivery = q.claim_one().await;
    q.claim_one().await;
    b.store().delete_queue(dead.id).await.unwrap();
    assert_eq!(q.nack(&delivery).await.unwrap(), Settled::Parked);
    b.pass(s(30)).await;
    q.holds(0, 0, 0, 2).await;
}

async fn a_queue_that_is_its_own_dead_letter_queue_parks(b: Bench) {
    let q = b
        .named(
            "self",
            settings(|to| {
                to.max_attempts = Some(1);
                to.dead_letter = Some(QueueName::new("self").unwrap());
            }),
        )
        .await;
    q.send_all(["nacked", "lapsed", "given up"]).await;
    let delivery = q.claim_one().await;
    assert_eq!(q.nack(&delivery).await.unwrap(), Settled::Parked);
    q.claim_one().await;
    b.pass(s(30)).await;
    q.holds(1, 0, 0, 2).await;
    let delivery = q.claim_one().await;
    let answer = q.settle(&delivery, Settlement::DeadLetter { reason: None }).await;
    assert_eq!(answer.unwrap(), Settled::Parked);
    // Those that were kicked are not in their first lease any more.
    assert_eq!(q.kick(3).await, 3);
    let delivery = q.claim_one().await;
    assert_eq!(q.nack(&delivery).await.unwrap(), Settled::Parked);
    q.claim_one().await;
    b.pass(s(30)).await;
    q.holds(1, 0, 0, 2).await;
}

async fn two_queues_may_be_the_dead_letter_queues_of_each_other(b: Bench) {
    let (one, two) = b.each_others_dead_letters().await;
    one.send_all(["nacked", "lapsed"]).await;
    let delivery = one.claim_one().await;
    one.claim_one().await;
    assert_eq!(one.nack(&delivery).await.unwrap(), Settled::DeadLettered(two.id));
    b.pass(s(30)).await;
    two.holds(2, 0, 0, 0).await;
    let delivery = two.claim_one().await;
    two.claim_one().await;
    assert_eq!(two.nack(&delivery).await.unwrap(), Settled::DeadLettered(one.id));
    b.pass(s(30)).await;
    one.holds(2, 0, 0, 0).await;
    two.holds(0, 0, 0, 0).await;
}

async fn a_dead_letter_keeps_what_it_was_sent_with(b: Bench) {
    let (dead, q) = dead_and_source(&b, 1).await;
    let mut sent = m("body").group("group").dedup_id("dedup").priority(77);
    sent.headers = Some(Arc::new(Headers::from([("k".to_owned(), "v".to_owned())])));
    sent.lease = Some(s(12));
    q.send(sent.clone()).await;
    b.pass(s(100)).await;
    let delivery = q.claim_one().await;
    q.nack(&delivery).await.unwrap();
    let got = dead.claim_one().await.message;
    assert_eq!(got.sent_at, START, "the first send time");
    assert_eq!((got.body, got.headers, got.group), (sent.body, sent.headers, sent.group));
    assert_eq!((got.priority, got.lease), (p(77), Some(s(12))));
}

async fn a_dead_letter_keeps_its_number(b: Bench) {
    let (dead, q) = dead_and_source(&b, 1).await;
    let id = q.send("a").await;
    let delivery = q.claim_one().await;
    q.nack(&delivery).await.unwrap();
    let seen = b.lookup(id).await.expect("the message is found by its number");
    assert_eq!((seen.queue, seen.state), (dead.id, MessageState::Ready));
    assert_eq!(dead.claim_one().await.message.id, id);
}

async fn a_dead_letter_starts_with_no_attempts_and_names_its_source(b: Bench) {
    let (dead, q) = dead_and_source(&b, 2).await;
    q.send("a").await;
    for _ in 0..2 {
        let delivery = q.claim_one().await;
        q.nack(&delivery).await.unwrap();
    }
    let seen = dead.only(MessageState::Ready).await.message;
    assert_eq!((seen.attempts, seen.dead_letter_source), (0, Some(q.info.name.clone())));
    assert_eq!(dead.claim_one().await.message.attempts, 1);
}

async fn the_deliveries_before_are_kept_apart(b: Bench) {
    let counts = |of: &slipring::Message| (of.earlier_attempts, of.attempts);
    let last = b.plain().await;
    for how in [NACK, Settlement::DeadLetter { reason: None }] {
        for fifo in [false, true] {
            let middle = b
                .queue(settings(|to| {
                    to.fifo = fifo;
                    to.max_attempts = Some(1);
                    to.dead_letter = Some(last.info.name.clone());
                }))
                .await;
            let q = b.source_of(&middle, 2).await;
            let id = q.send("a").await;
            q.nack(&q.claim_one().await).await.unwrap();
            q.settle(&q.claim_one().await, how.clone()).await.unwrap();
            assert_eq!(counts(&middle.only(MessageState::Ready).await.message), (2, 0));
            let taken = middle.claim_one().await;
            assert_eq!(counts(&taken.message), (2, 1));
            assert_eq!(counts(&b.lookup(id).await.unwrap().message), (2, 1));
            middle.nack(&taken).await.unwrap();
            assert_eq!(counts(&last.claim_one().await.message), (3, 1));
            b.pass(s(30)).await;
            // A redrive begins anew.
            let request = slipring::MoveRequest { source: last.id, target: Some(q.id), limit: 10 };
            b.store().move_messages(request, b.now()).await.unwrap();
            let taken = q.claim_one().await;
            assert_eq!(counts(&taken.message), (0, 1));
            q.ack(&taken).await.unwrap();
        }
    }
}

async fn the_deliveries_before_are_kept_when_leases_lapse(b: Bench) {
    let dead = b.plain().await;
    let q = b.source_of(&dead, 1).await;
    q.send_all(["a", "b", "c"]).await;
    q.claim(3).await;
    b.pass(s(30)).await;
    for delivery in dead.claim(3).await {
        assert_eq!((delivery.message.earlier_attempts, delivery.message.attempts), (1, 1));
        dead.nack(&delivery).await.unwrap();
    }
    let taken = dead.claim_one().await;
    assert_eq!((taken.message.earlier_attempts, taken.message.attempts), (1, 2));
}

async fn old_receipts_do_not_reach_into_the_dead_letter_queue(b: Bench) {
    let (dead, q) = dead_and_source(&b, 1).await;
    q.send("a").await;
    let old = q.claim_one().await;
    q.nack(&old).await.unwrap();
    for settlement in [Settlement::Ack, NACK, Settlement::DeadLetter { reason: None }] {
        refused(q.settle(&old, settlement).await, ErrorKind::MessageGone);
    }
    refused(q.extend(&old, s(30)).await, ErrorKind::MessageGone);
    let new = dead.claim_one().await;
    assert!(new.receipt.fence > old.receipt.fence, "also over queues (S3.2)");
    refused(q.ack(&old).await, ErrorKind::MessageGone);
    dead.holds(0, 0, 1, 0).await;
}

async fn a_message_is_in_exactly_one_of_the_two_queues(b: Bench) {
    let (dead, q) = dead_and_source(&b, 2).await;
    q.send_all((0..10).map(|n| n.to_string())).await;
    for _ in 0..30 {
        for delivery in q.claim(3).await {
            q.nack(&delivery).await.unwrap();
        }
        let total = q.stats().await.total() + dead.stats().await.total();
        assert_eq!(total, 10);
    }
    dead.holds(10, 0, 0, 0).await;
    assert_eq!(dead.drain().await, (0..10).map(|n| n.to_string()).collect::<Vec<_>>());
}

async fn dead_letters_of_a_batch_leave_their_neighbours(b: Bench) {
    let (dead, q) = dead_and_source(&b, 1).await;
    q.send_all(["a", "b", "c", "d"]).await;
    let mut taken = Vec::new();
    for _ in 0..4 {
        taken.push(q.claim_one().await);
    }
    let hows =
        [Settlement::HandBack, Settlement::DeadLetter { reason: None }, Settlement::Ack, NACK];
    let mut entries: Vec<_> = taken.iter().zip(hows).map(|(d, how)| (d.receipt, how)).collect();
    entries.push((taken[1].receipt, Settlement::Ack));
    let answers = q.settle_all(entries).await;
    assert_eq!(*answers[0].as_ref().unwrap(), Settled::Ready);
    assert_eq!(*answers[1].as_ref().unwrap(), Settled::DeadLettered(dead.id));
    assert_eq!(*answers[2].as_ref().unwrap(), Settled::Done);
    assert_eq!(*answers[3].as_ref().unwrap(), Settled::DeadLettered(dead.id));
    refused(answers[4].clone(), ErrorKind::MessageGone);
    q.holds(1, 0, 0, 0).await;
    assert_eq!(dead.peek(MessageState::Ready).await, ["b", "d"]);
}

async fn a_dead_letter_queue_may_have_one_itself(b: Bench) {
    let last = b.plain().await;
    let middle = b.source_of(&last, 1).await;
    let first = b.source_of(&middle, 1).await;
    first.send("a").await;
    let delivery = first.claim_one().await;
    first.nack(&delivery).await.unwrap();
    let delivery = middle.claim_one().await;
    assert_eq!(delivery.message.dead_letter_source, Some(first.info.name.clone()));
    assert_eq!(middle.nack(&delivery).await.unwrap(), Settled::DeadLettered(last.id));
    let seen = last.only(MessageState::Ready).await.message;
    assert_eq!(seen.dead_letter_source, Some(middle.info.name.clone()));
}

async fn a_last_nack_with_a_delay_is_not_delayed(b: Bench) {
    let (dead, q) = dead_and_source(&b, 1).await;
    q.send("a").await;
    let delivery = q.claim_one().await;
    let answer = q.nack_for(&delivery, s(100)).await.unwrap();
    assert_eq!(answer, Settled::DeadLettered(dead.id));
    dead.holds(1, 0, 0, 0).await;
}

async fn a_lower_limit_counts_for_messages_already_tried(b: Bench) {
    let (dead, q) = dead_and_source(&b, 10).await;
    q.send_all(["a", "b"]).await;
    for _ in 0..3 {
        let delivery = q.claim_one().await;
        q.nack(&delivery).await.unwrap();
    }
    let mut lower = q.info.settings.clone();
    lower.max_attempts = Some(2);
    q.configure(&lower).await.unwrap();
    // Over the limit already, it is still owed the delivery that its last failure promised.
    let delivery = q.claim(5).await;
    assert_eq!(delivery.len(), 1, "its last try is alone");
    assert_eq!(q.nack(&delivery[0]).await.unwrap(), Settled::DeadLettered(dead.id));
    assert_eq!(q.take(5).await, ["b"]);
}

async fn many_lapses_at_once_all_find_their_dead_letter_queue(b: Bench) {
    let (dead, q) = dead_and_source(&b, 1).await;
    q.send_all((0..300).map(|n| n.to_string())).await;
    let sizes = vec![1; 300];
    assert!(q.claim_many(&sizes).await.deliveries.iter().all(|list| list.len() == 1));
    b.pass(s(30)).await;
    q.holds(0, 0, 0, 0).await;
    dead.holds(300, 0, 0, 0).await;
    assert_eq!(dead.drain().await, (0..300).map(|n| n.to_string()).collect::<Vec<_>>());
}

async fn dead_letters_of_two_queues_meet_in_one(b: Bench) {
    let dead = b.plain().await;
    let sources = [b.source_of(&dead, 1).await, b.source_of(&dead, 1).await];
    for (nth, body) in ["a", "b", "c", "d"].into_iter().enumerate() {
        let q = &sources[nth % 2];
        q.send(body).await;
        let delivery = q.claim_one().await;
        q.nack(&delivery).await.unwrap();
    }
    let seen = dead.peek_full(Some(MessageState::Ready), 10).await;
    let came_from: Vec<_> =
        seen.iter().map(|peeked| peeked.message.dead_letter_source.clone().unwrap()).collect();
    let [one, two] = sources.map(|q| q.info.name);
    assert_eq!(came_from, [one.clone(), two.clone(), one, two]);
}
