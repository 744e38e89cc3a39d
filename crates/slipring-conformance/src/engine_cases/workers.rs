//! The worker loop over the engine.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures::future::BoxFuture;
use slipring::worker::Outcome;
use slipring::{
    Message, MessageState, PeekFilter, Queue, QueueSettings, Reason, Worker, WorkerOptions,
};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::bench::{Bench, m, s, settings};
use crate::case::{Case, case};
use crate::fault::{Fault, Verb};

use super::{EngineBench, send, take_one, until, within};

const PARKED: PeekFilter = PeekFilter { state: Some(MessageState::Parked), limit: 10 };

pub(super) const CASES: &[Case] = &[
    case!(a_worker_does_every_message_once, "S2.1", "S4.1"),
    case!(a_worker_settles_as_its_handler_says, "S6.2", "S6.5", "S6.8"),
    case!(a_handler_that_panics_has_failed, "S6.1", "S6.8", "S11.1"),
    case!(a_long_handler_keeps_its_lease, "S3.1"),
    case!(a_worker_goes_on_when_the_store_panics, "S2.4"),
    case!(a_stopping_worker_finishes_what_runs, "S2.1"),
    case!(a_stopping_worker_hands_back_what_does_not_finish, "S2.3"),
];

/// Moves the clock by a second and lets everybody catch up; the store may work on threads of its
/// own, or elsewhere.
async fn advance(e: &EngineBench) {
    e.bench.advance(s(1));
    e.bench.due().await;
    e.store.idle().await;
}

fn options(concurrency: u32) -> WorkerOptions {
    WorkerOptions { concurrency, ..WorkerOptions::default() }
}

/// A worker on the queue in a task of its own.
fn working<H, F>(q: &Queue, places: u32, handler: H, stop: &CancellationToken) -> JoinHandle<()>
where
    H: Fn(Message) -> F + Send + Sync + 'static,
    F: Future<Output = Outcome> + Send + 'static,
{
    let worker = Worker::new(q.clone(), options(places));
    let stop = stop.clone();
    tokio::spawn(async move { worker.run(handler, stop).await })
}

async fn a_worker_does_every_message_once(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    let done = Arc::new(AtomicU32::new(0));
    let stop = CancellationToken::new();
    let count = Arc::clone(&done);
    let handler = move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        async { Outcome::Done }
    };
    let running = working(&q, 4, handler, &stop);
    for n in 0..50 {
        send(&q, n.to_string()).await;
    }
    until("all are done", async || q.stats().await.unwrap().total() == 0).await;
    stop.cancel();
    within("the worker", running).await.unwrap();
    assert_eq!(done.load(Ordering::Relaxed), 50);
}

async fn a_worker_settles_as_its_handler_says(b: Bench) {
    let e = EngineBench::open(b).await;
    let dead = e.queue("dead", QueueSettings::default()).await;
    let name = dead.name();
    let q = e.queue("queue", settings(|to| to.dead_letter = Some(name))).await;
    q.send_batch(["done", "later", "give up", "why"].map(m).to_vec()).await.unwrap();
    let stop = CancellationToken::new();
    let handler = |message: Message| async move {
        match &message.body[..] {
            b"done" => Outcome::Done,
            b"later" => Outcome::RetryAfter(s(100)),
            b"why" if message.attempts == 1 => Outcome::RetryBecause("not yet".into()),
            b"why" => Outcome::GiveUpBecause("never".into()),
            _ => Outcome::GiveUp,
        }
    };
    let running = working(&q, 1, handler, &stop);
    until("all are settled", async || {
        let stats = q.stats().await.unwrap();
        (stats.ready, stats.leased, stats.delayed) == (0, 0, 1)
    })
    .await;
    assert_eq!(take_one(&dead).await.message.body, "give up");
    let why = take_one(&dead).await.message;
    let failures = e.engine.lookup(why.id).await.unwrap().expect("it is there").failures;
    let reasons = failures.iter().map(|failed| failed.reason.as_ref().map(Reason::as_str));
    assert_eq!(reasons.collect::<Vec<_>>(), [Some("not yet"), Some("never")]);
    stop.cancel();
    within("the worker", running).await.unwrap();
}

