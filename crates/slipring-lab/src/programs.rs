//! Where installed programs are.

use std::path::PathBuf;

/// Where Debian keeps what only root looks for, besides the folders of PATH.
const SYSTEM_FOLDERS: [&str; 3] = ["/usr/sbin", "/usr/bin", "/usr/local/bin"];

/// Where a program is; nothing where it is not installed.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(SYSTEM_FOLDERS.map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn what_every_system_has_is_found_and_what_none_has_is_not() {
        assert!(find("sh").is_some_and(|path| path.is_absolute()));
        assert_eq!(find("no-such-program-here"), None);
    }
}
