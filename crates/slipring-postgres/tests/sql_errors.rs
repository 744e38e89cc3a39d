//! What errors of the functions for users of SQL say: why a lease is lost, which limit would be
//! passed and by how much, and the queue by its name.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::sync::Arc;

use serde_json::{Value, json};
use slipring_testbed::{Cluster, Database, refused_with, run, waiting};
use tokio_postgres::Client;
use tokio_postgres::error::DbError;

async fn setup() -> (&'static Cluster, Database, Client) {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let client = cluster.client(&database).await;
    run(&client, "SELECT slipring.create_queue('q')").await;
    (cluster, database, client)
}

/// The error of a statement: its code, what it says, and the facts beside it.
fn facts(error: &DbError) -> Value {
    error.detail().map_or(Value::Null, |facts| serde_json::from_str(facts).unwrap())
}

async fn refusal(client: &Client, sql: &str) -> (String, String, Value) {
    let error = slipring_testbed::refusal(client, sql).await;
    (error.code().code().to_owned(), error.message().to_owned(), facts(&error))
}

async fn refused(client: &Client, sql: &str, code: &str, says: &str) -> Value {
    facts(&refused_with(client, sql, code, says).await)
}

async fn receipt(client: &Client, lease: &str) -> String {
    let sql = format!("SELECT receipt FROM slipring.receive('q', 1, '{lease}')");
    client.query_one(&sql, &[]).await.unwrap_or_else(|error| panic!("{sql}: {error:?}")).get(0)
}

#[tokio::test]
async fn a_duration_out_of_range_is_told_with_argument_unit_limit_and_queue() {
    // S12.2
    let (_, _, client) = setup().await;
    run(&client, "SELECT slipring.send('q', 'a'::text)").await;
    let held = receipt(&client, "1 minute").await;
    for (call, argument) in [
        ("send('q', 'a'::text, delay => 'D')".to_owned(), "delay"),
        ("send_batch('q', '{a}'::text[], delay => 'D')".to_owned(), "delay"),
        ("send_batch('q', '{}'::text[], delay => 'D')".to_owned(), "delay"),
        (format!("nack('{held}', 'D')"), "delay"),
        (format!("nack(ARRAY['{held}', '{held}'], 'D')"), "delay"),
        (format!("extend('{held}', 'D')"), "lease"),
        ("receive('q', 1, 'D')".to_owned(), "lease"),
    ] {
        let at = |duration: &str| format!("SELECT slipring.{}", call.replace("'D'", duration));
        let says = format!("the {argument} is -1.5 s; give 0 to 4294967296 s");
        let low = refused(&client, &at("'-1.5 s'"), "SR007", &says).await;
        let says =
            format!("duration_seconds_max is 4294967296 s, but the {argument} is 6311520000 s");
        let high = refused(&client, &at("'200 years'"), "SR006", &says).await;
        assert_eq!((&low["asked"], &high["asked"]), (&json!(-1.5), &json!(6_311_520_000_u64)));
        assert_eq!(high["limit"], "duration_seconds_max", "{call}");
        assert_eq!(high["limit_value"], 4_294_967_296_u64, "{call}");
        assert_eq!((&low["queue"], &high["queue"]), (&json!("q"), &json!("q")), "{call}");
    }
    for (call, queue) in [("configure('q', 'S')", "q"), ("create_queue('new', 'S')", "new")] {
        let settings = r#"'{"dedup_window_ms": 4294967296001}'"#;
        let sql = format!("SELECT slipring.{}", call.replace("'S'", settings));
        let facts = refused(&client, &sql, "SR007", "dedup_window_ms is 4294967296001").await;
        assert_eq!(facts["queue"], queue);
    }
}

