//! A queue that shares message tables and grows gets a set of its own, and gives it back: what is
//! sent meanwhile comes once, whatever transactions are open (decision 0045).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::sync::Arc;
use std::time::Duration;

use slipring::admin::AdminStore;
use slipring::{QueueId, QueueSettings};
use slipring_conformance::verbs::{ack_all, at, bodies, claim, counts, drain, queue, send};
use slipring_postgres::PostgresStore;
use slipring_testbed::{
    Cluster, Database, one, relations, rotate, rotate_until, rotation_step, run,
};
use tokio_postgres::Client;

const MOVES: &str = "SELECT count(*) FROM slipring.place_move";

struct Ground {
    cluster: &'static Cluster,
    database: Database,
    store: Arc<PostgresStore>,
    client: Client,
    /// The one that grows.
    large: QueueId,
    small: QueueId,
}

impl Ground {
    async fn new() -> Ground {
        let cluster = Cluster::shared();
        let (database, store, client) = cluster.opened().await;
        run(&client, "UPDATE slipring.store SET own_tables_max = 0").await;
        let large = queue(&store, "large", &QueueSettings::default()).await;
        let small = queue(&store, "small", &QueueSettings::default()).await;
        Ground { cluster, database, store, client, large, small }
    }

    /// One message is in the small queue and so many are in the large one, which is found to be
    /// large.
    async fn growing(messages: usize) -> Ground {
        let ground = Ground::new().await;
        send(&ground.store, ground.small, &["small"]).await;
        ground.send(&strs(&texts(0, messages))).await;
        ground.found().await;
        ground
    }

    async fn send(&self, texts: &[&str]) {
        send(&self.store, self.large, texts).await;
    }

    /// In which set a queue is, and whether it may be in another one as well.
    async fn place(&self, queue: QueueId) -> (i64, bool) {
        let sql = "SELECT place::int8, place_also IS NOT NULL FROM slipring.queue
            WHERE queue_id = $1";
        let id = i32::try_from(queue.0).unwrap();
        let row = self.client.query_one(sql, &[&id]).await.unwrap();
        (row.get(0), row.get(1))
    }

    async fn step(&self) -> Option<i64> {
        let sql = "SELECT step::int8 FROM slipring.place_move";
        self.client.query_opt(sql, &[]).await.unwrap().map(|row| row.get(0))
    }

    /// Steps of a part of the rotation until a condition holds.
    async fn until(&self, part: &str, done: impl AsyncFn() -> bool) {
        rotate_until(&self.client, part, at(1), done).await;
    }

    /// The large queue has been found to be large.
    async fn found(&self) {
        self.until("shared", async || one(&self.client, MOVES).await == 1).await;
    }

    async fn step_is(&self, wanted: i64) {
        self.until("moves", async || self.step().await == Some(wanted)).await;
    }

    /// The move waits for no transaction any more.
    async fn waited(&self) {
        let over = "SELECT count(*) FROM slipring.place_move
            WHERE mark <= pg_snapshot_xmin(pg_current_snapshot())::text::int8";
        self.until("moves", async || one(&self.client, over).await == 1).await;
    }

    async fn moved(&self) {
        self.until("moves", async || one(&self.client, MOVES).await == 0).await;
    }
}

