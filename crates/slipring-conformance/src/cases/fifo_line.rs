//! The line of groups of a FIFO queue: which group a receive takes from first (S7.7), and failed
//! messages among others (S11.3).

use slipring::lifecycle::Settlement;
use slipring::{MessageState, MoveRequest, NewMessage};

use crate::bench::{Bench, NACK, QueueBench, bodies, m, s, settings};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(a_receive_takes_all_of_one_group_before_the_next, "S7.7"),
    case!(a_new_group_stands_at_the_back, "S7.7"),
    case!(a_group_that_was_served_stands_behind_the_others, "S7.7"),
    case!(a_group_that_fails_all_the_time_leaves_the_others_their_turns, "S7.7", "S11.1"),
    case!(groups_served_together_come_back_in_that_order, "S7.7"),
    case!(a_group_that_gave_nothing_keeps_its_place, "S7.7"),
    case!(groups_whose_delays_end_behind_a_served_one_all_come, "S2.4", "S7.7"),
    case!(a_group_that_was_empty_is_a_new_one, "S7.7"),
    case!(a_cancelled_first_message_gives_up_its_place, "S7.7"),
    case!(a_kicked_message_brings_its_group_back_to_its_old_place, "S7.2", "S7.7"),
    case!(a_parked_first_message_leaves_its_group_in_its_place, "S7.2", "S7.7"),
    case!(a_dead_letter_leaves_its_group_in_its_place, "S7.2", "S7.7"),
    case!(a_group_whose_next_message_is_far_behind_keeps_its_place, "S7.7"),
    case!(a_group_of_which_all_was_parked_is_a_new_one_beside_a_delay, "S7.7"),
    case!(the_head_of_a_queue_is_that_of_the_first_group, "S7.6", "S7.7"),
    case!(failed_messages_are_given_beside_others, "S11.3"),
    case!(the_last_try_of_a_message_is_alone, "S11.3"),
    case!(a_last_try_further_back_leaves_its_group_for_this_time, "S11.3"),
    case!(a_receive_looks_at_as_many_groups_as_it_wants_messages, "S7.7", "S11.3"),
    case!(the_line_is_the_same_after_a_restart, needs Durable, "S7.7"),
];

async fn fifo(b: &Bench) -> QueueBench {
    b.queue(settings(|to| to.fifo = true)).await
}

/// A message whose text begins with its group.
fn g(body: &str) -> NewMessage {
    m(body).group(&body[..1])
}

async fn a_receive_takes_all_of_one_group_before_the_next(b: Bench) {
    let q = fifo(&b).await;
    q.send_all(["a1", "b1", "a2", "a3"].map(g)).await;
    assert_eq!(q.take(10).await, ["a1", "a2", "a3", "b1"]);
    let q = fifo(&b).await;
    q.send_all(["a1", "b1", "a2", "b2", "c1"].map(g)).await;
    assert_eq!(q.take(3).await, ["a1", "a2", "b1"]);
    assert_eq!(q.take(3).await, ["c1"]);
}

async fn a_new_group_stands_at_the_back(b: Bench) {
    let q = fifo(&b).await;
    q.send_all(["b1", "c1"].map(g)).await;
    q.send(g("a1")).await;
    q.send(g("c2")).await;
    assert_eq!(q.take(10).await, ["b1", "c1", "c2", "a1"]);
}

async fn a_group_that_was_served_stands_behind_the_others(b: Bench) {
    let q = fifo(&b).await;
    q.send_all(["a1", "b1", "c1", "a2"].map(g)).await;
    assert_eq!(q.take(3).await, ["a1", "a2", "b1"]);
    b.pass(s(30)).await;
    assert_eq!(q.take(10).await, ["c1", "a1", "a2", "b1"]);
}

async fn a_group_that_fails_all_the_time_leaves_the_others_their_turns(b: Bench) {
    let q = fifo(&b).await;
    q.send_all(["a1", "b1", "c1"].map(g)).await;
    let mut seen = Vec::new();
    for _ in 0..6 {
        let taken = q.claim_one().await;
        seen.extend(bodies(std::slice::from_ref(&taken)));
        q.nack(&taken).await.unwrap();
    }
    assert_eq!(seen, ["a1", "b1", "c1", "a1", "b1", "c1"]);
}

async fn groups_served_together_come_back_in_that_order(b: Bench) {
    let q = fifo(&b).await;
    q.send_all(["z1", "a1", "m1", "z2"].map(g)).await;
    let taken = q.claim(10).await;
    assert_eq!(bodies(&taken), ["z1", "z2", "a1", "m1"]);
    for delivery in taken.iter().rev() {
        q.nack(delivery).await.unwrap();
    }
    assert_eq!(q.take(10).await, ["z1", "z2", "a1", "m1"]);
}

