//! Calls that meet in the middle of each other, brought there step by step: a deletion that fails,
//! acks beside rotations and passes, transactions with old snapshots.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::sync::Arc;
use std::time::Duration;

use slipring::{AdminStore, QueueId, QueueName, QueueSettings, Store, Timestamp};
use slipring_conformance::verbs::{at, claim, counts, drain, plain, queue, send};
use slipring_postgres::PostgresStore;
use slipring_testbed::{Cluster, Database, one, refusal, rotation_step, run, soon, waiting};
use tokio_postgres::Client;

const PATIENCE: Duration = Duration::from_secs(60);
/// When every lease given by SQL is over.
const FAR: Timestamp = Timestamp::from_millis(4_000_000_000_000);

/// A store with a queue `plain`, and a user of SQL.
struct Ground {
    cluster: &'static Cluster,
    database: Database,
    store: Arc<PostgresStore>,
    q: QueueId,
    user: Client,
}

impl Ground {
    async fn new() -> Ground {
        let cluster = Cluster::shared();
        let (database, store, user) = cluster.opened().await;
        let q = plain(&store).await;
        Ground { cluster, database, store, q, user }
    }

    async fn client(&self) -> Client {
        self.cluster.client(&self.database).await
    }

    /// Sends a message and receives it by SQL; answers its receipt.
    async fn held(&self, queue: &str) -> String {
        run(&self.user, &format!("SELECT slipring.send('{queue}', 'm'::text)")).await;
        let receive = format!("SELECT receipt FROM slipring.receive('{queue}', 1, '1 hour')");
        self.user.query_one(&receive, &[]).await.unwrap().get(0)
    }
}

/// The SQLSTATE that a statement fails with.
async fn refused(client: &Client, sql: &str) -> String {
    refusal(client, sql).await.code().code().to_owned()
}

#[tokio::test]
async fn a_deletion_that_fails_leaves_the_queue_as_it_was() {
    // S14.5
    let g = Ground::new().await;
    let dead = queue(&g.store, "dead", &QueueSettings::default()).await;
    send(&g.store, g.q, &["a"]).await;
    send(&g.store, dead, &["before"]).await;
    run(&g.user, "BEGIN; SELECT slipring.redrive('plain', 'dead')").await;
    let other = g.client().await;
    let delete =
        format!("SET lock_timeout = '50ms'; SELECT slipring.store_delete_queue({})", dead.0);
    assert_eq!(refused(&other, &delete).await, "55P03");
    run(&g.user, "COMMIT; SELECT slipring.send('dead', 'by SQL'::text)").await;
    assert_eq!(drain(&g.store, dead).await, ["a", "before", "by SQL"]);
    // A crash before its commit leaves what does not roll back.
    for step in 0..4 {
        run(&other, &format!("SELECT setval('slipring.generation_{}', -1)", dead.0)).await;
        send(&g.store, g.q, &["other"]).await;
        assert_eq!(drain(&g.store, g.q).await, ["other"], "other queues go on");
        assert_eq!(counts(&g.store, dead).await, [0; 4], "looks need no lock");
        assert_eq!(g.store.lookup(slipring::MessageId(1), at(0)).await.unwrap(), None);
        let after = if step % 2 == 0 {
            assert_eq!(drain(&g.store, dead).await, [""; 0], "a receive puts it right");
            "SELECT slipring.send('dead', 'after'::text)"
        } else {
            "SELECT slipring.send_batch('dead', '{after}'::text[])"
        };
        run(&g.user, after).await;
        assert_eq!(drain(&g.store, dead).await, ["after"], "after {step}");
        rotation_step(&other, "queues", at(step)).await;
    }
}

#[tokio::test]
async fn messages_of_a_deleted_queue_do_not_hold_up_the_delays_of_others() {
    // S5.3, S11.1
    let g = Ground::new().await;
    let old = queue(&g.store, "old", &QueueSettings::default()).await;
    let many = "SELECT slipring.send_batch('old', array_fill('m'::text, ARRAY[10000]),
                    delay => '1 second')";
    run(&g.user, many).await;
    g.store.delete_queue(old).await.unwrap();
    run(&g.user, "SELECT slipring.send('plain', 'm'::text, delay => '1 second')").await;
    let pass = g.store.due(FAR).await.unwrap();
    assert_eq!((pass.ready, pass.next), (vec![(g.q, 1)], None));
}

