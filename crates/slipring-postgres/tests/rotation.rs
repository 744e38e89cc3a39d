//! Senders across every step of a rotation, and across steps that fail before they are done: a
//! message is handed out once, whichever table it was written to (S10.1, S4.1).
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
use slipring::{MessageId, MessageState, QueueId, Timestamp};
use slipring_conformance::verbs::{at, counts, drain, peek, plain, send};
use slipring_postgres::PostgresStore;
use slipring_testbed::{Cluster, Database, one, rotate, rotation_step, run, soon, waiting};
use tokio_postgres::Client;

/// Steps of one run: a queue's tables take four, those of the journal five, and each of them
/// must have been met in every position.
const STEPS: usize = 9;
/// Before each step, and between a try of it that failed and the one that succeeds.
const MOMENTS: usize = 2 * STEPS;
const SECOND: Duration = Duration::from_secs(1);

const PATIENCE: Duration = Duration::from_secs(60);

/// A store, and somebody who rotates its tables step by step.
struct Ground {
    cluster: &'static Cluster,
    database: Database,
    store: Arc<PostgresStore>,
    q: QueueId,
    rotator: Client,
    now: Timestamp,
}

impl Ground {
    async fn new() -> Ground {
        let cluster = Cluster::shared();
        let (database, store, rotator) = cluster.opened().await;
        let q = plain(&store).await;
        Ground { cluster, database, store, q, rotator, now: at(0) }
    }

    /// One step of a rotation, which fails just before its commit or takes effect: of the
    /// queue's tables, or of the journal where there is nothing to do for them.
    async fn step(&mut self, end: &str) {
        self.now = self.now.after(SECOND);
        for part in ["queues", "journal"] {
            if rotate(&self.rotator, part, self.now, end).await {
                break;
            }
        }
    }

    /// What a table holds.
    async fn rows(&self, table: &str) -> i64 {
        one(&self.rotator, &format!("SELECT count(*) FROM slipring.{table}")).await
    }

    /// Eight steps with a store in use, and senders whose snapshots are from the moments
    /// `snapshots`, who send at the moment `sends` and commit at the moment `commits`.
    async fn across(&mut self, senders: &[Client], isolation: &str, moments: &Moments) {
        let Moments { snapshots, sends, commits } = moments;
        let mut seen = Vec::new();
        for moment in 0..MOMENTS {
            for (sender, _) in senders.iter().zip(snapshots).filter(|(_, at)| **at == moment) {
                let look = "SELECT count(*) FROM slipring.queue";
                run(sender, &format!("BEGIN ISOLATION LEVEL {isolation}; {look}")).await;
            }
            if moment == *sends {
                for (sender, snapshot) in senders.iter().zip(snapshots) {
                    let send = format!("SELECT slipring.send('plain', 'by {snapshot}'::text)");
                    run(sender, &send).await;
                }
            }
            if moment == *commits {
                for (sender, _) in senders.iter().zip(snapshots) {
                    run(sender, "COMMIT").await;
                }
            }
            if moment % 4 == 0 {
                send(&self.store, self.q, &["own"]).await;
            }
            if moment % 6 == 5 {
                seen.extend(drain(&self.store, self.q).await);
            }
            self.step(if moment % 2 == 0 { "ROLLBACK" } else { "COMMIT" }).await;
        }
        seen.extend(drain(&self.store, self.q).await);
        let own = seen.iter().filter(|body| *body == "own").count();
        assert_eq!(own, MOMENTS.div_ceil(4), "{isolation} {moments:?}: {seen:?}");
        let mut late: Vec<String> = seen.into_iter().filter(|body| body != "own").collect();
        let mut wanted: Vec<String> = snapshots.iter().map(|at| format!("by {at}")).collect();
        late.sort();
        wanted.sort();
        assert_eq!(late, wanted, "{isolation} {moments:?}");
        assert_eq!(counts(&self.store, self.q).await, [0; 4]);
    }
}

/// When senders do what, counted in moments.
#[derive(Debug)]
struct Moments {
    snapshots: Vec<usize>,
    sends: usize,
    commits: usize,
}

