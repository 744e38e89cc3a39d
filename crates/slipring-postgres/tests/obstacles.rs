//! Who holds a store up is named: the process, its role and what it does, and the queue (law 5).
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
use slipring::{Obstacle, ObstacleAges, ObstacleKind, Obstacles, QueueSettings};
use slipring_conformance::verbs::{claim, queue, send};
use slipring_postgres::{PostgresOptions, PostgresStore};
use slipring_testbed::{Cluster, Database, OWNER, database_now, one, run, soon};
use tokio_postgres::Client;

const HOUR: Duration = Duration::from_secs(3600);
/// Everything in the database is old enough.
const ANY: ObstacleAges = ObstacleAges {
    held: Duration::ZERO,
    open: Duration::ZERO,
    elsewhere: HOUR,
    overdue: Duration::ZERO,
};

struct Ground {
    cluster: &'static Cluster,
    database: Database,
    store: Arc<PostgresStore>,
    client: Client,
}

impl Ground {
    async fn new() -> Ground {
        let cluster = Cluster::shared();
        let (database, store, client) = cluster.opened().await;
        Ground { cluster, database, store, client }
    }

    async fn obstacles(&self, ages: ObstacleAges) -> Obstacles {
        let now = database_now(&self.client).await;
        let seen = self.store.obstacles(&ages, now).await.unwrap();
        assert_eq!(seen.gaps, [] as [String; 0]);
        seen
    }

    async fn found(&self, ages: ObstacleAges, kind: ObstacleKind) -> Vec<Obstacle> {
        let found = self.obstacles(ages).await.found;
        found.into_iter().filter(|obstacle| obstacle.kind == kind).collect()
    }
}

async fn pid(client: &Client) -> u32 {
    u32::try_from(one(client, "SELECT pg_backend_pid()::int8").await).unwrap()
}

/// The queue and the process of each obstacle.
fn who(found: &[Obstacle]) -> Vec<(&str, Option<u32>)> {
    found.iter().map(|one| (one.queue.as_ref().map_or("", |q| q.as_str()), one.pid)).collect()
}

#[tokio::test]
async fn who_has_the_lock_of_a_queue_is_named_with_the_queue() {
    let g = Ground::new().await;
    let settings = QueueSettings::default();
    for own_tables_max in [8, 0] {
        let tables = format!("UPDATE slipring.store SET own_tables_max = {own_tables_max}");
        run(&g.client, &tables).await;
        let name = format!("tables{own_tables_max}");
        let q = queue(&g.store, &name, &settings).await;
        let view = format!("SELECT count(*) FROM pg_class WHERE relname = 'lock_{}'", q.0);
        assert_eq!(one(&g.client, &view).await, i64::from(own_tables_max > 0));
        assert_eq!(g.found(ANY, ObstacleKind::QueueHeld).await, []);
        let holder = g.cluster.begin(&g.database, "READ COMMITTED").await;
        run(&holder, "SET application_name = 'a report'; SELECT pg_current_xact_id()").await;
        run(&holder, &format!("SELECT\n slipring.queue_lock({})", q.0)).await;
        let found = g.found(ANY, ObstacleKind::QueueHeld).await;
        assert_eq!(who(&found), [(name.as_str(), Some(pid(&holder).await))]);
        let [one] = &found[..] else { panic!("{found:?}") };
        assert_eq!(one.role.as_deref(), Some(OWNER));
        assert_eq!(one.application.as_deref(), Some("a report"));
        assert_eq!(one.state.as_deref(), Some("idle in transaction"));
        assert_eq!(one.statement, Some(format!("SELECT slipring.queue_lock({})", q.0)));
        assert!(one.for_ms.is_some());
        let later = ObstacleAges { held: HOUR, ..ANY };
        assert_eq!(g.found(later, ObstacleKind::QueueHeld).await, []);
        let gid = format!("{}_{name}", g.database.name);
        run(&holder, &format!("PREPARE TRANSACTION '{gid}'")).await;
        let found = g.found(ANY, ObstacleKind::QueueHeld).await;
        assert_eq!(who(&found), [(name.as_str(), None)]);
        assert_eq!((found[0].name.as_ref(), found[0].role.as_deref()), (Some(&gid), Some(OWNER)));
        run(&holder, &format!("ROLLBACK PREPARED '{gid}'")).await;
    }
    assert_eq!(g.obstacles(ANY).await.found, []);
}

#[tokio::test]
async fn transactions_that_have_written_are_named_when_they_are_old() {
    let g = Ground::new().await;
    let reader = g.cluster.begin(&g.database, "REPEATABLE READ").await;
    run(&reader, "SELECT count(*) FROM slipring.queue").await;
    assert_eq!(g.obstacles(ANY).await.found, [], "it has written nothing");
    let writer = g.cluster.begin(&g.database, "READ COMMITTED").await;
    run(&writer, "CREATE TEMP TABLE t (); SELECT 'x\n y'").await;
    let found = g.found(ANY, ObstacleKind::OpenWriter).await;
    let (pid, one) = (pid(&writer).await, &found[0]);
    assert_eq!((who(&found), one.role.as_deref()), (vec![("", Some(pid))], Some(OWNER)));
    assert_eq!(one.statement.as_deref(), Some("CREATE TEMP TABLE t (); SELECT 'x y'"));
    assert_eq!(g.found(ObstacleAges { open: HOUR, ..ANY }, ObstacleKind::OpenWriter).await, []);
    run(&writer, "ROLLBACK; BEGIN; SELECT pg_current_xact_id()").await;
    let gid = format!("{}_writer", g.database.name);
    run(&writer, &format!("PREPARE TRANSACTION '{gid}'")).await;
    let found = g.obstacles(ANY).await.found;
    assert_eq!((found.len(), found[0].kind), (1, ObstacleKind::PreparedTransaction));
    assert_eq!((found[0].name.as_ref(), found[0].role.as_deref()), (Some(&gid), Some(OWNER)));
    assert_eq!(g.obstacles(ObstacleAges { open: HOUR, ..ANY }).await.found, []);
    run(&writer, &format!("ROLLBACK PREPARED '{gid}'")).await;
}

