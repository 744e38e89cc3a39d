//! Deletions and creations of queues beside transactions that stay open: nobody waits for an
//! unrelated queue, and none of them for each other (S14.5, decision 0030).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::sync::Arc;

use slipring::admin::AdminStore;
use slipring::{QueueId, QueueSettings};
use slipring_conformance::verbs::{at, queue, send};
use slipring_postgres::PostgresStore;
use slipring_testbed::{Cluster, Database, one, rotate, run, soon, waiting};
use tokio_postgres::Client;

struct Ground {
    cluster: &'static Cluster,
    database: Database,
    store: Arc<PostgresStore>,
    client: Client,
    q: QueueId,
}

impl Ground {
    async fn new(shared: bool) -> Ground {
        let cluster = Cluster::shared();
        let (database, store, client) = cluster.opened().await;
        if shared {
            run(&client, "UPDATE slipring.store SET own_tables_max = 0").await;
        }
        let q = queue(&store, "old", &QueueSettings::default()).await;
        send(&store, q, &["m"]).await;
        run(&client, "SELECT slipring.create_queue('other')").await;
        Ground { cluster, database, store, client, q }
    }

    async fn session(&self) -> Client {
        self.cluster.client(&self.database).await
    }

    /// A deletion that goes on until it is done.
    fn deletion(&self) -> tokio::task::JoinHandle<Result<(), slipring::Error>> {
        let (store, q) = (Arc::clone(&self.store), self.q);
        tokio::spawn(async move { store.delete_queue(q).await })
    }
}

#[tokio::test]
async fn a_deletion_that_waits_for_its_queue_keeps_nobody_waiting() {
    for shared in [false, true] {
        let g = Ground::new(shared).await;
        let open = g.session().await;
        run(&open, "BEGIN; SELECT slipring.send('other', 'x'::text)").await;
        run(&open, "SELECT slipring.redrive('other', 'old')").await;
        let deletion = g.deletion();
        for n in 0..5 {
            let create = format!("SELECT slipring.create_queue('new{n}')");
            run(&g.client, "SET lock_timeout = '1s'").await;
            soon("a creation", g.client.batch_execute(&create)).await.unwrap();
        }
        run(&open, "COMMIT").await;
        soon("the deletion", deletion).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn who_has_created_a_queue_may_go_on_with_one_that_is_being_deleted() {
    for shared in [false, true] {
        let g = Ground::new(shared).await;
        let open = g.session().await;
        run(&open, "BEGIN; SELECT slipring.create_queue('new')").await;
        let deletion = g.deletion();
        waiting(&g.client, "relation", 1).await;
        for call in ["SELECT slipring.purge('old')", "SELECT slipring.pause('old')"] {
            soon(call, open.batch_execute(call)).await.unwrap();
        }
        // Its queue stands no longer than the transaction that has its lock.
        run(&open, "COMMIT").await;
        soon("the deletion", deletion).await.unwrap().unwrap();
        assert_eq!(one(&g.client, "SELECT count(*) FROM slipring.queue").await, 2);
    }
}

#[tokio::test]
async fn who_has_a_queue_s_lock_does_not_wait_for_another_s_creation() {
    for shared in [false, true] {
        let g = Ground::new(shared).await;
        let open = g.session().await;
        run(&open, "BEGIN; SELECT slipring.create_queue('new')").await;
        let both = g.session().await;
        run(&both, "BEGIN; SELECT slipring.purge('old'); SAVEPOINT s").await;
        for call in [
            "SELECT slipring.create_queue('more')",
            "SELECT slipring.grant('producer', 'slipring_test')",
        ] {
            let error = soon(call, both.batch_execute(call)).await.unwrap_err();
            let told = error.as_db_error().unwrap();
            assert_eq!(told.code().code(), "55P03", "{told}");
            assert!(told.message().contains("this one has the lock of a queue"), "{told}");
            run(&both, "ROLLBACK TO s").await;
        }
        run(&open, "ROLLBACK").await;
        run(&both, "SELECT slipring.create_queue('more'); COMMIT").await;
    }
}

#[tokio::test]
async fn a_move_that_begins_beside_a_deletion_takes_no_tables() {
    let g = Ground::new(true).await;
    let deleting = g.session().await;
    let delete = format!("BEGIN; SELECT slipring.store_delete_queue({})", g.q.0);
    run(&deleting, &delete).await;
    // As a step of the rotation does that finds the queue to be large.
    let begins = format!(
        "INSERT INTO slipring.place_move (queue_id, place_from)
         SELECT queue_id, place FROM slipring.queue WHERE queue_id = {}",
        g.q.0
    );
    run(&g.client, &begins).await;
    run(&deleting, "COMMIT").await;
    rotate(&g.client, "moves", at(1), "COMMIT").await;
    assert_eq!(one(&g.client, "SELECT count(*) FROM slipring.place_move").await, 0);
    let reserved = "SELECT count(*) FROM slipring.place WHERE reserved AND queues > 0";
    assert_eq!(one(&g.client, reserved).await, 0);
}
