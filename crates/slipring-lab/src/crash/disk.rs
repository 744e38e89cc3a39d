//! A small disk: a file system in memory, mounted in a name space of this process's own, and a
//! file that takes its room.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::dice::Dice;

/// Room of the disk.
const MEGABYTES: u32 = 96;
/// What may be left of it, at most.
const LEFT_BYTES_MAX: u64 = 2 << 20;

/// A mounted disk.
pub struct Disk {
    folder: PathBuf,
}

impl Disk {
    /// A command that runs a program of the arguments that follow in a name space of its own, in
    /// which it may mount; `None` where the system does not let users make one.
    pub fn name_space() -> Option<Command> {
        let space = || {
            let mut space = Command::new("unshare");
            space.args(["--user", "--map-root-user", "--mount"]);
            space
        };
        let mut trial = space();
        trial.args(["mount", "-t", "tmpfs", "slipring", "/mnt"]).stderr(Stdio::null());
        trial.status().is_ok_and(|status| status.success()).then(space)
    }

    /// Mounts one in `folder`, which is made.
    ///
    /// # Errors
    /// When this process may not mount.
    pub fn mount(folder: &Path) -> Result<Disk> {
        std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        let size = format!("size={MEGABYTES}m");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "slipring"]).arg(folder);
        if !mount.status().context("running mount")?.success() {
            bail!("no disk could be mounted in {}", folder.display());
        }
        Ok(Disk { folder: folder.to_owned() })
    }

    /// Where it is mounted.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Takes the room of the disk but for a little by the choice of `dice`.
    ///
    /// # Errors
    /// When the file cannot be written for another reason than room.
    pub fn fill(&self, dice: &Dice) -> Result<()> {
        let mut rest = File::create(self.rest()).context("making the file that takes the room")?;
        let zeros = vec![0; 64 << 10];
        let mut taken: u64 = 0;
        loop {
            match rest.write(&zeros) {
                Ok(bytes) if bytes > 0 => taken += bytes as u64,
                Ok(_) => break,
                Err(error) if error.kind() == ErrorKind::StorageFull => break,
                Err(error) => return Err(error).context("taking the room of the disk"),
            }
        }
        let left = dice.below(LEFT_BYTES_MAX);
        rest.set_len(taken.saturating_sub(left)).context("leaving a little room")
    }

    /// Gives the room back.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub fn free(&self) -> Result<()> {
        std::fs::remove_file(self.rest()).context("giving the room of the disk back")
    }

    /// Takes the disk away, with all that is on it.
    ///
    /// # Errors
    /// When something on it is still open.
    pub fn unmount(&self) -> Result<()> {
        let status = Command::new("umount").arg(&self.folder).status();
        if !status.context("running umount")?.success() {
            bail!("the disk in {} could not be unmounted", self.folder.display());
        }
        Ok(())
    }

    fn rest(&self) -> PathBuf {
        self.folder.join("rest")
    }
}
