//! The committed `schema.sql` of each SQL store: compared with, or written from, its migrations.
//!
//! The stores' own tests do the work, since only a store can migrate a database.

use crate::process::{self, Outcome};
use crate::repository::Repository;

/// What to do with the committed file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Compare,
    Write,
}

/// Compares or writes `schema.sql` of all SQL stores.
pub fn run(repository: &Repository, mode: Mode) -> Outcome {
    let mut test = repository.test("schema");
    test.arg("--quiet");
    if mode == Mode::Write {
        test.env("SLIPRING_SCHEMA", "write");
    }
    process::run(&mut test)
}
