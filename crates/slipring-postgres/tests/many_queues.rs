//! Many queues in one database: what is done for one holds up no other, and takes no locks for
//! queues that it has nothing to do with.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::sync::Arc;
use std::time::Duration;

use slipring::admin::AdminStore;
use slipring::store::Store;
use slipring::{MessageId, QueueId, QueueSettings};
use slipring_conformance::verbs::{at, counts, drain, queue, send};
use slipring_postgres::PostgresStore;
use slipring_testbed::{Cluster, Database, database_now, one, rotate, rotate_until, run};
use tokio_postgres::Client;

const LOCKS: &str = "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid()";
/// How many queues have emptied their first table.
const EMPTIED: &str = "SELECT count(*) FROM slipring.queue q CROSS JOIN LATERAL (
    SELECT s.generation_low FROM slipring.state s WHERE s.queue_id = q.queue_id
    ORDER BY s.seq DESC LIMIT 1) s WHERE s.generation_low > 0
        AND pg_relation_size(format('slipring.message_%s_0', q.place)::regclass) = 0";
const PATIENCE: Duration = Duration::from_secs(60);
const MINUTE: Duration = Duration::from_secs(60);

/// Queues that keep messages for a minute, with one message each.
struct Ground {
    cluster: &'static Cluster,
    database: Database,
    store: Arc<PostgresStore>,
    queues: Vec<QueueId>,
    ids: Vec<MessageId>,
    client: Client,
}

impl Ground {
    async fn with(queues: usize) -> Ground {
        let cluster = Cluster::shared();
        let (database, store, client) = cluster.opened().await;
        let mut ground = Ground { cluster, database, store, queues: vec![], ids: vec![], client };
        ground.add(queues).await;
        ground
    }

    async fn add(&mut self, queues: usize) {
        let keeping = QueueSettings { retention: Some(MINUTE), ..QueueSettings::default() };
        for _ in 0..queues {
            let name = format!("q{}", self.queues.len());
            let q = queue(&self.store, &name, &keeping).await;
            self.ids.extend(send(&self.store, q, &["a"]).await);
            self.queues.push(q);
        }
    }

    /// Rotates until so many queues have emptied their first table; answers in how many steps.
    async fn empty(&self, queues: i64) -> usize {
        let emptied = async {
            let mut steps = 0;
            // A transaction of another test may have to end before.
            while one(&self.client, EMPTIED).await < queues {
                steps += usize::from(rotate(&self.client, "queues", at(1), "COMMIT").await);
            }
            steps
        };
        let emptied = tokio::time::timeout(PATIENCE, emptied).await.expect("they are emptied");
        assert_eq!(one(&self.client, EMPTIED).await, queues);
        emptied
    }

    /// How many locks a statement takes.
    async fn locks_of(&self, sql: &str) -> i64 {
        // The first time a session looks into the catalogue as well.
        run(&self.client, &format!("BEGIN; {sql}; COMMIT; BEGIN; {sql}")).await;
        let locks = one(&self.client, LOCKS).await;
        run(&self.client, "ROLLBACK").await;
        locks
    }
}

#[tokio::test]
async fn looks_and_rotations_take_no_locks_for_queues_that_they_pass_over() {
    let mut ground = Ground::with(2).await;
    let statements = [
        "SELECT * FROM slipring.store_lookup(1, 0)",
        "SELECT * FROM slipring.store_rotate('queues', 0, 1073741824, 60000)",
    ];
    let mut few = Vec::new();
    for sql in statements {
        few.push(ground.locks_of(sql).await);
    }
    ground.add(20).await;
    for (sql, few) in statements.iter().zip(few) {
        assert_eq!(ground.locks_of(sql).await, few, "{sql}");
    }
    for (id, q) in ground.ids.iter().zip(&ground.queues) {
        let found = ground.store.lookup(*id, at(0)).await.unwrap().expect("it is there");
        assert_eq!(found.queue, *q);
    }
}

#[tokio::test]
async fn a_step_of_the_journal_for_a_queue_with_leases_looks_at_no_idle_one() {
    let mut read = Vec::new();
    for queues in [3, 103] {
        let mut ground = Ground::with(0).await;
        run(&ground.client, "UPDATE slipring.store SET own_tables_max = 0").await;
        ground.add(queues).await;
        let (first, client) = (ground.queues[0].0, &ground.client);
        // Leases that make it worth while to turn: what states of idle queues hold does not count.
        let open = "SELECT slipring.send_batch('q0', array_fill('a'::text, ARRAY[1000]));
            SELECT slipring.receive('q1')";
        run(client, open).await;
        let open = "DO $$ BEGIN FOR n IN 1..1000 LOOP
            PERFORM slipring.receive('q0'); COMMIT; END LOOP; END $$";
        run(client, open).await;
        let copied = format!(
            "SELECT count(*) FROM slipring.state s WHERE s.queue_id = {first}
                 AND s.journal = pg_sequence_last_value('slipring.journal')
                 AND s.journal > pg_sequence_last_value('slipring.journal_low')"
        );
        let now = database_now(client).await;
        rotate_until(client, "journal", now, async || one(client, &copied).await > 0).await;
        let step = format!(
            "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)
             SELECT * FROM slipring.store_rotate('journal', slipring.now_ms(), 1, 0, {first})"
        );
        let plan: serde_json::Value = client.query_one(&step, &[]).await.unwrap().get(0);
        let buffers = |name| plan[0]["Plan"][name].as_i64().unwrap();
        read.push(buffers("Shared Hit Blocks") + buffers("Shared Read Blocks"));
    }
    assert!(read[1] < read[0] + 50, "buffers of a step among 3 and 103 queues: {read:?}");
}

