//! Databases that cannot be used are refused with what to do, and no error shows a password.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use slipring::{AdminStore, Error, ErrorKind, NewMessage, Retry};
use slipring_conformance::verbs::{self, at, plain, try_send};
use slipring_postgres::{Address, PostgresOptions, PostgresStore, WhenToMigrate};
use slipring_testbed::{Cluster, OWNER, refused_with, run};

/// What opening an address fails with.
async fn refused(url: &str) -> Error {
    let address: Address = url.parse().expect("the address can be read");
    match PostgresStore::open(&address, PostgresOptions::default()).await {
        Ok(_) => panic!("{address} is not refused"),
        Err(error) => {
            assert!(!format!("{error} {error:?}").contains("hidden"), "{error:?}");
            error
        }
    }
}

fn says(error: &Error, kind: ErrorKind, what: &str) {
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(what), "{what:?} is not in: {error}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let error = refused(&format!("postgres://me:hidden@127.0.0.1:{port}/q")).await;
    says(&error, ErrorKind::StorageUnavailable, "check host, port");
    says(&error, ErrorKind::StorageUnavailable, &port.to_string());
    assert_eq!(error.retry(), Retry::Later);
}

#[tokio::test]
async fn a_wrong_password_a_wrong_user_and_a_wrong_database_are_told_apart() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let error = refused(&cluster.url(OWNER, "hidden", &database.name)).await;
    says(&error, ErrorKind::StorageUnavailable, "check user and password");
    if std::env::var_os("PGPASSWORD").is_none() {
        let forgotten = cluster.url(OWNER, "", &database.name).replacen(":@", "@", 1);
        let error = refused(&forgotten).await;
        says(&error, ErrorKind::StorageUnavailable, "set PGPASSWORD");
    }
    let error = refused(&cluster.url("nobody_known", "hidden", &database.name)).await;
    says(&error, ErrorKind::StorageUnavailable, "nobody_known");
    let error = refused(&cluster.url(OWNER, "test", "not_there")).await;
    says(&error, ErrorKind::StorageUnavailable, "no such database");
}

#[tokio::test]
async fn a_user_without_rights_is_told_which_it_needs() {
    let cluster = Cluster::shared();
    let (made, empty) = (cluster.database().await, cluster.empty().await);
    let admin = cluster.superuser("postgres").await;
    admin.batch_execute("CREATE ROLE powerless LOGIN PASSWORD 'hidden'").await.unwrap();
    let error = refused(&cluster.url("powerless", "hidden", &made.name)).await;
    says(&error, ErrorKind::StorageUnavailable, "lacks rights");
    let error = refused(&cluster.url("powerless", "hidden", &empty.name)).await;
    says(&error, ErrorKind::StorageUnavailable, "GRANT CREATE ON DATABASE");
}

#[tokio::test]
async fn a_schema_of_a_newer_program_is_refused_and_left_alone() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let client = cluster.client(&database).await;
    let newer = "INSERT INTO slipring.migration (version, name) VALUES (999, 'later')";
    client.batch_execute(newer).await.unwrap();
    let open = PostgresOptions { migrate: WhenToMigrate::Always, ..PostgresOptions::default() };
    let error = PostgresStore::open(&database.address, open).await.unwrap_err();
    says(&error, ErrorKind::StorageTooNew, "999");
    let error =
        slipring_postgres::migrate(&database.address, PostgresOptions::default(), false).await;
    says(&error.unwrap_err(), ErrorKind::StorageTooNew, "nothing was changed");
    let error = slipring_postgres::import(&database.address, PostgresOptions::default()).await;
    says(&error.unwrap_err(), ErrorKind::StorageTooNew, "nothing was changed");
    let base = "SELECT xid_base FROM slipring.store";
    assert_eq!(client.query_one(base, &[]).await.unwrap().get::<_, i64>(0), 0);
}

#[tokio::test]
async fn settings_that_cannot_be_read_are_told_with_their_queue() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let store = cluster.store(&database).await;
    plain(&store).await;
    let client = cluster.client(&database).await;
    let spoil = "UPDATE slipring.queue SET settings = settings || '{\"later\": 1}'";
    client.batch_execute(spoil).await.unwrap();
    let error = store.queues().await.unwrap_err();
    says(&error, ErrorKind::Internal, "slipring.configure");
    assert!(error.context().contains(&("queue", "plain".to_owned())), "{error:?}");
}

#[tokio::test]
async fn a_schema_of_another_program_is_left_alone() {
    let cluster = Cluster::shared();
    let database = cluster.empty().await;
    let client = cluster.client(&database).await;
    client.batch_execute("CREATE SCHEMA slipring CREATE TABLE mine (a int)").await.unwrap();
    let error = PostgresStore::open(&database.address, PostgresOptions::default()).await;
    says(&error.unwrap_err(), ErrorKind::StorageUnavailable, "another program");
    client.batch_execute("SELECT a FROM slipring.mine").await.unwrap();
}

