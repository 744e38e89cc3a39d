//! Redrive of chosen messages, answered one by one.

use slipring::{ChosenMove, Error, ErrorKind, MessageId, MessageState, QueueId};

use crate::bench::{Bench, QueueBench, START, m, refused, s, settings};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(chosen_messages_go_back_and_the_others_stay, "S6.7", "S6.4"),
    case!(chosen_messages_go_to_a_named_queue_from_wherever_they_stand, "S6.7"),
    case!(a_chosen_message_is_answered_why_it_stays, "S6.7", "S9.3"),
    case!(a_chosen_message_without_a_way_back_stays, "S6.7"),
    case!(a_chosen_message_named_twice_moves_once, "S6.7"),
    case!(as_many_chosen_messages_as_one_call_takes_are_moved, "S6.7", "S12.4"),
    case!(chosen_messages_of_a_fifo_queue_leave_their_groups_in_order, "S6.7", "S7.3"),
    case!(a_message_moved_to_a_fifo_queue_stands_where_its_sending_puts_it, "S6.7", "S7.7"),
    case!(a_move_of_chosen_messages_survives_a_restart, needs Durable, "S6.7", "S6.3"),
    case!(chosen_messages_need_two_queues_that_are_there, "S6.7"),
];

type Answers = Vec<Result<QueueId, Error>>;

async fn choose(
    b: &Bench,
    source: &QueueBench,
    target: Option<&QueueBench>,
    messages: &[MessageId],
) -> Answers {
    let (target, messages) = (target.map(|to| to.id), messages.to_vec());
    let request = ChosenMove { source: source.id, target, messages };
    let answers = b.store().move_chosen(&request, b.now()).await.expect("the call is taken");
    assert_eq!(answers.len(), request.messages.len(), "there is an answer for each message");
    answers
}

fn kinds(answers: &Answers) -> Vec<Result<QueueId, ErrorKind>> {
    answers.iter().map(|answer| answer.as_ref().copied().map_err(Error::kind)).collect()
}

/// Dead letters of a queue with one attempt: their numbers.
async fn dead_letters(source: &QueueBench, texts: &[&str]) -> Vec<MessageId> {
    let ids = source.send_all(texts.iter().copied()).await;
    for _ in texts {
        let delivery = source.claim_one().await;
        source.nack(&delivery).await.unwrap();
    }
    ids
}

async fn chosen_messages_go_back_and_the_others_stay(b: Bench) {
    let dead = b.plain().await;
    let (one, two) = (b.source_of(&dead, 1).await, b.source_of(&dead, 1).await);
    let of_one = dead_letters(&one, &["a", "b", "c"]).await;
    let of_two = dead_letters(&two, &["d", "e"]).await;
    let answers = choose(&b, &dead, None, &[of_two[1], of_one[2], of_one[0]]).await;
    assert_eq!(kinds(&answers), [Ok(two.id), Ok(one.id), Ok(one.id)]);
    assert_eq!(dead.peek(MessageState::Ready).await, ["b", "d"]);
    let back = one.claim_one().await.message;
    assert_eq!((back.id, back.attempts, back.sent_at), (of_one[0], 1, START));
    assert_eq!((back.dead_letter_source, back.earlier_attempts), (None, 0));
    assert_eq!(one.drain().await, ["c"]);
    assert_eq!(two.drain().await, ["e"]);
}

async fn chosen_messages_go_to_a_named_queue_from_wherever_they_stand(b: Bench) {
    let (source, target) = (b.plain().await, b.plain().await);
    let ids = source.send_all(["parked", "back", "a", "b", "c", "d"]).await;
    let parked = source.claim_one().await;
    source.park(&parked).await.unwrap();
    let back = source.claim_one().await;
    source.nack_for(&back, s(0)).await.unwrap();
    let answers = choose(&b, &source, Some(&target), &[ids[4], ids[0], ids[1], ids[3]]).await;
    assert_eq!(kinds(&answers), [Ok(target.id); 4]);
    source.holds(2, 0, 0, 0).await;
    target.holds(4, 0, 0, 0).await;
    assert_eq!(source.drain().await, ["a", "d"]);
    assert_eq!(target.stats().await.bytes, 12);
    assert_eq!(target.drain().await, ["parked", "back", "b", "c"]);
}

async fn a_chosen_message_is_answered_why_it_stays(b: Bench) {
    let (source, target) = (b.plain().await, b.plain().await);
    let first = source.send("first in hand").await;
    let held = source.claim_one().await;
    let again = source.send("again in hand").await;
    let given = source.claim_one().await;
    source.nack_for(&given, s(0)).await.unwrap();
    source.claim_message(again).await.unwrap();
    let delayed = source.send(m("delayed").delay(s(9))).await;
    let elsewhere = target.send("elsewhere").await;
    let gone = source.send("gone").await;
    b.cancel(gone).await.unwrap();
    let ready = source.send("ready").await;
    let chosen = [first, again, delayed, elsewhere, gone, MessageId(u64::MAX), ready];
    let answers = choose(&b, &source, Some(&target), &chosen).await;
    let (state, left) = (Err(ErrorKind::WrongState), Err(ErrorKind::MessageGone));
    assert_eq!(kinds(&answers), [state, state, state, left, left, left, Ok(target.id)]);
    let says = ["leased", "leased", "delayed", "not in the queue"];
    for ((answer, says), id) in answers.iter().zip(says).zip(chosen) {
        let error = answer.as_ref().unwrap_err();
        assert!(error.message().contains(says), "{error}");
        assert!(error.context().contains(&("message", id.to_string())), "{error}");
    }
    source.holds(0, 1, 2, 0).await;
    source.ack(&held).await.unwrap();
    assert_eq!(target.drain().await, ["elsewhere", "ready"]);
}

