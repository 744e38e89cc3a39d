//! Fairness between queues, order within one, bounds of a transaction.

use super::*;

fn queue(number: u64) -> Owner {
    Owner::Queue(QueueId(number))
}

fn push(ring: &mut Ring<&'static str>, owner: Owner, call: &'static str) {
    ring.push(call, Load::of(owner, 1)).unwrap();
}

/// Serves transactions until nothing waits, each call taking `took_ns`.
fn serve<T>(ring: &mut Ring<T>, took_ns: u64) -> Vec<Vec<T>> {
    let mut transactions = Vec::new();
    while ring.len() > 0 {
        let (mut turn, mut calls, mut took) = (Turn::default(), Vec::new(), 0);
        while let Some(call) = ring.next(&mut turn, took) {
            calls.push(call);
            took = took_ns;
        }
        ring.end(turn);
        transactions.push(calls);
    }
    transactions
}

#[test]
fn queues_take_turns_by_what_their_calls_took_and_keep_their_own_order() {
    let mut ring = Ring::new();
    for (owner, call) in [(1, "a1"), (1, "a2"), (1, "a3"), (2, "b1"), (2, "b2"), (3, "c1")] {
        push(&mut ring, queue(owner), call);
    }
    let served = serve(&mut ring, 400_000).concat();
    assert_eq!(served, ["a1", "b1", "c1", "a2", "b2", "a3"]);
    // A call of the first queue takes as long as four of the second.
    for (owner, call) in [(1, "a1"), (1, "a2"), (2, "b1"), (2, "b2"), (2, "b3"), (2, "b4")] {
        push(&mut ring, queue(owner), call);
    }
    let (mut served, mut took) = (Vec::new(), 0);
    let mut turn = Turn::default();
    while ring.len() > 0 {
        match ring.next(&mut turn, took) {
            Some(call) => {
                took = if call.starts_with('a') { 4_000_000 } else { 1_000_000 };
                served.push(call);
            }
            None => {
                ring.end(std::mem::take(&mut turn));
                took = 0;
            }
        }
    }
    let place = |call| served.iter().position(|other| *other == call).unwrap();
    assert!(place("b4") < place("a2") || place("b3") < place("a2"), "{served:?}");
}

#[test]
fn a_queue_that_kept_within_its_share_is_served_first_and_alone() {
    let mut ring = Ring::new();
    // 64 busy queues have used up their credit, and have more calls.
    for number in 1..=64 {
        (0..4).for_each(|_| push(&mut ring, queue(number), "busy"));
    }
    for _ in 0..192 {
        let mut turn = Turn::default();
        assert_eq!(ring.next(&mut turn, 0), Some("busy"));
        assert_eq!(ring.next(&mut turn, CREDIT_NS), None);
        ring.end(turn);
    }
    push(&mut ring, queue(99), "quiet");
    let served = serve(&mut ring, 100_000);
    assert_eq!(served[0], ["quiet"]);
    // The others share transactions of about 1 ms.
    assert!(served[1..].iter().all(|calls| calls.len() <= 11), "{served:?}");
    assert_eq!(served.concat().len(), 65);
}

#[test]
fn a_queue_alone_has_whole_transactions_and_only_a_credit_is_saved_up_by_waiting() {
    let mut ring = Ring::new();
    for _ in 0..100 {
        push(&mut ring, queue(1), "a");
    }
    let lengths: Vec<usize> = serve(&mut ring, 100_000).iter().map(Vec::len).collect();
    assert_eq!(lengths.iter().sum::<usize>(), 100);
    assert!(lengths.iter().all(|calls| *calls <= 50), "5 ms each: {lengths:?}");
    assert!(lengths.len() <= 4, "{lengths:?}");
    // One that comes later has its credit first, and then does not get the time back that others
    // used before.
    let credit = usize::try_from(CREDIT_NS / 1_000_000).unwrap();
    (0..100).for_each(|_| push(&mut ring, queue(1), "a"));
    let (mut turn, mut took) = (Turn::default(), 0);
    while ring.len() > 50 {
        match ring.next(&mut turn, took) {
            Some(_) => took = 1_000_000,
            None => {
                ring.end(std::mem::take(&mut turn));
                took = 0;
            }
        }
    }
    ring.end(turn);
    (0..50).for_each(|_| push(&mut ring, queue(2), "b"));
    let served = serve(&mut ring, 1_000_000).concat();
    let of = |part: &[&str], queue| part.iter().filter(|call| **call == queue).count();
    let run = usize::try_from(CREDITED_RUN_NS / 1_000_000).unwrap();
    let first = &served[..credit + credit / run];
    assert_eq!(of(first, "a"), credit / run, "one after each 10 ms: {served:?}");
    let rest = &served[first.len() + 2..first.len() + 12];
    assert_eq!((of(rest, "a"), of(rest, "b")), (5, 5), "{served:?}");
}

