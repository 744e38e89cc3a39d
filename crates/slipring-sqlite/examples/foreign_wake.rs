//! How long a message sent by another process takes to wake a receive, by the number of queues.
//!
//! `cargo run --release -p slipring-sqlite --example foreign_wake -- 100 10000`
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement by hand"
)]

use std::time::Duration;

use slipring::clock::monotonic_ns;
use slipring::{Durability, Engine, EngineOptions, NewMessage, QueueSettings, ReceiveRequest};
use slipring_sqlite::{SqliteOptions, SqliteStore};

const WAKES: usize = 200;

#[tokio::main]
async fn main() {
    for queues in std::env::args().skip(1).map(|number| number.parse::<usize>().unwrap()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let open = || SqliteStore::open(path.clone(), SqliteOptions::default()).unwrap();
        let [here, there] =
            [open(), open()].map(|store| Engine::open(store, EngineOptions::default()));
        let (here, there) = (here.await.unwrap(), there.await.unwrap());
        let settings =
            QueueSettings { durability: Durability::Relaxed, ..QueueSettings::default() };
        for n in 0..queues {
            here.create_queue(&format!("queue-{n}"), settings.clone()).await.unwrap();
        }
        let to = there.queue("queue-7").await.unwrap();
        let from = here.queue("queue-7").await.unwrap();
        let mut wakes = Vec::new();
        for _ in 0..WAKES {
            let request = ReceiveRequest::up_to(1).wait(Duration::from_secs(60));
            let waiting = tokio::spawn({
                let from = from.clone();
                async move {
                    let got = from.receive(request).await.unwrap();
                    (monotonic_ns(), got)
                }
            });
            tokio::time::sleep(Duration::from_millis(30)).await;
            let sent_ns = monotonic_ns();
            to.send(NewMessage::new("a")).await.unwrap();
            let (woken_ns, got) = waiting.await.unwrap();
            wakes.push(Duration::from_nanos(woken_ns - sent_ns));
            from.ack(&got[0].receipt).await.unwrap();
        }
        wakes.sort();
        let at = |percent: usize| wakes[WAKES * percent / 100];
        println!("{queues} queues: P50 {:?} P95 {:?} max {:?}", at(50), at(95), at(99));
        here.shutdown().await;
        there.shutdown().await;
    }
}
