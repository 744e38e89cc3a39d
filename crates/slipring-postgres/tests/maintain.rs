//! SQL users without a server: `CALL slipring.maintain()` does a server's background work, and
//! `CALL slipring.await()` waits for a message without a lock or a transaction.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use slipring::QueueId;
use slipring_testbed::{Cluster, Database, SOON, locked, one, run, soon};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

struct Ground {
    cluster: &'static Cluster,
    database: Database,
    admin: Client,
    consumer: Client,
}

/// A database on which no server runs, and a session of each of the roles.
async fn ground() -> Ground {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let admin = cluster.superuser(&database.name).await;
    run(&admin, "SET SESSION AUTHORIZATION slipring_admin").await;
    let consumer = cluster.superuser(&database.name).await;
    run(&consumer, "SET SESSION AUTHORIZATION slipring_consumer").await;
    Ground { cluster, database, admin, consumer }
}

impl Ground {
    async fn ready(&self, queue: &str) -> i64 {
        let sql = format!("SELECT ready FROM slipring.stats('{queue}')");
        one(&self.admin, &sql).await
    }

    async fn maintain(&self) {
        soon("maintain", run(&self.admin, "CALL slipring.maintain()")).await;
    }

    /// Maintains until so many messages are ready.
    async fn until_ready(&self, queue: &str, count: i64) {
        let ready = async {
            while self.ready(queue).await != count {
                self.maintain().await;
            }
        };
        soon(&format!("what makes {count} of {queue} ready"), ready).await;
    }
}

#[tokio::test]
async fn delays_and_leases_end_by_sql_alone() {
    // S5.1, S5.2, S6.2
    let g = ground().await;
    run(&g.admin, "SELECT slipring.create_queue('dead')").await;
    let settings = r#"{"max_attempts": 2, "dead_letter": "dead"}"#;
    run(&g.admin, &format!("SELECT slipring.create_queue('jobs', '{settings}')")).await;
    run(&g.admin, "SELECT slipring.send('jobs', 'a'::text, delay => '20 ms')").await;
    g.until_ready("jobs", 1).await;
    for ready in [1, 0] {
        let received = "SELECT count(*) FROM slipring.receive('jobs', 10, '20 ms')";
        assert_eq!(one(&g.consumer, received).await, 1);
        g.until_ready(if ready == 1 { "jobs" } else { "dead" }, 1).await;
    }
    assert_eq!(g.ready("jobs").await, 0);
}

#[tokio::test]
async fn retention_and_rotation_go_on_by_sql_alone() {
    let g = ground().await;
    let settings = r#"{"retention_ms": 1000}"#;
    run(&g.admin, &format!("SELECT slipring.create_queue('short', '{settings}')")).await;
    run(&g.admin, "SELECT slipring.create_queue('jobs')").await;
    run(&g.admin, "SELECT slipring.send('short', 'old'::text)").await;
    // Three generations of messages of one size, all of them received and acked: the first table is
    // written again only if it was emptied.
    let owner = g.cluster.client(&g.database).await;
    let size = "SELECT sum(pg_table_size(c.oid))::int8 FROM pg_class c
        WHERE c.relname LIKE 'message\\_%' AND c.relkind = 'r'";
    let mut most = 0;
    for _ in 0..8 {
        let sent = "SELECT slipring.send_batch('jobs', ARRAY(
            SELECT repeat(md5(n::text), 250) FROM generate_series(1, 2000) n))";
        run(&g.admin, sent).await;
        let acked = "SELECT slipring.ack(ARRAY(
            SELECT receipt FROM slipring.receive('jobs', 10000)))";
        run(&g.admin, acked).await;
        // As if a minute had passed for each generation.
        for (now_s, part) in [(60, "queues"), (60, "queues"), (60, "queues"), (60, "journal")] {
            let step = format!(
                "SELECT slipring.store_rotate('{part}', slipring.now_ms() + {now_s}000, 1, 1)"
            );
            run(&owner, &step).await;
        }
        g.maintain().await;
        most = most.max(one(&owner, size).await);
    }
    assert!(most < 3 * 20_000_000, "{most} bytes of messages, 16 MB a generation");
    g.until_ready("short", 0).await;
}

