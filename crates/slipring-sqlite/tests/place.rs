//! Files that are removed, replaced or shared: their modes, and what is refused when no name leads
//! to them any more.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

mod support;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use slipring::store::Demand;
use slipring::{AdminStore, ErrorKind, NewMessage};
use slipring_conformance::verbs::{ack_all, at, claim, claim_with, counts, plain, send, try_send};
use slipring_sqlite::{SqliteOptions, SqliteStore, compact};
use support::{database, open};

const FILES: [&str; 4] = ["slipring.db", "slipring.db-wal", "slipring.db-shm", "slipring.db-lock"];

fn mode(folder: &Path, name: &str) -> u32 {
    std::fs::metadata(folder.join(name)).unwrap().permissions().mode() & 0o777
}

/// Sends until one is refused, which has to come soon.
async fn refused(store: &std::sync::Arc<slipring_sqlite::SqliteStore>) -> slipring::Error {
    let q = plain_again(store).await;
    let one = || vec![NewMessage::new("a")];
    let sends = async {
        loop {
            if let Err(error) = try_send(store, q, one(), at(0)).await {
                return error;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(1), sends).await.expect("it is refused soon")
}

/// The number of the one queue, by a look: the file may not be writable.
async fn plain_again(store: &std::sync::Arc<slipring_sqlite::SqliteStore>) -> slipring::QueueId {
    store.queues().await.unwrap()[0].id
}

#[tokio::test]
async fn new_files_are_their_owners_alone_and_old_ones_keep_their_mode() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    plain(&store).await;
    for name in FILES {
        assert_eq!(mode(folder.path(), name), 0o600, "{name}");
    }
    store.close().await.unwrap();
    std::fs::remove_file(folder.path().join("slipring.db-lock")).unwrap();
    std::fs::set_permissions(database(folder.path()), Permissions::from_mode(0o660)).unwrap();
    let store = open(folder.path());
    plain(&store).await;
    for name in FILES {
        assert_eq!(mode(folder.path(), name), 0o660, "{name}");
    }
}

#[tokio::test]
async fn a_file_that_is_moved_away_refuses_everything_until_it_is_back() {
    // S1.6
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let q = plain(&store).await;
    send(&store, q, &["kept"]).await;
    for name in &FILES[..3] {
        let (path, away) = (folder.path().join(name), folder.path().join("away"));
        std::fs::rename(&path, &away).unwrap();
        let error = refused(&store).await;
        assert_eq!(error.kind(), ErrorKind::StorageUnavailable, "{error}");
        assert!(error.message().contains("was removed or replaced"), "{error}");
        let told = error.context().iter().any(|(key, file)| *key == "file" && file.ends_with(name));
        assert!(told, "{error:?}");
        let checked = store.check().await.expect_err("it is not ready");
        assert!(checked.message().contains("was removed or replaced"), "{checked}");
        std::fs::rename(&away, &path).unwrap();
        let back = async { while store.check().await.is_err() {} };
        tokio::time::timeout(Duration::from_secs(5), back).await.expect("service resumes");
        try_send(&store, q, vec![NewMessage::new("again")], at(0)).await.unwrap();
    }
    store.close().await.unwrap();
    // What was answered is in the file.
    let store = open(folder.path());
    assert!(counts(&store, q).await[0] >= 4);
    assert_eq!(claim(&store, q, 1, at(0)).await[0].message.body.as_ref(), b"kept");
}

#[tokio::test]
async fn a_lock_file_that_is_removed_ends_no_lease_of_a_connection_and_lets_nobody_in() {
    // S5.2, S13.2
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let q = plain(&store).await;
    send(&store, q, &["a"]).await;
    let session = Demand { up_to: 1, lease: None, session: true };
    let held = claim_with(&store, q, session, at(0)).await.0;
    std::fs::remove_file(folder.path().join("slipring.db-lock")).unwrap();
    // The second time the lock file is there again.
    for _ in 0..2 {
        let refused = compact(&database(folder.path()), &SqliteOptions::default()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::StorageUnavailable, "{refused}");
        assert!(refused.message().contains("has the file open"), "{refused}");
    }
    let path = database(folder.path());
    let refused = SqliteStore::open(path, SqliteOptions::default()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::StorageUnavailable, "{refused}");
    assert!(refused.message().contains("lock file"), "{refused}");
    assert_eq!(counts(&store, q).await, [0, 0, 1, 0]);
    ack_all(&store, q, &held, at(0)).await;
    store.close().await.unwrap();
    compact(&database(folder.path()), &SqliteOptions::default()).unwrap();
    assert_eq!(counts(&open(folder.path()), q).await, [0; 4]);
}

#[tokio::test]
async fn a_link_leads_to_the_same_store_with_the_same_locks() {
    let folder = tempfile::tempdir().unwrap();
    let linked = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let q = plain(&store).await;
    send(&store, q, &["a"]).await;
    std::os::unix::fs::symlink(database(folder.path()), database(linked.path())).unwrap();
    let other = open(linked.path());
    assert_eq!(claim(&other, q, 1, at(0)).await.len(), 1);
    store.close().await.unwrap();
    try_send(&other, q, vec![NewMessage::new("b")], at(0)).await.unwrap();
    assert_eq!(std::fs::read_dir(linked.path()).unwrap().count(), 1, "nothing beside the link");
}

#[tokio::test]
async fn a_file_in_the_place_of_another_is_left_alone() {
    // S1.6
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    plain(&store).await;
    let new = folder.path().join("new");
    std::fs::write(&new, "something else").unwrap();
    std::fs::rename(&new, database(folder.path())).unwrap();
    let error = refused(&store).await;
    assert_eq!(error.kind(), ErrorKind::StorageUnavailable, "{error}");
    store.close().await.expect_err("what is cached has no place to go");
    drop(store);
    assert_eq!(std::fs::read_to_string(database(folder.path())).unwrap(), "something else");
}
