//! Acks by SQL of more leases than a transaction may take locks for.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::sync::Arc;

use slipring::{QueueId, Store, Timestamp};
use slipring_conformance::verbs::{at, claim, counts, drain, plain};
use slipring_postgres::PostgresStore;
use slipring_testbed::{Cluster, Database, locked, one, refused_with, rotate_until, run};
use tokio_postgres::Client;

/// Leases of one message each, more than there are locks left, see [`Ground::begin`].
const MANY: i64 = 1200;
const LEFT: i64 = 1000;
/// When every lease given by SQL is over.
const FAR: Timestamp = Timestamp::from_millis(4_000_000_000_000);
const ALL: &str = "ARRAY(SELECT receipt FROM public.receipts)";
const MINE: &str = "SELECT count(*) FROM pg_locks
    WHERE locktype = 'advisory' AND pid = pg_backend_pid()";

/// A queue `plain` of which `receipts` has many leases, and one more that is not among them.
struct Ground {
    cluster: &'static Cluster,
    database: Database,
    store: Arc<PostgresStore>,
    q: QueueId,
    other: Client,
    apart: String,
    held: i64,
}

impl Ground {
    async fn new() -> Ground {
        let cluster = Cluster::shared();
        let (database, store, other) = cluster.opened().await;
        let q = plain(&store).await;
        let sent = format!(
            "CREATE TABLE public.receipts (receipt text);
             SELECT slipring.send_batch('plain', array_fill('m'::text, ARRAY[{MANY} + 1]))"
        );
        run(&other, &sent).await;
        // A receive that finds rows of others' transactions locked would be by the queue's lock.
        let receive = "INSERT INTO public.receipts SELECT r.receipt
            FROM generate_series(1, 100) n CROSS JOIN LATERAL (
                SELECT receipt FROM slipring.receive('plain', 1, n * '1 hour'::interval)) r";
        for _ in 0..MANY / 100 {
            run(&other, receive).await;
        }
        let apart = "SELECT receipt FROM slipring.receive('plain', 1, '1 hour')";
        let apart = other.query_one(apart, &[]).await.unwrap().get(0);
        let half = "SELECT current_setting('max_locks_per_transaction')::int8
            * (current_setting('max_connections')::int
                + current_setting('max_prepared_transactions')::int) / 2";
        let held = one(&other, half).await - LEFT;
        Ground { cluster, database, store, q, other, apart, held }
    }

    /// A transaction that has so many locks that the leases' do not fit.
    async fn begin(&self) -> Client {
        let user = self.cluster.begin(&self.database, "READ COMMITTED").await;
        let held = self.held;
        let lock = format!("SELECT pg_advisory_xact_lock(n, 1) FROM generate_series(1, {held}) n");
        run(&user, &lock).await;
        user
    }

    fn nack(&self) -> String {
        format!("SELECT slipring.nack('{}')", self.apart)
    }
}

#[tokio::test]
async fn an_ack_of_more_leases_than_there_are_locks_for_has_one_for_all() {
    // S10.3
    let g = Ground::new().await;
    for end in ["ROLLBACK", "COMMIT"] {
        let user = g.begin().await;
        run(&user, &format!("SELECT slipring.ack({ALL})")).await;
        let more = one(&user, MINE).await - g.held;
        assert!(more < 10, "{more} locks");
        // Nobody else ends a lease of the queue meanwhile, and nobody waits.
        let says = "a transaction that is still open has acked it, or so many messages";
        refused_with(&g.other, &g.nack(), "SR004", says).await;
        assert_eq!(g.store.expire(FAR).await.unwrap().ready, []);
        run(&user, end).await;
        let left = if end == "COMMIT" { 1 } else { MANY as u64 + 1 };
        claim(&g.store, g.q, 1, at(0)).await;
        assert_eq!(counts(&g.store, g.q).await, [0, 0, left, 0], "{end}");
    }
    run(&g.other, &g.nack()).await;
    assert_eq!(counts(&g.store, g.q).await, [1, 0, 0, 0]);
}

