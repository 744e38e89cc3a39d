//! Acks inside users' transactions that take all of a lease, which are one row, beside acks of
//! single messages and whatever else happens to the lease meanwhile.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::sync::Arc;
use std::time::Duration;

use slipring::{QueueId, QueueSettings, Store, Timestamp};
use slipring_conformance::verbs::{ack_all, at, claim, counts, drain, plain, queue};
use slipring_postgres::PostgresStore;
use slipring_testbed::{Cluster, Database, one, refusal, rotation_step, run, waiting};
use tokio_postgres::Client;

const PATIENCE: Duration = Duration::from_secs(60);
/// When every lease given by SQL is over.
const FAR: Timestamp = Timestamp::from_millis(4_000_000_000_000);
const NONE: [&str; 0] = [];

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

    /// Sends messages, each in a transaction of its own with others between them, and receives
    /// all by SQL in one lease.
    async fn held(&self, count: usize) -> Vec<String> {
        for n in 0..count {
            run(&self.user, &format!("SELECT slipring.send('plain', 'm{n}'::text)")).await;
            run(&self.user, "SELECT pg_current_xact_id()").await;
        }
        let receive = format!("SELECT receipt FROM slipring.receive('plain', {count}, '1 hour')");
        let rows = self.user.query(&receive, &[]).await.unwrap();
        assert_eq!(rows.len(), count);
        rows.iter().map(|row| row.get(0)).collect()
    }

    async fn rows(&self) -> i64 {
        one(&self.user, "SELECT count(*) FROM slipring.ack").await
    }

    /// What is delivered once every lease is over. A statement that failed holds its locks until
    /// a moment after its error is seen.
    async fn left(&self) -> Vec<String> {
        let over = async {
            while counts(&self.store, self.q).await[2] > 0 {
                self.store.expire(FAR).await.unwrap();
            }
        };
        tokio::time::timeout(PATIENCE, over).await.expect("every lease ends");
        drain(&self.store, self.q).await
    }
}

/// Moves what is leased to the shelf, as a rotation does with what has been leased for long.
const SHELF: &str = "BEGIN; SET LOCAL search_path = pg_catalog, slipring;
    SELECT slipring.retire_leased(slipring.queue_lock(q.queue_id), format(
        'slipring.message_%s_%s', q.place, s.generation_low % 3), 4000000000000)
    FROM slipring.queue q CROSS JOIN LATERAL slipring.state_newest(q.queue_id) s
    WHERE q.name = 'plain'; COMMIT";

fn ack(receipts: &[String]) -> String {
    format!("SELECT slipring.ack(ARRAY['{}'])", receipts.join("', '"))
}

/// The SQLSTATE that a statement fails with.
async fn refused(client: &Client, sql: &str) -> String {
    refusal(client, sql).await.code().code().to_owned()
}

#[tokio::test]
async fn a_list_without_a_type_is_a_list() {
    // S10.3
    let g = Ground::new().await;
    let receipts = g.held(3).await;
    run(&g.user, &format!("SELECT slipring.ack('{{{}}}')", receipts.join(","))).await;
    assert_eq!(g.left().await, NONE);
    assert_eq!(refused(&g.user, "SELECT slipring.ack('{made up}')").await, "SR005");
    assert_eq!(refused(&g.user, "SELECT slipring.ack('{made up')").await, "SR005");
}

#[tokio::test]
async fn all_of_a_lease_is_one_row() {
    // S10.3
    let g = Ground::new().await;
    let (first, second) = (g.held(3).await, g.held(4).await);
    run(&g.user, &ack(&[&first[..], &second[..2]].concat())).await;
    assert_eq!(g.rows().await, 3, "one lease, and two messages of another");
    assert_eq!(counts(&g.store, g.q).await, [0, 0, 2, 0], "nobody has taken them in yet");
    assert_eq!(claim(&g.store, g.q, 10, at(0)).await.len(), 0);
    assert_eq!(counts(&g.store, g.q).await, [0, 0, 2, 0]);
    run(&g.user, &ack(&second[2..])).await;
    assert_eq!(g.rows().await, 5, "the rest of a lease");
    assert_eq!(g.left().await, NONE);
    assert_eq!(counts(&g.store, g.q).await, [0; 4]);
}

