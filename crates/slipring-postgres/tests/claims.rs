//! What a receive gives, and from which moment on.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed step fails the test")]

use std::time::Duration;

use slipring::admin::AdminStore;
use slipring::store::{ClaimBatch, ClaimEnd, Demand, ExtendBatch, Prolong, Store};
use slipring::{QueueSettings, Timestamp};
use slipring_conformance::verbs::{claim, plain, queue, send};
use slipring_testbed::{Cluster, database_now, locked, one, refused_with, run, soon, waiting};
use tokio_postgres::Client;

const LEASE: Duration = Duration::from_secs(1);

/// The end of the lease of the one message that a receive gives, and its body.
async fn receive(client: &Client, queue: &str) -> (i64, String) {
    let sql = format!(
        "SELECT round(extract(epoch FROM lease_until) * 1000)::int8, convert_from(body, 'UTF8')
         FROM slipring.receive('{queue}', 1, '1 s')"
    );
    let row = client.query_one(&sql, &[]).await.unwrap();
    (row.get(0), row.get(1))
}

/// Lets a receive wait for the queue's lock, which the holder has, for longer than its lease.
async fn waited(holder: &Client, waits: &Client, looks: &Client, queue: &str) {
    let late = async {
        locked(looks, 1).await;
        let over = database_now(looks).await.after(LEASE);
        while database_now(looks).await <= over {}
        let now = database_now(looks).await;
        run(holder, "ROLLBACK").await;
        now
    };
    let ((until, _), ended): (_, Timestamp) = tokio::join!(receive(waits, queue), late);
    assert!(until >= i64::try_from(ended.after(LEASE).as_millis()).unwrap(), "{queue}");
}

#[tokio::test]
async fn the_lease_of_a_receive_that_has_waited_begins_when_it_has_the_lock() {
    // S2.2, S10.7
    let cluster = Cluster::shared();
    let (database, _store, user) = cluster.opened().await;
    for queue in ["f.fifo", "tried", "new"] {
        run(&user, &format!("SELECT slipring.create_queue('{queue}')")).await;
        let group = if queue == "f.fifo" { ", \"group\" => 'g'" } else { "" };
        run(&user, &format!("SELECT slipring.send('{queue}', 'm'::text{group})")).await;
    }
    // A message that was received before is handed out under the queue's lock.
    let nack = "SELECT slipring.nack(receipt, '0 s') FROM slipring.receive('tried')";
    run(&user, nack).await;
    for queue in ["f.fifo", "tried", "new"] {
        let holder = cluster.begin(&database, "READ COMMITTED").await;
        let lock = format!(
            "SET LOCAL search_path = pg_catalog, slipring;
             SELECT slipring.queue_lock(queue_id) FROM slipring.queue WHERE name = '{queue}'"
        );
        run(&holder, &lock).await;
        let waits = cluster.client(&database).await;
        waited(&holder, &waits, &user, queue).await;
    }
}

#[tokio::test]
async fn the_leases_of_a_server_that_has_waited_begin_when_it_has_the_lock() {
    // S2.2, S3.3
    let cluster = Cluster::shared();
    let (database, store, user) = cluster.opened().await;
    let q = plain(&store).await;
    let ids = send(&store, q, &["leased", "ready", "chosen"]).await;
    let held = claim(&store, q, 1, database_now(&user).await).await.remove(0);
    let holder = cluster.holder(&database, q).await;
    let now = database_now(&user).await;
    let demand = Demand { up_to: 1, lease: Some(LEASE), session: false };
    let prolong = Prolong::from(Some(LEASE));
    let entries = vec![(held.receipt, prolong)];
    // A claim that finds the queue held ends; then it is made again.
    let claims = async {
        loop {
            let now = database_now(&user).await;
            let batch = ClaimBatch { queue: q, now, demands: vec![demand] };
            let claimed = store.claim(batch).await.unwrap();
            if claimed.end != ClaimEnd::Held {
                return claimed;
            }
        }
    };
    let calls = async {
        tokio::join!(
            store.extend(ExtendBatch { queue: q, now, entries }),
            claims,
            store.claim_message(q, ids[2], demand, now),
        )
    };
    let late = async {
        // A wait of a second is counted, see waited_ms; not the one for a connection.
        let over = now.after(LEASE + LEASE);
        while database_now(&user).await <= over {}
        run(&holder, "ROLLBACK").await;
        now.after(LEASE + LEASE + LEASE / 2)
    };
    let ((extended, claimed, chosen), until) = tokio::join!(calls, late);
    assert!(*extended.unwrap()[0].as_ref().unwrap() >= until, "an extension");
    // The last claim may have waited for less than a second, which is not counted.
    assert!(claimed.deliveries[0][0].deadline >= now.after(LEASE + LEASE), "a claim");
    assert!(chosen.unwrap().deadline >= until, "a claim of one message");
}

