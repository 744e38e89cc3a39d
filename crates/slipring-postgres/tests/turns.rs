//! Whoever holds the lock of a queue holds up that queue only: background work has one queue at a
//! time and passes over those that somebody else has, and a call waits for no queue while it holds
//! another (S5.6).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use slipring::admin::AdminStore;
use slipring::store::{Pass, Store};
use slipring::{QueueId, QueueSettings, Timestamp};
use slipring_conformance::verbs::{at, claim, counts, handed, queue, send};
use slipring_postgres::PostgresStore;
use slipring_testbed::{
    Cluster, Database, OWNER, SOON, database_now, locked, one, rotate, rotation_step_after, run,
    soon, waiting,
};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, NoTls};

const MINUTE: Duration = Duration::from_secs(60);
/// How many queues have been copied by the first rotation of the journal.
const COPIED: &str = "SELECT count(*) FROM slipring.queue q CROSS JOIN LATERAL (
    SELECT s.journal FROM slipring.state s WHERE s.queue_id = q.queue_id
    ORDER BY s.seq DESC LIMIT 1) s WHERE s.journal > 0";

/// Queues with a message that is delayed, one that is leased, and one that is ready.
struct Ground {
    cluster: &'static Cluster,
    database: Database,
    store: Arc<PostgresStore>,
    queues: Vec<QueueId>,
    client: Client,
}

impl Ground {
    async fn with(queues: usize) -> Ground {
        let cluster = Cluster::shared();
        let (database, store, client) = cluster.opened().await;
        let mut ground = Ground { cluster, database, store, queues: vec![], client };
        for n in 0..queues {
            let name = format!("q{n}");
            let q = queue(&ground.store, &name, &QueueSettings::default()).await;
            ground.queues.push(q);
            send(&ground.store, q, &["leased"]).await;
            assert_eq!(claim(&ground.store, q, 1, at(0)).await.len(), 1);
            let sent = format!("SELECT slipring.send('{name}', 'delayed'::text, delay => '1 s')");
            run(&ground.client, &sent).await;
            send(&ground.store, q, &["ready"]).await;
        }
        ground
    }

    /// How many queues' locks other transactions have now.
    async fn held(&self) -> i64 {
        let free = "SELECT count(*) FILTER (WHERE slipring.queue_free(q.queue_id))
            FROM slipring.queue q";
        self.queues.len() as i64 - one(&self.client, free).await
    }
}

/// Later than everything that is due or lapses by the clock of the database.
async fn late(ground: &Ground) -> Timestamp {
    database_now(&ground.client).await.after(60 * MINUTE)
}

fn ready_in(pass: &Pass) -> Vec<QueueId> {
    let mut queues: Vec<QueueId> = pass.ready.iter().map(|(queue, _)| *queue).collect();
    queues.sort();
    queues
}

#[tokio::test]
async fn an_idle_consumer_keeps_no_queue_from_what_is_due_or_lapses() {
    let ground = Ground::with(3).await;
    let consumer = ground.cluster.begin(&ground.database, "READ COMMITTED").await;
    let sql = "SELECT count(*) FROM slipring.receive('q2')";
    assert_eq!(one(&consumer, sql).await, 1);
    let now = late(&ground).await;
    let due = soon("the pass over delays", ground.store.due(now)).await.unwrap();
    assert_eq!(ready_in(&due), ground.queues);
    let lapsed = soon("the pass over leases", ground.store.expire(now)).await.unwrap();
    assert_eq!(ready_in(&lapsed), ground.queues);
    let last = ground.queues[2];
    assert_eq!(soon("a receive", claim(&ground.store, last, 9, now)).await.len(), 2);
    run(&consumer, "ROLLBACK").await;
    assert_eq!(claim(&ground.store, last, 9, now).await.len(), 1);
}

