//! Why deliveries failed: what is kept of a message, where it goes, and when it is gone.

use slipring::failures::FAILURES_MAX;
use slipring::lifecycle::Settlement;
use slipring::{EndedBy, ErrorKind, FailedAttempt, MessageId, MessageState, Reason};

use crate::bench::{Bench, NACK, QueueBench, m, refused, s, settings};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(the_reason_of_a_nack_is_kept_and_shown, "S6.8"),
    case!(a_failure_without_a_reason_keeps_nothing, "S6.8"),
    case!(from_the_first_reason_on_every_failure_is_kept_with_what_ended_it, "S6.8"),
    case!(the_last_five_failures_are_kept, "S6.8"),
    case!(reasons_go_to_the_dead_letter_queue_and_back, "S6.8", "S6.4"),
    case!(who_gives_up_says_why, "S6.8"),
    case!(a_lapse_that_is_the_last_try_takes_the_reasons_along, "S6.8", "S6.2"),
    case!(a_hand_back_and_an_ack_are_no_failures, "S6.8", "S2.3"),
    case!(a_refused_nack_keeps_no_reason, "S6.8", "S3.3"),
    case!(reasons_stay_with_a_message_whatever_is_done_to_it, "S6.8"),
    case!(each_entry_of_a_batch_has_its_own_reason, "S6.8", "S9.3"),
    case!(a_long_reason_is_kept_cut, "S6.8"),
    case!(reasons_of_a_fifo_queue_are_kept, "S6.8"),
    case!(reasons_are_there_after_a_restart, needs Durable, "S6.8", "S1.3"),
];

fn because(reason: &str) -> Settlement {
    let (delay, reason) = (Some(s(0)), Some(Reason::new(reason)));
    Settlement::Nack { delay, priority: None, reason }
}

/// Receives the one message that is ready, and fails.
async fn fail(q: &QueueBench, reason: &str) {
    let delivery = q.claim_one().await;
    q.settle(&delivery, because(reason)).await.unwrap();
}

type Shown = (u32, EndedBy, Option<String>);

fn shown(failures: &[FailedAttempt]) -> Vec<Shown> {
    let text = |reason: &Reason| reason.as_str().to_owned();
    failures.iter().map(|one| (one.attempt, one.ended_by, one.reason.as_ref().map(text))).collect()
}

fn nack(attempt: u32, reason: &str) -> Shown {
    (attempt, EndedBy::Nack, Some(reason.to_owned()))
}

/// What is kept of a message; a peek and a look-up say the same.
async fn kept(b: &Bench, q: &QueueBench, id: MessageId) -> Vec<Shown> {
    let looked_up = b.lookup(id).await.expect("the message is there").failures;
    let seen = q.peek_full(None, 1000).await;
    let seen = seen.into_iter().find(|one| one.message.id == id).expect("the queue shows it");
    assert_eq!(seen.failures, looked_up);
    shown(&looked_up)
}

async fn the_reason_of_a_nack_is_kept_and_shown(b: Bench) {
    let q = b.plain().await;
    let ids = q.send_all(["a", "b"]).await;
    b.advance(s(3));
    fail(&q, "no such host: \"db\" \u{1F4A5}\n").await;
    assert_eq!(kept(&b, &q, ids[0]).await, [nack(1, "no such host: \"db\" \u{1F4A5}\n")]);
    assert_eq!(b.lookup(ids[0]).await.unwrap().failures[0].at, b.now());
    assert_eq!(kept(&b, &q, ids[1]).await, []);
    b.advance(s(3));
    fail(&q, "").await;
    assert_eq!(kept(&b, &q, ids[0]).await[1..], [nack(2, "")]);
    let failures = b.lookup(ids[0]).await.unwrap().failures;
    assert_eq!((failures[0].at.after(s(3)), failures[1].at), (b.now(), b.now()));
}

async fn a_failure_without_a_reason_keeps_nothing(b: Bench) {
    let q = b.plain().await;
    let id = q.send("a").await;
    for _ in 0..2 {
        let delivery = q.claim_one().await;
        q.nack_for(&delivery, s(0)).await.unwrap();
        let _lapses = q.claim_one_for(s(1)).await;
        b.pass(s(2)).await;
    }
    assert_eq!(kept(&b, &q, id).await, []);
}

async fn from_the_first_reason_on_every_failure_is_kept_with_what_ended_it(b: Bench) {
    let q = b.plain().await;
    let id = q.send("a").await;
    let delivery = q.claim_one().await;
    q.nack_for(&delivery, s(0)).await.unwrap();
    fail(&q, "broken").await;
    let _lapses = q.claim_one_for(s(1)).await;
    b.pass(s(2)).await;
    let parked = q.claim_one().await;
    q.park(&parked).await.unwrap();
    q.kick(1).await;
    let silent = q.claim_one().await;
    q.nack_for(&silent, s(0)).await.unwrap();
    let given_up = q.claim_one().await;
    q.settle(&given_up, Settlement::DeadLetter { reason: None }).await.unwrap();
    let wanted = [
        nack(2, "broken"),
        (3, EndedBy::Lapse, None),
        (4, EndedBy::Park, None),
        (5, EndedBy::Nack, None),
        (6, EndedBy::DeadLetter, None),
    ];
    assert_eq!(kept(&b, &q, id).await, wanted);
}

