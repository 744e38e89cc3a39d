//! Atomic parallel bulk load: D connections append a load, one small commit publishes it. Measured
//! against one transaction that holds all rows: COPY on PostgreSQL, INSERT on SQLite.
//!
//! By turns in each round: the one transaction, then 1, 2, 4 and 8 connections. In every load a
//! look from another handle reads the statistics again and again: nothing may be ready before the
//! publication, and all of it after. A load of its own has somebody beside it who sends, receives
//! and acks on the same queue: what it waits at most is the stall.

mod baseline;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use slipring::{
    Engine, EngineOptions, Load, NewMessage, Queue, QueueSettings, ReceiveRequest, WaitSnapshot,
};
use slipring_postgres::{Address, PostgresOptions, PostgresStore};
use slipring_sqlite::{SqliteOptions, SqliteStore};

use self::baseline::{BODY_BYTES, Baseline, body, one_copy, one_insert, seconds_since};
use crate::cases::Options;
use crate::findings::{Axis, Findings, Plot, Series, Table};
use crate::run::cluster::Cluster;
use crate::run::condition::{Condition, number};
use crate::targets::postgres::connect;
use crate::time::monotonic_ns;

/// How many connections append at the same time.
const CONNECTIONS: [u32; 4] = [1, 2, 4, 8];
/// With so many the stall of somebody else is measured.
const STALL_CONNECTIONS: u32 = 4;
/// Between two looks whether a part of a load is seen.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// What somebody beside a load sends.
const BESIDE: &[u8] = b"beside";
/// Published: three records for 64 KiB, each with one exclusive latch.
const PUBLISHED_PER_64_KIB: f64 = 3.0;

/// Adds tables, a plot and checks of bulk loads.
///
/// # Errors
/// When a store or a baseline fails; what was measured until then is kept.
pub(crate) fn measure(options: &Options, findings: &mut Findings) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let sizes = Sizes::of(options.smoke);
        let folder = tempfile::Builder::new().prefix("load").tempdir_in(crate::folder::data()?)?;
        let cluster = Cluster::open(None).await?;
        let database = cluster.create_database(&cluster.admin().await?).await?;
        let url = cluster.url(&database);
        for store in [Kind::Sqlite, Kind::Postgres] {
            let mut found = Found::default();
            let measured = found.rounds(store, &sizes, folder.path(), &url).await;
            found.tell(store, &sizes, findings);
            measured.with_context(|| format!("loading into {}", store.name()))?;
        }
        findings.notes.push(format!(
            "load: {} messages of {BODY_BYTES} bytes, {} rounds by turns, medians; queues with \
             durability full, synchronous_commit=on, and synchronous=FULL for the bare INSERT; the \
             parts of a load on PostgreSQL are flushed with its publication at the latest",
            sizes.messages, sizes.rounds
        ));
        Ok(())
    })
}

struct Sizes {
    messages: u32,
    rounds: u32,
}

impl Sizes {
    fn of(smoke: bool) -> Sizes {
        match smoke {
            true => Sizes { messages: 20_000, rounds: 1 },
            false => Sizes { messages: 1_000_000, rounds: 3 },
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sqlite,
    Postgres,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Sqlite => "SQLite",
            Kind::Postgres => "PostgreSQL",
        }
    }

    fn baseline(self) -> &'static str {
        match self {
            Kind::Sqlite => "INSERT in one transaction",
            Kind::Postgres => "COPY in one transaction",
        }
    }

    async fn open(self, folder: &Path, url: &str) -> Result<Engine> {
        let options = EngineOptions::default();
        let store: Arc<dyn slipring::Store> = match self {
            Kind::Sqlite => {
                let sqlite =
                    SqliteOptions { waits: options.waits.clone(), ..SqliteOptions::default() };
                let path = folder.join("load.db");
                tokio::task::spawn_blocking(|| SqliteStore::open(path, sqlite)).await??
            }
            Kind::Postgres => {
                let address: Address = url.parse().map_err(anyhow::Error::msg)?;
                let waits = options.waits.clone();
                let options = PostgresOptions { waits, ..PostgresOptions::default() };
                PostgresStore::open(&address, options).await?
            }
        };
        Ok(Engine::open(store, options).await?)
    }
}

