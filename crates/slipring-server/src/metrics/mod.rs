//! The figures of `/metrics`: queues, commands, waits, the store, the process.
//! `docs/operating/metrics.md` lists them.
//!
//! The number of lines is bounded: at most [`QUEUES_MAX`] queues have lines of their own, and
//! every other label has a fixed set of values.

mod filter;
mod latency;
mod ledger;
mod queues;
mod text;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use slipring::{Engine, Error, ErrorKind, QueueStats, StoreSpace, Timestamp, WaitSnapshot};

use crate::audit::Audit;
use crate::process::Usage;

use self::queues::{Chosen, Others};
use self::text::Text;

pub(crate) use self::filter::Filter;
pub(crate) use self::ledger::Ledger;

/// Queues with lines of their own, the first by name; the others are counted together.
pub const QUEUES_MAX: usize = 1000;

/// A store that has not given its figures within this time counts as one that does not answer:
/// enough for thousands of queues one after another, and less than the 10 s after which
/// Prometheus by default gives up.
const STORE_WITHIN: Duration = Duration::from_secs(8);

/// What the store says.
struct Stored {
    chosen: Chosen,
    /// Of the queues with lines of their own.
    stats: Vec<Result<QueueStats, Error>>,
    space: StoreSpace,
}

/// What a protocol has counted since the start.
pub(crate) trait Counted: Send + Sync {
    /// The protocol's name.
    fn protocol(&self) -> &'static str;

    /// Each command with how often it came; the same commands at every call.
    fn commands(&self) -> Vec<(&'static str, u64)>;

    /// How long they took, and which errors were answered.
    fn ledger(&self) -> &Ledger;

    /// Connections open now.
    fn connections(&self) -> u64;

    /// Connections, and requests by way of proxies, that found no place.
    fn refused(&self) -> u64;
}

/// Where the figures come from.
#[derive(Clone)]
pub(crate) struct Metrics {
    engine: Engine,
    started: Timestamp,
    protocols: Vec<Arc<dyn Counted>>,
    audit: Audit,
    /// Only scrapes take it, for as long as they read counters.
    others: Arc<Mutex<Others>>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").field("started", &self.started).finish_non_exhaustive()
    }
}

impl Metrics {
    pub(crate) fn new(engine: Engine, protocols: Vec<Arc<dyn Counted>>, audit: Audit) -> Metrics {
        let started = engine.clock().now();
        Metrics { started, engine, protocols, audit, others: Arc::default() }
    }

    /// The figures in Prometheus' text format; of queues, those that `filter` takes. Costs the
    /// statistics of [`QUEUES_MAX`] queues at most, and a look at the counters of all.
    ///
    /// A store that is away takes only its own families with it: the others tell why it is.
    /// `slipring_store_up` says whether the store answered.
    ///
    /// # Errors
    /// `Internal` for a fault of the program.
    pub(crate) async fn render(&self, filter: Option<Filter>) -> Result<String, Error> {
        let stored = answered(STORE_WITHIN, self.stored(filter.clone())).await;
        let metrics = self.clone();
        beside(move || metrics.write(stored, filter.as_ref())).await
    }

    async fn stored(&self, filter: Option<Filter>) -> Result<Stored, Error> {
        // Takes over the store's list of queues, where others have changed it.
        self.engine.queues().await?;
        let metrics = self.clone();
        let chosen = beside(move || metrics.choose(filter.as_ref())).await?;
        let stats = self.engine.stats_of(&chosen.seen).await?;
        if let Err(error) = self.engine.check().await
            // It answers, and figures of a disk that is nearly full are wanted most.
            && error.kind() != ErrorKind::StorageFull
        {
            return Err(error);
        }
        Ok(Stored { chosen, stats, space: self.engine.space().await? })
    }

    fn choose(&self, filter: Option<&Filter>) -> Chosen {
        // The list is not older than that of the look before: what that has counted of a queue
        // which is not in this one would be counted again.
        let mut others = self.others.lock();
        Chosen::of(&self.engine.known_queues(), filter, &mut others)
    }