#[tokio::test]
async fn several_may_maintain_at_a_time_and_nobody_waits_for_a_queue_that_is_held() {
    let g = ground().await;
    for queue in ["held", "free"] {
        run(&g.admin, &format!("SELECT slipring.create_queue('{queue}')")).await;
        for n in 0..50 {
            let sent = format!("SELECT slipring.send('{queue}', '{n}'::text, delay => '1 ms')");
            run(&g.admin, &sent).await;
        }
    }
    let owner = g.cluster.client(&g.database).await;
    let held = one(&owner, "SELECT queue_id::int8 FROM slipring.queue WHERE name = 'held'").await;
    let holder = g.cluster.holder(&g.database, QueueId(held.try_into().unwrap())).await;
    let mut sessions = Vec::new();
    for _ in 0..4 {
        let session = g.cluster.client(&g.database).await;
        sessions.push(tokio::spawn(async move { run(&session, "CALL slipring.maintain()").await }));
    }
    g.until_ready("free", 50).await;
    for session in sessions {
        soon("maintain", session).await.unwrap();
    }
    assert_eq!(g.ready("held").await, 0);
    run(&holder, "COMMIT").await;
    g.until_ready("held", 50).await;
}

/// Has a queue's lock for a tenth of a second again and again, until `stop`.
async fn works(client: Client, stop: Arc<AtomicBool>) {
    while !stop.load(Ordering::Relaxed) {
        let turn = "BEGIN; SELECT slipring.queue_lock(queue_id) FROM slipring.queue
            WHERE name = 'jobs'; SELECT pg_sleep(0.1); COMMIT";
        run(&client, turn).await;
    }
}

#[tokio::test]
async fn a_lease_lapses_in_a_queue_whose_lock_is_never_free() {
    let g = ground().await;
    run(&g.admin, "SELECT slipring.create_queue('jobs')").await;
    run(&g.admin, "SELECT slipring.send('jobs', 'a'::text)").await;
    run(&g.consumer, "SELECT slipring.receive('jobs', 1, '20 ms')").await;
    let owner = g.cluster.client(&g.database).await;
    let stop = Arc::new(AtomicBool::new(false));
    let mut workers = Vec::new();
    for _ in 0..3 {
        let client = g.cluster.client(&g.database).await;
        workers.push(tokio::spawn(works(client, Arc::clone(&stop))));
    }
    locked(&owner, 2).await;
    // It has a long wait in one of four turns of four seconds.
    let lapsed = async {
        while g.ready("jobs").await == 0 {
            g.maintain().await;
        }
    };
    tokio::time::timeout(4 * SOON, lapsed).await.expect("the lease lapses");
    stop.store(true, Ordering::Relaxed);
    for worker in workers {
        worker.await.unwrap();
    }
}

#[tokio::test]
async fn a_call_copies_all_that_waits_on_the_shelf() {
    let g = ground().await;
    let owner = g.cluster.client(&g.database).await;
    run(&g.admin, "SELECT slipring.create_queue('jobs')").await;
    // More than three steps copy, and enough for a rotation.
    let send = "SELECT slipring.send_batch('jobs', ARRAY(
        SELECT repeat(md5(n::text), 40) FROM generate_series(1, 1000) n), delay => '1 day')";
    run(&g.admin, send).await;
    run(&owner, "SELECT setval('slipring.shelf_kept', 0)").await;
    let step = "SELECT slipring.store_rotate('shelf', slipring.now_ms() + 60000, 1, 1)";
    let begun = "SELECT pg_sequence_last_value('slipring.shelf')
        - pg_sequence_last_value('slipring.shelf_low')";
    while one(&owner, begun).await == 0 {
        soon("a step", run(&owner, step)).await;
    }
    let copied = "SELECT count(*) FROM slipring.item_picture
        WHERE slot = pg_sequence_last_value('slipring.shelf') % 3";
    // Transactions of others may be older than the rotation.
    let calls = async {
        while one(&owner, copied).await == 0 {
            g.maintain().await;
        }
    };
    soon("a copy", calls).await;
    assert_eq!(one(&owner, copied).await, 1000);
}

