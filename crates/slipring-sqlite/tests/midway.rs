//! A file whose process was killed while it copied the log into it, and what else is sound
//! although the file alone does not show it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

mod support;

use std::path::Path;
use std::sync::{Arc, Barrier};

use slipring::{AdminStore, ErrorKind, NewMessage};
use slipring_conformance::verbs::{at, claim, counts, plain, send, try_send};
use slipring_sqlite::{SqliteOptions, SqliteStore};
use support::{copy_as_after_a_crash, log, open};

const MESSAGES: u64 = 40;

fn body(number: u64) -> Vec<u8> {
    vec![b'a' + (number % 26) as u8; 20_000]
}

/// A store with so much in its log that a copy makes the file many times as long.
async fn filled(folder: &Path) -> Arc<SqliteStore> {
    let store = open(folder);
    let q = plain(&store).await;
    for number in 0..MESSAGES {
        try_send(&store, q, vec![NewMessage::new(body(number))], at(0)).await.unwrap();
    }
    store
}

async fn check_all(store: &Arc<SqliteStore>) {
    let q = plain(store).await;
    let held = claim(store, q, 100, at(0)).await;
    assert_eq!(held.len() as u64, MESSAGES);
    for (number, delivery) in held.iter().enumerate() {
        assert!(delivery.message.body == body(number as u64), "message {number}");
    }
}

#[tokio::test]
async fn a_file_of_which_only_the_first_pages_were_copied_opens_with_all_that_was_answered() {
    // S1.1: killed in the middle of a checkpoint, which writes page 1 first.
    let folder = tempfile::tempdir().unwrap();
    let _store = filled(folder.path()).await;
    let all = log::pages(folder.path()).len();
    assert!(all > 200, "the log has {all} pages");
    for copied in [1, 2, 3, all / 2, all - 1, all] {
        let other = tempfile::tempdir().unwrap();
        copy_as_after_a_crash(folder.path(), other.path());
        log::copy_some(other.path(), copied);
        check_all(&open(other.path())).await;
    }
}

#[tokio::test]
async fn a_second_process_opens_a_file_whose_log_is_being_copied() {
    // The one that copies stands still after the first page.
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = filled(folder.path()).await;
    copy_as_after_a_crash(folder.path(), other.path());
    log::copy_some(other.path(), 1);
    let first = open(other.path());
    let second = open(other.path());
    let q = plain(&second).await;
    send(&second, q, &["more"]).await;
    assert_eq!(counts(&first, q).await, [MESSAGES + 1, 0, 0, 0]);
    drop(store);
}

#[tokio::test]
async fn a_file_with_a_page_that_neither_it_nor_its_log_has_is_refused_unchanged() {
    for with_log in [true, false] {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        filled(folder.path()).await.close().await.unwrap();
        // All is copied, and the log begins anew with something small.
        let store = open(folder.path());
        send(&store, plain(&store).await, &["more"]).await;
        copy_as_after_a_crash(folder.path(), other.path());
        let name = support::database(other.path());
        let file = std::fs::OpenOptions::new().write(true).open(&name).unwrap();
        let bytes = file.metadata().unwrap().len();
        file.set_len(bytes - 8 * log::PAGE_BYTES as u64).unwrap();
        if !with_log {
            std::fs::remove_file(log::path(other.path())).unwrap();
        }
        let before = std::fs::read(&name).unwrap();
        let error = SqliteStore::open(&name, SqliteOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageCorrupt, "{error}");
        assert!(error.to_string().contains("log"), "it is told what may be missing: {error}");
        assert_eq!(std::fs::read(&name).unwrap(), before, "the file is unchanged");
    }
}

#[tokio::test]
async fn a_log_beside_an_empty_or_missing_file_is_kept() {
    // SQLite would remove it.
    let folder = tempfile::tempdir().unwrap();
    let _store = filled(folder.path()).await;
    for missing in [false, true] {
        let other = tempfile::tempdir().unwrap();
        copy_as_after_a_crash(folder.path(), other.path());
        let before = std::fs::read(log::path(other.path())).unwrap();
        let name = support::database(other.path());
        std::fs::remove_file(&name).unwrap();
        if !missing {
            std::fs::write(&name, "").unwrap();
        }
        let error = SqliteStore::open(&name, SqliteOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageCorrupt);
        assert!(error.to_string().contains("begin anew"), "{error}");
        assert_eq!(std::fs::read(log::path(other.path())).unwrap(), before);
    }
}

#[tokio::test]
async fn a_file_that_several_make_at_the_same_moment_is_one_store_for_all() {
    for _ in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        let together = Arc::new(Barrier::new(4));
        let begin = |_| {
            let (name, together) = (support::database(folder.path()), Arc::clone(&together));
            std::thread::spawn(move || {
                together.wait();
                SqliteStore::open(name, SqliteOptions::default())
            })
        };
        let threads: Vec<_> = (0..4).map(begin).collect();
        let stores: Vec<_> = threads.into_iter().map(|t| t.join().unwrap().unwrap()).collect();
        let q = plain(&stores[0]).await;
        send(&stores[1], q, &["a"]).await;
        assert_eq!(counts(&stores[3], q).await, [1, 0, 0, 0]);
        assert_eq!(stores[2].queues().await.unwrap().len(), 1);
    }
}
