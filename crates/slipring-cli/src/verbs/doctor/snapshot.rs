//! One look: the queues, the waits, and what holds the store up.

use slipring::clock::monotonic_ns;
use slipring::{Clock, Obstacles, QueueCounts, QueueSettings, QueueStats, SystemClock};
use slipring_server::admin::model::{QueueView, WaitTable, WaitView};

use crate::failure::Failure;
use crate::target::Target;

/// At most so many pages of a thousand queues are looked at.
const PAGES_MAX: usize = 10;

/// A queue as it was seen.
#[derive(Debug, Clone)]
pub struct SeenQueue {
    /// Its name.
    pub name: String,
    /// Its number.
    pub id: u64,
    /// Receives that wait at the server.
    pub waiting: u64,
    /// Its settings.
    pub settings: QueueSettings,
    /// What it holds; nothing where that could not be told.
    pub stats: QueueStats,
    /// Whether it could.
    pub has_figures: bool,
    /// What went through it at the server; `None` with `--store`, and from a server that does not
    /// say.
    pub counts: Option<QueueCounts>,
}

impl From<QueueView> for SeenQueue {
    fn from(view: QueueView) -> SeenQueue {
        SeenQueue {
            name: view.name,
            id: view.id,
            waiting: view.waiting,
            settings: view.settings,
            has_figures: view.stats.is_some(),
            stats: view.stats.unwrap_or_default(),
            counts: view.counts,
        }
    }
}

/// What was seen at a moment.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The moment, in milliseconds since 1970-01-01 UTC.
    pub at_ms: u64,
    /// When the waits were read, by a clock that only goes on.
    pub read_ns: u64,
    /// When the queues were read, by the same clock.
    pub queues_ns: u64,
    /// The queues, by name.
    pub queues: Vec<SeenQueue>,
    /// They are all that there are.
    pub all_queues: bool,
    /// The wait classes of a server; none without one, where only this look itself waits.
    pub waits: Vec<WaitView>,
    /// What holds the store up.
    pub obstacles: Obstacles,
}

impl Snapshot {
    /// The first look. `obstacles` are those that were looked for before.
    ///
    /// # Errors
    /// A server or a store that does not answer.
    pub async fn first(target: &Target, obstacles: Option<Obstacles>) -> Result<Snapshot, Failure> {
        let obstacles = match obstacles {
            Some(obstacles) => obstacles,
            None => target.get("/v1/obstacles").await?,
        };
        let (queues, all_queues) = queues(target).await?;
        let queues_ns = monotonic_ns();
        // Last, as they are first in the second look: what the looks wait for counts for nothing.
        let (at_ms, read_ns, waits) = waits(target).await?;
        Ok(Snapshot { at_ms, read_ns, queues_ns, queues, all_queues, waits, obstacles })
    }

    /// The second look.
    ///
    /// # Errors
    /// A server or a store that does not answer.
    pub async fn second(target: &Target) -> Result<Snapshot, Failure> {
        let (at_ms, read_ns, waits) = waits(target).await?;
        let obstacles = target.get("/v1/obstacles").await?;
        let (queues, all_queues) = queues(target).await?;
        let queues_ns = monotonic_ns();
        Ok(Snapshot { at_ms, read_ns, queues_ns, queues, all_queues, waits, obstacles })
    }

    /// Makes a second look the first one of the next two.
    ///
    /// # Errors
    /// A server or a store that does not answer.
    pub async fn read_waits(&mut self, target: &Target) -> Result<(), Failure> {
        (_, self.read_ns, self.waits) = waits(target).await?;
        Ok(())
    }

    /// How often a class was waited for since this look, and for how many nanoseconds; `None` where
    /// a server that was started anew counts from nothing.
    pub fn waited_since(&self, class: &WaitView) -> Option<(u64, u64)> {
        let before = self.waits.iter().find(|before| before.name == class.name);
        let (times, total_ns) = before.map_or((0, 0), |before| (before.contended, before.total_ns));
        Some((class.contended.checked_sub(times)?, class.total_ns.checked_sub(total_ns)?))
    }

    /// The queue of this name.
    pub fn queue(&self, name: &str) -> Option<&SeenQueue> {
        let found = self.queues.binary_search_by(|queue| queue.name.as_str().cmp(name));
        found.ok().and_then(|at| self.queues.get(at))
    }
}

/// The time, and the wait classes of a server.
async fn waits(target: &Target) -> Result<(u64, u64, Vec<WaitView>), Failure> {
    let (at_ms, waits) = match target {
        Target::Server { .. } => {
            let table: WaitTable = target.get("/v1/waits").await?;
            (SystemClock::new().now().as_millis(), table.waits)
        }
        Target::File { engine, .. } => (engine.clock().now().as_millis(), Vec::new()),
    };
    Ok((at_ms, monotonic_ns(), waits))
}

async fn queues(target: &Target) -> Result<(Vec<SeenQueue>, bool), Failure> {
    let (queues, all) = target.queues("", PAGES_MAX).await?;
    let mut queues: Vec<SeenQueue> = queues.into_iter().map(SeenQueue::from).collect();
    if matches!(target, Target::File { .. }) {
        // What this process has counted is nothing.
        queues.iter_mut().for_each(|queue| queue.counts = None);
    }
    Ok((queues, all))
}
