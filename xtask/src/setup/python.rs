//! The Python clients: virtual environments with pinned packages, and moto's shipped tests.

use std::path::PathBuf;
use std::process::Command;

use super::debian;
use crate::process::{self, Outcome};
use crate::repository::Repository;

/// A virtual environment of its own for clients that cannot be installed together.
pub struct Environment {
    /// The file in `tests/clients/python` that pins its packages.
    requirements: &'static str,
    folder: &'static str,
    /// The SQS protocol that its boto3 speaks.
    pub sqs_protocol: &'static str,
}

/// The clients as they are now.
pub const TODAY: Environment =
    Environment { requirements: "requirements.txt", folder: "venv", sqs_protocol: "json" };

/// boto3 as it was while SQS had only the query protocol.
pub const OLD_BOTO3: Environment = Environment {
    requirements: "requirements-old-boto3.txt",
    folder: "venv-old-boto3",
    sqs_protocol: "query",
};

/// Every environment.
pub const ALL: [&Environment; 2] = [&TODAY, &OLD_BOTO3];

/// What is taken out of moto's source archive.
const MOTO_TESTS: [&str; 4] =
    ["tests/__init__.py", "tests/conftest.py", "tests/markers.py", "tests/test_sqs"];

impl Environment {
    /// Installs its packages, unless they are there.
    pub fn set_up(&self, repository: &Repository) -> Outcome {
        debian::run(&[&debian::PYTHON])?;
        let wanted_file = repository.clients("python").join(self.requirements);
        let wanted = read(&wanted_file)?;
        let installed = repository.scratch(self.folder)?.join("requirements.txt");
        if std::fs::read_to_string(&installed).is_ok_and(|text| text == wanted) {
            return Ok(());
        }
        let venv = repository.emptied(self.folder)?;
        process::run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        let mut install = Command::new(self.python(repository)?);
        install.args(["-m", "pip", "install", "-q", "--disable-pip-version-check", "-r"]);
        process::run(install.arg(&wanted_file))?;
        if let Some(version) = wanted.lines().find_map(|line| line.strip_prefix("moto==")) {
            self.fetch_moto_tests(repository, version)?;
        }
        std::fs::write(&installed, wanted)
            .map_err(|error| format!("{} cannot be written: {error}", installed.display()))
    }

    /// Its interpreter.
    pub fn python(&self, repository: &Repository) -> Outcome<PathBuf> {
        Ok(repository.scratch(self.folder)?.join("bin/python"))
    }

    /// Takes the tests out of moto's source archive; the wheel does not hold them.
    fn fetch_moto_tests(&self, repository: &Repository, version: &str) -> Outcome {
        let archives = repository.emptied("archives")?;
        let mut download = Command::new(self.python(repository)?);
        download.args(["-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps"]);
        // Only moto from source: its build tools may come as wheels.
        download.args(["--no-binary", "moto", &format!("moto=={version}")]);
        process::run(download.arg("--dest").arg(&archives))?;
        let mut unpack = Command::new("tar");
        unpack.arg("--extract").arg("--file").arg(archives.join(format!("moto-{version}.tar.gz")));
        unpack.args(["--strip-components", "1", "--directory"]).arg(repository.emptied("moto")?);
        unpack.args(MOTO_TESTS.map(|path| format!("moto-{version}/{path}")));
        process::run(&mut unpack)
    }
}

/// The folder that holds moto's `tests` package.
pub fn moto_tests(repository: &Repository) -> Outcome<PathBuf> {
    repository.scratch("moto")
}

fn read(path: &std::path::Path) -> Outcome<String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}
