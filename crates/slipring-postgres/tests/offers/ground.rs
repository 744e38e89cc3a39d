//! A queue with messages, and a user of SQL who works on it.

use std::sync::Arc;

use slipring::admin::AdminStore;
use slipring::{QueueId, Timestamp};
use slipring_conformance::verbs::{bodies, claim};
use slipring_postgres::PostgresStore;
use slipring_testbed::{Cluster, Database, one, run, soon};
use tokio_postgres::Client;

/// How many tickets of the queue have been drawn.
pub const DRAWN: &str =
    "SELECT pg_sequence_last_value(slipring.ticket(queue_id, false)) FROM slipring.queue
    WHERE name = 'jobs'";
/// How many of the messages of the newest offer no receive has tried.
pub const LEFT: &str = "SELECT coalesce(max(o.past), 1) - 1
        - (SELECT pg_sequence_last_value(slipring.ticket(q.queue_id, false)) FROM slipring.queue q
           WHERE q.name = 'jobs')
    FROM slipring.offer o WHERE NOT o.several";

/// A queue `jobs` with so many messages, `m000` and on, a store and a user of SQL.
pub struct Ground {
    pub cluster: &'static Cluster,
    pub database: Database,
    pub store: Arc<PostgresStore>,
    pub q: QueueId,
    pub user: Client,
}

impl Ground {
    pub async fn with(messages: u32) -> Ground {
        let cluster = Cluster::shared();
        let (database, store, user) = cluster.opened().await;
        run(&user, "SELECT slipring.create_queue('jobs')").await;
        let q = store.queues().await.unwrap()[0].id;
        let ground = Ground { cluster, database, store, q, user };
        for n in 0..messages {
            ground.send(&format!("m{n:03}")).await;
        }
        ground
    }

    pub async fn send(&self, body: &str) {
        run(&self.user, &format!("SELECT slipring.send('jobs', '{body}'::text)")).await;
    }

    /// Offers messages as a commit does that notes hand-outs of `n`; by its fence, one in eight.
    pub async fn offer(&self, n: usize) {
        let sql = format!(
            "BEGIN; SET LOCAL search_path = pg_catalog, slipring;
             SELECT slipring.offer_make(q, slipring.state_read(q), slipring.now_ms(), {n})
             FROM slipring.queue q; COMMIT"
        );
        soon("an offer", self.user.batch_execute(&sql)).await.unwrap();
    }

    /// Receives and acks the first message, under the queue's lock, then offers others.
    pub async fn until_offered(&self) -> Vec<String> {
        let done = self.work().await.into_iter().collect();
        self.offer(1).await;
        assert!(one(&self.user, LEFT).await > 0, "nothing was offered");
        done
    }

    /// One message by an offer, in a transaction of its own, and acks it.
    pub async fn work(&self) -> Option<String> {
        run(&self.user, "BEGIN").await;
        let got = receive(&self.user, 1).await.pop();
        if let Some((receipt, _)) = &got {
            run(&self.user, &format!("SELECT slipring.ack('{receipt}')")).await;
        }
        run(&self.user, "COMMIT").await;
        got.map(|(_, body)| body)
    }

    /// All that is left by receives of one message.
    pub async fn drain(&self) -> Vec<String> {
        let mut done = Vec::new();
        while let Some(body) = self.work().await {
            done.push(body);
        }
        done
    }

    pub async fn begin(&self) -> Client {
        self.cluster.begin(&self.database, "READ COMMITTED").await
    }

    pub async fn now(&self) -> Timestamp {
        let ms = one(&self.user, "SELECT slipring.now_ms()").await;
        Timestamp::from_millis(u64::try_from(ms).unwrap())
    }

    /// What a server is handed.
    pub async fn server(&self, n: u32) -> Vec<String> {
        bodies(&claim(&self.store, self.q, n, self.now().await).await)
    }
}

/// Receipts and bodies.
pub async fn receive(client: &Client, n: usize) -> Vec<(String, String)> {
    let sql =
        format!("SELECT receipt, convert_from(body, 'UTF8') FROM slipring.receive('jobs', {n})");
    let rows = soon("a receive", client.query(&sql, &[])).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

pub fn numbered(numbers: impl IntoIterator<Item = u32>) -> Vec<String> {
    numbers.into_iter().map(|n| format!("m{n:03}")).collect()
}

/// All of them, each once, whatever their order.
pub fn sorted(parts: &[&[String]]) -> Vec<String> {
    let mut all = parts.concat();
    all.sort();
    all
}
