//! Receives inside users' transactions: one that stays open keeps others from the messages it was
//! handed and from no others, and whatever becomes of it, each message is handed out once (S10.7).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use slipring::admin::AdminStore;
use slipring::store::Store;
use slipring::{ErrorKind, QueueId, Timestamp};
use slipring_conformance::verbs::{ack_all, bodies, claim, counts};
use slipring_postgres::PostgresStore;
use slipring_testbed::{Cluster, Database, database_now, one, rotation_step, run, soon, waiting};
use tokio_postgres::Client;

/// A queue made and filled by SQL, a store, and a session that looks on.
struct Ground {
    cluster: &'static Cluster,
    database: Database,
    store: Arc<PostgresStore>,
    q: QueueId,
    client: Client,
}

impl Ground {
    async fn with(messages: u64) -> Ground {
        let cluster = Cluster::shared();
        let (database, store, client) = cluster.opened().await;
        run(&client, "SELECT slipring.create_queue('jobs')").await;
        let q = store.queues().await.unwrap()[0].id;
        for n in 0..messages {
            run(&client, &format!("SELECT slipring.send('jobs', 'm{n}'::text)")).await;
        }
        Ground { cluster, database, store, q, client }
    }

    /// A consumer in a transaction that has received `n` messages, and their bodies.
    async fn open(&self, n: u32) -> (Client, Vec<String>) {
        let consumer = self.cluster.begin(&self.database, "READ COMMITTED").await;
        let got = receive(&consumer, n).await;
        (consumer, got.into_iter().map(|(_, body)| body).collect())
    }

    /// The moment it is for the database.
    async fn now(&self) -> Timestamp {
        database_now(&self.client).await
    }

    /// What a server is handed.
    async fn server(&self, n: u32) -> Vec<String> {
        let got = soon("a server", claim(&self.store, self.q, n, self.now().await)).await;
        bodies(&got)
    }
}

/// Receipts and bodies.
async fn receive(client: &Client, n: u32) -> Vec<(String, String)> {
    receive_from(client, "jobs", n).await
}