async fn a_handler_that_panics_has_failed(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.queue("queue", settings(|to| to.max_attempts = Some(2))).await;
    q.send_batch(vec![m("panic"), m("good")]).await.unwrap();
    let stop = CancellationToken::new();
    q.send(m("at once")).await.unwrap();
    let handler = |message: Message| {
        assert_ne!(message.body, "at once", "this panic is part of the case");
        async move {
            assert_eq!(message.body, "good", "this panic is part of the case");
            Outcome::Done
        }
    };
    let running = working(&q, 1, handler, &stop);
    until("one is done and two are parked", async || {
        let stats = q.stats().await.unwrap();
        (stats.total(), stats.parked) == (2, 2)
    })
    .await;
    for parked in q.peek(PARKED).await.unwrap() {
        assert_eq!(parked.failures.len(), 2);
        let reason = parked.failures[1].reason.as_ref().expect("the panic says why");
        assert!(reason.as_str().contains("this panic is part of the case"), "{reason}");
    }
    stop.cancel();
    within("the worker", running).await.unwrap();
}

/// What a handler says that it has begun, and waits for before it is done.
#[derive(Clone, Default)]
struct Gate {
    begun: Arc<AtomicU32>,
    finish: Arc<Notify>,
}

impl Gate {
    fn handler(&self) -> impl Fn(Message) -> BoxFuture<'static, Outcome> + Send + Sync + 'static {
        let gate = self.clone();
        move |_| {
            let gate = gate.clone();
            Box::pin(async move {
                gate.begun.fetch_add(1, Ordering::Relaxed);
                gate.finish.notified().await;
                Outcome::Done
            })
        }
    }

    async fn begun(&self, count: u32) {
        until("it runs", async || self.begun.load(Ordering::Relaxed) == count).await;
    }
}

async fn a_long_handler_keeps_its_lease(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    send(&q, "long").await;
    let (gate, stop) = (Gate::default(), CancellationToken::new());
    let running = working(&q, 1, gate.handler(), &stop);
    gate.begun(1).await;
    for renewals in 1..=20 {
        // The lease is renewed when a third of it has passed.
        until("the next renewal is made", async || {
            advance(&e).await;
            e.store.calls(Verb::Extend) >= renewals
        })
        .await;
    }
    assert_eq!(q.stats().await.unwrap().leased, 1);
    gate.finish.notify_one();
    until("it is done", async || q.stats().await.unwrap().total() == 0).await;
    stop.cancel();
    within("the worker", running).await.unwrap();
    gate.begun(1).await;
}

async fn a_worker_goes_on_when_the_store_panics(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    send(&q, "a").await;
    e.store.plan(Verb::Claim, 1, Fault::Panic);
    let stop = CancellationToken::new();
    let running = working(&q, 1, |_| async { Outcome::Done }, &stop);
    until("it is done", async || {
        advance(&e).await;
        q.stats().await.unwrap().total() == 0
    })
    .await;
    stop.cancel();
    within("the worker", running).await.unwrap();
}

async fn a_stopping_worker_finishes_what_runs(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    q.send_batch(vec![m("runs"), m("waits")]).await.unwrap();
    let (gate, stop) = (Gate::default(), CancellationToken::new());
    let running = working(&q, 1, gate.handler(), &stop);
    gate.begun(1).await;
    stop.cancel();
    gate.finish.notify_one();
    within("the worker", running).await.unwrap();
    let stats = q.stats().await.unwrap();
    assert_eq!((stats.ready, stats.leased), (1, 0));
}

async fn a_stopping_worker_hands_back_what_does_not_finish(b: Bench) {
    let e = EngineBench::open(b).await;
    let q = e.plain().await;
    q.send_batch(vec![m("a"), m("b"), m("c")]).await.unwrap();
    let (gate, stop) = (Gate::default(), CancellationToken::new());
    let running = working(&q, 3, gate.handler(), &stop);
    gate.begun(3).await;
    stop.cancel();
    until("the grace time is over", async || {
        advance(&e).await;
        running.is_finished()
    })
    .await;
    assert_eq!(q.stats().await.unwrap().ready, 3);
    assert_eq!(take_one(&q).await.message.attempts, 1, "the attempt is not counted");
}