#[tokio::test]
async fn a_receipt_is_acked_once_also_while_the_journal_moves() {
    // S10.3
    let g = Ground::new().await;
    let (other, rotator) = (g.client().await, g.client().await);
    for moves in 0..6 {
        let receipt = g.held("plain").await;
        let ack = format!("BEGIN; SELECT slipring.ack('{receipt}')");
        run(&g.user, &ack).await;
        rotation_step(&rotator, "journal", at(moves)).await;
        let (second, ()) = tokio::join!(refused(&other, &ack), async {
            waiting(&rotator, "transactionid", 1).await;
            run(&g.user, "COMMIT").await;
        });
        assert_eq!(second, "SR003", "after {moves} steps");
        run(&other, "ROLLBACK").await;
        assert_eq!(refused(&other, &ack).await, "SR003", "after {moves} steps");
        run(&other, "ROLLBACK").await;
        assert_eq!(counts(&g.store, g.q).await, [0; 4], "after {moves} steps");
        // One that was rolled back does not count.
        let receipt = g.held("plain").await;
        let ack = format!("BEGIN; SELECT slipring.ack('{receipt}')");
        run(&g.user, &format!("{ack}; ROLLBACK; {ack}; COMMIT")).await;
        assert_eq!(drain(&g.store, g.q).await, [""; 0]);
    }
}

#[tokio::test]
async fn a_message_whose_ack_commits_during_a_pass_is_not_dead_lettered() {
    // S4.1, S10.2
    let g = Ground::new().await;
    let dead = queue(&g.store, "dead", &QueueSettings::default()).await;
    let settings =
        QueueSettings { dead_letter: QueueName::new("dead").ok(), ..QueueSettings::default() };
    let q = queue(&g.store, "tried", &settings).await;
    let keeper = g.client().await;
    // In its first hands in the log, in the second ones on the shelf; each time the last ones.
    for attempts in 1..=2 {
        let set = format!("{{\"max_attempts\": {attempts}}}");
        run(&g.user, &format!("SELECT slipring.configure('tried', '{set}')")).await;
        let mut receipt = g.held("tried").await;
        if attempts == 2 {
            run(&g.user, &format!("SELECT slipring.nack('{receipt}', '0 seconds')")).await;
            let again = "SELECT receipt FROM slipring.receive('tried', 1, '1 hour')";
            receipt = g.user.query_one(again, &[]).await.unwrap().get(0);
        }
        run(&g.user, &format!("BEGIN; SELECT slipring.ack('{receipt}')")).await;
        // The pass has taken in the acks it could see when it looks for the dead-letter queue.
        let keep = "BEGIN; SELECT FROM slipring.queue WHERE name = 'dead' FOR UPDATE";
        run(&keeper, keep).await;
        let watcher = g.client().await;
        let (pass, ()) = tokio::join!(g.store.expire(FAR), async {
            waiting(&watcher, "transactionid", 1).await;
            run(&g.user, "COMMIT").await;
            run(&keeper, "COMMIT").await;
        });
        assert_eq!(pass.unwrap().ready, [], "{attempts}");
        assert_eq!(g.store.expire(FAR).await.unwrap().ready, [], "{attempts}");
        assert!(claim(&g.store, q, 10, FAR).await.is_empty(), "{attempts}");
        assert_eq!(counts(&g.store, q).await, [0; 4], "{attempts}");
        assert_eq!(counts(&g.store, dead).await, [0; 4], "{attempts}");
    }
}

#[tokio::test]
async fn a_pass_over_many_small_leases_is_cut_short() {
    // S5.2
    let g = Ground::new().await;
    run(&g.user, "SELECT slipring.send_batch('plain', array_fill('m'::text, ARRAY[300]))").await;
    let one_by_one = "DO $$ BEGIN FOR n IN 1..300 LOOP
                          PERFORM FROM slipring.receive('plain', 1, '1 hour'); END LOOP; END $$";
    run(&g.user, one_by_one).await;
    let mut passes = Vec::new();
    let lapsed = async {
        loop {
            let pass = g.store.expire_in(g.q, FAR).await.unwrap();
            passes.extend(pass.ready.iter().map(|(_, count)| *count));
            if pass.next != Some(FAR) {
                break;
            }
        }
    };
    tokio::time::timeout(PATIENCE, lapsed).await.expect("all of them lapse");
    // Each counts as forty of a thousand messages.
    assert!(passes.iter().all(|count| *count <= 25), "{passes:?}");
    assert_eq!(passes.iter().sum::<u64>(), 300);
    assert_eq!(counts(&g.store, g.q).await, [300, 0, 0, 0]);
}