/// One load, as it was measured.
#[derive(Debug, Default, Clone, Copy)]
struct Run {
    seconds: f64,
    publish_ms: f64,
    /// Turns at what only one may have at a time: the writer, or the queue's lock.
    turns: f64,
    flushes: f64,
    /// Looks that saw some of it, but not all.
    torn_looks: u32,
    looks: u32,
    send_stall_ms: f64,
    receive_stall_ms: f64,
    early: u32,
}

/// What was measured of a store.
#[derive(Default)]
struct Found {
    baseline: Vec<Baseline>,
    runs: BTreeMap<u32, Vec<Run>>,
    beside: Option<Run>,
}

impl Found {
    async fn rounds(&mut self, kind: Kind, sizes: &Sizes, folder: &Path, url: &str) -> Result<()> {
        for round in 0..sizes.rounds {
            let at = folder.join(format!("{}-{round}", kind.name()));
            std::fs::create_dir_all(&at)?;
            self.baseline.push(match kind {
                Kind::Sqlite => one_insert(&at, sizes.messages)?,
                Kind::Postgres => one_copy(url, sizes.messages).await?,
            });
            for connections in CONNECTIONS {
                let run = load(kind, &at, url, sizes.messages, connections, false).await?;
                self.runs.entry(connections).or_default().push(run);
            }
        }
        self.beside = Some(load(kind, folder, url, sizes.messages, STALL_CONNECTIONS, true).await?);
        Ok(())
    }

    fn tell(&self, kind: Kind, sizes: &Sizes, findings: &mut Findings) {
        let messages = f64::from(sizes.messages);
        let baseline = messages / median(self.baseline.iter().map(|run| run.seconds));
        let turns = match kind {
            Kind::Sqlite => "turns at the writer/1,000",
            Kind::Postgres => "turns at the queue's lock/1,000",
        };
        let heads =
            ["connections", "messages/s", "µs/message", "ratio", "publish ms", turns, "flushes"];
        let title = format!("load into {}: {} messages", kind.name(), number(messages));
        let mut table = Table::new(&title, &heads);
        table.row([
            kind.baseline().to_owned(),
            number(baseline),
            format!("{:.2}", 1e6 / baseline),
            "1.00".to_owned(),
        ]);
        let copied = median(self.baseline.iter().map(|run| run.copied_seconds));
        let staged = "publishing staged rows by INSERT … SELECT".to_owned();
        table.row([staged, "".into(), "".into(), "".into(), format!("{:.1}", copied * 1e3)]);
        let mut points = Vec::new();
        for (connections, runs) in &self.runs {
            let of = |figure: fn(&Run) -> f64| median(runs.iter().map(figure));
            let rate = messages / of(|run| run.seconds);
            points.push((f64::from(*connections), rate));
            table.row([
                connections.to_string(),
                number(rate),
                format!("{:.2}", 1e6 / rate),
                format!("{:.2}", rate / baseline),
                format!("{:.1}", of(|run| run.publish_ms)),
                format!("{:.3}", of(|run| run.turns) / messages * 1e3),
                number(of(|run| run.flushes)),
            ]);
        }
        findings.tables.push(table);
        let best = points.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        let level = points.iter().map(|(connections, _)| (*connections, baseline)).collect();
        findings.plots.push(Plot {
            name: format!("load-{}", kind.name().to_lowercase()),
            title: format!("load into {}", kind.name()),
            x: Axis::linear("connections"),
            y: Axis::linear("messages/s"),
            series: vec![
                Series { name: "load".to_owned(), points },
                Series { name: kind.baseline().to_owned(), points: level },
            ],
        });
        self.check(kind, sizes, (best, baseline), findings);
    }