#[tokio::test]
async fn a_step_that_fails_keeps_no_other_from_being_done() {
    let g = ground().await;
    let owner = g.cluster.client(&g.database).await;
    let create = "SELECT slipring.create_queue('q' || n, '{\"retention_ms\": 1}'),
        slipring.send('q' || n, 'a'::text) FROM generate_series(0, 8) n";
    run(&g.admin, create).await;
    // Where steps begin is left to chance: one queue in the middle.
    let lose = "DELETE FROM slipring.state s USING slipring.queue q
        WHERE s.queue_id = q.queue_id AND q.name = 'q4'";
    run(&owner, lose).await;
    let maintain = g.admin.batch_execute("CALL slipring.maintain()");
    let error = soon("maintain", maintain).await.unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE), "{error}");
    for n in [0, 1, 2, 3, 5, 6, 7, 8] {
        assert_eq!(g.ready(&format!("q{n}")).await, 0, "q{n}");
    }
}

/// Many queues whose lock others hold may use up the time of each call.
#[tokio::test]
async fn what_is_due_comes_not_always_before_rotation_and_retention() {
    let g = ground().await;
    run(&g.admin, "SELECT slipring.create_queue('jobs', '{\"retention_ms\": 60000}')").await;
    run(&g.admin, "SELECT slipring.send('jobs', 'a'::text, delay => '1 ms')").await;
    let first = "SELECT step FROM slipring.maintenance() LIMIT 1";
    let all = async {
        let (mut due, mut retention, mut others) = (false, false, false);
        while !(due && retention && others) {
            let step: String = g.admin.query_one(first, &[]).await.unwrap().get(0);
            match step.as_str() {
                "due" => due = true,
                "retention" => retention = true,
                _ => others = true,
            }
        }
    };
    soon("each kind of work comes first", all).await;
}

#[tokio::test]
async fn a_wait_ends_with_a_message_or_its_time_and_holds_nothing() {
    // S5.4
    let g = ground().await;
    for (queue, settings) in [("plain", "{}"), ("fifo", r#"{"fifo": true}"#)] {
        run(&g.admin, &format!("SELECT slipring.create_queue('{queue}', '{settings}')")).await;
        let now_ms = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8";
        let began_ms = one(&g.consumer, now_ms).await;
        run(&g.consumer, &format!("CALL slipring.await('{queue}', '300 ms')")).await;
        let waited_ms = one(&g.consumer, now_ms).await - began_ms;
        assert!(waited_ms >= 299, "{waited_ms} ms");
        let waiter = g.cluster.client(&g.database).await;
        let wait = format!("CALL slipring.await('{queue}', '5 minutes')");
        let waiting = tokio::spawn(async move { run(&waiter, &wait).await });
        // Many looks later others still work on the queue at once.
        for _ in 0..20 {
            run(&g.admin, "SET lock_timeout = '1s'").await;
            run(&g.admin, &format!("SELECT slipring.purge('{queue}')")).await;
            assert!(!waiting.is_finished(), "nothing was sent");
        }
        run(&g.admin, &format!("SELECT slipring.send('{queue}', 'a'::text)")).await;
        soon("a wait for a message", waiting).await.unwrap();
        let received = format!("SELECT count(*) FROM slipring.receive('{queue}')");
        assert_eq!(one(&g.consumer, &received).await, 1);
    }
}

#[tokio::test]
async fn what_maintain_does_step_by_step_refuses_other_steps() {
    let g = ground().await;
    for call in
        ["maintain_step('vacuum', 0)", "maintain_step(NULL, 0)", "maintain_step('due', NULL)"]
    {
        let refused = g.admin.batch_execute(&format!("SELECT slipring.{call}")).await;
        let error = refused.expect_err(call);
        assert_eq!(error.code().unwrap().code(), "SR007", "{call}");
    }
    let refused = g.consumer.batch_execute("CALL slipring.await('nowhere')").await;
    assert_eq!(refused.unwrap_err().code().unwrap().code(), "SR001");
    let refused = g.consumer.batch_execute("CALL slipring.maintain()").await;
    assert_eq!(refused.unwrap_err().code().unwrap().code(), "42501");
    let inside = g.admin.batch_execute("BEGIN; CALL slipring.maintain()").await;
    assert_eq!(inside.unwrap_err().code().unwrap().code(), "2D000");
}
