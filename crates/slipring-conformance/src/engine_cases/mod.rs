//! The engine over the store under test: waiting, timers, combining, faults, the end.
//!
//! The engine's clock is the bench's, so nothing happens that a case did not bring about.

mod along;
mod arrival;
mod cancelled;
mod combining;
mod counts;
mod dividing;
mod faults;
mod neighbours;
mod seats;
mod settings;
mod several;
mod shutdown;
mod timers;
mod unblocked;
mod waiting;
mod workers;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use slipring::{
    Delivery, Engine, EngineOptions, Error, Limits, Queue, QueueSettings, ReceiveRequest,
};
use tokio::task::JoinHandle;

use crate::bench::{Bench, Sendable, bodies, s};
use crate::case::Case;
use crate::fault::{FaultyStore, Verb};

/// Every engine case, by subject.
pub fn all() -> impl Iterator<Item = &'static Case> {
    let subjects = [
        waiting::CASES,
        along::CASES,
        unblocked::CASES,
        timers::CASES,
        neighbours::CASES,
        arrival::CASES,
        seats::CASES,
        several::CASES,
        cancelled::CASES,
        combining::CASES,
        counts::CASES,
        dividing::CASES,
        faults::CASES,
        settings::CASES,
        workers::CASES,
        shutdown::CASES,
    ];
    subjects.into_iter().flatten()
}

/// An engine over a store with faults on demand.
#[derive(Clone)]
struct EngineBench {
    bench: Bench,
    store: Arc<FaultyStore>,
    engine: Engine,
}

impl EngineBench {
    async fn open(bench: Bench) -> EngineBench {
        EngineBench::with_limits(bench, Limits::default()).await
    }

    async fn with_limits(bench: Bench, limits: Limits) -> EngineBench {
        let store = FaultyStore::new(bench.store());
        EngineBench::over(bench, store, limits).await
    }

    /// Over a store that wants calls of no more messages than this.
    async fn with_calls_of(bench: Bench, messages: u32) -> EngineBench {
        let store = FaultyStore::with_calls_of(bench.store(), Some(messages));
        EngineBench::over(bench, store, Limits::default()).await
    }

    /// Over a store that appends and claims in one call.
    async fn along(bench: Bench) -> EngineBench {
        let store = FaultyStore::with_appends_and_claims(bench.store());
        EngineBench::over(bench, store, Limits::default()).await
    }

    async fn over(bench: Bench, store: Arc<FaultyStore>, limits: Limits) -> EngineBench {
        let clock = Arc::new(bench.clock.clone());
        let options = EngineOptions { clock: Some(clock), limits, ..EngineOptions::default() };
        let engine = Engine::open(Arc::clone(&store) as _, options).await.expect("it opens");
        EngineBench { bench, store, engine }
    }

    async fn queue(&self, name: &str, settings: QueueSettings) -> Queue {
        self.engine.create_queue(name, settings).await.expect("the queue can be created")
    }

    async fn plain(&self) -> Queue {
        self.queue("queue", QueueSettings::default()).await
    }
}

/// Sends, and expects it to be taken.
async fn send(queue: &Queue, message: impl Sendable) {
    queue.send(message.message()).await.expect("the message is taken");
}

/// A receive in a task of its own.
fn receiving(queue: &Queue, request: ReceiveRequest) -> JoinHandle<Result<Vec<Delivery>, Error>> {
    let queue = queue.clone();
    tokio::spawn(async move { queue.receive(request).await })
}

/// A receive of one message that waits for an hour, in a task of its own, when it has got in.
async fn waiter(queue: &Queue) -> JoinHandle<Result<Vec<Delivery>, Error>> {
    let before = queue.waiting();
    let task = receiving(queue, ReceiveRequest::up_to(1).wait(s(3600)));
    until("the receive waits", async || queue.waiting() > before).await;
    task
}

/// Waits until the first receive has looked, and has looked again if something moved meanwhile.
async fn looked(e: &EngineBench) {
    until("the receive looks", async || e.store.calls(Verb::Claim) >= 1).await;
    e.store.idle().await;
}

/// A receive of one message in a task of its own that may find one at once.
fn next(queue: &Queue) -> JoinHandle<Result<Vec<Delivery>, Error>> {
    receiving(queue, ReceiveRequest::up_to(1).wait(s(3600)))
}

/// The texts that a receive in a task ends with.
async fn texts(task: JoinHandle<Result<Vec<Delivery>, Error>>) -> Vec<String> {
    bodies(&got(task).await)
}

/// What a receive in a task ends with.
async fn got(task: JoinHandle<Result<Vec<Delivery>, Error>>) -> Vec<Delivery> {
    within("a receive", task).await.expect("the task ends").expect("the receive succeeds")
}

/// One message, without waiting.
async fn take_one(queue: &Queue) -> Delivery {
    let mut list = queue.receive(ReceiveRequest::up_to(1)).await.expect("the receive succeeds");
    list.pop().expect("a message is ready")
}

/// Waits for something that comes by itself; the time limit only ends a case that hangs.
async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let ended = tokio::time::timeout(Duration::from_secs(30), future).await;
    ended.unwrap_or_else(|_| panic!("{what} did not come to an end"))
}

/// Waits until a condition holds.
async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    within(what, async {
        while !condition().await {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
