//! Processes on one file whose wall clocks are hours apart, step, and begin in 1970.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

mod support;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use slipring::clock::{Machine, ThisMachine};
use slipring::{
    Clock, Engine, EngineOptions, NewMessage, Queue, QueueSettings, ReceiveRequest, Store,
    Timestamp,
};
use slipring_conformance::verbs;
use slipring_sqlite::{SqliteOptions, SqliteStore};
use support::{database, open_with};

const HOUR_MS: i64 = 3_600_000;

/// This machine with a wall clock that is off, in some run of it.
#[derive(Debug, Clone, Copy)]
struct Off {
    wall_ms: i64,
    boot: Option<&'static str>,
    /// What the machine was switched on earlier.
    since_boot: Duration,
}

impl Machine for Off {
    fn wall(&self) -> Timestamp {
        Timestamp::from_millis(ThisMachine.wall().as_millis().saturating_add_signed(self.wall_ms))
    }

    fn since_boot(&self) -> Duration {
        ThisMachine.since_boot() + self.since_boot
    }

    fn boot(&self) -> Option<String> {
        self.boot.map(str::to_owned)
    }
}

/// A machine whose wall clock is so many hours ahead.
fn ahead(hours: i64) -> Off {
    Off { wall_ms: hours * HOUR_MS, boot: Some("first"), since_boot: Duration::ZERO }
}

fn open(folder: &Path, machine: Off) -> Arc<SqliteStore> {
    open_with(folder, SqliteOptions { machine: Arc::new(machine), ..SqliteOptions::default() })
}

fn clock(store: &SqliteStore) -> Arc<dyn Clock> {
    store.clock().expect("a file has a clock")
}

/// How many hours a store's clock is ahead of this machine's wall clock, to the nearest.
fn hours_ahead(store: &SqliteStore) -> i64 {
    let (shown, wall) = (clock(store).now().as_millis(), ThisMachine.wall().as_millis());
    let apart = i64::try_from(shown).unwrap() - i64::try_from(wall).unwrap();
    (apart + HOUR_MS / 2).div_euclid(HOUR_MS)
}

/// An engine over the file as a process has it: nothing is said about a clock.
async fn engine(store: &Arc<SqliteStore>) -> Engine {
    Engine::open(Arc::clone(store) as _, EngineOptions::default()).await.unwrap()
}

/// The queue, whose messages live for half an hour.
async fn queue(engine: &Engine) -> Queue {
    let retention = Some(Duration::from_secs(1800));
    let settings = QueueSettings { retention, ..QueueSettings::default() };
    engine.queue_or_create("q", &settings).await.unwrap()
}

/// Ready, delayed, leased and parked messages after this engine has done all passes.
async fn counts_after_passes(store: &SqliteStore, engine: &Engine, queue: &Queue) -> [u64; 4] {
    let now = engine.clock().now();
    store.due(now).await.unwrap();
    store.expire(now).await.unwrap();
    store.prune(now).await.unwrap();
    let stats = queue.stats().await.unwrap();
    [stats.ready, stats.delayed, stats.leased, stats.parked]
}

/// A message of each kind whose time counts: ready, delayed for 1,800 s, leased for 600 s.
async fn fill(queue: &Queue) {
    queue.send(NewMessage::new("leased")).await.unwrap();
    let lease = Some(Duration::from_secs(600));
    let request = ReceiveRequest { lease, ..ReceiveRequest::up_to(1) };
    assert_eq!(queue.receive(request).await.unwrap().len(), 1);
    let delay = Some(Duration::from_secs(1799));
    queue.send(NewMessage { delay, ..NewMessage::new("delayed") }).await.unwrap();
    queue.send(NewMessage::new("fresh")).await.unwrap();
}

async fn close(store: Arc<SqliteStore>, engine: Engine) {
    engine.shutdown().await;
    slipring::AdminStore::close(&*store).await.unwrap();
}