    fn check(
        &self,
        kind: Kind,
        sizes: &Sizes,
        (best, baseline): (f64, f64),
        findings: &mut Findings,
    ) {
        let all = || self.runs.values().flatten().chain(&self.beside);
        let name = kind.name();
        let conditions = &mut findings.conditions;
        let looks = format!("{name}: looks that saw a part of a load");
        let torn = all().map(|run| run.torn_looks).sum::<u32>();
        conditions.push(Condition::at_most(&looks, "looks", f64::from(torn), 0.0));
        let made: u32 = all().map(|run| run.looks).sum();
        let made = f64::from(made);
        conditions.push(Condition::at_least(format!("{name}: looks made"), "looks", made, 10.0));
        let factor = if kind == Kind::Postgres { 1.0 } else { 0.5 };
        let baseline_name = format!("{name} {}", kind.baseline());
        conditions.push(Condition::times(best, baseline, &baseline_name, factor));
        let bytes = f64::from(sizes.messages) * BODY_BYTES as f64;
        let published = PUBLISHED_PER_64_KIB * bytes / 65536.0;
        let turns = all().filter(|run| run.early == 0 && run.send_stall_ms == 0.0);
        let turns = most(turns.map(|run| run.turns));
        let words = format!("{name}: turns, as a part of the latches published");
        conditions.push(Condition::at_most(&words, "of them", turns / published, 1.0));
        let beside = |of: fn(&Run) -> f64| self.beside.as_ref().map_or(f64::NAN, of);
        let words = format!("{name}: messages of a load received early");
        let early = beside(|run| f64::from(run.early));
        conditions.push(Condition::at_most(&words, "messages", early, 0.0));
        let stalls = [beside(|run| run.send_stall_ms), beside(|run| run.receive_stall_ms)];
        for (what, stall_ms) in ["send", "receive and ack"].into_iter().zip(stalls) {
            let words = format!("{name}: longest {what} beside a load");
            conditions.push(Condition::at_most(&words, "ms", stall_ms, 250.0));
        }
    }
}

