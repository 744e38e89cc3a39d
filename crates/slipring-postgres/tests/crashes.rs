//! Connections, backends and the whole server that go away in the middle of anything: what was
//! answered stands, what was refused never happened, nothing comes twice.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use slipring::lifecycle::Settlement;
use slipring::store::{ClaimBatch, Demand, SettleBatch, Store};
use slipring::{AdminStore, ErrorKind, MessageId, NewMessage, QueueId, Retry};
use slipring_conformance::verbs::{self, at, bodies, claim, counts, plain, send, try_send};
use slipring_postgres::{PostgresOptions, PostgresStore};
use slipring_testbed::{Cluster, Database, run, standby};
use tokio_postgres::Client;

/// What the clients have seen.
#[derive(Default)]
struct History {
    /// Sends by body: `Some(true)` taken, `Some(false)` refused for certain, `None` unknown.
    sent: BTreeMap<String, Option<bool>>,
    /// Acks that were answered with success.
    acked: BTreeSet<MessageId>,
    /// Acks of which nobody knows.
    maybe_acked: BTreeSet<MessageId>,
    received: BTreeMap<MessageId, String>,
    /// Messages that came although their ack had been answered.
    risen: Vec<MessageId>,
}

impl History {
    fn take_in(&mut self, other: History) {
        self.sent.extend(other.sent);
        self.acked.extend(other.acked);
        self.maybe_acked.extend(other.maybe_acked);
        self.received.extend(other.received);
        self.risen.extend(other.risen);
    }

    /// What is left after a drain must be explained by what was answered.
    fn check(&self) {
        assert!(self.risen.is_empty(), "came after an answered ack: {:?}", self.risen);
        let received: BTreeSet<&String> = self.received.values().collect();
        assert_eq!(received.len(), self.received.len(), "a body came under two numbers");
        for (body, outcome) in &self.sent {
            match outcome {
                Some(true) => assert!(received.contains(body), "{body} is lost"),
                Some(false) => assert!(!received.contains(body), "{body} was refused, and came"),
                None => {}
            }
        }
        for body in received {
            assert!(self.sent.contains_key(body), "{body} was never sent");
        }
    }
}

/// What senders and receivers share.
#[derive(Default)]
struct Signs {
    stop: AtomicBool,
    /// Sends that were answered with success.
    taken: AtomicU64,
}

impl Signs {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Waits until `more` messages were taken.
    async fn progress(&self, more: u64) {
        let wanted = self.taken.load(Ordering::Relaxed) + more;
        let reached = async {
            while self.taken.load(Ordering::Relaxed) < wanted {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), reached).await.expect("sends go on");
    }
}

/// Sends until told to stop.
async fn sender(store: Arc<PostgresStore>, q: QueueId, name: usize, signs: Arc<Signs>) -> History {
    let mut history = History::default();
    let mut n = 0;
    while !signs.stopped() {
        n += 1;
        let body = format!("{name} {n}");
        let sent = try_send(&store, q, vec![NewMessage::new(body.clone())], at(0)).await;
        let outcome = match sent {
            Ok(_) => {
                signs.taken.fetch_add(1, Ordering::Relaxed);
                Some(true)
            }
            Err(error) if error.retry() == Retry::Unknown => None,
            Err(_) => Some(false),
        };
        history.sent.insert(body, outcome);
    }
    history
}

/// Receives and acks until told to stop.
async fn receiver(store: Arc<PostgresStore>, q: QueueId, signs: Arc<Signs>) -> History {
    let mut history = History::default();
    while !signs.stopped() {
        take(&store, q, &mut history).await;
    }
    history
}

/// One receive and its acks; answers how many messages came.
async fn take(store: &PostgresStore, q: QueueId, history: &mut History) -> usize {
    let demands = vec![Demand { up_to: 5, lease: None, session: false }];
    let Ok(mut claimed) = store.claim(ClaimBatch { queue: q, now: at(0), demands }).await else {
        return 0;
    };
    let list = claimed.deliveries.remove(0);
    for delivery in &list {
        let id = delivery.message.id;
        if history.acked.contains(&id) {
            history.risen.push(id);
        }
        let body = String::from_utf8(delivery.message.body.to_vec()).unwrap();
        history.received.insert(id, body);
    }
    let entries = list.iter().map(|delivery| (delivery.receipt, Settlement::Ack)).collect();
    let ids = list.iter().map(|delivery| delivery.message.id);
    match store.settle(SettleBatch { queue: q, now: at(0), entries }).await {
        Ok(answers) => {
            let ok = ids.zip(answers).filter(|(_, answer)| answer.is_ok());
            history.acked.extend(ok.map(|(id, _)| id));
        }
        Err(error) if error.retry() == Retry::Unknown => history.maybe_acked.extend(ids),
        Err(_) => {}
    }
    list.len()
}