#[test]
fn a_quiet_queue_sends_receives_and_acks_before_busy_ones_have_had_a_turn() {
    let mut ring = Ring::new();
    for number in 1..=64 {
        (0..10).for_each(|_| push(&mut ring, queue(number), "busy"));
    }
    // All busy queues have used their credit.
    let (mut served, mut took) = (0, 0);
    while served < 320 {
        let mut turn = Turn::default();
        while ring.next(&mut turn, took).is_some() {
            (served, took) = (served + 1, 3_000_000);
        }
        ring.end(turn);
    }
    for call in ["send", "receive", "ack"] {
        push(&mut ring, queue(99), call);
        let mut turn = Turn::default();
        assert_eq!(ring.next(&mut turn, 0), Some(call));
        assert_eq!(ring.next(&mut turn, 3_000_000), None);
        ring.end(turn);
    }
}

#[test]
fn a_moment_without_calls_makes_no_busy_queue_a_quiet_one() {
    let mut ring = Ring::new();
    for _ in 0..20 {
        // One call of each under way at a time, as of callers that wait for their answer.
        (1..=8).for_each(|number| push(&mut ring, queue(number), "busy"));
        assert_eq!(serve(&mut ring, 4_000_000).concat().len(), 8);
    }
    (1..=8).for_each(|number| push(&mut ring, queue(number), "busy"));
    push(&mut ring, queue(99), "quiet");
    assert_eq!(serve(&mut ring, 4_000_000)[0], ["quiet"]);
}

#[test]
fn many_queues_that_come_back_at_once_do_not_stop_a_busy_one() {
    let mut ring = Ring::new();
    (0..100).for_each(|_| push(&mut ring, queue(1), "busy"));
    let mut turn = Turn::default();
    while ring.len() > 90 {
        if ring.next(&mut turn, CHARGED_NS_MAX).is_none() {
            ring.end(std::mem::take(&mut turn));
        }
    }
    assert_eq!(ring.next(&mut turn, CHARGED_NS_MAX), None);
    ring.end(turn);
    for number in 2..=100 {
        (0..10).for_each(|_| push(&mut ring, queue(number), "back"));
    }
    let served = serve(&mut ring, 1_000_000).concat();
    let busy = served[..50].iter().filter(|call| **call == "busy").count();
    assert!((4..=5).contains(&busy), "one after each 10 ms: {busy} of 50");
}

#[test]
fn a_quiet_queue_is_told_from_many_that_have_come_back_a_moment_before() {
    let mut ring = Ring::new();
    push(&mut ring, queue(99), "quiet");
    assert_eq!(serve(&mut ring, 1_000_000), [["quiet"]]);
    // 64 come with their credits, which are 1.6 s together, and have had a third of a second.
    for number in 1..=64 {
        (0..20).for_each(|_| push(&mut ring, queue(number), "back"));
    }
    let (mut served, mut took) = (0, 0);
    while served < 110 {
        let mut turn = Turn::default();
        while ring.next(&mut turn, took).is_some() {
            (served, took) = (served + 1, 3_000_000);
        }
        ring.end(turn);
    }
    for call in ["send", "receive", "ack"] {
        push(&mut ring, queue(99), call);
        let mut turn = Turn::default();
        assert_eq!(ring.next(&mut turn, 0), Some(call));
        assert_eq!(ring.next(&mut turn, 3_000_000), None);
        ring.end(turn);
    }
}