#[tokio::test]
async fn large_messages_that_fail_leave_the_others_room() {
    // S5.5, S2.4
    let cluster = Cluster::shared();
    let (_database, _store, user) = cluster.opened().await;
    let create = "SELECT slipring.create_queue('jobs', '{\"message_bytes_max\": 30000000}')";
    run(&user, create).await;
    let large = "SELECT slipring.send('jobs', repeat('x', 20000000)) FROM generate_series(1, 4)";
    run(&user, large).await;
    let fail = "SELECT slipring.nack(receipt, '0 s') FROM slipring.receive('jobs', 2)";
    let tried = "SELECT count(*) FROM slipring.item WHERE attempts > 3";
    while one(&user, tried).await < 4 {
        soon("a nack", run(&user, fail)).await;
    }
    run(&user, "SELECT slipring.send('jobs', 'small') FROM generate_series(1, 300)").await;
    let work = "WITH r AS MATERIALIZED (SELECT * FROM slipring.receive('jobs', 1000))
        SELECT count(*) FILTER (WHERE length(body) = 5), count(*), count(slipring.ack(receipt))
        FROM r";
    let first = user.query_one(work, &[]).await.unwrap();
    assert_eq!(first.get::<_, i64>(0), 300, "{first:?}");
    let rest = user.query_one(work, &[]).await.unwrap();
    assert_eq!(first.get::<_, i64>(1) + rest.get::<_, i64>(1), 304);
}

/// Where a receive of a FIFO queue has read the log, and not yet what came by other ways.
const LOG_READ: (&str, &str) = ("mark_read", "p_kind = 5");

#[tokio::test]
async fn a_dead_letter_of_a_group_does_not_go_before_what_was_sent_earlier() {
    // S7.3
    let cluster = Cluster::shared();
    let (database, _store, user) = cluster.opened().await;
    let create =
        "SELECT slipring.create_queue('f.fifo'); SELECT slipring.create_queue('other.fifo',
        '{\"max_attempts\": 1, \"dead_letter\": \"f.fifo\"}')";
    run(&user, create).await;
    let owner = cluster.client(&database).await;
    let meanwhile = async {
        run(&user, "SELECT slipring.send('f.fifo', 'first'::text, \"group\" => 'g')").await;
        run(&user, "SELECT slipring.send('other.fifo', 'second'::text, \"group\" => 'g')").await;
        let fail = "SELECT slipring.nack(receipt, '0 s') FROM slipring.receive('other.fifo')";
        run(&user, fail).await;
    };
    let claim = "SELECT convert_from(body, 'UTF8') FROM slipring.receive('f.fifo', 10)";
    let claimed = owner.query(claim, &[]);
    let got = cluster.amid(&database, &owner, LOG_READ, claimed, meanwhile).await;
    let mut bodies: Vec<String> = got.unwrap().iter().map(|row| row.get(0)).collect();
    if bodies.is_empty() {
        bodies.push(receive(&user, "f.fifo").await.1);
    }
    assert_eq!(bodies[0], "first");
}

