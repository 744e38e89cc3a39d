//! What is written in Go: the modules of the client, `tests/clients/go/go.sum`, and those of the
//! NATS server, which the tests of the lab build and start.

use std::process::Command;

use super::debian;
use crate::process::{self, Outcome};
use crate::repository::Repository;

/// The lock file of the NATS server.
const NATS: &str = "crates/slipring-lab/peers/nats";

/// Downloads the modules; quick when the module cache has them.
pub fn run(repository: &Repository) -> Outcome {
    debian::run(&[&debian::GO])?;
    for folder in [repository.clients("go"), repository.root().join(NATS)] {
        let mut download = Command::new("go");
        process::run(download.args(["mod", "download"]).current_dir(folder))?;
    }
    Ok(())
}
