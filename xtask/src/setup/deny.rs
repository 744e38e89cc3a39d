//! What checks the dependencies: cargo-deny, built from its package.

use std::path::PathBuf;
use std::process::Command;

use crate::process::{self, Outcome};
use crate::repository::Repository;

const VERSION: &str = "0.20.2";

/// Installs the pinned version, unless it is there; answers where it is. Without optimisation, for
/// it runs for a second.
pub fn run(repository: &Repository) -> Outcome<PathBuf> {
    let folder = repository.scratch("tools")?;
    let binary = folder.join("bin/cargo-deny");
    let told = process::output(Command::new(&binary).arg("--version"));
    if told.is_ok_and(|told| told.trim() == format!("cargo-deny {VERSION}")) {
        return Ok(binary);
    }
    let mut install = repository.cargo(&["install", "cargo-deny", "--version", VERSION]);
    install.args(["--locked", "--debug", "--root"]).arg(&folder);
    process::run(&mut install)?;
    Ok(binary)
}
