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

    /// `cargo test` for the test programs of this name, of whichever package. Always as part of
    /// the workspace: one package alone has other features of shared libraries, and all would be
    /// compiled once more for it.
    pub fn test(&self, name: &str) -> Command {
        self.cargo(&["test", "--workspace", "--test", name])
    }

    /// Builds the shipped binary, as README.md does, if it is out of date, and returns its path.
    pub fn release_binary(&self) -> Outcome<PathBuf> {
        process::run(&mut self.cargo(&["build", "--release", "--package", "slipring-cli"]))?;
        Ok(self.target.join("release/slipring"))
    }

    /// The lab, built if it is out of date, which tests the shipped binary. The library of its slow
    /// disk is looked for beside it.
    ///
    /// Only the shipped binary is a release: smoke sizes judge no figure, a second build of the lab
    /// takes longer than all they do, and unoptimised it checks its arithmetic. It is built as part
    /// of the workspace, with the features of shared libraries that the tests were built with.
    pub fn lab(&self) -> Outcome<Command> {
        let binary = self.release_binary()?;
        process::run(&mut self.cargo(&["build", "--workspace"]))?;
        let mut lab = Command::new(self.target.join("debug/slipring-lab"));
        lab.current_dir(&self.root).env("SLIPRING_BINARY", binary);
        Ok(lab)
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