#[tokio::test]
async fn a_message_is_acked_once_by_whatever_mixture_of_acks() {
    // S10.3
    let g = Ground::new().await;
    for taken_in in [false, true] {
        for (first, second) in [(0..3, 0..3), (0..3, 1..2), (1..2, 0..3), (0..2, 1..3)] {
            let receipts = g.held(3).await;
            run(&g.user, &ack(&receipts[first.clone()])).await;
            if taken_in {
                assert_eq!(claim(&g.store, g.q, 1, at(0)).await.len(), 0);
            }
            let (first, second) = (first.collect::<Vec<_>>(), second.collect::<Vec<_>>());
            let again: Vec<String> = second.iter().map(|&n| receipts[n].clone()).collect();
            assert_eq!(refused(&g.user, &ack(&again)).await, "SR003", "{first:?} {second:?}");
            let rest: Vec<String> =
                (0..3).filter(|n| !first.contains(n)).map(|n| receipts[n].clone()).collect();
            if !rest.is_empty() {
                run(&g.user, &ack(&rest)).await;
            }
            assert_eq!(g.left().await, NONE, "{first:?} {second:?}");
        }
    }
    // In one transaction.
    let receipts = g.held(2).await;
    let twice = format!("BEGIN; {}; {}", ack(&receipts), ack(&receipts[1..]));
    assert_eq!(refused(&g.user, &twice).await, "SR003");
    run(&g.user, "ROLLBACK").await;
    assert_eq!(g.left().await, ["m0", "m1"]);
}

#[tokio::test]
async fn of_two_transactions_that_ack_the_same_one_waits_and_is_refused() {
    // S10.3
    let g = Ground::new().await;
    let (other, observer) = (g.client().await, g.client().await);
    for (first, second) in [(0..3, 0..3), (0..3, 1..2), (1..2, 0..3)] {
        for end in ["COMMIT", "ROLLBACK"] {
            let receipts = g.held(3).await;
            run(&g.user, &format!("BEGIN; {}", ack(&receipts[first.clone()]))).await;
            let again = ack(&receipts[second.clone()]);
            let (answer, ()) = tokio::join!(other.batch_execute(&again), async {
                waiting(&observer, "advisory", 1).await;
                run(&g.user, end).await;
            });
            let code = answer.err().map(|error| error.code().unwrap().code().to_owned());
            let (expected, left) = if end == "COMMIT" {
                (Some("SR003"), 3 - first.len())
            } else {
                (None, 3 - second.len())
            };
            assert_eq!(code.as_deref(), expected, "{first:?} {second:?} {end}");
            assert_eq!(g.left().await.len(), left, "{first:?} {second:?} {end}");
        }
    }
}

#[tokio::test]
async fn acks_of_different_messages_of_a_lease_do_not_wait_for_each_other() {
    // S10.4
    let g = Ground::new().await;
    let other = g.client().await;
    for isolation in ["READ COMMITTED", "REPEATABLE READ"] {
        let receipts = g.held(4).await;
        run(&g.user, &format!("BEGIN; {}", ack(&receipts[..2]))).await;
        run(&other, &format!("SET lock_timeout = '10s'; BEGIN ISOLATION LEVEL {isolation}")).await;
        run(&other, &format!("{}; COMMIT", ack(&receipts[2..]))).await;
        run(&g.user, "COMMIT").await;
        assert_eq!(g.left().await, NONE);
    }
}

#[tokio::test]
async fn an_old_snapshot_does_not_hide_an_ack_of_the_same_message() {
    // S10.3
    let g = Ground::new().await;
    for isolation in ["REPEATABLE READ", "SERIALIZABLE"] {
        for (first, second) in [(0..3, 0..3), (0..3, 1..2), (1..2, 0..3), (1..2, 1..2)] {
            let receipts = g.held(3).await;
            let old = g.cluster.begin(&g.database, isolation).await;
            run(&old, "SELECT count(*) FROM slipring.queue").await;
            run(&g.user, &ack(&receipts[first.clone()])).await;
            let code = refused(&old, &ack(&receipts[second.clone()])).await;
            assert!(["40001", "SR003"].contains(&code.as_str()), "{code} {first:?} {second:?}");
            run(&old, "ROLLBACK").await;
            assert_eq!(g.left().await.len(), 3 - first.len(), "{first:?} {second:?}");
            // The other way round: the old snapshot's transaction is the first.
            let receipts = g.held(3).await;
            run(&old, &format!("BEGIN ISOLATION LEVEL {isolation}")).await;
            run(&old, &format!("{}; COMMIT", ack(&receipts[first.clone()]))).await;
            let code = refused(&g.user, &ack(&receipts[second.clone()])).await;
            assert_eq!(code, "SR003", "{first:?} {second:?}");
            assert_eq!(g.left().await.len(), 3 - first.len(), "{first:?} {second:?}");
        }
    }
}

