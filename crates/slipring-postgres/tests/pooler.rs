//! Through PgBouncer in transaction mode, with fewer connections to the server than clients:
//! nothing may be kept on a connection.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::collections::BTreeSet;
use std::time::Duration;

use slipring::{Engine, EngineOptions, QueueSettings, ReceiveRequest, Store};
use slipring_conformance::verbs;
use slipring_postgres::{PostgresOptions, PostgresStore, WhenToMigrate, migrate};
use slipring_testbed::pooler::{MISSING, Pooler};
use slipring_testbed::{Cluster, connect};
use tokio_postgres::SimpleQueryMessage;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn everything_works_through_a_pooler_that_shares_connections() {
    const EACH: u32 = 50;
    let cluster = Cluster::shared();
    let pooler = Pooler::start(cluster).expect(MISSING);
    let database = cluster.empty().await;
    let address = pooler.address(&database.name);
    let shown = migrate(&address, PostgresOptions::default(), true).await.unwrap();
    assert!(!shown.is_empty());
    let mut engines = Vec::new();
    for migrate in [WhenToMigrate::Empty, WhenToMigrate::Never] {
        let options = PostgresOptions { migrate, ..PostgresOptions::default() };
        let store = PostgresStore::open(&address, options).await.expect("the store opens");
        let engine = Engine::open(store, EngineOptions::default()).await.unwrap();
        engine.queue_or_create("q", &QueueSettings::default()).await.unwrap();
        engines.push(engine);
    }
    let mut tasks = Vec::new();
    for (engine, sends) in [(&engines[0], true), (&engines[1], false), (&engines[1], true)] {
        for task in 0..8 {
            let q = engine.queue("q").await.unwrap();
            tasks.push(tokio::spawn(async move {
                let mut seen = Vec::new();
                for n in 0..EACH {
                    if sends {
                        let body = format!("{task} {n}");
                        q.send(slipring::NewMessage::new(body)).await.unwrap();
                        continue;
                    }
                    let request = ReceiveRequest::up_to(2).wait(Duration::from_secs(3600));
                    for delivery in q.receive(request).await.unwrap() {
                        q.ack(&delivery.receipt).await.unwrap();
                        seen.push(delivery.message.id);
                    }
                }
                seen
            }));
        }
    }
    let mut all = Vec::new();
    for task in tasks {
        let done = tokio::time::timeout(Duration::from_secs(60), task).await;
        all.extend(done.expect("it ends in time").unwrap());
    }
    let q = engines[0].queue("q").await.unwrap();
    let left = q.stats().await.unwrap().total();
    let distinct: BTreeSet<_> = all.iter().collect();
    assert_eq!(distinct.len(), all.len(), "none twice");
    assert_eq!(all.len() as u64 + left, u64::from(16 * EACH), "none lost");
    for engine in engines {
        engine.shutdown().await;
    }
}

#[tokio::test]
async fn looks_and_refusals_come_through_a_pooler() {
    let cluster = Cluster::shared();
    let pooler = Pooler::start(cluster).expect(MISSING);
    let database = cluster.database().await;
    let address = pooler.address(&database.name);
    let store = PostgresStore::open(&address, PostgresOptions::default()).await.unwrap();
    let q = verbs::plain(&store).await;
    let ids = verbs::send(&store, q, &["a", "b"]).await;
    let taken = verbs::claim(&store, q, 1, verbs::at(0)).await;
    assert_eq!(verbs::counts(&store, q).await, [1, 0, 1, 0]);
    slipring::AdminStore::check(&*store).await.unwrap();
    let refused = slipring::AdminStore::cancel(&*store, ids[0], verbs::at(0)).await.unwrap_err();
    assert_eq!(refused.kind(), slipring::ErrorKind::WrongState);
    verbs::ack_all(&store, q, &taken, verbs::at(0)).await;
    let before = store.foreign_changes().await.unwrap();
    assert_eq!(store.foreign_changes().await.unwrap(), before);
    let missing = pooler.address("not_there");
    let error = PostgresStore::open(&missing, PostgresOptions::default()).await.unwrap_err();
    assert_eq!(error.kind(), slipring::ErrorKind::StorageUnavailable, "{error}");
}

/// What users' transactions through a pooler send: each to its own place in the order, though the
/// connections they run on change hands from one transaction to the next.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn transactions_of_users_send_and_ack_through_a_pooler() {
    // S7.1, S10.1, S10.2
    const CLIENTS: usize = 12;
    const TRANSACTIONS: usize = 16;
    let cluster = Cluster::shared();
    let pooler = Pooler::start(cluster).expect(MISSING);
    let database = cluster.database().await;
    let store = cluster.store(&database).await;
    let q = verbs::plain(&store).await;
    let jobs = verbs::queue(&store, "jobs", &QueueSettings::default()).await;
    let texts: Vec<String> = (0..CLIENTS * TRANSACTIONS).map(|n| format!("job {n}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    verbs::send(&store, jobs, &texts).await;
    let url = pooler.url_with(&database.name, "sslmode=disable");
    let mut clients = Vec::new();
    for name in 0..CLIENTS {
        let client = connect(&url).await;
        clients.push(tokio::spawn(async move {
            let (mut kept, mut acked) = (Vec::new(), 0);
            for n in 0..TRANSACTIONS {
                let stays = (name + n) % 3 != 0;
                let sends = (0..=n % 4).map(|k| format!("{name:02} {n:02} {k}"));
                let sends: Vec<String> = sends.collect();
                let mut script = String::from("BEGIN;");
                for body in &sends {
                    script += &format!("SELECT slipring.send('plain', '{body}'::text);");
                }
                script += "SAVEPOINT s; SELECT slipring.send('plain', 'dropped'::text);
                    ROLLBACK TO s; SELECT slipring.ack(receipt) FROM slipring.receive('jobs');";
                script += if stays { "COMMIT" } else { "ROLLBACK" };
                let answers = client.simple_query(&script).await.unwrap();
                let of_sends = sends.len() + 1;
                // A receive may answer fewer than it asked for while others are served (S10.7).
                let rows =
                    answers.iter().filter(|answer| matches!(answer, SimpleQueryMessage::Row(_)));
                acked += if stays { rows.count() - of_sends } else { 0 };
                kept.extend(sends.into_iter().filter(|_| stays));
            }
            (kept, acked)
        }));
    }
    let (mut kept, mut acked) = (Vec::new(), 0);
    for client in clients {
        let (sent, done) = client.await.unwrap();
        kept.push(sent);
        acked += done;
    }
    let committed = CLIENTS * TRANSACTIONS * 2 / 3;
    assert!(acked > committed / 2 && acked <= committed, "{acked} of {committed}");
    let came = verbs::drain(&store, q).await;
    for (name, kept) in kept.iter().enumerate() {
        let own = came.iter().filter(|body| body.starts_with(&format!("{name:02} ")));
        assert!(own.eq(kept), "of client {name} came {came:?}");
    }
    assert_eq!(came.len(), kept.iter().map(Vec::len).sum::<usize>());
    let left = (CLIENTS * TRANSACTIONS - acked) as u64;
    assert_eq!(verbs::counts(&store, jobs).await, [left, 0, 0, 0]);
}
