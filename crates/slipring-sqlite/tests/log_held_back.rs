//! A reader of another process that keeps its transaction open: it is warned of by name, and the
//! disk space of the log comes back when it ends.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

mod support;

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use slipring::admin::AdminStore;
use slipring::store::Store;
use slipring::{NewMessage, ObstacleAges, ObstacleKind};
use slipring_conformance::verbs::{at, plain, try_send};
use slipring_sqlite::SqliteOptions;
use tracing::field::{Field, Visit};
use tracing::span;

/// The file that the child reads; set only for the child.
const FILE: &str = "SLIPRING_TEST_READS";
const READING: &str = "it reads";

/// Not a test by itself: what the child of the test below does.
#[test]
fn a_process_that_reads_until_its_input_ends() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let connection = rusqlite::Connection::open(file).unwrap();
    connection.execute_batch("BEGIN").unwrap();
    let count = "SELECT count(*) FROM message";
    let _: i64 = connection.query_row(count, [], |row| row.get(0)).unwrap();
    println!("\n{READING}");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

fn start_reading(file: &std::path::Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "a_process_that_reads_until_its_input_ends", "--nocapture"]);
    command.env(FILE, file).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(lines.map(Result::unwrap).any(|line| line == READING), "the child reads");
    child
}

/// What was logged, one text for each event.
static LOGGED: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Log;

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}

impl tracing::Subscriber for Log {
    fn enabled(&self, of: &tracing::Metadata<'_>) -> bool {
        of.target().starts_with("slipring_sqlite")
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let mut text = Text(format!("{} ", event.metadata().level()));
        event.record(&mut text);
        LOGGED.lock().unwrap().push(text.0);
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

fn warnings() -> Vec<String> {
    let logged = LOGGED.lock().unwrap();
    logged.iter().filter(|text| text.contains("keeps the log")).cloned().collect()
}

async fn until(what: &str, mut so: impl FnMut() -> bool) {
    let wait = async {
        while !so() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), wait).await.unwrap_or_else(|_| {
        panic!("not in time: {what}; logged: {:?}", LOGGED.lock().unwrap());
    });
}

#[tokio::test]
async fn a_long_reader_is_named_once_and_the_log_is_cut_when_it_ends() {
    tracing::subscriber::set_global_default(Log).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = SqliteOptions {
        checkpoint_bytes: 128 << 10,
        long_reader: Duration::ZERO,
        ..SqliteOptions::default()
    };
    let store = support::open_with(folder.path(), options);
    let q = plain(&store).await;
    let large = || vec![NewMessage::new(vec![b'x'; 20_000])];
    try_send(&store, q, large(), at(0)).await.unwrap();
    let log = folder.path().join("slipring.db-wal");
    let log_bytes = || std::fs::metadata(&log).unwrap().len();
    let mut child = start_reading(&support::database(folder.path()));
    while log_bytes() < 2 << 20 {
        try_send(&store, q, large(), at(0)).await.unwrap();
    }
    until("it is warned of", || !warnings().is_empty()).await;
    let warned = warnings().remove(0);
    assert!(warned.starts_with("WARN"), "{warned}");
    assert!(warned.contains(&format!("process {} (", child.id())), "{warned}");
    assert!(warned.contains("log_bytes="), "{warned}");
    let now = at(0);
    let seen = store.obstacles(&ObstacleAges::default(), now).await.unwrap().found;
    let [reader] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!((reader.kind, reader.pid), (ObstacleKind::LogHeldBack, Some(child.id())));
    assert!(reader.bytes.unwrap() >= 2 << 20 && reader.for_ms.is_some(), "{reader:?}");
    assert!(reader.name.as_deref().unwrap().starts_with("log_held_back"), "{reader:?}");
    for _ in 0..50 {
        try_send(&store, q, large(), at(0)).await.unwrap();
    }
    assert_eq!(warnings().len(), 1, "once for each reader");
    let changes = store.foreign_changes().await.unwrap();
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    // Nothing is written any more; the space comes back all the same.
    until("the log is cut", || log_bytes() == 0).await;
    assert_eq!(warnings().len(), 1);
    let ages = ObstacleAges::default();
    let free = async {
        while !store.obstacles(&ages, now).await.unwrap().found.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), free).await.expect("nothing is in the way");
    assert_eq!(store.foreign_changes().await.unwrap(), changes, "no other process wrote");
}
