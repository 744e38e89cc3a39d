//! The real binary over PostgreSQL: its schema, addresses that do not work, what it says of
//! itself while the database is away.

// Helpers of tests may fail like tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod binary;

use std::io::{Read, Write};
use std::net::TcpStream;

use binary::{Done, Folder, until};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use slipring_testbed::{Cluster, Database, OWNER, catalogue, one, run};

/// The address of a database as its owner, password and all.
fn url(cluster: &Cluster, database: &Database) -> String {
    cluster.url(OWNER, "test", &database.name)
}

/// What the admin API answers: the status, and the body as JSON.
fn get(admin: &str, path: &str) -> (u16, Value) {
    let mut stream = TcpStream::connect(admin).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap())
}

/// A verb that has failed: what it says, which is everything but a password.
fn refused(done: &Done, code: i32) -> String {
    assert_eq!((done.code(), done.stdout().as_str()), (code, ""), "{}", done.stderr());
    assert!(!done.stderr().contains("hidden"), "{}", done.stderr());
    done.stderr()
}

#[tokio::test]
async fn an_empty_database_is_all_that_a_server_needs_and_kill_9_loses_nothing() {
    // S1.1
    let cluster = Cluster::shared();
    let database = cluster.empty().await;
    let folder = Folder::new();
    let server = folder.serve(&["--store", &url(cluster, &database)]);
    let line = server.first_line.clone();
    assert!(line.contains(&database.name) && line.contains("(durability full)"), "{line}");
    assert!(!line.contains(":test@"), "{line}");
    let (status, ready) = get(&server.admin(), "/readyz");
    assert_eq!((status, &ready["status"]), (200, &Value::from("ready")));
    let mut client = server.client();
    let mut sent = Vec::new();
    for n in 0..50 {
        let answer = client.ask(&format!("put 0 0 60 2\r\n{n:02}\r\n"));
        sent.push(answer.strip_prefix("INSERTED ").unwrap().to_owned());
    }
    server.signal(Signal::SIGKILL);
    server.ended(std::time::Duration::from_secs(5));
    let server = folder.serve(&["--store", &url(cluster, &database)]);
    let mut client = server.client();
    for (n, id) in sent.iter().enumerate() {
        assert_eq!(client.ask("reserve-with-timeout 5\r\n"), format!("RESERVED {id} 2"));
        assert_eq!(client.line(), format!("{n:02}"));
        assert_eq!(client.ask(&format!("delete {id}\r\n")), "DELETED");
    }
    server.stop();
    let log = folder.log();
    assert!(!log.contains(":test@"), "{log}");
}

#[tokio::test]
async fn the_client_library_is_heard_below_warn_only_by_name() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let folder = Folder::new();
    let store = url(cluster, &database);
    let targets = |filter: &str| -> Vec<String> {
        let server = folder.serve(&["--store", &store, "--log", filter, "--log-format", "json"]);
        server.client().ask("put 0 0 60 1\r\nx\r\n");
        server.stop();
        let target = |line: &str| {
            let line: Value = serde_json::from_str(line).unwrap();
            line["target"].as_str().unwrap().to_owned()
        };
        folder.log().lines().map(target).collect()
    };
    let ours = targets("debug");
    assert!(ours.iter().all(|target| target.starts_with("slipring")), "{ours:?}");
    let both = targets("debug,tokio_postgres=debug");
    assert!(both.iter().any(|target| target.starts_with("tokio_postgres")), "{both:?}");
}

#[tokio::test]
async fn a_dry_run_shows_the_sql_and_changes_nothing() {
    let cluster = Cluster::shared();
    let (one_way, other_way) = (cluster.empty().await, cluster.empty().await);
    let folder = Folder::new();
    let migrate = |database: &Database, further: &[&str]| {
        let store = url(cluster, database);
        folder.run(&[&["migrate", "--store", &store][..], further].concat()).ok()
    };
    let sql = migrate(&one_way, &["--dry-run"]);
    let client = cluster.client(&one_way).await;
    let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname = 'slipring'";
    assert_eq!(one(&client, schemas).await, 0);
    // What it shows is all that it does.
    run(&client, &sql).await;
    let up_to_date = migrate(&one_way, &[]);
    assert!(up_to_date.starts_with("the schema is up to date (version "), "{up_to_date}");
    let made = migrate(&other_way, &[]);
    assert!(made.starts_with("the schema was made (version "), "{made}");
    let other = cluster.client(&other_way).await;
    assert_eq!(catalogue(&client).await, catalogue(&other).await);
    let nothing = migrate(&one_way, &["--dry-run"]);
    assert!(nothing.starts_with("-- the schema is up to date"), "{nothing}");
    let done = folder.run(&["migrate", "--store", "sqlite:slipring.db"]);
    assert!(refused(&done, 2).contains("is no PostgreSQL database"), "{}", done.stderr());
}

#[tokio::test]
async fn a_verb_makes_no_schema_and_says_what_does() {
    let cluster = Cluster::shared();
    let database = cluster.empty().await;
    let folder = Folder::new();
    let done = folder.run(&["queue", "ls", "--store", &url(cluster, &database)]);
    assert!(refused(&done, 1).contains("slipring migrate"), "{}", done.stderr());
    let client = cluster.client(&database).await;
    let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname = 'slipring'";
    assert_eq!(one(&client, schemas).await, 0);
}

