//! The primary is killed under load and its standby takes over. With synchronous replication
//! nothing that was answered is lost (S1.1, S4.1); without, what the standby had not received is,
//! and nothing else.
//!
//! `SLIPRING_STANDBY_ROUNDS=N` fails over more often, `SLIPRING_STANDBY_SEED=N` at the same
//! moments again.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a failed step fails the test, and the seed is printed"
)]

mod standby {
    pub mod behind;
    pub mod ledger;
    pub mod load;
}

use std::time::Duration;

use slipring::clock::monotonic_ns;
use slipring::{
    AdminStore, Delivery, Engine, ErrorKind, NewMessage, Queue, QueueSettings, Randomness,
    ReceiveRequest, Retry, SeededRandomness, SystemRandomness, Timestamp,
};
use slipring_conformance::verbs::{at, drain, plain, send, try_send};
use slipring_postgres::{PostgresOptions, PostgresStore};
use slipring_testbed::pair::{Pair, Replication};
use slipring_testbed::{Cluster, OWNER};
use standby::ledger::Outcome;
use standby::load::{Load, PATIENCE, engine, reached, text, until};
use tokio_postgres::Client;

const ROUNDS: u64 = 2;
/// Leases that are open when the primary is killed, and are to end.
const HELD: Duration = Duration::from_secs(4);
/// Messages of each kind of lease.
const HELD_MESSAGES: u32 = 3;