    fn write(&self, stored: Option<Stored>, filter: Option<&Filter>) -> String {
        let mut text = Text::default();
        text.gauge("slipring_store_up", "1 when the store gave its figures, 0 when it did not.")
            .plain(u8::from(stored.is_some()));
        match stored {
            Some(Stored { chosen, stats, space }) => {
                chosen.write_held(&mut text, &stats, self.engine.clock().now());
                chosen.write_counts(&mut text);
                write_space(&mut text, space);
            }
            None => self.choose(filter).write_counts(&mut text),
        }
        waits(&mut text, &self.engine.waits());
        self.protocols(&mut text);
        if let Some(failures) = self.audit.failures() {
            let help = "Lines of the audit file that could not be written.";
            text.counter("slipring_audit_failures_total", help).plain(failures);
        }
        self.process(&mut text);
        text.finish()
    }

    fn protocols(&self, text: &mut Text) {
        let help = "Commands that came in, by protocol.";
        let mut family = text.counter("slipring_commands_total", help);
        for protocol in &self.protocols {
            let name = protocol.protocol();
            for (command, count) in protocol.commands() {
                family.sample(&[("protocol", name), ("command", command)], count);
            }
        }
        let mut family = text.gauge("slipring_connections", "Open connections, by protocol.");
        for protocol in &self.protocols {
            family.sample(&[("protocol", protocol.protocol())], protocol.connections());
        }
        let help = "Connections, and requests by way of a proxy, that found no place.";
        let mut family = text.counter("slipring_connections_refused_total", help);
        for protocol in &self.protocols {
            family.sample(&[("protocol", protocol.protocol())], protocol.refused());
        }
        let named = |protocol: &Arc<dyn Counted>| protocol.protocol();
        let ledgers = self.protocols.iter().map(|protocol| (named(protocol), protocol.ledger()));
        ledger::write(text, &ledgers.collect::<Vec<_>>());
    }

    fn process(&self, text: &mut Text) {
        let usage = Usage::read();
        text.gauge("slipring_build_info", "1, with the version and the store as labels.").sample(
            &[("version", env!("CARGO_PKG_VERSION")), ("store", self.engine.capabilities().name)],
            1_u64,
        );
        text.counter("process_cpu_seconds_total", "User and system CPU time.")
            .plain(usage.cpu.as_secs_f64());
        text.gauge("process_resident_memory_bytes", "Resident memory.").plain(usage.resident_bytes);
        text.gauge("process_open_fds", "Open files.").plain(usage.open_files);
        text.gauge("process_max_fds", "Most open files.").plain(usage.open_files_max);
        text.gauge("process_start_time_seconds", "When the server started, since 1970-01-01 UTC.")
            .plain(self.started.as_millis() as f64 / 1000.0);
    }
}

/// Does what takes milliseconds beside the threads that serve connections.
async fn beside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| Error::new(ErrorKind::Internal, "the figures could not be put together"))
}

/// What the store answered; nothing when it failed, or had not by then.
async fn answered<T>(within: Duration, asked: impl Future<Output = Result<T, Error>>) -> Option<T> {
    tokio::time::timeout(within, asked).await.ok()?.ok()
}

/// What the store does not know has no family.
fn write_space(text: &mut Text, space: StoreSpace) {
    let StoreSpace { file, file_free, log, disk_free } = space;
    let families = [
        ("slipring_store_file_bytes", "The store's file.", file),
        ("slipring_store_file_free_bytes", "Of the file, free to be used again.", file_free),
        ("slipring_store_log_bytes", "The log beside the file.", log),
        ("slipring_store_disk_free_bytes", "Free on the disk of the file.", disk_free),
    ];
    for (name, help, bytes) in families {
        if let Some(bytes) = bytes {
            text.gauge(name, help).plain(bytes);
        }
    }
}

fn waits(text: &mut Text, waits: &[WaitSnapshot]) {
    let help = "How often the thing a wait class guards was taken.";
    let mut family = text.counter("slipring_wait_acquisitions_total", help);
    for wait in waits {
        family.sample(&[("class", wait.name)], wait.acquisitions);
    }
    let help = "The longest wait of a class since the start.";
    let mut family = text.gauge("slipring_wait_max_seconds", help);
    for wait in waits {
        family.sample(&[("class", wait.name)], seconds(wait.max_ns));
    }
    let help = "Waits of a class, of those that had to wait.";
    let mut family = text.histogram("slipring_wait_seconds", help);
    for wait in waits {
        family.histogram(&[("class", wait.name)], &bounds(wait), seconds(wait.total_ns));
    }
}

