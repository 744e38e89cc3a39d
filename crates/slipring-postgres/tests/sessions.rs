//! Sessions that cannot do their work, or are too few, and calls that wait for one.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed step fails the test")]

use std::time::Duration;

use slipring::store::{ClaimBatch, Demand, Store};
use slipring::{AdminStore, ErrorKind, NewMessage, QueueSettings};
use slipring_conformance::verbs::{at, bodies, claim, plain, queue, send, try_send};
use slipring_postgres::{Address, PostgresOptions, PostgresStore};
use slipring_testbed::{Cluster, database_now, locked, run, soon};

const LEASE: Duration = Duration::from_secs(1);

/// S3.1
#[tokio::test]
async fn no_session_of_another_isolation_level_hands_out_anything() {
    let cluster = Cluster::shared();
    let (database, store, _owner) = cluster.opened().await;
    let admin = cluster.superuser("postgres").await;
    let q = plain(&store).await;
    send(&store, q, &["a"]).await;
    for level in ["repeatable read", "serializable"] {
        // As another client of a pooler leaves it behind, or an administrator sets it.
        let set = format!(
            "ALTER DATABASE {} SET default_transaction_isolation TO '{level}'",
            database.name
        );
        run(&admin, &set).await;
        cluster.disconnect(&database).await;
        let demands = vec![Demand { up_to: 1, lease: None, session: false }];
        let batch = ClaimBatch { queue: q, now: at(0), demands };
        let error = soon("a claim", store.claim(batch)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageUnavailable, "{error}");
        assert!(error.to_string().contains("READ COMMITTED"), "{error}");
        let reset = format!("ALTER DATABASE {} RESET default_transaction_isolation", database.name);
        run(&admin, &reset).await;
    }
    // No connection that had it is used any more.
    assert_eq!(bodies(&claim(&store, q, 1, at(0)).await), ["a"]);
}

#[tokio::test]
async fn connections_to_where_nothing_can_be_written_are_left() {
    let cluster = Cluster::shared();
    let (database, store, owner) = cluster.opened().await;
    let q = plain(&store).await;
    let name = &database.name;
    // As where the address led to a standby for a moment.
    run(&owner, &format!("ALTER DATABASE {name} SET default_transaction_read_only TO on")).await;
    cluster.disconnect(&database).await;
    let sends = || try_send(&store, q, vec![NewMessage::new("a")], at(0));
    let error = sends().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageUnavailable, "{error}");
    store.check().await.expect_err("nothing can be written");
    let admin = cluster.superuser("postgres").await;
    run(&admin, &format!("ALTER DATABASE {name} RESET default_transaction_read_only")).await;
    sends().await.expect("by a new connection");
    store.check().await.unwrap();
    // A look alone finds back as well.
    run(&admin, &format!("ALTER DATABASE {name} SET default_transaction_read_only TO on")).await;
    cluster.disconnect(&database).await;
    store.check().await.expect_err("nothing can be written");
    run(&admin, &format!("ALTER DATABASE {name} RESET default_transaction_read_only")).await;
    store.check().await.expect("by a new connection");
}

#[tokio::test]
async fn calls_wait_for_connections_that_others_have_where_the_server_takes_no_more() {
    let cluster = Cluster::shared();
    let (database, store, _owner) = cluster.opened().await;
    let mut queues = Vec::new();
    for n in 0..8 {
        queues.push(queue(&store, &format!("q{n}"), &QueueSettings::default()).await);
    }
    let admin = cluster.superuser(&database.name).await;
    let role = format!("{}_few", database.name);
    let make = format!(
        "CREATE ROLE {role} LOGIN PASSWORD 'hidden' CONNECTION LIMIT 3;
         DO $$ BEGIN EXECUTE format('GRANT %I TO {role}', (SELECT nspowner::regrole::text
             FROM pg_namespace WHERE nspname = 'slipring')); END $$"
    );
    run(&admin, &make).await;
    let url = cluster.url(&role, "hidden", &database.name);
    let options = PostgresOptions { connections: 12, ..PostgresOptions::default() };
    let few = PostgresStore::open(&url.parse::<Address>().unwrap(), options).await.unwrap();
    let sends = (0..80).map(|n| try_send(&few, queues[n % 8], vec![NewMessage::new("a")], at(0)));
    for sent in soon("80 sends by three connections", futures::future::join_all(sends)).await {
        sent.expect("it waits for a connection");
    }
}

#[tokio::test]
async fn the_lease_of_a_claim_that_has_waited_for_a_connection_begins_when_it_has_one() {
    // S2.2
    let cluster = Cluster::shared();
    let (database, store, looks) = cluster.opened().await;
    let q = plain(&store).await;
    send(&store, q, &["a"]).await;
    let options = PostgresOptions { connections: 1, ..PostgresOptions::default() };
    let one = PostgresStore::open(&database.address, options).await.unwrap();
    let holder = cluster.client(&database).await;
    run(&holder, "BEGIN; LOCK TABLE slipring.queue IN ACCESS EXCLUSIVE MODE").await;
    let claimed = async {
        locked(&looks, 1).await;
        let now = database_now(&looks).await;
        let demands = vec![Demand { up_to: 1, lease: Some(LEASE), session: false }];
        let claimed = one.claim(ClaimBatch { queue: q, now, demands });
        let late = async {
            // A wait of less than a second does not count.
            let over = now.after(LEASE + LEASE);
            while database_now(&looks).await <= over {}
            run(&holder, "ROLLBACK").await;
            over
        };
        let (claimed, ended) = tokio::join!(claimed, late);
        assert!(claimed.unwrap().deliveries[0][0].deadline >= ended.after(LEASE / 2));
    };
    let (queues, ()) = tokio::join!(one.queues(), claimed);
    assert_eq!(queues.unwrap().len(), 1);
}