#[tokio::test]
async fn a_reader_in_one_queue_s_table_keeps_no_other_from_being_emptied() {
    let mut ground = Ground::with(1).await;
    drain(&ground.store, ground.queues[0]).await;
    // Moved and marked, then somebody reads what is to be emptied.
    for _ in 0..2 {
        assert!(rotate(&ground.client, "queues", at(1), "COMMIT").await);
    }
    let place = one(&ground.client, "SELECT place::bigint FROM slipring.queue").await;
    let reader = ground.cluster.begin(&ground.database, "READ COMMITTED").await;
    run(&reader, &format!("SELECT count(*) FROM slipring.message_{place}_0")).await;
    ground.add(1).await;
    drain(&ground.store, ground.queues[1]).await;
    // The first one's is let go of, which needs no lock; the second one's is emptied.
    assert_eq!(ground.empty(1).await, 1 + 4);
    run(&reader, "COMMIT").await;
    assert_eq!(ground.empty(2).await, 1);
}

#[tokio::test]
async fn tables_of_many_queues_are_emptied_side_by_side() {
    let ground = Ground::with(24).await;
    for q in &ground.queues {
        drain(&ground.store, *q).await;
    }
    // Three steps for each queue, each in a transaction of its own; others' transactions may have
    // to end first.
    assert!(ground.empty(24).await >= 72);
}

#[tokio::test]
async fn retention_of_one_queue_holds_up_no_other() {
    let ground = Ground::with(3).await;
    let holder = ground.cluster.holder(&ground.database, ground.queues[1]).await;
    let pruned = tokio::time::timeout(PATIENCE, ground.store.prune(at(120))).await;
    assert_eq!(pruned.expect("it waits for nobody").unwrap().removed, 2);
    assert_eq!(counts(&ground.store, ground.queues[1]).await, [1, 0, 0, 0]);
    run(&holder, "COMMIT").await;
    assert_eq!(ground.store.prune(at(122)).await.unwrap().removed, 1);
    assert_eq!(counts(&ground.store, ground.queues[1]).await, [0; 4]);
}

#[tokio::test]
async fn retention_takes_no_lock_of_a_queue_without_old_messages() {
    let ground = Ground::with(2).await;
    let _holder = ground.cluster.holder(&ground.database, ground.queues[0]).await;
    let pass = tokio::time::timeout(PATIENCE, ground.store.prune(at(1))).await;
    assert_eq!(pass.expect("it waits for nobody").unwrap().removed, 0);
}

#[tokio::test]
async fn a_message_that_is_older_than_what_was_seen_before_leaves_a_minute_later() {
    let ground = Ground::with(1).await;
    let (store, q) = (&ground.store, ground.queues[0]);
    assert_eq!(store.prune(at(100)).await.unwrap().removed, 1);
    // By a clock that goes behind.
    send(store, q, &["late"]).await;
    assert_eq!(store.prune(at(101)).await.unwrap().removed, 0);
    assert_eq!(store.prune(at(160)).await.unwrap().removed, 1);
    assert_eq!(counts(store, q).await, [0; 4]);
}

#[tokio::test]
async fn of_all_queues_only_those_that_have_changed_are_read_again() {
    let mut ground = Ground::with(3).await;
    let [kept, changed, deleted] = ground.queues[..] else { panic!("three queues") };
    let before = ground.store.queues().await.unwrap();
    // By another session than the store's.
    run(&ground.client, "SELECT slipring.configure('q1', '{\"delay_ms\": 7}')").await;
    ground.store.delete_queue(deleted).await.unwrap();
    ground.add(1).await;
    let after = ground.store.queues().await.unwrap();
    let names: Vec<&str> = after.iter().map(|info| info.name.as_str()).collect();
    assert_eq!(names, ["q0", "q1", "q3"]);
    assert_eq!((after[0].id, after[1].id), (kept, changed));
    assert!(Arc::ptr_eq(&before[0], &after[0]));
    assert_eq!(after[1].settings.delay, Duration::from_millis(7));
    assert_ne!(before[1].settings, after[1].settings);
}
