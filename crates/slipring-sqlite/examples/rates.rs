//! Rates of the store and of an engine over it against a bare rusqlite loop, interleaved, for
//! whoever works on the store: `cargo run --release -p slipring-sqlite --example rates [row]`.
//! The published figures come from the lab.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)] // It prints and ends.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use rusqlite::Connection;
use slipring::clock::monotonic_ns;
use slipring::lifecycle::Settlement;
use slipring::store::{AppendBatch, ClaimBatch, Demand, SettleBatch, Store};
use slipring::{
    AdminStore, Clock, Engine, EngineOptions, NewMessage, Queue, QueueId, QueueName, QueueSettings,
    ReceiveRequest, SystemClock, Waits,
};
use slipring_sqlite::{SqliteOptions, SqliteStore};

const BODY: [u8; 100] = [b'x'; 100];
const ROUNDS: usize = 5;

fn messages(count: usize) -> Vec<NewMessage> {
    let all = Bytes::from(BODY.repeat(count));
    (0..count).map(|n| NewMessage::new(all.slice(n * 100..(n + 1) * 100))).collect()
}

/// Things per second since a moment.
fn rate(things: usize, since_ns: u64) -> f64 {
    things as f64 / ((monotonic_ns() - since_ns) as f64 / 1e9)
}

fn raw(folder: &Path, rows: usize, transactions: usize) -> f64 {
    let mut connection = Connection::open(folder.join("raw.db")).unwrap();
    connection.pragma_update(None, "journal_mode", "wal").unwrap();
    connection.pragma_update(None, "synchronous", "full").unwrap();
    connection.execute("create table message (id integer primary key, body blob)", []).unwrap();
    let since = monotonic_ns();
    for _ in 0..transactions {
        let transaction = connection.transaction().unwrap();
        let mut insert =
            transaction.prepare_cached("insert into message (body) values (?)").unwrap();
        for _ in 0..rows {
            insert.execute([&BODY]).unwrap();
        }
        drop(insert);
        transaction.commit().unwrap();
    }
    rate(rows * transactions, since)
}

struct Bench {
    store: Arc<SqliteStore>,
    engine: Engine,
    queue: Queue,
    id: QueueId,
    clock: SystemClock,
    waits: Waits,
    _folder: tempfile::TempDir,
}

impl Bench {
    async fn open() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let waits = Waits::new();
        let options = SqliteOptions { waits: waits.clone(), ..SqliteOptions::default() };
        let store = SqliteStore::open(folder.path().join("s.db"), options).unwrap();
        let engine = EngineOptions { waits: waits.clone(), ..EngineOptions::default() };
        let engine = Engine::open(Arc::clone(&store) as _, engine).await.unwrap();
        let settings = QueueSettings { in_flight_max: 10_000_000, ..QueueSettings::default() };
        let queue = engine.create_queue("q", settings).await.unwrap();
        let id = queue.id();
        Bench { store, engine, queue, id, clock: SystemClock::new(), waits, _folder: folder }
    }

    async fn append(&self, count: usize) {
        let messages = messages(count);
        let units = vec![count as u32];
        let batch = AppendBatch { queue: self.id, now: self.clock.now(), messages, units };
        self.store.append(batch).await.unwrap();
    }

    /// Appends so many messages in batches of 1,000, with delays that differ if at all.
    async fn append_delayed(&self, count: u64, delayed: bool) {
        for first in (0..count).step_by(1000) {
            let mut messages = messages(1000);
            let of = |n: u64| std::time::Duration::from_secs(3600 + n * 48_271 % 1_000_003);
            if delayed {
                for (n, message) in messages.iter_mut().enumerate() {
                    message.delay = Some(of(first + n as u64));
                }
            }
            let units = vec![1; 1000];
            let batch = AppendBatch { queue: self.id, now: self.clock.now(), messages, units };
            self.store.append(batch).await.unwrap();
        }
    }

    /// Claims and acks so many messages; the deliveries are dropped.
    async fn consume(&self, count: u32) -> usize {
        let demands = vec![Demand { up_to: count, lease: None, session: false }];
        let batch = ClaimBatch { queue: self.id, now: self.clock.now(), demands };
        let list = self.store.claim(batch).await.unwrap().deliveries.remove(0);
        let entries: Vec<_> = list.iter().map(|d| (d.receipt, Settlement::Ack)).collect();
        let count = entries.len();
        let batch = SettleBatch { queue: self.id, now: self.clock.now(), entries };
        assert!(self.store.settle(batch).await.unwrap().iter().all(Result::is_ok));
        count
    }

    async fn end(self) {
        self.engine.shutdown().await;
        if std::env::var_os("WAITS").is_some() {
            for w in self.waits.snapshot().into_iter().filter(|w| w.acquisitions > 0) {
                println!(
                    "    {:24} {:>9} taken {:>9} waited, {:>8.1} ms in all, p50 {:>7} p95 {:>8} \
                     max {:>9} us",
                    w.name,
                    w.acquisitions,
                    w.contended,
                    w.total_ns as f64 / 1e6,
                    w.p50_ns / 1000,
                    w.p95_ns / 1000,
                    w.max_ns / 1000
                );
            }
        }
    }
}