/// Every moment of sending with several of committing, and with snapshots from the beginning,
/// from just before and from then.
fn every_choice() -> Vec<Moments> {
    let mut all = Vec::new();
    for sends in 0..MOMENTS {
        let mut commits = vec![sends, sends + 1, sends + 3, MOMENTS - 1];
        commits.retain(|moment| *moment < MOMENTS);
        commits.dedup();
        let mut snapshots = vec![0, sends.saturating_sub(1), sends];
        snapshots.dedup();
        for commits in commits {
            all.push(Moments { snapshots: snapshots.clone(), sends, commits });
        }
    }
    all
}

async fn senders_of(isolation: &str) {
    let mut ground = Ground::new().await;
    let mut senders = Vec::new();
    for _ in 0..3 {
        senders.push(ground.cluster.client(&ground.database).await);
    }
    for moments in every_choice() {
        ground.across(&senders, isolation, &moments).await;
    }
    // With nobody in their way, rotations empty what was filled; other tests' transactions are.
    let emptied = async {
        while ground.rows("message").await > 0 || ground.rows("state").await > 20 {
            ground.step("COMMIT").await;
        }
    };
    tokio::time::timeout(PATIENCE, emptied).await.expect("the tables are emptied");
}

#[tokio::test]
async fn read_committed_senders_cross_every_step() {
    senders_of("READ COMMITTED").await;
}

#[tokio::test]
async fn repeatable_read_senders_cross_every_step() {
    senders_of("REPEATABLE READ").await;
}

#[tokio::test]
async fn serializable_senders_cross_every_step() {
    senders_of("SERIALIZABLE").await;
}

#[tokio::test]
async fn a_step_that_is_held_open_stops_neither_senders_nor_receivers_nor_other_rotations() {
    let mut ground = Ground::new().await;
    for round in 0..4 * STEPS {
        send(&ground.store, ground.q, &["before"]).await;
        run(&ground.rotator, "BEGIN").await;
        ground.now = ground.now.after(SECOND);
        let other = ground.cluster.client(&ground.database).await;
        let parts = ["queues", "journal", "shelf", "places"];
        let part = parts[round % parts.len()];
        rotation_step(&ground.rotator, part, ground.now).await;
        // Whoever comes second goes away at once.
        for part in parts {
            assert!(!rotation_step(&other, part, ground.now).await);
        }
        let user = ground.cluster.client(&ground.database).await;
        run(&user, "SELECT slipring.send('plain', 'meanwhile'::text)").await;
        run(&ground.rotator, "COMMIT").await;
        assert_eq!(drain(&ground.store, ground.q).await, ["before", "meanwhile"]);
    }
}

#[tokio::test]
async fn a_rotation_that_had_to_wait_goes_on_though_nobody_changes_anything_any_more() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    // Few enough that the messages are left behind, and too many for the rest to be.
    let store = cluster.rotating_store(&database, 64 << 10).await;
    let q = plain(&store).await;
    let client = cluster.client(&database).await;
    let rows = async || one(&client, "SELECT count(*) FROM slipring.message").await;
    let body = "x".repeat(100);
    send(&store, q, &[body.as_str(); 1000]).await;
    assert_eq!(drain(&store, q).await.len(), 1000);
    let reader = cluster.begin(&database, "READ COMMITTED").await;
    run(&reader, "SELECT count(*) FROM slipring.message").await;
    let mut stand = None;
    while stand.replace(store.foreign_changes().await.unwrap()) != stand {
        store.prune(at(0)).await.unwrap();
    }
    assert!(rows().await > 0, "somebody reads it");
    run(&reader, "COMMIT").await;
    let mut now = at(0);
    let emptied = async {
        while rows().await > 0 {
            now = now.after(60 * SECOND);
            store.prune(now).await.unwrap();
        }
    };
    tokio::time::timeout(PATIENCE, emptied).await.expect("the table is emptied");
}