#[tokio::test]
async fn an_ack_with_an_old_snapshot_is_told_the_truth() {
    // S10.3
    let g = Ground::new().await;
    let rotator = g.client().await;
    let receipt = g.held("plain").await;
    run(&g.user, "SELECT slipring.send('plain', 'more'::text)").await;
    rotation_step(&rotator, "journal", at(0)).await;
    // The queue's state is in the new tables by now, its lease is not.
    assert_eq!(drain(&g.store, g.q).await, ["more"]);
    let old = g.cluster.begin(&g.database, "REPEATABLE READ").await;
    run(&old, "SELECT count(*) FROM slipring.queue").await;
    let low = "SELECT pg_sequence_last_value('slipring.journal_low')";
    let before = one(&rotator, low).await;
    let rotated = async {
        while one(&rotator, low).await == before {
            rotation_step(&rotator, "journal", at(0)).await;
        }
    };
    tokio::time::timeout(PATIENCE, rotated).await.expect("the journal rotates");
    let ack = format!("SELECT slipring.ack('{receipt}')");
    // What was let go is there until nobody reads it.
    run(&old, &format!("SAVEPOINT before; {ack}; ROLLBACK TO before")).await;
    let left = format!("SELECT pg_relation_size('slipring.lease_{}')", before % 3);
    let emptied = async {
        while one(&rotator, &left).await > 0 {
            rotation_step(&rotator, "journal", at(0)).await;
        }
    };
    tokio::time::timeout(PATIENCE, emptied).await.expect("the old tables are emptied");
    assert_eq!(refused(&old, &ack).await, "40001", "the lease is held");
    run(&old, "ROLLBACK").await;
    // What was rolled back has ended nothing.
    run(&g.user, &format!("BEGIN; SELECT slipring.nack('{receipt}'); ROLLBACK")).await;
    send(&g.store, g.q, &["more"]).await;
    assert_eq!(drain(&g.store, g.q).await, ["more"]);
    run(&old, &format!("BEGIN ISOLATION LEVEL SERIALIZABLE; {ack}; COMMIT")).await;
    assert_eq!(counts(&g.store, g.q).await, [0; 4]);
}

#[tokio::test]
async fn two_messages_of_one_number_hold_up_no_queue_but_one_of_theirs() {
    // S11.1
    let g = Ground::new().await;
    let second = queue(&g.store, "second", &QueueSettings::default()).await;
    let third = queue(&g.store, "third", &QueueSettings::default()).await;
    // By hand: only the owner can make a session forget what it has given.
    let twice = "BEGIN; CREATE TEMP TABLE first (); SELECT slipring.send('plain', 'a'::text);
                 SELECT setval(slipring.numbers(), pg_current_xact_id()::text::int8 << 18);
                 SELECT slipring.send('second', 'b'::text); COMMIT";
    run(&g.user, twice).await;
    send(&g.store, third, &["c"]).await;
    for queue in [g.q, second, third] {
        assert_eq!(claim(&g.store, queue, 10, at(0)).await.len(), 1);
    }
    assert_eq!(g.store.expire(FAR).await.unwrap().ready, [(g.q, 1), (third, 1)]);
    assert_eq!(drain(&g.store, third).await, ["c"]);
}

/// The messages of a receive have 64 locks between them, also where each was sent by itself.
#[tokio::test]
async fn a_nack_that_stays_open_keeps_no_ack_of_the_next_message_waiting() {
    let g = Ground::new().await;
    for _ in 0..4 {
        run(&g.user, "SELECT slipring.send('plain', 'm'::text)").await;
    }
    let receive = "SELECT receipt FROM slipring.receive('plain', 4, '1 hour')";
    let held: Vec<String> =
        (g.user.query(receive, &[]).await.unwrap().iter()).map(|row| row.get(0)).collect();
    let other = g.client().await;
    run(&other, "BEGIN").await;
    run(&other, &format!("SELECT slipring.nack('{}')", held[0])).await;
    for receipt in &held[1..] {
        let ack = format!("SELECT slipring.ack('{receipt}')");
        soon("an ack beside a nack", run(&g.user, &ack)).await;
    }
    run(&other, "COMMIT").await;
    let again: Vec<String> =
        (g.user.query(receive, &[]).await.unwrap().iter()).map(|row| row.get(0)).collect();
    assert_eq!(again.len(), 1, "the message that was given back");
    // Nor does an ack that stays open keep the next one from being given back.
    for _ in 0..2 {
        run(&g.user, "SELECT slipring.send('plain', 'm'::text)").await;
    }
    let held = g.user.query(receive, &[]).await.unwrap();
    let (first, second): (String, String) = (held[0].get(0), held[1].get(0));
    run(&other, &format!("BEGIN; SELECT slipring.ack('{first}')")).await;
    let nack = format!("SELECT slipring.nack('{second}')");
    soon("a nack beside an ack", run(&g.user, &nack)).await;
    run(&other, "COMMIT").await;
}