#[tokio::test]
async fn who_keeps_a_queue_s_lock_keeps_no_other_queue_from_what_is_due_or_lapses() {
    let ground = Ground::with(3).await;
    let last = ground.queues[2];
    let holder = ground.cluster.holder(&ground.database, last).await;
    let now = late(&ground).await;
    let due = soon("the pass over delays", ground.store.due(now)).await.unwrap();
    assert_eq!(ready_in(&due), ground.queues[..2]);
    let lapsed = soon("the pass over leases", ground.store.expire(now)).await.unwrap();
    assert_eq!(ready_in(&lapsed), ground.queues[..2]);
    for q in &ground.queues[..2] {
        assert_eq!(counts(&ground.store, *q).await, [3, 0, 0, 0]);
        assert_eq!(soon("a receive", claim(&ground.store, *q, 3, now)).await.len(), 3);
    }
    assert!(due.next.is_some_and(|next| next > now), "the queue that is held is not forgotten");
    run(&holder, "ROLLBACK").await;
    let due = ground.store.due_in(last, now).await.unwrap();
    let lapsed = ground.store.expire_in(last, now).await.unwrap();
    assert_eq!((ready_in(&due), ready_in(&lapsed)), (vec![last], vec![last]));
}

#[tokio::test]
async fn a_rotation_passes_over_the_queue_that_somebody_holds() {
    let ground = Ground::with(4).await;
    let holder = ground.cluster.holder(&ground.database, ground.queues[1]).await;
    // Other tests' transactions may have to end first.
    let copied = async |queues| {
        while one(&ground.client, COPIED).await < queues {
            for part in ["journal", "shelf", "queues"] {
                rotate(&ground.client, part, at(1), "COMMIT").await;
            }
        }
    };
    soon("the rotation", copied(3)).await;
    assert_eq!(one(&ground.client, COPIED).await, 3);
    run(&holder, "COMMIT").await;
    soon("the rest of the rotation", copied(4)).await;
}

#[tokio::test]
async fn a_step_of_the_rotation_tries_a_queue_however_long_the_look_for_it_took() {
    let ground = Ground::with(3).await;
    // As where a look at thousands of queues takes all of the turn.
    let over = "CREATE OR REPLACE
        FUNCTION slipring.turn_over(p_began timestamptz, p_bytes bigint DEFAULT 0)
        RETURNS boolean LANGUAGE sql VOLATILE AS 'SELECT true'";
    run(&ground.client, over).await;
    let moved = "SELECT count(*) FROM slipring.queue q
        WHERE pg_sequence_last_value(q.generation) > 0";
    let mut after = 0;
    let all = async {
        while one(&ground.client, moved).await < 3 {
            run(&ground.client, "BEGIN").await;
            let step = rotation_step_after(&ground.client, "queues", at(1), after).await;
            run(&ground.client, "COMMIT").await;
            after = step.1.unwrap_or(0);
        }
    };
    soon("the rotation", all).await;
}

#[tokio::test]
async fn a_lease_that_is_larger_than_a_turn_lapses_whole() {
    let ground = Ground::with(0).await;
    let q = queue(&ground.store, "large", &QueueSettings::default()).await;
    let send = "SELECT slipring.send_batch('large', array_fill(repeat('x', 1048576), ARRAY[9]))";
    run(&ground.client, send).await;
    assert_eq!(claim(&ground.store, q, 9, at(0)).await.len(), 9);
    let now = late(&ground).await;
    let lapsed = async {
        while ground.store.expire_in(q, now).await.unwrap().next.is_some_and(|next| next <= now) {}
    };
    soon("the lapse", lapsed).await;
    assert_eq!(counts(&ground.store, q).await, [9, 0, 0, 0]);
}

