//! The limit of the disk: appending to a plain file, with one fdatasync per batch.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::{Caller, Look, Target};
use crate::body::Body;
use crate::workloads::Settings;

/// A folder of plain files, one per caller.
pub struct RawFile(PathBuf);

impl Target for RawFile {
    type Caller = RawFileCaller;

    async fn start(_: &Settings, folder: &Path) -> Result<RawFile> {
        Ok(RawFile(folder.to_owned()))
    }

    async fn caller(&self, queue: &str) -> Result<RawFileCaller> {
        let path = self.0.join(queue);
        let file = OpenOptions::new().create(true).append(true).open(&path);
        Ok(RawFileCaller(file.with_context(|| format!("opening {}", path.display()))?))
    }
}

/// Appends bodies as they are.
pub struct RawFileCaller(File);

impl Caller for RawFileCaller {
    async fn send(&mut self, bodies: &[Body]) -> Result<()> {
        self.0.write_all(bodies.as_flattened()).context("appending")?;
        self.0.sync_data().context("fdatasync")
    }

    async fn receive(&mut self, _: usize, _: Duration, _: Look<'_>) -> Result<usize> {
        bail!("a plain file only takes sends");
    }

    async fn ack(&mut self) -> Result<()> {
        bail!("a plain file only takes sends");
    }

    async fn count(&mut self) -> Result<Option<u64>> {
        let bytes = self.0.metadata().context("reading the file's length")?.len();
        Ok(Some(bytes / crate::body::BODY_BYTES as u64))
    }
}