async fn receive_from(client: &Client, queue: &str, n: u32) -> Vec<(String, String)> {
    let sql =
        format!("SELECT receipt, convert_from(body, 'UTF8') FROM slipring.receive('{queue}', {n})");
    let rows = soon("a receive", client.query(&sql, &[])).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

fn names(numbers: impl IntoIterator<Item = u64>) -> Vec<String> {
    numbers.into_iter().map(|n| format!("m{n}")).collect()
}

#[tokio::test]
async fn an_idle_consumer_keeps_others_from_its_messages_only() {
    let ground = Ground::with(12).await;
    let (first, got) = ground.open(2).await;
    assert_eq!(got, names([0, 1]));
    let (second, got) = ground.open(3).await;
    assert_eq!(got, names(2..5));
    // In one transaction twice, too.
    assert_eq!(receive(&second, 1).await[0].1, "m5");
    assert_eq!(ground.server(2).await, names([6, 7]));
    let ready = "SELECT slipring.ready('jobs')::int::int8";
    assert_eq!(one(&ground.client, ready).await, 1);
    run(&first, "ROLLBACK").await;
    assert_eq!(ground.server(2).await, names([0, 1]));
    run(&second, "COMMIT").await;
    let (last, got) = ground.open(9).await;
    assert_eq!(got, names(8..12));
    // What others have in their hands is not ready.
    assert_eq!(one(&ground.client, ready).await, 0);
    run(&last, "ROLLBACK").await;
    assert_eq!(ground.server(100).await, names(8..12));
    assert_eq!(counts(&ground.store, ground.q).await, [0, 0, 12, 0]);
}

#[tokio::test]
async fn a_server_finds_all_there_is_beside_a_pack_that_is_half_done() {
    let ground = Ground::with(0).await;
    let pack = "SELECT slipring.send_batch('jobs', array_fill('p'::bytea, ARRAY[60]))";
    run(&ground.client, pack).await;
    assert_eq!(ground.server(30).await.len(), 30);
    assert_eq!(receive(&ground.client, 29).await.len(), 29);
    for n in 0..20 {
        run(&ground.client, &format!("SELECT slipring.send('jobs', 'm{n}'::text)")).await;
    }
    let (idle, got) = ground.open(2).await;
    assert_eq!(got, ["p", "m0"]);
    assert_eq!(ground.server(11).await, names(1..12));
    run(&idle, "ROLLBACK").await;
    let left = [vec!["p".to_owned(), "m0".to_owned()], names(12..20)].concat();
    assert_eq!(ground.server(100).await, left);
}

#[tokio::test]
async fn consumers_that_receive_from_two_queues_in_either_order_do_not_deadlock() {
    // S10.7
    let ground = Ground::with(0).await;
    for queue in ["one", "two"] {
        let made = format!("SELECT slipring.create_queue('{queue}', '{{\"fifo\": true}}')");
        run(&ground.client, &made).await;
        for group in ["a", "b"] {
            let group = format!("\"group\" => '{group}'");
            let sent = format!("SELECT slipring.send('{queue}', 'm'::text, {group})");
            run(&ground.client, &sent).await;
        }
    }
    // Also where the user would wait longer than a deadlock takes to be found.
    for limit in ["0", "1500ms"] {
        let first = ground.cluster.begin(&ground.database, "READ COMMITTED").await;
        let second = ground.cluster.begin(&ground.database, "READ COMMITTED").await;
        for session in [&first, &second] {
            run(session, &format!("SET lock_timeout = '{limit}'")).await;
        }
        assert_eq!(receive_from(&first, "one", 1).await.len(), 1);
        assert_eq!(receive_from(&second, "two", 1).await.len(), 1);
        let both = tokio::join!(receive_from(&first, "two", 1), receive_from(&second, "one", 1));
        assert_eq!(both, (vec![], vec![]));
        run(&second, "ROLLBACK").await;
        assert_eq!(receive_from(&first, "two", 1).await.len(), 1);
        run(&first, "ROLLBACK").await;
    }
}

#[tokio::test]
async fn a_consumer_that_waited_and_was_handed_nothing_holds_up_nobody() {
    let ground = Ground::with(1).await;
    run(&ground.client, "SELECT slipring.nack(receipt) FROM slipring.receive('jobs')").await;
    let (first, got) = ground.open(1).await;
    assert_eq!(got, ["m0"]);
    let second = ground.cluster.begin(&ground.database, "READ COMMITTED").await;
    let commit = async {
        waiting(&ground.client, "relation", 1).await;
        run(&first, "COMMIT").await;
    };
    let (got, ()) = tokio::join!(receive(&second, 1), commit);
    assert_eq!(got, []);
    let free = format!("SELECT slipring.queue_free({})::int::int8", ground.q.0);
    assert_eq!(one(&ground.client, &free).await, 1);
    run(&second, "COMMIT").await;
}

#[tokio::test]
async fn transactions_that_give_back_to_two_queues_in_either_order_do_not_deadlock() {
    // S10.7
    let ground = Ground::with(0).await;
    let mut receipts = Vec::new();
    for queue in ["one", "two"] {
        run(&ground.client, &format!("SELECT slipring.create_queue('{queue}')")).await;
        for _ in 0..2 {
            run(&ground.client, &format!("SELECT slipring.send('{queue}', 'm'::text)")).await;
            receipts.push(receive_from(&ground.client, queue, 1).await.remove(0).0);
        }
    }
    let nack = |nth: usize| format!("SELECT slipring.nack('{}')", receipts[nth]);
    let first = ground.cluster.begin(&ground.database, "READ COMMITTED").await;
    let second = ground.cluster.begin(&ground.database, "READ COMMITTED").await;
    run(&first, &nack(0)).await;
    run(&second, &nack(2)).await;
    // Whichever is told first keeps its lock.
    run(&second, "SAVEPOINT before").await;
    run(&first, "SET lock_timeout = '20 s'; SAVEPOINT before").await;
    let (two, one) = (nack(3), nack(1));
    let (late, crossed) = soon("both are told", async {
        tokio::join!(first.batch_execute(&two), second.batch_execute(&one))
    })
    .await;
    for answer in [late, crossed] {
        let error = answer.unwrap_err();
        let told = error.as_db_error().unwrap();
        assert_eq!(told.code().code(), "55P03", "{told}");
        assert!(told.message().contains("is in use by another transaction"), "{told}");
    }
    run(&second, "ROLLBACK").await;
    run(&first, "ROLLBACK TO before").await;
    let limit = first.query_one("SHOW lock_timeout", &[]).await.unwrap();
    assert_eq!(limit.get::<_, &str>(0), "20s");
    run(&first, &nack(3)).await;
    run(&first, "COMMIT").await;
    assert_eq!(receive_from(&ground.client, "one", 5).await.len(), 1);
    assert_eq!(receive_from(&ground.client, "two", 5).await.len(), 1);
}

#[tokio::test]
async fn every_other_verb_goes_on_beside_an_idle_consumer() {
    let ground = Ground::with(6).await;
    let idle = ground.cluster.begin(&ground.database, "READ COMMITTED").await;
    // What is left to the commit is not done earlier, and so holds nothing.
    run(&idle, "SET CONSTRAINTS ALL IMMEDIATE").await;
    assert_eq!(receive(&idle, 1).await[0].1, "m0");
    let held =
        one(&ground.client, "SELECT id FROM slipring.peek('jobs') ORDER BY id LIMIT 1").await;
    let now = ground.now().await;
    let id = slipring::MessageId(u64::try_from(held).unwrap());
    let refused = soon("a cancel", ground.store.cancel(id, now)).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::WrongState, "{refused}");
    run(&ground.client, "SET lock_timeout = '5s'").await;
    let (receipt, body) = receive(&ground.client, 1).await.remove(0);
    assert_eq!(body, "m1");
    run(&ground.client, &format!("SELECT slipring.nack('{receipt}', delay => '1 hour')")).await;
    let (receipt, body) = receive(&ground.client, 1).await.remove(0);
    assert_eq!(body, "m2");
    run(&ground.client, &format!("SELECT slipring.extend('{receipt}', '1 hour')")).await;
    run(&ground.client, &format!("SELECT slipring.ack('{receipt}')")).await;
    run(&ground.client, "CALL slipring.maintain()").await;
    assert_eq!(one(&ground.client, "SELECT slipring.purge('jobs')").await, 4);
    run(&idle, "ROLLBACK").await;
    assert_eq!(ground.server(9).await, names([0]), "a purge leaves what is in somebody's hands");
}

