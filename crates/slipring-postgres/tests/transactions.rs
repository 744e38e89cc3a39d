//! Messages that ride in transactions of others: seen if and only if they commit, whatever the
//! order, the isolation level, or what happens to the tables meanwhile (S10).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use slipring::store::Store;
use slipring::{AdminStore, QueueId};
use slipring_conformance::verbs::{ack_all, at, bodies, claim, counts, drain, plain, send};
use slipring_postgres::PostgresStore;
use slipring_testbed::{Cluster, Database, run};
use tokio_postgres::Client;

async fn sql_send(client: &Client, body: &str) {
    let sql = format!("SELECT slipring.send('plain', '{body}'::text)");
    client.batch_execute(&sql).await.expect("the message is taken");
}

async fn setup() -> (&'static Cluster, Database, Arc<PostgresStore>, QueueId) {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let store = cluster.rotating_store(&database, 1).await;
    let q = plain(&store).await;
    (cluster, database, store, q)
}

#[tokio::test]
async fn a_message_is_there_if_and_only_if_its_transaction_commits() {
    // S10.1
    let (cluster, database, store, q) = setup().await;
    for (end, there) in [("COMMIT", true), ("ROLLBACK", false)] {
        let sender = cluster.begin(&database, "READ COMMITTED").await;
        sql_send(&sender, end).await;
        assert!(drain(&store, q).await.is_empty());
        assert_eq!(counts(&store, q).await, [0; 4]);
        run(&sender, end).await;
        assert_eq!(drain(&store, q).await.len(), usize::from(there));
    }
    let sender = cluster.begin(&database, "READ COMMITTED").await;
    sql_send(&sender, "kept").await;
    run(&sender, "SAVEPOINT s").await;
    sql_send(&sender, "dropped").await;
    run(&sender, "ROLLBACK TO s").await;
    sql_send(&sender, "kept too").await;
    run(&sender, "COMMIT").await;
    assert_eq!(drain(&store, q).await, ["kept", "kept too"]);
}

#[tokio::test]
async fn a_transaction_sends_in_order_whatever_else_it_writes_and_takes_back() {
    // S7.1, S10.1: its first write may be a send, kept or not, or something else.
    let (cluster, database, store, q) = setup().await;
    let admin = cluster.client(&database).await;
    run(&admin, "CREATE TABLE business (n int)").await;
    let (other, mark) = ("INSERT INTO business VALUES (1)", "SAVEPOINT s");
    let batch = "SELECT slipring.send_batch('plain', '{x, y}'::bytea[])";
    for first in [&[][..], &[other], &[mark, "dropped", "ROLLBACK TO s"], &[mark, "a", other]] {
        let sender = cluster.begin(&database, "READ COMMITTED").await;
        let steps = ["b", "c", batch, mark, "dropped", batch, "ROLLBACK TO s", "d", batch, "e"];
        for step in first.iter().chain(&steps) {
            match *step {
                body if body == "dropped" || body.len() == 1 => sql_send(&sender, body).await,
                sql => run(&sender, sql).await,
            }
        }
        run(&sender, "COMMIT").await;
        let all = ["a", "b", "c", "x", "y", "d", "x", "y", "e"];
        assert_eq!(drain(&store, q).await, all[usize::from(!first.contains(&"a"))..], "{first:?}");
    }
}

#[tokio::test]
async fn senders_that_commit_in_another_order_lose_nothing() {
    // S10.1, S10.4
    let (cluster, database, store, q) = setup().await;
    let mut senders = Vec::new();
    for n in 0..10 {
        let sender = cluster.begin(&database, "READ COMMITTED").await;
        sql_send(&sender, &n.to_string()).await;
        senders.push(sender);
    }
    let mut seen = Vec::new();
    for (turn, nth) in [7, 2, 9, 0, 5, 1, 8, 3, 6, 4].into_iter().enumerate() {
        run(&senders[nth], "COMMIT").await;
        send(&store, q, &["between"]).await;
        if turn % 3 != 1 {
            seen.extend(drain(&store, q).await);
        }
        store.prune(at(turn as u64)).await.unwrap();
    }
    seen.extend(drain(&store, q).await);
    let late: BTreeSet<&str> = seen.iter().map(String::as_str).collect();
    assert_eq!((seen.len(), late.len()), (20, 11), "{seen:?}");
    assert_eq!(counts(&store, q).await, [0; 4]);
}

#[tokio::test]
async fn a_late_message_comes_before_what_was_sent_after_it() {
    // S7.1: the order of sending holds wherever nothing was handed out meanwhile.
    let (cluster, database, store, q) = setup().await;
    let sender = cluster.begin(&database, "READ COMMITTED").await;
    sql_send(&sender, "first").await;
    send(&store, q, &["second", "third"]).await;
    assert_eq!(bodies(&claim(&store, q, 1, at(0)).await), ["second"]);
    run(&sender, "COMMIT").await;
    assert_eq!(drain(&store, q).await, ["first", "third"]);
}

