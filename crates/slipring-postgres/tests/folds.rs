//! Who notes in the state what receives by SQL were handed (0039): the commit, whatever kind of
//! statement it is of, and nothing that is not the end of its transaction.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use slipring_testbed::{Cluster, Database, one, run, soon};
use tokio_postgres::Client;

/// So many messages of one lease are noted by each commit.
const MANY: i64 = 600;

/// A queue `jobs` with many messages, and a session that looks on.
struct Ground {
    cluster: &'static Cluster,
    database: Database,
    client: Client,
}

async fn ground() -> Ground {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let client = cluster.client(&database).await;
    run(&client, "SELECT slipring.create_queue('jobs')").await;
    let filled = "SELECT slipring.send_batch('jobs', array_fill('m'::text, ARRAY[9000]))";
    run(&client, filled).await;
    Ground { cluster, database, client }
}

impl Ground {
    /// How many messages are leased in the state that was written last.
    async fn noted(&self) -> i64 {
        one(&self.client, "SELECT leased FROM slipring.state ORDER BY seq DESC LIMIT 1").await
    }

    async fn session(&self) -> Client {
        self.cluster.client(&self.database).await
    }
}

#[tokio::test]
async fn every_kind_of_commit_notes_what_it_was_handed() {
    let g = ground().await;
    let receive = format!("PERFORM count(*) FROM slipring.receive('jobs', {MANY})");
    let made = format!(
        "CREATE PROCEDURE public.work() LANGUAGE plpgsql AS $$ BEGIN {receive}; COMMIT; END $$"
    );
    run(&g.client, &made).await;
    let select = receive.replace("PERFORM", "SELECT");
    let calls = [
        "CALL public.work()".to_owned(),
        format!("DO $$ BEGIN {receive}; COMMIT; END $$"),
        format!("/* a comment */ {select}"),
        format!("BEGIN; {select}; COMMIT"),
        format!("BEGIN; {select}; END"),
    ];
    let mut noted = 0;
    for strings in ["on", "off"] {
        let session = g.session().await;
        run(&session, &format!("SET standard_conforming_strings = {strings}")).await;
        for call in &calls {
            for statement in call.split_inclusive("; ") {
                let whole = call.contains("$$");
                run(&session, if whole { call } else { statement }).await;
                if whole {
                    break;
                }
            }
            let now = g.noted().await;
            assert!(now > noted, "{call}, {strings}");
            noted = now;
        }
    }
}

#[tokio::test]
async fn what_is_not_the_end_of_a_transaction_keeps_no_queue() {
    let g = ground().await;
    let name = &g.database.name;
    let receive = format!("SELECT count(*) FROM slipring.receive('jobs', {MANY})");
    let perform = receive.replace("SELECT", "PERFORM");
    // The first receive asks, which is not what is looked at here.
    run(&g.client, &receive).await;
    for (calls, end) in [
        (
            format!("BEGIN; {receive}; PREPARE TRANSACTION '{name}'"),
            format!("ROLLBACK PREPARED '{name}'"),
        ),
        (format!("BEGIN; {receive}; SET CONSTRAINTS ALL IMMEDIATE"), "ROLLBACK".to_owned()),
        (
            format!("BEGIN; DO $$ BEGIN {perform}; SET CONSTRAINTS ALL IMMEDIATE; END $$"),
            "ROLLBACK".to_owned(),
        ),
    ] {
        // In one message, and in one for each statement.
        for parts in [vec![calls.as_str()], calls.splitn(2, "; ").collect()] {
            let session = g.session().await;
            for part in parts {
                run(&session, part).await;
            }
            let free = "SELECT slipring.pause('jobs'); SELECT slipring.resume('jobs')";
            soon(&calls, g.client.batch_execute(free)).await.unwrap();
            run(&session, &end).await;
        }
    }
}

#[tokio::test]
async fn a_receive_of_a_paused_queue_keeps_no_lock() {
    let g = ground().await;
    run(&g.client, "SELECT slipring.create_queue('line.fifo')").await;
    for queue in ["jobs", "line.fifo"] {
        run(&g.client, &format!("SELECT slipring.pause('{queue}')")).await;
        let idle = g.session().await;
        run(&idle, "BEGIN").await;
        for n in [1, 10] {
            let receive = format!("SELECT count(*) FROM slipring.receive('{queue}', {n})");
            assert_eq!(one(&idle, &receive).await, 0, "{queue}");
        }
        let resume = format!("SELECT slipring.resume('{queue}')");
        soon("who goes on", g.client.batch_execute(&resume)).await.unwrap();
        run(&idle, "COMMIT").await;
    }
}

#[tokio::test]
async fn who_has_the_lock_leaves_hand_outs_that_no_commit_noted_as_few_ranges() {
    let g = ground().await;
    let receive = "SELECT receipt FROM slipring.receive('jobs', 1, '1 hour')";
    let held: String = g.client.query_one(receive, &[]).await.unwrap().get(0);
    let noted = g.noted().await;
    let holder = g.session().await;
    let nack = format!("SELECT slipring.nack('{held}')");
    run(&holder, "BEGIN").await;
    run(&holder, &nack).await;
    // Each is a transaction of its own, and the queue's lock is not free for any of them.
    for _ in 0..600 {
        run(&g.client, receive).await;
    }
    run(&holder, "ROLLBACK").await;
    assert_eq!(g.noted().await, noted, "a commit has noted it");
    run(&holder, &nack).await;
    assert_eq!(g.noted().await, 600);
    let ranges = "SELECT count(*) FROM unnest((SELECT taken FROM slipring.state
        ORDER BY seq DESC LIMIT 1))";
    let ranges: i64 = one(&g.client, ranges).await;
    // As many as there are open transactions, of which other tests have some.
    assert!(ranges < 100, "{ranges} ranges");
}
