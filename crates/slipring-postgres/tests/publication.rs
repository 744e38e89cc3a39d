//! A publication for all tables of the database, for logical replication of the user's own, stops
//! no verb: PostgreSQL refuses to change published rows that it could not tell apart.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::time::Duration;

use slipring::admin::AdminStore;
use slipring::lifecycle::Settlement;
use slipring::store::{AppendBatch, Store};
use slipring::{ErrorKind, LoadPart, LoadStore, MoveRequest, NewMessage, QueueName, QueueSettings};
use slipring_conformance::verbs::{ack_all, at, claim, counts, drain, queue, send, settle};
use slipring_testbed::{Cluster, one, rotate, rotate_until, run};
use tokio_postgres::Client;

const PUBLISH: &str = "CREATE PUBLICATION everything FOR ALL TABLES";

#[tokio::test]
async fn every_verb_works_beside_a_publication_for_all_tables() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let store = cluster.rotating_store(&database, 1).await;
    let admin = cluster.superuser(&database.name).await;
    run(&admin, PUBLISH).await;
    let published = "SELECT count(*) FROM pg_publication_tables WHERE schemaname = 'slipring'";
    assert!(one(&admin, published).await > 30);

    let dead = queue(&store, "dead", &QueueSettings::default()).await;
    let settings = QueueSettings {
        max_attempts: Some(1),
        dead_letter: Some(QueueName::new("dead").unwrap()),
        messages_max: Some(2),
        ..QueueSettings::default()
    };
    let q = queue(&store, "q", &settings).await;
    // A refused message leaves its deduplication id.
    let message = |id: &str| NewMessage::new(id.to_owned()).dedup_id(id.to_owned());
    let messages = ["a", "b", "c"].iter().map(|id| message(id)).collect();
    let sent = store
        .append(AppendBatch { queue: q, now: at(0), messages, units: vec![1; 3] })
        .await
        .unwrap();
    assert_eq!(sent.iter().filter(|answer| answer.is_err()).count(), 1);
    let refused = sent.into_iter().find_map(Result::err).unwrap();
    assert_eq!(refused.kind(), ErrorKind::LimitExceeded);
    let held = claim(&store, q, 2, at(0)).await;
    ack_all(&store, q, &held[..1], at(0)).await;
    let nack = Settlement::Nack { delay: Some(Duration::ZERO), priority: None, reason: None };
    settle(&store, q, &held[1], nack, at(0)).await.unwrap();
    let back = MoveRequest { source: dead, target: None, limit: 10 };
    assert_eq!(store.move_messages(back, at(0)).await.unwrap().len(), 1);
    assert_eq!(drain(&store, q).await, ["b"]);
    let settings = QueueSettings { messages_max: None, ..settings };
    store.configure(q, &settings, at(1)).await.unwrap();
    for publish in [true, false] {
        let load = store.begin_load(q, at(0)).await.unwrap().id;
        let messages = vec![NewMessage::new("loaded".to_owned())];
        let part = LoadPart { load, part: 0, checksum: 1, now: at(0), messages };
        assert!(store.append_load(part).await.unwrap());
        if publish {
            store.publish_load(load, 1, at(0)).await.unwrap();
        } else {
            store.abandon_load(load).await.unwrap();
        }
    }
    send(&store, q, &["purged"]).await;
    assert_eq!(store.purge(q, 10, at(100)).await.unwrap(), 2);
    for part in ["queues", "journal", "shelf", "dedup"] {
        rotate(&admin, part, at(1_000_000), "COMMIT").await;
    }
    send(&store, q, &["kept", "held"]).await;
    let held = claim(&store, q, 1, at(1_000_000)).await;
    run(&admin, "SELECT slipring.store_import()").await;
    assert_eq!(drain(&store, q).await, ["held"]);
    ack_all(&store, q, &held, at(1_000_000)).await;
    store.delete_queue(q).await.unwrap();
    rotate(&admin, "places", at(1_000_000), "COMMIT").await;
    assert_eq!(counts(&store, dead).await, [0; 4]);
}

/// Receipts of the next messages of a queue.
async fn received(client: &Client, queue: &str, n: u32) -> Vec<String> {
    let sql = format!("SELECT receipt FROM slipring.receive('{queue}', {n}, '1 hour')");
    let rows = client.query(&sql, &[]).await.unwrap();
    assert_eq!(rows.len(), n as usize, "{queue}");
    rows.iter().map(|row| row.get(0)).collect()
}

