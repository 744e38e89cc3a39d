//! FIFO queues: the order within a group, and no group stops another. Which group comes when is in
//! `fifo_line`.

use slipring::lifecycle::Settlement;
use slipring::store::ClaimEnd;
use slipring::{ErrorKind, MessageState, NewMessage};

use crate::bench::{Bench, QueueBench, bodies, m, ms, refused, s, settings};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(a_group_is_handed_out_in_the_order_of_sending, "S7.3"),
    case!(one_receive_may_take_several_messages_of_a_group, "S7.3"),
    case!(a_leased_message_holds_back_what_was_sent_after_it, "S7.3"),
    case!(a_leased_message_does_not_hold_back_what_was_sent_before_it, "S7.3"),
    case!(receives_of_the_same_moment_do_not_share_a_group, "S7.3"),
    case!(other_groups_flow_past_a_blocked_one, "S7.3", "S11.1"),
    case!(a_group_is_open_again_when_its_last_lease_ends, "S7.3"),
    case!(a_nacked_message_comes_first_again, "S7.3"),
    case!(messages_nacked_in_any_order_come_in_the_order_of_sending, "S7.3"),
    case!(a_group_waits_for_its_delayed_retry, "S7.3"),
    case!(what_was_sent_before_a_retry_that_is_not_due_is_given, "S7.3"),
    case!(an_ack_after_the_lapse_is_refused, "S3.4"),
    case!(a_lapsed_message_comes_first_again, "S7.3"),
    case!(a_partly_acked_group_continues_where_it_was, "S7.3"),
    case!(a_delayed_message_holds_back_those_sent_after_it, "S7.3"),
    case!(a_parked_message_does_not_block_its_group, "S7.3", "S11.1"),
    case!(a_kicked_message_stands_in_its_old_place_in_the_group, "S7.2", "S7.3"),
    case!(a_dead_lettered_message_unblocks_its_group, "S6.2", "S7.3"),
    case!(a_pass_tells_of_groups_that_it_freed, "S2.4", "S7.3"),
    case!(a_purge_unblocks_groups, "S7.3", "S14.5"),
    case!(a_cancelled_message_unblocks_its_group, "S7.3"),
    case!(messages_without_a_group_are_one_group, "S7.4"),
    case!(the_empty_name_is_the_group_of_those_without, "S7.4"),
    case!(priority_does_not_apply, "S7.4"),
    case!(an_extended_lease_holds_its_group_back_longer, "S7.3"),
    case!(a_hundred_groups_of_many_messages_keep_their_orders, "S7.3"),
    case!(a_message_taken_by_number_holds_back_what_was_sent_after_it, "S7.3"),
];

async fn fifo(b: &Bench) -> QueueBench {
    b.queue(settings(|to| to.fifo = true)).await
}

/// A message whose text begins with its group.
fn g(body: &str) -> NewMessage {
    m(body).group(&body[..1])
}

async fn a_group_is_handed_out_in_the_order_of_sending(b: Bench) {
    let q = fifo(&b).await;
    q.send_all((0..30).map(|n| g(&format!("a{n:02}")))).await;
    let all = q.drain().await;
    assert_eq!(all, (0..30).map(|n| format!("a{n:02}")).collect::<Vec<_>>());
}

async fn one_receive_may_take_several_messages_of_a_group(b: Bench) {
    let q = fifo(&b).await;
    q.send_all(["a1", "b1", "a2", "b2", "a3"].map(g)).await;
    assert_eq!(q.take(4).await, ["a1", "a2", "a3", "b1"]);
    assert!(q.claim(4).await.is_empty());
}

async fn a_leased_message_holds_back_what_was_sent_after_it(b: Bench) {
    let q = fifo(&b).await;
    q.send_all(["a1", "a2"].map(g)).await;
    let first = q.claim_one().await;
    let claimed = q.claim_many(&[10]).await;
    assert_eq!((claimed.deliveries[0].len(), claimed.end), (0, ClaimEnd::Drained));
    q.holds(1, 0, 1, 0).await;
    q.send(g("a3")).await;
    assert!(q.claim(10).await.is_empty());
    q.ack(&first).await.unwrap();
    assert_eq!(q.take(10).await, ["a2", "a3"]);
}