/// How many queues each set counts.
async fn counted(client: &Client) -> Vec<(i64, bool, i64)> {
    let sql = "SELECT place::int8, reserved, queues::int8 FROM slipring.place
        WHERE shared ORDER BY place";
    let rows = client.query(sql, &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect()
}

fn texts(from: usize, past: usize) -> Vec<String> {
    (from..past).map(|n| format!("m{n:04}")).collect()
}

fn strs(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

#[tokio::test]
async fn a_queue_that_fills_its_tables_gets_its_own_and_gives_them_back() {
    let ground = Ground::growing(100).await;
    let mut sent = 100;
    for step in 1..=3 {
        ground.step_is(step).await;
        ground.send(&strs(&texts(sent, sent + 10))).await;
        sent += 10;
    }
    let (reserved, also) = ground.place(ground.large).await;
    let (common, _) = ground.place(ground.small).await;
    assert!(also && reserved != common);
    assert_eq!(counted(&ground.client).await, [(common, false, 2), (reserved, true, 1)]);
    // What was sent before is in the other set still, and comes first.
    let first = claim(&ground.store, ground.large, 105, at(0)).await;
    ack_all(&ground.store, ground.large, &first[..50], at(0)).await;
    ground.waited().await;
    // Too early to move what has been leased only now.
    rotation_step(&ground.client, "moves", at(0)).await;
    assert_eq!(ground.step().await, Some(3));
    assert_eq!(counts(&ground.store, ground.large).await, [25, 0, 55, 0]);
    ack_all(&ground.store, ground.large, &first[50..80], at(0)).await;
    ground.moved().await;
    assert_eq!(counts(&ground.store, ground.large).await, [25, 0, 25, 0]);
    ack_all(&ground.store, ground.large, &first[80..], at(0)).await;
    assert_eq!(drain(&ground.store, ground.large).await, texts(105, 130));
    assert_eq!(ground.place(ground.large).await, (reserved, false));
    assert_eq!(counted(&ground.client).await, [(common, false, 1), (reserved, true, 1)]);
    assert_eq!(drain(&ground.store, ground.small).await, ["small"]);
    let before = relations(&ground.client).await;

    // Its own tables rotate by themselves, and what is left there is waited for.
    ground.send(&["kept"]).await;
    let low = format!("SELECT last_value FROM slipring.place_low_{reserved}");
    let oldest = one(&ground.client, &low).await;
    for n in 0..30 {
        ground.send(&[&format!("more {n}")]).await;
        rotate(&ground.client, "shared", at(1), "COMMIT").await;
    }
    assert_eq!(drain(&ground.store, ground.large).await.len(), 31);
    ground.until("shared", async || one(&ground.client, &low).await > oldest).await;
    // Empty ones are given back, and the next one that grows gets them.
    let empty = format!(
        "SELECT sum(pg_relation_size(format('slipring.message_%s_%s', {reserved}, slot)::regclass))
            ::int8 FROM generate_series(0, 2) slot"
    );
    ground.until("shared", async || one(&ground.client, &empty).await == 0).await;
    // The set is given back also when a message is left in it that no consumer receives.
    ground.until("moves", async || ground.step().await == Some(1)).await;
    ground.send(&["unread"]).await;
    ground.moved().await;
    assert_eq!(ground.place(ground.large).await, (common, false));
    assert_eq!(drain(&ground.store, ground.large).await, ["unread"]);
    assert_eq!(counted(&ground.client).await, [(common, false, 2), (reserved, true, 0)]);
    for n in 0..40 {
        send(&ground.store, ground.small, &[&format!("{n}")]).await;
    }
    ground.found().await;
    ground.until("moves", async || ground.place(ground.small).await.0 == reserved).await;
    assert_eq!(drain(&ground.store, ground.small).await.len(), 40);
    ground.moved().await;
    assert_eq!(relations(&ground.client).await, before);
}

#[tokio::test]
async fn who_knows_only_the_old_tables_is_waited_for() {
    let ground = Ground::growing(20).await;
    ground.step_is(1).await;
    // This reader has the queue's row as it was: no sender may write to the new set yet.
    let reader = ground.cluster.begin(&ground.database, "REPEATABLE READ").await;
    run(&reader, "SELECT 1").await;
    ground.step_is(2).await;
    for _ in 0..10 {
        rotation_step(&ground.client, "moves", at(1)).await;
    }
    assert_eq!(ground.step().await, Some(2));
    run(&reader, "COMMIT").await;
    // These write by the row as it was: one that has no number yet, and one that is prepared then.
    let writers = [
        ground.cluster.begin(&ground.database, "REPEATABLE READ").await,
        ground.cluster.begin(&ground.database, "SERIALIZABLE").await,
    ];
    for writer in &writers {
        run(writer, "SELECT count(*) FROM slipring.queue").await;
    }
    // They are waited for by the step before as well, and that is not what is asked here.
    run(&ground.client, "UPDATE slipring.place_move SET waits = '{}', mark = 0").await;
    ground.step_is(3).await;
    assert_eq!(drain(&ground.store, ground.large).await, texts(0, 20));
    ground.send(&["after"]).await;
    rotation_step(&ground.client, "moves", at(1)).await;
    for (writer, text) in writers.iter().zip(["late", "prepared"]) {
        run(writer, &format!("SELECT slipring.send('large', '{text}'::text)")).await;
    }
    run(&writers[1], "PREPARE TRANSACTION 'grown'").await;
    let waits = async || {
        for _ in 0..10 {
            rotation_step(&ground.client, "moves", at(1)).await;
            rotate(&ground.client, "shared", at(1), "COMMIT").await;
        }
        assert_eq!(ground.step().await, Some(3));
    };
    waits().await;
    run(&writers[0], "COMMIT").await;
    // Nothing is left that could be seen.
    let mut came = drain(&ground.store, ground.large).await;
    came.sort();
    assert_eq!(came, ["after", "late"]);
    waits().await;
    run(&ground.client, "COMMIT PREPARED 'grown'").await;
    assert_eq!(drain(&ground.store, ground.large).await, ["prepared"]);
    ground.moved().await;
    ground.send(&["last"]).await;
    assert_eq!(drain(&ground.store, ground.large).await, ["last"]);
}

/// What a consumer by SQL receives of the large queue and acks in its transaction.
async fn had_by_sql(client: &Client, n: u32) -> Vec<String> {
    let sql = format!(
        "SELECT convert_from(r.body, 'UTF8') FROM slipring.receive('large', {n}) r
         CROSS JOIN LATERAL slipring.ack(r.receipt)"
    );
    let rows = client.query(&sql, &[]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

/// What others do with both queues, a server and a consumer by SQL: no step of it may wait for a
/// transaction that stays open. Answers what they have had.
async fn others(ground: &Ground, text: &str) -> Vec<String> {
    let all = async {
        ground.send(&[text]).await;
        let taken = claim(&ground.store, ground.large, 3, at(0)).await;
        ack_all(&ground.store, ground.large, &taken, at(0)).await;
        let mut had = bodies(&taken);
        had.extend(had_by_sql(&ground.client, 2).await);
        send(&ground.store, ground.small, &[text]).await;
        assert!(drain(&ground.store, ground.small).await.contains(&text.to_owned()));
        rotate(&ground.client, "journal", at(1), "COMMIT").await;
        had
    };
    let had = tokio::time::timeout(Duration::from_secs(10), all).await;
    had.unwrap_or_else(|_| panic!("{text}: others stand still"))
}

#[tokio::test]
async fn who_stays_in_a_transaction_while_a_queue_moves_stops_nobody() {
    let ground = Ground::growing(60).await;
    let mut sent = texts(0, 60);
    let mut had = Vec::new();
    // Each of two: one stays open from before the move, one from where senders write to the new
    // set.
    for step in [0, 3] {
        if step > 0 {
            ground.step_is(step).await;
        }
        let consumer = ground.cluster.begin(&ground.database, "READ COMMITTED").await;
        let got = had_by_sql(&consumer, 5).await;
        assert!(!got.is_empty(), "at step {step}");
        had.extend(got);
        let producer = ground.cluster.begin(&ground.database, "READ COMMITTED").await;
        let open = format!("open {step}");
        run(&producer, &format!("SELECT slipring.send('large', '{open}'::text)")).await;
        sent.push(open);
        for round in 0..5 {
            let text = format!("step {step}, {round}");
            had.extend(others(&ground, &text).await);
            sent.push(text);
            for _ in 0..5 {
                rotation_step(&ground.client, "moves", at(1)).await;
                rotate(&ground.client, "shared", at(1), "COMMIT").await;
            }
        }
        assert_eq!(ground.step().await, Some(if step == 0 { 2 } else { 3 }));
        run(&consumer, "COMMIT").await;
        run(&producer, "COMMIT").await;
    }
    had.extend(drain(&ground.store, ground.large).await);
    ground.moved().await;
    sent.sort();
    had.sort();
    assert_eq!(had, sent, "each once");
}

#[tokio::test]
async fn a_queue_that_is_deleted_on_its_way_leaves_both_sets() {
    for step in 0..=4 {
        let ground = Ground::growing(20).await;
        if step == 4 {
            ground.step_is(3).await;
            drain(&ground.store, ground.large).await;
        }
        ground.step_is(step).await;
        ground.store.delete_queue(ground.large).await.unwrap();
        assert_eq!(one(&ground.client, MOVES).await, 0);
        let counts: Vec<(bool, i64)> =
            counted(&ground.client).await.iter().map(|(_, own, n)| (*own, *n)).collect();
        let wanted: &[(bool, i64)] =
            if step == 0 { &[(false, 1)] } else { &[(false, 1), (true, 0)] };
        assert_eq!(counts, wanted, "at step {step}");
        assert_eq!(drain(&ground.store, ground.small).await, ["small"]);
    }
}

#[tokio::test]
async fn no_more_queues_than_allowed_have_a_set_of_their_own() {
    let ground = Ground::growing(20).await;
    run(&ground.client, "UPDATE slipring.store SET grown_tables_max = 0").await;
    ground.moved().await;
    assert_eq!(counted(&ground.client).await.len(), 1);
    assert_eq!(drain(&ground.store, ground.large).await, texts(0, 20));
}

#[tokio::test]
async fn who_creates_a_queue_holds_a_move_up_and_no_message() {
    let ground = Ground::growing(20).await;
    let creates = ground.cluster.begin(&ground.database, "READ COMMITTED").await;
    run(&creates, "SELECT slipring.create_queue('other')").await;
    for _ in 0..10 {
        rotation_step(&ground.client, "moves", at(1)).await;
    }
    assert_eq!(ground.step().await, Some(0));
    ground.send(&["more"]).await;
    assert_eq!(drain(&ground.store, ground.large).await.len(), 21);
    run(&creates, "COMMIT").await;
    ground.moved().await;
}

#[tokio::test]
async fn an_import_takes_no_generation_of_one_set_for_that_of_another() {
    let ground = Ground::growing(20).await;
    ground.moved().await;
    let (reserved, _) = ground.place(ground.large).await;
    drain(&ground.store, ground.large).await;
    let now = format!("SELECT last_value FROM slipring.place_generation_{reserved}");
    let written = async || {
        ground.send(&["passing"]).await;
        drain(&ground.store, ground.large).await;
        one(&ground.client, &now).await > 8
    };
    ground.until("shared", written).await;
    ground.send(&["kept"]).await;
    // No other session uses this database.
    let import = "SELECT slipring.store_import()";
    run(&ground.client, import).await;
    assert_eq!(counts(&ground.store, ground.large).await, [1, 0, 0, 0]);
    assert_eq!(drain(&ground.store, ground.large).await, ["kept"]);
    // Empty tables are given back.
    let back = async || {
        rotate(&ground.client, "shared", at(1), "COMMIT").await;
        ground.place(ground.large).await.0 != reserved
    };
    ground.until("moves", back).await;
    ground.send(&["after"]).await;
    // Half way.
    run(&ground.client, import).await;
    let (common, _) = ground.place(ground.large).await;
    let tables = format!("SELECT cardinality(slipring.place_tables({common}))::int8");
    assert!(one(&ground.client, &tables).await <= 3);
    ground.moved().await;
    run(&ground.client, import).await;
    assert!(one(&ground.client, &tables).await <= 3);
    assert_eq!(drain(&ground.store, ground.large).await, ["after"]);
    assert_eq!(drain(&ground.store, ground.small).await, ["small"]);
}