#[tokio::test]
async fn a_database_of_another_encoding_than_utf8_is_refused_by_it() {
    let cluster = Cluster::shared();
    let database = cluster.empty().await;
    let admin = cluster.superuser("postgres").await;
    for (encoding, made) in [("LATIN1", "latin"), ("SQL_ASCII", "ascii")] {
        let name = format!("{}_{made}", database.name);
        let create = format!(
            "CREATE DATABASE {name} OWNER {OWNER} ENCODING '{encoding}' TEMPLATE template0"
        );
        admin.batch_execute(&create).await.unwrap();
        let address: Address = cluster.url(OWNER, "test", &name).parse().unwrap();
        let migrated = slipring_postgres::migrate(&address, PostgresOptions::default(), false);
        let says_what = format!("the encoding of the database is {encoding}");
        if encoding == "SQL_ASCII" {
            // Without an encoding it keeps what it is given.
            migrated.await.unwrap();
            let user = slipring_testbed::connect(&cluster.url(OWNER, "test", &name)).await;
            let cut = "SET search_path = pg_catalog, slipring;
                SELECT slipring.reason_text(repeat('x', 5000))";
            user.batch_execute(cut).await.unwrap();
            refuses_what_no_server_can_read(&user).await;
            PostgresStore::open(&address, PostgresOptions::default()).await.unwrap();
        } else {
            says(&migrated.await.unwrap_err(), ErrorKind::StorageUnavailable, &says_what);
            let opened = PostgresStore::open(&address, PostgresOptions::default()).await;
            says(&opened.unwrap_err(), ErrorKind::StorageUnavailable, "with ENCODING 'UTF8'");
        }
        admin.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await.unwrap();
    }
}

/// One such message would stop all receives of its queue by servers.
async fn refuses_what_no_server_can_read(user: &tokio_postgres::Client) {
    run(user, "SELECT slipring.create_queue('q'), slipring.send('q', 'a'::text)").await;
    for text in [
        r#""group" => E'\xff\xfe'"#,
        r"dedup_id => E'\xe9'",
        r#"headers => E'{"a": "\xff"}'::jsonb"#,
    ] {
        let send = format!("SELECT slipring.send('q', 'x'::text, {text})");
        refused_with(user, &send, "SR007", "is not UTF-8").await;
    }
    let right = "SELECT slipring.send('q', 'x'::text, \"group\" => E'\\xc3\\xa9')";
    run(user, right).await;
}

#[tokio::test]
async fn defaults_that_the_store_cannot_work_with_are_refused() {
    let cluster = Cluster::shared();
    for (setting, value, what) in [
        ("default_transaction_read_only", "on", "read-only"),
        ("default_transaction_isolation", "'repeatable read'", "read committed"),
    ] {
        let database = cluster.database().await;
        let client = cluster.client(&database).await;
        let sql = format!("ALTER DATABASE {} SET {setting} TO {value}", database.name);
        client.batch_execute(&sql).await.unwrap();
        let error = PostgresStore::open(&database.address, PostgresOptions::default()).await;
        says(&error.unwrap_err(), ErrorKind::StorageUnavailable, what);
    }
}

#[tokio::test]
async fn a_database_from_another_cluster_has_to_be_imported_first() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let store = cluster.store(&database).await;
    let q = plain(&store).await;
    verbs::send(&store, q, &["a"]).await;
    store.close().await.unwrap();
    let client = cluster.client(&database).await;
    let other = "UPDATE slipring.store SET system_identifier = 1";
    client.batch_execute(other).await.unwrap();
    let error = PostgresStore::open(&database.address, PostgresOptions::default()).await;
    says(&error.unwrap_err(), ErrorKind::StorageUnavailable, "slipring import");
    let done = slipring_postgres::import(&database.address, PostgresOptions::default()).await;
    assert_eq!(done.unwrap().queues, 1);
    let store = cluster.store(&database).await;
    verbs::send(&store, q, &["b"]).await;
    let taken = verbs::claim(&store, q, 10, at(0)).await;
    assert_eq!(verbs::bodies(&taken), ["a", "b"], "nothing is lost, and the order is kept");
}

#[tokio::test]
async fn whether_it_can_serve_is_told_truly() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let store = cluster.store(&database).await;
    store.check().await.unwrap();
    let q = plain(&store).await;
    let admin = cluster.superuser("postgres").await;
    let name = &database.name;
    let sql = format!("ALTER DATABASE {name} SET default_transaction_read_only TO on");
    admin.batch_execute(&sql).await.unwrap();
    // The setting holds for new connections.
    let all =
        format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'");
    admin.batch_execute(&all).await.unwrap();
    says(&store.check().await.unwrap_err(), ErrorKind::StorageUnavailable, "read-only");
    let error = try_send(&store, q, vec![NewMessage::new("a")], at(0)).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::StorageUnavailable, Retry::Later));
    let sql = format!("ALTER DATABASE {name} RESET default_transaction_read_only");
    admin.batch_execute(&sql).await.unwrap();
    admin.batch_execute(&all).await.unwrap();
    store.check().await.unwrap();
    plain(&store).await;
    let owner = cluster.client(&database).await;
    let functions = "WITH was AS (SELECT name FROM slipring.migration WHERE version = 0)
        UPDATE slipring.migration m SET name = reverse(was.name) FROM was WHERE m.version = 0";
    run(&owner, functions).await;
    says(&store.check().await.unwrap_err(), ErrorKind::StorageUnavailable, "another build");
    run(&owner, functions).await;
    store.check().await.unwrap();
    let sql = format!("DROP DATABASE {name} WITH (FORCE)");
    admin.batch_execute(&sql).await.unwrap();
    says(&store.check().await.unwrap_err(), ErrorKind::StorageUnavailable, "no such database");
    store.close().await.unwrap();
    assert_eq!(store.check().await.unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn an_unencrypted_server_is_refused_where_encryption_is_asked_for() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let url = cluster.url(OWNER, "test", &database.name);
    for mode in ["require", "verify-ca", "verify-full"] {
        let error = refused(&url.replace("sslmode=disable", &format!("sslmode={mode}"))).await;
        says(&error, ErrorKind::StorageUnavailable, "sslmode");
    }
    let address: Address = url.replace("sslmode=disable", "sslmode=prefer").parse().unwrap();
    PostgresStore::open(&address, PostgresOptions::default()).await.unwrap();
}