fn argument(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Messages in somebody's hands, received by an engine and by SQL: the first ones for long.
struct Held {
    queue: Queue,
    handed: Vec<Delivery>,
    by_sql: Queue,
    receipts: Vec<String>,
    /// The others come again no earlier.
    deadline: Timestamp,
}

impl Held {
    /// Receives, and sees to it that the hand-outs are as durable as a send is.
    async fn begin(engine: &Engine, url: &str) -> Held {
        let queue = engine.queue("held").await.unwrap();
        let by_sql = engine.queue("held_by_sql").await.unwrap();
        for n in 0..2 * HELD_MESSAGES {
            queue.send(NewMessage::new(format!("{n}"))).await.unwrap();
            by_sql.send(NewMessage::new(format!("{n}"))).await.unwrap();
        }
        let request = ReceiveRequest::up_to(HELD_MESSAGES);
        let handed = queue.receive(request.lease(PATIENCE)).await.unwrap();
        let client = reached(url).await.expect("a server takes writes");
        let receipts = receive(&client, PATIENCE).await;
        let deadline = engine.clock().now().after(HELD);
        let others = queue.receive(request.lease(HELD)).await.unwrap().len();
        let counts = (handed.len(), receipts.len(), others, receive(&client, HELD).await.len());
        assert_eq!(counts, (3, 3, 3, 3));
        // A hand-out is not flushed (S1.4); the next send brings it along.
        engine.queue("beside").await.unwrap().send(NewMessage::new("x")).await.unwrap();
        Held { queue, handed, by_sql, receipts, deadline }
    }

    /// After the failover: receipts are as good as they were, and leases end at their time.
    async fn check(self, engine: &Engine, url: &str) {
        for delivery in &self.handed {
            self.queue.ack(&delivery.receipt).await.expect("the receipt is good");
        }
        let client = until("a server takes writes", async || reached(url).await).await;
        let ack = "SELECT slipring.ack($1::text[])";
        client.execute(ack, &[&self.receipts]).await.expect("the receipts are good");
        for queue in [&self.queue, &self.by_sql] {
            lapse(engine, queue, self.deadline).await;
            // They are gone for good.
            let stats = queue.stats().await.unwrap();
            assert_eq!((stats.ready, stats.leased), (0, 0), "{queue:?}");
        }
    }
}

/// A receive by SQL; answers the receipts.
async fn receive(client: &Client, lease: Duration) -> Vec<String> {
    let (n, lease) = (HELD_MESSAGES, lease.as_secs());
    let sql = format!("SELECT receipt FROM slipring.receive('held_by_sql', {n}, '{lease} s')");
    let rows = client.query(&sql, &[]).await.expect("it is received");
    rows.iter().map(|row| row.get(0)).collect()
}

/// The second half of a queue's messages comes again when its leases have ended.
async fn lapse(engine: &Engine, queue: &Queue, deadline: Timestamp) {
    let mut bodies = Vec::new();
    while bodies.len() < 3 {
        let request = ReceiveRequest::up_to(HELD_MESSAGES).wait(PATIENCE);
        let again = queue.receive(request).await.expect("it is received");
        assert!(engine.clock().now() >= deadline, "before the lease has ended");
        assert!(!again.is_empty(), "the leases do not end");
        for delivery in again {
            assert_eq!(delivery.message.attempts, 2);
            queue.ack(&delivery.receipt).await.unwrap();
            bodies.push(text(&delivery));
        }
    }
    bodies.sort();
    assert_eq!(bodies, ["3", "4", "5"], "{queue:?}");
}

async fn create_queues(engine: &Engine) {
    for name in ["held", "held_by_sql", "beside"] {
        engine.create_queue(name, QueueSettings::default()).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_outlives_the_primary_with_a_synchronous_standby() {
    // S1.1, S3.3, S4.1, S5.2, S7.3, S10.1
    let seed = argument("SLIPRING_STANDBY_SEED", (SystemRandomness.unit() * 1e9) as u64);
    let rounds = argument("SLIPRING_STANDBY_ROUNDS", ROUNDS);
    println!("SLIPRING_STANDBY_SEED={seed} SLIPRING_STANDBY_ROUNDS={rounds}");
    let random = SeededRandomness::new(seed);
    let mut pair = Pair::start(Replication::Synchronous).await;
    let database = pair.cluster().database().await;
    let (address, url) = (pair.address(&database), pair.url(&database));
    let load = Load::begin(&address, &url).await;
    create_queues(&load.engine).await;
    for round in 0..rounds {
        if round > 0 {
            pair.follow().await;
        }
        load.signs.progress(10).await;
        let held = Held::begin(&load.engine, &url).await;
        load.signs.progress((random.unit() * 60.0) as usize).await;
        let killed = monotonic_ns();
        pair.kill_primary();
        pair.promote();
        let promoted = monotonic_ns();
        until("the engine finds the new primary", async || load.engine.check().await.ok()).await;
        let found = monotonic_ns();
        load.signs.progress(1).await;
        let ms = |from: u64, to: u64| (to - from) / 1_000_000;
        println!(
            "killed and promoted in {} ms; found {} ms later; all go on after {} ms",
            ms(killed, promoted),
            ms(promoted, found),
            ms(promoted, monotonic_ns())
        );
        held.check(&load.engine, &url).await;
        // Another one finds nothing to complain of: a promoted standby is no restored dump.
        engine(&address).await.shutdown().await;
    }
    load.signs.progress(10).await;
    let (signs, faults) = (std::sync::Arc::clone(&load.signs), load.end().await);
    let sends = [Outcome::Done, Outcome::Undone, Outcome::Unknown].map(|o| signs.ledger.sends(o));
    println!("sends {sends:?}, acks {}", signs.ledger.acks());
    assert!(faults.is_empty(), "{} faults: {:#?}", faults.len(), &faults[..faults.len().min(20)]);
    assert_eq!(signs.ledger.backlog(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_standby_a_send_is_answered_with_neither_yes_nor_no() {
    // S2.2
    let mut pair = Pair::start(Replication::Synchronous).await;
    let database = pair.cluster().database().await;
    let options =
        PostgresOptions { statement_timeout: Duration::from_secs(1), ..PostgresOptions::default() };
    let store = PostgresStore::open(&pair.address(&database), options).await.unwrap();
    let q = plain(&store).await;
    send(&store, q, &["a"]).await;
    pair.kill_other();
    let error = try_send(&store, q, vec![NewMessage::new("b")], at(0)).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::StorageUnavailable, Retry::Unknown));
    store.check().await.expect("the primary answers, and takes writes");
    pair.follow().await;
    send(&store, q, &["c"]).await;
    let mut came = drain(&store, q).await;
    came.retain(|body| body != "b");
    assert_eq!(came, ["a", "c"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_that_does_not_answer_keeps_nobody_from_the_new_one() {
    let mut pair = Pair::start(Replication::Asynchronous).await;
    let database = pair.cluster().database().await;
    let address = pair.address(&database);
    let options = || PostgresOptions {
        connections: 4,
        connect_timeout: Duration::from_secs(2),
        statement_timeout: Duration::from_secs(1),
        ..PostgresOptions::default()
    };
    let before = PostgresStore::open(&address, options()).await.unwrap();
    let q = plain(&before).await;
    send(&before, q, &["a"]).await;
    pair.cut_off().await;
    pair.hang_primary();
    pair.promote();
    // It is named first, and takes connections.
    let after = PostgresStore::open(&address, options()).await.expect("the new primary is taken");
    send(&after, q, &["b"]).await;
    // Statements on connections that are mute are given up, and the connections with them.
    until("the new primary is found", async || {
        try_send(&before, q, vec![NewMessage::new("c")], at(0)).await.ok()
    })
    .await;
    assert_eq!(drain(&after, q).await, ["a", "b", "c"]);
    pair.kill_other();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_is_taken_away_is_found() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let url = cluster.url(OWNER, "test", &database.name);
    let load = Load::begin(&database.address, &url).await;
    load.signs.progress(10).await;
    let thief = engine(&database.address).await;
    let queue = thief.queue("plain").await.unwrap();
    let request = ReceiveRequest::up_to(1).wait(PATIENCE).lease(Duration::from_secs(1));
    let taken = until("a message is there", async || {
        let list = queue.receive(request).await.unwrap();
        // Those of business are missed there as well. What the checker has seen is not lost.
        list.into_iter().find(|one| text(one).starts_with('e') && one.message.attempts == 1)
    })
    .await;
    queue.ack(&taken.receipt).await.unwrap();
    thief.shutdown().await;
    load.signs.progress(10).await;
    assert_eq!(load.end().await, [format!("{}: lost", text(&taken))]);
}
