//! The functions for users of SQL work under whatever a session has set for functions of its own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use slipring_testbed::{Cluster, run};
use tokio_postgres::Client;

/// Receives so many messages of a queue in a transaction of its own.
async fn receive(client: &Client, queue: &str, n: i32) -> Vec<String> {
    let sql = format!("SELECT receipt FROM slipring.receive('{queue}', {n})");
    let rows = client.query(&sql, &[]).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    rows.iter().map(|row| row.get(0)).collect()
}

/// One statement after the other, each in a transaction of its own.
async fn each(client: &Client, statements: &[String]) {
    for sql in statements {
        run(client, sql).await;
    }
}

/// Sends messages of every kind, some in packs and some with gaps between them.
async fn send(client: &Client, queue: &str) {
    let body = "'a'::text";
    let mut sends = vec![
        format!("SELECT slipring.send_batch('{queue}', array_fill({body}, ARRAY[200]))"),
        format!("SELECT slipring.send_batch('{queue}', ARRAY['1']::jsonb[])"),
        format!(
            "SELECT slipring.send('{queue}', {body}, delay => '1 ms', headers => '{{\"a\": 1}}')"
        ),
    ];
    for n in 0..8 {
        sends.push(format!("SELECT slipring.send('{queue}', {body}, priority => {n})"));
        sends.push(format!("SELECT slipring.send('{queue}', {body}, dedup_id => 'd{n}')"));
        sends.push(format!("SELECT slipring.send('{queue}', '\\x00'::bytea)"));
    }
    each(client, &sends).await;
}

/// Receives, acks, gives back and prolongs, so that what is left stands in several ranges.
async fn consume(client: &Client, queue: &str) {
    for n in [1, 3, 70, 9, 100, 9] {
        let receipts = receive(client, queue, n).await;
        let (acked, rest) = receipts.split_at(receipts.len() / 2);
        let list = |receipts: &[String]| format!("ARRAY['{}']::text[]", receipts.join("', '"));
        let mut calls = vec![format!("SELECT slipring.extend({})", list(&receipts))];
        if !acked.is_empty() {
            calls.push(format!("SELECT slipring.ack({})", list(acked)));
        }
        if let Some(first) = rest.first() {
            calls.push(format!("SELECT slipring.extend('{first}', '1 hour')"));
            calls.push(format!("SELECT slipring.nack({}, '0 s', 'why')", list(rest)));
        }
        each(client, &calls).await;
    }
    let receipts = receive(client, queue, 2).await;
    if let [first, second] = &receipts[..] {
        run(client, &format!("SELECT slipring.ack('{first}')")).await;
        run(client, &format!("SELECT slipring.nack('{second}')")).await;
    }
}

async fn administer(client: &Client, queue: &str) {
    let mut calls: Vec<String> = [
        "configure('{q}', '{\"max_attempts\": 1, \"dead_letter\": \"dead\"}')",
        "pause('{q}')",
        "resume('{q}')",
        "stats('{q}')",
        "set_aside('{q}')",
        "findings()",
        "ready('{q}')",
        "maintenance()",
        "redrive('dead')",
    ]
    .map(|call| format!("SELECT * FROM slipring.{}", call.replace("{q}", queue)))
    .to_vec();
    for state in ["ready", "delayed", "leased", "parked"] {
        calls.push(format!("SELECT * FROM slipring.peek('{queue}', '{state}')"));
    }
    calls.push(format!("CALL slipring.await('{queue}', '1 ms')"));
    calls.push("CALL slipring.maintain()".to_owned());
    each(client, &calls).await;
    let receipts = receive(client, queue, 20).await;
    run(client, &format!("SELECT slipring.nack(ARRAY['{}'])", receipts.join("', '"))).await;
    run(client, "CALL slipring.maintain()").await;
    run(client, "SELECT slipring.redrive('dead')").await;
}

