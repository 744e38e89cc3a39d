//! What happens to the database as a whole: a standby that takes over, a dump restored elsewhere,
//! a disk without room, connections that must be encrypted.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use slipring::lifecycle::Settlement;
use slipring::store::Store;
use slipring::{
    AdminStore, Error, ErrorKind, MessageState, NewMessage, QueueId, QueueSettings, Retry,
};
use slipring_conformance::verbs::{
    ack_all, at, bodies, claim, counts, drain, peek, plain, queue, send, settle, try_send,
};
use slipring_postgres::{Address, PostgresOptions, PostgresStore, import};
use slipring_testbed::server::{free_port, programs};
use slipring_testbed::{Cluster, Database, OWNER, run};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

const PATIENCE: Duration = Duration::from_secs(60);

async fn open(url: &str) -> Result<Arc<PostgresStore>, Error> {
    let address: Address = url.parse().expect("the address can be read");
    PostgresStore::open(&address, PostgresOptions::default()).await
}

/// What opening an address fails with; `StorageUnavailable`, and it says `what`.
async fn refused(url: &str, what: &str) {
    let error = open(url).await.map(drop).expect_err("it is refused");
    assert_eq!(error.kind(), ErrorKind::StorageUnavailable, "{error}");
    assert!(format!("{error} {error:?}").contains(what), "{what:?} is not in: {error:?}");
}

/// Says why a test was left out, also where the output of those that pass is not shown.
fn skipped(why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED {why}");
}

const MAKE_STANDBY: &str = r#"
"$bin/pg_ctl" -D "$dir/data" -w -m fast stop
cp -R "$dir/data" "$dir/standby"
cat >>"$dir/standby/postgresql.conf" <<SETTINGS
port = STANDBY_PORT
primary_conninfo = 'host=$dir port=$port user=postgres'
SETTINGS
touch "$dir/standby/standby.signal"
"$bin/pg_ctl" -D "$dir/data" -w -l "$dir/server.log" start
"$bin/pg_ctl" -D "$dir/standby" -w -l "$dir/standby.log" start
"#;