async fn receives_of_the_same_moment_do_not_share_a_group(b: Bench) {
    let q = fifo(&b).await;
    q.send_all(["a1", "a2", "b1", "a3", "b2", "c1"].map(g)).await;
    let claimed = q.claim_many(&[2, 2, 2, 2]).await;
    let lists: Vec<_> = claimed.deliveries.iter().map(|list| bodies(list)).collect();
    assert_eq!(lists, [vec!["a1", "a2"], vec!["b1", "b2"], vec!["c1"], vec![]]);
}

async fn other_groups_flow_past_a_blocked_one(b: Bench) {
    let q = fifo(&b).await;
    q.send_all(["a1", "a2", "a3"].map(g)).await;
    let stuck = q.claim_one().await;
    for round in 0..10 {
        q.send(g(&format!("b{round}"))).await;
        let delivery = q.claim(10).await;
        assert_eq!(bodies(&delivery), [format!("b{round}")]);
        q.ack(&delivery[0]).await.unwrap();
    }
    q.ack(&stuck).await.unwrap();
    assert_eq!(q.take(1).await, ["a2"]);
}

async fn a_group_is_open_again_when_its_last_lease_ends(b: Bench) {
    let q = fifo(&b).await;
    q.send_all(["a1", "a2", "a3", "a4"].map(g)).await;
    let taken = q.claim(3).await;
    q.ack(&taken[0]).await.unwrap();
    q.ack(&taken[2]).await.unwrap();
    assert!(q.claim(1).await.is_empty(), "a2 is still leased");
    q.ack(&taken[1]).await.unwrap();
    assert_eq!(q.take(1).await, ["a4"]);
}

async fn a_nacked_message_comes_first_again(b: Bench) {
    let q = fifo(&b).await;
    q.send_all(["a1", "a2", "a3"].map(g)).await;
    for _ in 0..3 {
        let first = q.claim_one().await;
        assert_eq!(first.message.body, "a1");
        q.nack(&first).await.unwrap();
    }
    assert_eq!(q.drain().await, ["a1", "a2", "a3"]);
}

async fn messages_nacked_in_any_order_come_in_the_order_of_sending(b: Bench) {
    let q = fifo(&b).await;
    q.send_all(["a1", "a2", "a3", "a4"].map(g)).await;
    let taken = q.claim(3).await;
    q.nack(&taken[2]).await.unwrap();
    assert!(q.claim(1).await.is_empty(), "a1 and a2 are still leased");
    q.nack(&taken[0]).await.unwrap();
    q.settle(&taken[1], Settlement::HandBack).await.unwrap();
    assert_eq!(q.drain().await, ["a1", "a2", "a3", "a4"]);
}

async fn a_group_waits_for_its_delayed_retry(b: Bench) {
    let q = fifo(&b).await;
    q.send_all(["a1", "a2", "b1"].map(g)).await;
    let first = q.claim_one().await;
    q.nack_for(&first, s(10)).await.unwrap();
    assert_eq!(q.take(10).await, ["b1"]);
    b.pass(ms(9_999)).await;
    assert!(q.claim(10).await.is_empty());
    q.holds(1, 1, 1, 0).await;
    b.pass(ms(1)).await;
    assert_eq!(q.drain().await, ["a1", "a2"]);
}

async fn what_was_sent_before_a_retry_that_is_not_due_is_given(b: Bench) {
    let q = fifo(&b).await;
    q.send_all(["a1", "a2", "a3"].map(g)).await;
    let taken = q.claim(2).await;
    q.nack_for(&taken[1], s(10)).await.unwrap();
    q.nack(&taken[0]).await.unwrap();
    assert_eq!(q.take(10).await, ["a1"], "a2 is not due yet");
    b.pass(s(30)).await;
    assert_eq!(q.drain().await, ["a1", "a2", "a3"]);
}

async fn a_leased_message_does_not_hold_back_what_was_sent_before_it(b: Bench) {
    for prolonged in 0..3 {
        let q = fifo(&b).await;
        q.send_all(["a1", "a2", "a3"].map(g)).await;
        let taken = q.claim(3).await;
        q.extend(&taken[prolonged], s(60)).await.unwrap();
        b.pass(s(30)).await;
        let before = [&[][..], &["a1"], &["a1", "a2"]][prolonged];
        assert_eq!(q.take(10).await, before);
    }
    let q = fifo(&b).await;
    q.send_all(["a1", "a2"].map(g)).await;
    let taken = q.claim(2).await;
    q.nack(&taken[0]).await.unwrap();
    assert_eq!(q.take(10).await, ["a1"], "a2 is still leased");
}

