//! Queues that share message tables: each has its own messages and its own lock, and what one
//! leaves in the tables keeps no other's from being emptied (decision 0042).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::sync::Arc;
use std::time::Duration;

use slipring::admin::AdminStore;
use slipring::store::Store;
use slipring::{QueueId, QueueSettings};
use slipring_conformance::verbs::{ack_all, at, bodies, claim, counts, drain, queue, send};
use slipring_postgres::PostgresStore;
use slipring_testbed::{
    Cluster, Database, one, relations, rotate, rotate_until, rotation_step, run, soon,
};
use tokio_postgres::Client;

const EMPTIED: &str = "SELECT last_value FROM slipring.place_low_1";
/// Rows of the three tables of the first set.
const ROWS: &str = "SELECT count(*) FROM slipring.message";
const PATIENCE: Duration = Duration::from_secs(60);

struct Ground {
    cluster: &'static Cluster,
    database: Database,
    store: Arc<PostgresStore>,
    client: Client,
    queues: Vec<QueueId>,
}

impl Ground {
    /// Queues that share tables.
    async fn with(queues: usize) -> Ground {
        let cluster = Cluster::shared();
        let (database, store, client) = cluster.opened().await;
        run(&client, "UPDATE slipring.store SET own_tables_max = 0").await;
        let mut ground = Ground { cluster, database, store, client, queues: vec![] };
        for n in 0..queues {
            let q = queue(&ground.store, &format!("q{n}"), &QueueSettings::default()).await;
            ground.queues.push(q);
        }
        ground
    }

    /// Steps of the rotation until the tables of a generation have been let go and emptied.
    async fn rotated(&self) {
        let low = one(&self.client, EMPTIED).await;
        let table = format!("SELECT pg_relation_size('slipring.message_1_{}')", low % 3);
        let emptied =
            async || one(&self.client, EMPTIED).await > low && one(&self.client, &table).await == 0;
        rotate_until(&self.client, "shared", at(1), emptied).await;
    }
}

#[tokio::test]
async fn queues_beyond_the_first_make_no_relation() {
    let ground = Ground::with(0).await;
    run(&ground.client, "UPDATE slipring.store SET own_tables_max = 1").await;
    let settings = QueueSettings::default();
    let first = queue(&ground.store, "first", &settings).await;
    let second = queue(&ground.store, "second", &settings).await;
    let before = relations(&ground.client).await;
    for n in 0..20 {
        let q = queue(&ground.store, &format!("small{n}"), &settings).await;
        send(&ground.store, q, &["a"]).await;
    }
    assert_eq!(relations(&ground.client).await, before);
    send(&ground.store, second, &["of the second"]).await;
    ground.store.delete_queue(second).await.unwrap();
    // The second one's number is nobody's again, and so are its messages.
    let third = queue(&ground.store, "second", &settings).await;
    assert_eq!(drain(&ground.store, third).await, Vec::<String>::new());
    // Who has tables of its own makes place for another one when they are empty.
    ground.store.delete_queue(first).await.unwrap();
    let empty = "SELECT count(*) FROM slipring.place WHERE empty";
    let emptied = async || one(&ground.client, empty).await == 1;
    rotate_until(&ground.client, "places", at(1), emptied).await;
    let fourth = queue(&ground.store, "fourth", &settings).await;
    let own = format!(
        "SELECT count(*) FROM slipring.queue WHERE queue_id = {} AND \
        generation_low IS NULL",
        fourth.0
    );
    assert_eq!(one(&ground.client, &own).await, 1);
}

#[tokio::test]
async fn neighbours_get_their_own_messages_and_priorities() {
    let ground = Ground::with(3).await;
    let store = &ground.store;
    for n in 0..10 {
        for (at, q) in ground.queues.iter().enumerate() {
            send(store, *q, &[&format!("{at} {n}")]).await;
        }
    }
    // By SQL, with a priority that has no lane, and with one that has.
    run(&ground.client, "SELECT slipring.send('q1', 'urgent'::text, 7)").await;
    let sent = "SELECT count(*) FROM slipring.peek('q1', 'ready', 100) WHERE priority = 7";
    assert_eq!(one(&ground.client, sent).await, 1);
    let first = "SELECT priority FROM slipring.receive('q1', 1, '1 second')";
    assert_eq!(one(&ground.client, first).await, 7);
    let next = "SELECT priority FROM slipring.receive('q1', 1, '1 second')";
    assert_eq!(one(&ground.client, next).await, 1024);
    run(&ground.client, "SELECT slipring.purge('q2')").await;
    let wanted =
        |q: usize, from: usize| -> Vec<String> { (from..10).map(|n| format!("{q} {n}")).collect() };
    assert_eq!(drain(store, ground.queues[0]).await, wanted(0, 0));
    assert_eq!(drain(store, ground.queues[1]).await, wanted(1, 1));
    assert_eq!(counts(store, ground.queues[2]).await, [0; 4]);
}