#[test]
fn background_work_in_a_moment_without_calls_makes_no_busy_queue_a_quiet_one() {
    let mut ring = Ring::new();
    for _ in 0..20 {
        (1..=8).for_each(|number| push(&mut ring, queue(number), "busy"));
        serve(&mut ring, 4_000_000);
        push(&mut ring, Owner::Background, "background");
        serve(&mut ring, 4_000_000);
    }
    (1..=8).for_each(|number| push(&mut ring, queue(number), "busy"));
    push(&mut ring, queue(99), "quiet");
    assert_eq!(serve(&mut ring, 1_000_000)[0], ["quiet"]);
}

#[test]
fn a_queue_whose_call_met_a_stall_of_the_disk_does_not_pay_for_it() {
    let mut ring = Ring::new();
    for number in 1..=8 {
        (0..100).for_each(|_| push(&mut ring, queue(number), "others"));
    }
    (0..100).for_each(|_| push(&mut ring, queue(99), "unlucky"));
    let (mut turn, mut took) = (Turn::default(), 0);
    let mut served = Vec::new();
    while served.len() < 500 {
        match ring.next(&mut turn, took) {
            Some(call) => {
                let stalls = call == "unlucky" && served.len() < 9;
                took = if stalls { 1_000_000_000 } else { 1_000_000 };
                served.push(call);
            }
            None => {
                ring.end(std::mem::take(&mut turn));
                took = 0;
            }
        }
    }
    let next = served[9..].iter().position(|call| *call == "unlucky").unwrap();
    assert!(next <= 8 * 11, "{next} calls later");
}

#[test]
fn a_calm_turn_leaves_large_calls_and_those_that_are_ahead_of_the_others() {
    let mut ring = Ring::new();
    (0..50).for_each(|_| push(&mut ring, queue(1), "busy"));
    let calm = |ring: &mut Ring<&'static str>| {
        let (mut turn, mut calls) = (Turn::default().calm(true), Vec::new());
        while let Some(call) = ring.next(&mut turn, 1_000_000) {
            calls.push(call);
        }
        ring.end(turn);
        calls.len()
    };
    let mut served = 0;
    while ring.has_calls(true) {
        served += calm(&mut ring);
    }
    // Its credit, and no more.
    let credit = usize::try_from(CREDIT_NS / 1_000_000).unwrap();
    assert!((credit..=credit + 2).contains(&served), "{served}");
    assert!(ring.has_calls(false) && ring.len() == 50 - served);
    ring.push("large", Load::of(queue(3), 1).writing(1 << 20)).unwrap();
    assert!(!ring.has_calls(true));
    push(&mut ring, queue(2), "quiet");
    assert!(ring.has_calls(true));
    assert_eq!((calm(&mut ring), ring.has_calls(true)), (1, false));
    assert_eq!(serve(&mut ring, 0).concat().len(), 51 - served);
}

#[test]
fn a_transaction_is_bounded_in_bytes_but_holds_at_least_one_call() {
    let mut ring = Ring::new();
    for megabytes in [1, 1, 1, 9, 1] {
        let load = Load::of(queue(1), 1).writing(megabytes << 20);
        ring.push(megabytes, load).unwrap();
    }
    assert_eq!(serve(&mut ring, 0), [[1], [1], [1], [9], [1]]);
    for _ in 0..5 {
        ring.push(0, Load::of(queue(1), 1).writing(400 << 10)).unwrap();
    }
    assert_eq!(serve(&mut ring, 0), [vec![0, 0], vec![0, 0], vec![0]]);
    ring.push(1, Load::of(queue(1), 10)).unwrap();
    let (mut small, mut turn) = (Turn::bounded(9, 0), Turn::default());
    assert_eq!(ring.next(&mut small, 0), None);
    assert_eq!(ring.next(&mut turn, 0), Some(1));
}

#[test]
fn background_work_has_the_lowest_share_and_is_served_all_the_same() {
    let mut ring = Ring::new();
    for _ in 0..80 {
        push(&mut ring, Owner::Background, "background");
        push(&mut ring, queue(1), "call");
    }
    let served = serve(&mut ring, 100_000).concat();
    let first = served[..90].iter().filter(|call| **call == "background").count();
    assert!((9..=11).contains(&first), "{first} of 90");
    assert_eq!(served.len(), 160);
}