/// What of each queue is in a slot of the shelf: pictures, and the bytes of their messages.
async fn shelved(client: &Client, slot: i64) -> Vec<(i32, i64, i64)> {
    let sql = format!(
        "SELECT queue_id, count(*), sum(bytes)::int8 FROM slipring.item_picture
         WHERE slot = {slot} GROUP BY queue_id ORDER BY queue_id"
    );
    let rows = client.query(&sql, &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect()
}

#[tokio::test]
async fn the_shelf_is_copied_in_small_parts_of_one_queue() {
    let ground = Ground::with(2).await;
    let send = |bytes, count| {
        format!(
            "SELECT slipring.send_batch('q0', array_fill(repeat('x', {bytes}), ARRAY[{count}]),
                 delay => '1 hour')"
        )
    };
    run(&ground.client, &send(100, 600)).await;
    run(&ground.client, &send(1 << 20, 9)).await;
    let slot = "SELECT pg_sequence_last_value('slipring.shelf') % 3";
    let before = one(&ground.client, slot).await;
    let copied = async {
        // Other tests' transactions may have to end first.
        while !shelved(&ground.client, before).await.is_empty() {
            let now = one(&ground.client, slot).await;
            let old = shelved(&ground.client, now).await;
            rotate(&ground.client, "shelf", at(1), "COMMIT").await;
            let new = shelved(&ground.client, now).await;
            let changed: Vec<_> = new.iter().filter(|part| !old.contains(part)).collect();
            if now == before {
                continue;
            }
            assert!(changed.len() <= 1, "{old:?} and then {new:?}");
            for (queue, count, bytes) in changed {
                let old = old.iter().find(|part| part.0 == *queue);
                let (counted, sum) = old.map_or((0, 0), |part| (part.1, part.2));
                assert!(count - counted <= 250, "{counted} and then {count}");
                assert!(bytes - sum <= 5 << 20, "{sum} bytes and then {bytes}");
            }
        }
    };
    tokio::time::timeout(4 * SOON, copied).await.expect("the shelf is copied");
    let all: i64 = shelved(&ground.client, one(&ground.client, slot).await).await[0].1;
    assert!(all >= 610, "{all} pictures");
}

#[tokio::test]
async fn who_settles_in_several_queues_waits_for_one_and_holds_none() {
    let ground = Ground::with(3).await;
    let mut receipts = Vec::new();
    for n in 0..3 {
        let sql = format!("SELECT receipt FROM slipring.receive('q{n}')");
        receipts.push(ground.client.query_one(&sql, &[]).await.unwrap().get::<_, String>(0));
    }
    let holder = ground.cluster.holder(&ground.database, ground.queues[1]).await;
    let user = ground.cluster.client(&ground.database).await;
    let nacked = tokio::spawn(async move {
        let sql = "SELECT slipring.nack($1::text[])";
        user.query_one(sql, &[&receipts]).await.unwrap().get::<_, Vec<String>>(0)
    });
    waiting(&ground.client, "relation", 1).await;
    assert_eq!(ground.held().await, 1, "only the one that is waited for");
    run(&holder, "COMMIT").await;
    assert_eq!(soon("the nack", nacked).await.unwrap(), ["ready"; 3]);
}

#[tokio::test]
async fn heads_are_answered_though_somebody_holds_the_queues() {
    let mut ground = Ground::with(1).await;
    let fifo = QueueSettings { fifo: true, ..QueueSettings::default() };
    let fifo = queue(&ground.store, "fifo", &fifo).await;
    ground.queues.push(fifo);
    run(&ground.client, "SELECT slipring.send('fifo', 'a'::text, \"group\" => 'g')").await;
    let _holders = (
        ground.cluster.holder(&ground.database, ground.queues[0]).await,
        ground.cluster.holder(&ground.database, fifo).await,
    );
    let heads = soon("a look", ground.store.heads(&ground.queues, at(1))).await.unwrap();
    assert!(heads.iter().all(Option::is_some), "{heads:?}");
}

