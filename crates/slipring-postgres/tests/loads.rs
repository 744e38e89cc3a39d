//! Loads and what is special about PostgreSQL: rotation, sessions of SQL that append in
//! transactions of their own, snapshots, new priorities, and what a crash takes away (S15).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::sync::Arc;

use slipring::admin::AdminStore;
use slipring::{
    ErrorKind, LoadId, LoadPart, LoadStore, NewMessage, QueueId, QueueSettings, Timestamp,
};
use slipring_conformance::verbs::{at, counts, drain, plain, queue, send};
use slipring_postgres::PostgresStore;
use slipring_testbed::{Cluster, Database, one, refused_with, rotation_step, run, waiting};
use tokio_postgres::Client;

struct Ground {
    database: Database,
    store: Arc<PostgresStore>,
    q: QueueId,
    client: Client,
}

async fn ground(cluster: &Cluster) -> Ground {
    let (database, store, client) = cluster.opened().await;
    let q = plain(&store).await;
    Ground { database, store, q, client }
}

impl Ground {
    async fn begin(&self) -> LoadId {
        self.store.begin_load(self.q, at(0)).await.unwrap().id
    }

    async fn append(&self, load: LoadId, part: u32, texts: &[&str], priority: u32) {
        let message = |text: &&str| NewMessage::new((*text).to_owned()).priority(priority);
        let messages = texts.iter().map(message).collect();
        let part = LoadPart { load, part, checksum: 1, now: at(0), messages };
        assert!(self.store.append_load(part).await.unwrap());
    }

    /// Steps of a rotation until none is to be done any more.
    async fn rotate(&self, from: u64) -> u64 {
        let mut now = from;
        for part in ["queues", "journal", "queues", "journal"] {
            for _ in 0..20 {
                now += 1;
                let moment: Timestamp = at(now);
                if !rotation_step(&self.client, part, moment).await {
                    break;
                }
            }
        }
        now
    }
}

#[tokio::test]
async fn a_table_is_not_emptied_while_it_has_messages_of_an_open_load() {
    // S15.1
    // Transactions of other tests would hold a rotation up.
    let cluster = Cluster::own();
    let g = ground(&cluster).await;
    let load = g.begin().await;
    g.append(load, 0, &["a", "b"], 1024).await;
    g.append(load, 1, &["urgent"], 3).await;
    send(&g.store, g.q, &["other"]).await;
    assert_eq!(drain(&g.store, g.q).await, ["other"]);
    let now = g.rotate(0).await;
    g.append(load, 2, &["c"], 1024).await;
    let now = g.rotate(now).await;
    // Both tables have messages of it, and there was time for each to be emptied.
    assert_eq!(one(&g.client, "SELECT count(DISTINCT place) FROM slipring.message").await, 2);
    g.store.publish_load(load, 4, at(0)).await.unwrap();
    g.rotate(now).await;
    assert_eq!(counts(&g.store, g.q).await, [4, 0, 0, 0]);
    assert_eq!(drain(&g.store, g.q).await, ["urgent", "a", "b", "c"]);
}

#[tokio::test]
async fn what_an_abandoned_load_leaves_goes_with_its_table() {
    // S15.5
    // Transactions of other tests would hold a rotation up.
    let cluster = Cluster::own();
    let g = ground(&cluster).await;
    let load = g.begin().await;
    g.append(load, 0, &["a", "b"], 1024).await;
    // A priority that the state of the queue does not know yet.
    g.append(load, 1, &["c"], 7).await;
    g.store.abandon_load(load).await.unwrap();
    assert_eq!(counts(&g.store, g.q).await, [0, 0, 0, 0]);
    assert!(drain(&g.store, g.q).await.is_empty());
    assert!(one(&g.client, "SELECT count(*) FROM slipring.message").await > 0);
    g.rotate(0).await;
    assert_eq!(one(&g.client, "SELECT count(*) FROM slipring.message").await, 0);
    for table in ["load", "load_block", "load_part"] {
        assert_eq!(one(&g.client, &format!("SELECT count(*) FROM slipring.{table}")).await, 0);
    }
}

