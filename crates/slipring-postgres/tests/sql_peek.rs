//! What `peek`, `stats` and the look-up of a message show of what users of SQL have acked, and how
//! much they show.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use slipring::{AdminStore, MessageId};
use slipring_conformance::verbs::at;
use slipring_testbed::{Cluster, Database, one, run};
use tokio_postgres::Client;

async fn setup() -> (&'static Cluster, Database, Client) {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let client = cluster.client(&database).await;
    run(&client, "SELECT slipring.create_queue('q')").await;
    (cluster, database, client)
}

/// What a queue shows, each message as its state and body.
async fn shown(client: &Client, sql: &str) -> Vec<String> {
    let columns = "message_state || ' ' || left(convert_from(body, 'UTF8'), 9)";
    let sql = format!("SELECT {columns} FROM {sql}");
    let rows = client.query(&sql, &[]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

/// How many are leased, and the bytes of all.
async fn stats(client: &Client) -> (i64, i64) {
    let sql = "SELECT leased, bytes FROM slipring.stats('q')";
    let row = client.query_one(sql, &[]).await.unwrap();
    (row.get(0), row.get(1))
}

async fn receive(client: &Client, n: i32) -> Vec<(i64, String)> {
    let sql = "SELECT id, receipt FROM slipring.receive('q', $1, '1 hour')";
    let rows = client.query(sql, &[&n]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

async fn ack(client: &Client, receipts: &[&str]) {
    client.query("SELECT slipring.ack($1::text[])", &[&receipts]).await.unwrap();
}

#[tokio::test]
async fn what_a_committed_transaction_has_acked_is_shown_and_counted_no_more() {
    // S10.2: before any verb of the queue has taken the acks in.
    let (cluster, database, client) = setup().await;
    let store = cluster.store(&database).await;
    let user = cluster.client(&database).await;
    // One lease for all of the log, of one size and of several; one each for those of the shelf.
    for bodies in ["aa,bb,cc", "a,bbb,cc"] {
        let send = format!("SELECT slipring.send_batch('q', '{{{bodies}}}'::text[])");
        run(&client, &send).await;
        run(&client, "SELECT slipring.send_batch('q', '{dddd,eeeee}'::text[], priority => 5000)")
            .await;
        let held = receive(&user, 10).await;
        assert_eq!(held.len(), 5);
        let parts: Vec<&str> = bodies.split(',').collect();
        let bytes = bodies.len() as i64 - 2;
        let all = "slipring.peek('q') ORDER BY id";
        run(&user, "BEGIN").await;
        ack(&user, &[&held[1].1, &held[3].1]).await;
        assert_eq!(shown(&client, all).await.len(), 5, "it may roll back");
        assert_eq!(stats(&client).await, (5, bytes + 9));
        run(&user, "COMMIT").await;
        let wanted = [parts[0], parts[2], "eeeee"].map(|body| format!("leased {body}"));
        let left = (3, bytes + 5 - parts[1].len() as i64);
        for _taken_in in [false, true] {
            assert_eq!(shown(&client, all).await, wanted);
            assert_eq!(stats(&client).await, left);
            for (at_place, gone) in [(0, false), (1, true), (3, true), (4, false)] {
                let id = MessageId(held[at_place].0.unsigned_abs());
                let found = store.lookup(id, at(0)).await.unwrap();
                assert_eq!(found.is_none(), gone, "{at_place}");
            }
            assert!(receive(&client, 1).await.is_empty());
        }
        ack(&user, &[&held[0].1, &held[2].1, &held[4].1]).await;
        assert_eq!(shown(&client, all).await, [""; 0]);
        assert_eq!(stats(&client).await, (0, 0));
        assert!(receive(&client, 1).await.is_empty());
        assert_eq!(stats(&client).await, (0, 0));
    }
}

#[tokio::test]
async fn leases_that_were_acked_whole_leave_room_for_others() {
    let (_, _, client) = setup().await;
    for (priority, each) in [(1024, 1), (1024, 2), (5000, 1), (5000, 2)] {
        let bodies = &["a", "bb", "c", "dd", "e", "ff"][..3 * each];
        let sql = "SELECT slipring.send_batch('q', $1::text[], $2)";
        client.query(sql, &[&bodies, &i64::from(priority)]).await.unwrap();
        let mut held = Vec::new();
        for _ in 0..3 {
            held.extend(receive(&client, each as i32).await);
        }
        let receipts: Vec<&str> = held.iter().map(|(_, receipt)| receipt.as_str()).collect();
        let (acked, left) = receipts.split_at(2 * each);
        ack(&client, acked).await;
        let shows = format!("leased {}", bodies[2 * each]);
        assert_eq!(shown(&client, "slipring.peek('q', 'leased', 1)").await, [shows]);
        let bytes: usize = bodies[2 * each..].iter().map(|body| body.len()).sum();
        assert_eq!(stats(&client).await, (each as i64, bytes as i64));
        ack(&client, left).await;
    }
}

#[tokio::test]
async fn bytes_of_acked_messages_leave_room_for_new_ones() {
    // S12.2
    let (_, _, client) = setup().await;
    run(&client, "SELECT slipring.configure('q', '{\"bytes_max\": 4}')").await;
    run(&client, "SELECT slipring.send('q', 'aaaa'::text)").await;
    let held = receive(&client, 1).await;
    ack(&client, &[&held[0].1]).await;
    run(&client, "SELECT slipring.send('q', 'bbbb'::text)").await;
}

#[tokio::test]
async fn nothing_is_missing_before_what_a_peek_of_large_messages_shows() {
    let (_, _, client) = setup().await;
    // Of the log and of the shelf, each more than a peek shows, and in turns by priority.
    run(
        &client,
        "SELECT slipring.send_batch('q', array_fill(repeat('log', 300000), ARRAY[20])),
             slipring.send_batch('q', array_fill(repeat('first', 180000), ARRAY[3]), 500),
             slipring.send_batch('q', array_fill(repeat('last', 225000), ARRAY[20]), 5000),
             slipring.send('q', 'delayed'::text, delay => '1 hour')",
    )
    .await;
    let seen = shown(&client, "slipring.peek('q', NULL, 100)").await;
    assert_eq!(seen, [["ready firstfirs"; 3].as_slice(), &["ready logloglog"; 16]].concat());
    assert_eq!(one(&client, "SELECT count(*) FROM slipring.receive('q', 23, '1 hour')").await, 23);
    let seen = shown(&client, "slipring.peek('q', 'leased', 100)").await;
    assert_eq!(seen.len(), 19);
    run(&client, "SELECT slipring.receive('q', 20, '1 hour')").await;
    assert_eq!(shown(&client, "slipring.peek('q', NULL, 1)").await, ["delayed delayed"]);
}
