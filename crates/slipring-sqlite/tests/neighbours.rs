//! What becomes due in one queue holds up no other (S5.6), at a size where it would.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

mod support;

use std::sync::Arc;
use std::time::Duration;

use slipring::{Engine, EngineOptions, ManualClock, NewMessage, QueueSettings, ReceiveRequest};
use slipring_conformance::verbs::{START, bodies};
use support::open;

const MANY: usize = 100_000;
/// Left of them at least when the other queue has been served: a few turns take much less.
const LEFT: u64 = MANY as u64 / 2;

#[tokio::test]
async fn a_hundred_thousand_delays_that_end_at_once_leave_another_queue_on_time() {
    // S5.3, S5.5, S5.6
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(START);
    let options =
        EngineOptions { clock: Some(Arc::new(clock.clone())), ..EngineOptions::default() };
    let engine = Engine::open(open(folder.path()), options).await.unwrap();
    let settings =
        QueueSettings { durability: slipring::Durability::Relaxed, ..QueueSettings::default() };
    let busy = engine.create_queue("busy", settings.clone()).await.unwrap();
    let quiet = engine.create_queue("quiet", settings).await.unwrap();
    let delayed = |seconds| NewMessage::new("a").delay(Duration::from_secs(seconds));
    for _ in 0..MANY / 10_000 {
        busy.send_batch(vec![delayed(10); 10_000]).await.unwrap();
    }
    quiet.send(delayed(11)).await.unwrap();
    clock.advance(Duration::from_secs(10));
    // One that does not wait, of a queue that is empty.
    assert!(quiet.receive(ReceiveRequest::up_to(1)).await.unwrap().is_empty());
    let left = busy.stats().await.unwrap().delayed;
    assert!(left > LEFT, "it waited until only {left} of the other queue's were left");
    // A delay that ends meanwhile.
    clock.advance(Duration::from_secs(1));
    let waits = ReceiveRequest::up_to(1).wait(Duration::from_secs(60));
    assert_eq!(bodies(&quiet.receive(waits).await.unwrap()), ["a"]);
    let left = busy.stats().await.unwrap().delayed;
    assert!(left > LEFT, "it came when only {left} of the other queue's were left");
    engine.shutdown().await;
}
