//! Statements are prepared where connections lead straight to a server, and nowhere else.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed step fails the test")]

use slipring_conformance::verbs;
use slipring_postgres::{Address, PostgresOptions, PostgresStore};
use slipring_testbed::Cluster;
use slipring_testbed::pooler::{MISSING, Pooler};

async fn store(address: &Address) -> std::sync::Arc<PostgresStore> {
    let options = PostgresOptions { connections: 1, ..PostgresOptions::default() };
    PostgresStore::open(address, options).await.expect("the store opens")
}

fn prepares(store: &PostgresStore) -> bool {
    format!("{store:?}").contains("prepares: true")
}

#[tokio::test]
async fn statements_are_kept_where_connections_lead_straight_to_the_server() {
    let cluster = Cluster::own();
    let database = cluster.database().await;
    let straight = store(&database.address).await;
    assert!(prepares(&straight));
    let q = verbs::plain(&straight).await;
    for _ in 0..3 {
        verbs::send(&straight, q, &["a"]).await;
    }
    assert_eq!(verbs::counts(&straight, q).await, [3, 0, 0, 0]);
    let pooler = Pooler::start(&cluster).expect(MISSING);
    assert!(!prepares(&*store(&pooler.address(&database.name)).await));
    let url = cluster.url(slipring_testbed::OWNER, "test", &database.name);
    let mark = if url.contains('?') { '&' } else { '?' };
    let unprepared = format!("{url}{mark}prepared_statements=off").parse().unwrap();
    assert!(!prepares(&*store(&unprepared).await));
}

#[tokio::test]
async fn statements_that_got_lost_are_sent_whole_again() {
    let cluster = Cluster::own();
    let pooler = Pooler::start(&cluster).expect(MISSING);
    let database = cluster.database().await;
    let address = pooler.address_with(&database.name, "sslmode=disable&prepared_statements=on");
    let store = store(&address).await;
    let q = verbs::plain(&store).await;
    verbs::send(&store, q, &["a"]).await;
    assert!(prepares(&store));
    // Somebody else who is given the same session.
    let url = pooler.url_with(&database.name, "sslmode=disable");
    slipring_testbed::connect(&url).await.batch_execute("DEALLOCATE ALL").await.unwrap();
    verbs::send(&store, q, &["b"]).await;
    assert!(!prepares(&store));
    assert_eq!(verbs::counts(&store, q).await, [2, 0, 0, 0]);
}

#[tokio::test]
async fn functions_made_anew_beside_a_running_store_are_the_ones_it_calls() {
    let cluster = Cluster::own();
    let database = cluster.database().await;
    let store = store(&database.address).await;
    let q = verbs::plain(&store).await;
    assert_eq!(verbs::counts(&store, q).await, [0, 0, 0, 0]);
    let client = cluster.client(&database).await;
    let sql =
        "SELECT format('DROP FUNCTION %s; %s', p.oid::regprocedure, pg_get_functiondef(p.oid))
               FROM pg_proc p WHERE p.oid = 'slipring.store_stats'::regproc";
    let anew: String = client.query_one(sql, &[]).await.unwrap().get(0);
    client.batch_execute(&anew).await.unwrap();
    verbs::send(&store, q, &["a"]).await;
    assert_eq!(verbs::counts(&store, q).await, [1, 0, 0, 0]);
    assert!(prepares(&store));
}
