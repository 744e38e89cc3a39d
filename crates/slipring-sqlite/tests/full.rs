//! A full disk, played by a limit on the size of the file.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

mod support;

use std::time::Duration;

use slipring::lifecycle::Settlement;
use slipring::store::{Demand, SettleBatch, Store};
use slipring::{AdminStore, ErrorKind, NewMessage, Retry};
use slipring_conformance::verbs::{ack_all, at, claim, claim_with, counts, plain, try_send};
use slipring_sqlite::{SqliteOptions, SqliteStore};

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
    // Receives and acks find the room that sends have left, and make some.
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

#[tokio::test]
async fn what_a_dead_holder_had_comes_back_in_a_full_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = support::open_with(folder.path(), small());
    let q = plain(&store).await;
    let mut taken = 0;
    while try_send(&store, q, large(), at(0)).await.is_ok() {
        taken += 1;
    }
    // The first time from the log, then as rows.
    for round in [0, 100, 200] {
        assert_eq!(claim(&store, q, 100, at(round)).await.len() as u64, taken);
        store.expire(at(round + 60)).await.expect("what is there finds room");
        assert_eq!(counts(&store, q).await, [taken, 0, 0, 0], "round {round}");
    }
    let held = claim(&store, q, 100, at(300)).await;
    ack_all(&store, q, &held, at(300)).await;
    try_send(&store, q, large(), at(300)).await.expect("there is room again");
}

#[tokio::test]
async fn small_messages_of_a_dead_holder_come_back_as_others_leave_a_full_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = support::open_with(folder.path(), small());
    let q = plain(&store).await;
    let mut taken = 0;
    let unit = || vec![NewMessage::new("x".repeat(100)); 20];
    while try_send(&store, q, unit(), at(0)).await.is_ok() {
        taken += 20;
    }
    // Leases that lapse one after another, so that a pass takes hardly any room.
    let mut leases = 0;
    while !claim(&store, q, 20, at(leases)).await.is_empty() {
        leases += 1;
    }
    let (mut lapsed, mut done) = (0, 0);
    for _ in 0..taken {
        // A pass may find no room, for a message that comes back is larger than before.
        while lapsed < leases
            && let Ok(pass) = store.expire(at(30 + lapsed)).await
        {
            lapsed += u64::from(pass.next != Some(at(30 + lapsed)));
        }
        let held = claim(&store, q, 100, at(lapsed)).await;
        if held.is_empty() {
            break;
        }
        ack_all(&store, q, &held, at(lapsed)).await;
        done += held.len();
    }
    assert_eq!((done, counts(&store, q).await), (taken, [0, 0, 0, 0]));
}

#[tokio::test]
async fn a_full_file_opens_although_not_all_sessions_find_room_to_end() {
    let folder = tempfile::tempdir().unwrap();
    let store = support::open_with(folder.path(), small());
    let q = plain(&store).await;
    let unit = || vec![NewMessage::new("x".repeat(100)); 20];
    while try_send(&store, q, unit(), at(0)).await.is_ok() {}
    let session = Demand { up_to: 10_000, lease: None, session: true };
    let taken = claim_with(&store, q, session, at(0)).await.0.len() as u64;
    store.close().await.unwrap();
    let store = support::open_with(folder.path(), small());
    let [ready, delayed, leased, parked] = counts(&store, q).await;
    assert!(ready > 0 && leased > 0, "{ready} {leased}");
    assert_eq!((ready + leased, delayed + parked), (taken, 0));
}

/// The file that the child opens; set only for the child.
const FILE: &str = "SLIPRING_TEST_OPENS";

/// Not a test by itself: what the child of the test below does.
#[tokio::test]
async fn a_process_that_opens_where_no_log_finds_room() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let store = SqliteStore::open(file, SqliteOptions::default()).unwrap();
    let q = plain_again(&store).await;
    assert_eq!(counts(&store, q).await, [0, 0, 2000, 0]);
    // Room is found a little at a time.
    assert_eq!(store.purge(q, 1, at(1)).await.unwrap(), 1);
}

async fn plain_again(store: &std::sync::Arc<SqliteStore>) -> slipring::QueueId {
    store.queues().await.unwrap()[0].id
}

#[cfg(unix)]
#[tokio::test]
async fn a_full_disk_opens_although_no_session_finds_room_to_end() {
    let folder = tempfile::tempdir().unwrap();
    let store = support::open(folder.path());
    let q = plain(&store).await;
    let session = Demand { up_to: 1000, lease: None, session: true };
    for _ in 0..2 {
        try_send(&store, q, vec![NewMessage::new("x".repeat(100)); 1000], at(0)).await.unwrap();
        let held = claim(&store, q, 1000, at(0)).await;
        // As rows, which are changed one by one.
        let again = Settlement::Nack { delay: Some(Duration::ZERO), priority: None, reason: None };
        let entries = held.iter().map(|delivery| (delivery.receipt, again.clone())).collect();
        store.settle(SettleBatch { queue: q, now: at(0), entries }).await.unwrap();
    }
    for _ in 0..2 {
        assert_eq!(claim_with(&store, q, session, at(0)).await.0.len(), 1000);
    }
    store.close().await.unwrap();
    // Less than the log takes for a step.
    let limit = "trap '' XFSZ; ulimit -f 160; exec \"$0\" \"$@\"";
    let child = std::process::Command::new("sh")
        .args(["-c", limit])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "a_process_that_opens_where_no_log_finds_room"])
        .env(FILE, support::database(folder.path()))
        .output()
        .unwrap();
    assert!(child.status.success(), "{child:?}");
    // Where there is room they end.
    let store = support::open(folder.path());
    assert_eq!(counts(&store, q).await, [1999, 0, 0, 0]);
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
