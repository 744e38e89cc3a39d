//! What the functions for users of SQL are given wrongly: a clear error, and nothing has changed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use slipring::AdminStore;
use slipring_testbed::{Cluster, Database, one, refusal, refused_with, run};
use tokio_postgres::Client;

async fn setup() -> (&'static Cluster, Database, Client) {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let client = cluster.client(&database).await;
    run(
        &client,
        "SELECT slipring.create_queue('q'), slipring.create_queue('f', '{\"fifo\": true}')",
    )
    .await;
    (cluster, database, client)
}

/// The error of a statement: its code, what it says, and the facts beside it.
async fn refused(client: &Client, sql: &str, code: &str, says: &str) -> serde_json::Value {
    let error = refused_with(client, sql, code, says).await;
    let facts = serde_json::from_str(error.detail().unwrap_or_default());
    facts.unwrap_or_else(|_| panic!("{sql}: {error:?}"))
}

async fn messages(client: &Client) -> i64 {
    let sql = "SELECT sum(s.ready + s.delayed + s.leased + s.parked)::int8
               FROM unnest('{q,f}'::text[]) n CROSS JOIN LATERAL slipring.stats(n) s";
    one(client, sql).await
}

#[tokio::test]
async fn a_batch_and_what_is_given_for_each_of_it_have_to_be_of_one_length() {
    // S8.1, S9.1
    let (_, _, client) = setup().await;
    for queue in ["q", "f"] {
        for (given, says) in [
            (r#"dedup_ids => '{x,y,z}'"#, "dedup_ids has 3 entries for 2 bodies"),
            (r#"dedup_ids => '{x}'"#, "dedup_ids has 1 entries"),
            (r#"dedup_ids => '{}'"#, "dedup_ids has 0 entries"),
            (r#"headers => ARRAY['{}'::jsonb]"#, "headers has 1 entries for 2 bodies"),
        ] {
            let send = format!("SELECT slipring.send_batch('{queue}', '{{a,b}}'::text[], {given})");
            refused(&client, &send, "SR007", says).await;
        }
    }
    assert_eq!(messages(&client).await, 0);
    // An id that was refused is free.
    run(&client, "SELECT slipring.send('q', 'z'::text, dedup_id => 'z')").await;
    assert_eq!(messages(&client).await, 1);
}

#[tokio::test]
async fn arrays_of_any_bounds_and_dimensions_are_taken_in_their_order() {
    let (_, _, client) = setup().await;
    for send in [
        "SELECT slipring.send_batch('q', '[5:6]={a,b}'::text[]::bytea[])",
        "SELECT slipring.send_batch('q', '{{c,d},{e,f}}'::bytea[])",
        "SELECT slipring.send_batch('q', '[2:3]={g,h}'::bytea[], dedup_ids => '{{i},{j}}',
             headers => ARRAY[ARRAY['{\"n\": \"1\"}', '{\"n\": \"2\"}']]::jsonb[])",
    ] {
        run(&client, send).await;
    }
    let sql = "SELECT convert_from(body, 'UTF8') || coalesce(dedup_id || (headers ->> 'n'), '')
               FROM slipring.receive('q', 10)";
    let rows = client.query(sql, &[]).await.unwrap();
    let bodies: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(bodies, ["a", "b", "c", "d", "e", "f", "gi1", "hj2"]);
}

#[tokio::test]
async fn an_error_of_a_batch_names_the_message() {
    // S9.1
    let (_, _, client) = setup().await;
    for (batch, code, says) in [
        ("ARRAY['a', NULL]", "SR007", "the body is null"),
        ("ARRAY['a', repeat('x', 2000000)]", "SR006", "message_bytes_max is 1048576"),
        (
            "'{a,b}', dedup_ids => ARRAY[NULL, repeat('x', 129)]",
            "SR006",
            "dedup_id_bytes_max is 128",
        ),
        ("'{a,b}', headers => '{NULL,[]}'", "SR007", "headers are a JSON array"),
    ] {
        let send = format!("SELECT slipring.send_batch('q', {batch})");
        let send = send.replace("'{a,b}'", "'{a,b}'::text[]");
        assert_eq!(refused(&client, &send, code, says).await["index"], 1, "{send}");
    }
    let large = "SELECT slipring.send_batch('q', array_fill(repeat('x', 1000000), ARRAY[68]))";
    refused(&client, large, "SR006", "batch_bytes_max is 67108864, but 68000000").await;
    refused(&client, "SELECT slipring.send_batch('no', '{}'::text[])", "SR001", "queue no").await;
    assert_eq!(messages(&client).await, 0);
}

#[tokio::test]
async fn a_duplicate_takes_no_room_in_a_full_queue() {
    // S8.1, S12.2
    let (_, _, client) = setup().await;
    run(&client, "SELECT slipring.configure('q', '{\"messages_max\": 1}')").await;
    let send = "SELECT slipring.send('q', 'a'::text, dedup_id => 'k')";
    let first = one(&client, send).await;
    assert_eq!(one(&client, send).await, first);
    let batch = "SELECT (slipring.send_batch('q', '{a,b}'::text[], dedup_ids => '{k,k}'))[2]";
    assert_eq!(one(&client, batch).await, first);
    let more = "SELECT slipring.send_batch('q', '{a,b}'::text[], dedup_ids => '{k,l}')";
    let facts = refused(&client, more, "SR006", "messages_max is 1, but 2 was asked for").await;
    assert_eq!((&facts["index"], &facts["queue"]), (&1.into(), &"q".into()));
    assert_eq!(messages(&client).await, 1);
}

#[tokio::test]
async fn counts_states_names_and_receipts_are_checked() {
    let (_, _, client) = setup().await;
    run(&client, "SELECT slipring.send_batch('q', '{a,b}'::text[])").await;
    for (call, most) in [("redrive('q', 'f', N)", 10_000), ("peek('q', NULL, N)", 1000)]
        .into_iter()
        .chain([("receive('q', N)", 10_000)])
    {
        for n in ["0", "-3", "NULL::int"] {
            let sql = format!("SELECT slipring.{}", call.replace(", N)", &format!(", {n})")));
            refused(&client, &sql, "SR007", &format!("give 1 to {most}")).await;
        }
        let sql = format!("SELECT slipring.{}", call.replace(", N)", &format!(", {})", most + 1)));
        refused(&client, &sql, "SR006", &format!("messages_max is {most}")).await;
    }
    for state in ["READY", "foo", ""] {
        let sql = format!("SELECT slipring.peek('q', '{state}')");
        refused(&client, &sql, "SR007", "give ready, delayed, leased or parked").await;
    }
    refused(&client, "SELECT slipring.send(NULL, 'a'::text)", "SR007", "name of the queue").await;
    refused(&client, "SELECT slipring.pause('q', '-infinity')", "SR007", "until is").await;
    refused(&client, "SELECT slipring.ack(ARRAY['x'])", "SR005", "slipring.receive").await;
    assert_eq!(messages(&client).await, 2);
    run(&client, "SELECT slipring.pause('q', 'infinity')").await;
    assert_eq!(one(&client, "SELECT count(*) FROM slipring.receive('q')").await, 0);
    run(&client, "SELECT slipring.resume('q')").await;
    let acked = "SELECT slipring.ack(ARRAY[r.receipt, r.receipt]) FROM slipring.receive('q') r";
    assert_eq!(one(&client, acked).await, 1, "one message");
    assert_eq!(messages(&client).await, 1);
}

#[tokio::test]
async fn settings_are_refused_or_can_be_read_by_every_program() {
    // S12.1, S14.1
    let (cluster, database, client) = setup().await;
    let bad = [
        r#"[1]"#,
        r#"5"#,
        r#"null"#,
        r#"{"attributes": {"team": 1}}"#,
        r#"{"attributes": {"team": {"a": "b"}}}"#,
        r#"{"attributes": ["team"]}"#,
        r#"{"durability": "half"}"#,
        r#"{"dedup_scope": 1}"#,
        r#"{"dead_letter": ""}"#,
        r#"{"dead_letter": "a b"}"#,
        r#"{"dead_letter": 7}"#,
        r#"{"backoff": "none"}"#,
        r#"{"backoff": {"kind": "fixed", "delay_ms": "5"}}"#,
        r#"{"backoff": {"kind": "fixed", "delay_ms": 5.5}}"#,
        r#"{"backoff": {"kind": "exponential", "base_ms": 5, "max_ms": 4}}"#,
        r#"{"backoff": {"kind": "exponential", "base_ms": 5}}"#,
        r#"{"max_attempts": 5.0}"#,
        r#"{"max_attempts": -1}"#,
        r#"{"fifo": "yes"}"#,
        r#"{"in_flight_max": 99999999999999999999}"#,
        r#"{"no_such": null}"#,
        r#"{"backoff": {"kind": "none", "delay_ms": 5000}}"#,
        r#"{"backoff": {"kind": "fixed", "delay_ms": 1, "max_ms": 1}}"#,
        r#"{"backoff": {"kind": "exponential", "base_ms": 1, "max_ms": 1, "delay_ms": 1}}"#,
        r#"{"backoff": {}}"#,
        r#"{"backoff": {"kind": null}}"#,
        r#"{"backoff": []}"#,
    ];
    for settings in bad {
        let create = format!("SELECT slipring.create_queue('new', '{settings}')");
        refused(&client, &create, "SR007", "").await;
        let configure = format!("SELECT slipring.configure('q', '{settings}')");
        refused(&client, &configure, "SR007", "").await;
    }
    refused(&client, "SELECT slipring.configure('q', NULL)", "SR007", "null").await;
    let keys = r#"{"backoff": {"kind": "fixed", "delay_ms": 1, "foo": 1, "base_ms": 1}}"#;
    let says = r#"give no base_ms, foo with the kind "fixed""#;
    refused(&client, &format!("SELECT slipring.configure('q', '{keys}')"), "SR007", says).await;
    let large = "SELECT slipring.configure('q', jsonb_build_object('attributes',
                     jsonb_build_object('a', repeat('x', 262144))))";
    refused(&client, large, "SR006", "queue_attribute_bytes_max").await;
    let store = cluster.store(&database).await;
    let before = store.queues().await.unwrap();
    assert_eq!(before.len(), 2);
    // Null brings the default back.
    let good = [
        r#"{"durability": "relaxed", "dedup_scope": "group", "delay_ms": 5, "max_attempts": 1e3}"#,
        r#"{"backoff": {"kind": "exponential", "base_ms": 5, "max_ms": 40}, "dead_letter": "f"}"#,
        r#"{"attributes": {"team": "1"}, "backoff": {"kind": "fixed", "delay_ms": 0}}"#,
        r#"{"durability": null, "dedup_scope": null, "delay_ms": null, "max_attempts": null}"#,
        r#"{"backoff": null, "dead_letter": null, "attributes": null}"#,
    ];
    for settings in good {
        run(&client, &format!("SELECT slipring.configure('q', '{settings}')")).await;
        store.queues().await.unwrap();
    }
    let after = store.queues().await.unwrap();
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(after.settings, before.settings, "every setting is as it was");
    }
}

