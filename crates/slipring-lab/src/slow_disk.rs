//! A disk whose flushes take longer than this machine's: our server, the raw loops and beanstalkd
//! are started with a library before the C library that lets `fdatasync` and `fsync` take their
//! time (`crates/slipring-slowdisk`). It is the same for all of them, and none of them knows of it.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};

/// What the library reads.
const FLUSH_VARIABLE: &str = "SLIPRING_LAB_FLUSH_US";
const PRELOAD_VARIABLE: &str = "LD_PRELOAD";
const LIBRARY: &str = "libslipring_slowdisk.so";

/// The environment of a process, and of its children, whose flushes take at least so many
/// microseconds; nothing for a disk as it is.
///
/// # Errors
/// When the library is not there.
pub fn environment(flush_us: u64) -> Result<Vec<(&'static str, String)>> {
    if flush_us == 0 {
        return Ok(Vec::new());
    }
    let library = library()?.display().to_string();
    Ok(vec![(PRELOAD_VARIABLE, library), (FLUSH_VARIABLE, flush_us.to_string())])
}

fn library() -> Result<PathBuf> {
    let own = std::env::current_exe().context("finding this program")?;
    let folder = own.parent().context("this program lies in no folder")?;
    // A test lies one folder deeper than the programs.
    let places = [Some(folder), folder.parent()];
    let found =
        places.into_iter().flatten().map(|place| place.join(LIBRARY)).find(|at| at.exists());
    found.with_context(|| {
        format!(
            "there is no {}; build it as this lab was, a release by: \
             cargo build --release -p slipring-slowdisk",
            folder.join(LIBRARY).display()
        )
    })
}

/// Checks that flushes of this process take so long.
///
/// # Errors
/// When they do not: it was not started with [`environment`].
pub fn check(flush_us: u64, folder: &std::path::Path) -> Result<()> {
    if flush_us == 0 {
        return Ok(());
    }
    let file = tempfile::tempfile_in(folder).context("making a file to flush")?;
    let began = Instant::now();
    file.sync_data().context("flushing a file")?;
    if began.elapsed().as_micros() < u128::from(flush_us) {
        bail!(
            "a flush does not take {flush_us} µs here; set {PRELOAD_VARIABLE} to the path of \
             {LIBRARY} and {FLUSH_VARIABLE} to {flush_us}"
        );
    }
    Ok(())
}
