//! Packages of npm: the JavaScript clients, and whatever else a lock file names.

use std::path::Path;
use std::process::Command;

use super::debian;
use crate::process::{self, Outcome};
use crate::repository::Repository;

/// Installs the clients that `tests/clients/node/package-lock.json` names.
pub fn run(repository: &Repository) -> Outcome {
    install(&repository.clients("node"), Scripts::Ignored)
}

/// Whether packages may run their own programs when they are installed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scripts {
    Ignored,
    Run,
}

/// Installs the locked packages of a folder, unless npm did so from the same lock file before.
pub fn install(folder: &Path, scripts: Scripts) -> Outcome {
    debian::run(&[&debian::NODE, &debian::NPM])?;
    let lock = folder.join("package-lock.json");
    let stamp = folder.join("node_modules/package-lock.json");
    let wanted = std::fs::read(&lock).map_err(|error| format!("{}: {error}", lock.display()))?;
    if std::fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let mut install = Command::new("npm");
    install.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
    if scripts == Scripts::Ignored {
        install.arg("--ignore-scripts");
    }
    process::run(install.current_dir(folder))?;
    std::fs::write(&stamp, wanted)
        .map_err(|error| format!("{} cannot be written: {error}", stamp.display()))
}
