//! Backends killed at every step of a call of the store, and between the statements of a user's
//! transaction: everything of it happened once, or nothing.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use slipring::lifecycle::Settlement;
use slipring::store::{Demand, Pass, Settled, Store};
use slipring::{
    AdminStore, Delivery, ErrorKind, MessageId, MoveRequest, NewMessage, QueueId, QueueName,
    QueueSettings, Retry, Timestamp,
};
use slipring_conformance::verbs::{
    ack_all, at, bodies, claim, counts, extend, handed, plain, queue, send, settle, try_send,
};
use slipring_postgres::PostgresStore;
use slipring_testbed::{Cluster, Database, run, standby};
use tokio_postgres::Client;

const PATIENCE: Duration = Duration::from_secs(60);

/// What a call may have to wait for, so that it can be met there: tables, the queue's lock, and
/// that of administration.
const STOPS: [&str; 16] = [
    "queue",
    "store",
    "message",
    "state",
    "lease",
    "ack",
    "item_picture",
    "item_body",
    "mark",
    "tally",
    "tally_sum",
    "dedup",
    "fifo_group",
    "fifo_touched",
    QUEUE_LOCK,
    ADMINISTRATION,
];

const QUEUE_LOCK: &str = "the queue's lock";
const ADMINISTRATION: &str = "the lock of administration";

/// Kills who comes to a place where it has to wait.
struct Hunter {
    /// Holds what others wait for.
    holder: Client,
    admin: Client,
    database: String,
}

impl Hunter {
    async fn new(cluster: &Cluster, database: &Database) -> Hunter {
        let holder = cluster.client(database).await;
        let admin = cluster.superuser("postgres").await;
        Hunter { holder, admin, database: database.name.clone() }
    }

    /// Runs `call` while `hold` stands in its way, and kills its backend there `kills` times, as
    /// often as it tries again. Answers also how many were killed.
    async fn hunt<T>(&self, hold: &str, kills: u32, call: impl Future<Output = T>) -> (T, u32) {
        tokio::pin!(call);
        run(&self.holder, &format!("BEGIN; {hold}")).await;
        let mut killed = 0;
        while killed < kills {
            let answer = tokio::select! {
                answer = &mut call => Some(answer),
                pid = self.waiting() => {
                    let kill = "SELECT pg_terminate_backend($1, 60000)";
                    self.admin.query(kill, &[&pid]).await.expect("a backend can be killed");
                    killed += 1;
                    None
                }
            };
            if let Some(answer) = answer {
                run(&self.holder, "ROLLBACK").await;
                return (answer, killed);
            }
        }
        run(&self.holder, "ROLLBACK").await;
        let answer = tokio::time::timeout(PATIENCE, call).await;
        (answer.expect("the call comes to an end"), killed)
    }

    /// The backend that waits, as soon as there is one that has not been killed yet.
    async fn waiting(&self) -> i32 {
        let sql = "SELECT a.pid FROM pg_stat_activity a WHERE a.datname = $1
                   AND cardinality(pg_blocking_pids(a.pid)) > 0 AND a.wait_event_type = 'Lock'";
        loop {
            if let Some(row) = self.admin.query_opt(sql, &[&self.database]).await.unwrap() {
                return row.get(0);
            }
        }
    }
}

/// A queue, its dead-letter queue, and every verb one after the other.
struct Verbs<'a> {
    store: &'a Arc<PostgresStore>,
    name: String,
    settings: QueueSettings,
    q: QueueId,
    dead: QueueId,
    extra: Option<QueueId>,
    sent: Vec<MessageId>,
    held: Vec<Delivery>,
}

/// Whether a pass is to come again within a second.
fn is_owed(pass: &Pass, now: Timestamp) -> bool {
    pass.next.is_some_and(|next| next < now.after(Duration::from_secs(1)))
}

/// How many steps [`Verbs::step`] knows.
const STEPS: usize = 21;
/// From this one on they are [`Verbs::administration_step`]'s.
const ADMINISTRATION_STEPS: usize = 14;

