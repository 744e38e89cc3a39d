//! The Go client: the modules of `tests/clients/go/go.sum`.

use std::process::Command;

use super::debian;
use crate::process::{self, Outcome};
use crate::repository::Repository;

/// Downloads the modules; quick when the module cache has them.
pub fn run(repository: &Repository) -> Outcome {
    debian::run(&[&debian::GO])?;
    let mut download = Command::new("go");
    process::run(download.args(["mod", "download"]).current_dir(repository.clients("go")))
}