#[tokio::test]
async fn an_ack_of_all_of_a_lease_takes_one_lock() {
    let g = Ground::new().await;
    run(&g.user, &ack(&g.held(1).await)).await;
    let receipts = g.held(100).await;
    let locks =
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()";
    run(&g.user, "BEGIN").await;
    run(&g.user, &ack(&receipts)).await;
    // And that of the transaction's numbers.
    assert_eq!(one(&g.user, locks).await, 1 + 1);
    run(&g.user, "COMMIT").await;
    assert_eq!(g.rows().await, 2);
    assert_eq!(g.left().await, NONE);
}

#[tokio::test]
async fn what_happens_to_a_lease_while_its_ack_is_open_loses_nothing_and_repeats_nothing() {
    // S3.3, S10.3
    let g = Ground::new().await;
    let (other, rotator) = (g.client().await, g.client().await);
    // The first one opens the queue for receives without its lock, as the others are.
    run(&g.user, &ack(&g.held(1).await)).await;
    let all = [
        "extend",
        "extend all",
        "lapse",
        "nack",
        "purge",
        "shelf lapse",
        "shelf nack",
        "shelf purge",
        "rotate",
    ];
    for (n, meanwhile) in all.iter().enumerate() {
        for end in ["COMMIT", "ROLLBACK"] {
            let receipts = g.held(3).await;
            assert!(
                receipts[0].contains(".-"),
                "{meanwhile}: by the queue's lock: {}",
                receipts[0]
            );
            run(&g.user, &format!("BEGIN; {}", ack(&receipts))).await;
            if meanwhile.starts_with("shelf") {
                run(&other, SHELF).await;
            }
            match meanwhile.trim_start_matches("shelf ") {
                "extend" => {
                    let sql = format!("SELECT slipring.extend('{}', '2 hours')", receipts[1]);
                    run(&other, &sql).await;
                }
                "extend all" => {
                    for (n, receipt) in receipts.iter().enumerate() {
                        let sql = format!("SELECT slipring.extend('{receipt}', '{n} hours')");
                        run(&other, &sql.replace("'0 hours'", "'3 hours'")).await;
                    }
                }
                "lapse" => {
                    let pass = g.store.expire(FAR).await.unwrap();
                    assert_eq!(pass.ready, [], "an ack that is open holds its messages");
                }
                "nack" => {
                    let sql = format!("SELECT slipring.nack('{}')", receipts[1]);
                    assert_eq!(refused(&other, &sql).await, "SR004");
                }
                "purge" => {
                    // The ack counts as the earlier one.
                    assert_eq!(one(&other, "SELECT slipring.purge('plain')").await, 3);
                }
                _ => {
                    for step in 0..=n as u64 {
                        rotation_step(&rotator, "journal", at(step)).await;
                    }
                }
            }
            run(&g.user, end).await;
            let gone = end == "COMMIT" || meanwhile.ends_with("purge");
            let left: usize = if gone { 0 } else { 3 };
            let case = format!("{meanwhile} {end}");
            assert_eq!(counts(&g.store, g.q).await, [0, 0, left as u64, 0], "{case}");
            assert_eq!(g.left().await.len(), left, "{case}");
            assert_eq!(counts(&g.store, g.q).await, [0; 4], "{case}");
        }
    }
}