#[tokio::test]
async fn numbers_of_messages_that_cannot_be_are_those_of_no_message() {
    // S6.7
    let (_, _, client) = setup().await;
    let id = one(&client, "SELECT slipring.send('q', 'a'::text)").await;
    let ids = format!("ARRAY[{}, -1, 0, NULL, {}, {id}]", i64::MIN, i64::MAX);
    let redrive = format!("SELECT slipring.redrive('q', {ids}::bigint[], 'f')");
    let told: Vec<String> = client.query_one(&redrive, &[]).await.unwrap().get(0);
    let gone = "message_gone";
    assert_eq!(told, [gone, gone, gone, gone, gone, "moved"]);
    for number in [i64::MIN, -1, 0, i64::MAX] {
        let failures = format!("SELECT count(*) FROM slipring.failures({number})");
        assert_eq!(one(&client, &failures).await, 0);
    }
}

#[tokio::test]
async fn an_error_shows_little_of_what_is_long_and_no_character_that_steers_a_terminal() {
    let (_, _, client) = setup().await;
    let long = "x".repeat(100_000);
    let calls = [
        (format!("create_queue('{long}')"), "is not 1 to 200"),
        (format!("create_queue('n', '{{\"max_attempts\": \"{long}\"}}')"), "give a whole number"),
        (format!("send('{long}', 'a'::text, delay => '-1 s')"), "the delay is -1 s"),
        (format!("pause('{long}', '1900-01-01')"), "until is"),
        ("send(E'\\x1b[2Jq\\u200b', 'a'::text)".to_owned(), "'<001B>[2Jq<200B>'"),
    ];
    for (call, says) in calls {
        let error = refusal(&client, &format!("SELECT slipring.{call}")).await;
        let (text, detail) = (error.message(), error.detail().unwrap_or_default());
        assert!(text.contains(says), "{text}");
        assert!(text.len() + detail.len() < 1_000, "{text} {detail}");
    }
}
