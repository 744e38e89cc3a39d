//! A load takes its numbers in a transaction that others cannot tell to be open (S15.1): what is
//! handed out beside it has none of them.

use slipring_testbed::{Cluster, one, run};
use tokio_postgres::Client;

use super::ground::{Ground, ack, numbered, receive, sorted};

/// Of a load: five messages.
fn loaded() -> Vec<String> {
    (1..=5).map(|n| format!("load {n}")).collect()
}

/// A transaction that has begun a load and stays open.
async fn begun(ground: &Ground) -> (Client, i64) {
    let loader = ground.begin().await;
    let load = one(&loader, "SELECT slipring.load_begin('jobs', 20)").await;
    (loader, load)
}

async fn publish(ground: &Ground, loader: &Client, load: i64) {
    run(loader, "COMMIT").await;
    let bodies = loaded().join("','");
    // Of two blocks, so that not only the first one is looked at.
    for part in [0, 16] {
        let from = if part == 0 { "1:2" } else { "3:5" };
        let append = format!(
            "SELECT slipring.load_append({load}, {part}, (ARRAY['{bodies}'])[{from}]::text[])"
        );
        run(&ground.user, &append).await;
    }
    run(&ground.user, &format!("SELECT slipring.load_publish({load}, 5)")).await;
}

#[tokio::test]
async fn a_receive_that_stays_open_from_before_a_load_to_after_it_has_none_of_it() {
    for n in [1, 3, 10] {
        let ground = Ground::in_use().await;
        let (loader, load) = begun(&ground).await;
        for n in 0..10 {
            ground.send(&format!("m{n:03}")).await;
        }
        let consumer = ground.begin().await;
        let got = receive(&consumer, n).await;
        assert!(!got.is_empty(), "{n}");
        publish(&ground, &loader, load).await;
        ack(&consumer, &got).await;
        run(&consumer, "COMMIT").await;
        let bodies: Vec<_> = got.into_iter().map(|(_, body)| body).collect();
        let rest = ground.drain().await;
        assert_eq!(sorted(&[&bodies, &rest]), sorted(&[&loaded(), &numbered(0..10)]), "{n}");
    }
}

/// A receive beside an open load looks at each transaction number that is shown, so they are few.
#[tokio::test]
async fn a_load_that_stays_open_shows_no_more_numbers_than_a_receive_can_look_at() {
    let ground = Ground::in_use().await;
    let others = "SELECT count(slipring.create_queue('other' || n)) FROM generate_series(1, 16) n";
    assert_eq!(one(&ground.user, others).await, 16);
    // A long transaction that has nothing to do with loads begins after one.
    let (loader, load) = begun(&ground).await;
    let writer = ground.begin().await;
    run(&writer, "SELECT pg_current_xact_id()").await;
    run(&loader, "COMMIT").await;
    // As if so many transactions had begun since, and a load of each queue.
    let later = "SELECT setval(s, v - v % 1048576 + 65537) FROM (
        SELECT s, pg_sequence_last_value(s) AS v FROM slipring.queue q,
            slipring.load_reserving(q.queue_id) s WHERE q.name = 'jobs') s";
    run(&ground.user, later).await;
    run(&ground.user, &format!("SELECT slipring.load_reserve({load}, 32, 16)")).await;
    // Nothing but another open load is shown as one with it.
    let (loader, _) = begun(&ground).await;
    run(&ground.user, later).await;
    let mut refused = 0;
    for n in 1..=16 {
        let begin = format!("SELECT slipring.load_begin('other{n}', 20)");
        if let Err(error) = ground.user.batch_execute(&begin).await {
            let error = error.as_db_error().expect("the database refuses it");
            assert_eq!(error.code().code(), "55P03", "{error:?}");
            assert!(error.message().contains("has been open for too long"), "{error:?}");
            refused += 1;
        }
    }
    assert_eq!(refused, 1, "of 16 queues one has its sequence");
    run(&loader, "COMMIT").await;
    for n in 1..=16 {
        run(&ground.user, &format!("SELECT slipring.load_begin('other{n}', 20)")).await;
    }
    run(&writer, "COMMIT").await;
}

#[tokio::test]
async fn an_offer_that_is_made_while_a_load_is_begun_has_none_of_it() {
    let ground = Ground::in_use().await;
    let (loader, load) = begun(&ground).await;
    for n in 0..60 {
        ground.send(&format!("m{n:03}")).await;
    }
    let mut done = Vec::new();
    while ground.left(false).await <= 0 {
        done.extend(ground.work_noted().await);
        assert!(done.len() < 40, "nothing is offered");
    }
    publish(&ground, &loader, load).await;
    let rest = ground.drain().await;
    assert_eq!(sorted(&[&done, &rest]), sorted(&[&loaded(), &numbered(0..60)]));
}

#[tokio::test]
async fn who_read_the_queue_before_a_load_had_its_priority_opens_none_of_its_numbers() {
    let ground = Ground::in_use().await;
    run(&ground.user, "CREATE TEMP TABLE before AS SELECT q FROM slipring.queue q").await;
    let load = one(&ground.user, "SELECT slipring.load_begin('jobs', 1)").await;
    let append = "0, ARRAY['loaded'], priority => 7";
    run(&ground.user, &format!("SELECT slipring.load_append({load}, {append})")).await;
    run(&ground.user, "SELECT slipring.send('jobs', 'sent'::text, priority => 7)").await;
    // Another session has the queue's lock, so the state does not get this hand-out.
    let holder = ground.cluster.holder(&ground.database, ground.q).await;
    assert_eq!(receive(&ground.user, 1).await.remove(0).1, "sent");
    run(&ground.user, "SET search_path = pg_catalog, slipring").await;
    let open = "SELECT count(*) FROM pg_temp.before b
        CROSS JOIN LATERAL slipring.state_read(b.q) s CROSS JOIN LATERAL unnest(s.open) o
        WHERE o && slipring.load_held((b.q).queue_id)";
    assert_eq!(one(&ground.user, open).await, 0);
    let lanes = "SELECT cardinality(s.lanes)::int8 FROM pg_temp.before b
        CROSS JOIN LATERAL slipring.state_read(b.q) s";
    assert_eq!(one(&ground.user, lanes).await, 2, "the hand-out shows the priority");
    drop(holder);
}

/// A snapshot does not show a transaction whose number is the highest so far: a cluster of its own,
/// in which no other ends meanwhile.
#[tokio::test]
async fn a_load_that_was_begun_a_moment_ago_stays_shown_when_another_queue_begins_one() {
    let cluster = Cluster::own();
    let (database, _store, user) = cluster.opened().await;
    let create = "SELECT count(slipring.create_queue('q' || n)) FROM generate_series(1, 17) n";
    assert_eq!(one(&user, create).await, 17);
    let first = "SELECT pg_sequence_last_value(slipring.load_reserving(1)) >> 20";
    let loader = cluster.client(&database).await;
    run(&loader, "BEGIN; SELECT slipring.load_begin('q1', 20)").await;
    let own = one(&loader, "SELECT pg_current_xact_id()::text::bigint").await;
    assert_eq!(one(&user, first).await, own);
    run(&user, "SELECT slipring.load_begin('q17', 20)").await;
    assert_eq!(one(&user, first).await, own, "the second one has replaced the first one");
    run(&loader, "COMMIT").await;
    run(&user, "SELECT slipring.load_begin('q17', 20)").await;
    assert!(one(&user, first).await > own, "the first one has ended");
}
