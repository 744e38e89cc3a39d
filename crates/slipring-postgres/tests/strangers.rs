//! A role of users that may connect, and takes every lock it can, stops nobody (S5.6): the locks of
//! the store are on relations that only the owner may lock, or have numbers that nobody else knows.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use slipring::admin::AdminStore;
use slipring::store::Store;
use slipring::{LoadPart, LoadStore, NewMessage, QueueSettings};
use slipring_conformance::verbs::{ack_all, at, claim, counts, drain, plain, queue, send};
use slipring_testbed::{Cluster, connect, one, rotation_step, run, soon};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

/// Advisory locks by numbers that follow from what anybody knows: of queues and loads 1 to 20, of
/// administration, of rotation, and of the leases of a queue by their fences.
const NUMBERS: &str = "
    SELECT pg_advisory_lock(c, n) FROM generate_series(1397511505, 1397511510) c,
        generate_series(0, 20) n;
    SELECT pg_advisory_lock(k) FROM unnest($1::bigint[]) f, generate_series(0, 20) q
    CROSS JOIN LATERAL (
        SELECT hashint8extended(f, q) & ~63::bigint | m FROM generate_series(0, 63) m
        UNION ALL SELECT hashint8extended(f, -1 - q)) AS k(k)";

/// Tries to lock every relation of the schema in every mode.
async fn refused_everywhere(stranger: &Client, relations: &[String]) {
    for relation in relations {
        for mode in ["ACCESS SHARE", "SHARE UPDATE EXCLUSIVE", "ACCESS EXCLUSIVE"] {
            let lock = format!("BEGIN; LOCK TABLE slipring.{relation} IN {mode} MODE NOWAIT");
            let error = stranger.batch_execute(&lock).await.expect_err(relation);
            assert_eq!(error.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{lock}");
            run(stranger, "ROLLBACK").await;
        }
    }
}

#[tokio::test]
async fn whoever_may_connect_can_hold_no_lock_of_the_store() {
    let cluster = Cluster::shared();
    let (database, store, owner) = cluster.opened().await;
    let q = plain(&store).await;
    send(&store, q, &["lapses", "acked", "nacked", "acked by SQL"]).await;
    let held = claim(&store, q, 4, at(0)).await;
    let fences: Vec<i64> = held.iter().map(|d| d.receipt.fence.0.cast_signed()).collect();

    let stranger = cluster.superuser(&database.name).await;
    run(&stranger, "SET SESSION AUTHORIZATION slipring_admin").await;
    let numbers = NUMBERS.replace("$1", &format!("'{{{}}}'", fences[0]));
    run(&stranger, &numbers).await;
    let sql = "SELECT relname::text FROM pg_class WHERE relkind IN ('r', 'p', 'v')
        AND relnamespace = 'slipring'::regnamespace";
    let rows = owner.query(sql, &[]).await.unwrap();
    let relations: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert!(relations.len() > 50, "{} relations", relations.len());
    refused_everywhere(&stranger, &relations).await;

    soon("a settlement", ack_all(&store, q, &held[1..2], at(0))).await;
    let late = at(3_600);
    soon("a lapse", async { store.expire_in(q, late).await.unwrap() }).await;
    assert_eq!(counts(&store, q).await[0], 3);
    soon("a receive", async { assert_eq!(drain(&store, q).await.len(), 3) }).await;
    soon("a rotation", rotation_step(&owner, "queues", late)).await;
    soon("a load", async {
        let load = store.begin_load(q, at(0)).await.unwrap().id;
        let messages = vec![NewMessage::new("loaded".to_owned())];
        let part = LoadPart { load, part: 0, checksum: 1, now: at(0), messages };
        assert!(store.append_load(part).await.unwrap());
        assert_eq!(store.publish_load(load, 1, at(0)).await.unwrap().messages, 1);
    })
    .await;
    soon("an ack by SQL", async {
        let received = "SELECT slipring.ack(receipt) FROM slipring.receive('plain')";
        run(&owner, received).await;
    })
    .await;
    assert_eq!(one(&owner, "SELECT count(*) FROM slipring.receive('plain')").await, 0);
    let settings = QueueSettings::default();
    let other = soon("a creation", queue(&store, "created", &settings)).await;
    soon("a deletion", store.delete_queue(other)).await.unwrap();
}

#[tokio::test]
async fn whoever_calls_himself_a_dump_stops_no_rotation() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let store = cluster.rotating_store(&database, 1).await;
    let q = plain(&store).await;
    send(&store, q, &["a"]).await;
    assert_eq!(drain(&store, q).await, ["a"]);
    let dump = cluster.superuser(&database.name).await;
    run(&dump, "SET application_name = 'pg_dump'").await;
    let left = "SELECT count(*) FROM slipring.message";
    let owner = cluster.client(&database).await;
    let hold = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM pg_class";
    run(&dump, hold).await;
    for round in 0..5 {
        store.prune(at(round)).await.unwrap();
    }
    assert_eq!(one(&owner, left).await, 1, "a dump would miss what is emptied now");
    let name = format!("{}_stranger", database.name);
    let role = format!("ROLLBACK; CREATE ROLE {name} LOGIN PASSWORD 'test' IN ROLE slipring_admin");
    run(&dump, &role).await;
    let stranger = connect(&cluster.url(&name, "test", &database.name)).await;
    run(&stranger, "SET application_name = 'pg_dump'").await;
    run(&stranger, hold).await;
    let emptied = async {
        let mut round = 5;
        while one(&owner, left).await > 0 {
            store.prune(at(round)).await.unwrap();
            round += 1;
        }
    };
    soon("a rotation", emptied).await;
}