#[tokio::test]
async fn an_address_that_does_not_work_is_an_error_with_what_to_do_and_no_password() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let (host, port) = cluster.place();
    let folder = Folder::new();
    let nobody_listens = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let free = nobody_listens.local_addr().unwrap().port();
    drop(nobody_listens);
    for (url, code, what) in [
        (format!("postgres://me:hidden@127.0.0.1:{free}/q"), 1, "check host, port"),
        (cluster.url(OWNER, "hidden", &database.name), 1, "check user and password"),
        (cluster.url(OWNER, "test", "not_there"), 1, "no such database"),
        (format!("postgress://me:hidden@{host}:{port}/q"), 2, "use sqlite:PATH, postgres://"),
        (format!("postgres://me:hidden@{host}:65536/q"), 2, "port"),
        (format!("postgres://me:hidden@{host}:{port}/q?sslmod=disable"), 2, "sslmod"),
    ] {
        for verb in [&["serve"][..], &["queue", "ls"], &["migrate"], &["import"]] {
            let mut arguments = [verb, &["--store", &url]].concat();
            if verb == ["serve"] {
                arguments.extend(["--sqs", "off", "--beanstalkd", "127.0.0.1:0"]);
                arguments.extend(["--admin", "off"]);
            }
            let text = refused(&folder.run(&arguments), code);
            assert!(text.contains(what), "{verb:?}: {what:?} is not in: {text}");
        }
    }
    let without = cluster.url(OWNER, "", &database.name).replacen(":@", "@", 1);
    let mut list = folder.command(&["queue", "ls", "--store", &without]);
    let done = list.env("PGPASSWORD", "test").output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[tokio::test]
async fn a_database_of_another_cluster_is_taken_into_use_by_import_and_not_by_chance() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let store = url(cluster, &database);
    let folder = Folder::new();
    folder.run(&["queue", "create", "kept", "--store", &store]).ok();
    folder.run(&["send", "kept", "before", "--store", &store]).ok();
    let client = cluster.client(&database).await;
    run(&client, "UPDATE slipring.store SET system_identifier = 1").await;
    let mut serve = vec!["serve", "--store", &store, "--sqs", "off", "--admin", "off"];
    serve.extend(["--beanstalkd", "127.0.0.1:0"]);
    for verb in [&serve[..], &["send", "kept", "lost?", "--store", &store]] {
        let done = folder.run(verb);
        assert!(refused(&done, 1).contains("slipring import"), "{}", done.stderr());
    }
    let done = folder.run(&["import", "--store", &store, "--audit-file", "acts"]).ok();
    assert!(done.starts_with("1 queues are ready for use; "), "{done}");
    let acts = std::fs::read_to_string(folder.path().join("acts")).unwrap();
    let mut acts = acts.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    assert_eq!(acts.next().unwrap()["outcome"], "started");
    let act = acts.next().unwrap();
    assert_eq!((&act["act"], &act["outcome"]), (&json!("import"), &json!("done")));
    let place = act["store"].as_str().unwrap();
    assert!(place.contains(&database.name) && !place.contains(":test@"), "{place}");
    folder.run(&["send", "kept", "after", "--store", &store]).ok();
    let received = ["receive", "kept", "--max", "10", "--ack", "--json", "--store", &store];
    let received = folder.run(&received).json();
    let bodies = received["deliveries"].as_array().unwrap().iter().map(|one| one["body"].clone());
    assert_eq!(bodies.collect::<Vec<_>>(), ["before", "after"]);
}

#[tokio::test]
async fn readiness_tells_the_truth_while_the_database_is_away_and_when_it_is_back() {
    let cluster = Cluster::own();
    let database = cluster.empty().await;
    let folder = Folder::new();
    let server = folder.serve(&["--store", &url(&cluster, &database)]);
    let admin = server.admin();
    let mut client = server.client();
    assert!(client.ask("put 0 0 60 1\r\na\r\n").starts_with("INSERTED "));

    // As a standby is, or a disk that is full.
    let superuser = cluster.superuser("postgres").await;
    let name = &database.name;
    let all = "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = $1";
    run(&superuser, &format!("ALTER DATABASE {name} SET default_transaction_read_only TO on"))
        .await;
    superuser.query(all, &[name]).await.unwrap();
    until("it is not ready", || get(&admin, "/readyz").0 == 503);
    let (_, told) = get(&admin, "/readyz");
    assert!(told.to_string().contains("read-only"), "{told}");
    assert_eq!(get(&admin, "/healthz").0, 200, "the process itself is well");
    // Refused, and the connection stays usable.
    assert_eq!(client.ask("put 0 0 60 1\r\nx\r\n"), "OUT_OF_MEMORY");
    run(&superuser, &format!("ALTER DATABASE {name} RESET default_transaction_read_only")).await;
    superuser.query(all, &[name]).await.unwrap();
    until("it is ready again", || get(&admin, "/readyz").0 == 200);
    assert!(client.ask("put 0 0 60 1\r\nb\r\n").starts_with("INSERTED "));

    // Killed, and started again.
    cluster.crash();
    until("it is ready again", || get(&admin, "/readyz").0 == 200);
    assert!(client.ask("put 0 0 60 1\r\nc\r\n").starts_with("INSERTED "));
    for body in ["a", "b", "c"] {
        assert!(client.ask("reserve-with-timeout 5\r\n").starts_with("RESERVED "));
        assert_eq!(client.line(), body);
    }
    server.stop();
}
