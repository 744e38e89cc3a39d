//! The schema comes up to date once, whole, and only when it may.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use slipring::{AdminStore, ErrorKind, QueueSettings, Retry, Store};
use slipring_conformance::verbs::{at, counts, drain, plain, queue};
use slipring_postgres::{PostgresOptions, PostgresStore, WhenToMigrate, migrate};
use slipring_testbed::{Cluster, Database, catalogue, locked, one, run};

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
async fn nothing_is_left_of_the_functions_of_another_build_but_what_users_made_of_them() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let client = cluster.client(&database).await;
    let fresh = catalogue(&client).await;
    // Functions that users can be granted, by what they are to whoever depends on them.
    let granted = "SELECT array_agg(p.oid ORDER BY p.oid) FROM pg_proc p
                   WHERE p.pronamespace = 'slipring'::regnamespace AND EXISTS (
                       SELECT FROM unnest('{producer,consumer,admin}'::text[]) r
                       WHERE has_function_privilege('slipring_' || r, p.oid, 'execute'))";
    let before: Vec<u32> = client.query_one(granted, &[]).await.unwrap().get(0);
    for other in [
        "DROP FUNCTION slipring.item_remove(slipring.queue, bigint[])",
        "CREATE FUNCTION slipring.item_remove(p_queue slipring.queue, p_ids bigint[]) RETURNS text
         LANGUAGE sql AS 'SELECT NULL::text'",
        "CREATE FUNCTION slipring.item_remove(p_queue int) RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE FUNCTION slipring.of_old(a slipring.queue) RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE PROCEDURE slipring.of_old() LANGUAGE sql AS 'SELECT 1'",
        "CREATE FUNCTION public.done(r text) RETURNS void BEGIN ATOMIC SELECT slipring.ack(r); END",
        "CREATE VIEW public.state AS SELECT * FROM slipring.stats('plain')",
        "GRANT USAGE ON SCHEMA slipring TO PUBLIC",
        "GRANT EXECUTE ON FUNCTION slipring.stats(text) TO pg_monitor",
        "UPDATE slipring.migration SET name = 'other' WHERE version = 0",
    ] {
        run(&client, other).await;
    }
    migrate(&database.address, PostgresOptions::default(), false).await.unwrap();
    assert_eq!(catalogue(&client).await, fresh);
    let after: Vec<u32> = client.query_one(granted, &[]).await.unwrap().get(0);
    assert_eq!(after, before);
    let store = cluster.store(&database).await;
    plain(&store).await;
    let sql = "SELECT count(*), bool_and(has_function_privilege('pg_monitor',
                   'slipring.stats(text)', 'execute')) FROM public.state";
    let row = client.query_one(sql, &[]).await.unwrap();
    assert_eq!((row.get(0), row.get(1)), (1_i64, true));
}

#[tokio::test]
async fn roles_that_somebody_else_creates_get_their_rights_at_the_next_migration() {
    let cluster = Cluster::own();
    let database = cluster.empty().await;
    let admin = cluster.superuser(&database.name).await;
    run(&admin, &format!("ALTER ROLE {} NOCREATEROLE", slipring_testbed::OWNER)).await;
    let migrate = async || migrate(&database.address, PostgresOptions::default(), false).await;
    let roles = ["slipring_admin", "slipring_consumer", "slipring_producer"];
    for from in [false, true] {
        let done = migrate().await.unwrap();
        assert_eq!((done.from.is_some(), done.is_empty()), (from, from));
        assert_eq!(done.roles_missing, roles);
    }
    for role in roles {
        run(&admin, &format!("CREATE ROLE {role}")).await;
    }
    let shown = slipring_postgres::migrate(&database.address, PostgresOptions::default(), true);
    assert!(!shown.await.unwrap().is_empty());
    let done = migrate().await.unwrap();
    assert_eq!((done.is_empty(), done.roles_missing.len()), (false, 0));
    let producer = "SET ROLE slipring_producer; SELECT slipring.send_batch('no', '{}'::text[])";
    let error = admin.batch_execute(producer).await.unwrap_err();
    assert_eq!(error.code().map(|code| code.code()), Some("SR001"), "it may call it: {error}");
    assert!(migrate().await.unwrap().is_empty());
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
    let sql = format!("ALTER SCHEMA slipring OWNER TO {}", slipring_testbed::OWNER);
    admin.batch_execute(&sql).await.unwrap();
    open(&database, WhenToMigrate::Empty).await.unwrap();
}

/// A message of the first version in a state, due at a time where it waits for one.
fn old_item(id: i64, state: i64, turn: i64, group: Option<&str>) -> String {
    let queue = if group.is_some() { 2 } else { 1 };
    let group = group.map_or_else(|| "NULL".to_owned(), |group| format!("'{group}'"));
    format!(
        "INSERT INTO slipring.item (id, queue_id, state, turn, priority, sent_ms, attempts, fence, \
         delay_ms, bytes, fifo_group, group_name, body) VALUES ({id}, {queue}, {state}, {turn}, \
         1024, 0, 1, 7, 0, 2, {group}, {group}, 'm{id}')"
    )
}