/// The verbs of SQL in a queue that has nothing ready.
async fn verbs_of_sql(client: &Client, q: &str) {
    let group = if q.starts_with("fifo") { ", \"group\" => 'g'" } else { "" };
    let one_by_one = format!(
        "SELECT slipring.send('{q}', 'a'::text, dedup_id => 'a'{group});
         SELECT slipring.send('{q}', 'a'::text, dedup_id => 'a'{group});
         SELECT slipring.send('{q}', 'b'::text, delay => '1 hour'{group});
         SELECT slipring.purge('{q}')"
    );
    run(client, &one_by_one).await;
    for _ in 0..3 {
        run(client, &format!("SELECT slipring.send('{q}', 'a'::text{group})")).await;
    }
    let held = received(client, q, 3).await;
    for call in [
        format!("extend('{}', '1 hour')", held[0]),
        format!("extend(ARRAY['{}', '{}'], '1 hour')", held[0], held[1]),
        format!("ack('{}')", held[0]),
        format!("nack('{}', '0 s', 'why')", held[1]),
        format!("nack(ARRAY['{}'], '0 s')", held[2]),
        format!("pause('{q}')"),
        format!("resume('{q}')"),
        format!("redrive('{q}', 'dead')"),
        format!("set_aside('{q}')"),
        format!("configure('{q}', '{{\"max_attempts\": 9}}')"),
        format!("grant('consumer', 'slipring_consumer', '{q}')"),
        format!("revoke('consumer', 'slipring_consumer', '{q}')"),
    ] {
        run(client, &format!("SELECT slipring.{call}")).await;
    }
    run(client, &format!("SELECT slipring.send('{q}', 'a'::text{group})")).await;
    let older = format!("SELECT slipring.ack('{}')", received(client, q, 1).await[0]);
    run(client, &format!("BEGIN ISOLATION LEVEL REPEATABLE READ; {older}; COMMIT")).await;
    run(client, &format!("SELECT slipring.send('{q}', 'a'::text{group})")).await;
    let forget = format!("SELECT slipring.configure('{q}', '{{\"retention_ms\": 0}}')");
    run(client, &forget).await;
    run(client, "CALL slipring.maintain()").await;
    let left = format!("SELECT count(*) FROM slipring.peek('{q}')");
    assert_eq!(one(client, &left).await, 0, "{q}: retention");
    run(client, &format!("SELECT slipring.configure('{q}', '{{\"retention_ms\": null}}')")).await;
}

#[tokio::test]
async fn every_verb_of_sql_works_beside_a_publication_for_all_tables() {
    let cluster = Cluster::shared();
    let (database, _store, client) = cluster.opened().await;
    let admin = cluster.superuser(&database.name).await;
    for own in [2000, 0] {
        // The second round's queues share tables.
        run(&client, &format!("UPDATE slipring.store SET own_tables_max = {own}")).await;
        let make = format!(
            "SELECT slipring.create_queue('plain{own}'), slipring.create_queue('broken{own}');
             SELECT slipring.create_queue('fifo{own}', '{{\"fifo\": true}}');
             SELECT slipring.send('broken{own}', 'broken'::text)"
        );
        run(&client, &make).await;
    }
    run(&client, "SELECT slipring.create_queue('dead'), slipring.create_queue('growing')").await;
    run(&client, "UPDATE slipring.message SET headers = '{' WHERE body = 'broken'").await;
    run(&admin, PUBLISH).await;
    for own in [2000, 0] {
        let aside = format!("SELECT slipring.set_aside('broken{own}')");
        assert_eq!(one(&client, &aside).await, 1);
        for kind in ["plain", "fifo"] {
            verbs_of_sql(&client, &format!("{kind}{own}")).await;
        }
    }
    // A queue that shares tables gets its own.
    let send = "SELECT slipring.send_batch('growing', array_fill('m'::text, ARRAY[100]))";
    run(&client, send).await;
    let step = "SELECT coalesce(max(step), -1)::int8 FROM slipring.place_move";
    let moves = async |part, wanted: i64| {
        rotate_until(&client, part, at(1), async || one(&client, step).await == wanted).await;
    };
    moves("shared", 0).await;
    moves("moves", 3).await;
    assert_eq!(received(&client, "growing", 100).await.len(), 100);
    moves("moves", -1).await;
    run(&client, "SELECT slipring.purge('growing')").await;
    for part in ["queues", "shared", "moves", "journal", "shelf", "dedup", "places"] {
        for _ in 0..10 {
            rotate(&client, part, at(1_000_000), "COMMIT").await;
        }
    }
    run(&client, "SELECT slipring.store_delete_queue(queue_id) FROM slipring.queue").await;
    rotate(&client, "places", at(1_000_000), "COMMIT").await;
}

