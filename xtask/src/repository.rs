//! Where things are: the sources, the build output, the foreign clients.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, Outcome};

/// The repository this program was built from.
pub struct Repository {
    root: PathBuf,
    target: PathBuf,
}

impl Repository {
    /// Finds the repository: the parent of this package.
    ///
    /// `cargo run` says where the package is; that holds also when several work trees share a
    /// target folder, where the path known at compile time may be another tree's.
    pub fn find() -> Repository {
        let package = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = package.parent().unwrap_or(&package).to_path_buf();
        let target = match std::env::var_os("CARGO_TARGET_DIR") {
            Some(elsewhere) => root.join(elsewhere),
            None => root.join("target"),
        };
        Repository { root, target }
    }

    /// The folder that holds the workspace's `Cargo.toml`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `cargo` with `arguments`, started in the root.
    pub fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("cargo");
        command.args(arguments).current_dir(&self.root);
        command
    }

    /// Builds the shipped binary if it is out of date, and returns its path.
    pub fn release_binary(&self) -> Outcome<PathBuf> {
        Ok(self.release_programs()?.join("slipring"))
    }

    /// The lab, built if it is out of date, which tests the shipped binary beside it.
    pub fn lab(&self) -> Outcome<Command> {
        let programs = self.release_programs()?;
        let mut lab = Command::new(programs.join("slipring-lab"));
        lab.current_dir(&self.root).env("SLIPRING_BINARY", programs.join("slipring"));
        Ok(lab)
    }

    /// Builds the programs, and returns their folder. Always both: built alone, each has other
    /// features of shared libraries, so that one build would undo the other.
    pub fn release_programs(&self) -> Outcome<PathBuf> {
        let packages = ["--package", "slipring-cli", "--package", "slipring-lab"];
        process::run(self.cargo(&["build", "--release"]).args(packages))?;
        Ok(self.target.join("release"))
    }

    /// The sources of the foreign-client tests of one language.
    pub fn clients(&self, language: &str) -> PathBuf {
        self.root.join("tests/clients").join(language)
    }

    /// A path under `target/clients`, whose folder exists afterwards.
    pub fn scratch(&self, name: &str) -> Outcome<PathBuf> {
        let path = self.target.join("clients").join(name);
        let folder = path.parent().unwrap_or(&path);
        std::fs::create_dir_all(folder)
            .map_err(|error| format!("{} cannot be created: {error}", folder.display()))?;
        Ok(path)
    }

    /// An empty folder under `target/clients`, whatever was in it before.
    pub fn emptied(&self, name: &str) -> Outcome<PathBuf> {
        let path = self.scratch(name)?;
        let failed = |error| format!("{} cannot be emptied: {error}", path.display());
        if path.exists() {
            std::fs::remove_dir_all(&path).map_err(failed)?;
        }
        std::fs::create_dir_all(&path).map_err(failed)?;
        Ok(path)
    }
}
