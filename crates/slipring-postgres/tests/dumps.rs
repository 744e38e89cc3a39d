//! `pg_dump` alone makes a backup of a store whose tables are emptied all the time: what was there
//! before and after is in the dump, once, and nothing that was acked before (S2.1, S4.1).
//!
//! `SLIPRING_DUMPS=200 cargo test -p slipring-postgres --test dumps` makes as many dumps.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::collections::HashSet;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use slipring::lifecycle::Settlement;
use slipring::store::Store;
use slipring::{AdminStore, MessageState, QueueId};
use slipring_conformance::verbs::{
    ack_all, at, bodies, claim, counts, drain, peek, plain, queue, send, settle,
};
use slipring_postgres::{PostgresOptions, PostgresStore, import};
use slipring_testbed::server::programs;
use slipring_testbed::{Cluster, Database, one, run};

const DUMPS: u64 = 5;

/// How many dumps to make: more than a test usually has time for, if asked.
fn dumps() -> u64 {
    std::env::var("SLIPRING_DUMPS").ok().and_then(|n| n.parse().ok()).unwrap_or(DUMPS)
}

/// What is known of the messages of the busy queue.
#[derive(Debug, Default)]
struct Known {
    sent: HashSet<String>,
    /// Their ack was begun.
    perhaps_acked: HashSet<String>,
    acked: HashSet<String>,
}

/// Sends, receives, acks and nacks, and empties tables whenever they can be, until it is stopped.
async fn traffic(
    store: Arc<PostgresStore>,
    busy: QueueId,
    known: Arc<Mutex<Known>>,
    stop: Arc<AtomicBool>,
    rounds: Arc<AtomicU64>,
) {
    let mut n = 0;
    while !stop.load(Ordering::Relaxed) {
        let texts: Vec<String> = (0..5)
            .map(|_| {
                n += 1;
                n.to_string()
            })
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        send(&store, busy, &texts).await;
        known.lock().sent.extend(texts.iter().map(|text| (*text).to_owned()));
        let held = claim(&store, busy, 6, at(0)).await;
        let (failed, done) = held.split_at(held.len() / 3);
        for held in failed {
            let delay = Some(std::time::Duration::ZERO);
            let nack = Settlement::Nack { delay, priority: None, reason: None };
            settle(&store, busy, held, nack, at(0)).await.unwrap();
        }
        known.lock().perhaps_acked.extend(bodies(done));
        ack_all(&store, busy, done, at(0)).await;
        known.lock().acked.extend(bodies(done));
        store.prune(at(rounds.fetch_add(1, Ordering::Relaxed))).await.unwrap();
    }
}

/// Messages that nobody touches, in every state: 3 ready, 2 delayed, 2 leased, 1 parked.
async fn keep(store: &Arc<PostgresStore>) -> QueueId {
    let kept = queue(store, "kept", &Default::default()).await;
    send(store, kept, &["parked", "d1", "d2", "l1", "l2"]).await;
    let held = claim(store, kept, 5, at(0)).await;
    settle(store, kept, &held[0], Settlement::Park { priority: None }, at(0)).await.unwrap();
    for held in &held[1..3] {
        let delay = Some(std::time::Duration::from_secs(1_000_000));
        let nack = Settlement::Nack { delay, priority: None, reason: None };
        settle(store, kept, held, nack, at(0)).await.unwrap();
    }
    for text in ["r1", "r2", "r3"] {
        send(store, kept, &[text]).await;
    }
    kept
}

/// Whether there is what these tests need; where there is not, it says so.
fn has_pg_dump() -> bool {
    let there = programs().join("pg_dump").exists();
    if !there {
        let why = "SKIPPED dumps: this package of PostgreSQL has no pg_dump";
        let _ = writeln!(std::io::stderr(), "{why}");
    }
    there
}