#[test]
fn what_is_put_back_goes_first_and_a_closed_ring_serves_what_is_in() {
    let mut ring = Ring::new();
    for call in ["1", "2", "3"] {
        push(&mut ring, queue(1), call);
    }
    let mut turn = Turn::default();
    let taken: Vec<_> = [ring.next(&mut turn, 0), ring.next(&mut turn, 0)].into();
    ring.close();
    ring.end(turn);
    ring.put_back(taken.into_iter().flatten().map(|call| (call, Load::of(queue(1), 1))));
    assert_eq!(ring.push("4", Load::from(1)), Err("4"));
    assert_eq!((ring.len(), serve(&mut ring, 1).concat()), (3, vec!["1", "2", "3"]));
}

#[test]
fn tries_that_are_denied_change_neither_accounts_nor_order() {
    let served = |denied: usize| {
        let mut ring = Ring::new();
        // The first queue has taken 5 ms more than the others before these calls come.
        push(&mut ring, queue(1), "a0");
        push(&mut ring, queue(2), "b0");
        let mut turn = Turn::default();
        assert_eq!(ring.next(&mut turn, 0), Some("a0"));
        for (owner, call) in [(1, "a1"), (2, "b1"), (3, "c1"), (1, "a2"), (2, "b2"), (3, "c2")] {
            let load = Load::of(queue(owner), 1).writing(1 << 20);
            ring.push(call, load).unwrap();
        }
        assert_eq!(ring.next(&mut turn, 5_000_000), None);
        ring.end(turn);
        for _ in 0..denied {
            let mut turn = Turn::default();
            let first = ring.next(&mut turn, 0);
            let taken: Vec<_> = first.into_iter().chain(ring.take_all()).collect();
            let back = taken.into_iter().map(|call| {
                let owner = 1 + u64::from(call.as_bytes()[0] - b'a');
                let bytes = if call == "b0" { 0 } else { 1 << 20 };
                (call, Load::of(queue(owner), 1).writing(bytes))
            });
            ring.put_back(back);
            ring.end(turn);
        }
        serve(&mut ring, 1_000_000).concat()
    };
    let undisturbed = served(0);
    assert_eq!(undisturbed.len(), 7);
    assert!(undisturbed[5..].iter().all(|call| call.starts_with('a')), "{undisturbed:?}");
    assert_eq!(served(1), undisturbed);
    assert_eq!(served(10), undisturbed);
}

#[test]
fn all_is_taken_at_once_also_what_came_behind_the_call_under_way() {
    let mut ring = Ring::new();
    push(&mut ring, queue(1), "1");
    let mut turn = Turn::default();
    assert_eq!(ring.next(&mut turn, 0), Some("1"));
    push(&mut ring, queue(1), "2");
    push(&mut ring, Owner::Administration, "3");
    let mut rest = ring.take_all();
    rest.sort_unstable();
    assert_eq!((rest, ring.len()), (vec!["2", "3"], 0));
    assert_eq!(ring.next(&mut turn, 0), None);
}

#[test]
fn calls_behind_one_that_panicked_wait_on() {
    let mut ring = Ring::new();
    push(&mut ring, queue(1), "panics");
    assert_eq!(ring.next(&mut Turn::default(), 0), Some("panics"));
    push(&mut ring, queue(1), "behind");
    assert!(!ring.has_calls(false));
    ring.abandon();
    assert!(ring.has_calls(false));
    assert_eq!(ring.take_all(), ["behind"]);
}

#[test]
fn accounts_of_queues_without_calls_are_forgotten_once_others_have_caught_up() {
    let mut ring = Ring::new();
    for number in 1..=10_000 {
        push(&mut ring, queue(number), "once");
        serve(&mut ring, 1000);
        assert!(ring.lists.len() <= ACCOUNTS_MAX + 1);
    }
    push(&mut ring, queue(1), "last");
    for _ in 0..3 {
        push(&mut ring, queue(1), "last");
    }
    serve(&mut ring, CREDIT_NS);
    assert!(ring.lists.len() <= 1, "{}", ring.lists.len());
    assert!(ring.resting.len() <= ring.lists.len() && ring.waiting.is_empty());
}
