//! Deduplication ids over every step of the rotation of their tables: of two who send the same
//! one, at whatever moments, one stores a message and the other gets its number (S8.1, S8.2).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::sync::Arc;
use std::time::Duration;

use slipring::store::{AppendBatch, Store};
use slipring::{ErrorKind, NewMessage, QueueId, QueueSettings, Retry, Timestamp};
use slipring_conformance::verbs::{self, claim, counts, drain, plain, queue, try_send};
use slipring_postgres::PostgresStore;
use slipring_testbed::{
    Cluster, Database, database_now, one, rotate, rotate_until, run, soon, waiting,
};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

const PATIENCE: Duration = Duration::from_secs(60);
/// The steps are five: move, mark, settle, empty, note.
const MOMENTS: usize = 6;
const GENERATIONS: &str = "SELECT 1 + pg_sequence_last_value('slipring.dedup_now') \
                           - pg_sequence_last_value('slipring.dedup_low')";
/// When every window is over.
const FAR: Timestamp = Timestamp::from_millis(4_000_000_000_000);
/// When none is.
const NEAR: Timestamp = Timestamp::from_millis(0);

struct Ground {
    store: Arc<PostgresStore>,
    q: QueueId,
    rotator: Client,
    cluster: &'static Cluster,
    database: Database,
}

impl Ground {
    async fn new() -> Ground {
        let cluster = Cluster::shared();
        let (database, store, rotator) = cluster.opened().await;
        let q = plain(&store).await;
        Ground { store, q, rotator, cluster, database }
    }

    async fn step(&self, now: Timestamp, end: &str) {
        rotate(&self.rotator, "dedup", now, end).await;
    }

    /// Ends the rotation that has begun.
    async fn rotated(&self) {
        let rotated = async {
            while one(&self.rotator, "SELECT count(*) FROM slipring.dedup").await > 0
                || one(&self.rotator, GENERATIONS).await > 1
            {
                self.step(FAR, "COMMIT").await;
            }
        };
        tokio::time::timeout(PATIENCE, rotated).await.expect("the entries are forgotten");
    }
}

async fn send(client: &Client, id: &str) -> Result<i64, tokio_postgres::Error> {
    let sql = "SELECT slipring.send('plain', 'x'::text, dedup_id => $1)";
    Ok(client.query_one(sql, &[&id]).await?.get(0))
}

/// When two senders of one id do what, counted in moments. The first commits at `commits`; the
/// second sends at `sends`, before or after that.
#[derive(Debug)]
struct Moments {
    first: usize,
    commits: usize,
    sends: usize,
}

fn every_choice() -> Vec<Moments> {
    let mut all = Vec::new();
    for first in 0..MOMENTS {
        for commits in first..MOMENTS {
            for sends in first..MOMENTS {
                all.push(Moments { first, commits, sends });
            }
        }
    }
    all
}

async fn senders_of(isolation: &str) {
    let ground = Ground::new().await;
    let one = ground.cluster.client(&ground.database).await;
    let other = Arc::new(ground.cluster.client(&ground.database).await);
    for (nth, moments) in every_choice().iter().enumerate() {
        let id = format!("id {nth}");
        // So that there is something to rotate from the first step on.
        send(&one, &format!("before {nth}")).await.unwrap();
        assert_eq!(drain(&ground.store, ground.q).await, ["x"]);
        run(&other, &format!("BEGIN ISOLATION LEVEL {isolation}")).await;
        run(&other, "SELECT count(*) FROM slipring.queue").await;
        let mut waits = None;
        let mut numbers = Vec::new();
        for moment in 0..MOMENTS {
            if moment == moments.first {
                run(&one, &format!("BEGIN ISOLATION LEVEL {isolation}")).await;
                numbers.push(send(&one, &id).await.unwrap());
            }
            if moment == moments.sends {
                let (other, id) = (other.clone(), id.clone());
                waits = Some(tokio::spawn(async move { send(&other, &id).await }));
                if moment <= moments.commits {
                    waiting(&ground.rotator, "transactionid", 1).await;
                }
            }
            if moment == moments.commits {
                run(&one, "COMMIT").await;
            }
            ground.step(NEAR, if moment % 3 == 1 { "ROLLBACK" } else { "COMMIT" }).await;
        }
        match waits.unwrap().await.unwrap() {
            Ok(number) => {
                numbers.push(number);
                run(&other, "COMMIT").await;
            }
            Err(error) => {
                assert_ne!(isolation, "READ COMMITTED", "{moments:?}: {error}");
                assert_eq!(error.code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE), "{error}");
                run(&other, "ROLLBACK").await;
            }
        }
        numbers.dedup();
        assert_eq!(numbers.len(), 1, "{isolation} {moments:?}: {numbers:?}");
        assert_eq!(drain(&ground.store, ground.q).await, ["x"], "{isolation} {moments:?}");
        ground.rotated().await;
        // Its window is over and its entry gone: the id is free.
        assert_ne!(send(&one, &id).await.unwrap(), numbers[0]);
        assert_eq!(drain(&ground.store, ground.q).await, ["x"]);
    }
    assert_eq!(counts(&ground.store, ground.q).await, [0; 4]);
}

