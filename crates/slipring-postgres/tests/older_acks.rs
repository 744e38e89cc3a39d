//! Acks in transactions with an older snapshot: they fail when their own lease has ended since, and
//! for nothing that happened to other leases of the queue (S10.3, S10.8).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use slipring_conformance::verbs::plain;
use slipring_testbed::{Cluster, Database, one, refused_with, rotation_step, run, soon};
use tokio_postgres::Client;

const LEVELS: [&str; 2] = ["REPEATABLE READ", "SERIALIZABLE"];

struct Ground {
    cluster: &'static Cluster,
    database: Database,
    other: Client,
}

impl Ground {
    async fn new() -> Ground {
        let cluster = Cluster::shared();
        let database = cluster.database().await;
        plain(&cluster.store(&database).await).await;
        let other = cluster.client(&database).await;
        let ground = Ground { cluster, database, other };
        // The first such ack tells those who end leases that there are some.
        let receipt = ground.leased(1).await.remove(0);
        let old = ground.old(LEVELS[0]).await;
        run(&old, &format!("SELECT slipring.ack('{receipt}'); COMMIT")).await;
        ground
    }

    /// Receipts of messages, each with a lease of its own.
    async fn leased(&self, count: usize) -> Vec<String> {
        let mut receipts = Vec::new();
        for n in 0..count {
            run(&self.other, &format!("SELECT slipring.send('plain', 'm{n}'::text)")).await;
            let receive = "SELECT receipt FROM slipring.receive('plain', 1, '1 hour')";
            receipts.push(self.other.query_one(receive, &[]).await.unwrap().get(0));
        }
        receipts
    }

    /// A transaction whose snapshot is of this moment.
    async fn old(&self, isolation: &str) -> Client {
        let old = self.cluster.begin(&self.database, isolation).await;
        run(&old, "SELECT count(*) FROM pg_class").await;
        old
    }
}

async fn refused(client: &Client, receipt: &str) -> String {
    let ack = format!("SELECT slipring.ack('{receipt}')");
    let error = client.batch_execute(&ack).await.expect_err("its lease has ended");
    run(client, "ROLLBACK").await;
    error.code().unwrap().code().to_owned()
}

#[tokio::test]
async fn an_ack_does_not_fail_for_what_becomes_of_other_leases() {
    let ground = Ground::new().await;
    for isolation in LEVELS {
        for times in 0..10 {
            let receipts = ground.leased(3).await;
            let old = ground.old(isolation).await;
            // One goes back, one waits for its second try and is handed out and given back again.
            run(&ground.other, &format!("SELECT slipring.nack('{}', '1 hour')", receipts[1])).await;
            run(&ground.other, &format!("SELECT slipring.nack('{}')", receipts[2])).await;
            let again = "SELECT slipring.nack(receipt, '1 hour') FROM slipring.receive('plain')";
            run(&ground.other, again).await;
            let back = format!("BEGIN; SELECT slipring.nack('{}'); ROLLBACK", receipts[0]);
            run(&ground.other, &back).await;
            let ack = format!("SELECT slipring.ack('{}'); COMMIT", receipts[0]);
            let done = old.batch_execute(&ack).await;
            done.unwrap_or_else(|error| panic!("{isolation}, {times}: {error:?}"));
        }
    }
    let left = one(&ground.other, "SELECT leased FROM slipring.stats('plain')").await;
    assert_eq!(left, 0);
}

#[tokio::test]
async fn an_ack_fails_when_its_own_lease_has_ended() {
    let ground = Ground::new().await;
    for isolation in LEVELS {
        for twice in [false, true] {
            let mut receipts = ground.leased(1).await;
            if twice {
                // A message that has been given back has a picture.
                run(&ground.other, &format!("SELECT slipring.nack('{}')", receipts[0])).await;
                let receive = "SELECT receipt FROM slipring.receive('plain', 1, '1 hour')";
                receipts = vec![ground.other.query_one(receive, &[]).await.unwrap().get(0)];
            }
            let old = ground.old(isolation).await;
            run(&ground.other, &format!("SELECT slipring.nack('{}')", receipts[0])).await;
            assert_eq!(refused(&old, &receipts[0]).await, "40001", "{isolation}, {twice}");
            let next = ground.old(isolation).await;
            assert_eq!(refused(&next, &receipts[0]).await, "SR004", "{isolation}, {twice}");
            run(&ground.other, "SELECT slipring.purge('plain')").await;
        }
    }
}