async fn the_last_five_failures_are_kept(b: Bench) {
    let q = b.plain().await;
    let id = q.send("a").await;
    for attempt in 1..=8 {
        fail(&q, &format!("{attempt} {}", "x".repeat(4000))).await;
    }
    let kept = kept(&b, &q, id).await;
    let attempts: Vec<u32> = kept.iter().map(|(attempt, ..)| *attempt).collect();
    assert_eq!((attempts, kept.len()), (vec![4, 5, 6, 7, 8], FAILURES_MAX));
    for (attempt, _, reason) in kept {
        assert_eq!(reason, Some(format!("{attempt} {}", "x".repeat(4000))));
    }
}

async fn reasons_go_to_the_dead_letter_queue_and_back(b: Bench) {
    let dead = b.plain().await;
    let (once, twice) = (b.source_of(&dead, 1).await, b.source_of(&dead, 2).await);
    let first = once.send("first try").await;
    fail(&once, "at once").await;
    let second = twice.send("second try").await;
    fail(&twice, "one").await;
    fail(&twice, "two").await;
    assert_eq!(kept(&b, &dead, first).await, [nack(1, "at once")]);
    assert_eq!(kept(&b, &dead, second).await, [nack(1, "one"), nack(2, "two")]);
    for _ in 0..2 {
        fail(&dead, "here too").await;
    }
    assert_eq!(kept(&b, &dead, first).await.len(), 3);
    let request = slipring::MoveRequest { source: dead.id, target: None, limit: 10 };
    while !b.store().move_messages(request, b.now()).await.unwrap().is_empty() {}
    let wanted = [nack(1, "at once"), nack(1, "here too"), nack(2, "here too")];
    assert_eq!(kept(&b, &once, first).await, wanted);
    fail(&twice, "again").await;
    assert_eq!(kept(&b, &twice, second).await, [nack(1, "one"), nack(2, "two"), nack(1, "again")]);
}

async fn who_gives_up_says_why(b: Bench) {
    let dead = b.plain().await;
    let (q, alone) = (b.source_of(&dead, 9).await, b.plain().await);
    let because = || Settlement::DeadLetter { reason: Some(Reason::new("no such user")) };
    for (from, to, state) in
        [(&q, &dead, MessageState::Ready), (&alone, &alone, MessageState::Parked)]
    {
        let id = from.send("a").await;
        let delivery = from.claim_one().await;
        from.settle(&delivery, because()).await.unwrap();
        let wanted = (1, EndedBy::DeadLetter, Some("no such user".to_owned()));
        assert_eq!(kept(&b, to, id).await, [wanted]);
        assert_eq!(b.lookup(id).await.unwrap().state, state);
    }
}

async fn a_lapse_that_is_the_last_try_takes_the_reasons_along(b: Bench) {
    let dead = b.plain().await;
    let (q, parks) = (b.source_of(&dead, 2).await, settings(|s| s.max_attempts = Some(2)));
    let parks = b.queue(parks).await;
    for (from, to) in [(&q, &dead), (&parks, &parks)] {
        let id = from.send("a").await;
        fail(from, "slow").await;
        let _lapses = from.claim_one_for(s(1)).await;
        b.pass(s(2)).await;
        assert_eq!(kept(&b, to, id).await, [nack(1, "slow"), (2, EndedBy::Lapse, None)]);
    }
}

async fn a_hand_back_and_an_ack_are_no_failures(b: Bench) {
    let q = b.plain().await;
    let id = q.send("a").await;
    fail(&q, "once").await;
    let delivery = q.claim_one().await;
    q.settle(&delivery, Settlement::HandBack).await.unwrap();
    assert_eq!(kept(&b, &q, id).await, [nack(1, "once")]);
    let delivery = q.claim_one().await;
    q.ack(&delivery).await.unwrap();
    assert!(b.lookup(id).await.is_none());
}

async fn a_refused_nack_keeps_no_reason(b: Bench) {
    let q = b.plain().await;
    let id = q.send("a").await;
    let late = q.claim_one_for(s(1)).await;
    b.pass(s(2)).await;
    let now = q.claim_one().await;
    refused(q.settle(&late, because("late")).await, ErrorKind::LeaseLost);
    assert_eq!(kept(&b, &q, id).await, []);
    let entries = vec![(now.receipt, because("first")), (now.receipt, because("second"))];
    let answers = q.settle_all(entries).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
    assert_eq!(kept(&b, &q, id).await, [nack(2, "first")]);
    refused(q.settle(&now, because("gone by")).await, ErrorKind::LeaseLost);
    assert_eq!(kept(&b, &q, id).await, [nack(2, "first")]);
}

