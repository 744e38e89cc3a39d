//! The order of a standard queue: best priority first, then the order of sending.

use slipring::MessageState;
use slipring::lifecycle::Settlement;

use crate::bench::{Bench, NACK, m, s};
use crate::case::{Case, case};

pub(super) const CASES: &[Case] = &[
    case!(within_a_priority_the_order_of_sending_counts, "S7.1"),
    case!(the_best_priority_comes_first, "S7.1"),
    case!(hundreds_of_priorities_come_in_order, "S7.1"),
    case!(a_better_message_sent_later_overtakes, "S7.1"),
    case!(retries_between_many_priorities_find_their_old_places, "S7.1", "S7.2"),
    case!(a_returning_message_comes_before_later_ones_however_it_returns, "S7.2"),
    case!(messages_that_return_in_another_order_stand_in_the_order_of_sending, "S7.2"),
    case!(a_message_that_returns_up_to_three_times_keeps_its_place, "S7.2"),
    case!(groups_change_nothing_on_a_standard_queue, "S7.5"),
    case!(batches_and_single_sends_mix_in_order, "S7.1", "S9.2"),
    case!(a_long_backlog_comes_out_in_order, "S7.1"),
];

async fn within_a_priority_the_order_of_sending_counts(b: Bench) {
    let q = b.plain().await;
    for n in 0..50 {
        q.send(n.to_string()).await;
    }
    assert_eq!(q.drain().await, (0..50).map(|n| n.to_string()).collect::<Vec<_>>());
}

async fn the_best_priority_comes_first(b: Bench) {
    let q = b.plain().await;
    let sent = [("a", 10), ("b", 0), ("c", u32::MAX), ("d", 10), ("e", 1), ("f", 0)];
    q.send_all(sent.map(|(body, priority)| m(body).priority(priority))).await;
    assert_eq!(q.drain().await, ["b", "f", "e", "a", "d", "c"]);
}

async fn hundreds_of_priorities_come_in_order(b: Bench) {
    let q = b.plain().await;
    // 389 is prime to 401, so every priority of 0 to 400 comes once, all mixed up.
    let mixed = (0..401_u32).map(|n| n * 389 % 401);
    q.send_all(mixed.map(|priority| m(&priority.to_string()).priority(priority * 10_000_000)))
        .await;
    let mut all: Vec<u32> = Vec::new();
    for _ in 0..401_usize.div_ceil(37) {
        all.extend(q.take(37).await.iter().map(|body| body.parse::<u32>().unwrap()));
    }
    assert_eq!(all, (0..401).collect::<Vec<_>>());
}

async fn a_better_message_sent_later_overtakes(b: Bench) {
    let q = b.plain().await;
    q.send_all([m("5a").priority(5), m("5b").priority(5), m("5c").priority(5)]).await;
    assert_eq!(q.take(1).await, ["5a"]);
    q.send(m("1").priority(1)).await;
    q.send(m("9").priority(9)).await;
    assert_eq!(q.take(2).await, ["1", "5b"]);
    q.send(m("0").priority(0)).await;
    assert_eq!(q.take(10).await, ["0", "5c", "9"]);
}

async fn retries_between_many_priorities_find_their_old_places(b: Bench) {
    let q = b.plain().await;
    q.send_all((0..120_u32).map(|n| m(&format!("{:03}-{n:03}", n % 40)).priority(n % 40))).await;
    let taken = q.claim(60).await;
    for (nth, delivery) in taken.iter().enumerate() {
        let how = match nth % 4 {
            0 => NACK,
            1 => Settlement::HandBack,
            2 => Settlement::Nack { delay: Some(s(1)), priority: None, reason: None },
            _ => Settlement::Park { priority: None },
        };
        q.settle(delivery, how).await.unwrap();
    }
    q.send_all((120..160_u32).map(|n| m(&format!("{:03}-{n:03}", n % 40)).priority(n % 40))).await;
    b.pass(s(1)).await;
    q.kick(1000).await;
    let all = q.drain().await;
    assert_eq!(all.len(), 160);
    assert!(all.is_sorted(), "by priority, then by the order of sending: {all:?}");
}

async fn a_returning_message_comes_before_later_ones_however_it_returns(b: Bench) {
    let q = b.plain().await;
    q.send_all(["nack", "later", "back", "kick", "lapse"]).await;
    let taken = q.claim(5).await;
    q.send("new").await;
    q.nack(&taken[0]).await.unwrap();
    q.nack_for(&taken[1], s(1)).await.unwrap();
    q.settle(&taken[2], Settlement::HandBack).await.unwrap();
    q.park(&taken[3]).await.unwrap();
    q.kick(1).await;
    b.pass(s(30)).await;
    assert_eq!(q.drain().await, ["nack", "later", "back", "kick", "lapse", "new"]);
}

async fn messages_that_return_in_another_order_stand_in_the_order_of_sending(b: Bench) {
    let q = b.plain().await;
    q.send_all(["a", "b", "c", "d"]).await;
    let taken = q.claim(4).await;
    for nth in [3, 1, 0, 2] {
        q.nack(&taken[nth]).await.unwrap();
    }
    assert_eq!(q.drain().await, ["a", "b", "c", "d"]);
}

async fn a_message_that_returns_up_to_three_times_keeps_its_place(b: Bench) {
    let q = b.plain().await;
    q.send_all(["a", "b"]).await;
    for round in 0..3 {
        let delivery = q.claim_one().await;
        assert_eq!(delivery.message.body, "a");
        q.send(round.to_string()).await;
        q.nack(&delivery).await.unwrap();
    }
    assert_eq!(q.drain().await[..3], ["a", "b", "0"]);
}

async fn groups_change_nothing_on_a_standard_queue(b: Bench) {
    let q = b.plain().await;
    q.send_all([m("a").group("g"), m("b").group("h"), m("c").group("g").priority(1)]).await;
    q.send(m("d").group("g")).await;
    assert_eq!(q.take(1).await, ["c"]);
    assert_eq!(q.take(10).await, ["a", "b", "d"]);
    assert_eq!(q.peek_full(Some(MessageState::Leased), 10).await.len(), 4);
}

async fn batches_and_single_sends_mix_in_order(b: Bench) {
    let q = b.plain().await;
    q.send("1").await;
    q.send_all(["2", "3"]).await;
    q.append(vec![vec![m("4")], vec![m("5"), m("6")], vec![m("7")]]).await;
    q.send("8").await;
    assert_eq!(q.drain().await, ["1", "2", "3", "4", "5", "6", "7", "8"]);
}

async fn a_long_backlog_comes_out_in_order(b: Bench) {
    let q = b.plain().await;
    for part in 0..4 {
        q.send_all((0..2500).map(|n| format!("{:05}", part * 2500 + n))).await;
    }
    let mut all = Vec::new();
    loop {
        let taken = q.claim(999).await;
        if taken.is_empty() {
            break;
        }
        let acks = taken.iter().map(|delivery| (delivery.receipt, Settlement::Ack)).collect();
        assert!(q.settle_all(acks).await.iter().all(Result::is_ok));
        all.extend(crate::bench::bodies(&taken));
    }
    assert_eq!(all.len(), 10_000);
    assert!(all.is_sorted());
    q.holds(0, 0, 0, 0).await;
}