/// Runs `work` in so many tasks at once on a bench of its own; answers the rate of all.
async fn measured<F>(tasks: usize, things: usize, work: impl Fn(Arc<Bench>) -> F) -> f64
where
    F: Future<Output = ()> + Send + 'static,
{
    let b = Arc::new(Bench::open().await);
    let since = monotonic_ns();
    let running: Vec<_> = (0..tasks).map(|_| tokio::spawn(work(Arc::clone(&b)))).collect();
    for task in running {
        task.await.unwrap();
    }
    let result = rate(things, since);
    Arc::into_inner(b).unwrap().end().await;
    result
}

async fn store_batches() -> f64 {
    measured(4, 4 * 100_000, |b| async move {
        for _ in 0..100 {
            b.append(1000).await;
        }
    })
    .await
}

async fn engine_batches() -> f64 {
    measured(4, 4 * 100_000, |b| async move {
        for _ in 0..100 {
            b.queue.send_batch(messages(1000)).await.unwrap();
        }
    })
    .await
}

async fn engine_singles() -> f64 {
    measured(1000, 1000 * 300, |b| async move {
        for _ in 0..300 {
            b.queue.send(NewMessage::new(&BODY[..])).await.unwrap();
        }
    })
    .await
}

async fn store_cycle() -> f64 {
    measured(4, 4 * 100_000, |b| async move {
        for _ in 0..100 {
            b.append(1000).await;
            b.consume(1000).await;
        }
    })
    .await
}

async fn engine_cycle() -> f64 {
    measured(4, 4 * 100_000, |b| async move {
        for _ in 0..100 {
            b.queue.send_batch(messages(1000)).await.unwrap();
            let list = b.queue.receive(ReceiveRequest::up_to(1000)).await.unwrap();
            let acks = list.iter().map(|d| (d.receipt, Settlement::Ack)).collect();
            b.queue.settle(acks).await.unwrap();
        }
    })
    .await
}

async fn lone(through_engine: bool) -> f64 {
    measured(1, 10_000, |b| async move {
        for _ in 0..10_000 {
            match through_engine {
                true => drop(b.queue.send(NewMessage::new(&BODY[..])).await.unwrap()),
                false => b.append(1).await,
            }
        }
    })
    .await
}

/// P95 in microseconds of sends to a quiet queue, alone or beside a busy one.
async fn quiet(callers: usize) -> f64 {
    let b = Arc::new(Bench::open().await);
    let other = QueueName::new("quiet").unwrap();
    let settings = QueueSettings::default();
    b.store.create_queue(&other, &settings, b.clock.now()).await.unwrap();
    let quiet = b.engine.queue_or_create("quiet", &settings).await.unwrap();
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let busy: Vec<_> = (0..callers)
        .map(|_| {
            let (queue, stop) = (b.queue.clone(), Arc::clone(&stop));
            tokio::spawn(async move {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    queue.send(NewMessage::new(&BODY[..])).await.unwrap();
                    let got = queue.receive(ReceiveRequest::up_to(1)).await.unwrap();
                    let acks = got.iter().map(|d| (d.receipt, Settlement::Ack)).collect();
                    queue.settle(acks).await.unwrap();
                }
            })
        })
        .collect();
    let probe = tokio::spawn(async move {
        let mut waits = Vec::new();
        for _ in 0..2000 {
            let since = monotonic_ns();
            quiet.send(NewMessage::new(&BODY[..])).await.unwrap();
            waits.push(monotonic_ns() - since);
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        waits.sort_unstable();
        waits[waits.len() * 95 / 100] as f64 / 1000.0
    });
    let result = probe.await.unwrap();
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    for task in busy {
        task.await.unwrap();
    }
    Arc::into_inner(b).unwrap().end().await;
    result
}

