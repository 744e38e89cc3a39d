//! One order for all who wait: those over one queue, those over several, and those whose time is
//! over while a pass is owed.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;
use slipring::{Queue, Randomness, ReceiveRequest, SeededRandomness};
use tokio::task::JoinSet;

use crate::bench::{Bench, bodies, m, ms, s};
use crate::case::{Case, case};
use crate::fault::{Fault, Verb};

use super::several::{Receiving, any, any_waiter, several};
use super::{EngineBench, got, receiving, send, texts, until, waiter, within};

pub(super) const CASES: &[Case] = &[
    case!(a_receive_over_several_goes_behind_one_that_waits_for_one_of_them, "S2.5"),
    case!(a_receive_over_several_that_does_not_wait_goes_behind_those_that_do, "S2.5"),
    case!(a_receive_over_one_goes_behind_one_that_waits_for_several, "S2.5"),
    case!(what_is_left_behind_others_is_found_in_all_queues, "S2.5", "S5.5"),
    case!(receives_over_any_queues_are_served_in_the_order_in_which_they_came, "S2.4", "S2.5"),
    case!(receives_over_any_queues_miss_nothing, threads 4, "S2.4", "S2.5"),
    case!(a_wait_that_ends_during_a_pass_keeps_its_place, "S2.5", "S5.5"),
    case!(a_receive_that_does_not_wait_keeps_its_place_during_a_pass, "S2.5", "S5.5"),
];

/// Waits until a receive waits in so many more queues than `before`, or has ended.
async fn in_or_ended(receive: &Receiving, queues: &[Queue], before: usize, more: usize) {
    let waits = || queues.iter().map(Queue::waiting).sum::<usize>();
    until("the receive is in", async || receive.is_finished() || waits() >= before + more).await;
}

async fn turns() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

async fn a_receive_over_several_goes_behind_one_that_waits_for_one_of_them(b: Bench) {
    let e = EngineBench::open(b).await;
    for round in 0..4 {
        let queues = several(&e, 2, &format!("r{round}")).await;
        let first = waiter(&queues[0]).await;
        e.store.idle().await;
        // The look on behalf of the first has begun and has not come to the store.
        e.store.plan(Verb::Claim, 1, Fault::Hang);
        send(&queues[0], "a").await;
        e.store.hanging(1).await;
        let second = any(&e, &queues, ReceiveRequest::up_to(1).wait(s(3600)));
        in_or_ended(&second, &queues, 0, 2).await;
        e.store.release();
        assert_eq!(texts(first).await, ["a"]);
        send(&queues[round % 2], "b").await;
        assert_eq!(texts(second).await, ["b"]);
    }
}

async fn a_receive_over_several_that_does_not_wait_goes_behind_those_that_do(b: Bench) {
    let e = EngineBench::open(b).await;
    for round in 0..4 {
        let queues = several(&e, 2, &format!("r{round}")).await;
        let first = waiter(&queues[0]).await;
        e.store.idle().await;
        e.store.plan(Verb::Claim, 1, Fault::Hang);
        send(&queues[0], "a").await;
        e.store.hanging(1).await;
        let second = any(&e, &queues, ReceiveRequest::up_to(1));
        in_or_ended(&second, &queues, 0, 1).await;
        e.store.release();
        assert_eq!(texts(first).await, ["a"]);
        assert!(texts(second).await.is_empty());
    }
}

async fn a_receive_over_one_goes_behind_one_that_waits_for_several(b: Bench) {
    let e = EngineBench::open(b).await;
    for round in 0..4 {
        let queues = several(&e, 2, &format!("r{round}")).await;
        let first = any_waiter(&e, &queues).await;
        e.store.idle().await;
        e.store.plan(Verb::Claim, 1, Fault::Hang);
        send(&queues[0], "a").await;
        e.store.hanging(1).await;
        let second = receiving(&queues[0], ReceiveRequest::up_to(1).wait(s(3600)));
        in_or_ended(&second, &queues, 0, 1).await;
        let third = any(&e, &queues, ReceiveRequest::up_to(1).wait(s(3600)));
        in_or_ended(&third, &queues, 1, 2).await;
        e.store.release();
        assert_eq!(texts(first).await, ["a"]);
        send(&queues[0], "b").await;
        assert_eq!(texts(second).await, ["b"]);
        send(&queues[1], "c").await;
        assert_eq!(texts(third).await, ["c"]);
    }
}

