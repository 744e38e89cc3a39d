//! Deduplication ids beside purges that take several steps, or do not come to their end: the id of
//! a message counts for as long as the message is there, and of one that was removed it does not
//! (S8.4, S14.5).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::sync::Arc;

use slipring::admin::AdminStore;
use slipring::{QueueId, QueueSettings};
use slipring_conformance::verbs::queue;
use slipring_postgres::PostgresStore;
use slipring_testbed::{Cluster, Database, database_now, one, refused_with, run};
use tokio_postgres::Client;

struct Ground {
    cluster: &'static Cluster,
    database: Database,
    store: Arc<PostgresStore>,
    client: Client,
    q: QueueId,
}

impl Ground {
    async fn new() -> Ground {
        let cluster = Cluster::shared();
        let (database, store, client) = cluster.opened().await;
        let settings = QueueSettings { in_flight_max: 1_000_000, ..QueueSettings::default() };
        let q = queue(&store, "q", &settings).await;
        let g = Ground { cluster, database, store, client, q };
        // Receives by SQL leave the queue's lock alone from now on.
        run(&g.client, "SELECT slipring.send('q', 'x'::text)").await;
        run(&g.client, "SELECT slipring.ack(r.receipt) FROM slipring.receive('q') r").await;
        g
    }

    /// Sends messages with the ids 1 to `n`, in batches of a hundred at most.
    async fn send(&self, n: u32) {
        let sql = format!(
            "SELECT slipring.send_batch('q', array_agg('x'::text), dedup_ids => array_agg(n::text))
             FROM (SELECT n FROM generate_series(1, {n}) n ORDER BY n) n GROUP BY (n - 1) / 100"
        );
        run(&self.client, &sql).await;
    }

    /// Whether a message with that id is taken for a new one.
    async fn is_new(&self, id: u32) -> bool {
        let count = "SELECT ready + leased + delayed FROM slipring.stats('q')";
        let before = one(&self.client, count).await;
        run(&self.client, &format!("SELECT slipring.send('q', 'y'::text, dedup_id => '{id}')"))
            .await;
        one(&self.client, count).await > before
    }

    /// A transaction that has received so many messages, and stays open.
    async fn received(&self, n: u32) -> Client {
        let open = self.cluster.begin(&self.database, "READ COMMITTED").await;
        let mut left = n;
        while left > 0 {
            let some = left.min(1_000);
            let receive = format!("SELECT count(*) FROM slipring.receive('q', {some})");
            assert_eq!(one(&open, &receive).await, i64::from(some));
            left -= some;
        }
        open
    }
}

#[tokio::test]
async fn a_purge_that_ends_early_leaves_the_ids_of_what_it_leaves() {
    let g = Ground::new().await;
    g.send(20).await;
    run(&g.client, "SELECT slipring.send('q', 'x'::text, delay => '1 hour', dedup_id => 'late')")
        .await;
    let leased = "SELECT count(*) FROM slipring.receive('q', 2, '1 hour')";
    assert_eq!(one(&g.client, leased).await, 2);
    let now = database_now(&g.client).await;
    assert_eq!(g.store.purge(g.q, 5, now).await.unwrap(), 5);
    let left = "SELECT string_agg(dedup_id, ',') FROM slipring.peek('q', n => 100)
                WHERE dedup_id <> 'late'";
    let left: String = g.client.query_one(left, &[]).await.unwrap().get(0);
    let left: Vec<u32> = left.split(',').map(|id| id.parse().unwrap()).collect();
    assert!(left.len() >= 15, "{left:?}");
    for id in 1..=20 {
        assert_eq!(g.is_new(id).await, !left.contains(&id), "{id} of {left:?}");
    }
    let late = "SELECT slipring.send('q', 'y'::text, dedup_id => 'late') IN (
        SELECT id FROM slipring.peek('q', 'delayed'))";
    let late: bool = g.client.query_one(late, &[]).await.unwrap().get(0);
    assert!(late);
    // Whole this time.
    run(&g.client, "SELECT slipring.purge('q')").await;
    assert!(g.is_new(20).await);
}

#[tokio::test]
async fn what_an_open_transaction_has_received_keeps_its_id_beside_each_step() {
    let g = Ground::new().await;
    g.send(50).await;
    let open = g.received(1).await;
    let now = database_now(&g.client).await;
    while g.store.purge(g.q, 10, now).await.unwrap() > 0 {
        assert!(!g.is_new(1).await);
    }
    run(&open, "ROLLBACK").await;
    assert!(!g.is_new(1).await && g.is_new(2).await);
}

#[tokio::test]
async fn however_many_messages_are_received_their_ids_are_known_after_a_purge() {
    // More than a step of a purge removes.
    const N: u32 = 10_100;
    let g = Ground::new().await;
    g.send(N).await;
    let open = g.received(N).await;
    assert_eq!(one(&g.client, "SELECT slipring.purge('q')").await, 0);
    run(&open, "ROLLBACK").await;
    for id in [1, 9_999, 10_000, 10_001, N] {
        assert!(!g.is_new(id).await, "{id}");
    }
}

#[tokio::test]
async fn an_older_snapshot_takes_no_message_for_one_that_was_purged() {
    let g = Ground::new().await;
    for isolation in ["REPEATABLE READ", "SERIALIZABLE"] {
        g.send(1).await;
        let older = g.cluster.begin(&g.database, isolation).await;
        run(&older, "SELECT count(*) FROM slipring.queue").await;
        let send = "SELECT slipring.send('q', 'y'::text, dedup_id => '1')";
        // A duplicate is one where nothing was purged.
        run(&older, "SAVEPOINT s").await;
        run(&older, send).await;
        run(&g.client, "SELECT slipring.purge('q')").await;
        refused_with(&older, send, "40001", "concurrent update").await;
    }
}

#[tokio::test]
async fn an_older_snapshot_takes_no_message_for_one_that_a_step_has_removed() {
    let g = Ground::new().await;
    g.send(6).await;
    let now = database_now(&g.client).await;
    assert_eq!(g.store.purge(g.q, 2, now).await.unwrap(), 2);
    let older = g.cluster.begin(&g.database, "REPEATABLE READ").await;
    run(&older, "SELECT count(*) FROM slipring.queue").await;
    assert_eq!(g.store.purge(g.q, 2, now).await.unwrap(), 2);
    let send = "SELECT slipring.send('q', 'y'::text, dedup_id => '3')";
    refused_with(&older, send, "40001", "is being purged").await;
    // An id that was sent since the purge began is none of it, also where the purge never ends.
    run(&older, "ROLLBACK").await;
    let send = "SELECT slipring.send('q', 'y'::text, dedup_id => 'since')";
    let first = one(&g.client, send).await;
    run(&older, "BEGIN ISOLATION LEVEL REPEATABLE READ").await;
    assert_eq!(one(&older, send).await, first);
}