async fn a_chosen_message_without_a_way_back_stays(b: Bench) {
    let dead = b.plain().await;
    let q = b.source_of(&dead, 1).await;
    let own = dead.send("own").await;
    let tried = dead.send("own, tried").await;
    for delivery in dead.claim(2).await {
        if delivery.message.id == tried {
            dead.nack_for(&delivery, s(0)).await.unwrap();
        } else {
            dead.settle(&delivery, slipring::lifecycle::Settlement::HandBack).await.unwrap();
        }
    }
    let fresh = dead.send("never tried").await;
    let lost = dead_letters(&q, &["a"]).await[0];
    b.store().delete_queue(q.id).await.unwrap();
    let answers = choose(&b, &dead, None, &[own, tried, fresh, lost]).await;
    assert_eq!(kinds(&answers), [Err(ErrorKind::QueueNotFound); 4]);
    let error = answers[3].as_ref().unwrap_err();
    assert!(error.message().contains(q.info.name.as_str()), "{error}");
    dead.holds(4, 0, 0, 0).await;
}

async fn a_chosen_message_named_twice_moves_once(b: Bench) {
    let (source, target) = (b.plain().await, b.plain().await);
    let id = source.send("a").await;
    let answers = choose(&b, &source, Some(&target), &[id, id]).await;
    assert_eq!(kinds(&answers), [Ok(target.id), Err(ErrorKind::MessageGone)]);
    target.holds(1, 0, 0, 0).await;
    let answers = choose(&b, &target, None, &[id, id]).await;
    assert_eq!(kinds(&answers), [Err(ErrorKind::QueueNotFound); 2], "it has no way back");
    assert!(choose(&b, &source, Some(&target), &[]).await.is_empty());
}

async fn as_many_chosen_messages_as_one_call_takes_are_moved(b: Bench) {
    let (source, target) = (b.plain().await, b.plain().await);
    // More than a step of bytes.
    let texts: Vec<String> = (0..1000).map(|n| format!("{n:04000}")).collect();
    let ids = source.send_all(texts.iter().map(String::as_str)).await;
    for delivery in source.claim(500).await {
        source.nack_for(&delivery, s(0)).await.unwrap();
    }
    let mut mixed: Vec<MessageId> = ids.iter().copied().skip(1).step_by(2).collect();
    mixed.extend(ids.iter().copied().step_by(2).rev());
    let answers = choose(&b, &source, Some(&target), &mixed).await;
    assert!(answers.iter().all(|answer| answer.as_ref().ok() == Some(&target.id)));
    source.holds(0, 0, 0, 0).await;
    assert!(target.drain().await == texts, "all have moved, in their order");
}

async fn chosen_messages_of_a_fifo_queue_leave_their_groups_in_order(b: Bench) {
    let fifo = || crate::bench::settings(|settings| settings.fifo = true);
    let (source, target) = (b.queue(fifo()).await, b.queue(fifo()).await);
    let sends = ["a1", "b1", "a2", "b2", "a3"].map(|text| m(text).group(&text[..1]));
    let ids = source.send_all(sends).await;
    let answers = choose(&b, &source, Some(&target), &[ids[2], ids[0], ids[3]]).await;
    assert_eq!(kinds(&answers), [Ok(target.id); 3]);
    assert_eq!(source.take(5).await, ["b1", "a3"]);
    assert_eq!(target.take(5).await, ["a1", "a2", "b2"]);
}

async fn a_message_moved_to_a_fifo_queue_stands_where_its_sending_puts_it(b: Bench) {
    let fifo = b.queue(settings(|to| to.fifo = true)).await;
    let plain = b.plain().await;
    fifo.send(m("a").group("a")).await;
    let moved = plain.send(m("b").group("b")).await;
    let served = fifo.claim_one().await;
    let answers = choose(&b, &plain, Some(&fifo), &[moved]).await;
    assert_eq!(kinds(&answers), [Ok(fifo.id)]);
    fifo.nack(&served).await.unwrap();
    assert_eq!(fifo.take(10).await, ["b", "a"], "sent before the other group was served");
}

async fn a_move_of_chosen_messages_survives_a_restart(b: Bench) {
    let dead = b.plain().await;
    let q = b.source_of(&dead, 1).await;
    let ids = dead_letters(&q, &["a", "b", "c"]).await;
    choose(&b, &dead, None, &ids[1..2]).await;
    b.reopen().await;
    assert_eq!(dead.peek(MessageState::Ready).await, ["a", "c"]);
    assert_eq!(q.peek(MessageState::Ready).await, ["b"]);
    assert_eq!(kinds(&choose(&b, &dead, None, &ids[..2]).await)[0], Ok(q.id));
    assert_eq!(q.drain().await, ["a", "b"]);
}

async fn chosen_messages_need_two_queues_that_are_there(b: Bench) {
    let q = b.plain().await;
    let messages = vec![q.send("a").await];
    let missing = QueueId(q.id.0 + 99);
    for (source, target) in [(missing, Some(q.id)), (q.id, Some(missing)), (missing, None)] {
        let request = ChosenMove { source, target, messages: messages.clone() };
        let answer = b.store().move_chosen(&request, b.now()).await;
        refused(answer, ErrorKind::QueueNotFound);
    }
    let request = ChosenMove { source: q.id, target: Some(q.id), messages };
    let error = refused(b.store().move_chosen(&request, b.now()).await, ErrorKind::Invalid);
    assert!(error.context().contains(&("queue", q.info.name.to_string())), "{error}");
    q.holds(1, 0, 0, 0).await;
}
