//! Receives that wait for a very long time and do nothing else.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use tokio::task::JoinSet;

use super::contender::{Contender, Held, Place};

/// Longer than any run.
const TIME_OUT: Duration = Duration::from_secs(3600);
/// All have sat down within so long.
const SIT_WITHIN: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Receives at rest on queue A, each a task. Dropping them ends their waits.
pub struct Idlers(JoinSet<Result<Option<Held>>>);

impl Idlers {
    /// Starts so many, and waits until all wait.
    ///
    /// # Errors
    /// When they do not come to rest in time.
    pub async fn start(contender: &Arc<Contender>, count: usize) -> Result<Idlers> {
        let mut tasks = JoinSet::new();
        for _ in 0..count {
            let contender = Arc::clone(contender);
            tasks.spawn(async move { contender.receive(Place::A, TIME_OUT).await });
        }
        let deadline = Instant::now() + SIT_WITHIN;
        loop {
            let waiting = contender.waiting(Place::A).await;
            if waiting >= count {
                return Ok(Idlers(tasks));
            }
            if Instant::now() > deadline {
                bail!("{waiting} of {count} idle receives wait after {SIT_WITHIN:?}");
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// The next that has got a message; nothing when none is left.
    ///
    /// # Errors
    /// Those of the engine; when a wait has ended without a message.
    pub async fn next(&mut self) -> Result<Option<Held>> {
        let Some(ended) = self.0.join_next().await else { return Ok(None) };
        match ended?? {
            Some(held) => Ok(Some(held)),
            None => bail!("a wait of {TIME_OUT:?} ended without a message"),
        }
    }

    /// Ends their waits.
    pub async fn end(mut self) {
        self.0.shutdown().await;
    }
}