/// Runs senders and receivers over two stores while `disturb` does its worst, and checks.
async fn survive(database: &Database, cluster: &Cluster, disturb: impl AsyncFn(&Signs)) {
    let stores = [cluster.store(database).await, cluster.store(database).await];
    let q = plain(&stores[0]).await;
    let signs = Arc::new(Signs::default());
    let mut tasks = Vec::new();
    for (name, store) in stores.iter().cycle().take(4).enumerate() {
        tasks.push(tokio::spawn(sender(Arc::clone(store), q, name, Arc::clone(&signs))));
        tasks.push(tokio::spawn(receiver(Arc::clone(store), q, Arc::clone(&signs))));
    }
    disturb(&signs).await;
    signs.stop.store(true, Ordering::Relaxed);
    let mut history = History::default();
    for task in tasks {
        let done = tokio::time::timeout(Duration::from_secs(60), task).await;
        history.take_in(done.expect("it ends in time").unwrap());
    }
    // Leases of receives whose answer was lost lapse.
    let mut empty = 0;
    while empty < 2 {
        while let Ok(pass) = stores[0].expire(at(3600)).await
            && pass.next.is_some_and(|next| next <= at(3600))
        {}
        empty = if take(&stores[0], q, &mut history).await == 0 { empty + 1 } else { 0 };
    }
    history.check();
    assert_eq!(counts(&stores[0], q).await, [0; 4]);
    let taken = history.sent.values().filter(|outcome| **outcome == Some(true)).count();
    assert!(taken > 50, "only {taken} messages were taken");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn killed_backends_lose_nothing_and_bring_nothing_twice() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let admin = cluster.superuser("postgres").await;
    let kill = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}'",
        database.name
    );
    survive(&database, cluster, async |signs| {
        for _ in 0..50 {
            signs.progress(10).await;
            admin.batch_execute(&kill).await.unwrap();
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_that_is_killed_and_started_again_loses_nothing() {
    // S1.1, S4.1, S1.4
    let cluster = Cluster::own();
    let database = cluster.database().await;
    survive(&database, &cluster, async |signs| {
        for _ in 0..4 {
            signs.progress(50).await;
            tokio::task::block_in_place(|| cluster.crash());
        }
        signs.progress(10).await;
    })
    .await;
}

/// Waits until commits wait for the standby: the server takes its setting in at some moment after
/// backends have heard of it.
async fn commits_wait(admin: &Client, other: &Client) {
    let commit = "SELECT pg_logical_emit_message(true, 'test', '')";
    loop {
        let commit = other.batch_execute(commit);
        tokio::pin!(commit);
        tokio::select! {
            done = &mut commit => done.unwrap(),
            () = stuck(admin) => {
                let go_on = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity
                             WHERE wait_event = 'SyncRep'";
                run(admin, go_on).await;
                // It is done, with a warning that the standby may not have it.
                commit.await.unwrap();
                return;
            }
        }
    }
}

/// Waits until a backend waits for the standby.
async fn stuck(admin: &Client) {
    let waits = "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    while admin.query_opt(waits, &[]).await.unwrap().is_none() {}
}

#[tokio::test]
async fn answered_settlements_outlive_the_server_though_their_commits_do_not_wait() {
    // S1.3, S4.1
    let cluster = Cluster::own();
    let database = cluster.database().await;
    let admin = cluster.superuser("postgres").await;
    // Nobody else writes down what a commit has left in memory.
    run(&admin, "ALTER SYSTEM SET wal_writer_delay = '10s'").await;
    run(&admin, "ALTER SYSTEM SET wal_writer_flush_after = '1GB'").await;
    run(&admin, "SELECT pg_reload_conf()").await;
    let mut store = cluster.store(&database).await;
    let q = plain(&store).await;
    for round in 0..5 {
        send(&store, q, &["a", "b"]).await;
        let held = claim(&store, q, 2, at(0)).await;
        verbs::ack_all(&store, q, &held[..1], at(1)).await;
        let park = Settlement::Park { priority: None };
        verbs::settle(&store, q, &held[1], park, at(1)).await.unwrap();
        cluster.crash();
        store = cluster.store(&database).await;
        assert_eq!(counts(&store, q).await, [0, 0, 0, round + 1]);
    }
}

#[tokio::test]
async fn an_ack_that_waits_for_its_flush_keeps_nobody_from_the_queue() {
    let cluster = Cluster::own();
    let database = cluster.database().await;
    let store = cluster.store(&database).await;
    let q = plain(&store).await;
    send(&store, q, &["a", "b", "c", "d"]).await;
    // The first ack after a start of the server commits with its flush.
    let first = claim(&store, q, 1, at(0)).await;
    verbs::ack_all(&store, q, &first, at(0)).await;
    let held = claim(&store, q, 2, at(0)).await;
    let admin = cluster.superuser("postgres").await;
    standby(&admin, "nobody").await;
    let limit = Duration::from_secs(60);
    let other = cluster.superuser("postgres").await;
    let waits = tokio::time::timeout(limit, commits_wait(&admin, &other)).await;
    waits.expect("the server takes the setting in");
    let entries = vec![(held[0].receipt, Settlement::Ack)];
    let acking = store.settle(SettleBatch { queue: q, now: at(1), entries });
    tokio::pin!(acking);
    let others = async {
        stuck(&admin).await;
        assert_eq!(bodies(&claim(&store, q, 9, at(1)).await), ["d"]);
        let late = verbs::extend(&store, q, &[held[0].receipt], 60, at(1)).await.remove(0);
        assert_eq!(late.unwrap_err().kind(), ErrorKind::MessageGone);
        assert_eq!(counts(&store, q).await, [0, 0, 2, 0]);
    };
    let others = tokio::time::timeout(limit, others);
    tokio::select! {
        acked = &mut acking => panic!("it was not flushed, but answered {acked:?}"),
        others = others => others.expect("nobody waits for the ack"),
    }
    standby(&admin, "").await;
    let acked = tokio::time::timeout(limit, acking).await.expect("the ack is answered");
    acked.unwrap()[0].as_ref().unwrap();
}

#[tokio::test]
async fn an_ack_whose_flush_the_server_did_not_live_to_see_is_not_answered_as_done() {
    // S4.1: the next start may have forgotten it.
    let cluster = Cluster::own();
    let database = cluster.database().await;
    let store = cluster.store(&database).await;
    let q = plain(&store).await;
    send(&store, q, &["a", "b"]).await;
    let held = claim(&store, q, 2, at(0)).await;
    verbs::ack_all(&store, q, &held[..1], at(0)).await;
    // As a crash leaves it, between the ack and its flush.
    let client = cluster.client(&database).await;
    let restarted = "CREATE FUNCTION slipring.restarted() RETURNS trigger LANGUAGE plpgsql AS $$
                     BEGIN DELETE FROM slipring.incarnation; RETURN NULL; END $$;
                     CREATE TRIGGER restarted AFTER INSERT ON slipring.state
                     FOR EACH STATEMENT EXECUTE FUNCTION slipring.restarted()";
    run(&client, restarted).await;
    let entries = vec![(held[1].receipt, Settlement::Ack)];
    let acking = store.settle(SettleBatch { queue: q, now: at(1), entries });
    let error = acking.await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::StorageUnavailable, Retry::Unknown));
}

#[tokio::test]
async fn leases_and_attempts_are_as_they_were_after_the_server_was_killed() {
    let cluster = Cluster::own();
    let database = cluster.database().await;
    let store = cluster.store(&database).await;
    let q = plain(&store).await;
    send(&store, q, &["a", "b", "c"]).await;
    let held = claim(&store, q, 2, at(0)).await;
    let nack =
        Settlement::Nack { delay: Some(Duration::from_secs(9)), priority: None, reason: None };
    verbs::settle(&store, q, &held[0], nack, at(1)).await.unwrap();
    cluster.crash();
    let store = cluster.store(&database).await;
    assert_eq!(counts(&store, q).await, [1, 1, 1, 0]);
    verbs::ack_all(&store, q, &held[1..], at(2)).await;
    store.due(at(10)).await.unwrap();
    let taken = claim(&store, q, 5, at(10)).await;
    assert_eq!(bodies(&taken), ["a", "c"]);
    assert_eq!(taken[0].message.attempts, 2);
}

#[tokio::test]
async fn a_statement_that_gets_no_answer_is_given_up_and_the_next_one_works() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let options = PostgresOptions {
        statement_timeout: Duration::from_millis(300),
        ..PostgresOptions::default()
    };
    let store = PostgresStore::open(&database.address, options).await.unwrap();
    let q = plain(&store).await;
    let holder = cluster.client(&database).await;
    let lock = "BEGIN; LOCK TABLE slipring.queue IN ACCESS EXCLUSIVE MODE";
    holder.batch_execute(lock).await.unwrap();
    let error = try_send(&store, q, vec![NewMessage::new("a")], at(0)).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::StorageUnavailable, Retry::Unknown));
    let error = store.stats(q, at(0)).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::StorageUnavailable, Retry::Later));
    holder.batch_execute("COMMIT").await.unwrap();
    // The cancelled send may have been a moment faster than its cancellation.
    let before = counts(&store, q).await[0];
    send(&store, q, &["b"]).await;
    assert_eq!(counts(&store, q).await[0], before + 1);
}

#[tokio::test]
async fn more_calls_than_connections_wait_their_turn() {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let options = PostgresOptions { connections: 1, ..PostgresOptions::default() };
    let store = PostgresStore::open(&database.address, options).await.unwrap();
    let q = plain(&store).await;
    let sends = (0..100).map(|_| {
        let store = Arc::clone(&store);
        tokio::spawn(async move { send(&store, q, &["x"]).await })
    });
    for send in sends.collect::<Vec<_>>() {
        send.await.unwrap();
    }
    assert_eq!(counts(&store, q).await, [100, 0, 0, 0]);
}