#[tokio::test]
async fn an_ack_meets_what_others_did_in_tables_that_are_let_go_and_not_emptied() {
    let ground = Ground::new().await;
    let of = |name: &str| format!("SELECT pg_sequence_last_value('slipring.{name}')");
    for (n, isolation) in (1..).zip(LEVELS) {
        for end in ["ack", "nack"] {
            let receipt = ground.leased(1).await.remove(0);
            let old = ground.old(isolation).await;
            run(&ground.other, &format!("SELECT slipring.{end}('{receipt}')")).await;
            let later = slipring_conformance::verbs::at(4_000_000_000 * n);
            let before = one(&ground.other, &of("journal")).await;
            let step_past = async |name: &str| {
                while one(&ground.other, &of(name)).await <= before {
                    rotation_step(&ground.other, "journal", later).await;
                }
            };
            soon("the next generation begins", step_past("journal")).await;
            // Keeps the old tables from being emptied.
            let reader = ground.old("READ COMMITTED").await;
            run(&reader, "SELECT count(*) FROM slipring.state").await;
            soon("the old tables are let go", step_past("journal_low")).await;
            let told = refused(&old, &receipt).await;
            assert!(["40001", "SR004", "SR005"].contains(&told.as_str()), "{isolation}: {told}");
            run(&ground.other, "SELECT slipring.purge('plain')").await;
        }
    }
}

#[tokio::test]
async fn a_rotation_of_the_journal_hides_no_lease() {
    let ground = Ground::new().await;
    for (n, isolation) in (1..).zip(LEVELS) {
        let receipts = ground.leased(2).await;
        let old = ground.old(isolation).await;
        let later = slipring_conformance::verbs::at(4_000_000_000 * n);
        for _ in 0..8 {
            rotation_step(&ground.other, "journal", later).await;
        }
        // Either it finds its lease, or it is told to try again, and then it does.
        let ack = |receipt: &str| format!("SELECT slipring.ack('{receipt}')");
        if old.batch_execute(&ack(&receipts[0])).await.is_err() {
            run(&old, &format!("ROLLBACK; BEGIN ISOLATION LEVEL {isolation}")).await;
            run(&old, &ack(&receipts[0])).await;
        }
        run(&old, "COMMIT").await;
        let next = ground.old(isolation).await;
        run(&next, &format!("{}; COMMIT", ack(&receipts[1]))).await;
    }
}

#[tokio::test]
async fn an_ack_of_what_was_handed_out_after_the_snapshot_is_to_be_tried_again() {
    let g = Ground::new().await;
    run(&g.other, "SELECT slipring.create_queue('fifo', '{\"fifo\": true}')").await;
    for isolation in LEVELS {
        for queue in ["plain", "fifo"] {
            let old = g.old(isolation).await;
            run(&g.other, &format!("SELECT slipring.send('{queue}', 'm'::text)")).await;
            let receive = format!("SELECT receipt FROM slipring.receive('{queue}', 1, '1 hour')");
            let receipt: String = g.other.query_one(&receive, &[]).await.unwrap().get(0);
            let ack = format!("SELECT slipring.ack('{receipt}')");
            refused_with(&old, &ack, "40001", "newer than the snapshot").await;
            run(&old, "ROLLBACK").await;
            run(&old, &format!("BEGIN ISOLATION LEVEL {isolation}; {ack}; COMMIT")).await;
        }
    }
}

#[tokio::test]
async fn an_ack_beyond_the_deadline_that_its_snapshot_has_is_to_be_tried_again() {
    // S3.4: a lease that was prolonged since is valid.
    let g = Ground::new().await;
    run(&g.other, "SELECT slipring.create_queue('fifo', '{\"fifo\": true}')").await;
    for isolation in LEVELS {
        run(&g.other, "SELECT slipring.send('fifo', 'm'::text)").await;
        let receive =
            "SELECT receipt, lease_until::text FROM slipring.receive('fifo', 1, '1 second')";
        let row = g.other.query_one(receive, &[]).await.unwrap();
        let (receipt, until): (String, String) = (row.get(0), row.get(1));
        let old = g.old(isolation).await;
        run(&g.other, &format!("SELECT slipring.extend('{receipt}', '1 hour')")).await;
        let over = format!("SELECT (clock_timestamp() > '{until}')::int::int8");
        soon("the first deadline", async { while one(&g.other, &over).await == 0 {} }).await;
        let ack = format!("SELECT slipring.ack('{receipt}')");
        refused_with(&old, &ack, "40001", "deadline").await;
        run(&old, "ROLLBACK").await;
        run(&old, &format!("BEGIN ISOLATION LEVEL {isolation}; {ack}; COMMIT")).await;
    }
}