#[tokio::test]
async fn a_process_with_another_wall_clock_ends_nothing_of_the_others() {
    // S13.2, S5.1, S5.2, S14.4
    for (first, second) in [(-2, 0), (0, -2), (0, 2), (2, -20_000), (-20_000, 0)] {
        let folder = tempfile::tempdir().unwrap();
        let one = open(folder.path(), ahead(first));
        let two = open(folder.path(), ahead(second));
        let (server, beside) = (engine(&one).await, engine(&two).await);
        fill(&queue(&beside).await).await;
        for (store, engine) in [(&one, &server), (&two, &beside)] {
            let queue = queue(engine).await;
            let counts = counts_after_passes(store, engine, &queue).await;
            assert_eq!(counts, [1, 1, 1, 0], "clocks {first} and {second} hours ahead");
        }
        // The clock is that of the first, and goes on when it has gone.
        assert_eq!((hours_ahead(&one), hours_ahead(&two)), (first, first));
        close(one, server).await;
        let third = open(folder.path(), ahead(second));
        assert_eq!(hours_ahead(&third), first);
        close(two, beside).await;
    }
}

#[tokio::test]
async fn what_was_to_end_ends_when_its_time_has_passed_for_all() {
    // S13.2, S5.3: the clock of the file is a clock, not one that stands.
    let folder = tempfile::tempdir().unwrap();
    let one = open(folder.path(), ahead(-2));
    let two = open(folder.path(), ahead(3));
    let (server, beside) = (engine(&one).await, engine(&two).await);
    let delay = Some(Duration::from_millis(200));
    let sent = queue(&beside).await;
    sent.send(NewMessage { delay, ..NewMessage::new("soon") }).await.unwrap();
    let request = ReceiveRequest { wait: Duration::from_secs(20), ..ReceiveRequest::up_to(1) };
    let received = queue(&server).await.receive(request).await.unwrap();
    assert_eq!(received.len(), 1);
    assert!(received[0].message.sent_at.until(server.clock().now()) >= Duration::from_millis(200));
}

#[tokio::test]
async fn a_file_with_messages_keeps_its_clock_until_the_machine_is_started_again() {
    // S13.2
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), ahead(-2));
    let first = engine(&store).await;
    fill(&queue(&first).await).await;
    close(store, first).await;
    // The wall clock was corrected, forwards and backwards: nothing ends by that.
    for hours in [0, 5, -5] {
        let store = open(folder.path(), ahead(hours));
        let engine = engine(&store).await;
        let queue = queue(&engine).await;
        assert_eq!(counts_after_passes(&store, &engine, &queue).await, [1, 1, 1, 0]);
        assert_eq!(hours_ahead(&store), -2);
        close(store, engine).await;
    }
    // Started again: the wall clock counts, as nothing else knows how long it was off.
    let again = Off { boot: Some("second"), since_boot: Duration::from_secs(9), ..ahead(1) };
    let store = open(folder.path(), again);
    assert_eq!(hours_ahead(&store), 1);
    drop(store);
    // But it does not go back: without a battery a machine begins in 1970.
    let reset = Off { boot: Some("third"), ..ahead(-400_000) };
    let store = open(folder.path(), reset);
    assert_eq!(hours_ahead(&store), 1);
}

/// A machine that is switched on for as long as it is told.
#[derive(Clone)]
struct SwitchedOn {
    off: Off,
    millis: Arc<AtomicU64>,
}

impl Machine for SwitchedOn {
    fn wall(&self) -> Timestamp {
        self.off.wall()
    }

    fn since_boot(&self) -> Duration {
        Duration::from_millis(self.millis.load(Ordering::Relaxed))
    }

    fn boot(&self) -> Option<String> {
        self.off.boot()
    }
}