/// Has a queue's lock for a tenth of a second again and again, until `stop`, and counts how often.
async fn works_by_sql(client: Client, turns: Arc<AtomicU64>, stop: Arc<AtomicBool>) {
    while !stop.load(Ordering::Relaxed) {
        run(&client, "BEGIN").await;
        let lock = "SELECT slipring.queue_lock(queue_id) FROM slipring.queue WHERE name = 'q0'";
        run(&client, lock).await;
        run(&client, "SELECT pg_sleep(0.1)").await;
        run(&client, "COMMIT").await;
        turns.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn a_lock_that_is_never_free_is_had_in_turn() {
    // So many turns of others pass by before a call has had its own.
    const TURNS_MAX: u64 = 60;
    let ground = Ground::with(1).await;
    let limited = QueueSettings { messages_max: Some(100), ..QueueSettings::default() };
    ground.store.configure(ground.queues[0], &limited, at(0)).await.unwrap();
    let (turns, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let mut workers = Vec::new();
    for _ in 0..3 {
        let client = ground.cluster.client(&ground.database).await;
        workers.push(tokio::spawn(works_by_sql(client, Arc::clone(&turns), Arc::clone(&stop))));
    }
    waiting(&ground.client, "relation", 2).await;
    let begun = turns.load(Ordering::Relaxed);
    soon("a receive", claim(&ground.store, ground.queues[0], 1, at(1))).await;
    let received = turns.load(Ordering::Relaxed);
    // A limit is looked at under the lock.
    soon("a send", send(&ground.store, ground.queues[0], &["limited"])).await;
    let sent = turns.load(Ordering::Relaxed);
    let now = late(&ground).await;
    let lapse = async {
        while ground.store.expire_in(ground.queues[0], now).await.unwrap().ready.is_empty() {}
    };
    soon("a lapse", lapse).await;
    let lapsed = turns.load(Ordering::Relaxed);
    stop.store(true, Ordering::Relaxed);
    for worker in workers {
        worker.await.unwrap();
    }
    assert!(received - begun < TURNS_MAX, "{} turns before a receive", received - begun);
    assert!(sent - received < TURNS_MAX, "{} turns before a send", sent - received);
    assert!(lapsed - sent < TURNS_MAX, "{} turns before a lapse", lapsed - sent);
}

/// A server's receive of 60 messages, by a connection that is never read after it has begun.
async fn claim_unread(url: &str, q: QueueId) -> impl Sized {
    let (client, mut connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    let number = i32::try_from(q.0).unwrap();
    let begun = async {
        let sql = include_str!("../queries/claim.sql");
        let claim = client.prepare_typed(sql, &[Type::INT4]).await.unwrap();
        let (up_to, leases, sessions) = (vec![60_i32], vec![60_000_i64], vec![false]);
        let values: [&(dyn ToSql + Sync); 8] =
            [&number, &1_i64, &up_to, &leases, &sessions, &1_i64, &1_000_i32, &0_i64];
        client.query_raw(&claim, values).await.unwrap()
    };
    let rows = tokio::select! {
        rows = begun => rows,
        _ = &mut connection => panic!("the connection ended"),
    };
    (rows, client, connection)
}

#[tokio::test]
async fn a_server_that_reads_no_answer_keeps_a_queue_for_seconds() {
    let cluster = Cluster::shared();
    let (database, store, client) = cluster.opened().await;
    let q = queue(&store, "q", &QueueSettings::default()).await;
    // More than the buffers of a connection have room for.
    let large = "x".repeat(256 << 10);
    let texts = [large.as_str(); 64];
    send(&store, q, &texts).await;
    let url = cluster.url(OWNER, "test", &database.name);
    let unread = claim_unread(&url, q).await;
    waiting(&client, "ClientWrite", 1).await;
    soon("a receive", handed(&store, q, 1, at(1))).await;
    // What the other was handed is ready, for it got none of it.
    assert_eq!(counts(&store, q).await, [63, 0, 1, 0]);
    drop(unread);
}

#[tokio::test]
async fn many_queues_that_are_held_leave_connections_to_sends_and_to_other_queues() {
    // More than a store has connections.
    const HELD: usize = 24;
    let ground = Ground::with(HELD + 1).await;
    let mut holders = Vec::new();
    for q in &ground.queues[..HELD] {
        holders.push(ground.cluster.holder(&ground.database, *q).await);
    }
    let mut calls = Vec::new();
    for q in &ground.queues[..HELD] {
        let (store, q) = (Arc::clone(&ground.store), *q);
        calls.push(tokio::spawn(async move { handed(&store, q, 1, at(1)).await }));
    }
    locked(&ground.client, 3).await;
    let free = ground.queues[HELD];
    for _ in 0..10 {
        soon("a send", send(&ground.store, free, &["a"])).await;
        assert_eq!(soon("a receive", claim(&ground.store, free, 1, at(1))).await.len(), 1);
    }
    for holder in &holders {
        run(holder, "COMMIT").await;
    }
    for call in calls {
        soon("a receive", call).await.unwrap();
    }
}
