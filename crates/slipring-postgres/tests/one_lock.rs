//! A step of background work has the lock of one queue, and waits for none while it has another's
//! (decision 0030): of every part of it, with queues that have tables of their own and that share.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::sync::Arc;
use std::time::Duration;

use slipring::{QueueId, QueueSettings};
use slipring_conformance::verbs::{at, claim, queue, send};
use slipring_postgres::PostgresStore;
use slipring_testbed::{
    Cluster, Database, SOON, database_now, one, rotate_until, rotation_step, rotation_step_after,
    run,
};
use tokio_postgres::Client;

/// Queues with tables of their own, and queues that share some.
const OWN: usize = 3;
const SHARED: usize = 4;
const PARTS: [&str; 7] = ["queues", "shared", "moves", "journal", "shelf", "dedup", "places"];

/// Counts who stands in line for a queue's lock, and who does so having another's. Sequences, since
/// a step may undo what it has done.
const WATCH: &str = "CREATE SEQUENCE stood; CREATE SEQUENCE stood_with_another;
    GRANT ALL ON SEQUENCE stood, stood_with_another TO PUBLIC;
    ALTER FUNCTION slipring.queue_stand RENAME TO queue_stand_watched;
    CREATE FUNCTION slipring.queue_stand(p_queue int) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
        PERFORM nextval('public.stood');
        IF slipring.queue_holds_other(p_queue) THEN
            PERFORM nextval('public.stood_with_another');
        END IF;
        PERFORM slipring.queue_stand_watched(p_queue);
    END $$";

struct Ground {
    cluster: &'static Cluster,
    database: Database,
    store: Arc<PostgresStore>,
    client: Client,
    queues: Vec<QueueId>,
}

impl Ground {
    /// Each queue has a message that is leased, one that is delayed and one that is ready; a lease
    /// that lapses, and one that is old.
    async fn new() -> Ground {
        let cluster = Cluster::shared();
        let (database, store, client) = cluster.opened().await;
        let limit = format!("UPDATE slipring.store SET own_tables_max = {OWN}");
        run(&client, &limit).await;
        let mut ground = Ground { cluster, database, store, client, queues: vec![] };
        for n in 0..OWN + SHARED {
            let settings = QueueSettings {
                retention: Some(Duration::from_secs(1)),
                fifo: n == OWN - 1,
                ..QueueSettings::default()
            };
            let q = queue(&ground.store, &format!("q{n}"), &settings).await;
            ground.queues.push(q);
            ground.fill(n).await;
        }
        let own = "SELECT count(*) FROM slipring.queue WHERE generation_low IS NULL";
        assert_eq!(one(&ground.client, own).await, OWN as i64);
        ground
    }

    async fn fill(&self, n: usize) {
        let q = self.queues[n];
        send(&self.store, q, &["leased"]).await;
        claim(&self.store, q, 1, at(0)).await;
        let sent = format!("SELECT slipring.send('q{n}', 'delayed'::text, delay => '1 s')");
        run(&self.client, &sent).await;
        send(&self.store, q, &["ready"]).await;
    }

    /// How many queues' locks other transactions have now.
    async fn held(&self) -> i64 {
        let free = "SELECT count(*) FILTER (WHERE slipring.queue_free(q.queue_id))
            FROM slipring.queue q";
        self.queues.len() as i64 - one(&self.client, free).await
    }

    /// Statements that are a step of one queue each: what is due, lapses, is too old, or was held
    /// by a process that has ended.
    async fn steps_of_queues(&self) -> Vec<String> {
        let late = database_now(&self.client).await.as_millis() + 3_600_000;
        let of = |q: &QueueId| {
            let q = q.0;
            [
                format!("SELECT slipring.store_due_in({q}, {late})"),
                format!("SELECT slipring.store_expire_in({q}, {late})"),
                format!("SELECT slipring.store_end_sessions({q}, 7, {late})"),
                format!("SELECT slipring.store_prune({q}, {late}, 1000)"),
            ]
        };
        self.queues.iter().flat_map(of).collect()
    }
}

