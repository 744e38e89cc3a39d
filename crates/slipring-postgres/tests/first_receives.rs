//! The first receives by SQL of queues that only servers have used: they keep others from the
//! messages that they are handed and from no others, like those that follow (S10.7).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

use std::sync::Arc;
use std::time::Duration;

use slipring::store::Store;
use slipring::{QueueId, QueueSettings, Timestamp};
use slipring_conformance::verbs::{ack_all, bodies, claim, counts, queue, send};
use slipring_postgres::PostgresStore;
use slipring_testbed::{Cluster, Database, database_now, one, rotate, run, soon, waiting};
use tokio_postgres::Client;

/// So many queues further on, by number, one has the same sequence of `taken_ask`.
const NEIGHBOURS: usize = 64;
const HOUR: Duration = Duration::from_secs(3600);

/// A queue made and filled by a server, and a session that looks on.
struct Ground {
    cluster: &'static Cluster,
    database: Database,
    store: Arc<PostgresStore>,
    q: QueueId,
    client: Client,
}

impl Ground {
    async fn new(own_tables: bool) -> Ground {
        let cluster = Cluster::shared();
        let (database, store, client) = cluster.opened().await;
        if !own_tables {
            run(&client, "UPDATE slipring.store SET own_tables_max = 0").await;
        }
        let q = queue(&store, "jobs", &QueueSettings::default()).await;
        send(&store, q, &["m0", "m1", "m2", "m3", "m4"]).await;
        Ground { cluster, database, store, q, client }
    }

    async fn now(&self) -> Timestamp {
        database_now(&self.client).await
    }

    /// What a server is handed, and acks.
    async fn server(&self, n: u32) -> Vec<String> {
        let now = self.now().await;
        let got = soon("a server", claim(&self.store, self.q, n, now)).await;
        soon("its ack", ack_all(&self.store, self.q, &got, now)).await;
        bodies(&got)
    }

    /// Every kind of background work, several times.
    async fn upkeep(&self) {
        let late = self.now().await.after(Duration::from_secs(1));
        for part in ["queues", "shared", "journal", "shelf", "journal", "journal"] {
            soon(part, rotate(&self.client, part, late, "COMMIT")).await;
        }
        soon("lapses", self.store.expire_in(self.q, late)).await.unwrap();
    }

    /// The generation of the journal is so many further on.
    async fn generations(&self, more: i64) {
        let now = "SELECT last_value FROM slipring.journal";
        let wanted = one(&self.client, now).await + more;
        let steps = async {
            while one(&self.client, now).await < wanted {
                let late = self.now().await.after(HOUR);
                rotate(&self.client, "journal", late, "COMMIT").await;
            }
        };
        soon("the rotation", steps).await;
    }
}