/// Dumps a database and restores the dump, in the same cluster.
async fn copy(cluster: &Cluster, database: &Database, nth: u64) -> Database {
    let restored = cluster.empty().await;
    let there = "-h \"$dir\" -p \"$port\" -U postgres";
    let script = format!(
        "\"$bin/pg_dump\" -Fc {there} -f \"$dir/dump\" {}\n\
         touch \"$dir/dumped\"",
        database.name
    );
    tokio::task::block_in_place(|| cluster.run(&format!("dump_{nth}"), &script));
    let script =
        format!("\"$bin/pg_restore\" --exit-on-error {there} -d {} \"$dir/dump\"", restored.name);
    tokio::task::block_in_place(|| cluster.run(&format!("restore_{nth}"), &script));
    restored
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dump_beside_running_rotations_has_everything_once() {
    dumps_beside_rotations(256, "generation_1").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dump_of_queues_that_share_tables_has_everything_once() {
    dumps_beside_rotations(0, "place_generation_1").await;
}

/// Dumps beside traffic of queues of which so many have tables of their own; `messages`: the
/// generation of their tables.
async fn dumps_beside_rotations(own_tables_max: u32, messages: &str) {
    if !has_pg_dump() {
        return;
    }
    let cluster = Cluster::own();
    let database = cluster.database().await;
    let store = cluster.rotating_store(&database, 1).await;
    let owner = cluster.client(&database).await;
    run(&owner, &format!("UPDATE slipring.store SET own_tables_max = {own_tables_max}")).await;
    let (busy, kept) = (plain(&store).await, keep(&store).await);
    let known = Arc::new(Mutex::new(Known::default()));
    let (stop, rounds) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
    let running = tokio::spawn(traffic(
        Arc::clone(&store),
        busy,
        Arc::clone(&known),
        Arc::clone(&stop),
        Arc::clone(&rounds),
    ));
    for nth in 0..dumps() {
        let (sent, acked) = {
            let known = known.lock();
            (known.sent.clone(), known.acked.clone())
        };
        let copied = copy(&cluster, &database, nth).await;
        let perhaps_acked = known.lock().perhaps_acked.clone();
        let imported = import(&copied.address, PostgresOptions::default()).await.unwrap();
        assert_eq!(imported.queues, 2);
        let restored = cluster.rotating_store(&copied, 1).await;
        assert_eq!(counts(&restored, kept).await, [3, 2, 2, 1], "dump {nth}");
        assert_eq!(peek(&restored, kept, MessageState::Parked).await, ["parked"]);
        send(&restored, kept, &["new"]).await;
        assert_eq!(drain(&restored, kept).await, ["r1", "r2", "r3", "new"], "dump {nth}");
        let late = at(3_000_000);
        restored.due(late).await.unwrap();
        restored.expire(late).await.unwrap();
        let mut back = drain(&restored, kept).await;
        back.sort();
        assert_eq!(back, ["d1", "d2", "l1", "l2"], "dump {nth}");
        let came = drain(&restored, busy).await;
        let once: HashSet<String> = came.iter().cloned().collect();
        assert_eq!(once.len(), came.len(), "dump {nth}: a message came twice");
        let again: Vec<_> = once.intersection(&acked).collect();
        assert!(again.is_empty(), "dump {nth}: acked before, and there again: {again:?}");
        let lost: Vec<_> = sent.iter().filter(|text| !perhaps_acked.contains(*text)).collect();
        let lost: Vec<_> = lost.into_iter().filter(|text| !once.contains(*text)).collect();
        assert!(lost.is_empty(), "dump {nth}: not acked, and not there: {lost:?}");
        restored.close().await.unwrap();
        let admin = cluster.superuser("postgres").await;
        run(&admin, &format!("DROP DATABASE {} WITH (FORCE)", copied.name)).await;
    }
    stop.store(true, Ordering::Relaxed);
    running.await.unwrap();
    // Whatever state they are in, rows that the store has written are right.
    for queue in ["plain", "kept"] {
        assert_eq!(one(&owner, &format!("SELECT slipring.set_aside('{queue}')")).await, 0);
    }
    for generation in ["journal", "shelf", messages] {
        let moved = one(&owner, &format!("SELECT last_value FROM slipring.{generation}")).await;
        assert!(moved > 2, "{generation} has rotated {moved} times only");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rights_in_a_queue_are_those_of_the_roles_of_the_same_names_after_an_import() {
    if !has_pg_dump() {
        return;
    }
    let cluster = Cluster::own();
    let database = cluster.database().await;
    let admin = cluster.superuser(&database.name).await;
    run(&admin, "CREATE ROLE stays; CREATE ROLE goes; CREATE ROLE old").await;
    let owner = cluster.client(&database).await;
    run(&owner, "SELECT slipring.create_queue('mine'), slipring.create_queue('other')").await;
    for role in ["stays", "goes", "old"] {
        run(&owner, &format!("SELECT slipring.grant('consumer', '{role}', 'mine')")).await;
    }
    // An import that is not needed changes nothing.
    run(&admin, "ALTER ROLE goes RENAME TO went").await;
    import(&database.address, PostgresOptions::default()).await.unwrap();
    let kept = "SELECT count(*) FROM slipring.grantee WHERE role = 'went'";
    assert_eq!(one(&owner, kept).await, 1);
    run(&admin, "ALTER ROLE went RENAME TO goes").await;
    run(&owner, "SELECT slipring.grant('consumer', 'goes', 'mine')").await;
    // Nothing was granted between this and the dump, so that the row has the older name.
    run(&admin, "ALTER ROLE old RENAME TO newer; CREATE ROLE old").await;
    let copied = copy(&cluster, &database, 0).await;
    // As in another cluster: the OIDs of the dump are of no role, or of another one.
    let moved = cluster.superuser(&copied.name).await;
    let swap = "UPDATE slipring.grantee SET role_id = CASE role
                    WHEN 'goes' THEN 'stays'::regrole::oid WHEN 'stays' THEN 4000000000
                    ELSE role_id END
                WHERE queue_id > 0;
                DROP OWNED BY goes";
    run(&moved, swap).await;
    let give = "SELECT slipring.grant('consumer', 'goes', 'other')";
    let before = moved.batch_execute(give).await.unwrap_err();
    assert_eq!(before.code().map(|code| code.code()), Some("SR010"), "{before}");
    import(&copied.address, PostgresOptions::default()).await.unwrap();
    let may = async |role: &str| {
        let sql = format!("SET SESSION AUTHORIZATION {role}; SELECT slipring.ready('mine')");
        let may = moved.batch_execute(&sql).await.is_ok();
        run(&moved, "RESET SESSION AUTHORIZATION").await;
        may
    };
    assert_eq!((may("stays").await, may("goes").await, may("old").await), (true, false, false));
    let rows = "SELECT count(*) FROM slipring.grantee WHERE queue_id > 0";
    assert_eq!(one(&moved, rows).await, 1, "rows of which nothing is certain are gone");
    run(&moved, "SELECT slipring.grant('consumer', 'newer', 'mine')").await;
    assert!(may("newer").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_handed_out_after_an_import_is_known_where_receives_were_the_last_to_write() {
    if !has_pg_dump() {
        return;
    }
    let cluster = Cluster::own();
    let database = cluster.database().await;
    let owner = cluster.client(&database).await;
    run(&owner, "SELECT slipring.create_queue('jobs')").await;
    run(&owner, "SELECT slipring.send_batch('jobs', array_fill('m'::text, ARRAY[100]))").await;
    // As if a million transactions had come between the last send and the receives.
    run(
        &owner,
        "UPDATE slipring.store SET xid_base = xid_base + 1000000;
         UPDATE slipring.queue SET xid_base = xid_base + 1000000",
    )
    .await;
    let noted = "SELECT count(*) FROM slipring.state WHERE taken IS NOT NULL";
    let mut handed = 0;
    while one(&owner, noted).await == 0 {
        handed += 1;
        run(&owner, "SELECT FROM slipring.receive('jobs', 1, '1 hour')").await;
    }
    let copied = copy(&cluster, &database, 0).await;
    import(&copied.address, PostgresOptions::default()).await.unwrap();
    let moved = cluster.client(&copied).await;
    let mut ids = HashSet::new();
    for nth in handed..100 {
        let receive = "SELECT id FROM slipring.receive('jobs', 1, '1 hour')";
        assert!(ids.insert(one(&moved, receive).await), "message {nth} was handed out twice");
    }
    let left = "SELECT count(*) FROM slipring.receive('jobs', 10)";
    assert_eq!(one(&moved, left).await, 0);
}
