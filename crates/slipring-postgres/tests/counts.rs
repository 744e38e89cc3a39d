//! What a queue holds is counted in the background, and is right whatever becomes of what was
//! counted.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed step fails the test")]

use std::sync::Arc;

use slipring::store::Store;
use slipring::{NewMessage, Priority, QueueId};
use slipring_conformance::verbs::{START, at, claim, plain, stats, try_send};
use slipring_postgres::PostgresStore;
use slipring_testbed::{Cluster, Database, one, run};
use tokio_postgres::Client;

struct Ground {
    _database: Database,
    store: Arc<PostgresStore>,
    client: Client,
    q: QueueId,
}

impl Ground {
    async fn new() -> Ground {
        let (database, store, client) = Cluster::shared().opened().await;
        let q = plain(&store).await;
        Ground { _database: database, store, client, q }
    }

    /// Sends messages of 500 bytes, each in a row of its own.
    async fn send(&self, count: i64, priority: u32) {
        let send = format!(
            "SELECT count(slipring.send('plain', repeat('x', 500), {priority}))
             FROM generate_series(1, {count})"
        );
        assert_eq!(one(&self.client, &send).await, count);
    }

    async fn is(&self, what: &str, ready: u64, leased: u64) {
        let stats = stats(&self.store, self.q).await;
        assert_eq!((stats.ready, stats.leased), (ready, leased), "{what}");
        assert_eq!(stats.bytes, 500 * (ready + leased), "{what}");
    }

    /// Ready messages that were counted.
    async fn counted(&self) -> i64 {
        let counted = "SELECT sum(c)::int8 FROM (
            SELECT s.counted FROM slipring.state s ORDER BY s.seq DESC LIMIT 1) s,
            unnest(s.counted) c";
        one(&self.client, counted).await
    }
}

#[tokio::test]
async fn a_backlog_is_counted_once_and_what_leaves_it_is_taken_off() {
    let g = Ground::new().await;
    run(
        &g.client,
        "SELECT slipring.send_batch('plain', array_fill(repeat('x', 500), ARRAY[2000]))",
    )
    .await;
    g.send(4000, 1024).await;
    // The first of a priority is sent by a server.
    let urgent = NewMessage { priority: Priority(5), ..NewMessage::new("x".repeat(500)) };
    try_send(&g.store, g.q, vec![urgent], START).await.unwrap();
    g.send(1999, 5).await;
    g.is("sent", 8000, 0).await;
    g.store.prune(at(0)).await.unwrap();
    assert_eq!(g.counted().await, 8000);
    g.is("counted", 8000, 0).await;
    g.send(100, 1024).await;
    g.is("and some that are not", 8100, 0).await;
    for n in 1..=10 {
        run(&g.client, "SELECT slipring.receive('plain', 1, '1 hour')").await;
        g.is("a receive of one by SQL", 8100 - n, n).await;
    }
    run(&g.client, "SELECT slipring.receive('plain', 90, '1 hour')").await;
    g.is("a receive of several by SQL", 8000, 100).await;
    assert_eq!(claim(&g.store, g.q, 3900, at(0)).await.len(), 3900);
    g.is("a receive by a server", 4100, 4000).await;
    run(&g.client, "BEGIN; SELECT slipring.receive('plain', 1); ROLLBACK").await;
    g.is("a receive that is rolled back", 4100, 4000).await;
    assert_eq!(claim(&g.store, g.q, 4000, at(0)).await.len(), 4000);
    g.is("all that was counted, and a part of the rest", 100, 8000).await;
    assert_eq!(g.counted().await, 0);
    run(&g.client, "SELECT slipring.purge('plain')").await;
    g.is("a purge", 0, 0).await;
}

#[tokio::test]
async fn statistics_of_a_counted_backlog_read_none_of_it() {
    let g = Ground::new().await;
    let reads = async || {
        let explain =
            "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM slipring.stats('plain')";
        let plan: serde_json::Value = g.client.query_one(explain, &[]).await.unwrap().get(0);
        let of = |name| plan[0]["Plan"][name].as_i64().unwrap();
        of("Shared Hit Blocks") + of("Shared Read Blocks")
    };
    g.send(1000, 1024).await;
    // The first look of a session fills its caches.
    reads().await;
    let few = reads().await;
    g.send(60_000, 1024).await;
    let walked = reads().await;
    g.store.prune(at(0)).await.unwrap();
    let many = reads().await;
    assert!(walked > 10 * few, "{few} and {walked} blocks: the walk is not seen");
    assert!(many <= few * 6 / 5 + 10, "{few} blocks with 1,000, {many} with 61,000 messages");
}