async fn a_group_that_gave_nothing_keeps_its_place(b: Bench) {
    let q = fifo(&b).await;
    q.send_all([g("a1").delay(s(10)), g("b1"), g("c1")]).await;
    assert_eq!(q.take(1).await, ["b1"]);
    b.pass(s(10)).await;
    assert_eq!(q.take(1).await, ["a1"]);
    assert_eq!(q.take(1).await, ["c1"]);
}

async fn groups_whose_delays_end_behind_a_served_one_all_come(b: Bench) {
    let q = fifo(&b).await;
    q.send_all([g("a1").delay(s(1)), g("b1").delay(s(1)), g("c1").delay(s(1))]).await;
    q.send(g("d1")).await;
    assert_eq!(q.take(1).await, ["d1"]);
    b.pass(s(1)).await;
    for body in ["a1", "b1", "c1"] {
        assert_eq!(q.take(1).await, [body]);
    }
}

async fn a_group_that_was_empty_is_a_new_one(b: Bench) {
    let q = fifo(&b).await;
    q.send_all(["a1", "a2", "b1"].map(g)).await;
    for delivery in q.claim(2).await {
        q.ack(&delivery).await.unwrap();
    }
    q.send_all(["a3", "c1"].map(g)).await;
    assert_eq!(q.take(10).await, ["b1", "a3", "c1"]);
}

async fn a_cancelled_first_message_gives_up_its_place(b: Bench) {
    let q = fifo(&b).await;
    let ids = q.send_all(["a1", "b1", "a2"].map(g)).await;
    b.cancel(ids[0]).await.unwrap();
    assert_eq!(q.take(10).await, ["b1", "a2"]);
}

async fn a_kicked_message_brings_its_group_back_to_its_old_place(b: Bench) {
    let q = fifo(&b).await;
    q.send_all(["a1", "b1"].map(g)).await;
    let first = q.claim_one().await;
    q.park(&first).await.unwrap();
    assert_eq!(q.kick(1).await, 1);
    assert_eq!(q.take(10).await, ["a1", "b1"]);
}

/// The ways in which a parked message becomes ready.
#[derive(Clone, Copy)]
enum Back {
    Kicked,
    KickedAlone,
    Claimed,
}

async fn a_parked_first_message_leaves_its_group_in_its_place(b: Bench) {
    // Whether the group had another message while its first was parked decides.
    let ways = [("a2", ["b1", "a1", "a2"]), ("b2", ["a1", "b1", "b2"])];
    for (next, in_line) in ways {
        for back in [Back::Kicked, Back::KickedAlone, Back::Claimed] {
            let q = fifo(&b).await;
            let ids = q.send_all(["a1", "b1"].map(g)).await;
            let first = q.claim_one().await;
            q.send(g(next)).await;
            q.park(&first).await.unwrap();
            match back {
                Back::Kicked => assert_eq!(q.kick(1).await, 1),
                Back::KickedAlone => drop(b.kick_message(ids[0]).await.unwrap()),
                Back::Claimed => {
                    let again = q.claim_message(ids[0]).await.unwrap();
                    q.settle(&again, Settlement::HandBack).await.unwrap();
                }
            }
            assert_eq!(q.take(10).await, in_line);
        }
    }
}

async fn a_dead_letter_leaves_its_group_in_its_place(b: Bench) {
    for (next, in_line) in [("a2", ["b1", "a1", "a2"]), ("b2", ["a1", "b1", "b2"])] {
        let dead = b.plain().await;
        let q = b
            .queue(settings(|to| {
                to.fifo = true;
                to.max_attempts = Some(1);
                to.dead_letter = Some(dead.info.name.clone());
            }))
            .await;
        q.send_all(["a1", "b1"].map(g)).await;
        let first = q.claim_one().await;
        q.send(g(next)).await;
        q.nack(&first).await.unwrap();
        let redrive = MoveRequest { source: dead.id, target: None, limit: 1 };
        let moved = b.store().move_messages(redrive, b.now()).await.unwrap();
        assert_eq!(moved, [(q.id, 1)]);
        assert_eq!(q.take(10).await, in_line);
    }
}

async fn a_group_whose_next_message_is_far_behind_keeps_its_place(b: Bench) {
    let q = fifo(&b).await;
    q.send_all(["b1", "a1"].map(g)).await;
    q.send_all((0..2000).map(|_| g("b2"))).await;
    q.send(g("a2")).await;
    let (first, second) = (q.claim_one().await, q.claim_one().await);
    assert_eq!(bodies(&[first.clone(), second.clone()]), ["b1", "a1"]);
    q.ack(&second).await.unwrap();
    // a2 is the only one that a receive could get.
    assert!(b.store().heads(&[q.id], b.now()).await.unwrap()[0].is_some());
    q.nack(&first).await.unwrap();
    assert_eq!(q.take(1).await, ["b1"]);
    assert_eq!(q.take(1).await, ["a2"]);
}