#[tokio::test]
async fn a_redrive_of_a_part_of_a_fifo_queue_leaves_the_rest_in_sight() {
    // S14.5
    let (_database, _store, user) = Cluster::shared().opened().await;
    let create =
        "SELECT slipring.create_queue('f', '{\"fifo\": true}'), slipring.create_queue('t')";
    run(&user, create).await;
    let send = |body: &str, priority: u32| {
        let to = format!("'f', '{body}'::text, priority => {priority}, \"group\" => '{body}'");
        format!("SELECT slipring.send({to})")
    };
    run(&user, &send("a", 2000)).await;
    run(&user, &send("b", 0)).await;
    let back = "SELECT slipring.nack(receipt, '0') FROM slipring.receive('f', 10)";
    run(&user, back).await;
    run(&user, &send("c", 0)).await;
    assert_eq!(one(&user, "SELECT slipring.redrive('f', 't', 2)").await, 2);
    assert_eq!(one(&user, "SELECT count(*) FROM slipring.peek('f')").await, 1);
    assert_eq!(one(&user, "SELECT slipring.redrive('f', 't')").await, 1);
    assert_eq!(one(&user, "SELECT slipring.redrive('f', 't')").await, 0);
    let there = "SELECT count(*) FROM slipring.receive('t', 10)";
    assert_eq!(one(&user, there).await, 3);
}

#[tokio::test]
async fn a_purge_knows_the_ids_of_what_an_open_transaction_has_received() {
    // S8.1, S8.4
    let cluster = Cluster::shared();
    let (database, _store, user) = cluster.opened().await;
    run(&user, "SELECT slipring.create_queue('q')").await;
    let send = async |id: u32| {
        let send = format!("SELECT slipring.send('q', 'a'::text, dedup_id => 'id {id}')");
        one(&user, &send).await
    };
    let first = [send(0).await, send(1).await, send(2).await];
    let open = cluster.client(&database).await;
    run(&open, "BEGIN; SELECT slipring.receive('q')").await;
    assert_eq!(one(&user, "SELECT slipring.purge('q')").await, 2);
    assert_eq!(send(0).await, first[0], "its message is still there");
    assert!(send(1).await > first[2], "it was purged");
    run(&open, "ROLLBACK").await;
    let all = "SELECT count(*) FROM slipring.receive('q', 10)";
    assert_eq!(one(&user, all).await, 2);
}

