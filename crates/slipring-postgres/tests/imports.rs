//! What an import makes of a database that had no need of it, or of one that lacks something.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed step fails the test")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use slipring::QueueId;
use slipring::admin::AdminStore;
use slipring::store::Store;
use slipring_conformance::verbs::counts;
use slipring_postgres::{PostgresOptions, PostgresStore, import};
use slipring_testbed::{Cluster, Database, database_now, locked, one, rotation_step, run, soon};
use tokio_postgres::Client;

const IMPORT: &str = "SELECT slipring.store_import()";

/// A queue with ten messages, and a session of the owner.
struct Ground {
    _database: Database,
    store: Arc<PostgresStore>,
    q: QueueId,
    owner: Client,
}

impl Ground {
    async fn new() -> Ground {
        let (database, store, owner) = Cluster::shared().opened().await;
        run(&owner, "SELECT slipring.create_queue('jobs')").await;
        run(&owner, "SELECT slipring.send('jobs', n::text) FROM generate_series(0, 9) n").await;
        let q = store.queues().await.unwrap()[0].id;
        Ground { _database: database, store, q, owner }
    }

    /// Steps of a rotation until the condition holds.
    async fn rotate(&self, part: &str, until: &str) {
        run(&self.owner, "SELECT setval('slipring.shelf_kept', 0)").await;
        let condition = format!("SELECT count(*) WHERE {until}");
        let steps = async {
            while one(&self.owner, &condition).await == 0 {
                self.step(part).await;
            }
        };
        soon(part, steps).await;
    }

    async fn step(&self, part: &str) {
        let late = database_now(&self.owner).await.after(Duration::from_secs(3600));
        rotation_step(&self.owner, part, late).await;
    }

    /// The next generation is the only one that is read.
    async fn rotated(&self, part: &str) {
        let now = one(&self.owner, &format!("SELECT last_value FROM slipring.{part}")).await;
        self.rotate(part, &format!("pg_sequence_last_value('slipring.{part}_low') > {now}")).await;
    }

    async fn received(&self, n: u32) -> Vec<String> {
        let receive = format!(
            "SELECT convert_from(body, 'UTF8') FROM slipring.receive('jobs', {n}, '1 minute')"
        );
        let got = soon("a receive", self.owner.query(&receive, &[])).await.unwrap();
        got.iter().map(|row| row.get(0)).collect()
    }
}

#[tokio::test]
async fn an_import_that_fails_half_way_through_a_rotation_leaves_everything_where_it_was() {
    for part in ["journal", "shelf"] {
        let ground = Ground::new().await;
        let nack = "SELECT slipring.nack(receipt, '1 hour') FROM slipring.receive('jobs', 3)";
        run(&ground.owner, nack).await;
        let leased = ground.received(2).await;
        assert_eq!(leased.len(), 2);
        let both = format!(
            "pg_sequence_last_value('slipring.{part}')
             > pg_sequence_last_value('slipring.{part}_low')"
        );
        ground.rotate(part, &both).await;
        run(&ground.owner, &format!("BEGIN; {IMPORT}; ROLLBACK")).await;
        let one_is_read = format!("NOT {both}");
        ground.rotate(part, &one_is_read).await;
        for _ in 0..5 {
            ground.step(part).await;
        }
        assert_eq!(counts(&ground.store, ground.q).await, [5, 3, 2, 0], "{part}");
        let late = database_now(&ground.owner).await.after(Duration::from_secs(7200));
        ground.store.expire_in(ground.q, late).await.unwrap();
        ground.store.due_in(ground.q, late).await.unwrap();
        let got: BTreeSet<_> = ground.received(10).await.into_iter().collect();
        assert_eq!(got.len(), 10, "{part}");
    }
}

#[tokio::test]
async fn hand_outs_of_a_queue_whose_state_a_dump_lacks_are_counted_once() {
    let ground = Ground::new().await;
    // Asked for so long ago that the state alone says that there are hand-outs like these.
    for _ in 0..12 {
        assert_eq!(ground.received(1).await.len(), 1);
        run(&ground.owner, "SELECT slipring.send('jobs', 'more'::text)").await;
        ground.rotated("journal").await;
    }
    assert_eq!(ground.received(2).await.len(), 2);
    let leased = counts(&ground.store, ground.q).await[2];
    run(&ground.owner, "DELETE FROM slipring.state").await;
    run(&ground.owner, IMPORT).await;
    assert_eq!(counts(&ground.store, ground.q).await, [8, 0, leased, 0]);
    assert_eq!(ground.received(3).await.len(), 3);
    assert_eq!(counts(&ground.store, ground.q).await, [5, 0, leased + 3, 0]);
}

#[tokio::test]
async fn an_import_waits_for_transactions_that_have_sent() {
    // S10.1
    let cluster = Cluster::shared();
    let (database, _store, user) = cluster.opened().await;
    run(&user, "SELECT slipring.create_queue('q')").await;
    let open = cluster.begin(&database, "READ COMMITTED").await;
    run(&open, "SELECT slipring.send('q', 'open'::text)").await;
    let seconds = |limit| PostgresOptions {
        statement_timeout: Duration::from_secs(limit),
        ..PostgresOptions::default()
    };
    let error = import(&database.address, seconds(1)).await.unwrap_err();
    assert!(error.to_string().contains("are open still"), "{error}");
    let ends = async {
        locked(&user, 1).await;
        run(&open, "COMMIT").await;
    };
    let (imported, ()) = tokio::join!(import(&database.address, seconds(30)), ends);
    imported.unwrap();
    run(&user, "SELECT slipring.send('q', 'later'::text)").await;
    assert_eq!(one(&user, "SELECT count(*) FROM slipring.receive('q', 10)").await, 2);
}