async fn a_group_of_which_all_was_parked_is_a_new_one_beside_a_delay(b: Bench) {
    for ends in [false, true] {
        let q = fifo(&b).await;
        q.send_all(["a1", "b1", "b2"].map(g)).await;
        let taken = q.claim(3).await;
        assert_eq!(bodies(&taken), ["a1", "b1", "b2"]);
        q.ack(&taken[1]).await.unwrap();
        q.park(&taken[2]).await.unwrap();
        q.send(g("b3")).await;
        q.send(g("b4").delay(s(1))).await;
        if ends {
            b.advance(s(2));
            b.store().due(b.now()).await.unwrap();
        }
        assert_eq!(q.kick(1).await, 1);
        q.nack(&taken[0]).await.unwrap();
        let all = ["b2", "b3", "b4", "a1"];
        let in_line: Vec<_> = all.into_iter().filter(|text| ends || *text != "b4").collect();
        assert_eq!(q.take(10).await, in_line, "the delay ended: {ends}");
    }
}

async fn the_head_of_a_queue_is_that_of_the_first_group(b: Bench) {
    let q = fifo(&b).await;
    let ids = q.send_all(["a1", "b1", "a2"].map(g)).await;
    let head = || async { b.store().heads(&[q.id], b.now()).await.unwrap().remove(0) };
    assert_eq!(head().await.map(|head| head.id), Some(ids[0]));
    let first = q.claim_one().await;
    q.nack(&first).await.unwrap();
    assert_eq!(head().await.map(|head| head.id), Some(ids[1]));
    assert_eq!(q.peek(MessageState::Ready).await, ["a1", "b1", "a2"], "a peek goes by sending");
}

async fn failed_messages_are_given_beside_others(b: Bench) {
    for max_attempts in [None, Some(5)] {
        let q = b
            .queue(settings(|to| {
                to.fifo = true;
                to.max_attempts = max_attempts;
            }))
            .await;
        q.send_all(["a1", "a2", "b1", "b2", "c1", "c2"].map(g)).await;
        for _ in 0..3 {
            let taken = q.claim(10).await;
            assert_eq!(bodies(&taken), ["a1", "a2", "b1", "b2", "c1", "c2"]);
            q.settle_all(taken.iter().map(|delivery| (delivery.receipt, NACK)).collect()).await;
        }
    }
}

/// A queue whose messages have two tries.
async fn two_tries(b: &Bench) -> QueueBench {
    b.queue(settings(|to| {
        to.fifo = true;
        to.max_attempts = Some(2);
    }))
    .await
}

async fn the_last_try_of_a_message_is_alone(b: Bench) {
    let q = two_tries(&b).await;
    q.send_all(["a1", "a2"].map(g)).await;
    let taken = q.claim(10).await;
    q.nack(&taken[0]).await.unwrap();
    q.settle(&taken[1], Settlement::HandBack).await.unwrap();
    q.send(g("b1")).await;
    let alone = q.claim(10).await;
    assert_eq!(bodies(&alone), ["a1"]);
    assert_eq!(q.take(10).await, ["b1"]);
    q.ack(&alone[0]).await.unwrap();
    assert_eq!(q.take(10).await, ["a2"]);
}

async fn a_last_try_further_back_leaves_its_group_for_this_time(b: Bench) {
    let q = two_tries(&b).await;
    q.send_all(["a1", "a2", "b1"].map(g)).await;
    let taken = q.claim(2).await;
    q.settle(&taken[0], Settlement::HandBack).await.unwrap();
    q.nack(&taken[1]).await.unwrap();
    q.send(g("c1")).await;
    assert_eq!(q.take(1).await, ["b1"]);
    let first = q.claim(10).await;
    assert_eq!(bodies(&first), ["a1", "c1"], "a2 is on its last try");
    q.ack(&first[0]).await.unwrap();
    assert_eq!(q.take(10).await, ["a2"]);
}

async fn a_receive_looks_at_as_many_groups_as_it_wants_messages(b: Bench) {
    let q = two_tries(&b).await;
    q.send_all(["a1", "b1"].map(g)).await;
    let (first, second) = (q.claim_one().await, q.claim_one().await);
    q.settle(&first, Settlement::HandBack).await.unwrap();
    q.nack(&second).await.unwrap();
    q.send(g("c1")).await;
    assert_eq!(q.take(2).await, ["a1"], "b1 is on its last try, and c is the third group");
    assert_eq!(q.take(2).await, ["b1"]);
    assert_eq!(q.take(2).await, ["c1"]);
}

async fn the_line_is_the_same_after_a_restart(b: Bench) {
    let q = fifo(&b).await;
    q.send_all(["a1", "b1", "c1", "a2"].map(g)).await;
    for _ in 0..2 {
        let taken = q.claim_one().await;
        b.reopen().await;
        q.nack(&taken).await.unwrap();
    }
    b.reopen().await;
    q.send(g("d1")).await;
    assert_eq!(q.take(10).await, ["c1", "a1", "a2", "b1", "d1"]);
}
