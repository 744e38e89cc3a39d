//! moto's server: services of AWS for tests, in Python. It keeps messages in memory, and finds the
//! service that is meant by the scope of a request's signature, which it does not check.

use std::path::Path;

use anyhow::{Context, Result};

use super::logged;
use super::server::Server;
use crate::peers::install;

/// Starts it on a free port of 127.0.0.1, with its log in `folder`.
///
/// # Errors
/// When it is not installed or does not start.
pub async fn start(folder: &Path) -> Result<Server> {
    let mut command = install::moto()?.command().context("moto without a program")?;
    command.args(["-H", "127.0.0.1", "-p", "0"]);
    logged::start(command, &folder.join("moto.log"), "Running on http://").await
}
