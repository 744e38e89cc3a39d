//! Several stores and users of SQL on one database, all at once, while every table rotates, and
//! with clocks that do not agree.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use slipring::lifecycle::Settlement;
use slipring::store::Store;
use slipring::{ErrorKind, MessageId, NewMessage, QueueId, QueueSettings};
use slipring_conformance::verbs::{
    ack_all, at, bodies, claim, counts, extend, plain, queue, settle, try_send,
};
use slipring_postgres::PostgresStore;
use slipring_testbed::{Cluster, Database, run};
use tokio::sync::watch;

const PATIENCE: Duration = Duration::from_secs(90);

const RECEIVERS: usize = 4;

/// What everybody saw.
#[derive(Default)]
struct Ledger {
    sent: AtomicUsize,
    senders: AtomicUsize,
    /// Fences under which each message was handed out.
    handed: Mutex<BTreeMap<MessageId, BTreeSet<u64>>>,
    /// The fence under which each message was acked.
    acked: Mutex<BTreeMap<MessageId, u64>>,
    /// The time that all go by, in seconds after the start.
    clock: AtomicU64,
    /// How far each receiver lets the clock go before it has ended its turn, in seconds after the
    /// start. A clock that ran freely would end the leases of a slow machine before it can ack.
    allowed: [AtomicU64; RECEIVERS],
    /// Changed whenever one of the above has.
    changed: watch::Sender<()>,
}

impl Ledger {
    fn now(&self) -> slipring::Timestamp {
        at(self.clock.load(Ordering::Relaxed))
    }

    async fn until(&self, mut met: impl FnMut() -> bool) {
        let mut changed = self.changed.subscribe();
        while !met() {
            changed.changed().await.expect("the ledger is there");
        }
    }

    /// Waits until receivers have come near, so that tables are written, read and retired at once.
    async fn room(&self) {
        self.until(|| self.sent.load(Ordering::Relaxed) <= self.acked.lock().len() + 200).await;
    }

    /// Lets the clock go on by 3 seconds, as soon as all receivers allow it.
    async fn tick(&self) {
        let next = |clock: u64| {
            let allowed = self.allowed.iter().map(|limit| limit.load(Ordering::Relaxed)).min();
            (Some(clock + 3) <= allowed).then_some(clock + 3)
        };
        let ticked = || self.clock.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok();
        self.until(|| self.done() || ticked()).await;
    }

    fn done(&self) -> bool {
        self.senders.load(Ordering::Relaxed) == 0
            && self.acked.lock().len() == self.sent.load(Ordering::Relaxed)
    }
}

/// Sends so many messages in batches of several sizes, some of them delayed or with a priority.
async fn send_all(store: Arc<PostgresStore>, q: QueueId, count: usize, ledger: Arc<Ledger>) {
    let mut sent = 0;
    while sent < count {
        ledger.room().await;
        let size = (1 + sent % 7).min(count - sent);
        let batch = (sent..sent + size).map(|n| {
            let message = NewMessage::new(n.to_string());
            match n % 20 {
                3 => message.delay(Duration::from_secs(20)),
                9 => message.priority(7),
                _ => message,
            }
        });
        try_send(&store, q, batch.collect(), ledger.now()).await.expect("the batch is taken");
        sent += size;
        ledger.sent.fetch_add(size, Ordering::Relaxed);
    }
    ledger.senders.fetch_sub(1, Ordering::Relaxed);
    ledger.changed.send_replace(());
}

/// Sends by SQL: two transactions that overlap, and end in the other order.
async fn send_by_sql(database: String, cluster: &Cluster, count: usize, ledger: Arc<Ledger>) {
    let url = cluster.url(slipring_testbed::OWNER, "test", &database);
    let (one, two) = (slipring_testbed::connect(&url).await, slipring_testbed::connect(&url).await);
    for _ in 0..count / 4 {
        ledger.room().await;
        run(&one, "BEGIN; SELECT slipring.send('plain', 'a'::text)").await;
        run(&two, "BEGIN; SELECT slipring.send_batch('plain', ARRAY['b', 'c']::text[])").await;
        run(&two, "COMMIT").await;
        run(&one, "SELECT slipring.send('plain', 'd'::text); COMMIT").await;
        ledger.sent.fetch_add(4, Ordering::Relaxed);
    }
    ledger.senders.fetch_sub(1, Ordering::Relaxed);
    ledger.changed.send_replace(());
}