async fn what_is_left_behind_others_is_found_in_all_queues(b: Bench) {
    let e = EngineBench::open(b).await;
    let queues = several(&e, 3, "queue").await;
    let waiters = [waiter(&queues[0]).await, waiter(&queues[1]).await];
    e.store.idle().await;
    e.store.plan(Verb::Claim, 1, Fault::Hang);
    e.store.plan(Verb::Claim, 2, Fault::Hang);
    queues[0].send_batch(vec![m("a").priority(0), m("late").priority(9)]).await.unwrap();
    queues[1].send_batch(vec![m("b").priority(0), m("soon").priority(1)]).await.unwrap();
    e.store.hanging(2).await;
    let all = any(&e, &queues, ReceiveRequest::up_to(1));
    in_or_ended(&all, &queues, 0, 1).await;
    e.store.release();
    for (waits, text) in waiters.into_iter().zip(["a", "b"]) {
        assert_eq!(texts(waits).await, [text]);
    }
    let first = texts(all).await;
    let second = texts(any(&e, &queues, ReceiveRequest::up_to(1))).await;
    let mut both = [first, second].concat();
    both.sort();
    assert_eq!(both, ["late", "soon"]);
    assert!(texts(any(&e, &queues, ReceiveRequest::up_to(1))).await.is_empty());
}

/// Receives that wait, in the order in which they came, and the queues that each waits for.
struct Line<'a> {
    e: &'a EngineBench,
    queues: Vec<Queue>,
    random: SeededRandomness,
    waiting: Vec<(Vec<usize>, Receiving)>,
}

impl Line<'_> {
    fn below(&mut self, limit: usize) -> usize {
        (self.random.unit() * limit as f64) as usize
    }

    /// A receive over some of the queues comes, and waits.
    async fn come(&mut self) {
        let mut watched: Vec<usize> = (0..self.queues.len()).collect();
        while watched.len() > 1 && self.below(3) > 0 {
            let out = self.below(watched.len());
            watched.remove(out);
        }
        let queues: Vec<Queue> = watched.iter().map(|at| self.queues[*at].clone()).collect();
        let before = queues.iter().map(Queue::waiting).sum();
        let receive = any(self.e, &queues, ReceiveRequest::up_to(1).wait(s(3600)));
        in_or_ended(&receive, &queues, before, queues.len()).await;
        assert!(!receive.is_finished(), "what others wait for");
        self.waiting.push((watched, receive));
    }

    /// A receive goes away.
    async fn leave(&mut self) {
        let at = self.below(self.waiting.len());
        let (_, leaves) = self.waiting.remove(at);
        leaves.abort();
        assert!(within("the receive", leaves).await.unwrap_err().is_cancelled());
    }

    /// The receive whose turn it is in a queue.
    fn first(&self, queue: usize) -> Option<usize> {
        self.waiting.iter().position(|(watched, _)| watched.contains(&queue))
    }

    /// A message comes, and with `meanwhile` receives come and go before the store has it looked
    /// for.
    async fn serve(&mut self, text: &str, meanwhile: bool) {
        let queue = self.below(self.queues.len());
        if self.first(queue).is_none() {
            return;
        }
        self.e.store.idle().await;
        if meanwhile {
            self.e.store.plan(Verb::Claim, 1, Fault::Hang);
        }
        // The look may go along with the send, which then hangs too.
        let sending = tokio::spawn({
            let (queue, message) = (self.queues[queue].clone(), m(text));
            async move { queue.send(message).await }
        });
        if meanwhile {
            self.e.store.hanging(1).await;
            for _ in 0..self.below(3) {
                self.come().await;
            }
            if self.below(3) == 0 {
                self.leave().await;
            }
            self.come().await;
            self.e.store.release();
        }
        within("the send", sending).await.unwrap().unwrap();
        while self.first(queue).is_none() {
            self.come().await;
        }
        let (_, receive) = self.waiting.remove(self.first(queue).unwrap());
        let list = got(receive).await;
        assert_eq!((bodies(&list), list[0].message.attempts), (vec![text.to_owned()], 1));
        self.queues[queue].ack(&list[0].receipt).await.unwrap();
        self.e.store.idle().await;
        assert!(self.waiting.iter().all(|(_, receive)| !receive.is_finished()));
    }
}

