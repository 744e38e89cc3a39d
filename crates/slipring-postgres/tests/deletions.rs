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
use slipring_testbed::{
    Cluster, Database, one, refused_with, rotate, rotate_until, run, soon, waiting,
};
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

/// Of queues with tables of their own, whether emptied or not.
const OWN: &str = "SELECT count(*) FROM slipring.place WHERE NOT shared";

#[tokio::test]
async fn queues_that_come_and_go_make_no_more_tables_than_allowed() {
    let g = Ground::new(true).await;
    run(&g.client, "UPDATE slipring.store SET own_tables_max = 2").await;
    // While it is open no table of a deleted queue is emptied.
    let open = g.session().await;
    run(&open, "BEGIN; SELECT pg_current_xact_id()").await;
    for _ in 0..10 {
        run(&g.client, "SELECT slipring.create_queue('churn')").await;
        let delete = "SELECT slipring.store_delete_queue(queue_id) FROM slipring.queue
            WHERE name = 'churn'";
        run(&g.client, delete).await;
    }
    assert_eq!(one(&g.client, OWN).await, 2);
    run(&open, "COMMIT").await;
}

#[tokio::test]
async fn tables_of_deleted_queues_are_emptied_beside_those_that_are_read() {
    let g = Ground::new(false).await;
    for n in 0..12 {
        run(&g.client, &format!("SELECT slipring.create_queue('own{n}')")).await;
        run(&g.client, &format!("SELECT slipring.send('own{n}', 'x'::text)")).await;
    }
    let reader = g.session().await;
    run(&reader, "BEGIN").await;
    for n in 0..11 {
        run(&reader, &format!("SELECT slipring.stats('own{n}')")).await;
    }
    let delete = "DO $$ DECLARE q int; BEGIN FOR q IN SELECT queue_id FROM slipring.queue
        WHERE name LIKE 'own%' LOOP PERFORM slipring.store_delete_queue(q); COMMIT;
        END LOOP; END $$";
    run(&g.client, delete).await;
    let emptied = "SELECT count(*) FROM slipring.place WHERE queue_id IS NULL AND empty";
    rotate_until(&g.client, "places", at(1), async || one(&g.client, emptied).await == 1).await;
    run(&reader, "COMMIT").await;
    rotate_until(&g.client, "places", at(1), async || one(&g.client, emptied).await == 12).await;
}

#[tokio::test]
async fn a_queue_of_a_set_that_others_keep_stops_the_rotation_of_none_behind_it() {
    let g = Ground::new(true).await;
    let last = queue(&g.store, "z.last", &QueueSettings::default()).await;
    for name in ["old", "other", "z.last"] {
        let send =
            format!("SELECT slipring.send_batch('{name}', array_fill('x'::text, ARRAY[200]))");
        run(&g.client, &send).await;
    }
    let receipt = g.client.query_one("SELECT receipt FROM slipring.receive('old')", &[]).await;
    let receipt: String = receipt.unwrap().get(0);
    let moved = format!("SELECT count(*) FROM slipring.item WHERE queue_id = {}", last.0);
    let marked = "SELECT count(*) FROM slipring.place_rotation WHERE mark > 0";
    rotate_until(&g.client, "shared", at(1), async || one(&g.client, marked).await > 0).await;
    let holder = g.session().await;
    run(&holder, &format!("BEGIN; SELECT slipring.nack('{receipt}')")).await;
    rotate_until(&g.client, "shared", at(2), async || one(&g.client, &moved).await > 0).await;
    run(&holder, "ROLLBACK").await;
}

#[tokio::test]
async fn an_older_snapshot_sends_to_no_queue_that_was_deleted() {
    let g = Ground::new(false).await;
    let older = async |isolation: &str| {
        let older = g.cluster.begin(&g.database, isolation).await;
        run(&older, "SELECT count(*) FROM slipring.queue").await;
        older
    };
    let (before, after) = (older("REPEATABLE READ").await, older("SERIALIZABLE").await);
    g.deletion().await.unwrap().unwrap();
    let send = "SELECT slipring.send('old', 'lost'::text)";
    refused_with(&before, send, "40001", "could not serialize access").await;
    // The tables are emptied and the sequences dropped in the end.
    let now = slipring_testbed::database_now(&g.client).await;
    let dropped = "SELECT count(*) FROM slipring.place WHERE queue_id IS NULL AND NOT empty";
    rotate_until(&g.client, "places", now, async || one(&g.client, dropped).await == 0).await;
    refused_with(&after, send, "40001", "could not serialize access").await;
    // The refused sends have not opened the deleted queue to others.
    refused_with(&g.client, send, "SR001", "queue old does not exist").await;
}

#[tokio::test]
async fn who_finds_a_queue_waits_for_no_administrator() {
    let g = Ground::new(false).await;
    let open = g.session().await;
    run(&open, "BEGIN; SELECT slipring.create_queue('new')").await;
    for settings in ["NULL", "'{}'"] {
        let create = format!("SELECT slipring.create_queue('old', {settings})::int::int8");
        assert_eq!(soon("a creation", one(&g.client, &create)).await, 0);
    }
}
