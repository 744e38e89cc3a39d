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
        self.send(count).await;
        self.receive(count).await;
    }

    async fn send(&self, count: usize) {
        let send =
            format!("SELECT slipring.send_batch('plain', array_fill('m'::text, ARRAY[{count}]))");
        run(&self.client, &send).await;
    }

    /// Each in a transaction of its own: it is noted when that commits, where the queue is free.
    async fn receive(&self, count: usize) {
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
            let begin = "BEGIN; SET LOCAL search_path = pg_catalog, slipring";
            // Rows that are kept in memory to be walked again and again are seen on the disk.
            run(&client, &format!("{begin}; SET LOCAL work_mem = '64kB'")).await;
            let explain = format!("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}");
            let row = client.query_one(&explain, &[]).await.unwrap();
            run(&client, "ROLLBACK").await;
            let plan: serde_json::Value = row.get(0);
            let of = |name| plan[0]["Plan"][name].as_i64().unwrap();
            read = of("Shared Hit Blocks")
                + of("Shared Read Blocks")
                + of("Temp Read Blocks")
                + of("Temp Written Blocks");
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

#[tokio::test]
async fn a_receive_beside_a_nack_that_stays_open_reads_as_much_after_many_as_after_a_few() {
    let g = Ground::new().await;
    g.send(4000).await;
    let receive = "SELECT receipt FROM slipring.receive('plain', 1, '1 hour')";
    // As in a queue that is in use: a commit has noted what was handed out.
    while one(&g.client, "SELECT count(*) FROM slipring.state WHERE taken IS NOT NULL").await == 0 {
        g.receive(1).await;
    }
    let mine: String = g.client.query_one(receive, &[]).await.unwrap().get(0);
    let holder = g.cluster.begin(&g.database, "READ COMMITTED").await;
    run(&holder, &format!("SELECT slipring.nack('{mine}')")).await;
    // The least of several: what is offered counts for two seconds of the database's clock.
    let least = async || {
        let mut least = i64::MAX;
        for _ in 0..8 {
            g.receive(8).await;
            least = least.min(g.buffers(receive).await);
        }
        least
    };
    g.receive(100).await;
    let few = least().await;
    g.receive(3000).await;
    let many = least().await;
    assert!(many <= few * 6 / 5 + 10, "{few} buffers after 100 receives, and {many} after 3,100");
    run(&holder, "ROLLBACK").await;
}

/// Hands out so many more messages, each under a lease of its own, and keeps the receipts.
async fn receipts(g: &Ground, count: usize) {
    let keep = format!(
        "CREATE TABLE IF NOT EXISTS public.receipts (receipt text);
         SELECT slipring.send_batch('plain', array_fill('m'::text, ARRAY[{count}]))"
    );
    run(&g.client, &keep).await;
    // Each call is another one by its lease.
    for _ in 0..count / 100 {
        let receive = "INSERT INTO public.receipts SELECT r.receipt FROM generate_series(1, 100) n
                       CROSS JOIN LATERAL (
                           SELECT receipt
                           FROM slipring.receive('plain', 1, n * '1 hour'::interval)) r";
        run(&g.client, receive).await;
    }
}

#[tokio::test]
async fn each_of_many_leases_is_looked_up_once_by_an_ack_an_extend_and_a_nack() {
    let g = Ground::new().await;
    let all = "ARRAY(SELECT receipt FROM public.receipts)";
    let calls = [
        format!("SELECT slipring.extend({all}, '2 hours')"),
        format!("SELECT slipring.extend({all})"),
        format!("SELECT slipring.ack({all})"),
        format!("SELECT slipring.nack({all})"),
        "SELECT slipring.purge('plain')".to_owned(),
    ];
    receipts(&g, 400).await;
    let mut few = Vec::new();
    for call in &calls {
        few.push(g.buffers(call).await);
    }
    receipts(&g, 2400).await;
    for (call, few) in calls.iter().zip(few) {
        let many = g.buffers(call).await;
        assert!(many <= few * 7 * 6 / 5, "{call}: {few} blocks for 400, and {many} for 2,800");
    }
}

#[tokio::test]
async fn a_nack_of_more_leases_than_there_are_locks_for_is_refused_and_a_purge_is_not() {
    let g = Ground::new().await;
    receipts(&g, 1200).await;
    let half = "SELECT current_setting('max_locks_per_transaction')::int8
        * (current_setting('max_connections')::int
            + current_setting('max_prepared_transactions')::int) / 2";
    let half = one(&g.client, half).await;
    let held = half - 1000;
    let lock = format!("SELECT pg_advisory_xact_lock(n, 0) FROM generate_series(1, {held}) n");
    let nack = async |count: i64| {
        run(&g.client, &format!("BEGIN; {lock}")).await;
        let all = format!("ARRAY(SELECT receipt FROM public.receipts LIMIT {count})");
        let done = g.client.batch_execute(&format!("SELECT slipring.nack({all})")).await;
        let mine = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
                    AND pid = pg_backend_pid()";
        let taken = if done.is_ok() { one(&g.client, mine).await - held } else { 0 };
        run(&g.client, "ROLLBACK").await;
        (done, taken)
    };
    let refused = nack(1200).await.0.unwrap_err();
    let refused = refused.as_db_error().unwrap();
    assert_eq!(refused.code().code(), "SR006", "{refused}");
    let (why, what) = refused.message().split_once(": ").unwrap();
    let may = "to give back 1200 messages of 1200 hand-outs takes 1200 locks, and this \
               transaction may take ";
    let left: i64 = why.strip_prefix(may).unwrap_or_else(|| panic!("{why}")).parse().unwrap();
    assert!((990..=1000).contains(&left), "{left}");
    let todo = format!(
        "give back fewer in one transaction, of at most {left} hand-outs of one message; or \
         raise max_locks_per_transaction of the server"
    );
    assert_eq!(what, todo);
    let (done, taken) = nack(left).await;
    done.unwrap();
    assert!(taken < left + 10, "{taken} locks for {left} hand-outs of one message");
    run(&g.client, &format!("BEGIN; {lock}")).await;
    assert_eq!(one(&g.client, "SELECT slipring.purge('plain')").await, 1200);
    let mine = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
                AND pid = pg_backend_pid()";
    let taken = one(&g.client, mine).await - held;
    assert!(taken < 10, "{taken} locks of a purge");
    run(&g.client, "COMMIT").await;
    assert_eq!(one(&g.client, "SELECT slipring.purge('plain')").await, 0);
}