#[tokio::test]
async fn a_deletion_of_the_queue_waits_for_no_load_and_keeps_nobody_else_waiting() {
    // S15.1
    let cluster = Cluster::shared();
    let g = ground(cluster).await;
    let load = g.begin().await;
    g.append(load, 0, &["appended"], 1024).await;
    let appender = cluster.client(&g.database).await;
    let append = format!("BEGIN; SELECT slipring.load_append({load}, 1, ARRAY['a'])");
    run(&appender, &append).await;
    // Who publishes has the load's lock alone once the append has ended, and waits for the queue's.
    let holder = cluster.holder(&g.database, g.q).await;
    let publisher = Arc::clone(&g.store);
    run(&appender, "COMMIT").await;
    let publishing = tokio::spawn(async move { publisher.publish_load(load, 2, at(0)).await });
    waiting(&g.client, "relation", 1).await;
    run(&holder, "SELECT slipring.store_delete_queue(queue_id) FROM slipring.queue").await;
    run(&holder, "COMMIT").await;
    assert_eq!(publishing.await.unwrap().unwrap_err().kind(), ErrorKind::QueueNotFound);
    // An append that stays open holds up neither the deletion nor administration.
    let other = plain(&g.store).await;
    let load = one(&g.client, "SELECT slipring.load_begin('plain', 100)").await;
    let append = format!("BEGIN; SELECT slipring.load_append({load}, 1, ARRAY['a'])");
    run(&appender, &append).await;
    g.store.delete_queue(other).await.unwrap();
    plain(&g.store).await;
    run(&appender, "COMMIT").await;
    // What is left of both goes with the loads that nobody goes on with.
    while one(&g.client, "SELECT count(*) FROM slipring.load").await > 0 {
        let pruned = "SELECT slipring.store_load_prune(4000000000000)";
        run(&g.client, pruned).await;
    }
    assert_eq!(one(&g.client, "SELECT count(*) FROM slipring.load_part").await, 0);
}

#[tokio::test]
async fn a_publication_waits_for_sessions_that_append_and_has_all_they_have_committed() {
    // S15.1, S15.3
    let cluster = Cluster::shared();
    let g = ground(cluster).await;
    let load = one(&g.client, "SELECT slipring.load_begin('plain', 100)").await;
    let (one_of, other) = (cluster.client(&g.database).await, cluster.client(&g.database).await);
    for (session, part) in [(&one_of, 3), (&other, 2)] {
        let append = format!(
            "BEGIN; SELECT slipring.load_append({load}, {part}, ARRAY['{part} a', '{part} b'])"
        );
        run(session, &append).await;
    }
    let publisher = cluster.client(&g.database).await;
    let publish = format!("SELECT slipring.load_publish({load}, 2)");
    let publishing = tokio::spawn(async move { one(&publisher, &publish).await });
    waiting(&g.client, "transactionid", 1).await;
    // Nobody else waits for them.
    send(&g.store, g.q, &["sent"]).await;
    assert_eq!(drain(&g.store, g.q).await, ["sent"]);
    run(&one_of, "ROLLBACK").await;
    run(&other, "COMMIT").await;
    assert_eq!(publishing.await.unwrap(), 2);
    assert_eq!(drain(&g.store, g.q).await, ["2 a", "2 b"]);
}

#[tokio::test]
async fn steps_of_a_load_are_refused_where_they_would_not_be_what_they_seem() {
    let g = ground(Cluster::shared()).await;
    let load = one(&g.client, "SELECT slipring.load_begin('plain', 1)").await;
    run(&g.client, &format!("SELECT slipring.load_append({load}, 0, ARRAY['a'])")).await;
    let refused = async |sql: String| {
        let error = g.client.batch_execute(&sql).await.expect_err(&sql);
        let text = error.as_db_error().unwrap().message().to_owned();
        run(&g.client, "ROLLBACK").await;
        text
    };
    let publish = format!("SELECT slipring.load_publish({load}, 1)");
    let append = format!("SELECT slipring.load_append({load}, 1, ARRAY['b'])");
    let text = refused(format!("BEGIN ISOLATION LEVEL REPEATABLE READ; {append}")).await;
    assert!(text.contains("REPEATABLE READ"), "{text}");
    let send = "SELECT slipring.send('plain', 'x'::text)";
    let text = refused(format!("BEGIN; {send}; {publish}")).await;
    assert!(text.contains("a transaction of its own"), "{text}");
    let text = refused("SELECT slipring.load_publish(2147483648, 1)".to_owned()).await;
    assert!(text.contains("load 2147483648 is not there"), "{text}");
    assert_eq!(one(&g.client, &publish).await, 1);
    assert_eq!(drain(&g.store, g.q).await, ["a"]);
}

