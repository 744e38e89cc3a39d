//! Messages that are taken out of a lane of the log one by one, wherever they stand in it: the
//! state, which is written whole by each verb, does not grow with how many have been.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed step fails the test")]

use std::sync::Arc;

use slipring::admin::AdminStore;
use slipring::{MessageId, QueueId, QueueSettings};
use slipring_conformance::verbs::{at, counts, drain, queue};
use slipring_postgres::PostgresStore;
use slipring_testbed::{Cluster, Database, one, run};
use tokio_postgres::Client;

struct Ground {
    cluster: &'static Cluster,
    database: Database,
    store: Arc<PostgresStore>,
    client: Client,
    q: QueueId,
}

impl Ground {
    /// A queue `q`, and what sends to it in a transaction for each message.
    async fn new(own_tables: bool, fifo: bool) -> Ground {
        let cluster = Cluster::shared();
        let (database, store, client) = cluster.opened().await;
        if !own_tables {
            run(&client, "UPDATE slipring.store SET own_tables_max = 0").await;
        }
        let q = queue(&store, "q", &QueueSettings { fifo, ..QueueSettings::default() }).await;
        run(&client, "SET synchronous_commit = off; CREATE TABLE public.sent (id bigint)").await;
        Ground { cluster, database, store, client, q }
    }

    async fn send_singly(&self, from: usize, past: usize) {
        let sends = format!(
            "DO $$ BEGIN FOR n IN {from}..{past} - 1 LOOP
                 INSERT INTO public.sent SELECT slipring.send('q', n::text); COMMIT;
             END LOOP; END $$"
        );
        run(&self.client, &sends).await;
    }

    async fn ids(&self) -> Vec<MessageId> {
        let sql = "SELECT id FROM public.sent ORDER BY id";
        let rows = self.client.query(sql, &[]).await.unwrap();
        rows.iter().map(|row| MessageId(row.get::<_, i64>(0) as u64)).collect()
    }

    /// The size of the newest state, and its runs of ready messages.
    async fn state(&self) -> (i64, i64) {
        let newest = "(SELECT * FROM slipring.state ORDER BY seq DESC LIMIT 1) s";
        let size = format!("SELECT pg_column_size(s.open)::int8 FROM {newest}");
        let runs = format!(
            "SELECT count(*) FROM {newest} CROSS JOIN LATERAL unnest(s.open) o
             CROSS JOIN LATERAL unnest(o)"
        );
        (one(&self.client, &size).await, one(&self.client, &runs).await)
    }
}

#[tokio::test]
async fn the_state_does_not_grow_with_cancels_out_of_order() {
    for own_tables in [true, false] {
        let g = Ground::new(own_tables, false).await;
        g.send_singly(0, 1500).await;
        let batch = "INSERT INTO public.sent
            SELECT unnest(slipring.send_batch('q', array_agg(n::text ORDER BY n)))
            FROM generate_series(1500, 2999) n";
        run(&g.client, batch).await;
        let ids = g.ids().await;
        assert_eq!(ids.len(), 3000);
        // Every third stays, and then every sixth.
        let mut few = (0, 0);
        for (n, id) in ids.iter().enumerate().filter(|(n, _)| n % 3 > 0) {
            g.store.cancel(*id, at(0)).await.unwrap();
            if n == 751 {
                few = g.state().await;
            }
        }
        let (size, runs) = g.state().await;
        assert!(runs <= 260, "{runs} runs");
        assert!(size <= few.0 * 6 / 5, "{few:?} after 500 cancels, {size} and {runs} after 2,000");
        assert_eq!(counts(&g.store, g.q).await, [1000, 0, 0, 0]);
        for id in ids.iter().step_by(6) {
            g.store.cancel(*id, at(0)).await.unwrap();
        }
        assert_eq!(counts(&g.store, g.q).await, [500, 0, 0, 0]);
        let left: Vec<String> = (3..3000).step_by(6).map(|n| n.to_string()).collect();
        assert_eq!(drain(&g.store, g.q).await, left, "each once, in their order");
        assert_eq!(counts(&g.store, g.q).await, [0; 4]);
    }
}

#[tokio::test]
async fn cancels_in_order_leave_no_run_without_a_message() {
    for fifo in [false, true] {
        let g = Ground::new(true, fifo).await;
        g.send_singly(0, 1000).await;
        let ids = g.ids().await;
        for id in ids[100..900].iter().rev() {
            g.store.cancel(*id, at(0)).await.unwrap();
        }
        let (_, runs) = g.state().await;
        assert!(runs <= 260, "{runs} runs, fifo: {fifo}");
        let left: Vec<String> = (0..100).chain(900..1000).map(|n| n.to_string()).collect();
        assert_eq!(drain(&g.store, g.q).await, left, "fifo: {fifo}");
        assert_eq!(counts(&g.store, g.q).await, [0; 4]);
    }
}

#[tokio::test]
async fn what_an_open_transaction_has_received_stays_its_own() {
    let g = Ground::new(true, false).await;
    g.send_singly(0, 900).await;
    // The first one opens the queue for receives without its lock.
    let receive = "SELECT convert_from(body, 'UTF8') FROM slipring.receive('q', 1, '1 hour')";
    run(&g.client, receive).await;
    let ids = g.ids().await;
    let user = g.cluster.begin(&g.database, "READ COMMITTED").await;
    let rows = user.query(&receive.replace("1,", "20,"), &[]).await.unwrap();
    assert_eq!(rows.len(), 20);
    let has: Vec<usize> = rows.iter().map(|r| r.get::<_, String>(0).parse().unwrap()).collect();
    let mut refused = 0;
    for id in ids.iter().step_by(2) {
        refused += usize::from(g.store.cancel(*id, at(0)).await.is_err());
    }
    let even = has.iter().filter(|n| *n % 2 == 0).count();
    assert_eq!(refused, even + 1, "the open transaction's, and the first one");
    run(&user, "ROLLBACK").await;
    let mut left: Vec<usize> =
        drain(&g.store, g.q).await.iter().map(|b| b.parse().unwrap()).collect();
    left.sort_unstable();
    let expected: Vec<usize> = (1..900).filter(|n| n % 2 == 1 || has.contains(n)).collect();
    assert_eq!(left, expected);
}
