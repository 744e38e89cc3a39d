//! Deduplication ids over every step of the rotation of their tables: of two who send the same
//! one, at whatever moments, one stores a message and the other gets its number (S8.1, S8.2).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed step fails the test"
)]

mod cluster;

use std::sync::Arc;
use std::time::Duration;

use cluster::{Cluster, Database, one, rotate, run, waiting};
use slipring::{QueueId, Timestamp};
use slipring_conformance::verbs::{counts, drain, plain};
use slipring_postgres::PostgresStore;
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
        let database = cluster.database().await;
        let store = cluster.store(&database).await;
        let q = plain(&store).await;
        let rotator = cluster.client(&database).await;
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
