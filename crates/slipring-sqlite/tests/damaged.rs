//! 200 damages by a seeded choice: bits flipped, pages torn, file and log cut. A file is refused
//! as damaged when it is opened, or it opens and serves all that the damage does not cover, or a
//! call that meets the damage says so. Nothing panics, nothing is invented, and a body is wrong
//! only where the damage is in the body itself: SQLite has no checksum over what a page holds.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use slipring::lifecycle::Settlement;
use slipring::store::{ClaimBatch, Demand, SettleBatch, Store};
use slipring::{
    AdminStore, Error, ErrorKind, NewMessage, QueueSettings, Randomness, SeededRandomness,
};
use slipring_conformance::verbs::{ack_all, at, claim, plain, queue, try_send};
use slipring_sqlite::{SqliteOptions, SqliteStore};
use support::log::{self, PAGE_BYTES};
use support::{copy_as_after_a_crash, database, open};

const DAMAGES: u64 = 200;
const MESSAGES: u64 = 60;
/// The first of the most urgent ones, which is received first and acked.
const ACKED: u64 = 9;
/// Bytes by which a body is found in a page.
const CHUNK: usize = 16;

/// What is done to a file that was open when its process was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Damage {
    FlippedBit,
    TornPage,
    ZeroedPage,
    FlippedBitInTheLog,
    CutFile,
    CutLog,
}

const KINDS: [Damage; 6] = [
    Damage::FlippedBit,
    Damage::TornPage,
    Damage::ZeroedPage,
    Damage::FlippedBitInTheLog,
    Damage::CutFile,
    Damage::CutLog,
];

struct Dice(SeededRandomness);

impl Dice {
    fn below(&self, end: usize) -> usize {
        (self.0.unit() * end as f64) as usize
    }
}

/// A body that shows whether it is whole: its number, a filling that follows from it, and a sum.
fn body(number: u64) -> Vec<u8> {
    let length = [20, 900, 6000, 20_000][number as usize % 4];
    let mut body = number.to_be_bytes().to_vec();
    let filling = SeededRandomness::new(number);
    body.extend((0..length).map(|_| (filling.unit() * 256.0) as u8));
    body
}

/// All that was sent, and where bytes of it are known by.
struct Sent {
    bodies: HashMap<Vec<u8>, u64>,
    chunks: HashMap<Vec<u8>, u64>,
}

impl Sent {
    fn all() -> Sent {
        let bodies: HashMap<_, _> = (0..MESSAGES).map(|number| (body(number), number)).collect();
        let chunks = bodies.iter().flat_map(|(body, number)| {
            body.chunks_exact(CHUNK).map(|chunk| (chunk.to_vec(), *number))
        });
        Sent { chunks: chunks.collect(), bodies }
    }

    /// The messages of which a page holds some bytes.
    fn within(&self, page: &[u8]) -> BTreeSet<u64> {
        page.windows(CHUNK).filter_map(|window| self.chunks.get(window).copied()).collect()
    }
}

/// Half of the messages in the file, and half only in the log; some held, some delayed, some in
/// groups.
async fn fill(folder: &Path) {
    let store = open(folder);
    let q = plain(&store).await;
    let fifo = QueueSettings { fifo: true, ..QueueSettings::default() };
    let fifo = queue(&store, "fifo", &fifo).await;
    for number in 0..MESSAGES {
        if number == MESSAGES / 2 {
            let copied = support::look(folder);
            copied.query_row("PRAGMA wal_checkpoint(passive)", [], |_| Ok(())).unwrap();
        }
        let message = NewMessage::new(body(number));
        let sent = match number % 5 {
            3 => try_send(&store, fifo, vec![message.group("g")], at(0)).await,
            4 => try_send(&store, q, vec![message.priority(number as u32 % 3)], at(0)).await,
            _ => try_send(&store, q, vec![message], at(0)).await,
        };
        sent.unwrap();
    }
    let held = claim(&store, q, 3, at(0)).await;
    ack_all(&store, q, &held[..1], at(0)).await;
    // Without a copy of the log at the end.
    let beside = tempfile::tempdir().unwrap();
    copy_as_after_a_crash(folder, beside.path());
    store.close().await.unwrap();
    copy_as_after_a_crash(beside.path(), folder);
}

/// Damages the files; answers the numbers of the messages that had bytes in what was changed.
fn damage(folder: &Path, kind: Damage, dice: &Dice, sent: &Sent) -> BTreeSet<u64> {
    let in_log = matches!(kind, Damage::FlippedBitInTheLog | Damage::CutLog);
    let path = if in_log { log::path(folder) } else { database(folder) };
    let mut bytes = std::fs::read(&path).unwrap();
    let sound = bytes.clone();
    let page = dice.below(bytes.len() / PAGE_BYTES) * PAGE_BYTES;
    let at = dice.below(bytes.len());
    match kind {
        Damage::FlippedBit | Damage::FlippedBitInTheLog => bytes[at] ^= 1 << dice.below(8),
        // The second half of the page is of another moment.
        Damage::TornPage => {
            let from = dice.below(bytes.len() - PAGE_BYTES);
            bytes.copy_within(from..from + PAGE_BYTES / 2, page + PAGE_BYTES / 2);
        }
        Damage::ZeroedPage => bytes[page..page + PAGE_BYTES].fill(0),
        Damage::CutFile | Damage::CutLog => bytes.truncate(at),
    }
    std::fs::write(&path, &bytes).unwrap();
    let pages = sound.chunks(PAGE_BYTES).zip(bytes.chunks(PAGE_BYTES));
    let changed = pages.filter(|(before, after)| before != after);
    changed.flat_map(|(before, _)| sent.within(before)).collect()
}

