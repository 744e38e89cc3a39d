//! Everything at once: transactions of each isolation level with savepoints and two-phase commits
//! that send, receive, ack and nack by SQL, loads, a server, leases that lapse and rotations that
//! never stop. What a committed transaction sent comes until its ack commits, and never after;
//! nothing else comes, and groups keep their order (S2.1, S4.1, S10.7, S15.1).
//!
//! `SLIPRING_TORTURE_SECONDS=300 cargo test -p slipring-postgres --test torture` takes that long;
//! `SLIPRING_TORTURE_SEED=N` makes the same choices again.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a failed step fails the test, and the seed is printed"
)]

mod torture {
    pub mod ledger;
    pub mod loader;
    pub mod worker;
}

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use slipring::admin::AdminStore;
use slipring::store::Store;
use slipring::{QueueId, Randomness, SystemRandomness, Timestamp};
use slipring_conformance::verbs::{ack_all, bodies, claim, counts};
use slipring_postgres::PostgresStore;
use slipring_testbed::{Cluster, database_now, one, rotation_step, run};
use tokio_postgres::Client;
use torture::loader::Loader;
use torture::worker::{Common, QUEUES, REFUSED, Worker};

const WORKERS: u64 = 8;
const SECONDS: u64 = 5;
/// How long it may take until all is received when nothing more is sent.
const END: Duration = Duration::from_secs(120);
/// In which set of tables the last queue is.
const PLACE: &str = "SELECT place::int8 FROM slipring.queue WHERE name = 'shared'";
/// Begins a move of it to another one, whatever is in it.
const MOVE: &str = "INSERT INTO slipring.place_move (queue_id, place_from)
    SELECT q.queue_id, q.place FROM slipring.queue q
    WHERE q.name = 'shared' AND q.place_also IS NULL ON CONFLICT DO NOTHING";

fn argument(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// The parts that are no worker: a server, and what it does in the background.
struct Beside {
    common: Arc<Common>,
    store: Arc<PostgresStore>,
    client: Client,
    queues: Vec<QueueId>,
    rotated: Timestamp,
    /// How often the last queue went from one set of tables to another, and in which it is.
    moves: u64,
    place: i64,
}

impl Beside {
    /// One round: a server receives and acks, leases lapse, and each part rotates.
    async fn round(&mut self) {
        let moment = database_now(&self.client).await;
        for (queue, name) in self.queues.iter().zip(QUEUES) {
            let since = self.common.ledger.moment();
            let handed = claim(&self.store, *queue, 3, moment).await;
            let texts = bodies(&handed);
            self.common.ledger.received(since, &texts, name == "fifo");
            self.common.ledger.acking(&texts);
            ack_all(&self.store, *queue, &handed, database_now(&self.client).await).await;
            self.common.ledger.acked(&texts, true);
            self.store.expire_in(*queue, database_now(&self.client).await).await.unwrap();
            self.store.due_in(*queue, database_now(&self.client).await).await.unwrap();
        }
        self.rotated = self.rotated.after(Duration::from_secs(120));
        for part in ["queues", "shared", "moves", "journal", "shelf"] {
            rotation_step(&self.client, part, self.rotated).await;
        }
        run(&self.client, MOVE).await;
        let place = one(&self.client, PLACE).await;
        self.moves += u64::from(place != self.place);
        self.place = place;
    }

    async fn empty(&self) -> bool {
        for queue in &self.queues {
            if counts(&self.store, *queue).await != [0; 4] {
                return false;
            }
        }
        true
    }

    /// Receives and acks a message without telling the checker, which has to find that it is lost.
    async fn take_one(&self) -> bool {
        let handed = claim(&self.store, self.queues[0], 1, database_now(&self.client).await).await;
        ack_all(&self.store, self.queues[0], &handed, database_now(&self.client).await).await;
        !handed.is_empty()
    }
}

/// Runs it for so long, with a message taken away or without; answers what was wrong.
async fn tortured(seconds: u64, planted: bool) -> Vec<String> {
    let seed = argument("SLIPRING_TORTURE_SEED", (SystemRandomness.unit() * 1e9) as u64);
    println!("SLIPRING_TORTURE_SEED={seed} SLIPRING_TORTURE_SECONDS={seconds}");
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let (store, client) = (cluster.store(&database).await, cluster.client(&database).await);
    run(&client, "SELECT slipring.create_queue('plain')").await;
    run(&client, "SELECT slipring.create_queue('fifo', '{\"fifo\": true}')").await;
    run(&client, "UPDATE slipring.store SET own_tables_max = 0").await;
    run(&client, "SELECT slipring.create_queue('shared')").await;
    let mut queues: Vec<QueueId> = store.queues().await.unwrap().iter().map(|q| q.id).collect();
    queues.sort_unstable();
    // It grows beside another one only.
    run(&client, "SELECT slipring.create_queue('neighbour')").await;
    let place = one(&client, PLACE).await;
    let common = Arc::new(Common::default());
    let rotated = database_now(&client).await;
    let end = rotated.after(Duration::from_secs(seconds));
    let mut workers = Vec::new();
    for number in 0..WORKERS {
        let client = cluster.client(&database).await;
        let worker = Worker::new(Arc::clone(&common), client, seed, number);
        workers.push(tokio::spawn(worker.work()));
    }
    let loader = Loader::new(Arc::clone(&common), cluster.client(&database).await, seed);
    let loader = tokio::spawn(loader.work());
    let mut beside =
        Beside { common: Arc::clone(&common), store, client, queues, rotated, moves: 0, place };
    let mut to_plant = planted;
    while database_now(&beside.client).await < end || to_plant {
        to_plant = to_plant && !beside.take_one().await;
        beside.round().await;
    }
    common.ending.store(true, Ordering::Relaxed);
    let loads = tokio::time::timeout(END, loader).await.map_or(0, Result::unwrap);
    let emptied = async {
        while beside.moves == 0 || !beside.empty().await {
            beside.round().await;
        }
    };
    let in_time = tokio::time::timeout(END, emptied).await;
    common.over.store(true, Ordering::Relaxed);
    for worker in workers {
        worker.await.unwrap();
    }
    let (sent, acked) = common.ledger.counts();
    let refused = common.refused.lock().clone();
    println!(
        "{sent} sent, {acked} acked; transactions refused: {refused:?}; {} moves, {loads} loads",
        beside.moves
    );
    let mut faults = common.ledger.faults();
    faults.extend(in_time.is_err().then(|| format!("not empty after {END:?}")));
    faults.extend((beside.moves == 0).then(|| "the queue did not change its tables".to_owned()));
    faults.extend((loads == 0).then(|| "no load was published".to_owned()));
    let other = refused.keys().filter(|code| !REFUSED.contains(&code.as_str()));
    faults.extend(other.map(|code| format!("a transaction failed with {code}")));
    faults
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_made_up_repeated_after_its_ack_or_out_of_order() {
    let faults = tortured(argument("SLIPRING_TORTURE_SECONDS", SECONDS), false).await;
    assert!(faults.is_empty(), "{} faults: {:#?}", faults.len(), &faults[..faults.len().min(20)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_is_taken_away_is_found() {
    let faults = tortured(1, true).await;
    assert_eq!(faults.len(), 1, "{faults:#?}");
    assert!(faults[0].ends_with(": lost"), "{faults:?}");
}