/// The highest; not a number where there is none, or where one was not measured.
fn most(figures: impl Iterator<Item = f64>) -> f64 {
    let higher = |most: f64, figure: f64| if figure > most { figure } else { most + 0.0 * figure };
    figures.reduce(higher).unwrap_or(f64::NAN)
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Loads messages on so many connections while another handle looks.
async fn load(
    kind: Kind,
    folder: &Path,
    url: &str,
    messages: u32,
    connections: u32,
    beside: bool,
) -> Result<Run> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let name = format!("load-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let engine = kind.open(folder, url).await?;
    let looker = kind.open(folder, url).await?;
    let queue = engine.create_queue(&name, QueueSettings::default()).await?;
    let looked = looker.queue(&name).await?;
    let over = Arc::new(AtomicBool::new(false));
    let looking = tokio::spawn(look(looked, u64::from(messages), Arc::clone(&over)));
    let quiet = Arc::new(AtomicBool::new(!beside));
    let cycling = tokio::spawn(cycle(queue.clone(), Arc::clone(&quiet)));
    let before = Counted::of(kind, &engine, url).await?;
    let size = engine.capabilities().call_messages_max.min(messages);
    let since_ns = monotonic_ns();
    let load = queue.begin_load().await?;
    append(&load, messages, size, connections).await?;
    quiet.store(true, Ordering::Release);
    let mut run = cycling.await??;
    let publish_ns = monotonic_ns();
    load.publish(u64::from(messages)).await?;
    run.publish_ms = seconds_since(publish_ns) * 1e3;
    run.seconds = seconds_since(since_ns);
    let after = Counted::of(kind, &engine, url).await?;
    (run.turns, run.flushes) = (after.turns - before.turns, after.flushes - before.flushes);
    // One look more, after it.
    let seen = queue.stats().await?.ready;
    over.store(true, Ordering::Release);
    let (looks, torn) = looking.await??;
    (run.looks, run.torn_looks) = (looks, torn);
    ensure!(seen == u64::from(messages), "{seen} of {messages} messages are ready");
    engine.delete_queue(&queue).await?;
    looker.shutdown().await;
    engine.shutdown().await;
    Ok(run)
}

/// Appends all messages, part by part, on several connections.
async fn append(load: &Load, messages: u32, size: u32, connections: u32) -> Result<()> {
    let next = Arc::new(AtomicU32::new(0));
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..connections {
        let (load, next) = (load.clone(), Arc::clone(&next));
        tasks.spawn(async move {
            loop {
                let part = next.fetch_add(1, Ordering::Relaxed);
                let first = part.saturating_mul(size);
                if first >= messages {
                    return Ok::<(), slipring::Error>(());
                }
                let part_of = first..messages.min(first + size);
                let part_messages = part_of.map(|number| NewMessage::new(body(number))).collect();
                load.append(part, u64::from(part), part_messages).await?;
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    Ok(())
}

/// Reads the statistics until it is over; answers how often, and how often it saw a part. One
/// message beside the load may be there.
async fn look(queue: Queue, whole: u64, over: Arc<AtomicBool>) -> Result<(u32, u32)> {
    let (mut looks, mut torn) = (0, 0);
    while !over.load(Ordering::Acquire) {
        let ready = queue.stats().await?.ready;
        looks += 1;
        torn += u32::from(ready > 1 && ready != whole);
        // More of them would measure the looks.
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok((looks, torn))
}

/// Sends, receives and acks one message after the other until it shall be quiet.
async fn cycle(queue: Queue, quiet: Arc<AtomicBool>) -> Result<Run> {
    let mut run = Run::default();
    while !quiet.load(Ordering::Acquire) {
        let since_ns = monotonic_ns();
        queue.send(NewMessage::new(BESIDE)).await?;
        run.send_stall_ms = run.send_stall_ms.max(seconds_since(since_ns) * 1e3);
        let since_ns = monotonic_ns();
        for delivery in queue.receive(ReceiveRequest::up_to(1)).await? {
            run.early += u32::from(delivery.message.body != BESIDE);
            queue.ack(&delivery.receipt).await?;
        }
        run.receive_stall_ms = run.receive_stall_ms.max(seconds_since(since_ns) * 1e3);
    }
    Ok(run)
}

/// Turns and flushes so far.
struct Counted {
    turns: f64,
    flushes: f64,
}

impl Counted {
    async fn of(kind: Kind, engine: &Engine, url: &str) -> Result<Counted> {
        if kind == Kind::Postgres {
            let client = connect(url).await?;
            let row =
                client.query_one(include_str!("../../../queries/load_turns.sql"), &[]).await?;
            let figure = |at: usize| row.get::<_, i64>(at) as f64;
            return Ok(Counted { turns: figure(0), flushes: figure(1) });
        }
        let waits = engine.waits();
        let taken = |name: &str| {
            let class = waits.iter().find(|class: &&WaitSnapshot| class.name == name);
            class.map_or(f64::NAN, |class| class.acquisitions as f64)
        };
        Ok(Counted { turns: taken("sqlite.writer_inbox"), flushes: taken("sqlite.flush") })
    }
}

#[cfg(test)]
#[test]
fn the_highest_of_what_was_not_measured_is_no_number() {
    assert_eq!(most([1.0, 3.0, 2.0].into_iter()), 3.0);
    let unknown = [vec![], vec![f64::NAN, 1.0], vec![1.0, f64::NAN]];
    assert!(unknown.into_iter().all(|figures| most(figures.into_iter()).is_nan()));
}