/// Receives, and acks most of it; nacks some, and lets the leases of others lapse: in every fourth
/// turn time may also pass while it is at work, beyond the end of the leases it has.
async fn receive(store: Arc<PostgresStore>, q: QueueId, name: usize, ledger: Arc<Ledger>) {
    for turn in 0.. {
        let seconds = if (turn as usize + name).is_multiple_of(4) { 90 } else { 24 };
        let clock = ledger.clock.load(Ordering::Relaxed);
        ledger.allowed[name].store(clock + seconds, Ordering::Relaxed);
        ledger.changed.send_replace(());
        if ledger.done() {
            return;
        }
        let list = claim(&store, q, 1 + turn % 9, ledger.now()).await;
        for delivery in &list {
            let (id, fence) = (delivery.message.id, delivery.receipt.fence.0);
            let new = ledger.handed.lock().entry(id).or_default().insert(fence);
            assert!(new, "{id} was handed out twice under one fence");
        }
        for (nth, delivery) in list.iter().enumerate() {
            let (id, fence) = (delivery.message.id, delivery.receipt.fence.0);
            let how = match (turn as usize + nth + name) % 11 {
                0 if delivery.message.attempts < 3 => continue,
                1 => Settlement::Nack { delay: Some(Duration::ZERO), priority: None, reason: None },
                2 => Settlement::Nack {
                    delay: Some(Duration::from_secs(5)),
                    priority: None,
                    reason: None,
                },
                _ => Settlement::Ack,
            };
            match settle(&store, q, delivery, how.clone(), ledger.now()).await {
                Ok(_) if how == Settlement::Ack => {
                    let before = ledger.acked.lock().insert(id, fence);
                    assert_eq!(before, None, "{id} was acked twice");
                }
                Ok(_) => {}
                Err(error) => {
                    let kinds = [ErrorKind::LeaseLost, ErrorKind::MessageGone];
                    assert!(kinds.contains(&error.kind()), "{error}");
                }
            }
        }
    }
}