#[tokio::test]
async fn what_queues_leave_is_moved_and_comes_once() {
    let ground = Ground::with(4).await;
    let store = &ground.store;
    let [backlog, slow, gone, busy] = ground.queues[..] else { panic!("four queues") };
    let texts: Vec<String> = (0..2500).map(|n| n.to_string()).collect();
    for part in texts.chunks(50) {
        send(store, backlog, &part.iter().map(String::as_str).collect::<Vec<_>>()).await;
    }
    send(store, slow, &["s1", "s2", "s3", "s4"]).await;
    send(store, gone, &["g1"]).await;
    let held = claim(store, slow, 3, at(0)).await;
    ack_all(store, slow, &held[..1], at(0)).await;
    store.delete_queue(gone).await.unwrap();
    // One that is in use keeps the table until its lock is free, and the others nothing.
    let holder = ground.cluster.holder(&ground.database, backlog).await;
    for _ in 0..20 {
        rotation_step(&ground.client, "shared", at(1)).await;
    }
    assert_eq!(one(&ground.client, EMPTIED).await, 0);
    send(store, busy, &["b1"]).await;
    assert_eq!(soon("a neighbour", drain(store, busy)).await, ["b1"]);
    run(&holder, "COMMIT").await;
    send(store, backlog, &["last"]).await;
    ground.rotated().await;
    // What is not on the shelf was sent since.
    assert!(one(&ground.client, ROWS).await <= 2);
    assert_eq!(counts(store, slow).await, [1, 0, 2, 0]);
    ack_all(store, slow, &held[1..2], at(0)).await;
    let late = at(1_000_000);
    store.expire(late).await.unwrap();
    let mut back = drain(store, slow).await;
    back.sort();
    assert_eq!(back, [bodies(&held)[2].clone(), "s4".to_owned()]);
    let mut wanted = texts;
    wanted.push("last".to_owned());
    assert_eq!(drain(store, backlog).await, wanted);
    for _ in 0..4 {
        send(store, busy, &["again"]).await;
        ground.rotated().await;
    }
    assert_eq!(drain(store, busy).await, ["again"; 4]);
}

/// The first half of the advisory lock of a transaction that has the lock of one queue.
const SEEN: &str = "SELECT DISTINCT classid::int::bigint FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 2
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

#[tokio::test]
async fn a_transaction_that_holds_one_waits_for_no_other() {
    let ground = Ground::with(3).await;
    let [a, b, _] = ground.queues[..] else { panic!("three queues") };
    // Any role that may connect can read the keys of advisory locks in pg_locks, and lock them.
    let before = ground.cluster.holder(&ground.database, a).await;
    let stranger = ground.cluster.client(&ground.database).await;
    let seen = one(&stranger, SEEN).await;
    run(&before, "COMMIT").await;
    let taken = "SELECT count(pg_advisory_lock($1, queue_id)) FROM slipring.queue";
    run(&stranger, &taken.replace("$1", &seen.to_string())).await;
    let of_a = ground.cluster.holder(&ground.database, a).await;
    let of_b = ground.cluster.holder(&ground.database, b).await;
    // Each has one and wants the other's: neither waits for long, and neither is a deadlock's.
    let want = format!("SELECT slipring.queue_lock({})", b.0);
    let refused = soon("a second lock", of_a.batch_execute(&want)).await;
    let code = refused.expect_err("it is in use").code().unwrap().code().to_owned();
    assert_eq!(code, "55P03");
    run(&of_a, "ROLLBACK").await;
    run(&of_b, &format!("SELECT slipring.queue_lock({})", a.0)).await;
    run(&of_b, "COMMIT").await;
    // What a failed block has locked is free again.
    let third = ground.cluster.begin(&ground.database, "READ COMMITTED").await;
    let block = format!("SAVEPOINT s; SELECT slipring.queue_lock({}); ROLLBACK TO s", a.0);
    run(&third, &block).await;
    let free = ground.cluster.begin(&ground.database, "READ COMMITTED").await;
    soon("a lock that was given back", run(&free, &format!("SELECT slipring.queue_lock({})", a.0)))
        .await;
}

