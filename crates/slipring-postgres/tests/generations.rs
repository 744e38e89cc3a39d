//! A transaction that stays open keeps none of the tables from being emptied that are next to be
//! (decision 0041): the journal and the shelf rotate beside consumers that overlap without end.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::time::Duration;

use slipring::Timestamp;
use slipring::clock::{Machine as _, ThisMachine};
use slipring_testbed::{Cluster, Database, one, rotation_step, run, soon};
use tokio_postgres::Client;

/// Consumers of each queue, how long their transactions are, and how many generations have to pass.
const CONSUMERS: usize = 3;
const HOLD: &str = "0.15 s";
const GENERATIONS: i64 = 3;
const PATIENCE: Duration = Duration::from_secs(90);

/// The tables of both groups that nobody reads, with what belongs to them, on which a backend has a
/// lock.
const OLD: &str = "
    SELECT coalesce(string_agg(c.relname || ' ' || l.mode, ', '), '')
    FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
    LEFT JOIN pg_index i ON i.indexrelid = c.oid
    JOIN pg_class t ON t.oid = coalesce(i.indrelid, c.oid)
    WHERE l.pid = $1 AND (
        t.relname ~ ('^(state|lease|ack|offer)_'
            || (pg_sequence_last_value('slipring.journal_low') + 2) % 3 || '$')
        OR t.relname ~ ('^(item_picture|item_body|mark|tally|tally_sum|fifo_group|fifo_touched)_'
            || (pg_sequence_last_value('slipring.shelf_low') + 2) % 3 || '$'))";

/// A store with a standard queue and a FIFO queue.
struct Ground {
    cluster: &'static Cluster,
    database: Database,
    watcher: Client,
}

impl Ground {
    async fn new() -> Ground {
        let cluster = Cluster::shared();
        let database = cluster.database().await;
        let watcher = cluster.client(&database).await;
        run(&watcher, "SELECT slipring.create_queue('plain')").await;
        run(&watcher, "SELECT slipring.create_queue('line', '{\"fifo\": true}')").await;
        Ground { cluster, database, watcher }
    }

    async fn client(&self) -> Client {
        self.cluster.client(&self.database).await
    }

    /// Steps of a rotation until the next generation is the oldest one.
    async fn rotate(&self, part: &str) {
        run(&self.watcher, "SELECT setval('slipring.shelf_kept', 0)").await;
        let before = self.generation(part).await;
        let rotated = async {
            while self.generation(part).await == before {
                rotation_step(&self.watcher, part, now()).await;
            }
        };
        soon("the next generation is the oldest one", rotated).await;
    }

    async fn generation(&self, part: &str) -> i64 {
        one(&self.watcher, &format!("SELECT pg_sequence_last_value('slipring.{part}_low')")).await
    }
}

fn now() -> Timestamp {
    ThisMachine.wall()
}

/// What a user's open transaction may have done.
const VERBS: &[(&str, &str)] = &[
    ("a first receive", "SELECT slipring.receive('plain')"),
    ("a receive beside the lock", "SELECT slipring.receive('plain', 2)"),
    ("a receive and an ack", "SELECT slipring.ack(receipt) FROM slipring.receive('plain')"),
    (
        "an ack of all of a lease",
        "SELECT slipring.ack(array_agg(receipt)) FROM slipring.receive('plain', 3)",
    ),
    ("a nack", "SELECT slipring.nack(receipt) FROM slipring.receive('plain')"),
    ("a receive of what was given back", "SELECT slipring.receive('plain')"),
    (
        "an ack of what was given back",
        "SELECT slipring.nack(receipt) FROM slipring.receive('plain', 1);
         SELECT slipring.ack(receipt) FROM slipring.receive('plain')",
    ),
    ("an extension", "SELECT slipring.extend(receipt, '1 minute') FROM slipring.receive('plain')"),
    ("a receive of a group", "SELECT slipring.receive('line')"),
    ("an ack of a group", "SELECT slipring.ack(receipt) FROM slipring.receive('line')"),
    ("a send to a group", "SELECT slipring.send('line', 'more'::text, \"group\" => 'g')"),
    ("a look whether there are any", "SELECT slipring.ready('plain'), slipring.ready('line')"),
    ("a send", "SELECT slipring.send('plain', 'more'::text)"),
];

