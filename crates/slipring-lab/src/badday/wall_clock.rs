//! A wall clock of the target's own, which can be stepped: libfaketime before the C library. The
//! monotonic clocks of the process stay those of the machine, as when an administrator or NTP sets
//! the time.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::peers::install;

/// The Debian package with the library.
const PACKAGE: &str = "libfaketime";
/// Where it lies below a folder of libraries.
const LIBRARY: &str = "faketime/libfaketime.so.1";
/// Where folders of libraries lie; each processor has one of its own.
const LIBRARIES: &str = "/usr/lib";

/// See the file's head.
#[derive(Debug)]
pub struct WallClock {
    library: PathBuf,
    /// Holds the offset; the library reads it whenever the time is asked.
    offset: PathBuf,
}

impl WallClock {
    /// One that goes as the machine's, with its settings in `folder`. The library is installed as
    /// root on Debian where it is missing.
    ///
    /// # Errors
    /// When there is no library, or the folder cannot be written.
    pub fn new(folder: &Path) -> Result<WallClock> {
        let library = match library() {
            Ok(library) => library,
            Err(_) => {
                install::apt(PACKAGE).context("a wall clock that can be stepped")?;
                library()?
            }
        };
        let clock = WallClock { library, offset: folder.join("wall-clock") };
        clock.step(0)?;
        Ok(clock)
    }

    /// The environment of a process that has this clock.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("LD_PRELOAD", self.library.display().to_string()),
            ("FAKETIME_TIMESTAMP_FILE", self.offset.display().to_string()),
            ("FAKETIME_NO_CACHE", "1".to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ]
    }

    /// Sets it so many seconds ahead of the machine's, or behind it.
    ///
    /// # Errors
    /// When the settings cannot be written.
    pub fn step(&self, seconds: i64) -> Result<()> {
        // A reader sees the old offset or the new one, never a part.
        let new = self.offset.with_extension("new");
        fs::write(&new, format!("{seconds:+}")).context("writing the offset of a wall clock")?;
        fs::rename(&new, &self.offset).context("stepping a wall clock")
    }
}

fn library() -> Result<PathBuf> {
    let folders = fs::read_dir(LIBRARIES).with_context(|| format!("reading {LIBRARIES}"))?;
    let mut places = folders.flatten().map(|folder| folder.path().join(LIBRARY));
    places
        .find(|place| place.exists())
        .with_context(|| format!("there is no {LIBRARIES}/*/{LIBRARY}; see the package {PACKAGE}"))
}