#[tokio::test]
async fn arguments_of_a_load_are_refused_by_their_names_with_load_and_queue() {
    // S12.2, S15.2
    let g = ground(Cluster::shared()).await;
    let load = one(&g.client, "SELECT slipring.load_begin('plain', 2)").await;
    for (call, code, says, of_load) in [
        ("load_begin('plain', 0)", "SR007", "parts is 0; give 1 to 1024", false),
        ("load_begin('plain', 1025)", "SR006", "load_parts_reserved_max is 1024", false),
        ("load_reserve(L, 0, NULL)", "SR007", "parts is null; give 1 to 1024", true),
        ("load_reserve(L, 0, 1025)", "SR006", "load_parts_reserved_max is 1024", true),
        ("load_reserve(L, -1)", "SR007", "first is -1; give 0 to 4294967295", true),
        ("load_reserve(L, NULL)", "SR007", "first is null; give 0 to 4294967295", true),
        ("load_reserve(L, 9223372036854775807)", "SR007", "give 0 to 4294967295", true),
        (
            "load_reserve(L, 4294967295, 2)",
            "SR007",
            "with first = 4294967295 give at most 1 for parts",
            true,
        ),
        ("load_append(L, 0, NULL::text[])", "SR007", "bodies is null; give an array", true),
        ("load_append(L, 0, NULL::jsonb[])", "SR007", "bodies is null; give an array", true),
        ("load_append(L, 0, NULL::bytea[])", "SR007", "bodies is null; give an array", true),
        // With a priority out of its range a queue would read the lane of another.
        ("load_append(L, 0, '{}'::text[], 4294967296)", "SR007", "the priority is", false),
        ("load_append(L, 0, '{}'::text[], -1)", "SR007", "the priority is -1", false),
        ("load_append(L, 0, '{}'::text[], NULL)", "SR007", "the priority is null", false),
    ] {
        let sql = format!("SELECT slipring.{}", call.replace("(L,", &format!("({load},")));
        let error = g.client.batch_execute(&sql).await.expect_err(&sql);
        let error = error.as_db_error().unwrap();
        assert_eq!(error.code().code(), code, "{sql}: {error}");
        assert!(error.message().contains(says), "{sql}: {error}");
        let facts: serde_json::Value = serde_json::from_str(error.detail().unwrap()).unwrap();
        assert_eq!(facts["queue"], "plain", "{sql}: {facts}");
        assert_eq!(facts["load"].as_i64(), of_load.then_some(load), "{sql}: {facts}");
    }
    let publish = format!("SELECT slipring.load_publish({load}, NULL)");
    let error = g.client.batch_execute(&publish).await.expect_err(&publish);
    let text = error.as_db_error().unwrap().message().to_owned();
    assert!(text.starts_with("messages is null; give the number"), "{text}");
    // Numbers are reserved for 16 parts at a time; a part of no messages is one.
    let append = |part: i64, bodies: &str| {
        format!("SELECT slipring.load_append({load}, {part}, {bodies})::int::int8")
    };
    for (appended, wanted) in [
        (append(15, "ARRAY['a']"), 1),
        (append(3, "'{}'::text[]"), 1),
        (append(3, "'{}'::jsonb[]"), 0),
    ] {
        assert_eq!(one(&g.client, &appended).await, wanted, "{appended}");
    }
    let other = append(3, "ARRAY['b']");
    let error = g.client.batch_execute(&other).await.expect_err(&other);
    assert!(error.as_db_error().unwrap().message().contains("is there with other messages"));
    // What a part has besides bodies counts as it is stored, however it was written.
    let same = [
        r#"ARRAY['c'], headers => ARRAY['{"a": "1"}']::jsonb[]"#,
        r#"ARRAY['c'], headers => '[0:0]={"{\"a\": 1}"}'::jsonb[]"#,
    ];
    assert_eq!(one(&g.client, &append(4, same[0])).await, 1);
    assert_eq!(one(&g.client, &append(4, same[1])).await, 0);
    let grouped = r#"ARRAY['d'], "group" => '{NULL}'"#;
    assert_eq!(one(&g.client, &append(5, grouped)).await, 1);
    for other in ["ARRAY['d']", "ARRAY['d'], headers => ARRAY[NULL]::jsonb[]"] {
        refused_with(&g.client, &append(5, other), "SR007", "other messages, group").await;
    }
    assert_eq!(one(&g.client, &publish.replace("NULL", "3")).await, 3);
}