#[tokio::test]
async fn what_is_handed_out_lapses_when_the_transaction_has_committed() {
    let ground = Ground::with(5).await;
    for end in ["COMMIT", "PREPARE TRANSACTION 'taken'; COMMIT PREPARED 'taken'"] {
        let (consumer, got) = ground.open(1).await;
        assert_eq!(got.len(), 1, "{end}");
        for step in end.split(';') {
            run(&consumer, step).await;
            assert_eq!(receive(&ground.client, 1).await.len(), 1, "{step}");
        }
        let late = ground.now().await.after(std::time::Duration::from_hours(1));
        let deadlines = ground.store.deadlines(0).await.unwrap().queues;
        assert!(deadlines[0].lapse.is_some_and(|lapse| lapse <= late), "{deadlines:?}");
        let lapses = async {
            while counts(&ground.store, ground.q).await != [5, 0, 0, 0] {
                ground.store.expire_in(ground.q, late).await.unwrap();
            }
        };
        soon(end, lapses).await;
        // What lapsed has attempts and is handed out under the lock: by a server, for good.
        let again = claim(&ground.store, ground.q, 5, late).await;
        ack_all(&ground.store, ground.q, &again, late).await;
        for n in 0..5 {
            run(&ground.client, &format!("SELECT slipring.send('jobs', 'm{n}'::text)")).await;
        }
    }
}

/// Receives, and ends its transaction in each of the ways; what it acked for good is counted.
async fn consume(client: &Client, kind: u64, acked: &Acked) {
    let n = u32::try_from(1 + kind * 3 % 7).unwrap();
    for round in 0.. {
        run(client, "BEGIN").await;
        let got = receive(client, n).await;
        if got.is_empty() && acked.all() {
            run(client, "COMMIT").await;
            return;
        }
        let receipts: Vec<&str> = got.iter().map(|(receipt, _)| receipt.as_str()).collect();
        match (kind + round) % 4 {
            0 => run(client, "ROLLBACK").await,
            1 => {
                run(client, "COMMIT").await;
                client.execute("SELECT slipring.ack($1::text[])", &[&receipts]).await.unwrap();
                acked.count(got);
            }
            2 => {
                client.execute("SELECT slipring.ack($1::text[])", &[&receipts]).await.unwrap();
                run(client, "COMMIT").await;
                acked.count(got);
            }
            _ => {
                run(client, "SAVEPOINT s").await;
                let more = receive(client, n).await;
                assert!(more.iter().all(|(_, body)| got.iter().all(|(_, b)| b != body)));
                run(client, "ROLLBACK TO s").await;
                client.execute("SELECT slipring.ack($1::text[])", &[&receipts]).await.unwrap();
                run(client, "COMMIT").await;
                acked.count(got);
            }
        }
    }
}

