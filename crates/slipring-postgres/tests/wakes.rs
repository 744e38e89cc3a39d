//! Receives that wait hear of what others send, and of nothing else.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use slipring::store::Store;
use slipring::{Delivery, Engine, EngineOptions, Queue, QueueSettings, ReceiveRequest};
use slipring_conformance::verbs::{self, claim, plain, send};
use slipring_testbed::{Cluster, Database, locked, run, waiting};
use tokio::task::JoinHandle;

const HOUR: Duration = Duration::from_secs(3600);

async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let ended = tokio::time::timeout(Duration::from_secs(30), future).await;
    ended.unwrap_or_else(|_| panic!("{what} did not come to an end"))
}

async fn engine(cluster: &Cluster, database: &Database) -> Engine {
    let store = cluster.store(database).await;
    Engine::open(store, EngineOptions::default()).await.expect("the engine opens")
}

/// An engine, a FIFO queue `q` of it, and a user of SQL.
async fn fifo(cluster: &Cluster, database: &Database) -> (Engine, Queue, tokio_postgres::Client) {
    let engine = engine(cluster, database).await;
    let settings = QueueSettings { fifo: true, ..QueueSettings::default() };
    let q = engine.create_queue("q", settings).await.unwrap();
    (engine, q, cluster.client(database).await)
}

/// The receipt of a message that is received by SQL for an hour.
async fn sql_receipt(client: &tokio_postgres::Client) -> String {
    let receive = "SELECT receipt FROM slipring.receive('q', 1, '1 hour')";
    client.query_one(receive, &[]).await.unwrap().get(0)
}

/// A receive of one message that waits for it.
fn receives(queue: &Queue) -> JoinHandle<Vec<Delivery>> {
    let queue = queue.clone();
    let request = ReceiveRequest::up_to(1).wait(HOUR);
    tokio::spawn(async move { queue.receive(request).await.unwrap() })
}

/// Returns when a receive of the queue waits.
async fn waits_for(queue: &Queue) {
    let waits = async {
        while queue.waiting() == 0 {
            tokio::task::yield_now().await;
        }
    };
    within("the wait", waits).await;
}

/// Sends by SQL, inside whatever transaction is open.
async fn sql_send(client: &tokio_postgres::Client, queue: &str, body: &str) {
    let sql = format!("SELECT slipring.send('{queue}', '{body}'::text)");
    client.batch_execute(&sql).await.expect("the message is taken");
}

#[tokio::test]
async fn a_change_counts_when_it_can_be_seen_and_a_look_costs_no_transaction() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let (one, two) = (cluster.store(&database).await, cluster.store(&database).await);
    let q = plain(&one).await;
    let seen = async || two.foreign_changes().await.unwrap();
    let before = seen().await;
    send(&one, q, &["a"]).await;
    let after = seen().await;
    assert_ne!(after, before);
    assert_eq!(seen().await, after);
    let client = cluster.client(&database).await;
    let sql = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::int8";
    let next = async || client.query_one(sql, &[]).await.unwrap().get::<_, i64>(0);
    // Another database of the cluster may take numbers, but not one for each of the looks.
    let first = next().await;
    for _ in 0..1000 {
        seen().await;
    }
    assert!(next().await - first < 500, "looking takes transaction numbers");
}

#[tokio::test]
async fn who_keeps_up_with_the_list_of_queues_walks_over_it_after_a_change_of_it_only() {
    let cluster = Cluster::shared();
    let (database, store, owner) = cluster.opened().await;
    let maker = cluster.client(&database).await;
    let q = plain(&store).await;
    let seen = async || within("the look", store.queue_changes()).await.unwrap();
    let before = seen().await;
    send(&store, q, &["a", "b"]).await;
    owner.batch_execute("BEGIN; LOCK TABLE slipring.queue IN ACCESS EXCLUSIVE MODE").await.unwrap();
    assert_eq!(seen().await, before, "without reading the list, which is locked");
    owner.batch_execute("COMMIT").await.unwrap();
    // Each kind of change, when it can be seen and not before.
    let mut before = before;
    for change in [
        "SELECT slipring.create_queue('another')",
        "SELECT slipring.configure('another', '{\"visibility_timeout_ms\": 5000}')",
        "SELECT slipring.pause('another')",
        "DELETE FROM slipring.queue WHERE name = 'another'",
    ] {
        maker.batch_execute(&format!("BEGIN; {change}")).await.unwrap();
        assert_eq!(seen().await, before, "{change}, not committed yet");
        maker.batch_execute("COMMIT").await.unwrap();
        let after = seen().await;
        assert_ne!(after, before, "{change}");
        before = after;
    }
    maker.batch_execute("BEGIN; SELECT slipring.create_queue('never'); ROLLBACK").await.unwrap();
    assert_eq!(seen().await, before, "what was rolled back");
}

