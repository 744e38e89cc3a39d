//! Receives by SQL of one message at a time, which look for it without locks of rows (S10.7).
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed step fails the test")]

use std::sync::Arc;

use slipring::NewMessage;
use slipring::admin::AdminStore;
use slipring_conformance::verbs::{at, bodies, claim, counts, try_send};
use slipring_postgres::PostgresStore;
use slipring_testbed::{Cluster, Database, database_now, one, run, soon};
use tokio_postgres::Client;

/// The locks of a session that are not a table's or the transaction's own.
const LOCKS: &str =
    "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'";

/// A queue `jobs` made by SQL, a store, and a user of SQL.
struct Ground {
    cluster: &'static Cluster,
    database: Database,
    store: Arc<PostgresStore>,
    user: Client,
}

impl Ground {
    async fn new() -> Ground {
        let cluster = Cluster::shared();
        let (database, store, user) = cluster.opened().await;
        run(&user, "SELECT slipring.create_queue('jobs')").await;
        Ground { cluster, database, store, user }
    }

    async fn send(&self, body: &str, priority: u32) {
        run(&self.user, &format!("SELECT slipring.send('jobs', '{body}'::text, {priority})")).await;
    }

    /// A consumer in a transaction that has received so many, and what it was handed.
    async fn open(&self, n: u32) -> (Client, Vec<String>) {
        let consumer = self.cluster.begin(&self.database, "READ COMMITTED").await;
        let got = receive(&consumer, n).await;
        (consumer, got)
    }

    /// What a server is handed.
    async fn server(&self) -> Vec<String> {
        let q = self.store.queues().await.unwrap()[0].id;
        let now = database_now(&self.user).await;
        bodies(&claim(&self.store, q, 100, now).await)
    }
}

