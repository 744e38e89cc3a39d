//! What a call reads does not grow with what is over, or with how many leases there are beside the
//! one it is about. Counted in buffers, which do not depend on the machine.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::sync::Arc;

use slipring::QueueId;
use slipring_conformance::verbs::plain;
use slipring_postgres::PostgresStore;
use slipring_testbed::{Cluster, Database, one, run};
use tokio_postgres::Client;

/// A queue whose messages are handed out one by one.
struct Ground {
    cluster: &'static Cluster,
    database: Database,
    _store: Arc<PostgresStore>,
    q: QueueId,
    client: Client,
}

impl Ground {
    async fn new() -> Ground {
        let cluster = Cluster::shared();
        let (database, store, client) = cluster.opened().await;
        let q = plain(&store).await;
        Ground { cluster, database, _store: store, q, client }
    }

    /// Sends so many messages and hands each out under a lease of its own.
    async fn hand_out(&self, count: usize) {
        let send =
            format!("SELECT slipring.send_batch('plain', array_fill('m'::text, ARRAY[{count}]))");
        run(&self.client, &send).await;
        // Each in a transaction of its own: it is noted when that commits.
        run(&self.client, "SET synchronous_commit = off").await;
        for _ in 0..count {
            run(&self.client, "SELECT FROM slipring.receive('plain', 1, '1 hour')").await;
        }
    }

    /// How many buffers a statement reads that is rolled back, the second time.
    async fn buffers(&self, sql: &str) -> i64 {
        let client = self.cluster.client(&self.database).await;
        let mut read = 0;
        for _ in 0..2 {
            // An inner function is called with the path of the outer ones.
            run(&client, "BEGIN; SET LOCAL search_path = pg_catalog, slipring").await;
            let explain = format!("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}");
            let row = client.query_one(&explain, &[]).await.unwrap();
            run(&client, "ROLLBACK").await;
            let plan: serde_json::Value = row.get(0);
            let of = |name| plan[0]["Plan"][name].as_i64().unwrap();
            read = of("Shared Hit Blocks") + of("Shared Read Blocks");
        }
        read
    }
}

#[tokio::test]
async fn a_repeated_ack_reads_as_much_after_many_hand_outs_as_after_a_few() {
    let g = Ground::new().await;
    g.hand_out(20).await;
    let lease = "SELECT lower(open), fence FROM slipring.lease ORDER BY fence LIMIT 1";
    let row = g.client.query_one(lease, &[]).await.unwrap();
    let (id, fence): (i64, i64) = (row.get(0), row.get(1));
    let ack = format!(
        "SELECT * FROM slipring.store_settle({}, slipring.now_ms(), ARRAY[{id}], ARRAY[{fence}],
             ARRAY['ack'], ARRAY[NULL::int8], ARRAY[NULL::int8], ARRAY[0.0::float8])",
        g.q.0
    );
    let first = g.client.query_one(&ack, &[]).await.unwrap();
    assert_eq!(first.get::<_, Option<String>>(1).as_deref(), Some("done"));
    let again = g.client.query_one(&ack, &[]).await.unwrap();
    assert_eq!(again.get::<_, Option<String>>(4).as_deref(), Some("message_gone"));
    let few = g.buffers(&ack).await;
    g.hand_out(2000).await;
    let many = g.buffers(&ack).await;
    // Ten for one more level of an index.
    assert!(many <= few * 6 / 5 + 10, "{few} buffers and then {many}");
}

#[tokio::test]
async fn a_table_with_many_leases_is_not_asked_for_each_of_them() {
    const LEASES: i64 = 2000;
    let g = Ground::new().await;
    g.hand_out(LEASES as usize).await;
    let place = one(&g.client, "SELECT place::int8 FROM slipring.queue").await;
    let asked = format!(
        "SELECT slipring.retire_leased(q, 'slipring.message_{place}_0', 0)::text
         FROM slipring.queue q"
    );
    let read = g.buffers(&asked).await;
    assert!(read < 2 * LEASES, "{read} buffers for {LEASES} leases");
    run(&g.client, "SET search_path = pg_catalog, slipring").await;
    let stay: String = g.client.query_one(&asked, &[]).await.unwrap().get(0);
    assert_eq!(stay, "true", "its messages are leased");
}