#[tokio::test]
async fn a_queue_at_its_in_flight_max_is_not_ready() {
    let cluster = Cluster::shared();
    for name in ["q", "q.fifo"] {
        let (database, _store, client) = cluster.opened().await;
        run(
            &client,
            &format!("SELECT slipring.create_queue('{name}', '{{\"in_flight_max\": 2}}')"),
        )
        .await;
        for n in 0..6 {
            run(
                &client,
                &format!("SELECT slipring.send('{name}', 'x'::text, \"group\" => 'g{n}')"),
            )
            .await;
        }
        let ready = format!("SELECT slipring.ready('{name}')::int::int8");
        let receive = format!("SELECT receipt FROM slipring.receive('{name}', 2)");
        for _ in 0..3 {
            assert_eq!(one(&client, &ready).await, 1, "{name}");
            let receipts: Vec<String> =
                client.query(&receive, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
            assert_eq!((receipts.len(), one(&client, &ready).await), (2, 0), "{name}");
            // A lock that another session has does not count as room.
            let holder = cluster.begin(&database, "READ COMMITTED").await;
            let hold = format!(
                "SELECT slipring.queue_lock(queue_id) FROM slipring.queue WHERE name = '{name}'"
            );
            run(&holder, &hold).await;
            assert_eq!(one(&client, &ready).await, 0, "{name}");
            run(&holder, "COMMIT").await;
            for receipt in receipts {
                run(&client, &format!("SELECT slipring.ack('{receipt}'::text)")).await;
            }
        }
        assert_eq!(one(&client, &ready).await, 0, "{name} is empty");
    }
}

#[tokio::test]
async fn leases_of_messages_that_failed_before_count_for_in_flight_max() {
    // S12
    let cluster = Cluster::shared();
    let (_database, _store, client) = cluster.opened().await;
    run(&client, "SELECT slipring.create_queue('q', '{\"in_flight_max\": 200}')").await;
    let send =
        "SELECT slipring.send_batch('q', array_agg(n::text::bytea)) FROM generate_series(1, 100) n";
    let receive = async |n: usize| {
        let receive = format!("SELECT receipt FROM slipring.receive('q', {n}, '1 hour')");
        let rows = client.query(&receive, &[]).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect::<Vec<String>>()
    };
    run(&client, send).await;
    run(&client, send).await;
    let mut leased = 0;
    loop {
        let receipts = receive(200).await;
        if receipts.is_empty() {
            break;
        }
        leased += receipts.len();
        // Each fails the first time.
        if leased <= 200 {
            client.query("SELECT slipring.nack($1::text[])", &[&receipts]).await.unwrap();
        }
    }
    assert_eq!(leased, 400, "all were handed out twice");
    run(&client, send).await;
    for n in [1, 2, 100] {
        for _ in 0..20 {
            assert_eq!(receive(n).await, Vec::<String>::new(), "a receive of {n}");
        }
    }
}

#[tokio::test]
async fn a_queue_is_ready_when_what_failed_before_is_acked() {
    let cluster = Cluster::shared();
    let (_database, _store, client) = cluster.opened().await;
    run(&client, "SELECT slipring.create_queue('q', '{\"in_flight_max\": 2}')").await;
    let send = "SELECT slipring.send('q', 'a'::text), slipring.send('q', 'b'::text)";
    run(&client, send).await;
    run(&client, "SELECT slipring.nack(receipt) FROM slipring.receive('q', 2)").await;
    let receive = "SELECT array_agg(receipt) FROM slipring.receive('q', 2, '1 hour')";
    let receipts: Vec<String> = client.query_one(receive, &[]).await.unwrap().get(0);
    run(&client, send).await;
    let ready = "SELECT slipring.ready('q')::int::int8";
    assert_eq!((receipts.len(), one(&client, ready).await), (2, 0));
    client.query("SELECT slipring.ack($1::text[])", &[&receipts]).await.unwrap();
    assert_eq!(one(&client, ready).await, 1);
}

#[tokio::test]
async fn a_send_that_waited_goes_by_the_limits_of_when_it_goes_on() {
    let cluster = Cluster::shared();
    let (database, _store, client) = cluster.opened().await;
    run(&client, "SELECT slipring.create_queue('q')").await;
    let send = "SELECT slipring.send('q', 'x'::text, dedup_id => 'a')";
    let open = cluster.begin(&database, "READ COMMITTED").await;
    run(&open, send).await;
    let second = cluster.client(&database).await;
    let waits =
        tokio::spawn(async move { refused_with(&second, send, "SR006", "messages_max").await });
    waiting(&client, "transactionid", 1).await;
    run(&client, "SELECT slipring.configure('q', '{\"messages_max\": 0}')").await;
    run(&open, "ROLLBACK").await;
    soon("the send", waits).await.unwrap();
}

#[tokio::test]
async fn a_send_that_waited_goes_to_no_other_queue_of_the_name() {
    for own in [256, 0] {
        let cluster = Cluster::shared();
        let (database, store, client) = cluster.opened().await;
        run(&client, &format!("UPDATE slipring.store SET own_tables_max = {own}")).await;
        let q = queue(&store, "q", &QueueSettings::default()).await;
        let send = "SELECT slipring.send('q', 'x'::text, dedup_id => 'a')";
        let open = cluster.begin(&database, "READ COMMITTED").await;
        run(&open, send).await;
        let second = cluster.client(&database).await;
        let waits =
            tokio::spawn(async move { refused_with(&second, send, "SR001", "queue q").await });
        waiting(&client, "transactionid", 1).await;
        store.delete_queue(q).await.unwrap();
        run(&client, "SELECT slipring.create_queue('q')").await;
        run(&open, "ROLLBACK").await;
        soon("the send", waits).await.unwrap();
        assert_eq!(one(&client, "SELECT count(*) FROM slipring.peek('q')").await, 0);
    }
}
