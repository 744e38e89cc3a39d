//! Where the lab keeps what it makes: `target/lab`, beside the folder of this program; and the
//! folders and users of servers that do not run as root.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use nix::unistd::{User, geteuid};
use tempfile::TempDir;

/// The folder for data and reports; made if need be.
///
/// # Errors
/// When it cannot be made.
pub fn data() -> Result<PathBuf> {
    let program = std::env::current_exe().context("finding this program")?;
    let target = program.parent().and_then(|profile| profile.parent());
    let folder = target.context("this program lies in no target folder")?.join("lab");
    std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    Ok(folder)
}

/// The user of this name, for a server that does not run as root; nothing where this program runs
/// as another user, who is then the server's as well.
///
/// # Errors
/// When this program runs as root and there is no such user.
pub fn ordinary_user(name: &str) -> Result<Option<User>> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    let missing = || format!("the server does not run as root, and there is no user {name}");
    User::from_name(name)?.with_context(missing).map(Some)
}

/// An empty folder that the user may work in: beside the lab's other data, which is on a disk, or
/// where the user may not go there, in the system's folder for temporary files.
///
/// # Errors
/// When it cannot be made, or given to the user.
pub fn of_user(prefix: &str, user: Option<&User>) -> Result<TempDir> {
    let make = |within: &Path| -> Result<TempDir> {
        let folder = TempDir::with_prefix_in(prefix, within)?;
        if let Some(user) = user {
            chown(folder.path(), Some(user.uid.as_raw()), Some(user.gid.as_raw()))?;
        }
        Ok(folder)
    };
    let folder = make(&data()?)?;
    let mut look = Command::new("test");
    look.arg("-w").arg(folder.path()).current_dir("/");
    if let Some(user) = user {
        look.uid(user.uid.as_raw()).gid(user.gid.as_raw());
    }
    match look.status().context("running test")?.success() {
        true => Ok(folder),
        false => make(&std::env::temp_dir()),
    }
}