#[tokio::test]
async fn who_looks_at_the_same_time_as_another_misses_no_change() {
    let cluster = Cluster::shared();
    let (_database, store, maker) = cluster.opened().await;
    let list = async || within("the look", store.queue_changes()).await.unwrap();
    for number in 0..200 {
        let before = list().await;
        let make = format!("BEGIN; SELECT slipring.create_queue('q{number}')");
        maker.batch_execute(&make).await.unwrap();
        // The transaction ends between the two looks of one of them, sooner or later.
        let looks = async {
            within("the look", store.foreign_changes()).await.unwrap();
        };
        let commit = async {
            list().await;
            maker.batch_execute("COMMIT").await.unwrap();
        };
        tokio::join!(looks, commit, async { list().await });
        assert_ne!(list().await, before, "{number}");
    }
}

#[tokio::test]
async fn an_open_transaction_of_a_sender_is_noticed_when_it_ends() {
    let cluster = Cluster::shared();
    let (database, store, sender) = cluster.opened().await;
    let q = plain(&store).await;
    sender.batch_execute("BEGIN").await.unwrap();
    sql_send(&sender, "plain", "late").await;
    let seen = async || store.foreign_changes().await.unwrap();
    let before = seen().await;
    // What others do meanwhile is no change of queues.
    let other = cluster.client(&database).await;
    other.batch_execute("CREATE TABLE business (a int); DROP TABLE business").await.unwrap();
    assert_eq!(seen().await, before);
    assert!(claim(&store, q, 1, verbs::at(0)).await.is_empty());
    let before = seen().await;
    sender.batch_execute("COMMIT").await.unwrap();
    assert_ne!(seen().await, before);
    assert_eq!(claim(&store, q, 1, verbs::at(0)).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiting_receive_gets_what_is_sent_by_sql() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let engine = engine(cluster, &database).await;
    let q = engine.create_queue("q", QueueSettings::default()).await.unwrap();
    let sender = cluster.client(&database).await;
    for round in 0..20 {
        let waits = receives(&q);
        if round % 2 == 0 {
            waits_for(&q).await;
        }
        sql_send(&sender, "q", &round.to_string()).await;
        let list = within("the receive", waits).await.unwrap();
        assert_eq!(verbs::bodies(&list), [round.to_string()]);
        q.ack(&list[0].receipt).await.unwrap();
    }
    within("the shutdown", engine.shutdown()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_made_and_a_delay_set_by_sql_are_noticed() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let engine = engine(cluster, &database).await;
    let sql = cluster.client(&database).await;
    sql.batch_execute("SELECT slipring.create_queue('made')").await.unwrap();
    let q = within("the queue", engine.queue("made")).await.unwrap();
    let waits = receives(&q);
    let delayed = "SELECT slipring.send('made', 'soon'::text, delay => interval '50 milliseconds')";
    sql.batch_execute(delayed).await.unwrap();
    assert_eq!(verbs::bodies(&within("the receive", waits).await.unwrap()), ["soon"]);
    within("the shutdown", engine.shutdown()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiting_receive_gets_what_is_sent_while_the_creation_of_a_queue_waits() {
    // S5.6
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let engine = engine(cluster, &database).await;
    let q = engine.create_queue("q", QueueSettings::default()).await.unwrap();
    let user = cluster.begin(&database, "READ COMMITTED").await;
    run(&user, "SELECT slipring.create_queue('open')").await;
    let creates = engine.clone();
    let creates =
        tokio::spawn(
            async move { creates.create_queue("another", QueueSettings::default()).await },
        );
    let sender = cluster.client(&database).await;
    locked(&sender, 1).await;
    // The first wakes its receive before the list of queues is looked at, which waits.
    for round in 0..3 {
        let waits = receives(&q);
        waits_for(&q).await;
        sql_send(&sender, "q", &round.to_string()).await;
        let list = within("the receive", waits).await.unwrap();
        assert_eq!(verbs::bodies(&list), [round.to_string()]);
        q.ack(&list[0].receipt).await.unwrap();
    }
    assert!(!creates.is_finished(), "it does not wait any more");
    run(&user, "COMMIT").await;
    within("the creation", creates).await.unwrap().unwrap();
    within("the shutdown", engine.shutdown()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_lets_only_those_look_whose_queue_has_a_message() {
    const QUEUES: usize = 50;
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let store = slipring_conformance::fault::FaultyStore::new(cluster.store(&database).await);
    let engine = Engine::open(Arc::clone(&store) as _, EngineOptions::default()).await.unwrap();
    let mut waits = Vec::new();
    for n in 0..QUEUES {
        let q = engine.create_queue(&format!("q{n}"), QueueSettings::default()).await.unwrap();
        let receiver = q.clone();
        waits.push(tokio::spawn(async move {
            receiver.receive(ReceiveRequest::up_to(1).wait(HOUR)).await.unwrap()
        }));
        waits_for(&q).await;
    }
    let claims = || store.calls(slipring_conformance::fault::Verb::Claim);
    let before = claims();
    let sender = cluster.client(&database).await;
    for n in 0..10 {
        sql_send(&sender, &format!("q{n}"), "x").await;
    }
    for wait in waits.drain(..10) {
        assert_eq!(within("a receive", wait).await.unwrap().len(), 1);
    }
    let more = claims() - before;
    assert!(more < QUEUES as u64, "{more} claims for 10 messages");
    within("the shutdown", engine.shutdown()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_in_the_database_ends_with_a_change_and_when_it_is_given_up() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let store = cluster.store(&database).await;
    plain(&store).await;
    let client = cluster.client(&database).await;
    let wait = || {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            while !store.await_foreign_change(HOUR).await.unwrap() {
                store.foreign_changes().await.unwrap();
            }
        })
    };
    let waits = wait();
    waiting(&client, "PgSleep", 1).await;
    // What others write makes it look, and is no change.
    client.batch_execute("CREATE TABLE theirs (n int); DROP TABLE theirs").await.unwrap();
    waiting(&client, "PgSleep", 1).await;
    assert!(!waits.is_finished());
    sql_send(&client, "plain", "x").await;
    within("the wait", waits).await.unwrap();
    store.foreign_changes().await.unwrap();
    let waits = wait();
    waiting(&client, "PgSleep", 1).await;
    waits.abort();
    waiting(&client, "PgSleep", 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receive_that_waits_gets_what_a_consumer_by_sql_gives_back_by_a_rollback() {
    // S2.4, S10.7
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let store = slipring_conformance::fault::FaultyStore::new(cluster.store(&database).await);
    let engine = Engine::open(Arc::clone(&store) as _, EngineOptions::default()).await.unwrap();
    let sql = cluster.client(&database).await;
    sql.batch_execute("SELECT slipring.create_queue('jobs')").await.unwrap();
    let q = within("the queue", engine.queue("jobs")).await.unwrap();
    let claims = || store.calls(slipring_conformance::fault::Verb::Claim);
    let before = claims();
    for _ in 0..10 {
        sql_send(&sql, "jobs", "m").await;
        sql.batch_execute("BEGIN; SELECT FROM slipring.receive('jobs')").await.unwrap();
        let waits = receives(&q);
        waits_for(&q).await;
        // Others change the queue meanwhile.
        let other = cluster.client(&database).await;
        other
            .batch_execute("SELECT slipring.send('jobs', 'x'::text, delay => '1 hour')")
            .await
            .unwrap();
        assert!(!waits.is_finished());
        sql.batch_execute("ROLLBACK").await.unwrap();
        let list = within("the receive", waits).await.unwrap();
        q.ack(&list[0].receipt).await.unwrap();
    }
    let claims = claims() - before;
    assert!(claims < 100, "{claims} claims for 10 messages");
    within("the shutdown", engine.shutdown()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ack_by_sql_lets_the_next_message_of_its_group_come() {
    // S7.3
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let (engine, q, user) = fifo(cluster, &database).await;
    for body in ["a", "b", "c"] {
        let send = format!("SELECT slipring.send('q', '{body}'::text, \"group\" => 'g')");
        user.batch_execute(&send).await.unwrap();
    }
    let ready = async || -> bool {
        user.query_one("SELECT slipring.ready('q')", &[]).await.unwrap().get(0)
    };
    let done = "SELECT slipring.ack(receipt) FROM slipring.receive('q', 1, '1 hour')";
    user.batch_execute(done).await.unwrap();
    assert!(ready().await, "b");
    let receipt = sql_receipt(&user).await;
    assert!(!ready().await, "b is leased");
    let waits = receives(&q);
    waits_for(&q).await;
    user.batch_execute(&format!("SELECT slipring.ack('{receipt}')")).await.unwrap();
    let list = within("the receive", waits).await.unwrap();
    assert_eq!(verbs::bodies(&list), ["c"]);
    within("the shutdown", engine.shutdown()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_a_savepoint_gives_back_comes_while_its_transaction_stays_open() {
    // S10.7
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let engine = engine(cluster, &database).await;
    let q = engine.create_queue("q", QueueSettings::default()).await.unwrap();
    let user = cluster.client(&database).await;
    user.batch_execute("SELECT slipring.receive('q')").await.unwrap();
    sql_send(&user, "q", "given back").await;
    let receive = "BEGIN; SAVEPOINT s; SELECT slipring.receive('q')";
    user.batch_execute(receive).await.unwrap();
    let waits = receives(&q);
    waits_for(&q).await;
    user.batch_execute("ROLLBACK TO s").await.unwrap();
    let list = within("the receive", waits).await.unwrap();
    assert_eq!(verbs::bodies(&list), ["given back"]);
    user.batch_execute("ROLLBACK").await.unwrap();
    within("the shutdown", engine.shutdown()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_is_made_shorter_by_sql_lets_its_message_come_when_it_ends() {
    // S5.5
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let (engine, q, user) = fifo(cluster, &database).await;
    sql_send(&user, "q", "a").await;
    let receipt = sql_receipt(&user).await;
    let store = cluster.store(&database).await;
    let before = within("the look", store.foreign_changes()).await.unwrap();
    let extend = format!("SELECT slipring.extend('{receipt}', '1 second')");
    user.batch_execute(&extend).await.unwrap();
    assert_ne!(within("the look", store.foreign_changes()).await.unwrap(), before);
    let list = within("the receive", receives(&q)).await.unwrap();
    assert_eq!(verbs::bodies(&list), ["a"]);
    within("the shutdown", engine.shutdown()).await;
}
