//! The history of one client process, shared by its sessions.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;

use crate::crash::history::{Kind, Operation, Recorder};

/// Process numbers of one client; far more than it will use.
const NUMBERS_PER_CLIENT: u64 = 1_000_000_000;

/// Where the sessions of a client write, and where they get process numbers from.
#[derive(Clone)]
pub struct Log(Arc<Mutex<(Recorder, u64)>>);

impl Log {
    /// A new file.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(path: &Path, client: u64) -> Result<Log> {
        let first = client * NUMBERS_PER_CLIENT;
        Ok(Log(Arc::new(Mutex::new((Recorder::create(path)?, first)))))
    }

    /// A process number nobody has used.
    pub fn number(&self) -> u64 {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.1 += 1;
        inner.1
    }

    /// Writes an event that happens now.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, process: u64, kind: Kind, operation: Operation) -> Result<()> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.0.write(process, kind, operation)
    }

    /// Writes what is still in memory.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn flush(&self) -> Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0.flush()
    }
}
