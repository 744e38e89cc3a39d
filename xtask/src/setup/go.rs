//! What is written in Go: the modules of the clients, `go.sum` in `tests/clients/go` and in the
//! folder `sqs` there, and those of the NATS server, which the tests of the lab build and start.

use std::process::Command;

use super::debian;
use crate::process::{self, Outcome};
use crate::repository::Repository;

/// The lock file of the NATS server.
const NATS: &str = "crates/slipring-lab/peers/nats";

/// Downloads the modules; quick when the module cache has them.
pub fn run(repository: &Repository) -> Outcome {
    debian::run(&[&debian::GO])?;
    let clients = ["go", "go/sqs"].map(|module| repository.clients(module));
    for folder in clients.into_iter().chain([repository.root().join(NATS)]) {
        let mut download = Command::new("go");
        process::run(download.args(["mod", "download"]).current_dir(folder))?;
    }
    Ok(())
}