#[tokio::test]
async fn old_snapshots_send_across_every_step_of_a_rotation() {
    for isolation in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"] {
        let (cluster, database, store, q) = setup().await;
        let mut open: Vec<Client> = Vec::new();
        let mut wanted = 0;
        let mut seen = Vec::new();
        for step in 0..12 {
            // The snapshot is taken now, the message is sent some rotations later.
            let sender = cluster.begin(&database, isolation).await;
            run(&sender, "SELECT count(*) FROM slipring.queue").await;
            open.push(sender);
            send(&store, q, &["own"; 5]).await;
            wanted += 5;
            if open.len() > 4 {
                let sender = open.remove(0);
                sql_send(&sender, &format!("late {step}")).await;
                store.prune(at(step * 100)).await.unwrap();
                run(&sender, "COMMIT").await;
                wanted += 1;
            }
            seen.extend(drain(&store, q).await);
            store.prune(at(step * 100 + 50)).await.unwrap();
        }
        for sender in &open {
            sql_send(sender, "last").await;
            run(sender, "COMMIT").await;
            wanted += 1;
        }
        seen.extend(drain(&store, q).await);
        assert_eq!(seen.len(), wanted, "{isolation}");
        assert_eq!(counts(&store, q).await, [0; 4], "{isolation}");
    }
}

#[tokio::test]
async fn rotation_empties_the_tables_and_keeps_what_is_open() {
    let (cluster, database, store, q) = setup().await;
    send(&store, q, &["held"]).await;
    let held = claim(&store, q, 1, at(0)).await;
    for round in 1..30 {
        send(&store, q, &["x"; 100]).await;
        drain(&store, q).await;
        store.prune(at(round * 100)).await.unwrap();
    }
    let client = cluster.client(&database).await;
    let rows = async |table: &str| -> i64 {
        let sql = format!("SELECT count(*) FROM slipring.{table}");
        client.query_one(&sql, &[]).await.unwrap().get(0)
    };
    assert!(rows("message").await < 2000, "{} messages are left", rows("message").await);
    assert!(rows("state").await < 200, "{} states are left", rows("state").await);
    assert!(rows("lease").await < 200, "{} leases are left", rows("lease").await);
    assert_eq!(counts(&store, q).await, [0, 0, 1, 0]);
    ack_all(&store, q, &held, at(0)).await;
    assert_eq!(counts(&store, q).await, [0; 4]);
}

#[tokio::test]
async fn a_prepared_transaction_counts_when_it_is_committed() {
    let (cluster, database, store, q) = setup().await;
    for (name, end) in [("one", "COMMIT"), ("two", "ROLLBACK")] {
        let name = format!("{}_{name}", database.name);
        let sender = cluster.begin(&database, "READ COMMITTED").await;
        sql_send(&sender, &name).await;
        run(&sender, &format!("PREPARE TRANSACTION '{name}'")).await;
        drop(sender);
        for round in 0..4 {
            send(&store, q, &["x"]).await;
            assert_eq!(drain(&store, q).await, ["x"]);
            store.prune(at(round * 100)).await.unwrap();
        }
        run(&cluster.client(&database).await, &format!("{end} PREPARED '{name}'")).await;
        assert_eq!(drain(&store, q).await.len(), usize::from(end == "COMMIT"));
    }
}

#[tokio::test]
async fn an_ack_in_a_prepared_transaction_holds_its_message_until_that_ends() {
    // S10.2
    let (cluster, database, store, q) = setup().await;
    for (end, left) in [("COMMIT", 0), ("ROLLBACK", 1)] {
        let name = format!("{}_{end}", database.name);
        let user = cluster.client(&database).await;
        sql_send(&user, "job").await;
        let receive = "SELECT receipt FROM slipring.receive('plain')";
        let receipt: String = user.query_one(receive, &[]).await.unwrap().get(0);
        let ack = format!("BEGIN; SELECT slipring.ack('{receipt}'); PREPARE TRANSACTION '{name}'");
        run(&user, &ack).await;
        drop(user);
        // The lease is long over, and so are the tables of that time.
        let later = slipring::Timestamp::from_millis(i64::MAX as u64 / 2);
        store.expire(later).await.unwrap();
        store.prune(later).await.unwrap();
        assert!(claim(&store, q, 1, later).await.is_empty());
        run(&cluster.client(&database).await, &format!("{end} PREPARED '{name}'")).await;
        store.expire(later).await.unwrap();
        assert_eq!(drain(&store, q).await.len(), left, "{end}");
        assert_eq!(counts(&store, q).await, [0; 4]);
    }
}

#[tokio::test]
async fn a_reader_in_tables_that_want_to_retire_is_not_disturbed_and_disturbs_nobody() {
    let (cluster, database, store, q) = setup().await;
    let admin = cluster.superuser("postgres").await;
    let reader = cluster.begin(&database, "REPEATABLE READ").await;
    let tables = ["message", "state", "lease", "ack", "item"];
    let look = async |reader: &Client| {
        for table in tables {
            run(reader, &format!("SELECT count(*) FROM slipring.{table}")).await;
        }
    };
    look(&reader).await;
    let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND database = \
                   (SELECT oid FROM pg_database WHERE datname = $1)";
    for round in 0..10 {
        send(&store, q, &["x"; 10]).await;
        assert_eq!(drain(&store, q).await.len(), 10, "nobody waits for the reader");
        store.prune(at(round * 100)).await.unwrap();
        let waiting = admin.query_one(waiting, &[&database.name]).await.unwrap();
        assert_eq!(waiting.get::<_, i64>(0), 0, "somebody has been left waiting");
        look(&reader).await;
    }
    run(&reader, "COMMIT").await;
    // What was put off is done when no transaction of another test is in the way any more.
    let rows = "SELECT count(*) FROM slipring.message";
    let rows = async || reader.query_one(rows, &[]).await.unwrap().get::<_, i64>(0);
    let emptied = async {
        while rows().await > 0 {
            store.prune(at(10_000)).await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(60), emptied).await.expect("tables are emptied");
    store.check().await.unwrap();
}