/// Lets time pass: makes ready what is due, ends leases, and rotates tables.
async fn keep(store: Arc<PostgresStore>, ledger: Arc<Ledger>) {
    let mut pruned = 0;
    while !ledger.done() {
        ledger.tick().await;
        store.due(ledger.now()).await.unwrap();
        store.expire(ledger.now()).await.unwrap();
        let acked = ledger.acked.lock().len();
        if acked >= pruned + 10 {
            pruned = acked;
            store.prune(ledger.now()).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn stores_that_race_for_every_lease_cut_and_rotation_do_everything_once() {
    const EACH: usize = 100;
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let store = async || cluster.rotating_store(&database, 1).await;
    let stores = [store().await, store().await];
    let q = plain(&stores[0]).await;
    let ledger = Arc::new(Ledger::default());
    ledger.senders.store(5, Ordering::Relaxed);
    let mut tasks = Vec::new();
    for (name, store) in stores.iter().enumerate() {
        for nth in 0..2 {
            tasks.push(tokio::spawn(send_all(Arc::clone(store), q, EACH, Arc::clone(&ledger))));
            let name = 2 * name + nth;
            tasks.push(tokio::spawn(receive(Arc::clone(store), q, name, Arc::clone(&ledger))));
        }
        tasks.push(tokio::spawn(keep(Arc::clone(store), Arc::clone(&ledger))));
    }
    let sql = send_by_sql(database.name.clone(), cluster, EACH, Arc::clone(&ledger));
    tasks.push(tokio::spawn(sql));
    let all = futures::future::try_join_all(tasks);
    tokio::time::timeout(PATIENCE, all).await.expect("it comes to an end").unwrap();
    assert_eq!(ledger.acked.lock().len(), 5 * EACH);
    for (id, fence) in ledger.acked.lock().iter() {
        let last = ledger.handed.lock()[id].last().copied();
        assert_eq!(last, Some(*fence), "{id} was handed out after it was acked");
    }
    assert_eq!(counts(&stores[1], q).await, [0; 4]);
    let rotations = "SELECT pg_sequence_last_value(q.generation), \
                     pg_sequence_last_value('slipring.journal') FROM slipring.queue q";
    let row = cluster.client(&database).await.query_one(rotations, &[]).await.unwrap();
    let (tables, journal): (i64, i64) = (row.get(0), row.get(1));
    assert!(tables > 2 && journal > 2, "{tables} and {journal} rotations");
}

async fn two_clocks(database: &Database) -> ([Arc<PostgresStore>; 2], QueueId) {
    let cluster = Cluster::shared();
    let stores =
        [cluster.rotating_store(database, 1).await, cluster.rotating_store(database, 1).await];
    let q = plain(&stores[0]).await;
    (stores, q)
}

#[tokio::test]
async fn servers_whose_clocks_are_hours_apart_lose_nothing_and_share_fairly() {
    // S5.1
    let database = Cluster::shared().database().await;
    let ([ahead, behind], q) = two_clocks(&database).await;
    let texts = |list: &[&str]| list.iter().map(|text| NewMessage::new(text.to_string())).collect();
    let late = |seconds: u64| at(7200 + seconds);
    try_send(&ahead, q, texts(&["a", "b"]), late(0)).await.unwrap();
    try_send(&behind, q, texts(&["c", "d"]), at(0)).await.unwrap();
    // The order is that of sending, whatever the clocks say.
    let by_ahead = claim(&ahead, q, 1, late(1)).await;
    let by_behind = claim(&behind, q, 2, at(1)).await;
    assert_eq!(
        (bodies(&by_ahead), bodies(&by_behind)),
        (vec!["a".into()], vec!["b".into(), "c".into()])
    );
    // The one behind ends its own leases when their time has come, and no other's.
    ahead.prune(late(2)).await.unwrap();
    behind.prune(at(2)).await.unwrap();
    behind.expire(at(40)).await.unwrap();
    assert_eq!(counts(&behind, q).await, [3, 0, 1, 0]);
    ack_all(&ahead, q, &by_ahead, late(3)).await;
    let again = claim(&behind, q, 9, at(41)).await;
    assert_eq!(bodies(&again), ["b", "c", "d"]);
    assert_eq!(again[0].message.attempts, 2);
    let gone = settle(&behind, q, &by_behind[0], Settlement::Ack, at(41)).await;
    assert_eq!(gone.unwrap_err().kind(), ErrorKind::LeaseLost);
    ack_all(&ahead, q, &again, late(4)).await;
    assert_eq!(counts(&ahead, q).await, [0; 4]);
}

#[tokio::test]
async fn after_a_step_back_leases_and_delays_end_when_the_new_clock_says_so() {
    // S5.1, S5.2
    let database = Cluster::shared().database().await;
    let ([store, _], q) = two_clocks(&database).await;
    let f = queue(&store, "fifo", &QueueSettings { fifo: true, ..QueueSettings::default() }).await;
    // A day that is passed in the ordinary way, with everything that looks at the time.
    for hour in 0..24 {
        let now = at(3600 * hour);
        for q in [q, f] {
            try_send(&store, q, vec![NewMessage::new("day").group("g")], now).await.unwrap();
            let held = claim(&store, q, 1, now).await;
            ack_all(&store, q, &held, now).await;
        }
        store.due(now).await.unwrap();
        store.expire(now).await.unwrap();
        store.prune(now).await.unwrap();
    }
    for q in [q, f] {
        // And now the clock is a day behind.
        let delayed = NewMessage::new("delayed").group("d").delay(Duration::from_secs(10));
        let messages = vec![NewMessage::new("held").group("h"), delayed];
        try_send(&store, q, messages, at(0)).await.unwrap();
        let held = claim(&store, q, 9, at(0)).await;
        assert_eq!(bodies(&held), ["held"]);
        let until = extend(&store, q, &[held[0].receipt], 60, at(5)).await.remove(0);
        assert_eq!(until.unwrap(), at(65));
        store.due(at(10)).await.unwrap();
        assert_eq!(bodies(&claim(&store, q, 9, at(11)).await), ["delayed"]);
        store.prune(at(12)).await.unwrap();
        store.expire(at(64)).await.unwrap();
        assert_eq!(bodies(&claim(&store, q, 9, at(64)).await), ["delayed"]);
        store.expire(at(66)).await.unwrap();
        assert_eq!(bodies(&claim(&store, q, 9, at(66)).await), ["held"]);
    }
}

#[tokio::test]
async fn a_step_far_ahead_ends_every_lease_once_and_loses_nothing() {
    let database = Cluster::shared().database().await;
    let ([store, other], q) = two_clocks(&database).await;
    let messages = (0..50).map(|n| NewMessage::new(n.to_string())).collect();
    try_send(&store, q, messages, at(0)).await.unwrap();
    let held = claim(&store, q, 30, at(0)).await;
    // Ten years, by one of two servers.
    let far = at(10 * 365 * 86_400);
    for _ in 0..3 {
        store.due(far).await.unwrap();
        store.expire(far).await.unwrap();
        store.prune(far).await.unwrap();
    }
    assert_eq!(counts(&other, q).await, [50, 0, 0, 0]);
    // Those that were tried before come in smaller company.
    let mut taken = claim(&other, q, 60, at(1)).await;
    taken.extend(claim(&other, q, 60, at(1)).await);
    let order: Vec<String> = (0..50).map(|n| n.to_string()).collect();
    assert_eq!(bodies(&taken), order);
    let attempts: Vec<u32> = taken.iter().map(|delivery| delivery.message.attempts).collect();
    assert_eq!(attempts, [vec![2; 30], vec![1; 20]].concat());
    let lost = settle(&store, q, &held[0], Settlement::Ack, far).await.unwrap_err();
    assert_eq!(lost.kind(), ErrorKind::LeaseLost);
    ack_all(&other, q, &taken, at(2)).await;
    assert_eq!(counts(&store, q).await, [0; 4]);
}