/// Receives and acks everything; a call that meets the damage ends it.
async fn drain(store: &Arc<SqliteStore>) -> Result<Vec<Bytes>, Error> {
    let mut bodies = Vec::new();
    let now = at(1000);
    store.expire(now).await?;
    for info in store.queues().await? {
        loop {
            let demands = vec![Demand { up_to: 100, lease: None, session: false }];
            let batch = ClaimBatch { queue: info.id, now, demands };
            let held = store.claim(batch).await?.deliveries.remove(0);
            if held.is_empty() {
                break;
            }
            let entries = held.iter().map(|delivery| (delivery.receipt, Settlement::Ack)).collect();
            for acked in store.settle(SettleBatch { queue: info.id, now, entries }).await? {
                acked?;
            }
            bodies.extend(held.into_iter().map(|delivery| delivery.message.body));
        }
    }
    Ok(bodies)
}

/// How a damaged file was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Answer {
    RefusedAtOpen,
    RefusedByACall,
    Served,
}

/// Opens a damaged file and takes everything out of it.
async fn take_all(folder: &Path, sent: &Sent, covered: &BTreeSet<u64>, kind: Damage) -> Answer {
    let store = match SqliteStore::open(database(folder), SqliteOptions::default()) {
        Ok(store) => store,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::StorageCorrupt, "{error}");
            return Answer::RefusedAtOpen;
        }
    };
    let bodies = match drain(&store).await {
        Ok(bodies) => bodies,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::StorageCorrupt, "{error}");
            return Answer::RefusedByACall;
        }
    };
    let whole = bodies.iter().filter_map(|body| sent.bodies.get(&body[..]).copied());
    let served: BTreeSet<u64> = whole.collect();
    let wrong = bodies.len() - served.len();
    assert!(wrong <= covered.len(), "{wrong} bodies are wrong, and the damage covers {covered:?}");
    let mut missing = (0..MESSAGES).filter(|n| !served.contains(n) && !covered.contains(n));
    match missing.find(|number| *number != ACKED) {
        None => {}
        Some(first) => {
            let in_log = matches!(kind, Damage::FlippedBitInTheLog | Damage::CutLog);
            assert!(in_log && first >= MESSAGES / 2, "message {first} is missing");
            let later = served.last().copied().unwrap_or(0);
            assert!(later < first, "message {first} is missing, and {later} is there");
        }
    }
    Answer::Served
}

#[tokio::test]
async fn two_hundred_damages_are_told_or_cover_nothing_that_is_served() {
    let sound = tempfile::tempdir().unwrap();
    fill(sound.path()).await;
    let sent = Arc::new(Sent::all());
    let all = take_all(copy(sound.path()).path(), &sent, &BTreeSet::new(), Damage::CutFile).await;
    assert_eq!(all, Answer::Served, "without a damage");
    let mut answers: BTreeMap<(Damage, Answer), u64> = BTreeMap::new();
    for seed in 0..DAMAGES {
        let dice = Dice(SeededRandomness::new(seed));
        let kind = KINDS[seed as usize % KINDS.len()];
        let folder = copy(sound.path());
        let covered = damage(folder.path(), kind, &dice, &sent);
        let sent = Arc::clone(&sent);
        // In a task, so that a panic is told with the seed.
        let check = async move { take_all(folder.path(), &sent, &covered, kind).await };
        let told = |error| panic!("{kind:?}, seed {seed}: {error}");
        let answer = tokio::spawn(check).await.unwrap_or_else(told);
        *answers.entry((kind, answer)).or_default() += 1;
    }
    let count = |kind, answer| answers.get(&(kind, answer)).copied().unwrap_or(0);
    // A cut log is as after a loss of power, and its end shows nothing.
    for kind in [Damage::CutLog, Damage::FlippedBitInTheLog] {
        assert_eq!(count(kind, Answer::RefusedAtOpen) + count(kind, Answer::RefusedByACall), 0);
    }
    assert_eq!(count(Damage::CutFile, Answer::Served), 0, "{answers:?}");
    let told: u64 = KINDS.iter().map(|kind| count(*kind, Answer::RefusedAtOpen)).sum();
    assert!(told > DAMAGES / 4, "{answers:?}");
}

fn copy(folder: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    copy_as_after_a_crash(folder, copy.path());
    copy
}
