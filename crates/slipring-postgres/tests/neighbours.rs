//! What fails for one queue keeps no other from its background work: its retention, the rotation of
//! its tables, the end of its leases and of its loads.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::sync::Arc;
use std::time::Duration;

use slipring::store::{Demand, Store};
use slipring::{AdminStore, LoadStore, QueueId, QueueSettings};
use slipring_conformance::verbs::{at, claim_with, counts, drain, plain, queue, send};
use slipring_postgres::{PostgresOptions, PostgresStore};
use slipring_testbed::{Cluster, Database, one, run, soon};
use tokio_postgres::Client;

/// Takes the tables of a queue's messages from the owner of the schema.
async fn take_away(admin: &Client, queue: QueueId) {
    let take = format!(
        "DO $$ DECLARE n int; place int := (SELECT place FROM slipring.queue WHERE queue_id = {});
         BEGIN FOR n IN 0..2 LOOP EXECUTE format(
             'ALTER TABLE slipring.message_%s_%s OWNER TO CURRENT_USER', place, n);
         END LOOP; END $$",
        queue.0
    );
    run(admin, &take).await;
}

/// A store that empties its tables whatever they hold, with two queues that have a message each.
async fn two_queues(database: &Database) -> (Arc<PostgresStore>, [QueueId; 2]) {
    let store = Cluster::shared().rotating_store(database, 1).await;
    let both = [plain(&store).await, queue(&store, "good", &Default::default()).await];
    for q in both {
        send(&store, q, &["a"]).await;
    }
    (store, both)
}

/// Passes until the messages of a queue are retired: none of them fails.
async fn retired(client: &Client, store: &PostgresStore, queue: QueueId) {
    let left = format!(
        "SELECT count(*) FROM slipring.message m JOIN slipring.queue q
         ON q.place = m.place / 4 WHERE q.queue_id = {}",
        queue.0
    );
    let retired = async {
        let mut round = 0;
        while one(client, &left).await > 0 {
            store.prune(at(round)).await.expect("other queues rotate");
            round += 1;
        }
    };
    soon("the rotation of another queue", retired).await;
}

#[tokio::test]
async fn a_row_that_nothing_can_be_made_of_stops_no_other_queue() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let (store, [bad, good]) = two_queues(&database).await;
    let owner = cluster.client(&database).await;
    // No lane of a state can be read.
    let spoil = format!("UPDATE slipring.state SET open = '{{}}' WHERE queue_id = {}", bad.0);
    run(&owner, &spoil).await;
    store.expire_in(good, at(0)).await.unwrap();
    assert_eq!(drain(&store, good).await, ["a"]);
    retired(&owner, &store, good).await;
}

#[tokio::test]
async fn a_queue_whose_tables_cannot_be_read_keeps_no_other_from_being_rotated() {
    // S14.4
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let (store, [bad, good]) = two_queues(&database).await;
    assert_eq!(drain(&store, good).await, ["a"]);
    let admin = cluster.superuser(&database.name).await;
    take_away(&admin, bad).await;
    retired(&admin, &store, good).await;
}

#[tokio::test]
async fn retention_that_waits_for_a_table_keeps_no_load_from_being_ended() {
    // S14.4, S15.5
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let options =
        PostgresOptions { statement_timeout: Duration::from_secs(1), ..PostgresOptions::default() };
    let store = PostgresStore::open(&database.address, options).await.unwrap();
    let settings =
        QueueSettings { retention: Some(Duration::from_secs(1)), ..QueueSettings::default() };
    let held = queue(&store, "held", &settings).await;
    let other = queue(&store, "other", &settings).await;
    for q in [held, other] {
        send(&store, q, &["old"]).await;
    }
    store.begin_load(other, at(0)).await.unwrap();
    let holder = cluster.superuser(&database.name).await;
    let place = format!("SELECT place::int8 FROM slipring.queue WHERE queue_id = {}", held.0);
    let place = one(&holder, &place).await;
    for n in 0..3 {
        let lock = format!("LOCK TABLE slipring.message_{place}_{n} IN ACCESS EXCLUSIVE MODE");
        run(&holder, if n == 0 { format!("BEGIN; {lock}") } else { lock }.as_str()).await;
    }
    let late = at(200_000);
    assert_eq!(store.prune(late).await.unwrap().removed, 1);
    assert_eq!(store.loads().await.unwrap(), []);
    assert_eq!(counts(&store, other).await, [0; 4]);
    run(&holder, "COMMIT").await;
    store.prune(at(200_100)).await.unwrap();
    assert_eq!(counts(&store, held).await, [0; 4]);
}

#[tokio::test]
async fn leases_of_a_process_end_in_all_queues_but_the_one_that_fails() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let store = cluster.store(&database).await;
    let mut queues = Vec::new();
    for name in ["first", "second", "third"] {
        let q = queue(&store, name, &QueueSettings::default()).await;
        send(&store, q, &["a"]).await;
        let session = Demand { up_to: 1, lease: Some(Duration::from_secs(1000)), session: true };
        assert_eq!(claim_with(&store, q, session, at(0)).await.0.len(), 1);
        queues.push(q);
    }
    let admin = cluster.superuser(&database.name).await;
    take_away(&admin, queues[1]).await;
    let other: Arc<PostgresStore> = cluster.store(&database).await;
    store.close().await.unwrap_err();
    for (q, ended) in [(queues[0], true), (queues[1], false), (queues[2], true)] {
        let leased = format!(
            "SELECT s.leased FROM slipring.state s WHERE s.queue_id = {}
             ORDER BY s.seq DESC LIMIT 1",
            q.0
        );
        assert_eq!(one(&admin, &leased).await == 0, ended, "{q}");
    }
    assert_eq!(drain(&other, queues[2]).await, ["a"]);
}
