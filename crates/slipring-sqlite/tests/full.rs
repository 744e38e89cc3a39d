//! A full disk, played by a limit on the size of the file.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

mod support;

use slipring::lifecycle::Settlement;
use slipring::store::{SettleBatch, Store};
use slipring::{AdminStore, ErrorKind, NewMessage, Retry};
use slipring_conformance::verbs::{ack_all, at, claim, counts, plain, try_send};
use slipring_sqlite::SqliteOptions;

const LARGE: usize = 50_000;

fn small() -> SqliteOptions {
    SqliteOptions { file_bytes_max: Some(1 << 20), ..SqliteOptions::default() }
}

fn large() -> Vec<NewMessage> {
    vec![NewMessage::new(vec![b'x'; LARGE])]
}

#[tokio::test]
async fn a_full_disk_refuses_sends_loses_nothing_and_service_resumes() {
    // S2.2, failure table
    let folder = tempfile::tempdir().unwrap();
    let store = support::open_with(folder.path(), small());
    let q = plain(&store).await;
    let mut taken = 0;
    let error = loop {
        match try_send(&store, q, large(), at(0)).await {
            Ok(_) => taken += 1,
            Err(error) => break error,
        }
    };
    assert_eq!((error.kind(), error.retry()), (ErrorKind::StorageFull, Retry::Later));
    assert!(taken > 10, "{taken}");
    assert_eq!(counts(&store, q).await, [taken, 0, 0, 0]);
    // Receives and acks need no room and make some.
    let held = claim(&store, q, 3, at(0)).await;
    ack_all(&store, q, &held, at(0)).await;
    assert_eq!(counts(&store, q).await, [taken - 3, 0, 0, 0]);
    try_send(&store, q, large(), at(0)).await.expect("there is room again");
    store.close().await.unwrap();
    let store = support::open_with(folder.path(), small());
    assert_eq!(counts(&store, q).await, [taken - 2, 0, 0, 0]);
}

#[tokio::test]
async fn what_needs_no_room_goes_through_beside_what_does() {
    let folder = tempfile::tempdir().unwrap();
    let store = support::open_with(folder.path(), small());
    let q = plain(&store).await;
    while try_send(&store, q, large(), at(0)).await.is_ok() {}
    let held = claim(&store, q, 2, at(0)).await;
    // Left at once, so that they share a transaction; the send is first and has no room.
    let entries = held.iter().map(|delivery| (delivery.receipt, Settlement::Ack)).collect();
    let sends = futures_of(&store, q);
    let acks = store.settle(SettleBatch { queue: q, now: at(0), entries });
    let (sends, acks) = tokio::join!(sends, acks);
    let refused = sends.into_iter().filter(|sent| sent.is_err()).count();
    assert!(refused > 0, "twenty large messages do not fit");
    assert!(acks.unwrap().iter().all(Result::is_ok));
}

async fn futures_of(
    store: &std::sync::Arc<slipring_sqlite::SqliteStore>,
    q: slipring::QueueId,
) -> Vec<Result<(), slipring::Error>> {
    let mut answers = Vec::new();
    for _ in 0..20 {
        answers.push(try_send(store, q, large(), at(0)).await.map(drop));
    }
    answers
}
