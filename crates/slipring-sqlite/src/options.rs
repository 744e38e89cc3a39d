//! What can be chosen when a store is opened.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use slipring::clock::{Machine, ThisMachine};
use slipring::{Randomness, SystemRandomness, Waits};

/// How a SQLite file is opened. The defaults suit a server with the file to itself.
#[derive(Clone)]
pub struct SqliteOptions {
    /// The table that counts the store's waits. Default: a table of its own.
    pub waits: Waits,
    /// Where the receipt key of a new file and the jitter of retries come from. Default: the
    /// operating system.
    pub randomness: Arc<dyn Randomness>,
    /// The machine whose clocks the clock of the file is made of (S13.2). Default: this one.
    pub machine: Arc<dyn Machine>,
    /// Bytes of the file that the writing connection keeps in memory. Default 48 MiB.
    pub cache_bytes: u64,
    /// Connections (and threads) that serve looks which change nothing; at least 1. Default 2.
    pub readers: usize,
    /// How long a call waits while another process writes before it fails with
    /// `StorageUnavailable`. Default 5 s.
    pub busy_timeout: Duration,
    /// The log is copied into the file when it has grown by so many bytes. Larger means fewer
    /// copies and a longer recovery after a crash. Default 16 MiB.
    pub checkpoint_bytes: u64,
    /// A reader of an old state of the file that keeps the log from beginning anew for so long is
    /// warned of. Default 30 s.
    pub long_reader: Duration,
    /// How often it is looked whether the file has space to give back while it is idle. Default
    /// 10 s.
    pub reclaim_every: Duration,
    /// The file may grow to so many bytes. Sends fail with `StorageFull` when less than an eighth
    /// of it would be left: that part is for hand-outs, retries and lapses, which rewrite what is
    /// there. `None` (the default) leaves the limit to the disk. A limit on the size of the
    /// process's files (`ulimit -f`) counts as one, if it is smaller.
    pub file_bytes_max: Option<u64>,
}

impl Default for SqliteOptions {
    fn default() -> SqliteOptions {
        SqliteOptions {
            waits: Waits::new(),
            randomness: Arc::new(SystemRandomness),
            machine: Arc::new(ThisMachine),
            cache_bytes: 48 << 20,
            readers: 2,
            busy_timeout: Duration::from_secs(5),
            checkpoint_bytes: 16 << 20,
            long_reader: Duration::from_secs(30),
            reclaim_every: Duration::from_secs(10),
            file_bytes_max: None,
        }
    }
}

impl fmt::Debug for SqliteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteOptions")
            .field("cache_bytes", &self.cache_bytes)
            .field("readers", &self.readers)
            .field("busy_timeout", &self.busy_timeout)
            .field("checkpoint_bytes", &self.checkpoint_bytes)
            .field("long_reader", &self.long_reader)
            .field("reclaim_every", &self.reclaim_every)
            .field("file_bytes_max", &self.file_bytes_max)
            .finish_non_exhaustive()
    }
}
