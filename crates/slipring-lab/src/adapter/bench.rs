//! What all parts of a running adapter share.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tokio_util::sync::CancellationToken;

use super::environment::Environment;
use super::ledger::Ledger;
use super::log::Log;
use super::tally::Tally;

/// After something has failed it is tried again so much later.
pub const AGAIN_AFTER: Duration = Duration::from_millis(200);

/// One adapter.
#[derive(Debug)]
pub struct Bench {
    /// The system's name.
    pub system: &'static str,
    /// What it was told.
    pub environment: Environment,
    /// What it has done.
    pub tally: Tally,
    /// Which jobs it has inserted and worked on, where that is asked for.
    pub ledger: Ledger,
    /// What goes wrong.
    pub log: Arc<Log>,
    /// Cancelled when the run is over.
    pub stop: CancellationToken,
}

impl Bench {
    /// Of a system that has done nothing yet.
    ///
    /// # Errors
    /// When the ledger cannot be opened.
    pub fn new(system: &'static str, environment: Environment) -> Result<Bench> {
        Ok(Bench {
            system,
            tally: Tally::new(environment.rate, environment.latency_window_s)?,
            ledger: Ledger::open(environment.ledger.as_deref())?,
            environment,
            log: Arc::new(Log::default()),
            stop: CancellationToken::new(),
        })
    }
}
