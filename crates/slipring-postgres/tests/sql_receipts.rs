//! What `ack`, `nack` and `extend` make of receipts that are none, and of lists without a type: an
//! error with its place, and nothing has changed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use serde_json::{Value, json};
use slipring::{AdminStore, Fence, MessageId, QueueId, Receipt};
use slipring_conformance::verbs::at;
use slipring_testbed::{Cluster, Database, refused_with, run};
use tokio_postgres::Client;
use tokio_postgres::types::Type;

async fn setup() -> (&'static Cluster, Database, Client) {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let client = cluster.client(&database).await;
    run(&client, "SELECT slipring.create_queue('q')").await;
    (cluster, database, client)
}

/// The facts of the error of a statement, whose kind and text are as expected.
async fn refused(client: &Client, sql: &str, code: &str, says: &str) -> Value {
    let error = refused_with(client, sql, code, says).await;
    serde_json::from_str(error.detail().unwrap_or_default()).unwrap()
}

async fn text(client: &Client, sql: &str) -> String {
    let row = client.query_one(sql, &[]).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    row.get(0)
}

/// Sends messages and receives them, under one lease.
async fn held(client: &Client, count: usize) -> Vec<String> {
    let send = format!("SELECT slipring.send_batch('q', array_fill('a'::text, ARRAY[{count}]))");
    run(client, &send).await;
    let receive = format!("SELECT receipt FROM slipring.receive('q', {count}, '1 hour')");
    let rows = client.query(&receive, &[]).await.unwrap();
    assert_eq!(rows.len(), count);
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn a_receipt_that_is_null_or_empty_is_an_error_with_its_place() {
    // S3.6, S10.6
    let (_, _, client) = setup().await;
    let good = &held(&client, 1).await[0];
    let null = "the receipt is null";
    for verb in ["ack", "nack", "extend"] {
        for (list, says, index) in [
            ("ARRAY[NULL]::text[]".to_owned(), null, 0),
            ("ARRAY[NULL, NULL]::text[]".to_owned(), null, 0),
            (format!("ARRAY['{good}', NULL]"), null, 1),
            (format!("ARRAY['{good}', '{good}', '', NULL]"), "the receipt is empty", 2),
            ("ARRAY['']".to_owned(), "the receipt is empty", 0),
            ("NULL::text".to_owned(), null, 0),
            ("''".to_owned(), "the receipt is empty", 0),
        ] {
            let sql = format!("SELECT slipring.{verb}({list})");
            assert_eq!(refused(&client, &sql, "SR005", says).await["index"], index, "{sql}");
        }
    }
    let reason = "SELECT slipring.nack(ARRAY[NULL]::text[], '0 s', 'why')";
    refused(&client, reason, "SR005", null).await;
    // Nothing has changed, and of none nothing is told.
    for none in ["'{}'::text[]", "NULL::text[]"] {
        assert_eq!(text(&client, &format!("SELECT slipring.nack({none})::text")).await, "{}");
        assert_eq!(text(&client, &format!("SELECT slipring.extend({none})::text")).await, "{}");
    }
    run(&client, &format!("SELECT slipring.ack('{good}')")).await;
}

#[tokio::test]
async fn a_list_without_a_type_is_taken_where_the_answer_can_be_given() {
    // S10.6: some drivers send a list without a type, which is taken for a text.
    let (_, _, client) = setup().await;
    let [a, b, c] = &held(&client, 3).await[..] else { panic!("three") };
    let typed = "the text of an array; give the array the type text[]";
    refused(&client, &format!("SELECT slipring.extend('{{{a},{b}}}')"), "SR005", typed).await;
    let nack = format!("SELECT slipring.nack('{{{a},{b},{a}}}', '0 s')");
    assert_eq!(text(&client, &nack).await, "{ready,ready,ready}");
    assert_eq!(text(&client, &nack).await, "{lease_lost,lease_lost,lease_lost}");
    let why = format!("SELECT slipring.nack('{{{c}}}', '0 s', 'why')");
    assert_eq!(text(&client, &why).await, "{ready}");
    assert_eq!(text(&client, "SELECT slipring.nack('{}')").await, "{}");
    for list in ["{", "{a", "{a}}", "{{a},b}", "{{{{{{{a}}}}}}}"] {
        for verb in ["ack", "nack"] {
            let sql = format!("SELECT slipring.{verb}('{list}')");
            refused(&client, &sql, "SR005", "is no array of receipts; give a receipt").await;
        }
    }
    refused(&client, "SELECT slipring.nack('{a,NULL}')", "SR005", "given here").await;
}

#[tokio::test]
async fn a_parameter_without_a_type_is_a_list_for_ack() {
    // S10.6: what psycopg sends for `slipring.ack(%s)` and a list.
    let (_, _, client) = setup().await;
    let held = held(&client, 3).await;
    let list = format!("{{{}}}", held[..2].join(","));
    for parameter in [&list, &held[2]] {
        let ack = "SELECT slipring.ack($1) IS NULL";
        let rows = client.query_typed(ack, &[(parameter, Type::UNKNOWN)]).await.unwrap();
        assert!(rows[0].get::<_, bool>(0));
    }
    let left = "SELECT count(*)::text FROM slipring.peek('q', 'leased')";
    assert_eq!(text(&client, left).await, "0");
}

#[tokio::test]
async fn a_receipt_of_a_server_is_told_by_its_form() {
    // S3.6
    let (cluster, database, client) = setup().await;
    let store = cluster.store(&database).await;
    let key = store.receipt_key().await.unwrap();
    let receipt = Receipt { queue: QueueId(1), message: MessageId(1 << 62), fence: Fence(7) };
    for text in [key.seal(&receipt), key.seal_at(&receipt, at(1_800_000_000_000))] {
        for verb in ["ack", "nack", "extend"] {
            let sql = format!("SELECT slipring.{verb}('{text}')");
            refused(&client, &sql, "SR005", "of a server's protocol; settle it there").await;
        }
        let other = format!("SELECT slipring.ack('{}')", &text[1..]);
        refused(&client, &other, "SR005", "not one that slipring.receive has given here").await;
    }
}

#[tokio::test]
async fn a_lost_lease_and_a_message_that_is_gone_are_told_with_the_queue() {
    // S3.4, S3.5
    let (_, _, client) = setup().await;
    let gone = &held(&client, 1).await[0];
    run(&client, "SELECT slipring.purge('q')").await;
    let lost = &held(&client, 1).await[0];
    run(&client, &format!("SELECT slipring.nack('{lost}', '0 s')")).await;
    for verb in ["ack", "nack", "extend"] {
        for (receipt, code) in [(gone, "SR003"), (lost, "SR004")] {
            let sql = format!("SELECT slipring.{verb}('{receipt}')");
            let facts = refused(&client, &sql, code, "").await;
            assert_eq!(facts["queue"], json!("q"), "{sql}: {facts}");
            assert!(facts["message"].is_i64(), "{sql}: {facts}");
        }
    }
}