#[tokio::test]
async fn a_limit_that_would_be_passed_is_told_with_the_queue() {
    // S12.2
    let (_, _, client) = setup().await;
    let batch = "slipring.send_batch('q', array_fill('x'::text, ARRAY[10001]))";
    let attributes =
        "jsonb_build_object('attributes', jsonb_build_object('a', repeat('x', 262144)))";
    for (call, limit, asked) in [
        ("slipring.receive('q', 10001)", "receive_messages_max", 10_001),
        ("slipring.redrive('q', NULL, 10001)", "redrive_messages_max", 10_001),
        ("slipring.redrive('q', array_fill(1, ARRAY[1001]))", "redrive_ids_max", 1001),
        ("slipring.peek('q', NULL, 1001)", "peek_messages_max", 1001),
        (batch, "batch_messages_max", 10_001),
        ("slipring.send('q', 'a'::text, \"group\" => repeat('g', 129))", "group_bytes_max", 129),
        ("slipring.send('q', 'a'::text, dedup_id => repeat('d', 130))", "dedup_id_bytes_max", 130),
        (&format!("slipring.configure('q', {attributes})"), "queue_attribute_bytes_max", 262_145),
    ] {
        let facts = refused(&client, &format!("SELECT {call}"), "SR006", limit).await;
        assert_eq!((&facts["limit"], &facts["asked"]), (&json!(limit), &json!(asked)), "{call}");
        assert_eq!(facts["queue"], "q", "{call}");
    }
    // The numbers of a transaction are used up.
    let send = "SELECT slipring.send('q', 'a'::text)";
    let more = "SELECT slipring.send('q', 'a'::text, delay => '1 s')";
    let used =
        "SELECT setval(slipring.numbers(), (pg_current_xact_id()::text::int8 << 18) + 262143)";
    let sends = format!("{send}; {used}; {more}");
    let facts = refused(&client, &sends, "SR006", "transaction_messages_max is 262143").await;
    assert_eq!((&facts["queue"], &facts["asked"]), (&json!("q"), &json!(262_144)));
    for (call, says) in [
        ("slipring.send('q', 'a'::text, headers => '[1]')", "headers are a JSON array"),
        ("slipring.send_batch('q', '{a}'::text[], dedup_ids => '{}')", "dedup_ids has 0 entries"),
        ("slipring.redrive('q', NULL, 0)", "n is 0; give 1 to 10000"),
        ("slipring.peek('q', 'late')", "the state is 'late'"),
        ("slipring.configure('q', '{\"max_attempts\": 0}')", "max_attempts is 0"),
    ] {
        let facts = refused(&client, &format!("SELECT {call}"), "SR007", says).await;
        assert_eq!(facts["queue"], "q", "{call}");
    }
}

#[tokio::test]
async fn a_batch_of_none_is_checked_all_the_same() {
    let (_, _, client) = setup().await;
    for bodies in ["'{}'::text[]", "'{}'::bytea[]", "NULL::jsonb[]"] {
        for (queue, given, code) in [
            ("no", "priority => 1", "SR001"),
            ("q", "priority => -1", "SR007"),
            ("q", "priority => NULL", "SR007"),
            ("q", "delay => '-1 s'", "SR007"),
            ("q", "\"group\" => repeat('g', 129)", "SR006"),
            ("q", "dedup_ids => '{a}'", "SR007"),
        ] {
            let sql = format!("SELECT slipring.send_batch('{queue}', {bodies}, {given})");
            refused(&client, &sql, code, "").await;
        }
        run(&client, &format!("SELECT slipring.send_batch('q', {bodies}, priority => 7)")).await;
    }
}

