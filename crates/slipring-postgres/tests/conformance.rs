//! The shared suite over the PostgreSQL store, in one throw-away cluster with a database for each
//! place. With `SLIPRING_TEST_POOLER=1` all of it goes through PgBouncer in transaction mode, with
//! `SLIPRING_TEST_SHARED=1` standard queues share their tables.
#![allow(clippy::expect_used, reason = "without a pooler the suite cannot run")]

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use slipring::{Error, Store};
use slipring_postgres::{PostgresOptions, PostgresStore};
use slipring_testbed::pooler::{self, Pooler};
use slipring_testbed::{Cluster, run};

struct Postgres {
    cluster: Cluster,
    pooler: Option<Pooler>,
    shared: bool,
}

#[async_trait::async_trait]
impl slipring_conformance::Factory for Postgres {
    async fn open(&self, place: &Path) -> Result<Arc<dyn Store>, Error> {
        let name = self.cluster.database_of(place).await;
        let address = match &self.pooler {
            Some(pooler) => pooler.address(&name),
            None => self.cluster.address(&name),
        };
        // Every pass that prunes takes all the steps of a rotation that it can.
        let options = PostgresOptions {
            connections: 6,
            rotate_bytes: 1,
            rotate_age: Duration::ZERO,
            ..PostgresOptions::default()
        };
        let store = PostgresStore::open(&address, options).await?;
        if self.shared {
            let owner = self.cluster.owner(&name).await;
            run(&owner, "UPDATE slipring.store SET own_tables_max = 0").await;
        }
        Ok(store)
    }

    /// Every sequence has a database of its own, in which each session plans everything anew.
    fn model_sequences(&self) -> u32 {
        16
    }
}

fn main() -> ExitCode {
    let cluster = Cluster::start();
    let pooled = std::env::var_os("SLIPRING_TEST_POOLER").is_some();
    let pooler = pooled.then(|| Pooler::start(&cluster).expect(pooler::MISSING));
    let shared = std::env::var_os("SLIPRING_TEST_SHARED").is_some();
    slipring_conformance::main(Postgres { cluster, pooler, shared })
}
