//! The Python clients: a virtual environment with pinned packages, and moto's shipped tests.

use std::path::PathBuf;
use std::process::Command;

use super::debian;
use crate::process::{self, Outcome};
use crate::repository::Repository;

const REQUIREMENTS: &str = "requirements.txt";
/// What is taken out of moto's source archive.
const MOTO_TESTS: [&str; 4] =
    ["tests/__init__.py", "tests/conftest.py", "tests/markers.py", "tests/test_sqs"];

/// Installs the packages of `tests/clients/python/requirements.txt`, unless they are there.
pub fn run(repository: &Repository) -> Outcome {
    debian::run(&[&debian::PYTHON])?;
    let wanted_file = repository.clients("python").join(REQUIREMENTS);
    let wanted = read(&wanted_file)?;
    let installed = repository.scratch("venv")?.join(REQUIREMENTS);
    if std::fs::read_to_string(&installed).is_ok_and(|text| text == wanted) {
        return Ok(());
    }
    let venv = repository.emptied("venv")?;
    process::run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    let mut install = Command::new(python(repository)?);
    install.args(["-m", "pip", "install", "-q", "--disable-pip-version-check", "-r"]);
    process::run(install.arg(&wanted_file))?;
    fetch_moto_tests(repository, &wanted)?;
    std::fs::write(&installed, wanted)
        .map_err(|error| format!("{} cannot be written: {error}", installed.display()))
}

/// The interpreter of the virtual environment.
pub fn python(repository: &Repository) -> Outcome<PathBuf> {
    Ok(repository.scratch("venv")?.join("bin/python"))
}

/// The folder that holds moto's `tests` package.
pub fn moto_tests(repository: &Repository) -> Outcome<PathBuf> {
    repository.scratch("moto")
}

/// Takes the tests out of the source archive of the pinned moto; the wheel does not hold them.
fn fetch_moto_tests(repository: &Repository, requirements: &str) -> Outcome {
    let version = requirements.lines().find_map(|line| line.strip_prefix("moto=="));
    let version = version.ok_or("tests/clients/python/requirements.txt pins no moto")?;
    let archives = repository.emptied("archives")?;
    let mut download = Command::new(python(repository)?);
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

fn read(path: &std::path::Path) -> Outcome<String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}