const FAIL_OVER: &str = r#"
"$bin/pg_ctl" -D "$dir/data" -w -m immediate stop
"$bin/pg_ctl" -D "$dir/standby" -w promote
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_is_refused_until_it_has_become_the_primary() {
    let cluster = Cluster::own();
    let database = cluster.database().await;
    let port = free_port();
    let make = MAKE_STANDBY.replace("STANDBY_PORT", &port.to_string());
    tokio::task::block_in_place(|| cluster.run("make_standby", &make));
    let store = cluster.store(&database).await;
    let q = plain(&store).await;
    send(&store, q, &["a", "b", "c"]).await;
    let held = claim(&store, q, 1, at(0)).await;
    // The next commit that is flushed brings the claim's along.
    send(&store, q, &["d"]).await;
    let url = |user: &str, database: &str| {
        format!("postgres://{user}:test@127.0.0.1:{port}/{database}?sslmode=disable")
    };
    let there = slipring_testbed::connect(&url("postgres", &database.name)).await;
    let primary = cluster.superuser("postgres").await;
    let written = "SELECT (pg_current_wal_flush_lsn() - '0/0')::float8";
    let written: f64 = primary.query_one(written, &[]).await.unwrap().get(0);
    let replayed = "SELECT (pg_last_wal_replay_lsn() - '0/0')::float8";
    let caught_up =
        async { while there.query_one(replayed, &[]).await.unwrap().get::<_, f64>(0) < written {} };
    tokio::time::timeout(PATIENCE, caught_up).await.expect("the standby follows");
    let standby = url(OWNER, &database.name);
    refused(&standby, "standby").await;
    let (host, primary_port) = cluster.place();
    let both = standby
        .replace(&format!("127.0.0.1:{port}"), &format!("127.0.0.1:{port},{host}:{primary_port}"));
    let both = open(&format!("{both}&target_session_attrs=read-write")).await;
    let both = both.expect("of two servers the primary is taken");
    assert_eq!(counts(&both, q).await, [3, 0, 1, 0]);
    tokio::task::block_in_place(|| cluster.run("fail_over", FAIL_OVER));
    let error = try_send(&store, q, vec![NewMessage::new("e")], at(1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageUnavailable);
    assert!(store.check().await.is_err(), "it is told that nobody is there");
    let found = async { while both.check().await.is_err() {} };
    tokio::time::timeout(PATIENCE, found).await.expect("a store that knows both finds the new one");
    assert_eq!(counts(&both, q).await, [3, 0, 1, 0]);
    send(&both, q, &["by both"]).await;
    let store = open(&standby).await.expect("the new primary is taken");
    store.check().await.unwrap();
    assert_eq!(counts(&store, q).await, [4, 0, 1, 0]);
    ack_all(&store, q, &held, at(2)).await;
    send(&store, q, &["e"]).await;
    assert_eq!(drain(&store, q).await, ["b", "c", "d", "by both", "e"]);
}

/// A database with something of everything in it.
struct Full {
    q: QueueId,
    fifo: QueueId,
    held: Vec<slipring::Delivery>,
}

async fn fill(cluster: &Cluster, database: &Database) -> Full {
    let store = cluster.rotating_store(database, 1).await;
    let q = plain(&store).await;
    let fifo = QueueSettings { fifo: true, ..QueueSettings::default() };
    let fifo = queue(&store, "fifo", &fifo).await;
    // Numbers of transactions far above those of a fresh cluster.
    for round in 0..300 {
        send(&store, q, &["done"]).await;
        drain(&store, q).await;
        if round % 30 == 0 {
            store.prune(at(round)).await.unwrap();
        }
    }
    let messages = |texts: &[&str]| -> Vec<NewMessage> {
        texts.iter().map(|text| NewMessage::new(text.to_string()).group("g")).collect()
    };
    let mut list = messages(&["held", "parked", "retried", "ready", "more"]);
    list.push(NewMessage::new("delayed").delay(Duration::from_secs(1000)));
    list.push(NewMessage::new("once").dedup_id("once"));
    list.push(NewMessage::new("urgent").priority(3));
    try_send(&store, q, list, at(0)).await.unwrap();
    try_send(&store, fifo, messages(&["f1", "f2", "f3"]), at(0)).await.unwrap();
    assert_eq!(bodies(&claim(&store, q, 1, at(0)).await), ["urgent"]);
    let mut held = claim(&store, q, 3, at(0)).await;
    let nack =
        Settlement::Nack { delay: Some(Duration::from_secs(500)), priority: None, reason: None };
    settle(&store, q, &held[2], nack, at(1)).await.unwrap();
    settle(&store, q, &held[1], Settlement::Park { priority: None }, at(1)).await.unwrap();
    held.truncate(1);
    held.extend(claim(&store, fifo, 1, at(0)).await);
    // A message of a transaction that never ended, and a generation that was never emptied.
    let open = cluster.begin(database, "READ COMMITTED").await;
    run(&open, "SELECT slipring.send('plain', 'never'::text)").await;
    store.prune(at(100)).await.unwrap();
    store.close().await.unwrap();
    Full { q, fifo, held }
}

/// Programs that not every package of PostgreSQL holds.
fn has_dump() -> bool {
    let there = programs().join("pg_dump").exists();
    if !there {
        skipped("a dump and its restore: this package of PostgreSQL has no pg_dump");
    }
    there
}

/// Who sends to a restored database all the same is told: it would never be received.
async fn refused_until_imported(client: &Client) {
    for call in [
        "SELECT slipring.send('plain', 'lost'::text)",
        "SELECT slipring.send('plain', 'lost'::text, delay => '1 s')",
        "SELECT slipring.send_batch('plain', ARRAY['lost', 'too'])",
        "SELECT * FROM slipring.receive('plain')",
        "SELECT slipring.create_queue('new')",
        "SELECT * FROM slipring.store_expire_in(1, 0)",
        "SELECT slipring.queues_lock(ARRAY[1, 2])",
    ] {
        let error = client.batch_execute(call).await.expect_err(call);
        assert_eq!(error.code().map(SqlState::code), Some("SR010"), "{call}: {error:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dump_restored_into_another_cluster_is_noticed_and_works_once_it_is_imported() {
    if !has_dump() {
        return;
    }
    let (old, new) = (Cluster::own(), Cluster::own());
    let database = old.database().await;
    let full = fill(&old, &database).await;
    // Roles are the cluster's, and have to be there.
    drop(new.database().await);
    let restored = new.empty().await;
    let dump = new.folder().join("dump").display().to_string();
    let script = format!(
        "\"$bin/pg_dump\" -Fc -h \"$dir\" -p \"$port\" -U postgres -f \"$dir/dump\" {}\n\
         cp \"$dir/dump\" '{dump}'",
        database.name
    );
    tokio::task::block_in_place(|| old.run("make_dump", &script));
    let script = format!(
        "\"$bin/pg_restore\" --exit-on-error -h \"$dir\" -p \"$port\" -U postgres -d {} '{dump}'",
        restored.name
    );
    tokio::task::block_in_place(|| new.run("restore_dump", &script));
    let url = new.url(OWNER, "test", &restored.name);
    refused(&url, "slipring import").await;
    refused_until_imported(&new.client(&restored).await).await;
    let done = import(&restored.address, PostgresOptions::default()).await.unwrap();
    assert_eq!(done.queues, 2);
    let store = new.rotating_store(&restored, 1).await;
    let Full { q, fifo, held } = full;
    assert_eq!(counts(&store, q).await, [3, 2, 2, 1]);
    assert_eq!(peek(&store, q, MessageState::Parked).await, ["parked"]);
    // Leases are as good as they were, and so is the window of deduplication.
    ack_all(&store, q, &held[..1], at(10)).await;
    ack_all(&store, fifo, &held[1..], at(10)).await;
    let again = vec![NewMessage::new("again").dedup_id("once")];
    assert!(try_send(&store, q, again, at(10)).await.unwrap()[0].duplicate);
    // What is sent now comes after all that there is, and tables go on rotating.
    for round in 0..30 {
        send(&store, q, &["new"]).await;
        store.prune(at(110 + round)).await.unwrap();
    }
    let mut wanted = vec!["ready", "more", "once"];
    wanted.extend(["new"; 30]);
    assert_eq!(drain(&store, q).await, wanted);
    assert_eq!(drain(&store, fifo).await, ["f2", "f3"]);
    store.expire(at(10_000)).await.unwrap();
    store.due(at(10_000)).await.unwrap();
    assert_eq!(store.kick(q, 10, at(10_000)).await.unwrap(), 1);
    let mut rest = drain(&store, q).await;
    rest.sort();
    assert_eq!(rest, ["delayed", "parked", "retried", "urgent"]);
    let retired = async {
        let rows = "SELECT count(*) FROM slipring.message";
        let client = new.client(&restored).await;
        while client.query_one(rows, &[]).await.unwrap().get::<_, i64>(0) > 0 {
            store.prune(at(20_000)).await.unwrap();
        }
    };
    tokio::time::timeout(PATIENCE, retired).await.expect("tables are emptied");
}

const FILL_DISK: &str = "dd if=/dev/zero of=\"$dir/disk/rest\" bs=64k || true";
const FREE_DISK: &str = "rm \"$dir/disk/rest\"";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_told_loses_nothing_and_is_over_when_there_is_room() {
    // S12.3
    let Some(cluster) = Cluster::with_disk(64) else {
        skipped("a full disk: this system lets nobody but root mount one");
        return;
    };
    let database = cluster.empty().await;
    let admin = cluster.superuser("postgres").await;
    let place = cluster.folder().join("disk").display().to_string();
    run(&admin, &format!("CREATE TABLESPACE small LOCATION '{place}'")).await;
    run(&admin, &format!("ALTER DATABASE {} SET TABLESPACE small", database.name)).await;
    let store = cluster.store(&database).await;
    let q = plain(&store).await;
    let body = |n: usize| format!("{n} {}", pseudo_random(n, 20_000));
    let mut taken = Vec::new();
    for n in 0..20 {
        try_send(&store, q, vec![NewMessage::new(body(n))], at(0)).await.unwrap();
        taken.push(body(n));
    }
    let held = claim(&store, q, 5, at(0)).await;
    tokio::task::block_in_place(|| cluster.run("fill_disk", FILL_DISK));
    // What is allocated already may take some more.
    let mut refusal = None;
    for n in 20..2000 {
        match try_send(&store, q, vec![NewMessage::new(body(n))], at(1)).await {
            Ok(_) => taken.push(body(n)),
            Err(error) => {
                refusal = Some(error);
                break;
            }
        }
    }
    let error = refusal.expect("the disk is full in the end");
    assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
    assert_eq!(error.retry(), Retry::Later, "{error}");
    assert!(error.to_string().contains("free some space"), "{error}");
    assert_eq!(store.check().await.unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(counts(&store, q).await, [taken.len() as u64 - 5, 0, 5, 0], "looks go on");
    tokio::task::block_in_place(|| cluster.run("free_disk", FREE_DISK));
    store.check().await.unwrap();
    ack_all(&store, q, &held, at(2)).await;
    send(&store, q, &["after"]).await;
    taken.push("after".to_owned());
    assert!(drain(&store, q).await == taken[5..], "something is lost, twice, or in disorder");
    assert_eq!(counts(&store, q).await, [0; 4]);
}

/// A text that no compression makes small.
fn pseudo_random(seed: usize, length: usize) -> String {
    let mut state = seed as u64 + 1;
    let next = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        char::from(b' ' + ((state >> 33) % 95) as u8)
    };
    std::iter::repeat_with(next).take(length).collect()
}

const MAKE_CERTIFICATES: &str = r#"
key="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
for name in ca other; do
    openssl req -x509 $key -days 2 -subj "/CN=$name" -keyout "$dir/$name.key" -out "$dir/$name.crt"
done
openssl req $key -subj /CN=localhost -keyout "$dir/data/server.key" -out "$dir/server.csr"
echo "subjectAltName = DNS:localhost" >"$dir/server.ext"
openssl x509 -req -in "$dir/server.csr" -CA "$dir/ca.crt" -CAkey "$dir/ca.key" -CAcreateserial \
    -days 2 -extfile "$dir/server.ext" -out "$dir/data/server.crt"
chmod 600 "$dir/data/server.key"
echo "ssl = on" >>"$dir/data/postgresql.conf"
"$bin/pg_ctl" -D "$dir/data" -w -l "$dir/server.log" restart
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn encryption_checks_the_authority_and_the_host_as_far_as_it_is_told_to() {
    let cluster = Cluster::own();
    let database = cluster.database().await;
    tokio::task::block_in_place(|| cluster.run("make_certificates", MAKE_CERTIFICATES));
    let folder = cluster.folder().display().to_string();
    let (_, port) = cluster.place();
    let url = |host: &str, mode: &str, authority: &str| {
        let root = match authority {
            "" => String::new(),
            name => format!("&sslrootcert={folder}/{name}.crt"),
        };
        let name = &database.name;
        format!("postgres://{OWNER}:test@{host}:{port}/{name}?sslmode={mode}{root}")
    };
    for (host, mode, authority) in [
        ("localhost", "verify-full", "ca"),
        ("localhost", "verify-ca", "ca"),
        ("127.0.0.1", "verify-ca", "ca"),
        ("127.0.0.1", "require", "ca"),
        ("127.0.0.1", "require", ""),
        ("127.0.0.1", "prefer", ""),
    ] {
        let store = open(&url(host, mode, authority)).await;
        let store = store.unwrap_or_else(|error| panic!("{host} {mode} {authority}: {error:?}"));
        let q = plain(&store).await;
        send(&store, q, &[mode]).await;
        assert_eq!(drain(&store, q).await, [mode]);
        let sql = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                   WHERE datname = $1 AND NOT ssl";
        let admin = cluster.superuser("postgres").await;
        let plain = admin.query_one(sql, &[&database.name]).await.unwrap();
        assert_eq!(plain.get::<_, i64>(0), 0, "{mode}: a connection is not encrypted");
    }
    for (host, mode, authority) in [
        ("localhost", "verify-full", "other"),
        ("localhost", "verify-ca", "other"),
        ("localhost", "require", "other"),
        // Nobody whom the system trusts has signed it.
        ("localhost", "verify-full", ""),
    ] {
        refused(&url(host, mode, authority), "certificate").await;
    }
    refused(&url("127.0.0.1", "verify-full", "ca"), "certificate").await;
    refused(&url("localhost", "verify-full", "missing"), "sslrootcert").await;
}
