//! The schema comes up to date once, whole, and only when it may.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

mod cluster;

use cluster::{Cluster, Database};
use slipring::ErrorKind;
use slipring_postgres::{PostgresOptions, PostgresStore, WhenToMigrate, migrate};

async fn open(database: &Database, when: WhenToMigrate) -> Result<(), slipring::Error> {
    let options = PostgresOptions { migrate: when, ..PostgresOptions::default() };
    PostgresStore::open(&database.address, options).await.map(drop)
}

async fn has_schema(cluster: &Cluster, database: &Database) -> bool {
    let client = cluster.client(database).await;
    let sql = "SELECT to_regnamespace('slipring') IS NOT NULL";
    client.query_one(sql, &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn an_empty_database_gets_its_schema_unless_that_is_forbidden() {
    let cluster = Cluster::shared();
    let database = cluster.empty().await;
    let error = open(&database, WhenToMigrate::Never).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageUnavailable);
    assert!(error.to_string().contains("slipring migrate"), "{error}");
    assert!(!has_schema(cluster, &database).await);
    open(&database, WhenToMigrate::Empty).await.unwrap();
    open(&database, WhenToMigrate::Never).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn servers_that_start_at_the_same_time_make_it_once() {
    let cluster = Cluster::shared();
    let database = cluster.empty().await;
    let opens = (0..8).map(|_| {
        let address = database.address.clone();
        tokio::spawn(async move {
            PostgresStore::open(&address, PostgresOptions::default()).await.map(drop)
        })
    });
    for open in opens.collect::<Vec<_>>() {
        open.await.unwrap().unwrap();
    }
    let client = cluster.client(&database).await;
    let sql = "SELECT count(*) FROM slipring.store";
    assert_eq!(client.query_one(sql, &[]).await.unwrap().get::<_, i64>(0), 1);
}

#[tokio::test]
async fn a_dry_run_shows_the_sql_and_changes_nothing() {
    let cluster = Cluster::shared();
    let database = cluster.empty().await;
    let shown = migrate(&database.address, PostgresOptions::default(), true).await.unwrap();
    assert_eq!((shown.from, shown.is_empty()), (None, false));
    assert!(!has_schema(cluster, &database).await);
    // Given to psql it does what the program would have done.
    cluster.client(&database).await.batch_execute(&shown.sql).await.unwrap();
    let again = migrate(&database.address, PostgresOptions::default(), true).await.unwrap();
    assert!(again.is_empty() && again.from == Some(again.to), "{again:?}");
    open(&database, WhenToMigrate::Never).await.unwrap();
}

#[tokio::test]
async fn functions_of_another_build_are_refused_and_replaced_on_demand() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let client = cluster.client(&database).await;
    let other = "UPDATE slipring.migration SET name = 'other' WHERE version = 0";
    client.batch_execute(other).await.unwrap();
    let error = open(&database, WhenToMigrate::Empty).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageUnavailable);
    assert!(error.to_string().contains("--dry-run"), "{error}");
    let done = migrate(&database.address, PostgresOptions::default(), false).await.unwrap();
    assert_eq!(done.from, Some(done.to));
    assert!(!done.sql.contains("CREATE TABLE slipring.store"), "only functions are made anew");
    open(&database, WhenToMigrate::Never).await.unwrap();
    client.batch_execute(other).await.unwrap();
    open(&database, WhenToMigrate::Always).await.unwrap();
}

#[tokio::test]
async fn a_migration_that_fails_leaves_nothing_behind() {
    let cluster = Cluster::shared();
    let database = cluster.empty().await;
    // The role may make the schema, but one of the first functions is in its way.
    let client = cluster.client(&database).await;
    client.batch_execute("CREATE SCHEMA slipring").await.unwrap();
    let admin = cluster.superuser(&database.name).await;
    admin.batch_execute("ALTER SCHEMA slipring OWNER TO postgres").await.unwrap();
    let error = migrate(&database.address, PostgresOptions::default(), false).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageUnavailable);
    let sql = "SELECT count(*) FROM pg_class WHERE relnamespace = 'slipring'::regnamespace";
    assert_eq!(admin.query_one(sql, &[]).await.unwrap().get::<_, i64>(0), 0);
    let sql = format!("ALTER SCHEMA slipring OWNER TO {}", cluster::OWNER);
    admin.batch_execute(&sql).await.unwrap();
    open(&database, WhenToMigrate::Empty).await.unwrap();
}
