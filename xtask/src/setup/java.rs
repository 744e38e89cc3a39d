//! The Java client: what `tests/clients/java/pom.xml` names, with the digests in `jars.sha256`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::debian;
use crate::process::{self, Outcome};
use crate::repository::Repository;

/// Copies libraries into a folder.
const COPY: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.11.0:copy-dependencies";
const DIGESTS: &str = "jars.sha256";
const JARS: &str = "java";

/// Installs the libraries, unless they are there. One that is not in the list of digests, or has
/// another digest, is an error.
pub fn run(repository: &Repository) -> Outcome {
    debian::run(&[&debian::JAVA, &debian::MAVEN])?;
    let sources = repository.clients("java");
    let digests = sources.join(DIGESTS);
    let wanted = read(&digests)?;
    let installed = jars(repository)?.join(DIGESTS);
    if std::fs::read_to_string(&installed).is_ok_and(|text| text == wanted) {
        return Ok(());
    }
    let folder = repository.emptied(JARS)?;
    let mut copy = Command::new("mvn");
    copy.args(["--batch-mode", "--quiet", "--strict-checksums", COPY, "-DincludeScope=runtime"]);
    copy.arg(format!("-DoutputDirectory={}", folder.display()));
    process::run(copy.current_dir(&sources))?;
    let mut check = Command::new("sha256sum");
    check.args(["--check", "--strict", "--quiet"]).arg(&digests);
    process::run(check.current_dir(&folder))?;
    let unlisted = unlisted(&folder, &wanted)?;
    if !unlisted.is_empty() {
        return Err(format!("{} has no digest of {}", digests.display(), unlisted.join(", ")));
    }
    std::fs::write(&installed, wanted)
        .map_err(|error| format!("{} cannot be written: {error}", installed.display()))
}

/// The folder that holds the libraries.
pub fn jars(repository: &Repository) -> Outcome<PathBuf> {
    repository.scratch(JARS)
}

/// The files of a folder that the list of digests does not name.
fn unlisted(folder: &Path, digests: &str) -> Outcome<Vec<String>> {
    let named = |file: &str| digests.lines().any(|line| line.split("  ").nth(1) == Some(file));
    let listed = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let files = listed.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    Ok(files.filter(|file| !named(file)).collect())
}

fn read(path: &Path) -> Outcome<String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_without_a_digest_is_found() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a-1.jar", "b-1.jar"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(unlisted(folder.path(), "00  a-1.jar\n").unwrap(), ["b-1.jar"]);
        assert!(unlisted(folder.path(), "00  a-1.jar\n11  b-1.jar\n").unwrap().is_empty());
    }
}
