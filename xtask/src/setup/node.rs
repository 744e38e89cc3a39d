//! The JavaScript clients: what `tests/clients/node/package-lock.json` names.

use std::process::Command;

use super::debian;
use crate::process::{self, Outcome};
use crate::repository::Repository;

/// Installs the locked packages, unless npm did so from the same lock file before.
pub fn run(repository: &Repository) -> Outcome {
    debian::run(&[&debian::NODE, &debian::NPM])?;
    let folder = repository.clients("node");
    let lock = folder.join("package-lock.json");
    let stamp = folder.join("node_modules/package-lock.json");
    let wanted = std::fs::read(&lock).map_err(|error| format!("{}: {error}", lock.display()))?;
    if std::fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let mut install = Command::new("npm");
    install.args(["ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]);
    process::run(install.current_dir(&folder))?;
    std::fs::write(&stamp, wanted)
        .map_err(|error| format!("{} cannot be written: {error}", stamp.display()))
}