#[tokio::test]
async fn messages_of_the_first_version_are_there_after_the_second() {
    // S1.1
    let cluster = Cluster::shared();
    let database = cluster.empty().await;
    let client = cluster.client(&database).await;
    run(&client, include_str!("../queries/create_schema.sql")).await;
    run(&client, include_str!("../queries/create_migration.sql")).await;
    run(&client, include_str!("../migrations/0001_first.sql")).await;
    run(&client, "INSERT INTO slipring.migration VALUES (1, '0001_first')").await;
    let due = i64::try_from(at(50).as_millis()).unwrap();
    let items = [(1, 1, 1024, None), (2, 0, due, None), (3, 3, 1024, None), (4, 1, 0, Some("g"))];
    for (id, state, turn, group) in items {
        run(&client, &old_item(id, state, turn, group)).await;
    }
    open(&database, WhenToMigrate::Never).await.unwrap_err();
    migrate(&database.address, PostgresOptions::default(), false).await.unwrap();
    let fresh = cluster.database().await;
    let fresh = catalogue(&cluster.client(&fresh).await).await;
    assert_eq!(catalogue(&client).await, fresh);
    let store = cluster.store(&database).await;
    let q = plain(&store).await;
    assert_eq!(counts(&store, q).await, [1, 1, 0, 1]);
    assert_eq!(drain(&store, q).await, ["m1"]);
    assert_eq!(store.due(at(50)).await.unwrap().ready, [(q, 1)]);
    assert_eq!(store.kick(q, 10, at(50)).await.unwrap(), 1);
    assert_eq!(drain(&store, q).await, ["m2", "m3"]);
    let settings = QueueSettings { fifo: true, ..QueueSettings::default() };
    let fifo = queue(&store, "fifo", &settings).await;
    assert_eq!(drain(&store, fifo).await, ["m4"]);
}

/// With so many seconds for a statement.
fn seconds(statement_timeout: u64) -> PostgresOptions {
    PostgresOptions {
        statement_timeout: std::time::Duration::from_secs(statement_timeout),
        ..PostgresOptions::default()
    }
}

#[tokio::test]
async fn a_migration_waits_for_transactions_and_keeps_no_others_waiting() {
    // S10.1
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let client = cluster.client(&database).await;
    run(&client, "SELECT slipring.create_queue('jobs'), slipring.create_queue('other')").await;
    let other = "UPDATE slipring.migration SET name = 'other' WHERE version = 0";
    run(&client, other).await;
    let open = cluster.client(&database).await;
    run(&open, "BEGIN; SELECT slipring.send('jobs', 'a'::text)").await;
    // Others go on while it waits.
    let refused = migrate(&database.address, seconds(5), false);
    let send = "SET statement_timeout = '3 s'; SELECT slipring.send('other', 'b'::text)";
    let sends = async {
        for _ in 0..2 {
            locked(&client, 1).await;
            run(&client, send).await;
        }
    };
    let (refused, ()) = tokio::join!(refused, sends);
    let error = refused.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::StorageUnavailable, Retry::Later));
    let pid = one(&open, "SELECT pg_backend_pid()::int8").await;
    assert!(error.to_string().contains(&format!("process {pid} ")), "{error}");
    // When the transaction has ended, its messages and those of after it are there.
    let ends = async {
        locked(&client, 1).await;
        run(&open, "SELECT slipring.send('jobs', 'a'::text); COMMIT").await;
    };
    let (migrated, ()) = tokio::join!(migrate(&database.address, seconds(30), false), ends);
    migrated.unwrap();
    assert_eq!(one(&client, "SELECT count(*) FROM slipring.receive('jobs', 10)").await, 2);
}

#[tokio::test]
async fn a_migration_names_the_prepared_transaction_that_it_waits_for() {
    let cluster = Cluster::shared();
    let (database, _store, client) = cluster.opened().await;
    run(&client, "SELECT slipring.create_queue('jobs')").await;
    run(&client, "UPDATE slipring.migration SET name = 'other' WHERE version = 0").await;
    let gid = format!("{}_forgotten", database.name);
    let send = "BEGIN; SELECT slipring.send('jobs', 'a'::text)";
    run(&client, &format!("{send}; PREPARE TRANSACTION '{gid}'")).await;
    let error = migrate(&database.address, seconds(2), false).await.unwrap_err();
    assert!(error.to_string().contains(&format!("prepared transaction '{gid}'")), "{error}");
    run(&client, &format!("ROLLBACK PREPARED '{gid}'")).await;
}