#[tokio::test]
async fn why_a_lease_is_lost_is_told_as_far_as_it_is_known() {
    // S3.3, S3.4
    let (cluster, database, client) = setup().await;
    let other = cluster.client(&database).await;
    let ended = "it was given back before, or its deadline had passed";
    let verbs = |receipt: &str| {
        ["nack", "extend", "ack"].map(|verb| format!("SELECT slipring.{verb}('{receipt}')"))
    };
    for first in ["of the log", "of the shelf"] {
        if first == "of the log" {
            run(&client, "SELECT slipring.send('q', 'a'::text)").await;
        }
        let held = receipt(&client, "1 hour").await;
        // Given back by this transaction, and by an earlier one.
        for sql in verbs(&held) {
            let both = format!("SELECT slipring.nack('{held}', '0 s'); {sql}");
            refused(&client, &both, "SR004", ended).await;
        }
        run(&client, &format!("SELECT slipring.nack('{held}', '0 s')")).await;
        for sql in verbs(&held) {
            refused(&client, &sql, "SR004", ended).await;
        }
        // Handed out again.
        let newer = receipt(&other, "1 hour").await;
        for sql in verbs(&held) {
            refused(&client, &sql, "SR004", ": another hand-out is newer").await;
        }
        run(&other, &format!("SELECT slipring.nack('{newer}', '0 s')")).await;
    }
    run(&client, "SELECT slipring.purge('q'), slipring.send('q', 'a'::text)").await;
    for _path in ["of the log", "of the shelf"] {
        let late = receipt(&client, "0 s").await;
        for sql in &verbs(&late)[..2] {
            refused(&client, sql, "SR004", ": its deadline has passed").await;
        }
        run(&client, &format!("SELECT slipring.ack('{late}')")).await;
        let sends = "SELECT slipring.send('q', 'a'::text, 77)";
        run(&client, sends).await;
    }
    let held = receipt(&client, "1 hour").await;
    run(&other, &format!("BEGIN; SELECT slipring.ack('{held}')")).await;
    let says = "a transaction that is still open has acked it";
    refused(&client, &verbs(&held)[0], "SR004", says).await;
    run(&other, "COMMIT").await;
    for sql in verbs(&held) {
        let facts = refused(&client, &sql, "SR003", "is not in the queue any more").await;
        assert_eq!(facts["queue"], "q", "{sql}");
    }
    run(&client, "SELECT slipring.send('q', 'a'::text)").await;
    let held = receipt(&client, "1 hour").await;
    let twice =
        format!("BEGIN; {}; {}", verbs(&held).last().unwrap(), verbs(&held).last().unwrap());
    let facts = refused(&client, &twice, "SR003", "is not in the queue any more").await;
    assert_eq!(facts["queue"], "q", "{twice}");
}

#[tokio::test]
async fn an_ack_in_a_fifo_queue_after_the_deadline_says_so() {
    // S3.4
    let (_, _, client) = setup().await;
    run(&client, "SELECT slipring.create_queue('f.fifo')").await;
    run(&client, "SELECT slipring.send('f.fifo', 'a'::text)").await;
    let receive = "SELECT receipt FROM slipring.receive('f.fifo', 1, '0 s')";
    let late: String = client.query_one(receive, &[]).await.unwrap().get(0);
    let ack = format!("SELECT slipring.ack('{late}')");
    let facts = refused(&client, &ack, "SR004", ": its deadline has passed").await;
    assert_eq!(facts["queue"], "f.fifo");
    run(&client, "CALL slipring.maintain()").await;
    refused(&client, &ack, "SR004", "or its deadline had passed").await;
    run(&client, &receive.replace("0 s", "1 hour")).await;
    refused(&client, &ack, "SR004", ": another hand-out is newer").await;
}

#[tokio::test]
async fn an_ack_of_a_lease_that_was_ended_is_refused_though_nobody_got_the_message() {
    // S3.4
    let (_, _, client) = setup().await;
    run(&client, "SELECT slipring.send_batch('q', '{a,b}'::text[])").await;
    let (late, lapsed) = (receipt(&client, "0 s").await, receipt(&client, "0 s").await);
    run(&client, &format!("SELECT slipring.ack('{late}')")).await;
    run(&client, "CALL slipring.maintain()").await;
    let ack = format!("SELECT slipring.ack('{lapsed}')");
    refused(&client, &ack, "SR004", "or its deadline had passed").await;
}

#[tokio::test]
async fn a_name_is_shown_so_that_it_can_be_read() {
    // S14.1
    let (_, _, client) = setup().await;
    let long = "x".repeat(80);
    for (name, shown) in [
        ("''", "''"),
        ("' q'", "' q'"),
        ("'no\"pe'", "'no\"pe'"),
        ("repeat('x', 80)", long.as_str()),
        ("repeat('x', 81)", &format!("{long}... (81 characters)")),
        ("repeat('\u{e9}', 100000)", "\u{e9}'... (100000 characters)"),
    ] {
        for call in ["send(N, 'a'::text)", "receive(N)", "stats(N)", "findings(N)"] {
            let sql = format!("SELECT slipring.{}", call.replace('N', name));
            let (code, message, facts) = refusal(&client, &sql).await;
            assert_eq!(code, "SR001", "{sql}: {message}");
            assert!(message.ends_with(&format!("{shown} does not exist")), "{sql}: {message}");
            assert!(message.len() < 300, "{sql}: {}", message.len());
            assert!(facts["queue"].as_str().unwrap().len() < 500, "{sql}");
        }
    }
    let create = "SELECT slipring.create_queue(repeat('q', 201))";
    let says = "q... (201 characters) is not 1 to 200 of a-z, A-Z, 0-9 and - +";
    refused(&client, create, "SR007", says).await;
    let setting = "SELECT slipring.configure('q', jsonb_build_object(repeat('s', 5000), 1))";
    let (_, message, _) = refusal(&client, setting).await;
    assert!(message.contains("s... (5000 characters); the settings are"), "{message}");
}

