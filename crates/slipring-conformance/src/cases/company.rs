//! In whose company messages are handed out whose tries run out.

use slipring::MessageState;
use slipring::lifecycle::Settlement;
use slipring::store::ClaimEnd;

use crate::bench::{Bench, QueueBench, bodies, m, s, settings};
use crate::case::{Case, case};

use super::poison::{fail, failed, work};

pub(super) const CASES: &[Case] = &[
    case!(a_failed_message_is_handed_out_in_smaller_company, "S11.2"),
    case!(company_shrinks_as_tries_run_out, "S11.2"),
    case!(without_a_limit_on_attempts_no_receive_is_smaller, "S11.2"),
    case!(the_last_try_is_alone, "S11.2"),
    case!(a_failed_message_further_back_holds_back_no_other, "S11.2"),
    case!(a_failing_message_that_does_not_fit_begins_the_next_receive, "S11.1", "S11.2", "S2.4"),
    case!(a_last_try_begins_a_receive_when_a_hundred_went_past_it, "S11.2", "S2.4"),
    case!(the_last_try_of_a_failing_message_begins_a_receive, "S11.2", "S2.4"),
    case!(a_lapsed_receive_is_split_until_the_poison_is_alone, "S11.2"),
];

async fn a_failed_message_is_handed_out_in_smaller_company(b: Bench) {
    let q = b.queue(settings(|to| to.max_attempts = Some(3))).await;
    q.send_all((0..40).map(|n| n.to_string())).await;
    for delivery in q.claim(8).await {
        q.nack(&delivery).await.unwrap();
    }
    let next = q.claim_many(&[8, 8, 8]).await;
    let sizes: Vec<_> = next.deliveries.iter().map(Vec::len).collect();
    assert_eq!(sizes, [4, 4, 8], "each failed once, so half of 8; the rest is fresh");
    assert_eq!(next.end, ClaimEnd::More);
}

async fn company_shrinks_as_tries_run_out(b: Bench) {
    let q = b.queue(settings(|to| to.max_attempts = Some(4))).await;
    q.send("poison").await;
    q.send_all((0..200).map(|n| n.to_string())).await;
    for most in [100, 50, 25, 1] {
        let taken = q.claim(100).await;
        assert_eq!(taken[0].message.body, "poison");
        assert_eq!(taken.len(), most, "of 100");
        q.nack(&taken[0]).await.unwrap();
        for fresh in &taken[1..] {
            q.settle(fresh, Settlement::HandBack).await.unwrap();
        }
    }
    assert_eq!(q.peek(MessageState::Parked).await, ["poison"]);
}

async fn without_a_limit_on_attempts_no_receive_is_smaller(b: Bench) {
    let q = b.plain().await;
    q.send_all((0..30).map(|n| format!("poison {n}"))).await;
    for _ in 0..12 {
        let sizes: Vec<_> = q.claim_many(&[10, 10, 10]).await.deliveries;
        assert_eq!(sizes.iter().map(Vec::len).collect::<Vec<_>>(), [10, 10, 10]);
        work(&q, &sizes.concat()).await;
    }
}

async fn the_last_try_is_alone(b: Bench) {
    let q = b.queue(settings(|to| to.max_attempts = Some(3))).await;
    q.send_all(["poison", "b", "c", "d", "e", "f", "g", "h"]).await;
    fail(&q, 2).await;
    let taken = q.claim_many(&[8, 8]).await;
    let lists: Vec<_> = taken.deliveries.iter().map(|list| bodies(list)).collect();
    assert_eq!(lists, [vec!["poison"], vec!["b", "c", "d", "e", "f", "g", "h"]]);
}

async fn a_failed_message_further_back_holds_back_no_other(b: Bench) {
    let q = b.queue(settings(|to| to.max_attempts = Some(3))).await;
    q.send_all(["a", "b", "c", "poison", "e", "f"]).await;
    let mut taken = q.claim(6).await;
    let poison = taken.remove(3);
    q.nack(&poison).await.unwrap();
    for delivery in &taken {
        q.settle(delivery, Settlement::HandBack).await.unwrap();
    }
    // One failure of three: at most three of six together, and three have come before it.
    let lists = q.claim_many(&[6, 6]).await.deliveries;
    let lists: Vec<_> = lists.iter().map(|list| bodies(list)).collect();
    assert_eq!(lists, [vec!["a", "b", "c", "e", "f"], vec!["poison"]]);
}

async fn a_failing_message_that_does_not_fit_begins_the_next_receive(b: Bench) {
    let q = b.queue(settings(|to| to.max_attempts = Some(7))).await;
    failed(&q, "poison", 5, 6).await;
    q.send_all((0..125).map(|n| m(&n.to_string()).priority(5))).await;
    let claimed = q.claim_many(&[95, 10, 10, 20]).await;
    let sizes: Vec<_> = claimed.deliveries.iter().map(Vec::len).collect();
    assert_eq!(sizes, [95, 10, 1, 20], "its last try is alone, and only once");
    assert_eq!(bodies(&claimed.deliveries[2]), ["poison"]);
}

/// Receives of ten, each of which begins with a message of the best priority; answers how many it
/// takes until one brings the poison, which must be alone.
async fn receives_until_the_poison(q: &QueueBench) -> usize {
    for nth in 0..60 {
        q.send(m("urgent").priority(0)).await;
        q.send_all((0..9).map(|n| m(&format!("good {n}")).priority(5))).await;
        let taken = q.claim(10).await;
        let bodies = bodies(&taken);
        if bodies.contains(&"poison".to_owned()) {
            assert_eq!(bodies, ["poison"], "its last try is alone");
            return nth;
        }
        assert_eq!(bodies[0], "urgent");
        work(q, &taken).await;
    }
    panic!("no receive brought it");
}

async fn a_last_try_begins_a_receive_when_a_hundred_went_past_it(b: Bench) {
    let q = b.queue(settings(|to| to.max_attempts = Some(3))).await;
    failed(&q, "poison", 5, 2).await;
    assert_eq!(receives_until_the_poison(&q).await, 12, "nine of each went past it");
}

async fn the_last_try_of_a_failing_message_begins_a_receive(b: Bench) {
    let q = b.queue(settings(|to| to.max_attempts = Some(7))).await;
    failed(&q, "poison", 5, 6).await;
    // A hundred for its turn, and as many again in which it did not fit.
    assert_eq!(receives_until_the_poison(&q).await, 23);
}

async fn a_lapsed_receive_is_split_until_the_poison_is_alone(b: Bench) {
    let dead = b.named("dead", settings(|_| {})).await;
    let q = b
        .queue(settings(|to| {
            to.max_attempts = Some(5);
            to.dead_letter = Some(dead.info.name.clone());
        }))
        .await;
    q.send_all((0..16).map(|n| n.to_string())).await;
    // A holder that dies whenever it meets message 11, and acks its receive otherwise.
    let mut done = 0;
    for _ in 0..200 {
        let taken = q.claim(16).await;
        if taken.iter().any(|delivery| delivery.message.body == "11") {
            b.pass(s(30)).await;
        } else {
            done += taken.len();
            for delivery in &taken {
                q.ack(delivery).await.unwrap();
            }
        }
    }
    assert_eq!(done, 15, "all neighbours of the poison are done");
    assert_eq!(dead.peek(MessageState::Ready).await, ["11"]);
    q.holds(0, 0, 0, 0).await;
}