#[tokio::test]
async fn who_gives_one_of_them_back_meanwhile_is_waited_for() {
    // S10.3
    let g = Ground::new().await;
    let admin = g.cluster.superuser(&g.database.name).await;
    for end in ["COMMIT", "ROLLBACK"] {
        let one_of = "SELECT receipt FROM public.receipts ORDER BY receipt DESC LIMIT 1";
        let one_of: String = g.other.query_one(one_of, &[]).await.unwrap().get(0);
        run(&g.other, &format!("BEGIN; SELECT slipring.nack('{one_of}')")).await;
        let user = g.begin().await;
        let ack = format!("SELECT slipring.ack({ALL})");
        let (done, ()) = tokio::join!(user.batch_execute(&ack), async {
            locked(&admin, 1).await;
            run(&g.other, end).await;
        });
        if end == "COMMIT" {
            let refused = done.unwrap_err();
            assert_eq!(refused.code().unwrap().code(), "SR004", "{refused:?}");
            run(&user, "ROLLBACK").await;
            let forget = format!("DELETE FROM public.receipts WHERE receipt = '{one_of}'");
            run(&g.other, &forget).await;
            assert_eq!(counts(&g.store, g.q).await, [1, 0, MANY as u64, 0]);
        } else {
            done.unwrap();
            run(&user, "COMMIT").await;
            claim(&g.store, g.q, 1, at(0)).await;
            assert_eq!(counts(&g.store, g.q).await, [0, 0, 2, 0]);
        }
    }
}

#[tokio::test]
async fn where_others_have_the_locks_for_many_each_lease_has_its_own() {
    // S10.3
    let g = Ground::new().await;
    let admin = g.cluster.superuser(&g.database.name).await;
    let many = "SELECT count(*) FROM slipring.queue q CROSS JOIN generate_series(1, 2) n
        WHERE pg_try_advisory_lock(slipring.ack_many_key(q.lock_key, n))";
    assert_eq!(one(&admin, many).await, 2);
    let user = g.begin().await;
    run(&user, &format!("SELECT slipring.ack({ALL})")).await;
    let more = one(&user, MINE).await - g.held;
    assert!(more >= MANY, "{more} locks");
    run(&user, "COMMIT").await;
    claim(&g.store, g.q, 1, at(0)).await;
    assert_eq!(counts(&g.store, g.q).await, [0, 0, 1, 0]);
}

#[tokio::test]
async fn a_receive_takes_in_some_of_many_acks_and_none_of_them_is_delivered_again() {
    // S10.2
    for receives in [true, false] {
        let g = Ground::new().await;
        let leased = "SELECT leased FROM slipring.state ORDER BY seq DESC LIMIT 1";
        run(&g.other, &format!("SELECT slipring.ack({ALL})")).await;
        if receives {
            // Nothing is ready.
            assert_eq!(claim(&g.store, g.q, 1, at(0)).await.len(), 0);
            assert_eq!(one(&g.other, leased).await, MANY + 1 - 1000);
        }
        assert_eq!(counts(&g.store, g.q).await, [0, 0, 1, 0], "all of them count");
        let mut ready = 0;
        while counts(&g.store, g.q).await[2] > 0 {
            let pass = g.store.expire(FAR).await.unwrap();
            ready += pass.ready.iter().map(|(_, n)| n).sum::<u64>();
        }
        assert_eq!(ready, 1);
        assert_eq!(counts(&g.store, g.q).await, [1, 0, 0, 0]);
        assert_eq!(claim(&g.store, g.q, 10, at(0)).await.len(), 1);
    }
}

#[tokio::test]
async fn who_settles_or_extends_sees_all_acks() {
    // S10.2, S3.5
    let g = Ground::new().await;
    let last = "SELECT receipt FROM public.receipts ORDER BY receipt DESC LIMIT 1";
    let last: String = g.other.query_one(last, &[]).await.unwrap().get(0);
    run(&g.other, &format!("SELECT slipring.ack({ALL})")).await;
    claim(&g.store, g.q, 1, at(0)).await;
    for verb in ["nack", "extend"] {
        let call = format!("SELECT slipring.{verb}('{last}')");
        refused_with(&g.other, &call, "SR003", "").await;
    }
}

#[tokio::test]
async fn a_rotation_of_the_journal_takes_in_all_acks_of_the_old_generation() {
    // S10.2
    let g = Ground::new().await;
    run(&g.other, &format!("SELECT slipring.ack({ALL})")).await;
    let worker = g.cluster.client(&g.database).await;
    let begun = one(&worker, "SELECT pg_sequence_last_value('slipring.journal')").await;
    rotate_until(&worker, "journal", at(1), async || {
        one(&worker, "SELECT pg_sequence_last_value('slipring.journal')").await >= begun + 3
    })
    .await;
    assert_eq!(one(&worker, "SELECT count(*) FROM slipring.ack").await, 0);
    assert_eq!(counts(&g.store, g.q).await, [0, 0, 1, 0]);
    while counts(&g.store, g.q).await[2] > 0 {
        g.store.expire(FAR).await.unwrap();
    }
    assert_eq!(drain(&g.store, g.q).await.len(), 1);
}