#[tokio::test]
async fn what_a_queue_has_left_is_found_and_a_wrong_name_is_an_error() {
    // S11.4
    let (_, _, client) = setup().await;
    run(&client, "SELECT * FROM slipring.findings('q')").await;
    let facts =
        refused(&client, "SELECT slipring.findings('typo')", "SR001", "queue typo does not exist");
    assert_eq!(facts.await["queue"], "typo");
    let left = "INSERT INTO slipring.aside (queue_id, queue, kind, why, messages, kept)
                VALUES (999, 'gone', 'message', 'it is wrong', 1, '{}')";
    run(&client, left).await;
    let found = client.query("SELECT * FROM slipring.findings('gone')", &[]).await.unwrap();
    assert_eq!(found.len(), 1);
}

#[tokio::test]
async fn a_queue_that_is_gone_or_given_twice_is_told_by_its_name() {
    let (cluster, database, client) = setup().await;
    let same = "source and target are the same queue";
    let facts = refused(&client, "SELECT slipring.redrive('q', 'q')", "SR007", same).await;
    assert_eq!(facts["queue"], "q");
    for call in ["configure('q', '{}')", "pause('q')", "purge('q')", "redrive('q')", "receive('q')"]
    {
        run(&client, "SELECT slipring.create_queue('q')").await;
        // One that failed is handed out under the queue's lock.
        run(&client, "SELECT slipring.send('q', 'a'::text)").await;
        run(&client, "SELECT slipring.nack(receipt) FROM slipring.receive('q')").await;
        run(
            &client,
            "BEGIN; SELECT slipring.store_delete_queue(queue_id)
             FROM slipring.queue WHERE name = 'q'",
        )
        .await;
        let other = Arc::new(cluster.client(&database).await);
        let late = tokio::spawn(async move {
            let sql = format!("SELECT slipring.{call}");
            refused(&other, &sql, "SR001", "queue q does not exist").await
        });
        waiting(&cluster.client(&database).await, "relation", 1).await;
        run(&client, "COMMIT").await;
        assert_eq!(late.await.unwrap()["queue"], "q", "{call}");
        // And so is a receive that comes later.
        let facts =
            refused(&client, "SELECT slipring.receive('q')", "SR001", "queue q does not exist");
        assert_eq!(facts.await["queue"], "q");
    }
}

#[tokio::test]
async fn a_queue_created_since_the_snapshot_is_a_serialization_failure() {
    // S14.2
    let (cluster, database, client) = setup().await;
    for (isolation, name) in [("REPEATABLE READ", "r"), ("SERIALIZABLE", "s")] {
        let other = cluster.begin(&database, isolation).await;
        run(&other, "SELECT count(*) FROM slipring.queue").await;
        let create = format!("SELECT slipring.create_queue('{name}')");
        run(&client, &create).await;
        let (code, message, _) = refusal(&other, &create).await;
        assert_eq!(code, "40001", "{message}");
        assert!(message.contains("try the transaction again"), "{message}");
        run(&other, "ROLLBACK").await;
        let again = other.query_one(&create, &[]).await.unwrap();
        assert!(!again.get::<_, bool>(0), "it is there");
    }
}

#[tokio::test]
async fn a_pause_that_was_over_long_ago_is_refused_by_the_name_of_its_argument() {
    // S14.3
    let (_, _, client) = setup().await;
    for until in ["-infinity", "1969-12-31 23:59:59Z", "0044-03-15 12:00:00Z BC"] {
        let sql = format!("SELECT slipring.pause('q', '{until}')");
        let (code, message, facts) = refusal(&client, &sql).await;
        assert_eq!(code, "SR007", "{message}");
        assert!(message.starts_with("until is "), "{message}");
        assert_eq!(facts["queue"], "q");
    }
    run(&client, "SELECT slipring.pause('q', '1970-01-01 00:00:00Z')").await;
}
