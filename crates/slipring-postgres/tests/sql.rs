//! The functions for users of SQL: in their transactions, with their rights, against their tricks.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::sync::Arc;

use slipring::lifecycle::Settlement;
use slipring::store::Store;
use slipring::{AdminStore, Headers, LoadPart, LoadStore, MessageState, NewMessage};
use slipring_conformance::verbs::{self, at, bodies, claim, counts};
use slipring_postgres::PostgresStore;
use slipring_testbed::{Cluster, Database, connect, refusal, run};
use tokio_postgres::Client;

async fn setup() -> (&'static Cluster, Database, Client) {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let client = cluster.client(&database).await;
    run(&client, "SELECT slipring.create_queue('q')").await;
    (cluster, database, client)
}

/// The SQLSTATE that a statement fails with.
async fn refused(client: &Client, sql: &str) -> String {
    refusal(client, sql).await.code().code().to_owned()
}

async fn text(client: &Client, sql: &str) -> String {
    let row = client.query_one(sql, &[]).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    row.get(0)
}

async fn receipt(client: &Client) -> String {
    text(client, "SELECT receipt FROM slipring.receive('q')").await
}

async fn receive(client: &Client, queue: &str, n: i32) -> Vec<String> {
    let sql = "SELECT receipt FROM slipring.receive($1, $2)";
    let rows = client.query(sql, &[&queue, &n]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

async fn total(client: &Client) -> i64 {
    let sql = "SELECT (ready + delayed + leased + parked)::int8 FROM slipring.stats('q')";
    client.query_one(sql, &[]).await.unwrap().get(0)
}

async fn user(cluster: &Cluster, database: &Database, role: &str) -> Client {
    let admin = cluster.superuser(&database.name).await;
    let name = format!("{}_{role}", database.name);
    let sql = format!("CREATE ROLE {name} LOGIN PASSWORD 'test'; GRANT slipring_{role} TO {name}");
    run(&admin, &sql).await;
    connect(&cluster.url(&name, "test", &database.name)).await
}

#[tokio::test]
async fn bodies_of_every_kind_and_all_that_goes_with_them_come_back() {
    let (cluster, database, client) = setup().await;
    run(
        &client,
        r#"SELECT slipring.send('q', '\x00ff'::bytea), slipring.send('q', '{"a": 1}'::jsonb),
           slipring.send('q', 'text'::text, priority => 7, "group" => 'g', dedup_id => 'd',
               headers => '{"kind": "greeting"}'::jsonb),
           slipring.send_batch('q', ARRAY['x', 'y']::text[])"#,
    )
    .await;
    let store = cluster.store(&database).await;
    let q = store.queues().await.unwrap()[0].id;
    let taken = claim(&store, q, 10, at(0)).await;
    assert_eq!(bodies(&taken)[0], "text", "the best priority comes first");
    let first = &taken[0].message;
    assert_eq!((first.group.as_deref(), first.dedup_id.as_deref()), (Some("g"), Some("d")));
    assert_eq!(first.headers.as_ref().unwrap()["kind"], "greeting");
    assert_eq!(taken[1].message.body.as_ref(), [0, 255]);
    assert_eq!(bodies(&taken)[2..], [r#"{"a": 1}"#, "x", "y"]);
    assert!(taken[1..].windows(2).all(|pair| pair[0].message.id < pair[1].message.id));
}

#[tokio::test]
async fn headers_with_any_character_keep_nobody_from_sending_and_receiving() {
    let (cluster, database, client) = setup().await;
    let store = cluster.store(&database).await;
    let q = store.queues().await.unwrap()[0].id;
    let mut odd = NewMessage::new("odd");
    let headers = Headers::from([("a\0".to_owned(), "\0\u{1}0".to_owned())]);
    odd.headers = Some(Arc::new(headers));
    let messages = vec![odd, NewMessage::new("neighbour")];
    let sent = verbs::try_send(&store, q, messages.clone(), at(0)).await;
    assert_eq!(sent.expect("all are stored").len(), 2);
    let load = store.begin_load(q, at(0)).await.unwrap().id;
    let part = LoadPart { load, part: 0, checksum: 1, now: at(0), messages: messages.clone() };
    store.append_load(part).await.unwrap();
    store.publish_load(load, 2, at(0)).await.unwrap();
    let shown = text(
        &client,
        "SELECT string_agg(convert_from(body, 'UTF8') || coalesce(headers::text, ''), ' '
             ORDER BY id) FROM slipring.receive('q', 2)",
    )
    .await;
    assert_eq!(shown, r#"odd{"a\u00010": "\u00010\u000110"} neighbour"#);
    let taken = claim(&store, q, 10, at(0)).await;
    assert_eq!(bodies(&taken), ["odd", "neighbour"], "nothing is set aside");
    assert_eq!(taken[0].message.headers, messages[0].headers);
}

#[tokio::test]
async fn an_ack_in_the_callers_transaction_takes_effect_if_and_only_if_it_commits() {
    // S10.2
    let (_, _, client) = setup().await;
    run(&client, "CREATE TABLE result (a int); SELECT slipring.send('q', 'job'::text)").await;
    let receipt = receipt(&client).await;
    let work = format!("BEGIN; INSERT INTO result VALUES (1); SELECT slipring.ack('{receipt}')");
    run(&client, &format!("{work}; ROLLBACK")).await;
    assert_eq!(total(&client).await, 1);
    run(&client, &format!("{work}; COMMIT")).await;
    assert_eq!(total(&client).await, 0);
    assert_eq!(text(&client, "SELECT count(*)::text FROM result").await, "1");
    // A second time it has gone, and takes the transaction along.
    assert_eq!(refused(&client, &work).await, "SR003");
    run(&client, "ROLLBACK").await;
    assert_eq!(text(&client, "SELECT count(*)::text FROM result").await, "1");
}

#[tokio::test]
async fn a_message_sent_and_received_in_one_transaction_is_not_handed_out() {
    // S10.5
    let (_, _, client) = setup().await;
    run(&client, "BEGIN; SELECT slipring.send('q', 'own'::text)").await;
    let sql = "SELECT count(*)::text FROM slipring.receive('q', 10)";
    assert_eq!(text(&client, sql).await, "0");
    run(&client, "COMMIT").await;
    assert_eq!(text(&client, sql).await, "1");
}

#[tokio::test]
async fn a_lost_lease_fails_the_transaction_that_acks() {
    // S10.3
    let (cluster, database, client) = setup().await;
    run(&client, "SELECT slipring.send('q', 'job'::text)").await;
    let first = receipt(&client).await;
    let store: Arc<PostgresStore> = cluster.store(&database).await;
    let q = store.queues().await.unwrap()[0].id;
    // The lease lapses, and somebody else gets the message.
    let later = slipring::Timestamp::from_millis(i64::MAX as u64 / 2);
    store.expire(later).await.unwrap();
    let second = receipt(&client).await;
    for verb in ["ack", "nack", "extend"] {
        let sql = format!("SELECT slipring.{verb}('{first}')");
        assert_eq!(refused(&client, &sql).await, "SR004", "{verb}");
    }
    assert_eq!(counts(&store, q).await, [0, 0, 1, 0]);
    run(&client, &format!("SELECT slipring.ack('{second}')")).await;
    let forged = second.replace(|c: char| c.is_ascii_digit(), "z");
    for text in [forged.as_str(), "", "x", "ü"] {
        assert_eq!(refused(&client, &format!("SELECT slipring.ack('{text}')")).await, "SR005");
    }
}

#[tokio::test]
async fn several_receipts_are_given_back_or_prolonged_each_for_itself() {
    // S10.6
    let (cluster, database, client) = setup().await;
    let more = "SELECT slipring.create_queue('r', '{\"max_attempts\": 1}'),
                slipring.send_batch('q', ARRAY['a', 'b', 'c', 'd', 'e']::text[]),
                slipring.send_batch('r', ARRAY['f', 'g']::text[])";
    run(&client, more).await;
    let mut receipts = receive(&client, "q", 5).await;
    receipts.extend(receive(&client, "r", 2).await);
    let [a, b, c, d, e, f, g] = <[String; 7]>::try_from(receipts).unwrap();
    run(&client, &format!("SELECT slipring.ack('{b}'), slipring.nack('{c}', '0 s')")).await;
    let [c_again] = <[String; 1]>::try_from(receive(&client, "q", 5).await).unwrap();
    // Of two queues, one of them twice, and none of them in order.
    let given = [&f, &b, &e, &c, &a, &e];
    let nack = "SELECT slipring.nack($1::text[], '1 hour')";
    let told: Vec<String> = client.query_one(nack, &[&given.as_slice()]).await.unwrap().get(0);
    let lost = ["message_gone", "delayed", "lease_lost", "delayed", "delayed"];
    assert_eq!(told, [&["parked"], lost.as_slice()].concat());
    let extend = "SELECT ARRAY(SELECT t > now() + interval '59 min'
                        FROM unnest(slipring.extend($1::text[], '1 hour')) t)";
    let given = [&g, &a, &d, &c_again];
    let row = client.query_one(extend, &[&given.as_slice()]).await.unwrap();
    let told: Vec<Option<bool>> = row.get(0);
    assert_eq!(told, [Some(true), None, Some(true), Some(true)]);
    let store = cluster.store(&database).await;
    let queues = store.queues().await.unwrap();
    assert_eq!(counts(&store, queues[0].id).await, [0, 2, 2, 0]);
    assert_eq!(counts(&store, queues[1].id).await, [0, 0, 1, 1]);
    // Whatever the bounds of the array; the older hand-out of a message beside the newer one.
    let bounds = format!("SELECT slipring.nack('[0:2]={{{c},{c_again},{c}}}'::text[])::text");
    assert_eq!(text(&client, &bounds).await, "{lease_lost,ready,lease_lost}");
    let many = "SELECT slipring.nack(array_fill('x'::text, ARRAY[10001]))";
    assert_eq!(refused(&client, many).await, "SR006");
    // What is no receipt is refused with all that stands beside it.
    for verb in ["nack", "extend"] {
        let sql = format!("SELECT slipring.{verb}(ARRAY['{d}', 'x'])");
        assert_eq!(refused(&client, &sql).await, "SR005", "{verb}");
        let none = format!("SELECT cardinality(slipring.{verb}('{{}}'::text[]))::text");
        assert_eq!(text(&client, &none).await, "0", "{verb}");
    }
    assert_eq!(counts(&store, queues[0].id).await, [1, 2, 1, 0]);
}

#[tokio::test]
async fn an_open_ack_keeps_its_message_from_everybody_else() {
    // S10.2
    let (cluster, database, client) = setup().await;
    run(&client, "SELECT slipring.send('q', 'job'::text)").await;
    let receipt = receipt(&client).await;
    let store = cluster.store(&database).await;
    let q = store.queues().await.unwrap()[0].id;
    run(&client, &format!("BEGIN; SELECT slipring.ack('{receipt}')")).await;
    let later = slipring::Timestamp::from_millis(i64::MAX as u64 / 2);
    store.expire(later).await.unwrap();
    assert!(claim(&store, q, 1, later).await.is_empty());
    run(&client, "COMMIT").await;
    store.expire(later).await.unwrap();
    assert!(claim(&store, q, 1, later).await.is_empty());
    assert_eq!(counts(&store, q).await, [0; 4]);
}

#[tokio::test]
async fn queues_are_administered_by_sql() {
    let (cluster, database, client) = setup().await;
    let store = cluster.store(&database).await;
    let q = store.queues().await.unwrap()[0].id;
    run(&client, "SELECT slipring.send_batch('q', ARRAY['a', 'b']::text[])").await;
    run(&client, "SELECT slipring.pause('q')").await;
    assert!(claim(&store, q, 9, at(0)).await.is_empty());
    run(&client, "SELECT slipring.resume('q')").await;
    let taken = claim(&store, q, 1, at(0)).await;
    let park = Settlement::Park { priority: None };
    verbs::settle(&store, q, &taken[0], park, at(0)).await.unwrap();
    assert_eq!(verbs::peek(&store, q, MessageState::Parked).await, ["a"]);
    let sql = "SELECT convert_from(body, 'UTF8') FROM slipring.peek('q', 'parked')";
    assert_eq!(text(&client, sql).await, "a");
    let set = r#"SELECT slipring.configure('q', '{"max_attempts": 3}')"#;
    run(&client, set).await;
    assert_eq!(store.queues().await.unwrap()[0].settings.max_attempts, Some(3));
    for wrong in [r#"{"max_attempts": 0}"#, r#"{"no_such": 1}"#, r#"{"fifo": true}"#] {
        let state = refused(&client, &format!("SELECT slipring.configure('q', '{wrong}')")).await;
        assert!(["SR007", "SR006"].contains(&state.as_str()), "{wrong}: {state}");
    }
    assert_eq!(refused(&client, "SELECT slipring.send('none', 'a'::text)").await, "SR001");
    run(&client, "SELECT slipring.purge('q')").await;
    assert_eq!(counts(&store, q).await, [0; 4]);
}

#[tokio::test]
async fn each_role_may_do_its_part_and_nothing_else() {
    let (cluster, database, client) = setup().await;
    let producer = user(cluster, &database, "producer").await;
    let consumer = user(cluster, &database, "consumer").await;
    let admin = user(cluster, &database, "admin").await;
    run(&producer, "SELECT slipring.send('q', 'a'::text)").await;
    for sql in [
        "SELECT slipring.receive('q')",
        "SELECT slipring.peek('q')",
        "SELECT body FROM slipring.message",
        "SELECT receipt_key FROM slipring.store",
        "SELECT slipring.purge('q')",
        "SELECT slipring.create_queue('mine')",
        "INSERT INTO slipring.queue (name) VALUES ('mine')",
    ] {
        assert_eq!(refused(&producer, sql).await, "42501", "{sql}");
    }
    run(&consumer, &format!("SELECT slipring.ack('{}')", receipt(&consumer).await)).await;
    for sql in [
        "SELECT slipring.configure('q', '{}')",
        "SELECT slipring.pause('q')",
        "SELECT slipring.purge('q')",
        "SELECT receipt_key FROM slipring.store",
        "DELETE FROM slipring.message",
        "SELECT slipring.store_purge(1, 10, 0)",
    ] {
        assert_eq!(refused(&consumer, sql).await, "42501", "{sql}");
    }
    run(&admin, "SELECT slipring.create_queue('more'); SELECT slipring.pause('more')").await;
    let stranger = format!("CREATE ROLE {}_x LOGIN PASSWORD 'test'", database.name);
    run(&cluster.superuser("postgres").await, &stranger).await;
    let url = cluster.url(&format!("{}_x", database.name), "test", &database.name);
    let stranger = connect(&url).await;
    assert_eq!(refused(&stranger, "SELECT slipring.send('q', 'a'::text)").await, "42501");
    drop(client);
}

#[tokio::test]
async fn a_search_path_or_a_name_full_of_sql_changes_nothing() {
    let (cluster, database, client) = setup().await;
    let admin = cluster.superuser(&database.name).await;
    run(&admin, "GRANT CREATE ON SCHEMA public TO PUBLIC").await;
    let producer = user(cluster, &database, "producer").await;
    // Functions and tables of the caller's own stand before those of the system.
    run(
        &producer,
        "CREATE FUNCTION public.now_ms() RETURNS bigint LANGUAGE sql AS 'SELECT 1/0::bigint';
         CREATE FUNCTION public.cardinality(anyarray) RETURNS int LANGUAGE sql AS 'SELECT 1/0';
         CREATE FUNCTION public.convert_to(text, name) RETURNS bytea LANGUAGE sql AS
             'SELECT (1/0)::text::bytea';
         CREATE TEMP TABLE queue (queue_id int, name text);
         CREATE TEMP TABLE store (receipt_key bytea);
         SET search_path = pg_temp, public, pg_catalog, slipring",
    )
    .await;
    run(&producer, "SELECT slipring.send('q', 'a'::text, dedup_id => 'x')").await;
    run(&producer, "SELECT slipring.send('q', '[]'::jsonb)").await;
    assert_eq!(total(&client).await, 2);
    for name in ["q'; DROP TABLE slipring.queue; --", "q\"", "a b", "%I", ""] {
        let quoted = name.replace('\'', "''");
        let sql = format!("SELECT slipring.create_queue('{quoted}')");
        assert_eq!(refused(&client, &sql).await, "SR007", "{name:?}");
        let sql = format!("SELECT slipring.send('{quoted}', 'a'::text)");
        assert_eq!(refused(&producer, &sql).await, "SR001", "{name:?}");
    }
    assert_eq!(total(&client).await, 2);
}