/// Two messages in a table of which a step of the rotation that is not committed yet has done this:
/// let go of it, or emptied it.
async fn half_done(done: &str) -> (Ground, Vec<MessageId>) {
    let mut ground = Ground::new().await;
    let ids = send(&ground.store, ground.q, &["a", "b"]).await;
    let steps = async {
        while one(&ground.rotator, done).await == 0 {
            run(&ground.rotator, "COMMIT; BEGIN").await;
            ground.now = ground.now.after(SECOND);
            rotation_step(&ground.rotator, "queues", ground.now).await;
        }
    };
    tokio::time::timeout(PATIENCE, steps).await.expect("the step is done");
    (ground, ids)
}

const LET_GO: &str = "SELECT max(generation_low) FROM slipring.state";
const EMPTIED: &str = "SELECT 1 - least(count(*), 1) FROM slipring.message";

#[tokio::test]
async fn who_looks_at_a_queue_while_its_table_is_emptied_sees_every_message() {
    for done in [LET_GO, EMPTIED] {
        let (ground, _) = half_done(done).await;
        let (store, q) = (&ground.store, ground.q);
        let looks = async { (counts(store, q).await, peek(store, q, MessageState::Ready).await) };
        let (counted, seen) = soon("a look", looks).await;
        run(&ground.rotator, "COMMIT").await;
        assert_eq!(counted, [2, 0, 0, 0], "{done}");
        assert_eq!(seen, ["a", "b"], "{done}");
    }
}

#[tokio::test]
async fn who_looks_for_a_message_while_its_table_is_emptied_finds_it() {
    for done in [LET_GO, EMPTIED] {
        let (ground, ids) = half_done(done).await;
        let found = soon("a look", ground.store.lookup(ids[0], at(0))).await;
        assert_eq!(found.unwrap().expect("it is there").message.body, "a");
        // A cancellation waits for the step, which has the queue's lock.
        let step_ends = async {
            let client = ground.cluster.client(&ground.database).await;
            waiting(&client, "relation", 1).await;
            run(&ground.rotator, "COMMIT").await;
        };
        let (cancelled, ()) = tokio::join!(ground.store.cancel(ids[1], at(0)), step_ends);
        assert_eq!(cancelled.unwrap(), ground.q);
        assert_eq!(drain(&ground.store, ground.q).await, ["a"]);
    }
}

#[tokio::test]
async fn a_part_that_fails_keeps_no_other_from_its_turn() {
    let ground = Ground::new().await;
    let store = ground.cluster.rotating_store(&ground.database, 1).await;
    send(&store, ground.q, &["a"]).await;
    drain(&store, ground.q).await;
    run(&ground.rotator, "DROP FUNCTION slipring.rotate_places").await;
    let emptied = "SELECT pg_sequence_last_value('slipring.journal_low')";
    let rotated = async {
        while one(&ground.rotator, emptied).await == 0 {
            store.prune(at(1)).await.expect_err("one of the parts fails");
        }
    };
    soon("the journal, a later part", rotated).await;
}

#[tokio::test]
async fn a_generation_is_left_for_its_size_or_for_its_age_where_it_is_worth_while() {
    let (_database, _store, client) = Cluster::shared().opened().await;
    // Of 64 MiB or, with 1 MiB, after a minute; and with limits below 1 MiB.
    const MIB: i64 = 1 << 20;
    for (bytes, least, age_ms, wanted) in [
        (64 * MIB, 64 * MIB, 0, true),
        (64 * MIB - 1, 64 * MIB, 59_999, false),
        (MIB, 64 * MIB, 60_000, true),
        (MIB - 1, 64 * MIB, 60_000, false),
        (999, 1000, 60_000, false),
        (1000, 1000, 0, true),
        // The clock has gone back by more than two clocks differ.
        (MIB, 64 * MIB, -3_600_001, true),
        (MIB, 64 * MIB, -3_600_000, false),
    ] {
        let sql = "SELECT slipring.rotation_due($1, slipring.rotation_worth($1, $2),
            10000000, 10000000 + $3, $2, 60000)";
        let due: bool = client.query_one(sql, &[&bytes, &least, &age_ms]).await.unwrap().get(0);
        assert_eq!(due, wanted, "{bytes} of {least} bytes, {age_ms} ms old");
    }
}