/// Upper bounds in seconds with the waits up to each: every second power of two from 1 µs to 17 s.
/// The last is the number of all of them.
fn bounds(wait: &WaitSnapshot) -> Vec<(f64, u64)> {
    let mut below = 0;
    let mut bounds = Vec::new();
    for (power, count) in wait.buckets.iter().enumerate() {
        below += count;
        // Bucket `power` holds waits below 2^(power+1) ns.
        let exponent = power + 1;
        if (10..=35).contains(&exponent) && exponent % 2 == 0 {
            bounds.push((seconds(1 << exponent), below));
        }
    }
    bounds.push((f64::INFINITY, below));
    bounds
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use slipring::Waits;
    use slipring::stores::MemoryStore;

    #[tokio::test]
    async fn a_store_that_fails_or_hangs_gives_nothing() {
        let failed = async { Err(Error::new(ErrorKind::StorageUnavailable, "away")) };
        assert_eq!(answered::<u8>(STORE_WITHIN, failed).await, None);
        let hanging = std::future::pending::<Result<u8, Error>>();
        assert_eq!(answered(Duration::from_millis(1), hanging).await, None);
        assert_eq!(answered(STORE_WITHIN, async { Ok(1) }).await, Some(1));
    }

    #[tokio::test]
    async fn a_store_that_is_away_takes_only_its_own_families_with_it() {
        let engine = Engine::open(MemoryStore::shared(), Default::default()).await.unwrap();
        let audit = Audit::new(Arc::clone(engine.clock()), None);
        let metrics = Metrics::new(engine.clone(), Vec::new(), audit);
        let up = metrics.render(None).await.unwrap();
        assert!(up.contains("\nslipring_store_up 1\n"), "{up}");
        engine.shutdown().await;
        let away = metrics.render(None).await.unwrap();
        for line in ["slipring_store_up 0", "# TYPE slipring_store_up gauge"] {
            assert!(away.lines().any(|given| given == line), "{line} is not in\n{away}");
        }
        let names = |text: &str| -> Vec<String> {
            let heads = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
            heads.map(str::to_owned).collect()
        };
        let lost: Vec<String> =
            names(&up).into_iter().filter(|name| !names(&away).contains(name)).collect();
        assert!(lost.iter().all(|name| name.starts_with("slipring_queue")), "{lost:?}");
        assert_eq!(lost.len(), 9);
    }

    // Nothing else on this thread takes the lock.
    #[allow(clippy::await_holding_lock)]
    #[tokio::test]
    async fn scrapes_at_the_same_time_count_a_new_queue_once() {
        let engine = Engine::open(MemoryStore::shared(), Default::default()).await.unwrap();
        for number in 0..=QUEUES_MAX {
            let name = format!("q{number:04}");
            engine.create_queue(&name, Default::default()).await.unwrap();
        }
        let audit = Audit::new(Arc::clone(engine.clock()), None);
        let metrics = Metrics::new(engine.clone(), Vec::new(), audit);
        let late = metrics.clone();
        let late = {
            let mut others = metrics.others.lock();
            let late = tokio::spawn(async move { late.render(None).await });
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            let new = engine.create_queue("z", Default::default()).await.unwrap();
            new.send(slipring::NewMessage::new("x")).await.unwrap();
            Chosen::of(&engine.known_queues(), None, &mut others);
            late
        };
        late.await.unwrap().unwrap();
        let text = metrics.render(None).await.unwrap();
        let sent = "slipring_messages_sent_total{queue=\"\"} 1";
        assert!(text.lines().any(|line| line == sent), "{text}");
    }

    #[test]
    fn a_wait_is_counted_in_every_bound_above_it() {
        let waits = Waits::new();
        waits.class("lock").waited(3_000);
        waits.class("lock").waited(1 << 39);
        let bounds = bounds(&waits.snapshot()[0]);
        let upto = |at: f64| bounds.iter().find(|(bound, _)| *bound >= at).unwrap().1;
        assert_eq!((upto(1e-6), upto(4e-6), upto(17.0)), (0, 1, 1));
        assert_eq!(bounds.last().unwrap(), &(f64::INFINITY, 2));
    }
}
