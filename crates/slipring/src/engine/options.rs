//! What an engine is opened with.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Clock;
use crate::limits::Limits;
use crate::random::{Randomness, SystemRandomness};
use crate::waits::Waits;

/// What an engine is opened with.
#[derive(Clone)]
pub struct EngineOptions {
    /// Where the time comes from. Default `None`: the clock of the store, which all processes share
    /// that have it open (S13.2), and where it has none, the clock of the machine.
    pub clock: Option<Arc<dyn Clock>>,
    /// Where jitter comes from.
    pub randomness: Arc<dyn Randomness>,
    /// The limits.
    pub limits: Limits,
    /// The table of wait classes; give the store the same one.
    pub waits: Waits,
    /// Timer shards, 1 to 64. Default 16. Queues of one shard share a lock; a thread that loses its
    /// processor while it holds the lock holds up their timers. Decision 0028 has the figures.
    pub timer_shards: usize,
    /// How often a shared store is asked for changes by other processes while there are some;
    /// while there are none the pause grows to four times as long, and the looks never take more
    /// than a twentieth of the time. Default 5 ms.
    pub foreign_poll: Duration,
}

impl Default for EngineOptions {
    fn default() -> EngineOptions {
        EngineOptions {
            clock: None,
            randomness: Arc::new(SystemRandomness),
            limits: Limits::default(),
            waits: Waits::new(),
            timer_shards: 16,
            foreign_poll: Duration::from_millis(5),
        }
    }
}

impl fmt::Debug for EngineOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineOptions")
            .field("limits", &self.limits)
            .field("timer_shards", &self.timer_shards)
            .field("foreign_poll", &self.foreign_poll)
            .finish_non_exhaustive()
    }
}