#[tokio::test]
async fn read_committed_senders_of_one_id_cross_every_step() {
    senders_of("READ COMMITTED").await;
}

#[tokio::test]
async fn repeatable_read_senders_of_one_id_cross_every_step() {
    senders_of("REPEATABLE READ").await;
}

#[tokio::test]
async fn an_id_in_an_open_transaction_holds_up_no_other_message_of_a_server() {
    // S10.4
    let ground = Ground::new().await;
    // With just enough room for those that are stored.
    for limit in [None, Some(4)] {
        let settings = QueueSettings { messages_max: limit, ..QueueSettings::default() };
        let q =
            queue(&ground.store, if limit.is_some() { "limited" } else { "unlimited" }, &settings)
                .await;
        verbs::send(&ground.store, q, &["ready"]).await;
        let user = ground.cluster.begin(&ground.database, "READ COMMITTED").await;
        let sent = format!(
            "SELECT slipring.send(name, 'x'::text, dedup_id => 'id') FROM slipring.queue
             WHERE queue_id = {}",
            q.0
        );
        let number = one(&user, &sent).await;
        // Of a priority that the queue has no lane for yet, too.
        let busy = || NewMessage::new("y").dedup_id("id").priority(7);
        let free = |body: &'static str| NewMessage::new(body).dedup_id(body);
        let messages =
            vec![free("a"), busy(), NewMessage::new("b"), free("c"), busy(), free("d"), free("a")];
        let batch = AppendBatch { queue: q, now: NEAR, messages, units: vec![1, 1, 1, 2, 1, 1] };
        let sent = soon("the others", ground.store.append(batch)).await.unwrap();
        let stored: Vec<_> = sent.iter().map(Result::is_ok).collect();
        assert_eq!(stored, [true, false, true, false, false, true, true]);
        for refused in sent.iter().filter_map(|sent| sent.as_ref().err()) {
            assert_eq!(refused.kind(), ErrorKind::StorageUnavailable);
            assert_eq!(refused.retry(), Retry::Later);
        }
        assert!(sent[6].as_ref().unwrap().duplicate);
        let claimed = claim(&ground.store, q, 10, NEAR).await;
        assert_eq!(verbs::bodies(&claimed), ["ready", "a", "b", "d"]);
        verbs::ack_all(&ground.store, q, &claimed, NEAR).await;
        run(&user, "COMMIT").await;
        let again = try_send(&ground.store, q, vec![busy(), free("c")], NEAR).await.unwrap();
        assert!(again[0].duplicate && i64::try_from(again[0].id.0).unwrap() == number);
        assert!(!again[1].duplicate);
    }
}

#[tokio::test]
async fn what_follows_a_message_with_an_id_in_an_open_transaction_does_not_overtake_it() {
    // S7.3
    let ground = Ground::new().await;
    let fifo = QueueSettings { fifo: true, ..QueueSettings::default() };
    let q = queue(&ground.store, "line", &fifo).await;
    let user = ground.cluster.begin(&ground.database, "READ COMMITTED").await;
    let open = "SELECT slipring.send('line', 'x'::text, \"group\" => 'g', dedup_id => 'id')";
    run(&user, open).await;
    let of = |group: &'static str, id: &'static str| NewMessage::new(id).group(group).dedup_id(id);
    let messages = vec![of("g", "before"), of("g", "id"), of("h", "other"), of("g", "behind")];
    let batch = AppendBatch { queue: q, now: NEAR, messages, units: vec![1; 4] };
    let sent = soon("the others", ground.store.append(batch)).await.unwrap();
    assert_eq!(sent.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true, false]);
    run(&user, "ROLLBACK").await;
    let again = vec![of("g", "id"), of("g", "behind")];
    let again = try_send(&ground.store, q, again, NEAR).await.unwrap();
    assert!(again.iter().all(|sent| !sent.duplicate));
    assert_eq!(verbs::bodies(&claim(&ground.store, q, 10, NEAR).await).len(), 4);
}