/// More locks than one has only the step of the journal that copies idle queues: it has tried them,
/// and waits for nothing.
#[tokio::test]
async fn a_step_of_background_work_has_the_lock_of_one_queue() {
    let ground = Ground::new().await;
    let worker = ground.cluster.client(&ground.database).await;
    for part in PARTS {
        let most = if part == "journal" { SHARED as i64 } else { 1 };
        let mut steps = 0;
        // These take a queue's lock sooner or later: transactions of other tests may have to end.
        let mut wanted = ["queues", "shared", "journal", "shelf"].contains(&part);
        let walk = async {
            while steps < 20 || wanted {
                steps += 1;
                run(&worker, "BEGIN").await;
                rotation_step(&worker, part, at(1)).await;
                let held = ground.held().await;
                run(&worker, "COMMIT").await;
                assert!(held <= most, "{part}: {held}");
                wanted &= held == 0;
            }
        };
        tokio::time::timeout(4 * SOON, walk).await.unwrap_or_else(|_| panic!("{part} has no lock"));
    }
    for step in ground.steps_of_queues().await {
        run(&worker, &format!("BEGIN; {step}")).await;
        assert!(ground.held().await <= 1, "{step}");
        run(&worker, "COMMIT").await;
    }
}

#[tokio::test]
async fn no_step_of_background_work_waits_for_a_queue_while_it_has_another() {
    let ground = Ground::new().await;
    let admin = ground.cluster.superuser(&ground.database.name).await;
    run(&admin, WATCH).await;
    let worker = ground.cluster.client(&ground.database).await;
    for n in 0..ground.queues.len() {
        let holder = ground.cluster.holder(&ground.database, ground.queues[n]).await;
        for part in PARTS {
            let mut after = 0;
            for _ in 0..10 {
                run(&worker, "BEGIN").await;
                let step = rotation_step_after(&worker, part, at(1), after).await;
                run(&worker, "COMMIT").await;
                after = step.1.unwrap_or(0);
            }
        }
        for step in ground.steps_of_queues().await {
            let held = step.contains(&format!("({},", ground.queues[n].0));
            run(&worker, "BEGIN; SET LOCAL lock_timeout = '50 ms'").await;
            let done = worker.batch_execute(&step).await;
            assert!(done.is_ok() || held, "{step}: {done:?}");
            run(&worker, "ROLLBACK").await;
        }
        run(&holder, "COMMIT").await;
        ground.fill(n).await;
    }
    let count = async |name: &str| {
        one(&admin, &format!("SELECT coalesce(pg_sequence_last_value('{name}'), 0)")).await
    };
    assert!(count("stood").await > 10, "somebody stood in line");
    assert_eq!(count("stood_with_another").await, 0);
    // Who did so would have been counted.
    let (own, shared) = (ground.queues[0].0, ground.queues[OWN].0);
    for (has, wants) in [(own, shared), (shared, own)] {
        let both = format!("SELECT slipring.queue_lock({has}), slipring.queue_stand({wants})");
        run(&worker, &both).await;
    }
    assert_eq!(count("stood_with_another").await, 2);
}

/// Queues that are idle when they are looked for, and are not any more when their locks are there.
/// A step that finds the first of four not idle copies it alone. The next one asks for the second,
/// for each of three, and for each of two whose lock it has.
const NOT_IDLE: &str = "CREATE SEQUENCE asked; GRANT ALL ON SEQUENCE asked TO PUBLIC;
    ALTER FUNCTION slipring.journal_idle RENAME TO journal_idle_watched;
    CREATE FUNCTION slipring.journal_idle(p_queue int) RETURNS boolean LANGUAGE sql AS $$
        SELECT slipring.journal_idle_watched(p_queue)
            AND nextval('public.asked') = ANY ('{2,3,4,5}') $$";

#[tokio::test]
async fn a_step_that_copies_no_idle_queue_has_no_lock_when_it_waits_for_one() {
    let cluster = Cluster::shared();
    let (database, store, client) = cluster.opened().await;
    run(&client, "UPDATE slipring.store SET own_tables_max = 0").await;
    let mut queues = Vec::new();
    for n in 0..SHARED {
        queues.push(queue(&store, &format!("q{n}"), &QueueSettings::default()).await);
    }
    let admin = cluster.superuser(&database.name).await;
    run(&admin, NOT_IDLE).await;
    let worker = cluster.client(&database).await;
    let asked = async || one(&admin, "SELECT coalesce(pg_sequence_last_value('asked'), 0)").await;
    // Transactions of other tests may have to end before a new generation is written.
    rotate_until(&worker, "journal", at(1), async || asked().await == 1).await;
    let holder = cluster.holder(&database, queues[1]).await;
    run(&worker, "BEGIN").await;
    rotation_step(&worker, "journal", at(1)).await;
    assert_eq!(asked().await, 7, "it had two locks, and went on to wait for the second queue's");
    let free = "SELECT count(*) FROM (SELECT FROM slipring.lock_row WHERE kind = 0
        FOR UPDATE SKIP LOCKED) l";
    assert_eq!(one(&admin, free).await, SHARED as i64 - 1);
    run(&worker, "COMMIT").await;
    run(&holder, "COMMIT").await;
}