/// Cycle rate with so many messages in the backlog.
async fn backlog(messages: usize) -> f64 {
    let b = Bench::open().await;
    for _ in 0..messages / 10_000 {
        b.append(10_000).await;
    }
    let since = monotonic_ns();
    for _ in 0..300 {
        b.append(1000).await;
        b.consume(1000).await;
    }
    let result = rate(300_000, since);
    if messages > 0 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let rss = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or("");
        println!("    {rss}");
    }
    b.end().await;
    result
}

/// Messages with delays that are all different, over 12 days, or without.
async fn delayed(messages_in_all: u64, delayed: bool) -> f64 {
    let b = Bench::open().await;
    let since = monotonic_ns();
    b.append_delayed(messages_in_all, delayed).await;
    let result = rate(messages_in_all as usize, since);
    b.end().await;
    result
}

/// Drain of one priority beside so many others.
async fn drained_beside(priorities: u32) -> f64 {
    let b = Bench::open().await;
    for batch in 0..priorities + 100 {
        let mut messages = messages(if batch < priorities { 1 } else { 1000 });
        let priority = slipring::Priority(2000 - batch.min(priorities));
        messages.iter_mut().for_each(|message| message.priority = priority);
        let units = vec![messages.len() as u32];
        let batch = AppendBatch { queue: b.id, now: b.clock.now(), messages, units };
        b.store.append(batch).await.unwrap();
    }
    let since = monotonic_ns();
    for _ in 0..100 {
        b.consume(1000).await;
    }
    let result = rate(100_000, since);
    b.end().await;
    result
}

fn show(name: &str, of: &str, mut ours: Vec<f64>, mut limit: Vec<f64>) {
    ours.sort_by(f64::total_cmp);
    limit.sort_by(f64::total_cmp);
    let (ours, limit) = (ours[ours.len() / 2], limit[limit.len() / 2]);
    println!("{name:36} {ours:>11.0}  {of:24} {limit:>11.0}  ratio {:.2}", ours / limit);
}

#[tokio::main]
async fn main() {
    let only = std::env::args().nth(1).unwrap_or_default();
    let raw_at = |rows, transactions| {
        let folder = tempfile::tempdir().unwrap();
        raw(folder.path(), rows, transactions)
    };
    macro_rules! row {
        ($name:literal, $run:expr, $of:literal, $limit:expr) => {
            if $name.contains(&only) {
                let (mut ours, mut limit) = (Vec::new(), Vec::new());
                for _ in 0..ROUNDS {
                    limit.push($limit);
                    ours.push($run);
                }
                show($name, $of, ours, limit);
            }
        };
    }
    row!("batches, store, 4 callers", store_batches().await, "raw 1,000", raw_at(1000, 400));
    row!("batches, engine, 4 callers", engine_batches().await, "raw 1,000", raw_at(1000, 400));
    row!("singles, engine, 1,000 callers", engine_singles().await, "raw 1,000", raw_at(1000, 400));
    row!("cycle, store, 4 callers", store_cycle().await, "raw 1,000", raw_at(1000, 400));
    row!("cycle, engine, 4 callers", engine_cycle().await, "raw 1,000", raw_at(1000, 400));
    row!("lone, store", lone(false).await, "raw 1", raw_at(1, 10_000));
    row!("lone, engine", lone(true).await, "raw 1", raw_at(1, 10_000));
    row!("quiet P95 us beside 100", quiet(100).await, "alone", quiet(0).await);
    row!("delays", delayed(300_000, true).await, "none", delayed(300_000, false).await);
    row!("million delays", delayed(1_000_000, true).await, "none", delayed(1_000_000, false).await);
    row!("100th priority", drained_beside(99).await, "first", drained_beside(0).await);
    if only == "backlog" {
        row!("backlog", backlog(10_000_000).await, "empty", backlog(0).await);
    }
}
