//! Where installed programs are.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Where Debian keeps what only root looks for, besides the folders of PATH.
const SYSTEM_FOLDERS: [&str; 3] = ["/usr/sbin", "/usr/bin", "/usr/local/bin"];
/// Where Debian puts the versions of PostgreSQL.
const POSTGRESQL: &str = "/usr/lib/postgresql";

/// Where a program is; nothing where it is not installed.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(SYSTEM_FOLDERS.map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// The folder of the programs of the newest PostgreSQL of this machine.
///
/// # Errors
/// When there is none.
pub fn newest_postgresql() -> Result<PathBuf> {
    newest(Path::new(POSTGRESQL))
}

/// The folder of the programs of the newest of several versions.
fn newest(versions: &Path) -> Result<PathBuf> {
    let missing = || format!("no PostgreSQL in {}; give --postgres URL", versions.display());
    let entries = std::fs::read_dir(versions).with_context(missing)?;
    let numbered = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.path().join("bin")))
    });
    let found = numbered.filter(|(_, programs)| programs.join("initdb").exists());
    found.max_by_key(|(number, _)| *number).map(|(_, programs)| programs).with_context(missing)
}

#[cfg(test)]
mod tests {
    use super::{find, newest};

    #[test]
    fn what_every_system_has_is_found_and_what_none_has_is_not() {
        assert!(find("sh").is_some_and(|path| path.is_absolute()));
        assert_eq!(find("no-such-program-here"), None);
    }

    #[test]
    fn the_newest_version_is_the_highest_number() {
        let folder = tempfile::tempdir().unwrap();
        for version in ["9", "15", "17", "x"] {
            std::fs::create_dir_all(folder.path().join(version).join("bin")).unwrap();
        }
        std::fs::write(folder.path().join("15/bin/initdb"), "").unwrap();
        std::fs::write(folder.path().join("9/bin/initdb"), "").unwrap();
        assert_eq!(newest(folder.path()).unwrap(), folder.path().join("15/bin"));
        assert!(newest(&folder.path().join("15")).is_err());
    }
}
