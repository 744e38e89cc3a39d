//! An engine and the runtime it was opened on.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed step fails the test")]

use std::future::Future;
use std::time::Duration;

use slipring::lifecycle::Settlement;
use slipring::stores::MemoryStore;
use slipring::{
    Engine, EngineOptions, Error, ErrorKind, NewMessage, Queue, QueueSettings, ReceiveRequest,
};
use tokio::runtime::{Builder, Runtime};

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// What is waited for for at most 10 s.
async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), future).await.expect(what)
}

fn closed<T>(answer: Result<T, Error>) -> bool {
    answer.is_err_and(|error| error.kind() == ErrorKind::Closed)
}

async fn opened() -> (Engine, Queue) {
    let engine = Engine::open(MemoryStore::shared(), EngineOptions::default()).await.unwrap();
    let queue = engine.create_queue("q", QueueSettings::default()).await.unwrap();
    (engine, queue)
}

#[test]
fn calls_are_refused_when_the_runtime_of_the_engine_has_ended() {
    let (first, second) = (runtime(), runtime());
    let (engine, queue) = first.block_on(opened());
    let one = ReceiveRequest::up_to(1);
    let held = first.block_on(async {
        queue.send(NewMessage::new("a")).await.unwrap();
        let held = queue.receive(one).await.unwrap().remove(0);
        // So that the next one rests without a look.
        assert!(queue.receive(one).await.unwrap().is_empty());
        held
    });
    let resting = queue.clone();
    let rests = second.spawn(async move { resting.receive(one.wait(Duration::MAX)).await });
    second.block_on(within("it rests", async {
        while queue.waiting() == 0 {
            tokio::task::yield_now().await;
        }
    }));
    drop(first);
    second.block_on(async {
        assert!(closed(within("a wait", rests).await.unwrap()));
        for _ in 0..2 {
            assert!(closed(within("a send", queue.send(NewMessage::new("b"))).await));
            let ack = vec![(held.receipt, Settlement::Ack)];
            assert!(closed(within("an ack", queue.settle(ack)).await));
            let longer = vec![(held.receipt, None)];
            assert!(closed(within("an extension", queue.extend(longer)).await));
            assert!(closed(within("a receive", queue.receive(one)).await));
        }
        within("the shutdown", engine.shutdown()).await;
    });
}