#[tokio::test]
async fn after_a_crash_the_clock_begins_no_earlier_than_the_last_pass() {
    // S13.2: every pass over retention notes the moment.
    let folder = tempfile::tempdir().unwrap();
    let millis = Arc::new(AtomicU64::new(5_000));
    let machine = SwitchedOn { off: ahead(0), millis: Arc::clone(&millis) };
    let options = SqliteOptions { machine: Arc::new(machine), ..SqliteOptions::default() };
    let store = open_with(folder.path(), options);
    let q = verbs::plain(&store).await;
    verbs::send(&store, q, &["a"]).await;
    millis.fetch_add(u64::try_from(3 * HOUR_MS).unwrap(), Ordering::Relaxed);
    store.prune(clock(&store).now()).await.unwrap();
    drop(store);
    let reset = Off { boot: Some("second"), ..ahead(-400_000) };
    assert_eq!(hours_ahead(&open(folder.path(), reset)), 3);
}

#[tokio::test]
async fn a_file_without_messages_follows_the_machine_when_it_is_opened_the_next_time() {
    // S13.2
    let folder = tempfile::tempdir().unwrap();
    for hours in [-2, 3, -4, 0] {
        let store = open(folder.path(), ahead(hours));
        assert_eq!(hours_ahead(&store), hours);
    }
    // Never behind the last send, whatever has become of the message.
    let store = open(folder.path(), ahead(5));
    let first = engine(&store).await;
    let queue = queue(&first).await;
    queue.send(NewMessage::new("sent and gone")).await.unwrap();
    for delivery in queue.receive(ReceiveRequest::up_to(1)).await.unwrap() {
        queue.ack(&delivery.receipt).await.unwrap();
    }
    close(store, first).await;
    assert_eq!(hours_ahead(&open(folder.path(), ahead(0))), 5);
}

#[tokio::test]
async fn a_lock_file_that_is_damaged_or_of_another_machine_is_no_harm() {
    let record = |boot: &str, started: &str| {
        format!("slipring clock 1\n{boot:<64}\n{started:>020}\n{:020}\n", 77)
    };
    for text in [
        String::new(),
        "x".repeat(3),
        "\0".repeat(200),
        record("first", "-1"),
        record("first", "18446744073709551615"),
        record("first", "x"),
        record("of another machine", "1700000000000"),
        record("first", "1").replace("clock 1", "clock 2"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        drop(open(folder.path(), ahead(0)));
        let mut lock = database(folder.path()).into_os_string();
        lock.push("-lock");
        std::fs::write(&lock, &text).unwrap();
        let one = open(folder.path(), ahead(0));
        let two = open(folder.path(), ahead(7));
        assert_eq!((hours_ahead(&one), hours_ahead(&two)), (0, 0), "after {text:?}");
    }
    // Where the runs of the machine have no names, a clock lasts as long as a process has the file.
    let unnamed = |hours| Off { boot: None, ..ahead(hours) };
    let folder = tempfile::tempdir().unwrap();
    let one = open(folder.path(), unnamed(1));
    let two = open(folder.path(), unnamed(2));
    assert_eq!((hours_ahead(&one), hours_ahead(&two)), (1, 1));
    drop((one, two));
    assert_eq!(hours_ahead(&open(folder.path(), unnamed(3))), 3);
    // One that sees another time since the start, beside those that have the file: its own clock.
    let one = open(folder.path(), ahead(4));
    let elsewhere = open(folder.path(), Off { boot: Some("elsewhere"), ..ahead(6) });
    assert_eq!((hours_ahead(&one), hours_ahead(&elsewhere)), (4, 6));
}

#[test]
fn processes_that_open_the_file_at_the_same_moment_have_one_clock() {
    // S13.2
    for _ in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        drop(open(folder.path(), ahead(1)));
        let start = Barrier::new(6);
        let stores: Vec<_> = std::thread::scope(|scope| {
            let openers = (0..6).map(|hours| {
                let (start, folder) = (&start, folder.path());
                scope.spawn(move || {
                    start.wait();
                    open(folder, ahead(10 * hours))
                })
            });
            let openers: Vec<_> = openers.collect();
            openers.into_iter().map(|opener| opener.join().unwrap()).collect()
        });
        let shown: Vec<i64> = stores.iter().map(|store| hours_ahead(store)).collect();
        assert!(shown.iter().all(|hours| *hours == shown[0]), "{shown:?}");
    }
}