async fn receive(client: &Client, queue: &str, n: u32) -> Vec<String> {
    let sql = format!("SELECT convert_from(body, 'UTF8') FROM slipring.receive('{queue}', {n})");
    let rows = soon("a receive", client.query(&sql, &[])).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn a_first_consumer_that_stays_in_its_transaction_keeps_its_message_and_no_other() {
    for own_tables in [true, false] {
        for end in ["ROLLBACK", "COMMIT", "PREPARE TRANSACTION 'first'; COMMIT PREPARED 'first'"] {
            let ground = Ground::new(own_tables).await;
            let idle = ground.cluster.begin(&ground.database, "READ COMMITTED").await;
            assert_eq!(receive(&idle, "jobs", 1).await, ["m0"], "{end}");
            assert_eq!(ground.server(2).await, ["m1", "m2"]);
            ground.upkeep().await;
            let another = ground.cluster.client(&ground.database).await;
            let sql = "SELECT slipring.ack(receipt) FROM slipring.receive('jobs', 1)";
            soon("another consumer", run(&another, sql)).await;
            send(&ground.store, ground.q, &["m5"]).await;
            assert_eq!(ground.server(1).await, ["m4"]);
            let ready = "SELECT slipring.ready('jobs')::int::int8";
            assert_eq!(one(&ground.client, ready).await, 1);
            assert_eq!(ground.server(9).await, ["m5"]);
            assert_eq!(one(&ground.client, ready).await, 0, "m0 is in an open transaction");
            ground.upkeep().await;
            for step in end.split(';') {
                run(&idle, step).await;
            }
            if end == "ROLLBACK" {
                assert_eq!(ground.server(9).await, ["m0"]);
            } else {
                assert_eq!(ground.server(9).await, [""; 0], "{end}");
                assert_eq!(counts(&ground.store, ground.q).await, [0, 0, 1, 0], "{end}");
                ground.generations(7).await;
                let late = ground.now().await.after(HOUR);
                let deadlines = ground.store.deadlines(0).await.unwrap().queues;
                assert!(deadlines[0].lapse.is_some_and(|lapse| lapse <= late), "{deadlines:?}");
                let lapses = async {
                    while counts(&ground.store, ground.q).await != [1, 0, 0, 0] {
                        ground.store.expire_in(ground.q, late).await.unwrap();
                    }
                };
                soon(end, lapses).await;
                let again = claim(&ground.store, ground.q, 5, late).await;
                assert_eq!(bodies(&again), ["m0"], "{end}");
            }
        }
    }
}

#[tokio::test]
async fn those_that_follow_the_first_keep_no_lock_whatever_servers_have_written_between() {
    let ground = Ground::new(true).await;
    let first = ground.cluster.begin(&ground.database, "READ COMMITTED").await;
    assert_eq!(receive(&first, "jobs", 2).await, ["m0", "m1"]);
    // The server writes what it expects into the state, and cannot know of the hand-out yet.
    assert_eq!(ground.server(1).await, ["m2"]);
    assert_eq!(receive(&first, "jobs", 2).await, ["m3", "m4"]);
    send(&ground.store, ground.q, &["m5", "m6", "m7", "m8"]).await;
    assert_eq!(ground.server(1).await, ["m5"]);
    run(&first, "COMMIT").await;
    let second = ground.cluster.begin(&ground.database, "READ COMMITTED").await;
    assert_eq!(receive(&second, "jobs", 2).await, ["m6", "m7"]);
    assert_eq!(ground.server(9).await, ["m8"]);
    ground.upkeep().await;
    run(&second, "ROLLBACK").await;
    assert_eq!(ground.server(9).await, ["m6", "m7"]);
    assert_eq!(counts(&ground.store, ground.q).await, [0, 0, 4, 0]);
}

#[tokio::test]
async fn who_looks_at_an_empty_queue_waits_for_no_lock_and_asks_for_nothing() {
    for own_tables in [true, false] {
        let ground = Ground::new(own_tables).await;
        assert_eq!(ground.server(9).await.len(), 5);
        let holder = ground.cluster.holder(&ground.database, ground.q).await;
        for n in [1, 5] {
            assert_eq!(receive(&ground.client, "jobs", n).await, [""; 0]);
        }
        let asked = "SELECT slipring.taken_expected(queue_id)::int::int8 FROM slipring.queue";
        assert_eq!(one(&ground.client, asked).await, 0);
        run(&holder, "COMMIT").await;
    }
}

#[tokio::test]
async fn a_first_consumer_waits_for_who_had_the_lock_before_and_is_handed_nothing_twice() {
    let ground = Ground::new(true).await;
    // The queue of the same sequence is the last of these.
    for n in 0..NEIGHBOURS {
        queue(&ground.store, &format!("n{n}"), &QueueSettings::default()).await;
    }
    let last = format!("n{}", NEIGHBOURS - 1);
    // A claim of a server that has not committed yet, and has locked no message.
    let server = ground.cluster.begin(&ground.database, "READ COMMITTED").await;
    let claims = format!(
        "SELECT * FROM slipring.store_claim({}, slipring.now_ms(), ARRAY[2], ARRAY[30000], '{{f}}',
            NULL)",
        ground.q.0
    );
    run(&server, &claims).await;
    let sends = format!("SELECT slipring.send('{last}', 'other'::text)");
    run(&ground.client, &sends).await;
    let neighbour = ground.cluster.begin(&ground.database, "READ COMMITTED").await;
    assert_eq!(receive(&neighbour, &last, 1).await, ["other"]);
    let asked = "SELECT slipring.taken_expected(queue_id)::int::int8 FROM slipring.queue
        WHERE name = 'jobs'";
    assert_eq!(one(&ground.client, asked).await, 1, "as if it had been asked for this one");
    let first = ground.cluster.begin(&ground.database, "READ COMMITTED").await;
    let commit = async {
        waiting(&ground.client, "relation", 1).await;
        run(&server, "COMMIT").await;
    };
    let (got, ()) = tokio::join!(receive(&first, "jobs", 2), commit);
    assert_eq!(got, ["m2", "m3"]);
    assert_eq!(ground.server(9).await, ["m4"]);
    run(&first, "COMMIT").await;
    run(&neighbour, "COMMIT").await;
    assert_eq!(counts(&ground.store, ground.q).await, [0, 0, 4, 0]);
    ground.generations(5).await;
    assert_eq!(one(&ground.client, asked).await, 0, "it is over by itself");
}