#[tokio::test]
async fn an_ack_of_all_meets_acks_by_a_server() {
    // S3.5, S10.3
    let g = Ground::new().await;
    let receipts = g.held(3).await;
    run(&g.user, &format!("BEGIN; {}", ack(&receipts))).await;
    let held = claim(&g.store, g.q, 3, at(0)).await;
    assert_eq!(held.len(), 0);
    run(&g.user, "COMMIT; SELECT slipring.send_batch('plain', ARRAY['a', 'b'])").await;
    let held = claim(&g.store, g.q, 3, at(0)).await;
    assert_eq!(held.len(), 2, "only what is new");
    ack_all(&g.store, g.q, &held, at(0)).await;
    assert_eq!(counts(&g.store, g.q).await, [0; 4]);
}

#[tokio::test]
async fn an_ack_of_all_is_the_same_wherever_the_journal_is() {
    // S10.3
    let g = Ground::new().await;
    let (other, rotator) = (g.client().await, g.client().await);
    for moves in 0..6 {
        let receipts = g.held(3).await;
        run(&g.user, &format!("BEGIN; {}", ack(&receipts))).await;
        rotation_step(&rotator, "journal", at(moves)).await;
        let again = format!("BEGIN; {}", ack(&receipts[1..2]));
        let (second, ()) = tokio::join!(refused(&other, &again), async {
            waiting(&rotator, "advisory", 1).await;
            run(&g.user, "COMMIT").await;
        });
        assert_eq!(second, "SR003", "after {moves} steps");
        run(&other, "ROLLBACK").await;
        assert_eq!(refused(&other, &ack(&receipts)).await, "SR003", "after {moves} steps");
        assert_eq!(g.left().await, NONE, "after {moves} steps");
    }
}

#[tokio::test]
async fn packs_and_messages_apart_are_acked_as_a_whole() {
    let g = Ground::new().await;
    for count in [2, 64, 65, 1000] {
        let send = format!(
            "SELECT slipring.send_batch('plain', array_fill('m'::text, ARRAY[{count}]));
             SELECT slipring.send('plain', 'apart'::text)"
        );
        run(&g.user, &send).await;
        let before = g.rows().await;
        let acked = "SELECT slipring.ack(array_agg(r.receipt))
            FROM slipring.receive('plain', 10000) r";
        assert_eq!(one(&g.user, acked).await, count + 1);
        assert_eq!(g.rows().await, before + 1, "{count}");
        assert_eq!(g.left().await, NONE);
    }
    assert_eq!(counts(&g.store, g.q).await, [0; 4]);
}

#[tokio::test]
async fn leases_of_two_queues_with_the_same_fence_are_acked_each_for_itself() {
    let g = Ground::new().await;
    let user = g.client().await;
    let second = queue(&g.store, "second", &QueueSettings::default()).await;
    // Both claims at one moment of a clock that is ahead, from which fences are made.
    for (round, isolation) in ["READ COMMITTED", "REPEATABLE READ"].iter().enumerate() {
        let mut receipts = Vec::new();
        let mut fences = Vec::new();
        for (name, q) in [("plain", g.q), ("second", second)] {
            let send =
                format!("SELECT slipring.send('{name}', 'm'::text) FROM generate_series(1, 2)");
            run(&g.user, &send).await;
            let claim = format!(
                "SELECT slipring.receipt_seal(s.receipt_key, {q}, i, c.fence), c.fence
                 FROM slipring.store s, slipring.store_claim({q}, 4000000000000 + {round},
                     ARRAY[10], ARRAY[NULL]::bigint[], '{{f}}', NULL) c, unnest(c.ids) i",
                q = q.0
            );
            for row in g.user.query(&claim, &[]).await.unwrap() {
                receipts.push(row.get::<_, String>(0));
                fences.push(row.get::<_, i64>(1));
            }
        }
        assert_eq!(fences, [fences[0]; 4]);
        let (first, other) = receipts.split_at(2);
        let begin = format!("BEGIN ISOLATION LEVEL {isolation}");
        run(&g.user, &format!("{begin}; {}", ack(first))).await;
        run(&user, &format!("SET lock_timeout = '10s'; {begin}")).await;
        run(&user, &format!("{}; COMMIT", ack(other))).await;
        run(&g.user, "COMMIT").await;
        for q in [g.q, second] {
            assert_eq!(claim(&g.store, q, 10, FAR).await.len(), 0);
            assert_eq!(counts(&g.store, q).await, [0; 4], "{isolation}");
        }
        for receipts in [first, other] {
            assert_eq!(refused(&g.user, &ack(receipts)).await, "SR003");
        }
    }
}