#[tokio::test]
async fn a_priority_that_is_new_waits_for_nobody_who_has_the_queue() {
    // S10.7
    let ground = Ground::new().await;
    let holder = ground.cluster.holder(&ground.database, ground.q).await;
    let messages = vec![NewMessage::new("usual"), NewMessage::new("urgent").priority(7)];
    let sent = soon("a send", try_send(&ground.store, ground.q, messages, NEAR)).await;
    assert_eq!(sent.unwrap().len(), 2);
    run(&holder, "ROLLBACK").await;
    assert_eq!(drain(&ground.store, ground.q).await, ["urgent", "usual"]);
}

#[tokio::test]
async fn what_is_refused_leaves_its_id_to_the_next() {
    let ground = Ground::new().await;
    let limited = QueueSettings { bytes_max: Some(20), ..QueueSettings::default() };
    let q = queue(&ground.store, "limited", &limited).await;
    let with_id = |body: &'static str| NewMessage::new(body).dedup_id("id");
    let messages = vec![with_id("of more than 20 bytes"), with_id("a"), with_id("b")];
    let batch = AppendBatch { queue: q, now: NEAR, messages, units: vec![1, 1, 1] };
    let sent = ground.store.append(batch).await.unwrap();
    assert_eq!(sent[0].as_ref().unwrap_err().kind(), ErrorKind::LimitExceeded);
    let (one, other) = (sent[1].as_ref().unwrap(), sent[2].as_ref().unwrap());
    assert!(!one.duplicate && other.duplicate && one.id == other.id);
    assert_eq!(drain(&ground.store, q).await, ["a"]);
    let again = try_send(&ground.store, q, vec![with_id("c")], NEAR).await.unwrap();
    assert!(again[0].duplicate && again[0].id == one.id);
}

#[tokio::test]
async fn an_id_of_which_a_snapshot_or_another_order_cannot_know_is_an_error_of_postgresql() {
    // S8.1, S10.4
    let ground = Ground::new().await;
    let code = |sent: Result<i64, tokio_postgres::Error>| {
        sent.expect_err("it fails").code().unwrap().code().to_owned()
    };
    let client = ground.cluster.client(&ground.database).await;
    for (isolation, id) in [("REPEATABLE READ", "r"), ("SERIALIZABLE", "s")] {
        let old = ground.cluster.begin(&ground.database, isolation).await;
        run(&old, "SELECT count(*) FROM slipring.queue").await;
        let first = send(&client, id).await.unwrap();
        assert_eq!(code(send(&old, id).await), "40001");
        run(&old, "ROLLBACK").await;
        assert_eq!(send(&old, id).await.unwrap(), first, "a new transaction sees it");
    }
    let other = ground.cluster.begin(&ground.database, "READ COMMITTED").await;
    run(&client, "BEGIN").await;
    send(&client, "a").await.unwrap();
    send(&other, "b").await.unwrap();
    let (one, two) = tokio::join!(send(&client, "b"), send(&other, "a"));
    let (lost, kept) = if one.is_err() { (one, two) } else { (two, one) };
    assert_eq!(code(lost), "40P01");
    kept.unwrap();
}

#[tokio::test]
async fn ids_of_a_long_window_or_of_a_deleted_queue_do_not_keep_those_of_others() {
    let ground = Ground::new().await;
    let client = &ground.rotator;
    let create = "SELECT slipring.create_queue(q, '{\"dedup_window_ms\": 3000000000000}')
        FROM unnest(ARRAY['long', 'gone']) q";
    run(client, create).await;
    send(client, "short").await.unwrap();
    let send_long = "SELECT slipring.send('long', 'x'::text, dedup_id => 'a')";
    let first = one(client, send_long).await;
    run(client, "SELECT slipring.send('gone', 'x'::text, dedup_id => 'a')").await;
    let delete = "SELECT slipring.store_delete_queue(queue_id) FROM slipring.queue
        WHERE name = 'gone'";
    run(client, delete).await;
    let mut now = database_now(client).await;
    for generation in 1..=2 {
        let hours = Duration::from_secs(7200);
        for sequence in ["dedup_now", "dedup_low"] {
            now = now.after(hours);
            let moved = format!("SELECT pg_sequence_last_value('slipring.{sequence}')");
            let moved = async || one(client, &moved).await >= generation;
            rotate_until(client, "dedup", now, moved).await;
        }
        assert_eq!(one(client, "SELECT count(*) FROM slipring.dedup").await, 1);
        assert_eq!(one(client, send_long).await, first);
    }
}