async fn receives_over_any_queues_are_served_in_the_order_in_which_they_came(b: Bench) {
    served_in_order(EngineBench::open(b).await).await;
}

pub(super) async fn served_in_order(e: EngineBench) {
    for seed in 0..6 {
        let queues = several(&e, 3, &format!("s{seed}")).await;
        let random = SeededRandomness::new(seed);
        let mut line = Line { e: &e, queues, random, waiting: Vec::new() };
        for step in 0..60 {
            if line.waiting.len() < 8 {
                line.come().await;
            }
            let meanwhile = line.below(2) == 0;
            line.serve(&format!("{seed}-{step}"), meanwhile).await;
        }
        for (_, receive) in line.waiting {
            receive.abort();
        }
    }
}

async fn receives_over_any_queues_miss_nothing(b: Bench) {
    miss_nothing(EngineBench::open(b).await).await;
}

pub(super) async fn miss_nothing(e: EngineBench) {
    let queues = several(&e, 4, "queue").await;
    let done: Arc<Mutex<HashSet<String>>> = Arc::default();
    let mut workers = JoinSet::new();
    for nth in 0..10_u64 {
        let (engine, queues, done) = (e.engine.clone(), queues.clone(), Arc::clone(&done));
        workers.spawn(async move {
            let random = SeededRandomness::new(nth);
            // Each watches queues next to each other; all together watch every one.
            let count = 1 + nth as usize % 3;
            let watched: Vec<Queue> =
                (0..count).map(|n| queues[(nth as usize + n) % 4].clone()).collect();
            let mut kept = engine.several(&watched);
            loop {
                let wait = if random.unit() < 0.2 { s(0) } else { s(3600) };
                let received = kept.receive(ReceiveRequest::up_to(2).wait(wait));
                let list = match random.unit() < 0.1 {
                    true => tokio::select! {
                        list = received => list.unwrap(),
                        () = turns() => continue,
                    },
                    false => received.await.unwrap(),
                };
                for delivery in list {
                    let of = watched.iter().find(|queue| queue.id() == delivery.receipt.queue);
                    of.unwrap().ack(&delivery.receipt).await.unwrap();
                    done.lock().extend(bodies(&[delivery]));
                }
                if wait.is_zero() {
                    tokio::task::yield_now().await;
                }
            }
        });
    }
    for n in 0..400 {
        send(&queues[n % 4], n.to_string()).await;
        if n % 20 == 0 {
            until("all are done", async || done.lock().len() == n + 1).await;
        }
    }
    until("all are done", async || done.lock().len() == 400).await;
    assert!(workers.try_join_next().is_none(), "a worker has failed");
}

async fn a_wait_that_ends_during_a_pass_keeps_its_place(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    q.send(m("due").delay(s(20))).await.unwrap();
    let ends = receiving(&q, ReceiveRequest::up_to(1).wait(s(20)));
    until("the receive waits", async || q.waiting() == 1).await;
    let stays = waiter(&q).await;
    e.store.idle().await;
    e.store.plan(Verb::Due, 1, Fault::Hang);
    e.bench.advance(ms(20_050));
    e.store.hanging(1).await;
    e.store.still().await;
    assert!(!ends.is_finished(), "what is due may be for it");
    send(&q, "now").await;
    assert_eq!(texts(ends).await, ["now"]);
    e.store.release();
    assert_eq!(texts(stays).await, ["due"]);
}

async fn a_receive_that_does_not_wait_keeps_its_place_during_a_pass(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    q.send(m("due").delay(s(20))).await.unwrap();
    let first = waiter(&q).await;
    e.store.idle().await;
    e.store.plan(Verb::Due, 1, Fault::Hang);
    e.bench.advance(ms(20_000));
    e.store.hanging(1).await;
    let calls = e.store.calls(Verb::Claim);
    let looks = receiving(&q, ReceiveRequest::up_to(1));
    until("it looks", async || e.store.calls(Verb::Claim) > calls).await;
    e.store.still().await;
    assert!(!looks.is_finished(), "what is due may be for it");
    let later = receiving(&q, ReceiveRequest::up_to(1).wait(s(3600)));
    e.store.still().await;
    for (receive, text) in [(first, "one"), (looks, "two")] {
        send(&q, text).await;
        assert_eq!(texts(receive).await, [text]);
    }
    e.store.release();
    assert_eq!(texts(later).await, ["due"]);
}
