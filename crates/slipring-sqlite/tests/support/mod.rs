//! The file of a store under test: opened, looked into, and copied as a crash leaves it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]
#![allow(dead_code)] // Each test file uses a part of it.

pub mod log;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use slipring_sqlite::{SqliteOptions, SqliteStore};

pub fn database(folder: &Path) -> PathBuf {
    folder.join("slipring.db")
}

pub fn open(folder: &Path) -> Arc<SqliteStore> {
    open_with(folder, SqliteOptions::default())
}

pub fn open_with(folder: &Path, options: SqliteOptions) -> Arc<SqliteStore> {
    SqliteStore::open(database(folder), options).expect("the store opens")
}

/// A look into the file beside the store.
pub fn look(folder: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(database(folder)).expect("the file opens")
}

/// One number out of the file.
pub fn number(folder: &Path, sql: &str) -> i64 {
    look(folder).query_row(sql, [], |row| row.get(0)).expect("the query answers")
}

/// Copies the files as a crash would leave them.
pub fn copy_as_after_a_crash(from: &Path, to: &Path) {
    for name in ["slipring.db", "slipring.db-wal"] {
        std::fs::copy(from.join(name), to.join(name)).expect("the file can be copied");
    }
}
