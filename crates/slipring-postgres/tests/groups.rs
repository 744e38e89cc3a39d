//! FIFO queues whose groups are long: what is brought in of the log at a time.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed step fails the test")]

use std::sync::Arc;

use slipring::{Engine, EngineOptions, ReceiveRequest};
use slipring_postgres::PostgresStore;
use slipring_testbed::{Cluster, Database, one, run, soon};
use tokio_postgres::Client;

/// Messages that have been brought into groups, of all queues.
const BROUGHT_IN: &str = "SELECT count(*) FROM slipring.item";
const RECEIVE: &str = "SELECT count(*) FROM slipring.receive('q', 1, '1 hour')";
/// One turn of a receive by a server.
const TURN: &str =
    "SELECT count(c.id) FROM slipring.queue q CROSS JOIN LATERAL slipring.store_claim(
    q.queue_id, slipring.now_ms(), '{1}', '{NULL}', '{f}', 1) c";

/// A FIFO queue `q`.
async fn fifo() -> (Database, Arc<PostgresStore>, Client) {
    let opened = Cluster::shared().opened().await;
    run(&opened.2, "SELECT slipring.create_queue('q', '{\"fifo\": true}')").await;
    opened
}

async fn fill(client: &Client, group: &str, batches: u32, messages: u32, bytes: u32) {
    let send = format!(
        "SELECT slipring.send_batch('q', array_agg(repeat('x', {bytes})::bytea),
             \"group\" => '{group}')
         FROM generate_series(1, {messages})"
    );
    for _ in 0..batches {
        run(client, &send).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_group_that_is_leased_is_brought_in_by_turns() {
    // S5.6, S2.4
    let (_database, store, client) = fifo().await;
    fill(&client, "long", 10, 5000, 10).await;
    fill(&client, "other", 1, 1, 10).await;
    assert_eq!(one(&client, RECEIVE).await, 1);
    let before = one(&client, BROUGHT_IN).await;
    assert_eq!(one(&client, TURN).await, 0, "what is ready is of a group that is leased");
    let after = one(&client, BROUGHT_IN).await;
    assert!(before < after && after - before < 10_000, "{before} and {after} are in groups");
    let ready = "SELECT slipring.ready('q')::int::int8";
    assert_eq!(one(&client, ready).await, 1, "as far as it knows");
    // A receive by a server goes on by itself.
    let engine = Engine::open(store, EngineOptions::default()).await.unwrap();
    let queue = engine.queue("q").await.unwrap();
    let received = soon("the message of the other group", async {
        loop {
            let list = queue.receive(ReceiveRequest::up_to(1)).await.unwrap();
            if let Some(delivery) = list.into_iter().next() {
                break delivery;
            }
        }
    });
    assert_eq!(received.await.message.group.as_deref(), Some("other"));
    assert_eq!(one(&client, BROUGHT_IN).await, 50_001);
    assert_eq!(one(&client, ready).await, 0);
    soon("the shutdown", engine.shutdown()).await;
}

#[tokio::test]
async fn a_receive_by_sql_finds_what_is_behind_a_group_that_is_leased() {
    let (_database, _store, client) = fifo().await;
    fill(&client, "long", 2, 2000, 10).await;
    fill(&client, "large", 1, 30, 200_000).await;
    fill(&client, "other", 1, 1, 10).await;
    for group in ["long", "large", "other"] {
        let receive = "SELECT \"group\" FROM slipring.receive('q', 1, '1 hour')";
        let came: String = client.query_one(receive, &[]).await.unwrap().get(0);
        assert_eq!(came, group);
    }
    assert_eq!(one(&client, RECEIVE).await, 0);
}

#[tokio::test]
async fn a_turn_brings_in_no_more_than_some_megabytes() {
    let (_database, _store, client) = fifo().await;
    fill(&client, "large", 4, 20, 200_000).await;
    for came in [1, 0] {
        let before = one(&client, BROUGHT_IN).await;
        assert_eq!(one(&client, TURN).await, came);
        let brought = one(&client, BROUGHT_IN).await - before;
        assert!((1..=22).contains(&brought), "{brought} of 80 messages of 200 kB");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receive_over_several_queues_does_not_wait_for_a_long_group() {
    // S5.4, S7.6
    let (_database, store, client) = fifo().await;
    run(&client, "SELECT slipring.create_queue('plain')").await;
    fill(&client, "long", 10, 5000, 10).await;
    assert_eq!(one(&client, RECEIVE).await, 1);
    run(&client, "SELECT slipring.send('plain', 'x'::text)").await;
    let engine = Engine::open(store, EngineOptions::default()).await.unwrap();
    let queues = [engine.queue("q").await.unwrap(), engine.queue("plain").await.unwrap()];
    let mut several = engine.several(&queues);
    let list = soon("the receive", several.receive(ReceiveRequest::up_to(1))).await.unwrap();
    assert_eq!(list.len(), 1, "that of the other queue");
    assert!(one(&client, BROUGHT_IN).await < 20_000, "a turn, and not all of the group");
    soon("the shutdown", engine.shutdown()).await;
}

/// A clock that stands, as one that was set back does for the store: fences go on with the state's.
const STANDS: &str = "CREATE OR REPLACE FUNCTION slipring.now_ms() RETURNS bigint LANGUAGE sql AS
    'SELECT 1700000000000'";

#[tokio::test]
async fn no_receipt_is_given_twice_though_a_receive_was_rolled_back_and_the_clock_stands() {
    // S3.2
    let (_database, _store, client) = fifo().await;
    run(&client, "SELECT slipring.create_queue('plain')").await;
    run(&client, "SELECT slipring.send('plain', 'm'::text)").await;
    run(&client, "SELECT slipring.nack(receipt, '0 s') FROM slipring.receive('plain')").await;
    fill(&client, "g", 1, 5, 1).await;
    run(&client, STANDS).await;
    for queue in ["q", "plain"] {
        let receive = format!("SELECT receipt FROM slipring.receive('{queue}', 10, '1 hour')");
        let receipts = async || {
            let rows = client.query(&receive, &[]).await.unwrap();
            rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>()
        };
        let count = if queue == "q" { 5 } else { 1 };
        let mut seen = Vec::new();
        for back in ["ROLLBACK", "ROLLBACK TO s", "ROLLBACK", "ROLLBACK TO s", "COMMIT"] {
            run(&client, "BEGIN; SAVEPOINT s").await;
            seen.extend(receipts().await);
            run(&client, back).await;
            if back == "ROLLBACK TO s" {
                seen.extend(receipts().await);
                run(&client, "ROLLBACK").await;
            }
        }
        assert_eq!(seen.len(), 7 * count, "{queue}");
        let all = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), all, "{queue}: a receipt was given twice: {seen:?}");
    }
}
