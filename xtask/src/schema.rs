//! The committed `schema.sql` of each SQL store: compared with, or written from, its migrations.
//!
//! The store's own test does the work, since only the store can migrate a database.

use crate::process::{self, Outcome};
use crate::repository::Repository;

/// What to do with the committed file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Compare,
    Write,
}

/// Compares or writes `crates/slipring-sqlite/schema.sql`.
pub fn run(repository: &Repository, mode: Mode) -> Outcome {
    let mut test =
        repository.cargo(&["test", "--quiet", "--package", "slipring-sqlite", "--test", "schema"]);
    if mode == Mode::Write {
        test.env("SLIPRING_SCHEMA", "write");
    }
    process::run(&mut test)
}