#[tokio::test]
async fn rows_of_published_tables_are_set_aside_once_no_open_transaction_uses_these() {
    let cluster = Cluster::shared();
    let (database, store, client) = cluster.opened().await;
    // Both queues share tables.
    run(&client, "UPDATE slipring.store SET own_tables_max = 0").await;
    let q = queue(&store, "q", &QueueSettings::default()).await;
    queue(&store, "other", &QueueSettings::default()).await;
    send(&store, q, &["leased", "leased too"]).await;
    claim(&store, q, 2, at(0)).await;
    send(&store, q, &["broken"]).await;
    let wrong = "UPDATE slipring.message SET headers = '{' WHERE body = 'broken';
        UPDATE slipring.lease SET n = -2 WHERE n = 2";
    run(&client, wrong).await;
    let admin = cluster.superuser(&database.name).await;
    run(&admin, PUBLISH).await;
    let user = cluster.begin(&database, "READ COMMITTED").await;
    run(&user, "SELECT slipring.send('other', 'open'::text)").await;
    let aside = "SELECT slipring.set_aside('q')";
    assert_eq!(one(&client, aside).await, 0, "the table of messages is in use");
    let kept = "SELECT count(*) FROM slipring.aside";
    assert_eq!(one(&client, kept).await, 0);
    // Nobody stands behind it, also where its transaction stays open.
    run(&client, &format!("BEGIN; {aside}")).await;
    run(&user, "SELECT slipring.send('other', 'more'::text); COMMIT").await;
    run(&client, "COMMIT").await;
    assert_eq!(one(&client, aside).await, 2, "a message and a lease");
    let kinds = "SELECT string_agg(kind, ' ' ORDER BY kind) FROM slipring.aside";
    let kinds: String = client.query_one(kinds, &[]).await.unwrap().get(0);
    assert_eq!(kinds, "lease message");
    assert_eq!(one(&client, "SELECT count(*) FROM slipring.receive('other', 9)").await, 2);
}

#[tokio::test]
async fn every_table_of_which_rows_change_has_a_replica_identity() {
    let (_database, _store, client) = Cluster::shared().opened().await;
    // The tables, and their partitions, that some function updates or deletes from by name.
    let changed = r"WITH RECURSIVE named AS (
            SELECT DISTINCT lower(m[1]) AS name FROM pg_proc p CROSS JOIN LATERAL regexp_matches(
                p.prosrc, '(?:UPDATE|DELETE FROM)\s+slipring\.([a-z_0-9]+)', 'gi') m
            WHERE p.pronamespace = 'slipring'::regnamespace),
        every AS (
            SELECT ('slipring.' || n.name)::regclass::oid AS id FROM named n
            UNION SELECT i.inhrelid FROM every e JOIN pg_inherits i ON i.inhparent = e.id)
        SELECT c.relname::text, c.relreplident = 'f' OR EXISTS (
            SELECT FROM pg_index x WHERE x.indrelid = c.oid AND (
                c.relreplident = 'd' AND x.indisprimary
                OR c.relreplident = 'i' AND x.indisreplident))
        FROM every e JOIN pg_class c ON c.oid = e.id WHERE c.relkind = 'r'";
    let rows = client.query(changed, &[]).await.unwrap();
    let names = |told: bool| -> Vec<String> {
        let which = rows.iter().filter(|row| row.get::<_, bool>(1) == told);
        which.map(|row| row.get(0)).collect()
    };
    assert_eq!(names(false), [] as [String; 0], "tables without a replica identity");
    for known in ["queue", "dedup_0", "place_move", "load_part", "lock_row"] {
        assert!(names(true).iter().any(|name| name == known), "{known} is looked at");
    }
}