async fn load(client: &Client, queue: &str) {
    for end in ["publish(%, 1)", "abandon(%)"] {
        let begin = format!("SELECT slipring.load_begin('{queue}')");
        let load: i64 = client.query_one(&begin, &[]).await.unwrap().get(0);
        let calls = [
            format!("SELECT slipring.load_reserve({load}, 1024)"),
            format!("SELECT slipring.load_append({load}, 0, ARRAY['a'])"),
            format!("SELECT slipring.load_{}", end.replace('%', &load.to_string())),
        ];
        each(client, &calls).await;
    }
}

#[tokio::test]
async fn every_verb_works_where_the_session_makes_errors_of_all_that_may_be_a_mistake() {
    let (database, _store, client) = Cluster::shared().opened().await;
    let begin = [
        "SELECT slipring.create_queue('q'), slipring.create_queue('dead')",
        "SELECT slipring.create_queue('f', '{\"fifo\": true}')",
        "SET plpgsql.extra_errors = 'all'",
        "SET plpgsql.extra_warnings = 'all'",
    ];
    each(&client, &begin.map(str::to_owned)).await;
    for queue in ["q", "f"] {
        for _ in 0..2 {
            send(&client, queue).await;
            consume(&client, queue).await;
        }
        administer(&client, queue).await;
        consume(&client, queue).await;
    }
    load(&client, "q").await;
    let role = format!("{}_strict", database.name);
    let admin = Cluster::shared().superuser(&database.name).await;
    run(&admin, &format!("CREATE ROLE {role}")).await;
    let end = [
        format!("SELECT slipring.grant('consumer', '{role}', 'q')"),
        format!("SELECT slipring.revoke('consumer', '{role}', 'q')"),
        "SELECT slipring.purge('q'), slipring.purge('f'), slipring.purge('dead')".to_owned(),
    ];
    each(&client, &end).await;
}

#[tokio::test]
async fn the_tables_of_a_queue_are_where_those_of_its_owner_are() {
    let (_, _, client) = Cluster::shared().opened().await;
    // Nothing but PostgreSQL's own relations may be there: what is made by this setting fails.
    run(&client, "SET default_tablespace = pg_global").await;
    run(&client, "SELECT slipring.create_queue('own')").await;
    run(&client, "SET default_tablespace = ''; UPDATE slipring.store SET own_tables_max = 1").await;
    run(&client, "SET default_tablespace = pg_global").await;
    run(&client, "SELECT slipring.create_queue('shared')").await;
}

#[tokio::test]
async fn a_table_with_the_name_of_a_type_is_in_no_calls_way() {
    let (_, _, client) = Cluster::shared().opened().await;
    run(&client, "CREATE TEMP TABLE record (a int); CREATE TEMP TABLE text (a int)").await;
    run(&client, "CREATE TEMP TABLE int8 (a int); CREATE TEMP TABLE jsonb (a int)").await;
    run(&client, "SELECT slipring.create_queue('q')").await;
    for sent in ["'{}'::pg_catalog.jsonb", "'a'::pg_catalog.text", "'a'::pg_catalog.bytea"] {
        run(&client, &format!("SELECT slipring.send('q', {sent})")).await;
    }
    each(&client, &["CALL slipring.maintain('1 s')", "CALL slipring.await('q')"].map(String::from))
        .await;
    assert_eq!(receive(&client, "q", 3).await.len(), 3);
}

#[tokio::test]
async fn a_wait_may_be_of_any_length() {
    let (_, _, client) = Cluster::shared().opened().await;
    run(&client, "SELECT slipring.create_queue('q')").await;
    let long = "178000000 years";
    // One look where it is below zero; an end far away where there is something to receive.
    run(&client, &format!("CALL slipring.await('q', '-{long}')")).await;
    run(&client, "SELECT slipring.send('q', 'a'::text)").await;
    for call in [
        format!("await('q', '{long}')"),
        format!("maintain('{long}')"),
        format!("maintain('-{long}')"),
    ] {
        run(&client, &format!("CALL slipring.{call}")).await;
    }
}