async fn an_ack_after_the_lapse_is_refused(b: Bench) {
    let q = fifo(&b).await;
    q.send_all(["a1", "a2"].map(g)).await;
    let late = q.claim_one().await;
    b.advance(s(30));
    for noticed in [false, true] {
        if noticed {
            b.expire().await;
        }
        refused(q.ack(&late).await, ErrorKind::LeaseLost);
    }
    let again = q.claim_one_for(s(30)).await;
    b.advance(s(20));
    q.extend(&again, s(30)).await.unwrap();
    b.pass(s(20)).await;
    q.ack(&again).await.unwrap();
    assert_eq!(q.drain().await, ["a2"]);
}

async fn a_lapsed_message_comes_first_again(b: Bench) {
    let q = fifo(&b).await;
    q.send_all(["a1", "a2"].map(g)).await;
    let late = q.claim_one().await;
    b.advance(s(30));
    assert_eq!(b.expire().await.ready, [(q.id, 1)]);
    let again = q.claim_one().await;
    assert_eq!(again.message.body, "a1");
    refused(q.ack(&late).await, ErrorKind::LeaseLost);
    assert!(q.claim(1).await.is_empty());
    q.ack(&again).await.unwrap();
    assert_eq!(q.drain().await, ["a2"]);
}

async fn a_partly_acked_group_continues_where_it_was(b: Bench) {
    let q = fifo(&b).await;
    q.send_all(["a1", "a2", "a3", "a4"].map(g)).await;
    let taken = q.claim(3).await;
    q.ack(&taken[0]).await.unwrap();
    b.pass(s(30)).await;
    assert_eq!(q.drain().await, ["a2", "a3", "a4"]);
}

async fn a_delayed_message_holds_back_those_sent_after_it(b: Bench) {
    let q = fifo(&b).await;
    q.send_all([g("a1"), g("a2").delay(s(10)), g("a3"), g("b1")]).await;
    assert_eq!(q.drain().await, ["a1", "b1"]);
    q.holds(1, 1, 0, 0).await;
    b.pass(s(10)).await;
    assert_eq!(q.drain().await, ["a2", "a3"]);
}

async fn a_parked_message_does_not_block_its_group(b: Bench) {
    let q = fifo(&b).await;
    q.send_all(["a1", "a2"].map(g)).await;
    let first = q.claim_one().await;
    q.park(&first).await.unwrap();
    assert_eq!(q.take(10).await, ["a2"]);
}

async fn a_kicked_message_stands_in_its_old_place_in_the_group(b: Bench) {
    let q = fifo(&b).await;
    q.send_all(["a1", "a2", "a3"].map(g)).await;
    let first = q.claim_one().await;
    q.park(&first).await.unwrap();
    let second = q.claim_one().await;
    assert_eq!(second.message.body, "a2");
    assert_eq!(q.kick(1).await, 1);
    let first = q.claim(10).await;
    assert_eq!(bodies(&first), ["a1"], "a2 is leased");
    q.nack(&second).await.unwrap();
    q.nack(&first[0]).await.unwrap();
    assert_eq!(q.drain().await, ["a1", "a2", "a3"]);
}

async fn a_dead_lettered_message_unblocks_its_group(b: Bench) {
    let dead = b.plain().await;
    let q = b
        .queue(settings(|to| {
            to.fifo = true;
            to.max_attempts = Some(1);
            to.dead_letter = Some(dead.info.name.clone());
        }))
        .await;
    q.send_all(["a1", "a2", "a3"].map(g)).await;
    let first = q.claim_one().await;
    q.nack(&first).await.unwrap();
    assert_eq!(q.claim_one().await.message.body, "a2");
    b.pass(s(30)).await;
    assert_eq!(q.take(1).await, ["a3"]);
    assert_eq!(dead.peek(MessageState::Ready).await, ["a1", "a2"]);
}

async fn a_pass_tells_of_groups_that_it_freed(b: Bench) {
    let dead = b.plain().await;
    for dead_letter in [None, Some(dead.info.name.clone())] {
        let q = b
            .queue(settings(|to| {
                to.fifo = true;
                to.max_attempts = Some(1);
                to.dead_letter = dead_letter;
            }))
            .await;
        q.send_all(["a1", "a2"].map(g)).await;
        q.claim_one().await;
        b.advance(s(30));
        let pass = b.expire().await;
        assert!(pass.ready.iter().any(|(id, _)| *id == q.id), "{pass:?}");
        assert_eq!(q.drain().await, ["a2"]);
    }
}