async fn receive(client: &Client, n: u32) -> Vec<String> {
    let sql = format!("SELECT convert_from(body, 'UTF8') FROM slipring.receive('jobs', {n})");
    let rows = soon("a receive", client.query(&sql, &[])).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn idle_consumers_share_a_pack_and_pass_over_what_a_batch_has() {
    let ground = Ground::new().await;
    let pack = "SELECT slipring.send_batch('jobs', ARRAY['p0'::bytea, 'p1', 'p2'])";
    run(&ground.user, pack).await;
    for n in 0..5 {
        ground.send(&format!("m{n}"), 1024).await;
    }
    let mut idle = Vec::new();
    for body in ["p0", "p1", "p2", "m0"] {
        let (consumer, got) = ground.open(1).await;
        assert_eq!(got, [body]);
        idle.push(consumer);
    }
    // It may be handed fewer while others are in the way.
    let (batch, got) = ground.open(2).await;
    assert!(["m1", "m2"].starts_with(&got.iter().map(String::as_str).collect::<Vec<_>>()));
    // Again in the same transaction, and in others.
    let mut left: Vec<_> = (got.len() + 1..5).map(|n| format!("m{n}")).rev().collect();
    assert_eq!(receive(&idle[0], 1).await, left.split_off(left.len() - 1));
    let mut last = Vec::new();
    while let Some(body) = left.pop() {
        let (consumer, got) = ground.open(1).await;
        assert_eq!(got, [body]);
        last.push(consumer);
    }
    assert!(ground.open(1).await.1.is_empty());
    run(&idle[1], "COMMIT").await;
    for consumer in [&idle[0], &idle[2], &idle[3], &batch] {
        run(consumer, "ROLLBACK").await;
    }
    for consumer in &last {
        run(consumer, "ROLLBACK").await;
    }
    let (first, got) = ground.open(1).await;
    assert_eq!(got, ["p0"]);
    run(&first, "ROLLBACK").await;
    assert_eq!(ground.server().await, ["p0", "p2", "m0", "m1", "m2", "m3", "m4"]);
    let q = ground.store.queues().await.unwrap()[0].id;
    assert_eq!(counts(&ground.store, q).await, [0, 0, 8, 0]);
}

#[tokio::test]
async fn what_a_consumer_could_not_have_is_there_for_others_beside_it() {
    let ground = Ground::new().await;
    for n in 0..2 {
        ground.send(&format!("m{n}"), 1024).await;
    }
    let (batch, got) = ground.open(2).await;
    assert_eq!(got, ["m0", "m1"]);
    // It has tried them all, and stays.
    let (_idle, got) = ground.open(1).await;
    assert!(got.is_empty());
    run(&batch, "ROLLBACK").await;
    // The one that it has tried comes last.
    let mut got = [receive(&ground.user, 1).await, receive(&ground.user, 1).await].concat();
    got.sort();
    assert_eq!(got, ["m0", "m1"]);
}

#[tokio::test]
async fn all_find_what_is_left_of_a_pack_between_what_others_have_of_it() {
    let ground = Ground::new().await;
    let pack = "SELECT slipring.send_batch('jobs', ARRAY['p0'::bytea, 'p1', 'p2', 'p3'])";
    run(&ground.user, pack).await;
    let mut consumers = Vec::new();
    for body in ["p0", "p1", "p2", "p3"] {
        let (consumer, got) = ground.open(1).await;
        assert_eq!(got, [body]);
        consumers.push(consumer);
    }
    run(&consumers[1], "COMMIT").await;
    for back in [2, 3] {
        run(&consumers[back], "ROLLBACK").await;
    }
    run(&ground.user, "BEGIN").await;
    assert_eq!(receive(&ground.user, 2).await, ["p2", "p3"]);
    run(&ground.user, "ROLLBACK").await;
    let (taken, got) = ground.open(1).await;
    assert_eq!(got, ["p2"]);
    run(&taken, "COMMIT").await;
    // One that stands alone in its run, of a pack that another has a message of.
    assert_eq!(one(&ground.user, "SELECT slipring.ready('jobs')::int::int8").await, 1);
    assert_eq!(ground.server().await, ["p3"]);
}

#[tokio::test]
async fn the_most_urgent_message_that_is_free_comes_first() {
    // S7.1
    let ground = Ground::new().await;
    // A priority that no server has sent with yet has no place in the log.
    let q = ground.store.queues().await.unwrap()[0].id;
    let learned = [1, 2000].map(|priority| NewMessage::new("before").priority(priority));
    try_send(&ground.store, q, learned.to_vec(), at(0)).await.unwrap();
    assert_eq!(ground.server().await, ["before", "before"]);
    for (body, priority) in [("late", 2000), ("first", 1), ("middle", 1024), ("second", 1)] {
        ground.send(body, priority).await;
    }
    let mut idle = Vec::new();
    for body in ["first", "second", "middle"] {
        let (consumer, got) = ground.open(1).await;
        assert_eq!(got, [body]);
        idle.push(consumer);
    }
    run(&idle[1], "ROLLBACK").await;
    run(&idle[1], "BEGIN").await;
    assert_eq!(receive(&idle[1], 1).await, ["second"]);
    assert_eq!(receive(&idle[1], 1).await, ["late"]);
}

#[tokio::test]
async fn a_lease_of_one_message_takes_one_lock_to_receive_it_and_one_to_ack_it() {
    let ground = Ground::new().await;
    for n in 0..40 {
        ground.send(&format!("m{n}"), 1024).await;
    }
    let mut receipts = Vec::new();
    for _ in 0..40 {
        let row = ground.user.query_one("SELECT receipt FROM slipring.receive('jobs')", &[]).await;
        receipts.push(row.unwrap().get::<_, String>(0));
    }
    run(&ground.user, "BEGIN").await;
    let acked = ground.user.query_one("SELECT slipring.ack($1::text[])", &[&receipts]).await;
    assert_eq!(acked.unwrap().get::<_, i64>(0), 40);
    // And that of the transaction's numbers.
    assert_eq!(one(&ground.user, LOCKS).await, 40 + 1);
    run(&ground.user, "ROLLBACK; BEGIN").await;
    ground.send("another", 1024).await;
    run(&ground.user, "COMMIT; BEGIN").await;
    assert_eq!(receive(&ground.user, 1).await, ["another"]);
    assert_eq!(one(&ground.user, LOCKS).await, 1);
}