/// How often each body was acked for good.
#[derive(Default)]
struct Acked {
    bodies: Mutex<BTreeMap<String, u32>>,
    sent: usize,
}

impl Acked {
    fn count(&self, got: Vec<(String, String)>) {
        for (_, body) in got {
            *self.bodies.lock().unwrap().entry(body).or_default() += 1;
        }
    }

    fn all(&self) -> bool {
        self.bodies.lock().unwrap().len() == self.sent
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn consumers_of_every_kind_beside_a_server_and_rotations_get_each_message_once() {
    let ground = Ground::with(0).await;
    let acked = Arc::new(Acked { sent: 3_000, ..Acked::default() });
    // Singles, and packs of several.
    for n in (0..3_000).step_by(10) {
        let bodies: Vec<String> = (n..n + 10).map(|n| format!("m{n}")).collect();
        let sent = if n % 20 == 0 {
            format!("SELECT slipring.send_batch('jobs', '{{{}}}'::bytea[])", bodies.join(","))
        } else {
            bodies.iter().map(|b| format!("SELECT slipring.send('jobs', '{b}'::text);")).collect()
        };
        run(&ground.client, &sent).await;
    }
    let mut consumers = Vec::new();
    for kind in 0..6 {
        let client = ground.cluster.client(&ground.database).await;
        let acked = Arc::clone(&acked);
        consumers.push(tokio::spawn(async move { consume(&client, kind, &acked).await }));
    }
    let owner = ground.cluster.client(&ground.database).await;
    let mut moment = ground.now().await;
    while !acked.all() {
        let some = claim(&ground.store, ground.q, 3, ground.now().await).await;
        ack_all(&ground.store, ground.q, &some, ground.now().await).await;
        acked.count(bodies(&some).into_iter().map(|body| (String::new(), body)).collect());
        moment = moment.after(std::time::Duration::from_secs(1));
        for part in ["queues", "journal", "shelf"] {
            rotation_step(&owner, part, moment).await;
        }
    }
    for consumer in consumers {
        soon("a consumer", consumer).await.unwrap();
    }
    let bodies = acked.bodies.lock().unwrap().clone();
    assert!(bodies.values().all(|times| *times == 1), "{bodies:?}");
    assert_eq!(counts(&ground.store, ground.q).await, [0; 4]);
}

#[tokio::test]
async fn receipts_of_one_transaction_differ_however_often_it_receives() {
    // S3.2
    let ground = Ground::with(0).await;
    let bodies = "SELECT array_agg('m' || n) FROM generate_series(1, 400) n";
    run(&ground.client, &format!("SELECT slipring.send_batch('jobs', ({bodies}))")).await;
    // From the second receive on each has a fence of its transaction, with the last ten bits of
    // the second: the highest there are.
    let (first, _) = ground.open(1).await;
    run(&first, "COMMIT").await;
    let stopped = format!(
        "CREATE OR REPLACE FUNCTION slipring.now_ms() RETURNS bigint LANGUAGE sql AS
         'SELECT {}::bigint'",
        (1_800_000_000 / 1024 * 1024 + 1023) * 1000_i64
    );
    run(&ground.client, &stopped).await;
    let (consumer, _) = ground.open(1).await;
    let mut fences = BTreeMap::new();
    for _ in 0..300 {
        let (receipt, body) = receive(&consumer, 1).await.remove(0);
        let fence: i64 = receipt.split('.').nth(3).unwrap().parse().unwrap();
        assert!(fence < 0, "{receipt}");
        assert_eq!(fences.insert(fence, body), None, "{receipt}");
    }
}