async fn a_purge_unblocks_groups(b: Bench) {
    let q = fifo(&b).await;
    q.send_all(["a1", "a2", "b1", "b2"].map(g)).await;
    let first = q.claim_one().await;
    assert_eq!(q.purge(1).await, 4);
    q.send(g("a3")).await;
    assert_eq!(q.take(10).await, ["a3"]);
    refused(q.ack(&first).await, ErrorKind::MessageGone);
}

async fn a_cancelled_message_unblocks_its_group(b: Bench) {
    let q = fifo(&b).await;
    let ids = q.send_all(["a1", "a2", "a3"].map(g)).await;
    let first = q.claim_one().await;
    q.nack_for(&first, s(1000)).await.unwrap();
    assert!(q.claim(1).await.is_empty());
    b.cancel(ids[0]).await.unwrap();
    b.cancel(ids[1]).await.unwrap();
    assert_eq!(q.take(10).await, ["a3"]);
}

async fn messages_without_a_group_are_one_group(b: Bench) {
    let q = fifo(&b).await;
    q.send_all([m("1"), g("a1"), m("2")]).await;
    let first = q.claim_one().await;
    assert_eq!((first.message.body.as_ref(), first.message.group.as_deref()), (&b"1"[..], None));
    assert_eq!(q.take(10).await, ["a1"]);
    q.ack(&first).await.unwrap();
    assert_eq!(q.take(10).await, ["2"]);
}

async fn the_empty_name_is_the_group_of_those_without(b: Bench) {
    let q = fifo(&b).await;
    q.send_all([m("1"), m("2").group("")]).await;
    let first = q.claim_one().await;
    assert!(q.claim(1).await.is_empty());
    q.ack(&first).await.unwrap();
    assert_eq!(q.take(1).await, ["2"]);
}

async fn priority_does_not_apply(b: Bench) {
    let q = fifo(&b).await;
    q.send_all([g("a1").priority(9), g("a2").priority(0), g("b1").priority(1)]).await;
    assert_eq!(q.peek(MessageState::Ready).await, ["a1", "a2", "b1"]);
    assert_eq!(q.take(3).await, ["a1", "a2", "b1"]);
}

async fn an_extended_lease_holds_its_group_back_longer(b: Bench) {
    let q = fifo(&b).await;
    q.send_all(["a1", "a2", "a3"].map(g)).await;
    let taken = q.claim(2).await;
    q.ack(&taken[0]).await.unwrap();
    q.extend(&taken[1], s(50)).await.unwrap();
    b.pass(s(30)).await;
    assert!(q.claim(1).await.is_empty(), "a2 is still leased");
    b.pass(s(20)).await;
    assert_eq!(q.drain().await, ["a2", "a3"]);
}

async fn a_hundred_groups_of_many_messages_keep_their_orders(b: Bench) {
    let q = fifo(&b).await;
    let all = (0..2000).map(|n| m(&format!("{n:04}")).group(format!("group {}", n * 7 % 100)));
    q.send_all(all).await;
    let mut seen = vec![Vec::new(); 100];
    let mut turn = 0_u32;
    loop {
        let claimed = q.claim_many(&[9, 1, 30]).await.deliveries;
        let taken: Vec<_> = claimed.into_iter().flatten().collect();
        if taken.is_empty() {
            break;
        }
        for delivery in taken {
            turn += 1;
            if turn.is_multiple_of(5) {
                q.settle(&delivery, Settlement::HandBack).await.unwrap();
                continue;
            }
            let n: usize = bodies(std::slice::from_ref(&delivery))[0].parse().unwrap();
            seen[n * 7 % 100].push(n);
            q.ack(&delivery).await.unwrap();
        }
    }
    assert_eq!(seen.iter().map(Vec::len).sum::<usize>(), 2000);
    q.holds(0, 0, 0, 0).await;
}

async fn a_message_taken_by_number_holds_back_what_was_sent_after_it(b: Bench) {
    let q = fifo(&b).await;
    let ids = q.send_all(["a1", "a2", "a3", "b1"].map(g)).await;
    let second = q.claim_message(ids[1]).await.unwrap();
    let taken = q.claim(10).await;
    assert_eq!(bodies(&taken), ["a1", "b1"]);
    q.ack(&taken[0]).await.unwrap();
    assert!(q.claim(10).await.is_empty(), "a2 is leased");
    q.nack(&second).await.unwrap();
    assert_eq!(q.drain().await, ["a2", "a3"]);
}