/// A queue with a long window whose one id waits to be moved, and the moment for it.
async fn long_window(ground: &Ground) -> Timestamp {
    let client = &ground.rotator;
    let create = "SELECT slipring.create_queue('long', '{\"dedup_window_ms\": 3000000000000}')";
    run(client, create).await;
    run(client, "SELECT slipring.send('long', 'x'::text, dedup_id => 'a')").await;
    let now = database_now(client).await;
    let settled = "SELECT (pg_sequence_last_value('slipring.dedup_now') = 1
        AND pg_sequence_last_value('slipring.dedup_settled') = 1)::int::int8";
    rotate_until(client, "dedup", now, async || one(client, settled).await == 1).await;
    now.after(Duration::from_secs(7200))
}

/// Transactions of other tests that began before the mark have ended.
async fn passed(client: &Client) {
    let passed = "SELECT (pg_snapshot_xmin(pg_current_snapshot())::text::int8
        >= pg_sequence_last_value('slipring.dedup_mark'))::int::int8";
    soon("the mark", async { while one(client, passed).await == 0 {} }).await;
}

#[tokio::test]
async fn ids_that_were_moved_are_in_a_dump_that_has_begun() {
    // S8.1
    let ground = Ground::new().await;
    let client = &ground.rotator;
    let now = long_window(&ground).await;
    let dump = ground.cluster.superuser(&ground.database.name).await;
    let begin = "SET application_name = 'pg_dump'; BEGIN ISOLATION LEVEL REPEATABLE READ;
        SELECT 1 FROM pg_class LIMIT 1";
    run(&dump, begin).await;
    // The dump has its snapshot, and has not locked this table yet.
    let copied = "SELECT count(*) FROM slipring.dedup
        WHERE slot = pg_sequence_last_value('slipring.dedup_now') % 3";
    rotate_until(client, "dedup", now, async || one(client, copied).await == 1).await;
    passed(client).await;
    for _ in 0..5 {
        rotate(client, "dedup", now, "COMMIT").await;
    }
    assert_eq!(one(&dump, "SELECT count(*) FROM slipring.dedup").await, 1);
    run(&dump, "COMMIT").await;
}

#[tokio::test]
async fn senders_with_older_snapshots_do_not_keep_the_rotation_of_ids_going() {
    let ground = Ground::new().await;
    let client = &ground.rotator;
    let now = long_window(&ground).await;
    let begin = async || {
        let sender = ground.cluster.begin(&ground.database, "REPEATABLE READ").await;
        run(&sender, "SELECT 1 FROM pg_class LIMIT 1").await;
        // The mark comes after this number.
        run(client, "SELECT pg_current_xact_id()").await;
        sender
    };
    let send = async |sender: &Client, id: &str| {
        let send = format!("SELECT slipring.send('long', 'x'::text, dedup_id => '{id}')");
        run(sender, &format!("{send}; COMMIT")).await;
    };
    let first = begin().await;
    let copied = "SELECT count(*) FROM slipring.dedup
        WHERE slot = pg_sequence_last_value('slipring.dedup_now') % 3 AND dedup_id = 'a'";
    rotate_until(client, "dedup", now, async || one(client, copied).await == 1).await;
    passed(client).await;
    let second = begin().await;
    send(&first, "y").await;
    let old = async |id: &str| {
        let sql = format!(
            "SELECT count(*) FROM slipring.dedup
             WHERE slot = pg_sequence_last_value('slipring.dedup_low') % 3 AND dedup_id = '{id}'"
        );
        one(client, &sql).await
    };
    assert_eq!(old("y").await, 1, "its snapshot is older than the mark");
    rotate_until(client, "dedup", now, async || old("y").await == 0).await;
    send(&second, "z").await;
    assert_eq!(old("z").await, 0, "the step before has moved nothing that was not there");
}