/// Takes the lock of the first queue in a savepoint of a transaction that stays open.
async fn locked(client: &Client) {
    run(client, "BEGIN; SET LOCAL search_path = pg_catalog, slipring; SAVEPOINT s").await;
    run(client, "SELECT slipring.queue_lock(min(queue_id)) FROM slipring.queue").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_a_savepoint_gives_back_is_free_for_who_waits_for_it() {
    // S10.7
    for waited_for in [false, true] {
        let ground = Ground::with(1).await;
        let new = async || ground.cluster.client(&ground.database).await;
        let waiting = async || slipring_testbed::locked(&ground.client, 1).await;
        let (before, holder, next) = (new().await, new().await, new().await);
        let held = async {
            if !waited_for {
                return locked(&holder).await;
            }
            locked(&before).await;
            let end = async {
                waiting().await;
                run(&before, "COMMIT").await;
            };
            tokio::join!(locked(&holder), end);
        };
        soon("the lock", held).await;
        let give_back = async {
            waiting().await;
            run(&holder, "ROLLBACK TO s").await;
        };
        soon("the next one", async { tokio::join!(locked(&next), give_back) }).await;
        // The first one stands in line again, behind the next.
        let end = async {
            waiting().await;
            run(&next, "COMMIT").await;
        };
        let again = "SELECT slipring.queue_lock(min(queue_id)) FROM slipring.queue";
        soon("once more", async { tokio::join!(run(&holder, again), end) }).await;
    }
}

#[tokio::test]
async fn a_step_that_is_rolled_back_loses_nothing() {
    let ground = Ground::with(2).await;
    let (store, q) = (&ground.store, ground.queues[1]);
    send(store, q, &["a"]).await;
    assert_eq!(drain(store, q).await, ["a"]);
    ground.rotated().await;
    // Sequences move all the same: the mark of the generation before counts for no other.
    let sender = ground.cluster.begin(&ground.database, "READ COMMITTED").await;
    run(&sender, "SELECT slipring.send('q0', 'open'::text)").await;
    send(store, q, &["b", "c"]).await;
    let now = "SELECT last_value FROM slipring.place_generation_1";
    let before = one(&ground.client, now).await;
    while one(&ground.client, now).await == before {
        rotate(&ground.client, "shared", at(1), "ROLLBACK").await;
    }
    for _ in 0..20 {
        rotate(&ground.client, "shared", at(1), "COMMIT").await;
    }
    run(&sender, "COMMIT").await;
    ground.rotated().await;
    assert_eq!(drain(store, q).await, ["b", "c"]);
    assert_eq!(drain(store, ground.queues[0]).await, ["open"]);
}

#[tokio::test]
async fn a_message_on_the_shelf_that_a_user_has_acked_does_not_come_back() {
    let ground = Ground::with(1).await;
    let (store, q) = (&ground.store, ground.queues[0]);
    send(store, q, &["a"]).await;
    run(&ground.client, "SELECT slipring.nack(receipt) FROM slipring.receive('q0')").await;
    let receive = "SELECT receipt FROM slipring.receive('q0', 1, '1 minute')";
    let receipt: String = ground.client.query_one(receive, &[]).await.unwrap().get(0);
    // The rows of the first lease go.
    let low = "SELECT last_value FROM slipring.journal_low";
    let generations = async |more: i64| {
        let wanted = one(&ground.client, low).await + more;
        let there = async || one(&ground.client, low).await >= wanted;
        rotate_until(&ground.client, "journal", at(100), there).await;
    };
    generations(3).await;
    run(&ground.client, &format!("SELECT slipring.ack('{receipt}')")).await;
    generations(3).await;
    store.expire(slipring::Timestamp::MAX).await.unwrap();
    assert_eq!(drain(store, q).await, Vec::<String>::new());
    assert_eq!(counts(store, q).await, [0; 4]);
}

#[tokio::test]
async fn large_messages_leave_a_table_of_their_own_in_parts() {
    let ground = Ground::with(0).await;
    run(&ground.client, "UPDATE slipring.store SET own_tables_max = 256").await;
    let q = queue(&ground.store, "own", &QueueSettings::default()).await;
    let large = "x".repeat(250_000);
    for _ in 0..20 {
        send(&ground.store, q, &[&large]).await;
    }
    let urgent = slipring::NewMessage::new("urgent".to_owned()).priority(2000);
    slipring_conformance::verbs::try_send(&ground.store, q, vec![urgent], at(0)).await.unwrap();
    let low = format!(
        "SELECT s.generation_low FROM slipring.state s WHERE s.queue_id = {}
        ORDER BY s.seq DESC LIMIT 1",
        q.0
    );
    let left = async {
        let mut now = 1000;
        while one(&ground.client, &low).await == 0 {
            now += 1000;
            rotate(&ground.client, "queues", at(now), "COMMIT").await;
        }
    };
    tokio::time::timeout(PATIENCE, left).await.expect("the table is left");
    let came = drain(&ground.store, q).await;
    assert_eq!((came.len(), came[20].as_str()), (21, "urgent"));
}

#[tokio::test]
async fn idle_queues_are_copied_many_at_a_time() {
    let ground = Ground::with(0).await;
    run(
        &ground.client,
        "DO $$ BEGIN FOR n IN 1..700 LOOP
        PERFORM slipring.create_queue('idle' || n); END LOOP; END $$",
    )
    .await;
    // A generation that has no more than a state of each queue does not end.
    run(
        &ground.client,
        "BEGIN; SET LOCAL search_path = pg_catalog, slipring;
        DO $$ DECLARE q slipring.queue; s slipring.state; BEGIN
            FOR q IN SELECT * FROM slipring.queue LOOP
                s := slipring.state_read(q);
                s.seq := s.seq + 1;
                PERFORM slipring.state_write(q, s);
            END LOOP; END $$; COMMIT",
    )
    .await;
    run(
        &ground.client,
        "SELECT slipring.send('idle3', 'a'::text), slipring.send('idle4', 'b'::text)",
    )
    .await;
    let used = QueueId(
        u64::try_from(
            one(&ground.client, "SELECT queue_id::bigint FROM slipring.queue WHERE name = 'idle3'")
                .await,
        )
        .unwrap(),
    );
    let held = claim(&ground.store, used, 1, at(0)).await;
    let now = "SELECT last_value FROM slipring.journal";
    let mark = "SELECT last_value FROM slipring.journal_mark";
    let before = one(&ground.client, now).await;
    // Who has a row's lock has a transaction number, and a mark waits for older ones.
    let marked = async {
        while one(&ground.client, now).await == before || one(&ground.client, mark).await == 0 {
            rotation_step(&ground.client, "journal", at(100)).await;
        }
    };
    tokio::time::timeout(PATIENCE, marked).await.expect("the next generation begins");
    let holder = ground.cluster.holder(&ground.database, QueueId(used.0 + 1)).await;
    let waits = format!(
        "SELECT count(*) FROM slipring.queue q CROSS JOIN LATERAL (
        SELECT s.journal FROM slipring.state s WHERE s.queue_id = q.queue_id
        ORDER BY s.seq DESC LIMIT 1) s WHERE s.journal <= {before}"
    );
    let copied = async {
        let mut steps = 0;
        while one(&ground.client, &waits).await > 1 {
            steps += usize::from(rotate(&ground.client, "journal", at(100), "COMMIT").await);
        }
        steps
    };
    let steps = tokio::time::timeout(PATIENCE, copied).await.expect("the others are copied");
    assert!(steps < 12, "{steps} steps");
    run(&holder, "COMMIT").await;
    ack_all(&ground.store, used, &held, at(0)).await;
    assert_eq!(counts(&ground.store, used).await, [0; 4]);
    assert_eq!(drain(&ground.store, QueueId(used.0 + 1)).await, ["b"]);
}
