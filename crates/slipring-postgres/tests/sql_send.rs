//! A send of one message by SQL writes the row that a batch of it does, and takes the short way
//! where one row is all it needs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use slipring_testbed::{Cluster, Database, one, run};
use tokio_postgres::Client;

const QUEUES: [(&str, &str); 2] = [("standard", "{}"), ("fifo", "{\"fifo\": true}")];

/// What a message may have besides its body, as arguments of `send` and of `send_batch`.
/// Bodies alone would share a row in a batch.
const EXTRAS: [(&str, &str); 6] = [
    (", headers => '{\"kind\": \"é\", \"n\": 1.50, \"none\": null, \"in\": {\"a\": []}}'", "1"),
    (", headers => '{}'", "1"),
    (", \"group\" => 'gé'", ""),
    (", \"group\" => ''", ""),
    (", \"group\" => 'g', headers => '{\"a\": \"b\"}'", "1"),
    (", \"group\" => 'g', priority => 5", ""),
];

async fn setup() -> (Database, Client) {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let client = cluster.client(&database).await;
    for (name, settings) in QUEUES {
        run(&client, &format!("SELECT slipring.create_queue('{name}', '{settings}')")).await;
    }
    (database, client)
}

async fn text(client: &Client, sql: &str) -> String {
    client.query_one(sql, &[]).await.unwrap().get(0)
}

/// All rows of the log and of the shelf, in the order of sending, without numbers and times.
async fn rows(client: &Client) -> String {
    text(
        client,
        "SELECT concat_ws('; ',
             (SELECT string_agg(concat_ws(',', lane, bytes, n, priority, lease_ms,
                 quote_nullable(group_name), dedup_id, quote_nullable(headers), body), ' '
                 ORDER BY id) FROM slipring.message),
             (SELECT string_agg(concat_ws(',', state, turn, priority, bytes,
                 quote_nullable(fifo_group)), ' ' ORDER BY id) FROM slipring.item_picture))",
    )
    .await
}

async fn clear(client: &Client) {
    run(client, "TRUNCATE slipring.message, slipring.item_picture, slipring.item_body").await;
}

#[tokio::test]
async fn a_message_sent_alone_is_the_one_that_is_sent_in_company() {
    let (_database, client) = setup().await;
    for (queue, _) in QUEUES {
        for (extra, headers) in EXTRAS {
            let alone = format!("SELECT slipring.send('{queue}', 'body'::text{extra})");
            run(&client, &format!("{alone}; {alone}")).await;
            let sent_alone = rows(&client).await;
            clear(&client).await;
            let extra = match headers {
                "" => extra.to_owned(),
                _ => {
                    let (before, value) = extra.split_once("headers => ").unwrap();
                    format!("{before}headers => ARRAY[{value}, {value}]::jsonb[]")
                }
            };
            let batch =
                format!("SELECT slipring.send_batch('{queue}', '{{body,body}}'::text[]{extra})");
            run(&client, &batch).await;
            assert_eq!(sent_alone, rows(&client).await, "{queue} {extra}");
            clear(&client).await;
        }
    }
}

#[tokio::test]
async fn the_limits_hold_to_the_byte_whatever_a_message_has() {
    let (_database, client) = setup().await;
    for (queue, _) in QUEUES {
        let small =
            format!("SELECT slipring.configure('{queue}', '{{\"message_bytes_max\": 1024}}')");
        run(&client, &small).await;
        for (extra, bytes) in [
            ("", 0),
            (", headers => '{\"ab\": \"é\"}'", 4),
            (", \"group\" => 'gé'", 3),
            (", \"group\" => 'g', headers => '{\"a\": \"b\"}'", 3),
        ] {
            let send = |size: usize| {
                format!("SELECT slipring.send('{queue}', repeat('x', {size})::text{extra})")
            };
            run(&client, &send(1024 - bytes)).await;
            let error = client.batch_execute(&send(1025 - bytes)).await.expect_err("too large");
            assert_eq!(error.code().map(|code| code.code()), Some("SR006"), "{queue} {extra}");
        }
        let kept = format!("SELECT ready FROM slipring.stats('{queue}')");
        assert_eq!(one(&client, &kept).await, 4, "{queue}");
        let bytes = format!("SELECT bytes FROM slipring.stats('{queue}')");
        assert_eq!(one(&client, &bytes).await, 4 * 1024, "{queue}");
    }
}

#[tokio::test]
async fn messages_of_one_transaction_keep_their_order_whatever_way_they_take() {
    let (_database, client) = setup().await;
    run(
        &client,
        "BEGIN;
         SELECT slipring.send('fifo', 'a'::text, \"group\" => 'g');
         SELECT slipring.send_batch('fifo', '{b,c}'::text[], \"group\" => 'g');
         SELECT slipring.send('fifo', 'd'::text, \"group\" => 'g', headers => '{\"k\": \"v\"}');
         SAVEPOINT s;
         SELECT slipring.send('fifo', 'never'::text, \"group\" => 'g');
         ROLLBACK TO s;
         SELECT slipring.send('fifo', 'e'::text, \"group\" => 'g', dedup_id => 'x');
         SELECT slipring.send('fifo', 'f'::bytea, \"group\" => 'g');
         COMMIT",
    )
    .await;
    let received =
        "SELECT string_agg(convert_from(body, 'UTF8'), '') FROM slipring.receive('fifo', 9)";
    assert_eq!(text(&client, received).await, "abcdef");
}
