//! Files that must be refused are refused with a clear error and left as they are.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

mod support;

use std::path::Path;

use slipring::{AdminStore, Error, ErrorKind, QueueSettings, Retry};
use slipring_conformance::verbs;
use slipring_sqlite::{SqliteOptions, SqliteStore};

fn refused(folder: &Path) -> Error {
    match SqliteStore::open(support::database(folder), SqliteOptions::default()) {
        Ok(_) => panic!("the file is not refused"),
        Err(error) => error,
    }
}

/// Opens what must be refused and checks that it did not change by a byte.
fn refused_unchanged(folder: &Path) -> Error {
    let before = std::fs::read(support::database(folder)).unwrap();
    let error = refused(folder);
    assert_eq!(std::fs::read(support::database(folder)).unwrap(), before, "the file is unchanged");
    assert!(error.to_string().contains("slipring.db"), "the error names the file: {error}");
    error
}

#[tokio::test]
async fn a_file_of_a_newer_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    drop(support::open(folder.path()));
    support::look(folder.path()).pragma_update(None, "user_version", 99).unwrap();
    let error = refused_unchanged(folder.path());
    assert_eq!(error.kind(), ErrorKind::StorageTooNew);
    assert!(error.to_string().contains("99"), "{error}");
}

#[tokio::test]
async fn a_file_that_a_process_of_an_older_version_has_open_is_left_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let older = support::open(folder.path());
    support::look(folder.path()).pragma_update(None, "user_version", 1).unwrap();
    let error = refused(folder.path());
    assert_eq!(error.kind(), ErrorKind::StorageUnavailable);
    assert!(error.to_string().contains("older version"), "{error}");
    assert_eq!(support::number(folder.path(), "PRAGMA user_version"), 1, "nothing was changed");
    drop(older);
}

#[tokio::test]
async fn a_newer_version_that_only_the_log_shows_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    drop(support::open(folder.path()));
    let newer = support::look(folder.path());
    newer.pragma_update(None, "user_version", 99).unwrap();
    support::copy_as_after_a_crash(folder.path(), other.path());
    assert_eq!(refused(other.path()).kind(), ErrorKind::StorageTooNew);
    assert_eq!(support::number(other.path(), "PRAGMA user_version"), 99, "nothing was changed");
}

#[test]
fn a_file_of_another_program_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let other = support::look(folder.path());
    other.execute_batch("CREATE TABLE mine (a); INSERT INTO mine VALUES (1)").unwrap();
    drop(other);
    let error = refused_unchanged(folder.path());
    assert_eq!(error.kind(), ErrorKind::StorageCorrupt);
    assert!(error.to_string().contains("another program"), "{error}");
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    for junk in ["x".repeat(5000), "short".to_owned()] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(support::database(folder.path()), junk).unwrap();
        assert_eq!(refused_unchanged(folder.path()).kind(), ErrorKind::StorageCorrupt);
    }
}

#[tokio::test]
async fn a_damaged_file_is_refused_or_fails_as_corrupt() {
    let folder = tempfile::tempdir().unwrap();
    let store = support::open(folder.path());
    verbs::plain(&store).await;
    store.close().await.unwrap();
    let mut bytes = std::fs::read(support::database(folder.path())).unwrap();
    // The header stays, all else is gone.
    bytes[100..].fill(0xa5);
    std::fs::write(support::database(folder.path()), bytes).unwrap();
    assert_eq!(refused_unchanged(folder.path()).kind(), ErrorKind::StorageCorrupt);
}

#[test]
fn a_file_in_a_folder_that_is_not_there_cannot_be_opened() {
    let folder = tempfile::tempdir().unwrap();
    let error = refused(&folder.path().join("missing"));
    assert_eq!((error.kind(), error.retry()), (ErrorKind::StorageUnavailable, Retry::Later));
}

#[tokio::test]
async fn an_empty_file_becomes_a_store_and_odd_names_do_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    let odd = folder.path().join("a b?c#d%e&ü.db");
    std::fs::write(&odd, "").unwrap();
    for _ in 0..2 {
        let store = SqliteStore::open(&odd, SqliteOptions::default()).unwrap();
        verbs::queue(&store, "q", &QueueSettings::default()).await;
        assert_eq!(store.queues().await.unwrap().len(), 1);
        store.close().await.unwrap();
    }
    assert!(odd.exists());
}

/// What a program in the middle of a change leaves when it is killed.
fn killed_in_a_change(folder: &Path, wal: bool, application_id: i64) {
    let elsewhere = tempfile::tempdir().unwrap();
    let other = support::look(elsewhere.path());
    let mode = if wal { "wal" } else { "delete" };
    let sql = format!(
        "PRAGMA journal_mode = {mode}; PRAGMA application_id = {application_id};
         PRAGMA cache_size = 5; CREATE TABLE mine (a);
         INSERT INTO mine SELECT randomblob(900) FROM (VALUES (1), (2), (3), (4), (5));
         INSERT INTO mine SELECT randomblob(900) FROM mine a, mine b;
         BEGIN; UPDATE mine SET a = randomblob(901)"
    );
    other.execute_batch(&sql).unwrap();
    for entry in std::fs::read_dir(elsewhere.path()).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
    }
}

#[test]
fn a_file_of_another_program_that_was_killed_in_a_change_is_refused_with_all_beside_it() {
    // SQLite rolls a broken-off change back as soon as it is asked anything.
    for (wal, beside) in [(false, "slipring.db-journal"), (true, "slipring.db-wal")] {
        for application_id in [0, 77] {
            let folder = tempfile::tempdir().unwrap();
            killed_in_a_change(folder.path(), wal, application_id);
            let journal = std::fs::read(folder.path().join(beside)).unwrap();
            assert!(journal.len() > 512, "{beside} has {} bytes", journal.len());
            let names = |folder: &Path| {
                let names = std::fs::read_dir(folder).unwrap();
                names.map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>()
            };
            let before = names(folder.path());
            let error = refused_unchanged(folder.path());
            assert!(error.to_string().contains("another program"), "{error}");
            assert_eq!(std::fs::read(folder.path().join(beside)).unwrap(), journal);
            assert_eq!(names(folder.path()), before, "nothing was made beside it");
        }
    }
}

#[tokio::test]
async fn a_newer_version_in_the_log_is_refused_without_copying_the_log() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = support::open(folder.path());
    verbs::plain(&store).await;
    let newer = support::look(folder.path());
    newer.pragma_update(None, "user_version", 99).unwrap();
    support::copy_as_after_a_crash(folder.path(), other.path());
    let log = std::fs::read(support::log::path(other.path())).unwrap();
    assert_eq!(refused_unchanged(other.path()).kind(), ErrorKind::StorageTooNew);
    assert_eq!(std::fs::read(support::log::path(other.path())).unwrap(), log);
}
