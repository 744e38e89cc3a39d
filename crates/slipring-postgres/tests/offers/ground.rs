//! A queue with messages, and a user of SQL who works on it.

use std::sync::Arc;

use slipring::admin::AdminStore;
use slipring::{QueueId, Timestamp};
use slipring_conformance::verbs::{bodies, claim};
use slipring_postgres::PostgresStore;
use slipring_testbed::{Cluster, Database, database_now, one, run, soon};
use tokio_postgres::Client;

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

    /// One that is in use and empty: a commit has noted what a receive was handed.
    pub async fn in_use() -> Ground {
        let ground = Ground::with(40).await;
        let noted = "SELECT count(*) FROM slipring.state WHERE taken IS NOT NULL";
        while ground.drain().await.is_empty() || one(&ground.user, noted).await == 0 {
            ground.send("one more").await;
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

    /// Receives and acks messages until a commit has noted one, then offers others.
    pub async fn until_offered(&self) -> Vec<String> {
        let noted = "SELECT count(*) FROM slipring.state WHERE taken IS NOT NULL";
        let mut done = Vec::new();
        while one(&self.user, noted).await == 0 {
            done.extend(self.work_noted().await);
        }
        self.offer(1).await;
        assert!(self.left(false).await > 0, "nothing was offered after {} messages", done.len());
        done
    }

    /// Receives one message and acks it in a transaction whose commit notes that, see `taken_fold`:
    /// one in eight does by its fence. The others end before they receive, so that what is left for
    /// the test does not depend on chance.
    pub async fn work_noted(&self) -> Vec<String> {
        let notes = "SELECT count(*) FROM slipring.queue q
            WHERE hashint8(slipring.taken_base(q, slipring.now_ms())) & 7 = 0";
        let user = self.begin().await;
        while one(&user, notes).await == 0 {
            run(&user, "ROLLBACK; BEGIN").await;
        }
        let got = receive(&user, 1).await;
        ack(&user, &got).await;
        run(&user, "COMMIT").await;
        got.into_iter().map(|(_, body)| body).collect()
    }

    /// How many tickets were drawn by receives of one message, or of several.
    pub async fn drawn(&self, several: bool) -> i64 {
        let sql = format!(
            "SELECT pg_sequence_last_value(slipring.ticket(queue_id, {several}))
             FROM slipring.queue WHERE name = 'jobs'"
        );
        one(&self.user, &sql).await
    }

    /// How many tickets of the newest offer have not been drawn.
    pub async fn left(&self, several: bool) -> i64 {
        let sql = format!(
            "SELECT coalesce(max(past), 1) - 1 FROM slipring.offer WHERE several = {several}"
        );
        one(&self.user, &sql).await - self.drawn(several).await
    }

    /// How many runs of numbers the queue's state has as ready. Those of transactions that were
    /// open when an offer was made stay behind, no others.
    pub async fn ready_runs(&self) -> i64 {
        let sql = "SELECT count(*) FROM slipring.state s CROSS JOIN LATERAL unnest(s.open[1]) r
            WHERE s.seq = (SELECT max(seq) FROM slipring.state)";
        one(&self.user, sql).await
    }

    /// One message, in a transaction of its own, and acks it.
    pub async fn work(&self) -> Option<String> {
        work(&self.user, 1).await.pop()
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
        database_now(&self.user).await
    }

    /// What a server is handed.
    pub async fn server(&self, n: u32) -> Vec<String> {
        bodies(&claim(&self.store, self.q, n, self.now().await).await)
    }
}

/// Receives up to `n` and acks all of it, in one transaction.
pub async fn work(client: &Client, n: usize) -> Vec<String> {
    run(client, "BEGIN").await;
    let got = receive(client, n).await;
    ack(client, &got).await;
    run(client, "COMMIT").await;
    got.into_iter().map(|(_, body)| body).collect()
}

/// Acks what was received, if there is anything.
pub async fn ack(client: &Client, got: &[(String, String)]) {
    let receipts: Vec<_> = got.iter().map(|(receipt, _)| receipt.as_str()).collect();
    if !receipts.is_empty() {
        run(client, &format!("SELECT slipring.ack(ARRAY['{}'])", receipts.join("','"))).await;
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