#[tokio::test]
async fn a_crash_leaves_a_load_whole_or_shows_that_it_is_not() {
    // S15.4
    let cluster = Cluster::own();
    let g = ground(&cluster).await;
    let (open, published) = (g.begin().await, g.begin().await);
    g.append(open, 0, &["a"], 1024).await;
    g.append(published, 0, &["b", "c"], 1024).await;
    g.store.publish_load(published, 2, at(0)).await.unwrap();
    g.append(open, 1, &["d"], 1024).await;
    cluster.crash();
    let parts = g.store.load_parts(open, 0, 9).await.unwrap();
    // The first part was flushed with the publication that came after it.
    assert!(!parts.is_empty(), "{parts:?}");
    let here = parts.iter().map(|part| part.messages).sum::<u64>();
    assert_eq!(counts(&g.store, g.q).await, [2, 0, 0, 0]);
    if here < 2 {
        g.store.publish_load(open, 2, at(0)).await.expect_err("a part is missing");
        g.append(open, 1, &["d"], 1024).await;
    }
    g.store.publish_load(open, 2, at(0)).await.unwrap();
    let mut all = drain(&g.store, g.q).await;
    all.sort();
    assert_eq!(all, ["a", "b", "c", "d"]);
}

#[tokio::test]
async fn a_load_goes_on_whose_reservation_a_crash_has_taken() {
    // S15.4
    let g = ground(Cluster::shared()).await;
    let load = g.begin().await;
    g.append(load, 0, &["a"], 1024).await;
    // A crash of PostgreSQL takes what is not flushed, the later first.
    let lost = "DELETE FROM slipring.message; DELETE FROM slipring.load_part";
    run(&g.client, &format!("{lost}; DELETE FROM slipring.load_block")).await;
    g.append(load, 1, &["b"], 1024).await;
    g.store.publish_load(load, 2, at(0)).await.expect_err("a part is missing");
    g.append(load, 0, &["a"], 1024).await;
    let messages = vec![NewMessage::new("other"), NewMessage::new("messages")];
    let other = LoadPart { load, part: 1, checksum: 1, now: at(0), messages };
    let refused = g.store.append_load(other).await.expect_err("it is there");
    assert_eq!(refused.kind(), ErrorKind::Invalid);
    assert!(refused.to_string().contains("is there with other messages"), "{refused}");
    g.store.publish_load(load, 2, at(0)).await.unwrap();
    assert_eq!(drain(&g.store, g.q).await, ["a", "b"]);
}

#[tokio::test]
async fn parts_far_from_each_other_leave_the_ready_numbers_one_range() {
    // S15.3
    let g = ground(Cluster::shared()).await;
    let load = g.begin().await;
    // Parts far from each other have numbers of different blocks.
    for part in (0..60).rev() {
        g.append(load, part * 17, &["x"], 1024).await;
    }
    let blocks = "SELECT count(*) FROM slipring.load_block";
    assert!(one(&g.client, blocks).await > 50);
    g.store.publish_load(load, 60, at(0)).await.unwrap();
    assert_eq!(counts(&g.store, g.q).await, [60, 0, 0, 0]);
    assert_eq!(drain(&g.store, g.q).await.len(), 60);
    // With all of it handed out the ready ones are one range again.
    let ranges = "SELECT (SELECT count(*) FROM unnest(s.open[1])) FROM slipring.state s
        ORDER BY s.seq DESC LIMIT 1";
    assert!(one(&g.client, ranges).await <= 2);
    g.store.delete_queue(g.q).await.unwrap();
}

#[tokio::test]
async fn a_load_in_an_open_transaction_keeps_no_other_from_being_ended() {
    // S15.5
    let cluster = Cluster::shared();
    let g = ground(cluster).await;
    let first = one(&g.client, "SELECT slipring.load_begin('plain', 1)").await;
    let other = queue(&g.store, "other", &QueueSettings::default()).await;
    g.store.begin_load(other, at(1)).await.unwrap();
    let user = cluster.begin(&g.database, "READ COMMITTED").await;
    run(&user, &format!("SELECT slipring.load_append({first}, 0, ARRAY['m'::text])")).await;
    let held = cluster.holder(&g.database, g.q).await;
    let prune = "SELECT ended::int::int8 FROM slipring.store_load_prune(4000000000000)";
    for (step, ended) in [("the other", 1), ("none is free", 0)] {
        assert_eq!(one(&g.client, prune).await, ended, "{step}");
    }
    let left = g.store.loads().await.unwrap();
    assert_eq!(left.iter().map(|load| load.id.0 as i64).collect::<Vec<_>>(), [first]);
    run(&user, "ROLLBACK").await;
    assert_eq!(one(&g.client, prune).await, 0, "its queue is held");
    run(&held, "COMMIT").await;
    assert_eq!(one(&g.client, prune).await, 1);
}