async fn reasons_stay_with_a_message_whatever_is_done_to_it(b: Bench) {
    let q = b.plain().await;
    let id = q.send(m("a").priority(7)).await;
    fail(&q, "why").await;
    let wanted = [nack(1, "why")];
    let delivery = q.claim_one().await;
    assert_eq!(kept(&b, &q, id).await, wanted);
    q.extend(&delivery, s(90)).await.unwrap();
    assert_eq!(kept(&b, &q, id).await, wanted);
    let (delay, reason) = (Some(s(5)), Some("then".into()));
    let later = Settlement::Nack { delay, priority: Some(slipring::Priority(3)), reason };
    q.settle(&delivery, later).await.unwrap();
    let wanted = [nack(1, "why"), nack(2, "then")];
    assert_eq!(kept(&b, &q, id).await, wanted);
    b.kick_message(id).await.unwrap();
    assert_eq!(kept(&b, &q, id).await, wanted);
    q.claim_message(id).await.unwrap();
    assert_eq!(kept(&b, &q, id).await, wanted);
    b.pass(s(3600)).await;
    let to = b.plain().await;
    let request = slipring::ChosenMove { source: q.id, target: Some(to.id), messages: vec![id] };
    b.store().move_chosen(&request, b.now()).await.unwrap()[0].as_ref().unwrap();
    assert_eq!(kept(&b, &to, id).await[..2], wanted);
    assert_eq!(to.purge(10).await, 1);
    assert!(b.lookup(id).await.is_none());
}

async fn each_entry_of_a_batch_has_its_own_reason(b: Bench) {
    let q = b.plain().await;
    let ids = q.send_all((0..8).map(|n| n.to_string())).await;
    fail(&q, "before").await;
    let held = q.claim(8).await;
    assert_eq!(held.len(), 8);
    let how = |delivery: &slipring::Delivery| match delivery.message.id {
        id if id == ids[0] => NACK,
        id if id == ids[2] => because("two"),
        id if id == ids[3] => NACK,
        id if id == ids[5] => because("five"),
        _ => Settlement::Ack,
    };
    let entries = held.iter().map(|delivery| (delivery.receipt, how(delivery))).collect();
    assert!(q.settle_all(entries).await.iter().all(Result::is_ok));
    assert_eq!(kept(&b, &q, ids[0]).await, [nack(1, "before"), (2, EndedBy::Nack, None)]);
    assert_eq!(kept(&b, &q, ids[2]).await, [nack(1, "two")]);
    assert_eq!(kept(&b, &q, ids[3]).await, []);
    assert_eq!(kept(&b, &q, ids[5]).await, [nack(1, "five")]);
    q.holds(4, 0, 0, 0).await;
}

async fn a_long_reason_is_kept_cut(b: Bench) {
    let q = b.plain().await;
    let id = q.send("a").await;
    let long = "a\0ü".repeat(3000);
    fail(&q, &long).await;
    let [(1, EndedBy::Nack, Some(text))] = &kept(&b, &q, id).await[..] else {
        panic!("it is kept");
    };
    assert_eq!(text, Reason::new(&long).as_str());
    assert!(text.ends_with('…') && text.len() <= 4096 && text.len() > 4090);
}

async fn reasons_of_a_fifo_queue_are_kept(b: Bench) {
    let dead = b.queue(settings(|s| s.fifo = true)).await;
    let q = settings(|s| {
        s.fifo = true;
        s.max_attempts = Some(2);
        s.dead_letter = Some(dead.info.name.clone());
    });
    let q = b.queue(q).await;
    let ids = q.send_all([m("a1").group("a"), m("a2").group("a"), m("b1").group("b")]).await;
    fail(&q, "one").await;
    assert_eq!(kept(&b, &q, ids[0]).await, [nack(1, "one")]);
    let held = q.claim_message(ids[0]).await.unwrap();
    q.settle(&held, because("two")).await.unwrap();
    assert_eq!(kept(&b, &dead, ids[0]).await, [nack(1, "one"), nack(2, "two")]);
    assert_eq!(kept(&b, &q, ids[1]).await, []);
}

async fn reasons_are_there_after_a_restart(b: Bench) {
    let dead = b.plain().await;
    let q = b.source_of(&dead, 2).await;
    let ids = q.send_all(["a", "b"]).await;
    fail(&q, "one").await;
    b.reopen().await;
    assert_eq!(kept(&b, &q, ids[0]).await, [nack(1, "one")]);
    fail(&q, "two").await;
    b.reopen().await;
    assert_eq!(kept(&b, &dead, ids[0]).await, [nack(1, "one"), nack(2, "two")]);
    assert_eq!(kept(&b, &q, ids[1]).await, []);
}
