//! Where the lab keeps what it makes: `target/lab`, beside the folder of this program.

use std::path::PathBuf;

use anyhow::{Context, Result};

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
