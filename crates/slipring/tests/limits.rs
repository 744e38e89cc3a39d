//! What an error of a limit names.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed step fails the test")]

use std::convert::Infallible;
use std::time::Duration;

use slipring::lifecycle::Settlement;
use slipring::stores::MemoryStore;
use slipring::{
    Engine, EngineOptions, Error, ErrorKind, NewMessage, PeekFilter, QueueSettings, ReceiveRequest,
};

const LONG: Duration = Duration::from_secs(1 << 33);

/// What a call was refused with.
fn refusal<T>(answer: Result<T, Error>) -> Error {
    answer.err().expect("it is over a limit")
}

#[tokio::test]
async fn an_error_of_a_limit_names_limit_value_queue_and_operation() {
    // S12.2
    let engine = Engine::open(MemoryStore::shared(), EngineOptions::default()).await.unwrap();
    let queue = engine.create_queue("q", QueueSettings::default()).await.unwrap();
    let other = engine.create_queue("other", QueueSettings::default()).await.unwrap();
    let sent = queue.send(NewMessage::new("a")).await.unwrap();
    let held = queue.receive(ReceiveRequest::up_to(1)).await.unwrap().remove(0).receipt;
    let many = ReceiveRequest::up_to(u32::MAX);
    let settings = QueueSettings { delay: LONG, ..QueueSettings::default() };
    let later = Settlement::Nack { delay: Some(LONG), priority: None, reason: None };
    let several = [queue.clone(), other];
    let refused = [
        ("send", refusal(queue.send(NewMessage::new("a").delay(LONG)).await)),
        ("receive", refusal(queue.receive(many).await)),
        ("receive", refusal(queue.receive(ReceiveRequest::up_to(1).lease(LONG)).await)),
        ("receive", refusal(queue.receive(ReceiveRequest::up_to(1).wait(LONG)).await)),
        ("receive", refusal(engine.receive_any(&several, many).await)),
        ("claim_message", refusal(queue.claim_message(sent.id, many).await)),
        ("settle", refusal(queue.settle(vec![(held, later)]).await)),
        ("settle", refusal(queue.nack(&held, Some(LONG)).await)),
        ("extend", refusal(queue.extend(vec![(held, Some(LONG))]).await)),
        ("extend", refusal(queue.take_up(vec![(held, LONG)]).await)),
        ("peek", refusal(queue.peek(PeekFilter { state: None, limit: 1001 }).await)),
        ("configure", refusal(queue.configure(settings.clone()).await)),
        ("configure", refusal(queue.change(|_| Ok::<_, Infallible>(settings.clone())).await)),
        ("create_queue", refusal(engine.create_queue("q", settings.clone()).await)),
    ];
    for (operation, error) in refused {
        assert_eq!((error.kind(), error.operation()), (ErrorKind::LimitExceeded, operation));
        let named = |key| error.context().iter().filter(|(k, _)| *k == key).count();
        let names = ["limit", "limit_value", "asked", "queue"].map(named);
        assert_eq!(names, [1; 4], "{operation}: {error}");
        assert!(error.context().contains(&("queue", "q".to_owned())), "{error}");
    }
    engine.shutdown().await;
    let closed = refusal(queue.send(NewMessage::new("a")).await);
    assert_eq!((closed.kind(), closed.operation()), (ErrorKind::Closed, "send"));
}