#[tokio::test]
async fn an_open_transaction_keeps_no_table_that_nobody_reads() {
    let ground = Ground::new().await;
    let mut user = ground.client().await;
    let pid: i32 = user.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0);
    for (nth, (what, verb)) in VERBS.iter().enumerate() {
        for n in 0..4 {
            run(&user, &format!("SELECT slipring.send('plain', 'm{n}'::text)")).await;
            let send = format!("SELECT slipring.send('line', 'm{n}'::text, \"group\" => 'g{nth}')");
            run(&user, &send).await;
        }
        let open = user.transaction().await.unwrap();
        open.batch_execute(verb).await.unwrap();
        let kept: String = ground.watcher.query_one(OLD, &[&pid]).await.unwrap().get(0);
        assert_eq!(kept, "", "{what}");
        open.commit().await.unwrap();
        ground.rotate("journal").await;
        ground.rotate("shelf").await;
    }
}

/// Receives, stays in the transaction, and acks; one in four gives back instead.
async fn consume(client: Client, queue: &'static str) {
    let mut nth = 0;
    loop {
        run(&client, &format!("SELECT slipring.send('{queue}', 'm'::text, \"group\" => 'g{nth}')"))
            .await;
        let end = if nth % 4 == 3 { "nack" } else { "ack" };
        let turn = format!(
            "BEGIN; CREATE TEMP TABLE held ON COMMIT DROP AS
                 SELECT receipt FROM slipring.receive('{queue}');
             SELECT pg_sleep_for('{HOLD}'); SELECT slipring.{end}(receipt) FROM held; COMMIT"
        );
        run(&client, &turn).await;
        nth = (nth + 1) % 100;
    }
}

#[tokio::test]
async fn the_journal_and_the_shelf_rotate_beside_consumers_that_overlap_without_end() {
    let ground = Ground::new().await;
    let mut consumers = tokio::task::JoinSet::new();
    for queue in ["plain", "line"] {
        for _ in 0..CONSUMERS {
            consumers.spawn(consume(ground.client().await, queue));
        }
    }
    let (journal, shelf) = (ground.generation("journal").await, ground.generation("shelf").await);
    let mut now = now();
    let rotated = async {
        loop {
            // Time goes faster for the rotation: it stands in line the longer.
            now = now.after(Duration::from_secs(20));
            run(&ground.watcher, "SELECT setval('slipring.shelf_kept', 0)").await;
            rotation_step(&ground.watcher, "journal", now).await;
            rotation_step(&ground.watcher, "shelf", now).await;
            if ground.generation("journal").await >= journal + GENERATIONS
                && ground.generation("shelf").await >= shelf + GENERATIONS
            {
                break;
            }
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, rotated).await;
    let ended = (ground.generation("journal").await, ground.generation("shelf").await);
    assert!(in_time.is_ok(), "from {journal}, {shelf} to {ended:?}");
    consumers.shutdown().await;
}

/// A view that lacks a column of its table would hide it.
#[tokio::test]
async fn the_views_of_what_is_read_have_the_columns_of_their_tables() {
    let ground = Ground::new().await;
    let differ = "
        SELECT count(*) FROM pg_class v JOIN pg_namespace n ON n.oid = v.relnamespace
        JOIN pg_class t ON t.relname = v.relname AND t.relnamespace = 'slipring'::regnamespace
        WHERE n.nspname ~ '^slipring_(journal|shelf)_[012]$' AND (
            SELECT array_agg(a.attname || ' ' || a.atttypid ORDER BY a.attnum) FROM pg_attribute a
            WHERE a.attrelid = v.oid AND a.attnum > 0 AND NOT a.attisdropped) IS DISTINCT FROM (
            SELECT array_agg(a.attname || ' ' || a.atttypid ORDER BY a.attnum) FROM pg_attribute a
            WHERE a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped)";
    assert_eq!(one(&ground.watcher, differ).await, 0);
    let views = "SELECT count(*) FROM pg_views WHERE schemaname ~ '^slipring_(journal|shelf)_'";
    assert_eq!(one(&ground.watcher, views).await, 3 * (4 + 9));
}