impl<'a> Verbs<'a> {
    async fn new(store: &'a Arc<PostgresStore>, name: &str, fifo: bool) -> Verbs<'a> {
        let dead = queue(store, &format!("{name}-dead"), &QueueSettings::default()).await;
        let settings = QueueSettings {
            fifo,
            max_attempts: Some(2),
            dead_letter: Some(QueueName::new(&format!("{name}-dead")).unwrap()),
            ..QueueSettings::default()
        };
        let q = queue(store, name, &settings).await;
        let (name, extra, sent, held) = (name.to_owned(), None, Vec::new(), Vec::new());
        Verbs { store, name, settings, q, dead, extra, sent, held }
    }

    /// Messages of several kinds; the groups count in a FIFO queue.
    fn messages() -> Vec<NewMessage> {
        let plain = |n: u32| NewMessage::new(format!("m{n}")).group(format!("g{}", n % 8));
        let mut all: Vec<NewMessage> = (0..12).map(plain).collect();
        all.push(NewMessage::new("delayed").group("d").delay(Duration::from_secs(100)));
        all.push(NewMessage::new("once").group("o").dedup_id("once"));
        all
    }

    /// One call of the store; each must succeed.
    async fn step(&mut self, step: usize) {
        let (store, q) = (self.store, self.q);
        match step {
            0 => drop(try_send(store, q, Self::messages(), at(0)).await.unwrap()),
            1 => self.held = handed(store, q, 6, at(1)).await,
            2 => {
                let receipts: Vec<_> = self.held.iter().map(|held| held.receipt).collect();
                let until = extend(store, q, &receipts[..2], 60, at(2)).await;
                assert!(until.iter().all(Result::is_ok), "{until:?}");
            }
            3 => ack_all(store, q, &self.held[..1], at(3)).await,
            4 => {
                let nack = Settlement::Nack { delay: None, priority: None, reason: None };
                settle(store, q, &self.held[1], nack, at(3)).await.unwrap();
            }
            5 => {
                let park = Settlement::Park { priority: None };
                settle(store, q, &self.held[2], park, at(3)).await.unwrap();
            }
            6 => {
                let dead =
                    settle(store, q, &self.held[3], Settlement::DeadLetter { reason: None }, at(3))
                        .await;
                assert_eq!(dead.unwrap(), Settled::DeadLettered(self.dead));
            }
            // A pass leaves a queue that others keep to a later one, which is to come at once.
            7 => while is_owed(&store.expire(at(50)).await.unwrap(), at(50)) {},
            8 => while is_owed(&store.due(at(200)).await.unwrap(), at(200)) {},
            9 => assert_eq!(store.kick(q, 10, at(200)).await.unwrap(), 1),
            10 => {
                let request = MoveRequest { source: self.dead, target: None, limit: 10 };
                drop(store.move_messages(request, at(200)).await.unwrap());
            }
            11 => while is_owed(&store.prune(at(1000)).await.unwrap(), at(1000)) {},
            12 => self.held = handed(store, q, 4, at(1001)).await,
            13 => drop(store.purge(q, 100, at(2000)).await.unwrap()),
            _ => self.administration_step(step).await,
        }
    }

    /// What is done to queues, and to messages by their numbers.
    async fn administration_step(&mut self, step: usize) {
        let (store, q) = (self.store, self.q);
        match step - ADMINISTRATION_STEPS {
            0 => {
                self.settings.visibility_timeout = Duration::from_secs(7);
                store.configure(q, &self.settings, at(2001)).await.unwrap();
            }
            1 => {
                let plain = |n: u32| NewMessage::new(format!("n{n}")).group(format!("n{n}"));
                let mut all: Vec<NewMessage> = (0..3).map(plain).collect();
                all.push(plain(3).delay(Duration::from_secs(100)));
                let sent = try_send(store, q, all, at(2001)).await.unwrap();
                self.sent = sent.iter().map(|sent| sent.id).collect();
            }
            2 => assert_eq!(store.cancel(self.sent[0], at(2001)).await.unwrap(), q),
            3 => assert_eq!(store.kick_message(self.sent[3], at(2002)).await.unwrap(), q),
            4 => {
                let demand = Demand { up_to: 1, lease: None, session: true };
                let taken = store.claim_message(q, self.sent[1], demand, at(2003)).await;
                self.held = vec![taken.unwrap()];
            }
            5 => {
                let name = QueueName::new(&format!("{}-extra", self.name)).unwrap();
                let made = store.create_queue(&name, &self.settings, at(2004)).await.unwrap();
                self.extra = Some(made.0.id);
            }
            _ => store.delete_queue(self.extra.take().unwrap()).await.unwrap(),
        }
    }

    /// What can be seen of both queues, what was received last, and the queues there are with the
    /// lease of each.
    async fn seen(&self) -> (Vec<String>, [[u64; 4]; 2], Vec<(String, Duration)>) {
        let both = [counts(self.store, self.q).await, counts(self.store, self.dead).await];
        let queues = self.store.queues().await.unwrap();
        let own = queues.iter().filter_map(|queue| {
            let rest = queue.name.as_str().strip_prefix(&self.name)?;
            Some((rest.to_owned(), queue.settings.visibility_timeout))
        });
        (bodies(&self.held), both, own.collect())
    }
}

/// Every verb with a backend killed wherever it first comes to a table or to the queue's
/// lock; what is seen afterwards is what is seen when nobody is killed.
async fn killed_at_every_stop(fifo: bool) {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let store = cluster.rotating_store(&database, 1).await;
    let hunter = Hunter::new(cluster, &database).await;
    let mut undisturbed = Verbs::new(&store, "undisturbed", fifo).await;
    let mut wanted = Vec::new();
    for step in 0..STEPS {
        undisturbed.step(step).await;
        wanted.push(undisturbed.seen().await);
    }
    let mut killed = [0; STEPS];
    for stop in STOPS {
        let mut verbs = Verbs::new(&store, &format!("q-{}", &stop[..3]), fifo).await;
        let hold = match stop {
            QUEUE_LOCK => format!("SELECT slipring.queue_wait({})", verbs.q.0),
            ADMINISTRATION => {
                let view = "slipring.lock_administration";
                format!("LOCK TABLE {view} IN SHARE UPDATE EXCLUSIVE MODE")
            }
            table => format!("LOCK TABLE slipring.{table} IN ACCESS EXCLUSIVE MODE"),
        };
        for step in 0..STEPS {
            let (_, times) = hunter.hunt(&hold, 1, verbs.step(step)).await;
            killed[step] += times;
            assert_eq!(verbs.seen().await, wanted[step], "step {step}, killed at {stop}");
        }
        store.delete_queue(verbs.q).await.unwrap();
        store.delete_queue(verbs.dead).await.unwrap();
    }
    assert!(killed.iter().all(|times| *times >= 2), "kills by step: {killed:?}");
}

#[tokio::test]
async fn a_call_whose_backend_is_killed_at_any_step_happens_once() {
    // S1.1, S4.1
    killed_at_every_stop(false).await;
}

#[tokio::test]
async fn a_call_on_a_fifo_queue_whose_backend_is_killed_at_any_step_happens_once() {
    // S1.1, S7.3
    killed_at_every_stop(true).await;
}

#[tokio::test]
async fn a_users_transaction_killed_between_any_two_statements_leaves_nothing() {
    // S10.1, S10.2
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let store = cluster.rotating_store(&database, 1).await;
    let q = plain(&store).await;
    let watcher = cluster.client(&database).await;
    run(&watcher, "CREATE TABLE result (a int)").await;
    for killed_after in 0.. {
        send(&store, q, &["job"]).await;
        let receive = "SELECT receipt FROM slipring.receive('plain')";
        let receipt: String = watcher.query_one(receive, &[]).await.unwrap().get(0);
        let ack = format!("SELECT slipring.ack('{receipt}')");
        let statements = [
            "BEGIN",
            "INSERT INTO result VALUES (1)",
            "SELECT slipring.send('plain', 'next'::text)",
            "SELECT slipring.send('plain', 'other'::text, dedup_id => 'x', delay => '1 hour')",
            "SELECT slipring.send_batch('plain', ARRAY['a', 'b']::text[])",
            &ack,
            "COMMIT",
        ];
        let user = cluster.client(&database).await;
        for statement in &statements[..killed_after] {
            run(&user, statement).await;
        }
        let kill = "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
                    WHERE datname = $1 AND pid <> pg_backend_pid()
                    AND state LIKE 'idle in transaction%'";
        watcher.query(kill, &[&database.name]).await.unwrap();
        drop(user);
        let results = "SELECT count(*) FROM result";
        let results: i64 = watcher.query_one(results, &[]).await.unwrap().get(0);
        if killed_after == statements.len() {
            assert_eq!((results, counts(&store, q).await), (1, [3, 1, 0, 0]));
            break;
        }
        assert_eq!((results, counts(&store, q).await), (0, [0, 0, 1, 0]), "{killed_after}");
        // The lease is as good as before.
        run(&watcher, &ack).await;
        assert_eq!(counts(&store, q).await, [0; 4]);
        store.prune(at(1000 * killed_after as u64)).await.unwrap();
    }
}

#[tokio::test]
async fn a_call_killed_while_its_commit_is_on_the_way_is_not_made_again() {
    // Commits wait for a standby that is not there: they are done, and nobody has been told.
    let cluster = Cluster::own();
    let database = cluster.database().await;
    let store = cluster.store(&database).await;
    let q = plain(&store).await;
    send(&store, q, &["first"]).await;
    let held = claim(&store, q, 1, at(0)).await;
    let admin = cluster.superuser("postgres").await;
    run(&admin, "SET synchronous_commit = local").await;
    standby(&admin, "nobody").await;
    let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE wait_event = 'SyncRep'";
    let killing = async || while admin.query_opt(kill, &[]).await.unwrap().is_none() {};
    // The server takes the setting in at some moment; sends until then succeed.
    let mut sends = 0;
    let error = async {
        loop {
            sends += 1;
            let sending = try_send(&store, q, vec![NewMessage::new("next")], at(0));
            tokio::pin!(sending);
            let sent = tokio::select! {
                sent = &mut sending => sent,
                () = killing() => sending.await,
            };
            if let Err(error) = sent {
                return error;
            }
        }
    };
    let error = tokio::time::timeout(PATIENCE, error).await.expect("a send is killed");
    assert_eq!((error.kind(), error.retry()), (ErrorKind::StorageUnavailable, Retry::Unknown));
    let entries = vec![(held[0].receipt, Settlement::Ack)];
    let acking = store.settle(slipring::store::SettleBatch { queue: q, now: at(1), entries });
    let (acked, ()) = tokio::time::timeout(PATIENCE, async { tokio::join!(acking, killing()) })
        .await
        .expect("the ack is killed");
    assert_eq!(acked.unwrap_err().retry(), Retry::Unknown);
    standby(&admin, "").await;
    let again = settle(&store, q, &held[0], Settlement::Ack, at(2)).await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::MessageGone);
    let taken = claim(&store, q, 1000, at(2)).await;
    assert_eq!(taken.len(), sends, "each once, though of the last nobody knew");
}