#[tokio::test]
async fn queues_whose_leases_ended_long_ago_are_named() {
    let g = Ground::new().await;
    let q = queue(&g.store, "q", &QueueSettings::default()).await;
    send(&g.store, q, &["a"]).await;
    let now = database_now(&g.client).await;
    claim(&g.store, q, 1, now).await;
    let overdue = async |at| {
        let found = g.store.obstacles(&ANY, at).await.unwrap().found;
        found.into_iter().map(|one| (one.kind, one.queue.unwrap().to_string(), one.for_ms.unwrap()))
    };
    assert_eq!(overdue(now).await.count(), 0, "its time has not come");
    let found: Vec<_> = overdue(now.after(HOUR)).await.collect();
    let late = found[0].2;
    assert_eq!(found, [(ObstacleKind::UpkeepOverdue, "q".to_owned(), late)]);
    assert!(late < 3_600_000, "{late}");
    g.store.expire(now.after(HOUR)).await.unwrap();
    assert_eq!(overdue(now.after(HOUR)).await.count(), 0);
}

#[tokio::test]
async fn sessions_of_others_that_cannot_be_looked_into_are_counted() {
    let g = Ground::new().await;
    let before = g.obstacles(ANY).await;
    assert_eq!(before.hidden, 0);
    let other = g.cluster.superuser(&g.database.name).await;
    let q = queue(&g.store, "q", &QueueSettings::default()).await;
    run(&other, &format!("BEGIN; SELECT pg_current_xact_id(), slipring.queue_lock({})", q.0)).await;
    let seen = g.obstacles(ANY).await;
    assert_eq!((seen.sessions, seen.hidden), (before.sessions + 1, 1));
    assert_eq!(who(&seen.found), [("q", Some(pid(&other).await))], "no writer of unknown age");
    let holder = &seen.found[0];
    assert_eq!((holder.for_ms, holder.statement.as_ref()), (None, None));
    let again = g.obstacles(ANY).await.found;
    assert!(holder.transaction.is_some() && again[0].transaction == holder.transaction);
    // One who may look into all of them.
    let admin = g.cluster.superuser_url(&g.database.name).parse().unwrap();
    let store = PostgresStore::open(&admin, PostgresOptions::default()).await.unwrap();
    let seen = store.obstacles(&ANY, database_now(&g.client).await).await.unwrap();
    assert_eq!(seen.hidden, 0);
    assert!(seen.found.iter().any(|one| one.for_ms.is_some()), "{seen:?}");
}

#[tokio::test]
async fn slots_that_keep_old_rows_are_named() {
    let cluster = Cluster::own();
    let admin = cluster.superuser("postgres").await;
    run(&admin, "ALTER SYSTEM SET wal_level = 'logical'").await;
    cluster.crash();
    let (database, store, client) = cluster.opened().await;
    let now = database_now(&client).await;
    assert_eq!(store.obstacles(&ANY, now).await.unwrap().found, []);
    let admin = cluster.superuser(&database.name).await;
    run(&admin, "SELECT pg_create_logical_replication_slot('slot', 'pgoutput')").await;
    let found = store.obstacles(&ANY, now).await.unwrap().found;
    let [slot] = &found[..] else { panic!("{found:?}") };
    assert_eq!((slot.kind, slot.name.as_deref()), (ObstacleKind::ReplicationSlot, Some("slot")));
    assert_eq!(slot.state.as_deref(), Some("not active"));
    run(&admin, "SELECT pg_current_xact_id()").await;
    let found = store.obstacles(&ANY, now).await.unwrap().found;
    assert_eq!(found[0].behind, slot.behind.map(|before| before + 1));
}

#[tokio::test]
async fn a_look_that_gets_no_answer_in_time_is_a_gap() {
    let g = Ground::new().await;
    let open = g.cluster.begin(&g.database, "READ COMMITTED").await;
    run(&open, "LOCK TABLE slipring.queue IN ACCESS EXCLUSIVE MODE").await;
    let now = database_now(&g.client).await;
    let seen = soon("a look", g.store.obstacles(&ANY, now)).await.unwrap();
    assert_eq!(seen.found, []);
    assert_eq!(seen.gaps[0], "transactions: no answer within 500 ms");
    run(&open, "COMMIT").await;
    assert_eq!(g.obstacles(ANY).await.found, []);
}

#[tokio::test]
async fn a_transaction_of_another_database_that_has_written_is_named_with_it() {
    let (g, other) = (Ground::new().await, Ground::new().await);
    let writer = other.cluster.begin(&other.database, "READ COMMITTED").await;
    run(&writer, "SELECT pg_current_xact_id()").await;
    let pid = Some(pid(&writer).await);
    let elsewhere = ObstacleAges { elsewhere: Duration::ZERO, ..ANY };
    let found = g.found(elsewhere, ObstacleKind::OpenWriter).await;
    let one = found.iter().find(|one| one.pid == pid).expect("the writer");
    assert_eq!(one.database.as_ref(), Some(&other.database.name));
    assert_eq!((one.state.as_deref(), &one.statement), (Some("idle in transaction"), &None));
    assert!(g.found(ANY, ObstacleKind::OpenWriter).await.iter().all(|one| one.pid != pid));
}
