//! What can be chosen when a store is opened.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use slipring::{Randomness, SystemRandomness, Waits};

use crate::constants;

/// When opening a store brings the schema up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhenToMigrate {
    /// Never: a database without the present schema is refused.
    Never,
    /// Only a database in which there is no schema `slipring` yet.
    #[default]
    Empty,
    /// Also one with an older schema.
    Always,
}

/// How a database is used. The defaults suit one server among several.
#[derive(Clone)]
pub struct PostgresOptions {
    /// The table that counts the store's waits. Default: a table of its own.
    pub waits: Waits,
    /// Where the jitter of retries and the number of this holder come from. Default: the
    /// operating system.
    pub randomness: Arc<dyn Randomness>,
    /// Most connections at a time; at least 1. Default 16.
    pub connections: usize,
    /// How long a call waits for a connection, made new or given back. Default 5 s.
    pub connect_timeout: Duration,
    /// How long a statement may take before it is cancelled. Default 30 s.
    pub statement_timeout: Duration,
    /// A table of messages is closed when it holds so many bytes; it is emptied as a whole when
    /// all its messages are done. Default 64 MiB.
    pub rotate_bytes: u64,
    /// A table of messages is closed after so long at the latest, if anything is in it. Default
    /// 1 min.
    pub rotate_age: Duration,
    /// When opening brings the schema up to date. Default: only in an empty database.
    pub migrate: WhenToMigrate,
}

impl Default for PostgresOptions {
    fn default() -> PostgresOptions {
        PostgresOptions {
            waits: Waits::new(),
            randomness: Arc::new(SystemRandomness),
            connections: 16,
            connect_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(30),
            rotate_bytes: constants::ROTATE_BYTES.unsigned_abs(),
            rotate_age: Duration::from_millis(constants::ROTATE_AGE_MS.unsigned_abs()),
            migrate: WhenToMigrate::default(),
        }
    }
}

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresOptions")
            .field("connections", &self.connections)
            .field("connect_timeout", &self.connect_timeout)
            .field("statement_timeout", &self.statement_timeout)
            .field("rotate_bytes", &self.rotate_bytes)
            .field("rotate_age", &self.rotate_age)
            .field("migrate", &self.migrate)
            .finish_non_exhaustive()
    }
}
